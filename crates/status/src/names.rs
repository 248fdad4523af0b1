//! Names as constants, and a list of all of them.

/// A constant for each name, and `ALL`.
macro_rules! names {
    ($($(#[$meta:meta])* $name:ident = $text:expr,)*) => {
        $($(#[$meta])* pub const $name: &str = $text;)*

        /// All of them.
        pub const ALL: &[&str] = &[$($name),*];
    };
}
