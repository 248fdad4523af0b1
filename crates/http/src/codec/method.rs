//! What a request's method promises (RFC 9110, 9.2). Methods are told apart by case; an unknown one promises nothing.

/// Whether it only asks, and changes nothing.
#[inline]
pub fn is_safe(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
}

/// Whether sending it twice does what sending it once does.
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
