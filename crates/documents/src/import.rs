//! What `headroom import` read: its summaries, and what it read of AWS as JSON.

pub mod aws;
pub mod kubernetes;
pub mod traffic;

/// The draft of a case file.
#[derive(Debug, Clone, Copy)]
pub struct Drafted<'a> {
    /// The number of settings that a case file cannot express, beside those of the remarks.
    pub left_out: usize,
    /// The number of keys that the user has to fill in.
    pub to_fill_in: usize,
    /// Its path, quoted for a shell where it needs to be.
    pub path: &'a str,
}

impl Drafted<'_> {
    /// The command that follows.
    pub fn next(&self) -> String {
        let keys = match self.to_fill_in {
            1 => "the key".to_owned(),
            many => format!("the {many} keys"),
        };
        let path = self.path;
        format!(
            "next: fill in {keys} marked TODO (headroom config check {path} lists them), then headroom simulate {path}\n"
        )
    }

    /// The end of a summary; `remarks` is the number of things that the files have and were left out.
    fn end(&self, remarks: usize) -> String {
        let left_out = match self.left_out + remarks {
            0 => "nothing was left out\n".to_owned(),
            1 => "1 thing was left out (see above)\n".to_owned(),
            many => format!("{many} things were left out (see above)\n"),
        };
        left_out + &self.next()
    }
}
