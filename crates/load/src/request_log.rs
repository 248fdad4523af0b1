//! Every request of a run, for a file of them.
//!
//! ## Why in memory
//! A worker that wrote to a disk would wait for it, and send late. So requests are kept, at 56 bytes each, and the log is
//! bounded; what it has no room for is counted.

use crate::plan::{Plan, Work};
use capture::{At, Edge, Entry};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use units::Timestamp;

/// Keeps the first requests of a run, in the order in which they ended. Clones share what is kept.
#[derive(Debug, Clone)]
pub struct RequestLog {
    most: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    requests: Vec<Logged>,
    left_out: u64,
}

/// A request that was sent, and its response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logged {
    /// When it was sent.
    pub(crate) started: Timestamp,
    pub(crate) ended: Timestamp,
    /// The status and the bytes of the body; `None` without a response.
    pub(crate) response: Option<(u16, u64)>,
    pub(crate) sent: Sent,
    pub(crate) user: Option<u64>,
}

/// What was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    /// The request of the list with this index.
    Prepared(u32),
    /// A step of a scenario, by its endpoint.
    Step(u32),
}

impl RequestLog {
    /// Keeps at most this many requests.
    pub fn new(most: usize) -> Self {
        RequestLog { most, kept: Arc::default() }
    }

    pub(crate) fn add(&self, request: Logged) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.requests.len() < self.most {
            kept.requests.push(request);
        } else {
            kept.left_out += 1;
        }
    }

    /// Takes the requests of a run of this plan that began `began_us` microseconds after 1970, in the order in which they were
    /// sent, and the number of those that were left out. A step of a scenario is named by its endpoint, since its path may
    /// differ from iteration to iteration.
    pub fn take<'a>(&self, plan: &'a Plan, began_us: i64) -> (impl Iterator<Item = Entry> + use<'a>, u64) {
        let Kept { mut requests, left_out } =
            mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        requests.sort_by_key(|request| request.started);
        let entry = move |request: Logged| {
            let (method, url) = named(plan, request.sent);
            let micros = i64::try_from(request.started.as_nanos() / 1_000).unwrap_or(i64::MAX);
            Entry {
                at: Some(At {
                    micros: began_us.saturating_add(micros),
                    whole_second: false,
                    edge: Edge::Start,
                }),
                method,
                url,
                user: request.user.map(|user| user.to_string()),
                status: request.response.map(|(status, _)| status),
                response_time: Some(whole_micros(request.ended.since(request.started))),
                bytes: request.response.map(|(_, bytes)| bytes),
                ..Entry::default()
            }
        };
        (requests.into_iter().map(entry), left_out)
    }
}

fn whole_micros(span: Duration) -> Duration {
    Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

/// The method and the path of a request.
fn named(plan: &Plan, sent: Sent) -> (String, String) {
    match (&plan.work, sent) {
        (Work::Targets(targets), Sent::Prepared(at)) => targets
            .list
            .get(at as usize)
            .map_or_else(Default::default, |target| (target.method.clone(), target.path_and_query.clone())),
        (Work::Scenario { scenario, .. }, Sent::Step(endpoint)) => {
            let endpoint = endpoint as usize;
            let name = scenario.endpoints().get(endpoint).map_or("", |endpoint| endpoint.name.as_str());
            let method = scenario.method_of(endpoint).unwrap_or("GET");
            // A name such as `GET /cart` has its method.
            let path = name.strip_prefix(method).map_or(name, str::trim_start);
            let slash = if path.starts_with('/') || path.contains("://") { "" } else { "/" };
            (method.to_owned(), format!("{slash}{}", path.replace(' ', "%20")))
        }
        _ => Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Targets;
    use crate::{Model, Target, Users};
    use std::num::NonZeroU32;

    #[test]
    fn requests_are_in_the_order_in_which_they_were_sent_and_bounded() {
        let target: Target = Target::new("http://127.0.0.1:1/a?b=1", "GET", &[], b"").unwrap();
        let model = Model::Closed { users: Users::Constant(NonZeroU32::MIN) };
        let plan = Plan::new(Work::Targets(Targets::new(vec![target])), model);
        let log = RequestLog::new(2);
        let request = |started: u64, response| Logged {
            started: Timestamp::from_nanos(started * 1_000_000),
            ended: Timestamp::from_nanos(started * 1_000_000 + 3_000_500),
            response,
            sent: Sent::Prepared(0),
            user: Some(started),
        };
        log.add(request(5, Some((200, 7))));
        log.clone().add(request(4, None));
        log.add(request(6, None));
        let (entries, left_out) = log.take(&plan, 1_000_000);
        let entries: Vec<Entry> = entries.collect();
        assert_eq!((entries.len(), left_out), (2, 1));
        assert_eq!(entries[0].at.unwrap().micros, 1_004_000);
        assert_eq!((entries[0].status, entries[0].bytes), (None, None));
        assert_eq!((entries[1].method.as_str(), entries[1].url.as_str()), ("GET", "/a?b=1"));
        assert_eq!(
            (entries[1].status, entries[1].bytes, entries[1].user.as_deref()),
            (Some(200), Some(7), Some("5"))
        );
        assert_eq!(entries[1].response_time, Some(Duration::from_micros(3_000)));
        assert_eq!(log.take(&plan, 0).0.count(), 0);
    }
}
