//! The section of a case file that says how services scale, from what `import` read.
//!
//! A case file says less than AWS and Kubernetes do in some places. What it cannot say is left out and told, as
//! everything else that is not simulated as it is.

mod aws;
mod kubernetes;

pub use aws::aws;
pub use kubernetes::kubernetes;

/// A part of a case file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// YAML.
    pub text: String,
    /// What it cannot say.
    pub left_out: Vec<String>,
}

/// A name that a case file can have, unlike the others: letters, digits, `-` and `_`, a letter first.
fn key_for(name: &str, taken: &mut Vec<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let begins = plain.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = if begins { plain } else { format!("n{plain}") };
    let unlike = |key: &String| !taken.contains(key);
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let key = std::iter::once(plain.clone()).chain(numbered).find(unlike).unwrap_or(plain.clone());
    taken.push(key.clone());
    key
}

/// The name that the vendor has for it as a comment, where the key is another.
fn original(key: &str, name: &str) -> String {
    if key == name {
        return String::new();
    }
    let printable: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(" # {printable}")
}

#[cfg(test)]
mod tests {
    use super::{key_for, original};

    #[test]
    fn names_become_keys_that_differ() {
        let mut taken = Vec::new();
        let keys =
            ["web", "web", "my shop: up", "my-shop--up", "9 to 5", ""].map(|name| key_for(name, &mut taken));
        assert_eq!(keys, ["web", "web-2", "my-shop--up", "my-shop--up-2", "n9-to-5", "n"]);
        assert_eq!(original("n9-to-5", "9 to\n5"), " # 9 to 5");
    }
}
