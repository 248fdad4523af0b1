//! KEDA's external scaler protocol: the wanted size as a metric whose target is 1 for each replica.
//!
//! ## Why this metric
//! KEDA's autoscaler computes replicas as ⌈metric / target⌉ for a target of type `AverageValue`, KEDA's default. With a
//! target of 1 that is the metric, so the replicas are the wanted size, however many there are now. A scaler is inactive
//! only if the wanted size is 0: then KEDA scales to its minimum or idle count.
//!
//! ## Errors
//! Without a current opinion, activity and metric are errors, so that KEDA leaves the replicas as they are, or takes its
//! fallback. The target is always known.
//!
//! Follows `pkg/scalers/externalscaler/externalscaler.proto` and `pkg/scalers/external_scaler.go` of kedacore/keda.

/// Made of `proto/externalscaler.proto`; `tests/interface.rs` checks that it is current.
#[allow(clippy::all, missing_docs, unused_qualifications, reason = "generated")]
mod interface {
    include!("../proto/externalscaler.rs");
}

use crate::{Cell, Published, Room};
use axum::Router;
use interface::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use interface::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status};

/// Adds the calls to the pages.
pub(crate) fn add_to(router: Router<Room>, cell: Cell) -> Router<Room> {
    let calls = ExternalScalerServer::new(Keda { cell }).max_decoding_message_size(REQUEST_BYTES_MAX);
    router.route_service(&format!("{}{{*call}}", crate::CALLS), calls)
}

#[derive(Clone)]
struct Keda {
    cell: Cell,
}

impl Keda {
    /// The last status, if it is of the service that a trigger names.
    fn seen(&self, of: Option<&ScaledObjectRef>) -> Result<Option<Arc<Published>>, Status> {
        let seen = self.cell.borrow().clone();
        let named = of.and_then(|of| of.scaler_metadata.get(SERVICE));
        match (&seen, named) {
            (Some(seen), Some(name)) if *name != seen.status.service => Err(Status::not_found(format!(
                "this scaler decides on the service `{}`, not on `{name}`: change `{SERVICE}` in the trigger's metadata",
                seen.status.service
            ))),
            _ => Ok(seen),
        }
    }

    /// The current opinion on the service that a trigger names.
    fn opinion(&self, of: Option<&ScaledObjectRef>) -> Result<Arc<Published>, Status> {
        match self.seen(of)? {
            None => Err(Status::unavailable("the scaler has not taken its first step yet")),
            Some(seen) if !seen.is_current() => {
                let age = seen.at.elapsed().as_secs();
                Err(Status::unavailable(format!("the scaler took its last step {age} s ago")))
            }
            Some(seen) => Ok(seen),
        }
    }

    /// Sends the activity at once, when it changes, and now and then, so that a connection is known to be alive. Ends when
    /// the client leaves, or named another service.
    async fn tell_changes(
        mut self,
        of: ScaledObjectRef,
        replies: mpsc::Sender<Result<IsActiveResponse, Status>>,
    ) {
        let mut told = None;
        let mut again = interval_at(Instant::now() + REPEATED, REPEATED);
        loop {
            self.cell.mark_unchanged();
            match self.opinion(Some(&of)) {
                Ok(seen) if told != Some(is_active(&seen)) => {
                    let result = is_active(&seen);
                    told = Some(result);
                    if replies.send(Ok(IsActiveResponse { result })).await.is_err() {
                        return;
                    }
                }
                Err(status) if status.code() == Code::NotFound => {
                    // It may have left.
                    let _ = replies.send(Err(status)).await;
                    return;
                }
                // Nothing new, or no opinion: the last one stays.
                _ => {}
            }
            tokio::select! {
                changed = self.cell.changed() => if changed.is_err() { return },
                _ = again.tick() => told = None,
                () = replies.closed() => return,
            }
        }
    }
}

type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl ExternalScaler for Keda {
    async fn is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<IsActiveResponse>, Status> {
        let seen = self.opinion(Some(request.get_ref()))?;
        Ok(Response::new(IsActiveResponse { result: is_active(&seen) }))
    }

    type StreamIsActiveStream = Replies<IsActiveResponse>;

    async fn stream_is_active(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        let (replies, received) = mpsc::channel(1);
        tokio::spawn(self.clone().tell_changes(request.into_inner(), replies));
        Ok(Response::new(Box::pin(ReceiverStream::new(received))))
    }

    async fn get_metric_spec(
        &self,
        request: Request<ScaledObjectRef>,
    ) -> Result<Response<GetMetricSpecResponse>, Status> {
        self.seen(Some(request.get_ref()))?;
        let spec = MetricSpec { metric_name: METRIC.to_owned(), target_size: 1, target_size_float: 1.0 };
        Ok(Response::new(GetMetricSpecResponse { metric_specs: vec![spec] }))
    }

    async fn get_metrics(
        &self,
        request: Request<GetMetricsRequest>,
    ) -> Result<Response<GetMetricsResponse>, Status> {
        let asked = request.get_ref();
        let seen = self.opinion(asked.scaled_object_ref.as_ref())?;
        if asked.metric_name != METRIC {
            let name = &asked.metric_name;
            return Err(Status::invalid_argument(format!("no metric `{name}`; there is `{METRIC}`")));
        }
        let wanted = seen.status.wanted;
        let value = MetricValue {
            metric_name: METRIC.to_owned(),
            metric_value: wanted.into(),
            metric_value_float: wanted.into(),
        };
        Ok(Response::new(GetMetricsResponse { metric_values: vec![value] }))
    }

    type StreamMetricSpecStream = Replies<GetMetricSpecResponse>;

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        Err(Status::unimplemented("the target is always 1: use GetMetricSpec"))
    }
}

fn is_active(seen: &Published) -> bool {
    seen.status.wanted > 0
}

/// The name of the metric; KEDA puts the number of the trigger before it.
const METRIC: &str = "headroom-wanted-instances";

/// The key of a trigger's metadata with the service.
const SERVICE: &str = "service";

/// Less than the time after which a silent connection is closed.
const REPEATED: Duration = Duration::from_secs(15);

/// More than the metadata of any trigger.
const REQUEST_BYTES_MAX: usize = 256 * 1024;
