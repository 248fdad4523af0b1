//! The gauges of a scaler, in the text format of Prometheus.
//!
//! ## Why an old opinion is left out
//! A horizontal pod autoscaler that reads an old wanted size would hold the service at it. Without the gauge it has no
//! metric, and leaves the size as it is.

use crate::Published;
use status::scaler::{QUALITIES, Scaler};
use std::fmt::{Display, Write as _};

/// The page; without a step yet, only that.
pub(crate) fn page(seen: Option<&Published>) -> String {
    let mut page = Page(String::new());
    page.head("headroom_scaler_up", "gauge", "1 while the scaler decides, otherwise 0.");
    let current = seen.is_some_and(Published::is_current);
    let service = seen.map_or("", |seen| seen.status.service.as_str());
    page.line("headroom_scaler_up", &[("service", service)], &u8::from(current));
    let Some(seen) = seen else { return page.0 };
    page.head("headroom_scaler_step_age_seconds", "gauge", "Time since the last step of the scaler.");
    let age = seen.at.elapsed().as_secs_f64();
    page.line("headroom_scaler_step_age_seconds", &[("service", service)], &age);
    if current {
        page.service(&seen.status);
        page.policies(&seen.status);
    }
    page.0
}

struct Page(String);

impl Page {
    fn service(&mut self, of: &Scaler) {
        let service = [("service", of.service.as_str())];
        let goal_held = of.goal_held.map(|held| f64::from(u8::from(held)));
        type Family<'a> = (&'a str, &'a str, Option<f64>);
        let flag = |is: bool| Some(f64::from(u8::from(is)));
        let families: [Family<'_>; 11] = [
            ("wanted_instances", "Instances that the service is to have.", Some(of.wanted.into())),
            ("actual_instances", "Instances that are set at the target.", Some(of.actual.into())),
            ("min_instances", "The minimum number of instances.", Some(of.min.into())),
            ("max_instances", "The maximum number of instances.", Some(of.max.into())),
            ("ready_instances", "Instances that get requests.", Some(of.instances.ready.into())),
            ("leader", "1 if the scaler holds the lead, otherwise 0.", flag(of.leader)),
            ("applies", "1 if the scaler carries its decisions out, 0 if it recommends.", flag(of.applies)),
            ("paused", "1 while changes are paused, otherwise 0.", flag(of.paused)),
            ("killed", "1 while the kill switch is on, otherwise 0.", flag(of.killed)),
            (
                "demand_requests_per_second",
                "Requests that arrived a second in the last period.",
                Some(of.demand),
            ),
            ("goal_held", "1 if the goal was held in the last period, otherwise 0.", goal_held),
        ];
        for (name, help, value) in families {
            let Some(value) = value else { continue };
            let name = format!("headroom_scaler_{name}");
            self.head(&name, "gauge", help);
            self.line(&name, &service, &value);
        }
        let name = "headroom_scaler_metrics_quality";
        self.head(name, "gauge", "1 for the current quality of the metrics, 0 for the others.");
        for quality in QUALITIES {
            let labels = [("service", of.service.as_str()), ("quality", quality)];
            self.line(name, &labels, &u8::from(of.metrics.quality == quality));
        }
        let name = "headroom_scaler_metric_value";
        self.head(name, "gauge", "The newest value that policies read, by alarm or metric.");
        for one in &of.metrics.values {
            let Some(value) = one.value else { continue };
            self.line(name, &[("service", of.service.as_str()), ("metric", one.name.as_str())], &value);
        }
    }

    fn policies(&mut self, of: &Scaler) {
        let labels = |policy: &'_ str| [("service", of.service.clone()), ("policy", policy.to_owned())];
        let name = "headroom_scaler_policy_wanted_instances";
        self.head(name, "gauge", "Instances that the policy requested last.");
        for policy in &of.policies {
            let Some(wanted) = policy.wanted else { continue };
            self.owned(name, &labels(&policy.name), &wanted);
        }
        let name = "headroom_scaler_decisions_total";
        self.head(name, "counter", "Decisions of the policy, by whether they change the size.");
        for policy in &of.policies {
            for (changes, count) in [("true", policy.changed), ("false", policy.refused)] {
                let [service, policy] = labels(&policy.name);
                self.owned(name, &[service, policy, ("changes", changes.to_owned())], &count);
            }
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn owned(&mut self, name: &str, labels: &[(&str, String)], value: &dyn Display) {
        let labels: Vec<(&str, &str)> = labels.iter().map(|(label, text)| (*label, text.as_str())).collect();
        self.line(name, &labels, value);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: &dyn Display) {
        self.0.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            self.0.push(if place == 0 { '{' } else { ',' });
            let _ = write!(self.0, "{label}=\"");
            for character in text.chars() {
                match character {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
        }
        let _ = writeln!(self.0, "}} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use status::sample;
    use std::time::{Duration, Instant};

    fn seen(age: Duration) -> Published {
        Published {
            status: sample::scaler(),
            at: Instant::now().checked_sub(age).expect("an uptime of minutes"),
        }
    }

    #[test]
    fn the_wanted_size_and_each_opinion_have_a_gauge() {
        let page = page(Some(&seen(Duration::ZERO)));
        for line in [
            "headroom_scaler_up{service=\"web\"} 1\n",
            "# TYPE headroom_scaler_wanted_instances gauge\nheadroom_scaler_wanted_instances{service=\"web\"} 5\n",
            "headroom_scaler_actual_instances{service=\"web\"} 4\n",
            "headroom_scaler_leader{service=\"web\"} 0\n",
            "headroom_scaler_metrics_quality{service=\"web\",quality=\"fresh\"} 0\n",
            "headroom_scaler_metrics_quality{service=\"web\",quality=\"stale\"} 1\n",
            "headroom_scaler_metric_value{service=\"web\",metric=\"busy\"} 71.3\n",
            "headroom_scaler_policy_wanted_instances{service=\"web\",policy=\"out\"} 5\n",
            "headroom_scaler_decisions_total{service=\"web\",policy=\"out\",changes=\"true\"} 3\n",
            "headroom_scaler_decisions_total{service=\"web\",policy=\"in\",changes=\"false\"} 0\n",
        ] {
            assert!(page.contains(line), "{line}{page}");
        }
        assert!(!page.contains("metric=\"idle\""), "no datapoint, no value: {page}");
    }

    #[test]
    fn an_old_opinion_is_left_out() {
        let old = page(Some(&seen(crate::OUTDATED)));
        assert!(old.contains("headroom_scaler_up{service=\"web\"} 0\n"), "{old}");
        assert!(!old.contains("wanted") && !old.contains("decisions"), "{old}");
        let none = page(None);
        assert!(none.contains("headroom_scaler_up{service=\"\"} 0\n") && !none.contains("age"), "{none}");
    }

    #[test]
    fn names_of_any_kind_stay_in_their_label() {
        let mut published = seen(Duration::ZERO);
        published.status.service = "a\"b\\c\nd".to_owned();
        let text = page(Some(&published));
        assert!(text.contains("headroom_scaler_up{service=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
    }
}
