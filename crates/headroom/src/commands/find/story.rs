//! The story of a search on standard error: a line for each piece of load, and on a terminal what goes on now.

use crate::live::heard;
use crate::summary::{grouped, rate};
use ::load::Progress;
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
}

impl Story {
    /// A story that begins now.
    pub fn begin() -> Self {
        Story { begun: Instant::now(), live: std::io::stderr().is_terminal(), drawn: Cell::new(None) }
    }

    /// Since its beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Tells what came of something.
    pub fn tell(&self, what: &str) {
        let clear = if self.live { "\r\x1b[K" } else { "" };
        self.drawn.set(None);
        heard(writeln!(std::io::stderr(), "{clear}{:>6.1} s  {what}", self.elapsed().as_secs_f64()));
    }

    /// Shows what goes on now, on a terminal only and a few times a second.
    pub fn show(&self, what: &str, now: &Progress) {
        if !self.live {
            return;
        }
        let at = now.at.since(units::Timestamp::ZERO);
        let answered = match self.drawn.get() {
            Some((drawn, _, _)) if drawn.elapsed() < REDRAW => return,
            Some((_, before, answered)) if at > before && now.accounting.answered >= answered => {
                Rate::of(now.accounting.answered - answered, at - before)
            }
            _ => Rate::of(now.accounting.answered, at),
        };
        self.drawn.set(Some((Instant::now(), at, now.accounting.answered)));
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[K{:>6.1} s  {what}: {}, answered {}, in flight {}",
            self.elapsed().as_secs_f64(),
            show_duration(at),
            rate(answered),
            grouped(now.in_flight + now.waiting),
        );
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Often enough to be alive, seldom enough to be read.
const REDRAW: Duration = Duration::from_millis(250);
