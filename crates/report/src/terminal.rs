//! What a text is written for: how wide it may be, and whether colour may stress parts of it.

/// A terminal, or what stands in its place: a pipe, a file, a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Whether colours are shown.
    pub colours: bool,
}

/// How a word strikes the eye. Colour only stresses what the text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Like any other text.
    Plain,
    /// As it should be.
    Good,
    /// Worth a look.
    Busy,
    /// Something is refused, late or failing.
    Bad,
    /// Beside the matter.
    Dim,
}

impl Terminal {
    /// A pipe or a file: lines of any length, for programs that read line by line, without colours.
    pub const PIPE: Terminal = Terminal { width: usize::MAX, colours: false };

    /// So many columns without colours.
    pub const fn of_width(width: usize) -> Self {
        Terminal { width, colours: false }
    }

    /// The width of sentences: long lines are hard to read, also where there is room for them.
    pub fn prose(self) -> usize {
        if self.width == usize::MAX { self.width } else { self.width.min(LONGEST_PROSE) }
    }

    /// The text in the colour of its tone, where colours are shown.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        match (self.colours, tone.code()) {
            (true, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

impl Tone {
    /// The parameters of the escape sequence: SGR of ECMA-48.
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Good => Some("32"),
            Tone::Busy => Some("33"),
            Tone::Bad => Some("1;31"),
            Tone::Dim => Some("2"),
        }
    }
}

const LONGEST_PROSE: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_show_them() {
        let shown = Terminal { width: 80, colours: true };
        assert_eq!(shown.paint(Tone::Bad, "missed"), "\x1b[1;31mmissed\x1b[0m");
        assert_eq!(shown.paint(Tone::Plain, "missed"), "missed");
        assert_eq!(shown.paint(Tone::Bad, ""), "");
        assert_eq!(Terminal::PIPE.paint(Tone::Bad, "missed"), "missed");
    }

    #[test]
    fn sentences_do_not_fill_a_wide_terminal() {
        assert_eq!(Terminal::of_width(80).prose(), 80);
        assert_eq!(Terminal::of_width(200).prose(), 100);
        assert_eq!(Terminal::PIPE.prose(), usize::MAX);
    }
}
