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
                    "At 100 requests a second the service is fast. At 110 its queue grows, it slows down, and the \
                     number of good responses collapses; after the overload, the service needed {} to recover. With \
                     the policy, the same overload does little harm: while responses take longer than 50 ms, the \
                     gateway admits 100 requests a second, at most 12 at a time, and rejects the others with 503. \
                     After the overload, the policy lifts its limit.",
                    show_duration(self.calm_after)
                )),
                chart(
                    "Good responses collapse without the policy, and stay flat with it",
                    "Each request counts in the second of its intended start. Good: a response with 2xx within 3 s of \
                     that. Shed: rejected by the gateway.",
                    report::rates(&timeline),
                ),
                chart(
                    "Response times of good responses",
                    "From the intended start to the last byte of the response.",
                    report::response_times(&good_only),
                ),
                Section::Heading("The last ten seconds of each phase".to_owned()),
                Section::Table(self.table()),
                Section::Heading("Do the same with your own service".to_owned()),
                Section::Code(NEXT.to_owned()),
                Section::Text(format!("headroom {}", status::version())),
            ],
        })
    }
}

const SUBTITLE: &str = "The same overload of 110 requests a second, without and with a policy, on a service that can process 107.";

const NEXT: &str = "\
headroom find 'http://127.0.0.1:8080/path' --slo 'p(95)<50ms'
headroom gateway headroom-gateway.yaml
";
