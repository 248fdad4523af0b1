//! The summary of autoscalers and ScaledObjects of Kubernetes that were imported.

use super::Drafted;
use control::scaling::hpa::HpaSettings;
use control::scaling::keda::Trigger;
use import::kubernetes::{self, Autoscalers, Effect};

/// A line for each autoscaler and ScaledObject, what was left out, and the command that follows.
pub fn summary(found: &Autoscalers, drafted: &Drafted<'_>) -> String {
    let mut text = String::new();
    for autoscaler in &found.autoscalers {
        let HpaSettings { min, max, metrics, behavior, .. } = &autoscaler.settings;
        let metrics = metrics.iter().map(kubernetes::metric_words).collect::<Vec<_>>().join(", ");
        let behavior = if behavior.is_some() { ", with behavior" } else { "" };
        let name = autoscaler.whole_name();
        text += &format!("{name}: {} to {}, by {metrics}{behavior}\n", min.get(), max.get());
    }
    for object in &found.scaled_objects {
        let (min, max) = (object.settings.active_min(), object.settings.max);
        let triggers: Vec<&str> = object.settings.triggers.iter().map(kind).collect();
        let triggers = triggers.join(", ");
        text += &format!("{}: {min} to {max}, by KEDA with {triggers}\n", object.whole_name());
    }
    let left_out = found.remarks.iter().filter(|remark| remark.cause.effect() == Effect::LeftOut).count();
    text + &drafted.end(left_out)
}

/// The type of a trigger.
fn kind(trigger: &Trigger) -> &str {
    match trigger {
        Trigger::Resource { resource, .. } => resource,
        Trigger::Cron { .. } => "cron",
        Trigger::Prometheus { .. } => "prometheus",
    }
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
        let object = "---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: { name: worker }\nspec:\n  \
                      scaleTargetRef: { name: worker }\n  triggers:\n    - { type: cron, metadata: { timezone: UTC, start: \
                      0 8 * * *, end: 0 9 * * *, desiredReplicas: \"2\" } }\n    - { type: cpu, metricType: Utilization, \
                      metadata: { value: \"70\" } }\n";
        insta::assert_snapshot!(summary(&format!("{PHP}{object}"), 0, 18));
    }
}
