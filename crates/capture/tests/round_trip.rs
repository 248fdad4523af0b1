//! Any request is read back as it was written, and no input panics.

use capture::{At, Edge, Entry, dropped_before, read_line, write_line, write_line_after};
use proptest::prelude::*;
use std::time::Duration;

fn entries() -> impl Strategy<Value = Entry> {
    let at = prop::option::of((any::<i64>(), any::<bool>()));
    let header = ("[A-Za-z][A-Za-z0-9-]{0,8}", "[ -~äß€]{0,12}");
    let made = (
        at,
        "[A-Z]{1,7}",
        "(https?://h)?/[!-~]{0,12}",
        prop::collection::vec(header, 0..4),
        any::<Vec<u8>>(),
    );
    let came = (prop::option::of(".{0,9}"), any::<Option<u16>>(), any::<Option<u32>>(), any::<Option<u64>>());
    (made, came).prop_map(|((at, method, url, headers, body), (user, status, micros, bytes))| Entry {
        at: at.map(|(micros, whole_second)| At { micros, whole_second, edge: Edge::Start }),
        method,
        url,
        headers,
        body,
        user,
        status,
        response_time: micros.map(|micros| Duration::from_micros(micros.into())),
        bytes,
    })
}

proptest! {
    #[test]
    fn a_request_is_read_as_it_was_written(entry in entries()) {
        let mut text = Vec::new();
        write_line(&mut text, &entry).unwrap();
        prop_assert_eq!(text.iter().position(|byte| *byte == b'\n'), Some(text.len() - 1));
        prop_assert_eq!(read_line(&text), Ok(Some(entry)));
    }

    #[test]
    fn what_was_lost_before_a_request_is_read_too(entry in entries(), dropped: u64) {
        let mut text = Vec::new();
        write_line_after(&mut text, &entry, dropped).unwrap();
        prop_assert_eq!((read_line(&text), dropped_before(&text)), (Ok(Some(entry)), dropped));
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = (read_line(&bytes), dropped_before(&bytes));
    }
}
