//! The search-cgi account, request by request: evenly spaced arrivals, 110/s for 30 s, then 90/s, at a service of two
//! slots of 18.6 ms that are served in order. Up to 12 in flight its capacity is constant (107.5/s); with n > 12 in
//! flight, it is 12/n of that.

use super::*;
use crate::policy::{Gate, Policy, PolicySettings};
use crate::service_level::{ServiceLevel, ServiceLevelSettings};
use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const FLOOD: Timestamp = Timestamp::from_secs(30);
const END: Timestamp = Timestamp::from_secs(60);
const SERVICE: Duration = Duration::from_micros(18_600);

enum Event {
    Arrive,
    TurnCame(Ticket),
    Answered(Request),
    Tick,
}

struct Request {
    arrived: Timestamp,
    /// The service level class measures from this time.
    sent: Timestamp,
    admitted: Admitted,
}

/// Events by time. At the same time, arrivals come last; the others keep the order in which they were scheduled.
#[derive(Default)]
struct Agenda {
    order: BinaryHeap<Reverse<(Timestamp, bool, usize)>>,
    events: Vec<Option<Event>>,
}

impl Agenda {
    fn add(&mut self, at: Timestamp, event: Event) {
        self.order.push(Reverse((at, matches!(event, Event::Arrive), self.events.len())));
        self.events.push(Some(event));
    }

    fn next(&mut self) -> Option<(Timestamp, Event)> {
        let Reverse((at, _, index)) = self.order.pop()?;
        Some((at, self.events[index].take().unwrap()))
    }
}

/// The results of one second.
#[derive(Debug, Clone, Copy, Default)]
struct Second {
    good: u32,
    shed: u32,
}

struct Story {
    seconds: Vec<Second>,
    /// When each response came, and its response time from the arrival.
    answers: Vec<(Timestamp, Duration)>,
    transitions: Vec<(Timestamp, Transition)>,
}

impl Story {
    fn p95(&self, from: u64, to: u64) -> Duration {
        let within = Timestamp::from_secs(from)..Timestamp::from_secs(to);
        let answers = self.answers.iter().filter(|(at, _)| within.contains(at));
        let mut times: Vec<Duration> = answers.map(|&(_, time)| time).collect();
        times.sort_unstable();
        times[times.len() * 95 / 100]
    }
}

fn play(admission: &Admission<Core>) -> Story {
    let level = ServiceLevelSettings::within(Duration::from_millis(50));
    let mut class = ServiceLevel::new(level).unwrap();
    let mut policy = Policy::new(PolicySettings::default()).unwrap();
    let seconds = std::vec![Second::default(); END.as_secs_f64() as usize];
    let mut story = Story { seconds, answers: Vec::new(), transitions: Vec::new() };

    let (mut queue, mut busy) = (VecDeque::<Request>::new(), 0);
    let mut agenda = Agenda::default();
    agenda.add(Timestamp::ZERO, Event::Arrive);
    agenda.add(Timestamp::ZERO, Event::Tick);
    while let Some((now, event)) = agenda.next()
        && now < END
    {
        let second = &mut story.seconds[now.as_secs_f64() as usize];
        match event {
            Event::Arrive => {
                let rate = Rate::per_second_of(if now < FLOOD { 110.0 } else { 90.0 });
                agenda.add(now + rate.interval().unwrap(), Event::Arrive);
                match admission.arrive(now) {
                    Verdict::Admitted(admitted) => {
                        queue.push_back(Request { arrived: now, sent: now, admitted });
                    }
                    Verdict::Wait(ticket) => agenda.add(ticket.at(), Event::TurnCame(ticket)),
                    Verdict::Shed(_) => {
                        second.shed += 1;
                        class.record_shed(now);
                    }
                }
            }
            Event::TurnCame(ticket) => {
                let arrived = ticket.arrived;
                match admission.turn_came(now, ticket) {
                    Ok(admitted) => queue.push_back(Request { arrived, sent: now, admitted }),
                    Err(_) => {
                        second.shed += 1;
                        class.record_shed(now);
                    }
                }
            }
            Event::Answered(request) => {
                busy -= 1;
                second.good += 1;
                story.answers.push((now, now.since(request.arrived)));
                class.record(now, 200, now.since(request.sent));
                admission.finished(request.admitted);
            }
            Event::Tick => {
                agenda.add(now + Duration::from_millis(100), Event::Tick);
                if let Some(transition) = policy.tick(now, &class) {
                    admission.apply(now, &transition);
                    story.transitions.push((now, transition));
                }
            }
        }
        while busy < 2
            && let Some(request) = queue.pop_front()
        {
            busy += 1;
            let in_flight = (busy + queue.len()) as f64;
            agenda.add(now + SERVICE.mul_f64((in_flight / 12.0).max(1.0)), Event::Answered(request));
        }
    }
    assert_eq!(policy.gate() == Gate::Lifted, story.transitions.len().is_multiple_of(2));
    story
}

#[test]
fn the_policy_keeps_a_flooded_service_good_and_lifts_after_the_flood() {
    let gated = Limits { rate: rate(GATED_RATE, 100.0, 1), concurrency: concurrency(GATED_LIMIT, 12) };
    let story = play(&Admission::new(Limits::default(), gated));

    let [(engaged, Transition::Engaged { .. }), (lifted, Transition::Lifted { .. })] = story.transitions[..]
    else {
        panic!("once on, once off: {:?}", story.transitions);
    };
    assert!(engaged < Timestamp::from_secs(5), "engaged at {engaged}");
    assert!(lifted > FLOOD && lifted <= Timestamp::from_secs(42), "lifted at {lifted}");
    for (index, second) in story.seconds.iter().enumerate().take(30).skip(5) {
        assert!((95..=105).contains(&second.good), "second {index}: {second:?}");
        assert!((5..=15).contains(&second.shed), "second {index}: {second:?}");
    }
    let p95 = story.p95(20, 30);
    assert!(p95 < Duration::from_millis(60), "p95 {p95:?} under flood");
    for (index, second) in story.seconds.iter().enumerate().skip(31) {
        assert!((89..=91).contains(&second.good) && second.shed == 0, "second {index}: {second:?}");
    }
}

#[test]
fn without_the_policy_the_flooded_service_collapses() {
    let story = play(&Admission::new(Limits::default(), Limits::default()));
    let good: u32 = story.seconds[20..30].iter().map(|second| second.good).sum();
    assert!(good < 800, "{good} good responses in the last ten seconds of the flood");
    let p95 = story.p95(20, 30);
    assert!(p95 > Duration::from_millis(200), "p95 {p95:?} under flood");
}
