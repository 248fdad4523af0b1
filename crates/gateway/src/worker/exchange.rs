//! One request and its response, split into the parts of its life.
//!
//! ## Why parts
//! Many files of the worker act on an exchange. Whatever may happen to a part is a method of that part, and nothing
//! else changes it: the part shows what can happen to it, and the files that call its methods show when.
//!
//! ```text
//! request     what the client asks for, and how much of its body has arrived
//! outgoing    the same request as it is sent to the instance
//! admission   what its limits know of it, and how long it has waited for them
//! placement   its instance and connection, and the instances that have failed it
//! answer      what the client is sent, and how that counts
//! ```
//! Copies for a mirror are in `mirror`.

mod admission;
mod answer;
mod outgoing;
mod placement;
mod request;

pub(super) use request::{Arrival, Part};

use super::mirror::Copies;
use crate::answer::{Connection, Frame};
use crate::local::Local;
use admission::Admission;
use answer::Answer;
use http::codec::request::RequestHead;
use outgoing::Outgoing;
use placement::Placement;
use request::Request;
use std::rc::Rc;
use units::Timestamp;

/// One request and its response.
#[derive(Default)]
pub(super) struct Exchange {
    /// The configuration that it began with; `None` between requests.
    local: Option<Rc<Local>>,
    route: usize,
    pub(super) request: Request,
    pub(super) outgoing: Outgoing,
    pub(super) admission: Admission,
    pub(super) placement: Placement,
    pub(super) answer: Answer,
    pub(super) copies: Copies,
}

impl Exchange {
    /// For bytes that are not a request: an error is sent, and the connection closes.
    pub(super) fn without_request(arrival: Arrival) -> Self {
        Exchange { request: Request::unread(arrival), ..Exchange::default() }
    }

    /// Begins a request in place of the previous one, whose buffers it reuses. `target` is in origin form; `alone`
    /// means that nothing followed the head.
    #[inline]
    pub(super) fn begin(&mut self, arrival: Arrival, head: &RequestHead<'_, '_>, target: &str, alone: bool) {
        self.local = None;
        self.route = 0;
        self.request.begin(arrival, head, target, alone);
        self.outgoing.clear();
        self.admission = Admission::default();
        self.placement = Placement::default();
        self.answer = Answer::default();
        self.copies = Copies::default();
    }

    /// Binds the request to a route of this configuration, which it keeps until it ends.
    #[inline]
    pub(super) fn take_route(&mut self, local: &Rc<Local>, route: usize) {
        self.route = route;
        self.placement.choose_pool(local.shared.settings.routes[route].pool);
        self.answer.judge_by(local.shared.routes[route].level);
        self.local = Some(Rc::clone(local));
    }

    /// The configuration that the request began with; `None` between requests, and for requests without a route.
    #[inline]
    pub(super) fn local(&self) -> Option<&Rc<Local>> {
        self.local.as_ref()
    }

    #[inline]
    pub(super) fn route(&self) -> usize {
        self.route
    }

    /// Ends the exchange. Returns the configuration that it began with.
    #[inline]
    pub(super) fn end(&mut self) -> Option<Rc<Local>> {
        self.local.take()
    }

    /// The connection-related properties of a response that is written now; `draining` means that connections close.
    #[inline]
    pub(super) fn frame(&self, draining: bool) -> Frame {
        let request = &self.request;
        // Without the rest of the body the start of the next request is unknown.
        let close = !request.keeps_connection() || !request.is_whole() || draining;
        Frame { head_only: request.is_head_only(), connection: Connection::of(close, request.is_old()) }
    }

    /// Counts the request as late if its target has passed without a response.
    pub(super) fn note_late(&mut self, now: Timestamp) {
        if let Some(local) = &self.local {
            self.answer.note_late(local, now.since(self.placement.sent()));
        }
    }
}
