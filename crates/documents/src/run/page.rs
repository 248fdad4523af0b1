//! The report of a run of load: verdict, charts over time, quantiles, what became of the requests, and all tables.
//!
//! It is made of what the ledger keeps, so that a run has the same report when it ends and later.

use super::words::{INTERVAL, TIMES, no_good_answer, pacing, time_rows};
use super::{Ended, LoadRun, Threshold, parts};
use crate::find::goals;
use crate::words::counted;
use control::search::Condition;
use measure::{Blocks, Histogram, Parts, Recorded, SUCCEEDED, Series, Stage, Verdict, Watched, steady};
use report::{
    Align, Chart, Notice, Phase, Report, Section, Share, Table, Timeline, grouped, html, load_over_time,
    points_are_joined, quantile_curve, rate,
};
use units::{Bytes, Quantile, Rate, Timestamp, show_duration};

/// What a report shows of a run.
#[derive(Debug)]
pub struct Reported<'a> {
    /// The command: `load`, `replay`.
    pub command: String,
    /// What the load went to.
    pub target: String,
    /// When it began, as RFC 3339 has it.
    pub began: String,
    /// Which run of the ledger it is.
    pub run: Option<String>,
    /// The version of headroom that measured it.
    pub version: String,
    /// What was asked of it: names and values.
    pub asked: Vec<(String, String)>,
    /// How it ended, where that was not as planned.
    pub ended: Option<String>,
    /// What came instead, where no response was good.
    pub no_good_answer: Option<String>,
    /// What had to hold.
    pub thresholds: Vec<Threshold>,
    /// What was measured.
    pub recorded: Recorded,
    /// Its endpoints, stages and checks.
    pub parts: Parts,
    /// Its seconds.
    pub series: &'a Series,
    /// What was watched beside it.
    pub watched: Vec<Watched>,
    /// The same in words, with what is missing.
    pub watched_words: Vec<(String, String)>,
    /// Whether requests were sent when they were due, in words.
    pub pacing: Option<String>,
    /// What limits the service, most important first.
    pub findings: Vec<String>,
}

impl LoadRun<'_> {
    /// What a report shows of the run. `began` is the time as RFC 3339 has it, `run` the run in the ledger.
    pub fn reported(&self, command: &str, began: String, run: Option<&str>) -> Reported<'_> {
        let LoadRun { asked, measured, ended, thresholds, watched, findings } = *self;
        Reported {
            command: command.to_owned(),
            target: asked.target.clone(),
            began,
            run: run.map(str::to_owned),
            version: status::version().to_owned(),
            asked: asked.facts().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            ended: match ended {
                Ended::Planned => None,
                Ended::Interrupted => Some("The run was interrupted.".to_owned()),
                Ended::Aborted => Some("The run ended early because a threshold was missed.".to_owned()),
            },
            no_good_answer: no_good_answer(measured),
            thresholds: thresholds.to_vec(),
            recorded: Recorded::from(measured),
            parts: Parts::from(measured),
            series: &measured.series,
            watched: watched.to_vec(),
            watched_words: crate::watched::rows(watched),
            pacing: pacing(measured),
            findings: findings.iter().map(|found| found.sentence.clone()).collect(),
        }
    }
}

impl Reported<'_> {
    /// The page as HTML.
    pub fn page(&self) -> String {
        let mut sections = self.notices();
        sections.push(Section::Figures(self.figures()));
        if !self.thresholds.is_empty() {
            sections.push(Section::Heading("Thresholds".to_owned()));
            sections.push(Section::Table(self.threshold_table()));
        }
        sections.push(self.over_time());
        sections.extend(self.times());
        sections.extend(self.outcomes());
        sections.extend(self.tables());
        sections.push(Section::Heading("Configuration".to_owned()));
        sections.push(Section::Table(pairs(&self.configuration())));
        let run = self.run.as_ref().map_or(String::new(), |run| format!(", run {run} in the ledger"));
        html(&Report {
            title: format!("Load test of {}", self.target),
            subtitle: format!(
                "headroom {}{run}. Started at {}, {} of load.",
                self.command,
                self.began,
                show_duration(self.recorded.elapsed)
            ),
            sections,
        })
    }

    fn notices(&self) -> Vec<Section> {
        let mut notices = Vec::new();
        let mut notice = |kind, text: String| notices.push(Section::Notice(kind, text));
        if let Some(line) = &self.no_good_answer {
            notice(Notice::Bad, format!("No good response: {line}"));
        }
        if !self.thresholds.is_empty() {
            let all = counted(self.thresholds.len() as u64, "threshold");
            match self.thresholds.iter().filter(|threshold| !threshold.met).count() {
                0 => notice(Notice::Good, format!("Passed: {all} met")),
                missed => notice(Notice::Bad, format!("Failed: {missed} of {all} missed")),
            }
        }
        if let Some(text) = &self.ended {
            notice(Notice::Warning, text.clone());
        }
        let reasons = self.recorded.reasons.join("; ");
        match self.recorded.verdict {
            Verdict::Valid => notice(Notice::Good, "Valid: nothing disturbed the measurement".to_owned()),
            Verdict::Suspect => notice(Notice::Warning, format!("Suspect: {reasons}")),
            Verdict::Invalid => notice(Notice::Bad, format!("Invalid: {reasons}")),
        }
        notices
    }

    fn figures(&self) -> Vec<(String, String)> {
        let Recorded { elapsed, accounting, completed, response, dispatch, .. } = &self.recorded;
        let mut figures = Vec::new();
        let mut figure = |name: &str, value: String| figures.push((name.to_owned(), value));
        figure("offered", rate(Rate::of(accounting.scheduled, *elapsed)));
        figure("achieved", rate(Rate::of(completed.unwrap_or(accounting.answered), *elapsed)));
        let good: u64 = self.recorded.statuses.range(SUCCEEDED).map(|(_, count)| count).sum();
        if let Some(share) = units::Ratio::of(good, accounting.scheduled) {
            figure("good responses", share.to_string());
        }
        if self.is_one_load() {
            let (response, dispatch) = (response.dense(), dispatch.dense());
            let points = [Quantile::P50, Quantile::P95, Quantile::P99];
            let times = points.iter().map(|point| (point.to_string(), response.quantile(*point)));
            let times = times.chain([("max".to_owned(), response.max())]);
            // The highest one that is repeatable.
            let enough =
                |point: &Quantile| dispatch.quantile(*point).is_some_and(|delay| delay.few_above.is_none());
            let delay = points.into_iter().rev().find(enough).unwrap_or(Quantile::P50);
            let delay = (format!("dispatch delay, {delay}"), dispatch.quantile(delay));
            for (name, value) in times.chain([delay]) {
                value.into_iter().for_each(|value| figure(&name, value.to_string()));
            }
        }
        figures
    }

    fn threshold_table(&self) -> Table {
        let mut table =
            Table::new(&[("threshold", Align::Left), ("result", Align::Left), ("observed", Align::Left)]);
        for Threshold { threshold, met, said } in &self.thresholds {
            let sign = if *met { "✓ met" } else { "✕ missed" };
            let said = said.strip_prefix(threshold.as_str()).unwrap_or(said).trim_start_matches(": ");
            let observed = ["met, ", "missed, "].iter().find_map(|verdict| said.strip_prefix(verdict));
            table.row([threshold.as_str(), sign, observed.unwrap_or(said)]);
        }
        table
    }

    fn over_time(&self) -> Section {
        let recorded = &self.recorded;
        let since = |at: Timestamp| at.since(Timestamp::ZERO);
        let stages = &self.parts.stages;
        let phases = match stages.len() {
            2..=MOST_PHASES => stages
                .iter()
                .map(|stage| Phase {
                    name: stage.name.clone(),
                    start: since(stage.from),
                    end: since(stage.until),
                })
                .collect(),
            _ => Vec::new(),
        };
        let end = stages.iter().map(|stage| since(stage.until)).max().unwrap_or(recorded.elapsed);
        let timeline = Timeline { seconds: self.series, phases, marks: Vec::new(), end: Some(end) };
        let conditions: Vec<Condition> =
            self.thresholds.iter().filter_map(|threshold| threshold.threshold.parse().ok()).collect();
        let seen = self.watched.iter().filter(|watched| !watched.samples.is_empty());
        let watched: Vec<(String, &Watched)> =
            seen.map(|watched| (crate::watched::title(watched), watched)).take(MOST_WATCHED).collect();
        let joined = match points_are_joined(self.series) {
            true => {
                " Each point stands for several seconds; the band shows the lowest and the highest of them."
            }
            false => "",
        };
        let beside = if watched.is_empty() { "" } else { " Below: values watched during the run." };
        Section::Chart(Chart {
            title: "Throughput and response time over time".to_owned(),
            caption: format!(
                "Each request counts in the second of its intended start. Good: a response with a status from 200 to 399. \
                 Failed: no response, or another status. Shed: a response with status 429 or 503.{joined}{beside}"
            ),
            drawing: load_over_time(&timeline, &goals(&conditions), &watched),
        })
    }

    /// The quantile curve and the table of times; over several loads, quantiles mean nothing.
    fn times(&self) -> Vec<Section> {
        let heading = Section::Heading("Response time".to_owned());
        if !self.is_one_load() {
            let text = "The load changed during the run, so quantiles of the whole run are not meaningful. The table of \
                        stages has the response times of each stage.";
            return vec![heading, Section::Text(text.to_owned())];
        }
        let Recorded { response, service, dispatch, .. } = &self.recorded;
        let columns = [response, service, dispatch].map(|sparse| sparse.dense());
        let [response, service, dispatch] = &columns;
        let chart = Section::Chart(Chart {
            title: "Quantiles of the response time".to_owned(),
            caption: "Response time counts from the intended start, service time from the actual start. Where they differ, \
                      requests waited before they were sent: the dispatch delay. The curves end where fewer than 30 \
                      requests took longer."
                .to_owned(),
            drawing: quantile_curve(&[("response", response), ("service", service)]),
        });
        let table = time_table([response, service, dispatch], &self.blocks());
        vec![heading, chart, Section::Table(table)]
    }

    fn outcomes(&self) -> Vec<Section> {
        let Recorded { accounting, statuses, failures, .. } = &self.recorded;
        let share = |name: String, count, of, remark: String| Share { name, count, of, remark };
        let fates = accounting
            .fates()
            .into_iter()
            .filter(|&(_, count)| count > 0)
            .map(|(name, count)| share(name.to_owned(), count, accounting.scheduled, String::new()));
        let mut sections = vec![
            Section::Heading("Requests by outcome".to_owned()),
            Section::Text(format!(
                "{} were scheduled. {} were sent again.",
                counted(accounting.scheduled, "request"),
                grouped(accounting.resent)
            )),
            Section::Shares(fates.collect()),
        ];
        let responses: u64 = statuses.values().sum();
        if responses > 0 {
            let rows = statuses
                .iter()
                .map(|(status, &count)| share(status.to_string(), count, responses, String::new()));
            sections.push(Section::Heading("Responses by status".to_owned()));
            sections.push(Section::Shares(rows.collect()));
        }
        let failed: u64 = failures.values().sum();
        if failed > 0 {
            let rows = failures.iter().map(|(kind, &count)| {
                share(kind.to_string(), count, failed, kind.remedy().unwrap_or_default().to_owned())
            });
            sections.push(Section::Heading("Failures".to_owned()));
            sections.push(Section::Shares(rows.collect()));
        }
        sections
    }

    fn tables(&self) -> Vec<Section> {
        let recorded = &self.recorded;
        let Parts { endpoints, stages, checks } = &self.parts;
        [
            ("Stages", parts::stages(stages)),
            ("Endpoints", parts::endpoints(endpoints, recorded.elapsed, self.is_one_load())),
            ("Checks", parts::checks(checks)),
            ("Iterations", parts::iterations(&recorded.iterations)),
            ("Connections", parts::connections(&recorded.connect.dense(), &recorded.tls.dense())),
        ]
        .into_iter()
        .filter_map(|(name, table)| Some([Section::Heading(name.to_owned()), Section::Table(table?)]))
        .flatten()
        .collect()
    }

    fn configuration(&self) -> Vec<(String, String)> {
        let recorded = &self.recorded;
        let mut facts = self.asked.clone();
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        fact("connections opened", grouped(recorded.connections));
        fact("received", Bytes::new(recorded.bytes_received).to_string());
        fact("processor time of the load generator", show_duration(recorded.cpu).to_string());
        if let Some(pacing) = &self.pacing {
            fact("pacing", pacing.clone());
        }
        for (place, sentence) in self.findings.iter().enumerate() {
            fact(if place == 0 { "bottleneck" } else { "" }, sentence.clone());
        }
        for (name, words) in &self.watched_words {
            fact(&format!("watched: {name}"), words.clone());
        }
        fact("headroom", self.version.clone());
        facts
    }

    fn is_one_load(&self) -> bool {
        Stage::are_one_load(&self.parts.stages)
    }

    fn blocks(&self) -> Blocks {
        let Recorded { elapsed, accounting, completed, .. } = &self.recorded;
        Blocks::of(self.series, steady(&self.parts.stages, *elapsed))
            .completed(completed.unwrap_or(accounting.answered), accounting.answered)
    }
}

fn time_table(columns: [&Histogram; 3], blocks: &Blocks) -> Table {
    let [response, service, dispatch] = TIMES.map(|name| (name, Align::Right));
    let mut table = Table::new(&[("", Align::Left), response, (INTERVAL, Align::Right), service, dispatch]);
    for row in time_rows(columns, blocks) {
        let [response, service, dispatch] = row.cells;
        let interval = if row.interval.is_empty() { "-".to_owned() } else { row.interval };
        table.row([row.name, response, interval, service, dispatch]);
    }
    table
}

fn pairs(facts: &[(String, String)]) -> Table {
    let mut table = Table::new(&[("name", Align::Left), ("value", Align::Left)]);
    facts.iter().for_each(|(name, value)| table.row([name.clone(), value.clone()]));
    table
}

/// More charts below each other are no longer seen together; the values of the others are in the table.
const MOST_WATCHED: usize = 12;
/// A band above the chart has room for so many stages.
const MOST_PHASES: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Arrivals, Asked, Course, Model, Protocol, Work};
    use measure::{Accounting, Measurement, Second, Validity};
    use std::time::Duration;

    fn asked() -> Asked {
        let course = Course::Rate(Rate::per_second_of(100.0));
        Asked {
            target: "http://127.0.0.1:8080/<b>".to_owned(),
            work: Work::Targets { address: None, count: 1 },
            model: Model::Open { course, arrivals: Arrivals::Even, connections: None },
            protocol: Protocol::Http1,
            keep_alive: true,
            duration: None,
            requests: None,
            end: Some(Duration::from_secs(20)),
            warm_up: Duration::ZERO,
            timeout: Duration::from_secs(3),
            workers: 1,
        }
    }

    /// Twenty seconds with 100 responses each.
    fn measured() -> Measurement {
        let mut response = Histogram::new();
        (0..100).for_each(|n| response.record(Duration::from_micros(10_000 + 100 * n)));
        let accounting = Accounting { scheduled: 100, answered: 100, ..Accounting::default() };
        let second = Second { accounting, good: 100, response: response.sparse(), ..Second::default() };
        let mut measured =
            Measurement { elapsed: Duration::from_secs(20), completed: 2_000, ..Measurement::default() };
        for _ in 0..20 {
            measured.series.seconds.push(second.clone());
            measured.accounting += accounting;
            measured.response.add(&response);
            measured.service.add(&response);
        }
        measured.statuses.insert(200, 2_000);
        measured.validity = Validity::of(Vec::new());
        measured
    }

    fn threshold(threshold: &str, met: bool, observed: &str) -> Threshold {
        let verdict = if met { "met" } else { "missed" };
        let said = format!("{threshold}: {verdict}, {observed}");
        Threshold { threshold: threshold.to_owned(), met, said }
    }

    fn page(measured: &Measurement, thresholds: &[Threshold]) -> String {
        let asked = asked();
        let run = LoadRun {
            asked: &asked,
            measured,
            ended: Ended::Planned,
            thresholds,
            watched: &[],
            findings: &[],
        };
        run.reported("load", "2026-03-01T12:30:05Z".to_owned(), Some("r7")).page()
    }

    #[test]
    fn a_report_begins_with_the_verdict_and_has_every_part() {
        let thresholds = [threshold("p(95)<50ms", true, "19.5 ms"), threshold("failed<1%", false, "2 %")];
        let page = page(&measured(), &thresholds);
        for part in [
            "Failed: 1 of 2 thresholds missed",
            "Valid: nothing disturbed the measurement",
            "<dt>achieved</dt><dd>100/s</dd>",
            "<td>p(95)&lt;50ms</td><td>✓ met</td><td>19.5 ms</td>",
            "<td>failed&lt;1%</td><td>✕ missed</td><td>2 %</td>",
            "goal: p(95)&lt;50ms",
            "good: 100 to 100",
            "Quantiles of the response time",
            "2,000 requests were scheduled",
            "run r7 in the ledger",
            "http://127.0.0.1:8080/&lt;b&gt;",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("Stages") && !page.contains("Failures"), "what did not occur is not shown");
    }

    #[test]
    fn an_empty_run_has_a_report() {
        let page = page(&Measurement::default(), &[]);
        assert!(page.contains("no data") && !page.contains("NaN"), "{page}");
    }
}
