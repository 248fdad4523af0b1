//! A connection to a shadow, and the copy that it carries.

use crate::mirror::{Answered, Copy, Sink};
use http::codec::body::Decoder;
use http::codec::header::slots;
use http::codec::response::{self, AnswerTo};
use http::codec::{Body, Limits};
use http::reactor::Deadline;
use std::hash::Hasher;
use twox_hash::XxHash64;
use units::Timestamp;

pub(super) struct Connection<S> {
    pub(super) stream: S,
    pub(super) generation: u32,
    pub(super) deadline: Deadline,
    pub(super) lane: usize,
    pub(super) instance: usize,
    pub(super) state: State,
    /// It has carried a response before.
    pub(super) reused: bool,
}

/// The state of a connection.
pub(super) enum State {
    /// For this copy.
    Connecting(Box<Job>),
    /// Carries this copy.
    Busy(Box<Job>),
    /// Ready for a copy.
    Idle,
}

/// A copy at a shadow.
pub(super) struct Job {
    pub(super) copy: Box<Copy>,
    begun: Timestamp,
    written: usize,
    /// The shadow accepts no more of the request.
    pub(super) refused: bool,
    /// The beginning of a head.
    input: Vec<u8>,
    answer: Option<Answer>,
    repeated: bool,
}

struct Answer {
    status: u16,
    first_byte: Timestamp,
    body: Decoder,
    bytes: u64,
    hash: XxHash64,
    keep_alive: bool,
}

/// The result of reading bytes of a response.
pub(super) enum Step {
    More,
    Whole { reusable: bool },
    Broke,
    Malformed,
}

impl<S> Connection<S> {
    pub(super) fn new(stream: S, generation: u32, lane: usize, instance: usize, job: Box<Job>) -> Self {
        let (deadline, state) = (Deadline::default(), State::Connecting(job));
        Connection { stream, generation, deadline, lane, instance, state, reused: false }
    }

    /// The connection is established; returns the deadline of its copy.
    pub(super) fn connected(&mut self) -> Option<Timestamp> {
        let State::Connecting(job) = std::mem::replace(&mut self.state, State::Idle) else { return None };
        let deadline = match &job.copy.target.sink {
            Sink::Shadow(shadow) => Some(job.copy.sent + shadow.deadline()),
            Sink::Capture(_) => None,
        };
        self.state = State::Busy(job);
        deadline
    }

    /// Its shadow accepts no more of the request.
    pub(super) fn is_refused(&self) -> bool {
        matches!(&self.state, State::Busy(job) if job.refused)
    }
}

impl Job {
    pub(super) fn new(copy: Box<Copy>, now: Timestamp) -> Box<Self> {
        let (input, answer) = (Vec::new(), None);
        Box::new(Job { copy, begun: now, written: 0, refused: false, input, answer, repeated: false })
    }

    /// The bytes still to be sent, or a part of them.
    pub(super) fn left(&self) -> &[u8] {
        let head = &self.copy.head;
        match (head.get(self.written..), &self.copy.body) {
            (Some(rest), _) if !rest.is_empty() => rest,
            (_, Some(body)) => body.bytes.get(self.written - head.len()..).unwrap_or_default(),
            _ => &[],
        }
    }

    pub(super) fn wrote(&mut self, count: usize) {
        self.written += count;
    }

    /// Whether no response has begun and it may be sent once more.
    pub(super) fn may_repeat(&self) -> bool {
        self.copy.repeatable && !self.repeated && self.answer.is_none() && self.input.is_empty()
    }

    /// Starts again.
    pub(super) fn again(&mut self) {
        (self.written, self.refused, self.repeated) = (0, false, true);
    }

    /// Bytes of the response.
    pub(super) fn received(&mut self, bytes: &[u8], now: Timestamp) -> Step {
        if self.answer.is_some() {
            return self.body(bytes);
        }
        if self.input.is_empty() {
            return self.head(bytes, now);
        }
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        self.head(&input, now)
    }

    fn head(&mut self, bytes: &[u8], now: Timestamp) -> Step {
        let to = if self.copy.head_only { AnswerTo::Head } else { AnswerTo::Other };
        let mut used = 0;
        loop {
            let mut slots = slots();
            let head = match response::parse(&bytes[used..], to, &Limits::WIDEST, &mut slots) {
                Ok(Some(head)) if head.status == 101 => return Step::Malformed,
                Ok(Some(head)) => head,
                Ok(None) => {
                    self.input = bytes[used..].to_vec();
                    return Step::More;
                }
                Err(_) => return Step::Malformed,
            };
            used += head.head_len;
            if head.status < 200 {
                continue;
            }
            self.answer = Some(Answer {
                status: head.status,
                first_byte: now,
                body: Decoder::new(head.framing),
                bytes: 0,
                hash: XxHash64::default(),
                keep_alive: head.keep_alive && head.framing != Body::UntilClose,
            });
            return self.body(&bytes[used..]);
        }
    }

    fn body(&mut self, bytes: &[u8]) -> Step {
        let Some(answer) = &mut self.answer else { return Step::More };
        let mut used = 0;
        loop {
            let Ok(step) = answer.body.decode(&bytes[used..]) else { return Step::Malformed };
            answer.bytes += step.data.len() as u64;
            answer.hash.write(&bytes[used..][step.data]);
            used += step.consumed;
            if step.done {
                // Bytes after the response were not requested.
                return Step::Whole { reusable: answer.keep_alive && used == bytes.len() };
            }
            if used == bytes.len() {
                break;
            }
        }
        match self.copy.live.get() {
            // Whatever follows, the responses differ.
            Some(Some(live)) if answer.bytes > live.bytes => Step::Whole { reusable: false },
            // There is nothing to compare it with.
            Some(None) => Step::Whole { reusable: false },
            _ => Step::More,
        }
    }

    /// The shadow will send no more.
    pub(super) fn ended(&mut self) -> Step {
        match &mut self.answer {
            Some(answer) => match answer.body.closed() {
                Ok(_) => Step::Whole { reusable: false },
                Err(_) => Step::Broke,
            },
            None => Step::Broke,
        }
    }

    /// The outcome of the copy.
    pub(super) fn outcome(&self, now: Timestamp) -> Answered {
        let total = now.since(self.begun);
        match &self.answer {
            Some(answer) => Answered {
                status: answer.status,
                first_byte: answer.first_byte.since(self.begun),
                total,
                elapsed: total,
                bytes: answer.bytes,
                hash: answer.hash.finish(),
            },
            None => Answered { status: 0, first_byte: total, total, elapsed: total, bytes: 0, hash: 0 },
        }
    }
}
