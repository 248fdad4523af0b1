//! What is seen of a run while it goes on: a screen on a terminal, lines elsewhere.

mod interrupts;
mod lines;
mod pulse;
mod screen;
mod terminal;

pub use interrupts::{Interrupts, heard, interrupted_by, is_ignored};

use ::load::{Plan, Progress, Running, StartError};
use measure::Measurement;
use pulse::Pulse;
use screen::Screen;
use std::time::Duration;

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Display {
    /// One line a second on standard error.
    Lines,
    /// A screen that redraws itself.
    Screen,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    /// What was measured.
    pub measured: Measurement,
    /// Whether it was told to stop.
    pub interrupted: bool,
    /// Whether it was ended because a threshold was missed.
    pub aborted: bool,
}

/// Shows a run until it ends or is interrupted. `each_second` looks at it too, and says whether it is to end.
///
/// # Errors
/// Where a worker ended before its work.
pub fn watch(
    plan: &Plan,
    running: Running,
    interrupts: &Interrupts,
    display: Display,
    each_second: &mut dyn FnMut(&Running, &Progress) -> bool,
) -> Result<Ended, StartError> {
    // Looking must not keep a worker waiting that shares its core. Only this thread is meant; where that is refused,
    // looking costs what it costs.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    let mut pulse = Pulse::default();
    let (mut interrupted, mut aborted) = (false, false);
    // A terminal that cannot show a screen can show lines.
    let mut screen = (display == Display::Screen).then(Screen::up).and_then(Result::ok);
    for look in 0_u32.. {
        if running.is_finished() {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
        if interrupts.came() && !interrupted {
            interrupted = true;
            running.stop();
        }
        if look % LOOKS_A_BEAT == 0 {
            let second_over = pulse.beat(running.progress());
            if second_over && !interrupted && !aborted && each_second(&running, &pulse.now) {
                aborted = true;
                running.stop();
            }
            let shown = screen.as_mut().map(|screen| screen.show(plan, &pulse, interrupted));
            if let Some(Err(error)) = shown {
                heard(Err(error));
                screen = None;
            } else if shown.is_none() && second_over {
                lines::show(plan, &pulse);
            }
        }
    }
    drop(screen);
    Ok(Ended { measured: running.finish()?, interrupted, aborted })
}

/// Whether a screen may use colours (no-color.org).
pub fn with_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A nice value that workers go before, and that still leaves a tenth of a core on a busy machine.
const PRIORITY: i32 = 10;

/// Often enough for a short run to end promptly, seldom enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A report is worth a look as often as workers write one.
const LOOKS_A_BEAT: u32 = 4;
