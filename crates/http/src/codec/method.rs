//! Properties of request methods (RFC 9110, 9.2). Methods are case-sensitive; an unknown one has no properties.

/// Whether it is safe: it changes nothing.
#[inline]
pub fn is_safe(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
}

/// Whether sending it twice has the same effect as sending it once.
#[inline]
pub fn is_idempotent(method: &[u8]) -> bool {
    is_safe(method) || matches!(method, b"PUT" | b"DELETE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_keep_their_promises() {
        for (method, safe, idempotent) in [
            ("GET", true, true),
            ("HEAD", true, true),
            ("OPTIONS", true, true),
            ("TRACE", true, true),
            ("PUT", false, true),
            ("DELETE", false, true),
            ("POST", false, false),
            ("PATCH", false, false),
            ("get", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (is_safe(method.as_bytes()), is_idempotent(method.as_bytes())),
                (safe, idempotent),
                "{method}"
            );
        }
    }
}
