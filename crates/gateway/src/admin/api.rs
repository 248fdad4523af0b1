//! The HTTP API of a running gateway.

use super::Room;
use super::status;
use crate::metrics;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use listener::problem;
use std::time::Duration;

/// All endpoints.
pub(super) fn router() -> Router<Room> {
    Router::new()
        .route("/metrics", get(page))
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/status", get(report))
        .route("/changes", get(changes))
        .route("/reload", post(reload))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, PLACES) })
        .method_not_allowed_fallback(|| async { problem(StatusCode::METHOD_NOT_ALLOWED, PLACES) })
}

async fn page(State((room, clock)): State<Room>) -> Response {
    let (_, shared) = room.current();
    let page = metrics::page(&room.counts(&shared), &shared, &room.pause, clock.now());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page).into_response()
}

async fn ready(State((room, _)): State<Room>) -> (StatusCode, &'static str) {
    if room.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else {
        (StatusCode::OK, "ok\n")
    }
}

async fn report(State((room, clock)): State<Room>) -> Response {
    json(&status::now(&room, clock.now()))
}

async fn changes(State((room, clock)): State<Room>) -> Response {
    json(&status::changes(&room, clock.now()))
}

/// Like SIGHUP: the gateway reads its file again.
async fn reload(State((room, _)): State<Room>) -> Response {
    let answer = room.ask_reload();
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(Ok(()))) => json(&serde_json::json!({ "reloaded": true })),
        // The old configuration stays in force.
        Ok(Ok(Err(why))) => problem(StatusCode::UNPROCESSABLE_ENTITY, &why),
        Ok(Err(_)) => problem(StatusCode::SERVICE_UNAVAILABLE, "the gateway ends"),
        Err(_) => problem(StatusCode::GATEWAY_TIMEOUT, "nobody has read the file yet; it may still be read"),
    }
}

fn json(value: &impl serde::Serialize) -> Response {
    match serde_json::to_string_pretty(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// The longest time that a reload may take.
const PATIENCE: Duration = Duration::from_secs(10);

const PLACES: &str = "there are GET /metrics, /status, /changes, /pools, /pools/POOL, /livez and /readyz, POST /reload, \
     POST /pools/POOL/instances, POST /pools/POOL/instances/ADDRESS/drain and .../resume, \
     DELETE /pools/POOL/instances/ADDRESS, PUT and DELETE /pools/POOL/squeeze, GET /mirroring, and PUT and DELETE \
     /mirroring/pause";
