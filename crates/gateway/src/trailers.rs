//! Trailers of requests: dropped, except those that the route forwards.

use crate::settings::TrailerName;
use http::codec::list;

/// Appends the end of a chunked body: the lines of `section` that may be forwarded, and its empty line. The section was
/// checked by the codec and is complete.
pub(crate) fn end(out: &mut Vec<u8>, section: &[u8], names: &[TrailerName]) {
    if !names.is_empty() {
        for line in section.split_inclusive(|byte| *byte == b'\n') {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            if names.iter().any(|known| known.is(name)) {
                out.extend_from_slice(line);
            }
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends the field that announces trailers, with those that may be forwarded.
pub(crate) fn announce<'a>(out: &mut Vec<u8>, fields: impl Iterator<Item = &'a [u8]>, names: &[TrailerName]) {
    let mut begun = false;
    for name in fields.flat_map(list).filter(|name| names.iter().any(|known| known.is(name))) {
        out.extend_from_slice(if begun { b", " } else { b"trailer: " });
        out.extend_from_slice(name);
        begun = true;
    }
    if begun {
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_ones_pass() {
        let names = ["X-Sum", "X-Other"].map(|name| TrailerName::new(name).unwrap());
        let section =
            b"X-Forwarded-For: 10.0.0.1\r\nx-sum: 1\r\nX-Summary: 2\r\nX-SUM:3\r\nCookie: a\r\n\r\n";
        let ended = |names: &[TrailerName]| {
            let mut out = Vec::new();
            end(&mut out, section, names);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(ended(&names), "x-sum: 1\r\nX-SUM:3\r\n\r\n");
        assert_eq!(ended(&[]), "\r\n");
        let mut out = Vec::new();
        announce(&mut out, [b"Cookie, x-sum,,".as_slice(), b"X-Other"].into_iter(), &names);
        announce(&mut out, [b"Cookie".as_slice()].into_iter(), &names);
        assert_eq!(out, b"trailer: x-sum, X-Other\r\n");
    }
}
