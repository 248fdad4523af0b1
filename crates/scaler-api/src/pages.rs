//! The pages: gauges, status, probes and switches.

use crate::gauges;
use crate::{Published, Room};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use listener::problem;
use status::scaler::Switch;
use std::sync::Arc;

/// All pages.
pub(crate) fn router() -> Router<Room> {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/status", get(report))
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/pause", post(|room: State<Room>| switch(room, Switch::Pause)))
        .route("/kill", post(|room: State<Room>| switch(room, Switch::Kill)))
        .route("/continue", post(|room: State<Room>| switch(room, Switch::Continue)))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, PLACES) })
        .method_not_allowed_fallback(|| async { problem(StatusCode::METHOD_NOT_ALLOWED, PLACES) })
}

fn seen(room: &Room) -> Option<Arc<Published>> {
    room.cell.borrow().clone()
}

async fn metrics(State(room): State<Room>) -> Response {
    let page = gauges::page(seen(&room).as_deref());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], page).into_response()
}

async fn report(State(room): State<Room>) -> Response {
    let Some(seen) = seen(&room) else { return problem(StatusCode::SERVICE_UNAVAILABLE, NO_STEP) };
    match serde_json::to_string_pretty(&seen.status) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Whether there is an opinion to act on.
async fn ready(State(room): State<Room>) -> (StatusCode, &'static str) {
    match seen(&room) {
        None => (StatusCode::SERVICE_UNAVAILABLE, "no step yet\n"),
        Some(seen) if !seen.is_current() => (StatusCode::SERVICE_UNAVAILABLE, "outdated\n"),
        Some(_) => (StatusCode::OK, "ok\n"),
    }
}

/// The scaler sees it at its next step.
async fn switch(State(room): State<Room>, switch: Switch) -> Response {
    let done = match switch {
        Switch::Pause => "{\"paused\": true}\n",
        Switch::Kill => "{\"killed\": true}\n",
        Switch::Continue => "{\"paused\": false, \"killed\": false}\n",
    };
    match (room.switches)(switch) {
        Ok(()) => ([(header::CONTENT_TYPE, "application/json")], done).into_response(),
        Err(error) => problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("the state directory cannot be written: {error}"),
        ),
    }
}

const NO_STEP: &str = "the scaler has not taken its first step yet";

const PLACES: &str = "there are GET /metrics, /status, /livez and /readyz, POST /pause, /kill and /continue, and the calls of KEDA";
