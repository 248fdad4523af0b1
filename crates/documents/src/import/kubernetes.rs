//! The summary of autoscalers of Kubernetes that were imported.

use super::Drafted;
use control::scaling::hpa::HpaSettings;
use import::kubernetes::{self, Autoscalers, Effect};

/// A line for each autoscaler, what was left out, and the command that follows.
pub fn summary(found: &Autoscalers, drafted: &Drafted<'_>) -> String {
    let mut text = String::new();
    for autoscaler in &found.autoscalers {
        let HpaSettings { min, max, metrics, behavior, .. } = &autoscaler.settings;
        let metrics = metrics.iter().map(kubernetes::metric_words).collect::<Vec<_>>().join(", ");
        let behavior = if behavior.is_some() { ", with behavior" } else { "" };
        let name = autoscaler.whole_name();
        text += &format!("{name}: {} to {}, by {metrics}{behavior}\n", min.get(), max.get());
    }
    let left_out = found.remarks.iter().filter(|remark| remark.cause.effect() == Effect::LeftOut).count();
    text + &drafted.end(left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use import::kubernetes::Cluster;

    const PHP: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: php-apache, namespace: shop }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: php-apache }
  maxReplicas: 10
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } }
";

    #[test]
    fn the_summary_names_what_was_read_and_the_next_command() {
        let summary = |text: &str, left_out, to_fill_in| {
            let found = kubernetes::read([("hpa.yaml", text)], &Cluster::default()).unwrap();
            summary(&found, &Drafted { left_out, to_fill_in, path: "case.yaml" })
        };
        insta::assert_snapshot!(summary(PHP, 0, 9));
        let memory = "    - type: Resource\n      resource: { name: memory, target: { type: Utilization, \
                      averageUtilization: 60 } }\n";
        let behavior = "  behavior: { scaleDown: { tolerance: 2 } }\n";
        insta::assert_snapshot!(summary(&format!("{PHP}{memory}{behavior}"), 1, 9));
    }
}
