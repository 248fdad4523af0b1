//! The responses of a route by method, status and kind of failure, with their times.
//!
//! ## Why a short list
//! A service has few kinds of responses, most of them of one kind. The list is searched from its beginning, where the
//! most frequent kind soon is; nothing is hashed, and nothing is allocated once a kind is known. It is bounded, because
//! the instance chooses the statuses: kinds beyond the bound share an entry.

use super::times::Times;
use std::time::Duration;

/// The responses of a route.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(Vec<Answer>);

/// Responses of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    method: Method,
    /// 0 for the shared entry of rare kinds.
    status: u16,
    /// Why the gateway sent its own response, or broke off; empty if it did neither.
    error: Box<str>,
    /// From the request's arrival to the end of its response.
    pub(super) total: Times,
    /// From sending upstream to the first byte of the response.
    pub(super) upstream: Times,
}

/// A method that a label may name (OpenTelemetry's known methods).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Get,
    Post,
    Head,
    Put,
    Delete,
    Options,
    Patch,
    Other,
}

impl Method {
    #[inline]
    fn of(method: &[u8]) -> Self {
        match method {
            b"GET" => Method::Get,
            b"POST" => Method::Post,
            b"HEAD" => Method::Head,
            b"PUT" => Method::Put,
            b"DELETE" => Method::Delete,
            b"OPTIONS" => Method::Options,
            b"PATCH" => Method::Patch,
            _ => Method::Other,
        }
    }
}

impl Answer {
    /// The method as OpenTelemetry names it.
    pub(super) fn method(&self) -> &'static str {
        match self.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Head => "HEAD",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Patch => "PATCH",
            Method::Other => "_OTHER",
        }
    }

    /// The status as a label.
    pub(super) fn status(&self) -> String {
        if self.status == 0 { "other".to_owned() } else { self.status.to_string() }
    }

    /// The class of the status, such as `2xx`.
    pub(crate) fn class(&self) -> &'static str {
        match self.status / 100 {
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            5 => "5xx",
            _ => "other",
        }
    }

    /// Why the gateway sent its own response.
    pub(super) fn error(&self) -> Option<&str> {
        Some(&*self.error).filter(|error| !error.is_empty())
    }

    /// Whether the response is an instance's, and complete.
    pub(crate) fn is_from_upstream(&self) -> bool {
        self.error.is_empty()
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.total.count()
    }
}

impl Answers {
    /// A response from upstream was sent completely.
    #[inline]
    pub(super) fn answered(&mut self, method: &[u8], status: u16, total: Duration, upstream: Duration) {
        let entry = self.entry(Method::of(method), status, "");
        entry.total.record(total);
        entry.upstream.record(upstream);
    }

    /// The gateway sent its own response, or broke off.
    pub(super) fn own(&mut self, method: &[u8], status: u16, error: &str, total: Duration) {
        self.entry(Method::of(method), status, error).total.record(total);
    }

    pub(super) fn add(&mut self, other: &Answers) {
        for theirs in &other.0 {
            let ours = self.entry(theirs.method, theirs.status, &theirs.error);
            ours.total.add(&theirs.total);
            ours.upstream.add(&theirs.upstream);
        }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Answer> {
        self.0.iter()
    }

    #[inline]
    fn entry(&mut self, method: Method, status: u16, error: &str) -> &mut Answer {
        // An empty text is the most frequent one; its length shows it without a comparison.
        let same_error = |entry: &Answer| match error {
            "" => entry.error.is_empty(),
            _ => *entry.error == *error,
        };
        let is = |entry: &Answer| entry.status == status && entry.method == method && same_error(entry);
        match self.0.iter().position(is) {
            Some(index) => &mut self.0[index],
            None => self.new_entry(method, status, error),
        }
    }

    #[cold]
    fn new_entry(&mut self, method: Method, status: u16, error: &str) -> &mut Answer {
        let is_rare = self.0.len() >= KINDS_MAX;
        let (method, status) = if is_rare { (Method::Other, 0) } else { (method, status) };
        // Responses of instances and the gateway's own never share an entry.
        let error = if is_rare && !error.is_empty() { "other" } else { error };
        let known = self.0.iter().position(|entry| (entry.status, &*entry.error) == (status, error));
        if let Some(index) = known.filter(|_| is_rare) {
            return &mut self.0[index];
        }
        let (total, upstream) = (Times::default(), Times::default());
        self.0.push(Answer { method, status, error: error.into(), total, upstream });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

/// Kinds of responses with an entry of their own; about 300 bytes each.
const KINDS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_statuses_come_memory_is_bounded_and_nothing_is_lost() {
        let mut answers = Answers::default();
        let instant = Duration::ZERO;
        for status in 100..1_000 {
            answers.answered(b"GET", status, instant, instant);
            answers.own(b"BREW", status, &format!("reason_{status}"), instant);
        }
        assert!(answers.iter().count() <= KINDS_MAX + 2);
        let count = |upstream| {
            answers
                .iter()
                .filter(|found| found.is_from_upstream() == upstream)
                .map(Answer::count)
                .sum::<u64>()
        };
        assert_eq!((count(true), count(false)), (900, 900));
        let mut twice = answers.clone();
        twice.add(&answers);
        assert_eq!(twice.iter().map(Answer::count).sum::<u64>(), 3_600);
    }
}
