//! Processor time of requests: the lock of a process, and its host's processor.

use super::Requests;
use super::list::NONE;
use super::visit::At;

impl Requests {
    /// A thread needs processor time; if its process has a lock, it needs that first.
    #[inline]
    pub(super) fn compute(&mut self, v: u32, work: f64) {
        let visit = &mut self.visits.slots[v as usize];
        let work = match self.instances[visit.instance as usize].warm_from {
            None => work,
            Some(from) => work * self.warm_up(v, from),
        };
        let visit = &mut self.visits.slots[v as usize];
        let Some(quantum) = self.services[visit.service as usize].quantum else { return self.run(v, work) };
        visit.work = work;
        let process = &mut self.processes[visit.process as usize];
        if process.holder == NONE {
            process.holder = v;
            self.slice(v, quantum);
        } else {
            process.lock.push(&mut self.visits.slots, v);
        }
    }

    /// The thread with the lock runs, at most until it has to check for waiting threads.
    #[inline]
    fn slice(&mut self, v: u32, quantum: f64) {
        let visit = &mut self.visits.slots[v as usize];
        let slice = visit.work.min(quantum * self.instances[visit.instance as usize].processor.speed());
        visit.work -= slice;
        self.run(v, slice);
    }

    #[inline]
    pub(super) fn run(&mut self, v: u32, work: f64) {
        let number = self.visits.slots[v as usize].instance;
        let next = self.instances[number as usize].processor.start(self.now, work, v);
        self.hosts.set(number, next);
    }

    /// An event at a host's processor.
    #[inline]
    pub(super) fn processor_happens(&mut self, host: u32) {
        let (ended, next) = self.instances[host as usize].processor.happen(self.now);
        self.hosts.set(host, next);
        let Some(v) = ended else { return };
        let visit = &mut self.visits.slots[v as usize];
        if visit.at == At::FrontCpu {
            return self.front_computed(v);
        }
        if let Some(quantum) = self.services[visit.service as usize].quantum {
            let process = &mut self.processes[visit.process as usize];
            let rest = visit.work > 0.0;
            if rest {
                process.lock.push(&mut self.visits.slots, v);
            }
            let next = process.lock.pop(&mut self.visits.slots);
            process.holder = next.unwrap_or(NONE);
            if let Some(next) = next {
                self.slice(next, quantum);
            }
            if rest {
                return;
            }
        }
        self.computed(v);
    }

    #[inline]
    fn computed(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        match visit.at {
            At::Cpu => self.wait(v),
            At::Connecting => {
                visit.at = At::Ready;
                self.ready.push(v);
            }
            At::CallCpu => self.call(v),
            _ => {}
        }
    }

    /// The factor of processor times on a new instance.
    #[cold]
    fn warm_up(&mut self, v: u32, from: u64) -> f64 {
        let visit = &self.visits.slots[v as usize];
        let start = &self.services[visit.service as usize].start;
        let (passed, span) = ((self.now - from) as f64 * 1e-9, start.warm_up.as_secs_f64());
        if passed >= span {
            self.instances[visit.instance as usize].warm_from = None;
            return 1.0;
        }
        1.0 + (start.warm_up_factor - 1.0).max(0.0) * (1.0 - passed / span)
    }
}
