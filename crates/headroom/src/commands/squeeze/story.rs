//! What happens during a squeeze, on standard error.

use study::squeeze::Event;
use units::show_duration;

/// Tells what happens.
pub fn tell(event: &Event<'_>) {
    crate::output::tell(&words(event));
}

fn words(event: &Event<'_>) -> String {
    match event {
        Event::Watches(time) => format!("watching the traffic for {} ...\n", show_duration(*time)),
        Event::Watched { traffic, median, instances, squeezed } => {
            let squeezed: Vec<String> = squeezed.iter().map(ToString::to_string).collect();
            format!(
                "{traffic} at {instances} instances, median {}; squeezing {}\n",
                show_duration(*median),
                squeezed.join(", ")
            )
        }
        Event::Begins { trial, share } => format!("{} ({share} of the traffic): ", trial.rate),
        Event::Tried(outcome) => format!("{}\n", outcome.verdict),
        Event::Pauses => "back to the usual share until the instance is as fast as before\n".to_owned(),
        Event::Crossed(crossed) => format!("\na guard did not hold: {crossed}\n"),
        Event::Ends(why) => format!("\nended: {why}\n"),
        Event::Restored(true) => "restored\n\n".to_owned(),
        Event::Restored(false) => "the gateway does not answer; it ends the squeeze by itself\n\n".to_owned(),
    }
}
