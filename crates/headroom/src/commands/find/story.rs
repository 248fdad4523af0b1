//! The story of a search on standard error: a line for each piece of load, and on a terminal what goes on now.

use crate::live::heard;
use crate::output;
use ::load::Progress;
use report::{fold, grouped, rate};
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use units::{Rate, show_duration};

/// Tells the story of a search.
#[derive(Debug)]
pub struct Story {
    begun: Instant,
    live: bool,
    /// When the live line was drawn, and the answers until then.
    drawn: Cell<Option<(Instant, Duration, u64)>>,
    /// When all of it is over at the latest, since its beginning.
    ends: Cell<Option<Duration>>,
    /// When a line was written last.
    told: Cell<Instant>,
}

impl Story {
    /// A story that begins now.
    pub fn begin() -> Self {
        let begun = Instant::now();
        Story {
            begun,
            live: std::io::stderr().is_terminal(),
            drawn: Cell::new(None),
            ends: Cell::new(None),
            told: Cell::new(begun),
        }
    }

    /// Since its beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// All of it is over after `whole` at the latest.
    pub fn ends_after(&self, whole: Duration) {
        self.ends.set(Some(whole));
    }

    /// How much time is left at most; `None` where that is not known yet.
    pub fn left(&self) -> Option<Duration> {
        self.ends.get().map(|ends| ends.saturating_sub(self.elapsed()))
    }

    fn left_words(&self) -> String {
        self.left().map_or(String::new(), |left| format!("; at most {} s left", left.as_secs()))
    }

    /// Tells that it waits for something: now and then.
    pub fn waiting(&self, what: &str) {
        if !self.live && self.told.get().elapsed() >= PULSE {
            self.tell(&format!("{what}{}", self.left_words()));
        }
    }

    /// Reports a result.
    pub fn tell(&self, what: &str) {
        let clear = if self.live { "\r\x1b[K" } else { "" };
        self.drawn.set(None);
        self.told.set(Instant::now());
        let terminal = output::terminal_of(std::io::stderr());
        let lines = fold(what, terminal.prose().saturating_sub(TIME).max(LEAST));
        let what = lines.join(&format!("\n{}", " ".repeat(TIME)));
        heard(writeln!(std::io::stderr(), "{clear}{:>6.1} s  {what}", self.elapsed().as_secs_f64()));
    }

    /// Shows what goes on now: on a terminal a few times a second, elsewhere with a line every ten seconds.
    pub fn show(&self, what: &str, now: &Progress) {
        let at = now.at.since(units::Timestamp::ZERO);
        if !self.live {
            self.waiting(&format!("{what}: {} so far", show_duration(at)));
            return;
        }
        let answered = match self.drawn.get() {
            Some((drawn, _, _)) if drawn.elapsed() < REDRAW => return,
            Some((_, before, answered)) if at > before && now.accounting.answered >= answered => {
                Rate::of(now.accounting.answered - answered, at - before)
            }
            _ => Rate::of(now.accounting.answered, at),
        };
        self.drawn.set(Some((Instant::now(), at, now.accounting.answered)));
        let line = format!(
            "{:>6.1} s  {what}: {}, answered {}, in flight {}{}",
            self.elapsed().as_secs_f64(),
            show_duration(at),
            rate(answered),
            grouped(now.in_flight + now.waiting),
            self.left_words(),
        );
        output::tell_now(&line);
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Columns of the time that begins each line.
const TIME: usize = 10;
/// On a terminal that is narrower than this, lines are broken by the terminal.
const LEAST: usize = 20;
/// A line this often where there is no terminal.
const PULSE: Duration = Duration::from_secs(10);
/// Often enough to be alive, seldom enough to be read.
const REDRAW: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_known_once_the_bound_is() {
        let story = Story::begin();
        assert_eq!((story.left(), story.left_words()), (None, String::new()));
        story.ends_after(Duration::from_millis(230_900));
        assert!(story.left().is_some_and(|left| left > Duration::from_secs(200)));
        assert_eq!(story.left_words(), "; at most 230 s left");
        story.ends_after(Duration::ZERO);
        assert_eq!(story.left(), Some(Duration::ZERO), "it is over");
    }
}
