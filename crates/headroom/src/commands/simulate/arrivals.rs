//! The requests that arrive in a stage, for a file.

use super::Error;
use capture::{At, Edge, write_line};
use config::case::{Case, Stage};
use import::Entry;
use sim::Requests;
use sim::settings::Traffic;
use std::io::{self, Write};

/// The stage whose requests are written.
pub fn stage<'a>(case: &'a Case, chosen: &[usize]) -> Result<&'a Stage, Error> {
    let [place] = chosen else { return Err(Error::StagesOfRequests(chosen.len())) };
    let stage = &case.stages[*place];
    match stage.system.traffic {
        Traffic::Open { .. } => Ok(stage),
        Traffic::Closed { .. } => Err(Error::Users(stage.name.clone())),
    }
}

/// Writes the requests after the warm-up. Without a date, the time begins in 1970.
pub fn write(stage: &Stage, mut out: &mut dyn Write) -> io::Result<()> {
    let (begins, warm_up) = (stage.begins.unwrap_or(0), stage.system.warm_up);
    let endpoints = stage.system.services.first().map_or(&[][..], |first| &first.endpoints);
    let named: Vec<(String, String)> = endpoints.iter().map(|endpoint| request(&endpoint.name)).collect();
    for arrival in Requests::arrivals(&stage.system) {
        let Some(after) = arrival.at.as_nanos().checked_sub(warm_up.as_nanos() as u64) else { continue };
        let micros = begins.saturating_add((after / 1_000) as i64);
        let (method, url) = named.get(arrival.endpoint).cloned().unwrap_or_default();
        let at = Some(At { micros, whole_second: false, edge: Edge::Start });
        let user = arrival.client.map(|client| client.to_string());
        write_line(&mut out, &Entry { at, method, url, user, bytes: arrival.bytes, ..Entry::default() })?;
    }
    Ok(())
}

/// The method and the path of an endpoint: of `GET-cart`, which is how calibration names `GET /cart`, and of other names.
fn request(name: &str) -> (String, String) {
    let (method, path) = name.split_once('-').unwrap_or((name, ""));
    match !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        true => (method.to_owned(), format!("/{path}")),
        false => ("GET".to_owned(), format!("/{name}")),
    }
}
