//! Knative's pod autoscaler.
