//! Splits a command line into words as bash does.
//!
//! Supports what copied commands contain: the three kinds of quotes, backslashes, comments, `;` and continued lines.
//! Features that need a shell (variables, pipes, substitutions) are refused with name and column, because a guess would
//! send a different request.

use crate::LineError;
use capture::{Fault, column};

/// One word and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) line: u64,
    pub(super) column: usize,
    pub(super) text: Vec<u8>,
}

/// Receives lines and returns commands. An incomplete command is kept until its last line.
#[derive(Debug, Default)]
pub(super) struct Shell {
    words: Vec<Word>,
    word: Option<Word>,
    quote: Option<Quote>,
    /// Where the quote was opened.
    opened: (u64, usize),
    /// Bytes of the incomplete command.
    size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
    /// `$'...'`
    Ansi,
}

impl Shell {
    /// Reads a line, and returns the commands that it completes. After an error no command is incomplete.
    pub(super) fn line(
        &mut self,
        number: u64,
        line: &[u8],
        limit: usize,
        commands: &mut Vec<Vec<Word>>,
    ) -> Result<(), LineError> {
        self.size += line.len() + 1;
        let result = if self.size > limit {
            let found = format!("a command of more than {limit} bytes");
            let fault = Fault::of(line, 0, found, "a shorter one");
            Err(fault.way_out("is a quote above never closed?").on(number))
        } else {
            self.scan(number, line, commands).map_err(|fault| fault.on(number))
        };
        if result.is_err() {
            *self = Shell::default();
        }
        result
    }

    /// The input has ended.
    pub(super) fn end(&mut self, commands: &mut Vec<Vec<Word>>) -> Result<(), LineError> {
        let mut last = std::mem::take(self);
        if last.quote.is_some() {
            let (line, column) = last.opened;
            let found = "a quote that is never closed".to_owned();
            return Err(LineError { line, column, found, expected: "a closing quote".into(), way_out: None });
        }
        last.close(commands);
        Ok(())
    }

    fn close(&mut self, commands: &mut Vec<Vec<Word>>) {
        self.words.extend(self.word.take());
        self.size = 0;
        if !self.words.is_empty() {
            commands.push(std::mem::take(&mut self.words));
        }
    }

    fn scan(&mut self, number: u64, line: &[u8], commands: &mut Vec<Vec<Word>>) -> Result<(), Fault> {
        // For long lines with many words: each column is counted from the previous one.
        let mut known = (0, 1);
        let mut column_of = |at: usize| {
            known = (at, known.1 + column(&line[known.0..], at - known.0) - 1);
            known.1
        };
        let mut at = 0;
        while at < line.len() {
            let byte = line[at];
            let next = line.get(at + 1).copied();
            let start = at;
            at += 1;
            match self.quote {
                Some(Quote::Single) if byte == b'\'' => self.quote = None,
                Some(Quote::Ansi) if byte == b'\'' => self.quote = None,
                Some(Quote::Double) if byte == b'"' => self.quote = None,
                Some(Quote::Single) => self.push(byte),
                Some(Quote::Ansi) if byte == b'\\' => at += self.ansi(line, at)?,
                Some(Quote::Ansi) => self.push(byte),
                Some(Quote::Double) if byte == b'\\' => match next {
                    None => return Ok(()),
                    Some(escaped @ (b'$' | b'`' | b'"' | b'\\')) => {
                        self.push(escaped);
                        at += 1;
                    }
                    Some(_) => self.push(b'\\'),
                },
                Some(Quote::Double) => {
                    refuse_expansion(line, start)?;
                    self.push(byte);
                }
                None => match byte {
                    b' ' | b'\t' => self.words.extend(self.word.take()),
                    b';' => self.close(commands),
                    b'#' if self.word.is_none() => break,
                    b'|' | b'&' | b'<' | b'>' | b'(' | b')' => {
                        let what =
                            Fault::of(line, start, format!("`{}`", char::from(byte)), "one curl command");
                        return Err(what.way_out("take out what is for the shell, or quote it"));
                    }
                    _ => {
                        if self.word.is_none() {
                            let column = column_of(start);
                            self.word = Some(Word { line: number, column, text: Vec::new() });
                        }
                        match (byte, next) {
                            // The line continues, and so does the word, unless the backslash was at its beginning.
                            (b'\\', None) => {
                                self.word.take_if(|word| word.text.is_empty());
                                return Ok(());
                            }
                            (b'\\', Some(escaped)) => {
                                self.push(escaped);
                                at += 1;
                            }
                            (b'$', Some(b'\'')) => {
                                self.open(Quote::Ansi, number, column_of(start));
                                at += 1;
                            }
                            (b'$', Some(b'"')) => {
                                return Err(Fault::at(line, start, "plain text").way_out("take out the $"));
                            }
                            (b'\'', _) => self.open(Quote::Single, number, column_of(start)),
                            (b'"', _) => self.open(Quote::Double, number, column_of(start)),
                            (b'^', None) => {
                                return Err(Fault::at(
                                    line,
                                    start,
                                    "a backslash at the end of a line that goes on",
                                )
                                .way_out("this is a command for Windows; copy it as cURL (bash)"));
                            }
                            _ => {
                                refuse_expansion(line, start)?;
                                self.push(byte);
                            }
                        }
                    }
                },
            }
        }
        match self.quote {
            Some(_) => self.push(b'\n'),
            None => self.close(commands),
        }
        Ok(())
    }

    fn open(&mut self, quote: Quote, line: u64, column: usize) {
        self.quote = Some(quote);
        self.opened = (line, column);
    }

    fn push(&mut self, byte: u8) {
        if let Some(word) = &mut self.word {
            word.text.push(byte);
        }
    }

    /// The escape after a backslash in `$'...'`; returns how many bytes it has.
    fn ansi(&mut self, line: &[u8], at: usize) -> Result<usize, Fault> {
        let Some(letter) = line.get(at) else {
            // Bash keeps both if a line ends after a backslash; the line break follows.
            self.push(b'\\');
            return Ok(0);
        };
        let run = |from: usize, most: usize, digit: fn(&u8) -> bool| {
            let digits = &line[from.min(line.len())..];
            &digits[..digits.iter().take(most).take_while(|byte| digit(byte)).count()]
        };
        let plain = match letter {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => *letter,
            b'x' | b'u' | b'U' => {
                let most = match letter {
                    b'x' => 2,
                    b'u' => 4,
                    _ => 8,
                };
                let digits = run(at + 1, most, u8::is_ascii_hexdigit);
                let code = digits
                    .iter()
                    .fold(0_u32, |sum, digit| sum << 4 | char::from(*digit).to_digit(16).unwrap_or(0));
                let character = if *letter == b'x' { None } else { char::from_u32(code) };
                match (digits, character) {
                    ([], _) => return Err(Fault::at(line, at - 1, "hexadecimal digits after the escape")),
                    (_, Some(character)) => {
                        let mut buffer = [0; 4];
                        character.encode_utf8(&mut buffer).bytes().for_each(|byte| self.push(byte));
                    }
                    (_, None) if *letter == b'x' => self.push(code.to_le_bytes()[0]),
                    _ => return Err(Fault::at(line, at - 1, "the number of a character")),
                }
                return Ok(1 + digits.len());
            }
            b'0'..=b'7' => {
                let digits = run(at, 3, |byte| matches!(byte, b'0'..=b'7'));
                let code = digits.iter().fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
                self.push(code.to_le_bytes()[0]);
                return Ok(digits.len());
            }
            _ => {
                self.push(b'\\');
                return Ok(0);
            }
        };
        self.push(plain);
        Ok(1)
    }
}

/// `$name`, `${...}`, `$(...)` and backquotes, which need a shell.
fn refuse_expansion(line: &[u8], at: usize) -> Result<(), Fault> {
    let expands = match (line[at], line.get(at + 1)) {
        (b'`', _) => true,
        (b'$', Some(next)) => next.is_ascii_alphanumeric() || b"_{(?!$@*#".contains(next),
        _ => false,
    };
    if expands {
        return Err(Fault::at(line, at, "plain text").way_out("a shell would fill this in; write its value"));
    }
    Ok(())
}
