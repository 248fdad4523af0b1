//! Instances of the pools over the admin listener: lists, adds, drains and removes them; and the load of a pool.

use super::lease;
use crate::control_room::ControlRoom;
use crate::metrics::pools::{InstanceCounts, InstanceState, PoolCounts};
use crate::metrics::{Answer, FineReading};
use crate::pool::{InstanceChange, InstanceChangeError, Squeeze, SqueezeError, SqueezeReading};
use crate::settings::Pool;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use control::balance::Weight;
use http::reactor::Clock;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use units::Ratio;

type Room = (Arc<ControlRoom>, Clock);

/// `GET /pools` and `/pools/POOL`, and the endpoints for changes.
pub(super) fn routes() -> Router<Room> {
    Router::new()
        .route("/pools", get(pools))
        .route("/pools/{pool}", get(load))
        .route("/pools/{pool}/squeeze", put(squeeze).delete(end_squeeze))
        .route("/pools/{pool}/instances", post(add))
        .route("/pools/{pool}/instances/{address}", delete(remove))
        .route("/pools/{pool}/instances/{address}/drain", post(drain))
        .route("/pools/{pool}/instances/{address}/resume", post(resume))
}

/// An instance to add, as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Added {
    address: String,
    weight: Option<u32>,
}

async fn pools(State((room, _)): State<Room>) -> Response {
    let (_, shared) = room.current();
    let counts = room.counts(&shared);
    let pools = shared.settings.pools.iter().enumerate().map(|(index, pool)| {
        let of = counts.pools.get(index).map(|of| &**of);
        let instances = of_pool(pool, of);
        json!({ "name": pool.name, "panic": of.is_some_and(|of| of.panic), "instances": instances })
    });
    answer(StatusCode::OK, &json!({ "pools": pools.collect::<Vec<_>>() }))
}

/// The instances of a pool: those of its settings, and those that are removed and have requests.
fn of_pool(pool: &Pool, of: Option<&PoolCounts>) -> Vec<Value> {
    let known = pool.instances.iter().map(|instance| {
        let counts = of.and_then(|of| of.instances.get(&instance.address));
        shown(instance.address, Some(instance.weight), counts)
    });
    let leaving = of.into_iter().flat_map(|of| &of.instances).filter(|(address, counts)| {
        counts.in_flight > 0 && pool.instances.iter().all(|instance| instance.address != **address)
    });
    let leaving = leaving.map(|(&address, counts)| shown(address, None, Some(counts)));
    known.chain(leaving).collect()
}

/// What an autoscaler reads of a pool, in one piece. Counts are those since the start of the gateway.
async fn load(State((room, clock)): State<Room>, Path(name): Path<String>) -> Response {
    let (_, shared) = room.current();
    let Some(index) = shared.named.pool(&name) else {
        let known = shared.settings.pools.iter().map(|pool| format!("`{}`", pool.name));
        let known: Vec<String> = known.collect();
        return refused(StatusCode::NOT_FOUND, &format!("no pool `{name}`; there are {}", known.join(", ")));
    };
    let counts = room.counts(&shared);
    let of = counts.of_pool(index, &shared);
    let sum = |counts: &BTreeMap<&'static str, u64>| counts.values().sum::<u64>();
    let process = &shared.pools[index];
    let (times, now) = (process.times.read(), clock.now());
    let squeeze = process.held(now).map(|held| {
        json!({
            "holder": held.squeeze.holder, "share": held.squeeze.share.get(),
            "instances": held.squeeze.instances, "left_s": held.until.since(now).as_secs_f64(),
        })
    });
    let page = json!({
        "name": name,
        "at_s": now.as_secs_f64(),
        "arrived": of.demand(),
        "answered": of.answered_total(),
        "errors": of.answers.iter().filter(|answer| answer.is_from_upstream() && answer.class() == "5xx")
            .map(Answer::count).sum::<u64>(),
        "shed": sum(&of.shed),
        "failed": sum(&of.failed),
        "in_flight": of.in_flight,
        "waiting": of.waiting,
        "response_times": { "sum_s": times.total_s, "buckets": times.buckets },
        "upstream_sum_s": times.upstream_s,
        "panic": counts.pools.get(index).is_some_and(|of| of.panic),
        "squeeze": squeeze,
        "squeezed": squeezed(process.squeezed.read(), process.squeezed.times.read()),
        "instances": of_pool(&shared.settings.pools[index], counts.pools.get(index).map(|of| &**of)),
    });
    answer(StatusCode::OK, &page)
}

/// What the instances of squeezes have done, since the pool exists.
fn squeezed(counts: SqueezeReading, times: FineReading) -> Value {
    json!({
        "sent": counts.sent, "answered": counts.answered, "failed": counts.failed, "timed_out": counts.timed_out,
        "response_times": { "sum_s": times.total_s, "buckets": times.buckets },
    })
}

/// An instance that no worker has taken over yet is `added`.
fn shown(address: SocketAddr, weight: Option<Weight>, counts: Option<&InstanceCounts>) -> Value {
    json!({
        "address": address.to_string(),
        "weight": weight.map(Weight::get),
        "state": counts.map_or("added", |counts| counts.state.name()),
        "takes_requests": counts.is_some_and(|counts| {
            matches!(counts.state, InstanceState::Available | InstanceState::Warming)
        }),
        "in_flight": counts.map_or(0, |counts| counts.in_flight),
        "requests": counts.map_or(0, |counts| counts.requests),
        "failures": counts.map_or(0, |counts| counts.failures),
    })
}

/// A squeeze to begin or to renew, as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    holder: String,
    instances: Vec<String>,
    share: f64,
    seconds: f64,
}

async fn squeeze(State((room, clock)): State<Room>, Path(pool): Path<String>, body: Bytes) -> Response {
    let asked = match checked(&body) {
        Ok(asked) => asked,
        Err(detail) => return refused(StatusCode::BAD_REQUEST, &detail),
    };
    match room.squeeze(&pool, asked, clock.now()) {
        Ok(()) => answer(StatusCode::OK, &json!({ "squeezed": pool })),
        Err(error) => not_squeezed(&error),
    }
}

async fn end_squeeze(State((room, clock)): State<Room>, Path(pool): Path<String>, body: Bytes) -> Response {
    let holder = match lease::holder(&body, "squeeze") {
        Ok(holder) => holder,
        Err(detail) => return refused(StatusCode::BAD_REQUEST, &detail),
    };
    match room.end_squeeze(&pool, &holder, clock.now()) {
        Ok(ended) => answer(StatusCode::OK, &json!({ "ended": ended })),
        Err(error) => not_squeezed(&error),
    }
}

fn checked(body: &[u8]) -> Result<Squeeze, String> {
    let Asked { holder, instances, share, seconds } = serde_json::from_slice(body).map_err(|error| {
        format!(
            "the body is no squeeze: {error}; send {{\"holder\": \"me\", \"instances\": [\"127.0.0.1:9000\"], \
             \"share\": 0.5, \"seconds\": 5}}"
        )
    })?;
    lease::check_holder(&holder)?;
    let instances: Vec<SocketAddr> = instances.iter().map(|text| address(text)).collect::<Result<_, _>>()?;
    let twice = |(at, address): (usize, &SocketAddr)| instances[..at].contains(address);
    if instances.is_empty() || instances.iter().enumerate().any(twice) {
        return Err("`instances` has to name at least one instance, and each once".to_owned());
    }
    let share = Ratio::new(share).ok_or_else(|| format!("the share {share} is outside 0 to 1"))?;
    let lasts = lease::lasts(seconds, "squeeze")?;
    Ok(Squeeze { holder, instances, share, lasts })
}

fn not_squeezed(error: &SqueezeError) -> Response {
    let status = match error {
        SqueezeError::UnknownPool { .. } | SqueezeError::UnknownInstance { .. } => StatusCode::NOT_FOUND,
        SqueezeError::NoneLeft { .. } | SqueezeError::Held { .. } => StatusCode::CONFLICT,
    };
    refused(status, &error.to_string())
}

async fn add(State(room): State<Room>, Path(pool): Path<String>, body: Bytes) -> Response {
    let added: Added = match serde_json::from_slice(&body) {
        Ok(added) => added,
        Err(error) => {
            let detail =
                format!("the body is no instance: {error}; send {{\"address\": \"127.0.0.1:9000\"}}");
            return refused(StatusCode::BAD_REQUEST, &detail);
        }
    };
    let address = match address(&added.address) {
        Ok(address) => address,
        Err(detail) => return refused(StatusCode::BAD_REQUEST, &detail),
    };
    let weight = added.weight.unwrap_or(1);
    match Weight::new(weight).filter(|_| weight <= WEIGHT_MAX) {
        Some(weight) => change(&room, &pool, InstanceChange::Add { address, weight }),
        None => {
            let detail = format!("the weight {weight} is outside 1 to {WEIGHT_MAX}; 1 is usual");
            refused(StatusCode::BAD_REQUEST, &detail)
        }
    }
}

type Named = Path<(String, String)>;

async fn drain(State(room): State<Room>, Path((pool, address)): Named) -> Response {
    named(&room, &pool, &address, |address| InstanceChange::Drain { address })
}

async fn resume(State(room): State<Room>, Path((pool, address)): Named) -> Response {
    named(&room, &pool, &address, |address| InstanceChange::Resume { address })
}

async fn remove(State(room): State<Room>, Path((pool, address)): Named) -> Response {
    named(&room, &pool, &address, |address| InstanceChange::Remove { address })
}

fn named(room: &Room, pool: &str, text: &str, wanted: impl FnOnce(SocketAddr) -> InstanceChange) -> Response {
    match address(text) {
        Ok(address) => change(room, pool, wanted(address)),
        Err(detail) => refused(StatusCode::BAD_REQUEST, &detail),
    }
}

fn change((room, clock): &Room, pool: &str, change: InstanceChange) -> Response {
    match room.change_instances(pool, change, clock.now()) {
        Ok(()) => answer(StatusCode::OK, &json!({ "changed": change.address().to_string() })),
        Err(error) => {
            let status = match error {
                InstanceChangeError::UnknownPool { .. } | InstanceChangeError::UnknownInstance { .. } => {
                    StatusCode::NOT_FOUND
                }
                InstanceChangeError::AlreadyThere { .. } | InstanceChangeError::LastInstance { .. } => {
                    StatusCode::CONFLICT
                }
                InstanceChangeError::Ourselves { .. } => StatusCode::BAD_REQUEST,
                InstanceChangeError::Shared(_) => StatusCode::INTERNAL_SERVER_ERROR,
            };
            refused(status, &error.to_string())
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.parse().ok().filter(|address: &SocketAddr| address.port() != 0);
    found.ok_or_else(|| {
        format!(
            "{text:?} is no IP address with a port from 1 to 65535, such as `127.0.0.1:9000` or `[::1]:9000`"
        )
    })
}

pub(super) fn answer(status: StatusCode, value: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], format!("{value}\n")).into_response()
}

/// Problem details (RFC 9457).
pub(super) fn refused(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let problem =
        json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail });
    (status, [(header::CONTENT_TYPE, "application/problem+json")], format!("{problem}\n")).into_response()
}

/// As in the file.
const WEIGHT_MAX: u32 = 1_000_000;
