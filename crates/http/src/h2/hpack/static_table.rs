//! The static table: the predefined fields.
//!
//! Source: RFC 7541, appendix A.

/// The field with an index from 1 to [`LEN`].
pub(super) fn field(index: u32) -> Option<(&'static [u8], &'static [u8])> {
    let (name, value) = FIELDS.get((index as usize).checked_sub(1)?)?;
    Some((name.as_bytes(), value.as_bytes()))
}

/// The index of a field with this name and value, or otherwise of the first with this name.
pub(super) fn find(name: &[u8], value: &[u8]) -> Option<Found> {
    let names = |&(_, found): &(usize, &(&str, &str))| found.0.as_bytes() == name;
    let mut named = FIELDS.iter().enumerate().filter(names);
    let first = named.clone().next()?.0 + 1;
    Some(match named.find(|(_, found)| found.1.as_bytes() == value) {
        Some((at, _)) => Found::Field(at + 1),
        None => Found::Name(first),
    })
}

/// The match of a field in the static table.
pub(super) enum Found {
    /// Its name and its value.
    Field(usize),
    /// Its name.
    Name(usize),
}

/// Number of fields in the table; the dynamic table begins with the next index.
pub(super) const LEN: u32 = FIELDS.len() as u32;

#[rustfmt::skip]
const FIELDS: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
    ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
    ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
    ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""),
    ("retry-after", ""), ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""),
    ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];
