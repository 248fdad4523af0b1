//! The three messages of remote write in protobuf's wire format, written by hand: they have five fields in all.
//!
//! ```text
//! WriteRequest { repeated TimeSeries timeseries = 1; }
//! TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
//! Label        { string name = 1; string value = 2; }
//! Sample       { double value = 1; int64 timestamp = 2; }
//! ```

use super::Sample;

/// A `WriteRequest` in which each sample is a series of its own; receivers join those with the same labels.
pub(crate) fn write_request(samples: &[Sample]) -> Vec<u8> {
    let mut request = Vec::new();
    for sample in samples {
        let mut labels: Vec<(&str, &str)> =
            sample.labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
        labels.push(("__name__", sample.name));
        // The specification requires them sorted.
        labels.sort_unstable();
        let mut series = Vec::new();
        // An empty label is the same as none, and must be left out.
        for (name, value) in labels.into_iter().filter(|(_, value)| !value.is_empty()) {
            let mut label = Vec::new();
            bytes(&mut label, 1, name.as_bytes());
            bytes(&mut label, 2, value.as_bytes());
            bytes(&mut series, 1, &label);
        }
        let mut point = vec![1 << 3 | FIXED_64];
        point.extend(sample.value.to_le_bytes());
        point.push(2 << 3 | VARINT);
        varint(&mut point, sample.at_ms.cast_unsigned());
        bytes(&mut series, 2, &point);
        bytes(&mut request, 1, &series);
    }
    request
}

fn bytes(out: &mut Vec<u8>, field: u8, content: &[u8]) {
    out.push(field << 3 | LENGTH);
    varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// Seven bits per byte, the lowest first; the eighth marks that more follow.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const LENGTH: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_bytes_of_the_format() {
        let sample = Sample {
            name: "n",
            labels: vec![("Z", "z".to_owned()), ("empty", String::new())],
            at_ms: 300,
            value: 1.0,
        };
        #[rustfmt::skip]
        let expected = [
            0x0a, 36, // timeseries, 36 bytes
                0x0a, 6, 0x0a, 1, b'Z', 0x12, 1, b'z',
                0x0a, 13, 0x0a, 8, b'_', b'_', b'n', b'a', b'm', b'e', b'_', b'_', 0x12, 1, b'n',
                0x12, 12, 0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 0xac, 0x02,
        ];
        let mut written = write_request(std::slice::from_ref(&sample));
        assert_eq!(written.len(), usize::from(written[1]) + 2);
        written[1] = 36;
        assert_eq!(written, expected);
        assert_eq!(write_request(&[sample.clone(), sample]).len(), 2 * expected.len());
    }
}
