//! A set of HTTP statuses: which responses a service level class counts as not conforming.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// A set of HTTP statuses from 200 to 599. Written as single statuses and as classes: `429`, `5xx`.
///
/// ```
/// use control::Statuses;
///
/// let failed: Statuses = "5xx, 429".parse()?;
/// assert!(failed.contains(503) && failed.contains(429) && !failed.contains(404));
/// assert_eq!(failed.to_string(), "429, 5xx");
/// # Ok::<(), control::StatusesError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statuses {
    /// One bit for each status, from [`FIRST`] on.
    bits: [u64; WORDS],
}

/// A text that is not the status of a final response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` is neither a status from {FIRST} to {LAST} nor a class of them: write a number such as 429, or a class such as 5xx"
)]
pub struct StatusesError {
    /// What was found.
    pub found: String,
}

impl Statuses {
    /// No status.
    pub const NONE: Statuses = Statuses { bits: [0; WORDS] };

    /// This one status.
    ///
    /// # Errors
    /// A number below 200, which is not the status of a final response, or above 599.
    pub fn of(status: u16) -> Result<Self, StatusesError> {
        let mut statuses = Statuses::NONE;
        match place(status) {
            Some((word, bit)) => statuses.bits[word] |= bit,
            None => return Err(StatusesError { found: status.to_string() }),
        }
        Ok(statuses)
    }

    /// Whether `status` is among them.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        place(status).is_some_and(|(word, bit)| self.bits[word] & bit != 0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Statuses::NONE
    }

    /// These and those of `other`.
    #[must_use]
    pub fn or(mut self, other: Statuses) -> Self {
        for (word, more) in self.bits.iter_mut().zip(other.bits) {
            *word |= more;
        }
        self
    }

    /// The set in text: classes that are complete, otherwise single statuses.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for class in FIRST / CLASS..=LAST / CLASS {
            let mut statuses = (class * CLASS..(class + 1) * CLASS).filter(|status| self.contains(*status));
            if statuses.clone().count() == usize::from(CLASS) {
                words.push(alloc::format!("{class}xx"));
            } else {
                words.extend(statuses.by_ref().map(|status| status.to_string()));
            }
        }
        words
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(", "))
    }
}

impl FromStr for Statuses {
    type Err = StatusesError;

    fn from_str(text: &str) -> Result<Self, StatusesError> {
        text.split(',').map(str::trim).try_fold(Statuses::NONE, |all, word| Ok(all.or(one_word(word)?)))
    }
}

/// A status or a class.
fn one_word(word: &str) -> Result<Statuses, StatusesError> {
    let wrong = || StatusesError { found: word.to_string() };
    match word.as_bytes() {
        [class @ b'2'..=b'5', b'x' | b'X', b'x' | b'X'] => {
            let first = u16::from(class - b'0') * CLASS;
            (first..first + CLASS).try_fold(Statuses::NONE, |all, status| Ok(all.or(Statuses::of(status)?)))
        }
        [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
            word.parse().ok().and_then(|status| Statuses::of(status).ok()).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

fn place(status: u16) -> Option<(usize, u64)> {
    let place = status.checked_sub(FIRST).filter(|_| status <= LAST)?;
    Some((usize::from(place / 64), 1 << (place % 64)))
}

/// Lower statuses are those of interim responses.
const FIRST: u16 = 200;
const LAST: u16 = 599;
const CLASS: u16 = 100;
const WORDS: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for (text, shown) in [
            ("5xx", "5xx"),
            ("429,5XX", "429, 5xx"),
            (" 503 , 500 ", "500, 503"),
            ("200, 599", "200, 599"),
            ("2xx, 3xx, 4xx, 5xx", "2xx, 3xx, 4xx, 5xx"),
        ] {
            let statuses: Statuses = text.parse().unwrap();
            assert_eq!(statuses.to_string(), shown, "{text}");
            assert_eq!(shown.parse(), Ok(statuses), "{text}");
        }
        let all: Statuses = "2xx, 3xx, 4xx, 5xx".parse().unwrap();
        assert!((200..600).all(|status| all.contains(status)));
        assert!(![0, 100, 199, 600, u16::MAX].into_iter().any(|status| all.contains(status)));
        assert!(Statuses::NONE.is_empty() && !all.is_empty());
    }

    #[test]
    fn what_is_no_status_is_named() {
        for text in ["", "5x", "6xx", "1xx", "199", "600", "0500", "+42", "50 3", "500-599", "error"] {
            let error = text.parse::<Statuses>().unwrap_err();
            assert!(error.to_string().contains(&alloc::format!("`{text}`")), "{error}");
        }
        assert!(Statuses::of(100).is_err() && Statuses::of(404).is_ok());
    }
}
