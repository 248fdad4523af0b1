//! Redirects: where the next request of the same step is sent.
//!
//! ## Why none is followed by default
//! Each is another request, and a redirect to another host puts load on a third party. The event loop sees the URL of
//! each request, and may refuse one with [`User::failed`].

use super::{User, whole};
use crate::scenario::url::resolve;
use crate::scenario::{Answer, Scenario, Step, StepFailure};
use std::time::Duration;
use units::Timestamp;

/// A redirect that is being followed.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) url: String,
    hops: u32,
    /// 303, and 301 and 302 after a POST, ask for the target with GET (RFC 9110, 15.4).
    pub(super) becomes_get: bool,
    /// Whether it left the origin of the step: credentials are not sent.
    pub(super) foreign: bool,
}

impl User {
    /// Follows a redirect: `None` if the response is not one, or redirects are not followed.
    pub(super) fn follow(
        &mut self,
        scenario: &Scenario,
        step: &Step,
        now: Timestamp,
        answer: &Answer,
    ) -> Option<Result<(), StepFailure>> {
        let most = scenario.definition().redirects;
        let location = answer.headers("location").next();
        if most == 0 || !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = std::str::from_utf8(location?).ok();
        let hops = self.redirect.as_ref().map_or(0, |redirect| redirect.hops);
        if hops >= most {
            return Some(Err(StepFailure::TooManyRedirects));
        }
        let target = self.place(scenario, step).and_then(|(origin, path)| {
            let (to, path) = resolve(&origin, path, location?)?;
            let foreign = *origin != to;
            let home = scenario.definition().base.as_ref() == Some(&to);
            let scheme = if to.secure { "https" } else { "http" };
            let url = if home { path } else { format!("{scheme}://{}{path}", to.authority) };
            Some((url, foreign))
        });
        let Some((url, foreign)) = target else { return Some(Err(StepFailure::BadRedirect)) };
        let method = self.request(step).method;
        let becomes_get = match answer.status {
            303 => method != "HEAD",
            301 | 302 => method == "POST",
            _ => false,
        };
        let earlier = self.redirect.as_ref();
        let becomes_get = becomes_get || earlier.is_some_and(|redirect| redirect.becomes_get);
        let foreign = foreign || earlier.is_some_and(|redirect| redirect.foreign);
        if becomes_get || foreign {
            let fields = whole(&step.headers, &self.fields);
            self.fields = without_fields(fields, becomes_get, foreign);
        }
        self.redirect = Some(Redirect { url, hops: hops + 1, becomes_get, foreign });
        self.after = Duration::ZERO;
        Some(self.write_cookies(scenario, step, now).map_err(|_| StepFailure::BadRedirect))
    }
}

/// The lines without those that describe a body that is no longer sent, and without credentials for another origin.
fn without_fields(fields: &[u8], body_gone: bool, foreign: bool) -> Vec<u8> {
    let dropped = |line: &&[u8]| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default().to_ascii_lowercase();
        match name.as_slice() {
            b"content-type" | b"content-encoding" => body_gone,
            b"authorization" | b"cookie" => foreign,
            _ => false,
        }
    };
    let lines = fields.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| !dropped(line)).flatten().copied().collect()
}
