//! The steps of requests, flattened: the steps of all endpoints of all services in one array.

use super::draw::draw_of;
use super::incidents::Incident;
use super::nanos;
use crate::settings::{Connections, Service, Step, System};
use stats::Draw;

/// One step of a request; numbers in nanoseconds.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Work {
        cpu: Draw,
        wait: Draw,
        bursts: u16,
        incidents: Option<u16>,
    },
    Hold {
        pool: u16,
        time: Draw,
    },
    /// `calls` of the program, after processor time for their connections.
    Calls {
        first: u32,
        count: u16,
        cpu: f64,
    },
    /// The end; this share of requests ends with an error.
    End {
        errors: f64,
    },
}

/// The parts of an endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) struct Called {
    pub(super) service: u16,
    pub(super) endpoint: u16,
}

/// All steps.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) calls: Vec<Called>,
    pub(super) incidents: Vec<Incident>,
}

impl Program {
    /// Adds the endpoints of a service; returns where each begins.
    pub(super) fn add(&mut self, system: &System, number: usize, service: &Service) -> Vec<u32> {
        let add = |(at, endpoint): (usize, &crate::settings::Endpoint)| {
            let begins = self.ops.len() as u32;
            for (place, step) in endpoint.steps.iter().enumerate() {
                let op = self.op(system, step, &format!("incidents/{number}/{at}/{place}"));
                self.ops.push(op);
            }
            self.ops.push(Op::End { errors: endpoint.errors });
            begins
        };
        service.endpoints.iter().enumerate().map(add).collect()
    }

    fn op(&mut self, system: &System, step: &Step, purpose: &str) -> Op {
        match step {
            Step::Work { cpu, wait, bursts, incidents } => Op::Work {
                cpu: draw_of(cpu),
                wait: draw_of(wait),
                bursts: (*bursts).clamp(1, u32::from(u16::MAX)) as u16,
                incidents: incidents.as_ref().map(|incidents| {
                    self.incidents.push(Incident::new(incidents, system.seed, purpose));
                    (self.incidents.len() - 1) as u16
                }),
            },
            Step::Hold { pool, time } => Op::Hold { pool: pool.0, time: draw_of(time) },
            Step::Calls(calls) => {
                let first = self.calls.len() as u32;
                let mut cpu = 0.0;
                for call in calls {
                    self.calls.push(Called { service: call.service.0, endpoint: call.endpoint });
                    let callee = &system.services[call.service.0 as usize];
                    if let Connections::PerCall { caller_cpu, .. } = callee.balancing.connections {
                        cpu += nanos(caller_cpu) as f64;
                    }
                }
                Op::Calls { first, count: calls.len() as u16, cpu }
            }
        }
    }
}
