//! The report of the demo.

use super::Story;
use report::{Chart, Report, Section, Timeline};
use units::show_duration;

impl Story {
    /// The report as HTML.
    pub fn page(&self) -> String {
        let timeline = Timeline {
            seconds: &self.series,
            phases: self.spans.clone(),
            marks: self.marks.clone(),
            end: None,
        };
        // A quick error is no quick response.
        let mut good = self.series.clone();
        good.seconds.iter_mut().for_each(|second| second.response = second.good_response.clone());
        let good_only = Timeline { seconds: &good, ..timeline.clone() };
        let chart = |title: &str, caption: &str, drawing| {
            Section::Chart(Chart { title: title.to_owned(), caption: caption.to_owned(), drawing })
        };
        report::html(&Report {
            title: "A service at its limit".to_owned(),
            subtitle: SUBTITLE.to_owned(),
            sections: vec![
                Section::Text(format!(
                    "100 a second are calm. At 110 the queue grows, the service slows down, and good \
                     responses fall steeply; when the flood was over, it took {} until the service was calm. \
                     With the policy the same flood stays flat: while not every response comes within 50 ms, \
                     100 a second are admitted, at most 12 at a time, and the rest is told at once to come \
                     back. Afterwards the limit lifts by itself.",
                    show_duration(self.calm_after)
                )),
                chart(
                    "With the policy, the flood stays flat",
                    "Each arrival counts in the second in which it was due. Good: answered with 2xx within 3 s \
                     of that.",
                    report::rates(&timeline),
                ),
                chart(
                    "So do the response times of the good ones",
                    "From the intended start to the last byte.",
                    report::response_times(&good_only),
                ),
                Section::Heading("The last ten seconds of each phase".to_owned()),
                Section::Table(self.table()),
                Section::Heading("The same for a service of your own".to_owned()),
                Section::Code(NEXT.to_owned()),
                Section::Text(format!("headroom {}", status::version())),
            ],
        })
    }
}

const SUBTITLE: &str =
    "The same flood of 110 requests a second, without and with a policy, on a service that carries 107.";

const NEXT: &str = "\
headroom find 'http://127.0.0.1:8080/path' --slo 'p(95)<50ms'
headroom gateway headroom-gateway.yaml
";
