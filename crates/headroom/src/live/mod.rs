//! Shows a run while it is in progress: a screen on a terminal, lines elsewhere.

mod interrupts;
mod lines;
mod pulse;
mod screen;
mod terminal;

pub use interrupts::{Interrupts, heard, interrupted_by, is_ignored};

use ::load::{Plan, Progress};
use pulse::Pulse;
use screen::Screen;

/// How a run is shown while it is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    /// One line a second on standard error.
    Lines,
    /// A screen that redraws itself.
    Screen,
}

/// The live view of one run. Dropping it removes the screen.
pub struct View {
    display: Display,
    pulse: Pulse,
    screen: Option<Screen>,
}

impl View {
    /// The view of a run that starts.
    pub fn new(display: Display) -> Self {
        View { display, pulse: Pulse::default(), screen: None }
    }

    /// Shows the state of the run. Returns whether a second of it is over.
    pub fn show(&mut self, plan: &Plan, now: &Progress, stopping: bool) -> bool {
        let second_over = self.pulse.beat(now.clone());
        if self.display == Display::Screen && self.screen.is_none() {
            // A terminal that cannot show a screen can show lines.
            match Screen::up() {
                Ok(screen) => self.screen = Some(screen),
                Err(_) => self.display = Display::Lines,
            }
        }
        match &mut self.screen {
            Some(screen) => {
                if let Err(error) = screen.show(plan, &self.pulse, stopping) {
                    heard(Err(error));
                    (self.screen, self.display) = (None, Display::Lines);
                }
            }
            None if second_over => lines::show(plan, &self.pulse),
            None => {}
        }
        second_over
    }
}

/// Whether a screen may use colours (no-color.org).
pub fn with_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
