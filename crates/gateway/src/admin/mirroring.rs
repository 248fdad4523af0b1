//! Copies over the admin listener: what an experiment reads of them and of live requests, and the pause that it holds.

use super::instances::{answer, refused};
use super::processor::Used;
use super::{Room, lease};
use crate::metrics::Answer;
use crate::mirror::{Link, Sink};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, put};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// `GET /mirroring`, and the pause.
pub(super) fn routes() -> Router<Room> {
    Router::new().route("/mirroring", get(state)).route("/mirroring/pause", put(pause).delete(end_pause))
}

/// All counts are those since the start of the gateway, over all routes and pools.
async fn state(State((room, clock)): State<Room>) -> Response {
    let (_, shared) = room.current();
    let counts = room.counts(&shared);
    let now = clock.now();
    let used = Used::now();
    let mut errors = 0;
    let (mut demand, mut answered, mut shed, mut failed) = (0, 0, 0, 0);
    for index in 0..shared.settings.routes.len() {
        let of = counts.route(index);
        let is_error = |answer: &&Answer| answer.is_from_upstream() && answer.class() == "5xx";
        errors += of.answers.iter().filter(is_error).map(Answer::count).sum::<u64>();
        demand += of.demand();
        answered += of.answered_total();
        shed += of.shed.values().sum::<u64>();
        failed += of.failed.values().sum::<u64>();
    }
    // By the bits of a time: times are above zero, so these are in order.
    let (mut buckets, mut sum_s) = (BTreeMap::<u64, u64>::new(), 0.0);
    for pool in &shared.pools {
        let times = pool.times.read();
        sum_s += times.total_s;
        for (middle, count) in times.buckets {
            *buckets.entry(middle.to_bits()).or_default() += u64::from(count);
        }
    }
    // Modulo 2^32, as the counters of a pool are.
    let buckets: Vec<(f64, u32)> =
        buckets.into_iter().map(|(bits, count)| (f64::from_bits(bits), count as u32)).collect();
    let paused = room.pause.held(now);
    let page = json!({
        "at_s": now.as_secs_f64(),
        "pid": std::process::id(),
        "paused": paused.map(|paused| json!({ "holder": paused.holder, "left_s": paused.left.as_secs_f64() })),
        "arrived": demand,
        "answered": answered,
        "errors": errors,
        "shed": shed,
        "failed": failed,
        "response_times": { "sum_s": sum_s, "buckets": buckets },
        "processor": used.map(|used| {
            json!({ "workers_s": used.workers.as_secs_f64(), "copies_s": used.copies.as_secs_f64() })
        }),
        "copies": shared.mirrors.routes.iter().flatten().map(copies).collect::<Vec<_>>(),
    });
    answer(StatusCode::OK, &page)
}

/// The copies of a route to a mirror, or to the capture.
fn copies(link: &Link) -> Value {
    let counts = &link.counts;
    let is_shadow = matches!(link.target.sink, Sink::Shadow(_));
    json!({
        "route": link.route,
        "mirror": is_shadow.then_some(&link.target.name),
        "chosen": counts.chosen.load(Relaxed),
        "dropped": counts.dropped.iter().map(|count| count.load(Relaxed)).sum::<u64>(),
    })
}

/// A pause to begin or to renew, as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    holder: String,
    seconds: f64,
}

async fn pause(State((room, clock)): State<Room>, body: Bytes) -> Response {
    let asked = serde_json::from_slice::<Asked>(&body).map_err(|error| {
        format!("the body is no pause: {error}; send {{\"holder\": \"me\", \"seconds\": 5}}")
    });
    let checked = asked.and_then(|asked| {
        lease::check_holder(&asked.holder)?;
        Ok((asked.holder, lease::lasts(asked.seconds, "pause")?))
    });
    let (holder, lasts) = match checked {
        Ok(checked) => checked,
        Err(detail) => return refused(StatusCode::BAD_REQUEST, &detail),
    };
    match room.pause.hold(holder, lasts, clock.now()) {
        Ok(()) => answer(StatusCode::OK, &json!({ "paused": true })),
        Err(held) => refused(StatusCode::CONFLICT, &held.to_string()),
    }
}

async fn end_pause(State((room, clock)): State<Room>, body: Bytes) -> Response {
    match lease::holder(&body, "pause") {
        Ok(holder) => answer(StatusCode::OK, &json!({ "ended": room.pause.end(&holder, clock.now()) })),
        Err(detail) => refused(StatusCode::BAD_REQUEST, &detail),
    }
}
