//! The instance's side of a request: front workers, queues, threads, lock, steps.

use super::Requests;
use super::instance::State;
use super::list::NONE;
use super::program::Op;
use super::send::Ended;
use super::service::{Link, Queueing};
use super::timers::Due;
use super::visit::{At, From};

impl Requests {
    /// A request reaches its instance.
    #[inline]
    pub(super) fn reach(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        let instance = &mut self.instances[visit.instance as usize];
        if instance.state == State::Failed {
            return self.break_off(v);
        }
        let service = &mut self.services[visit.service as usize];
        let Some(front) = &service.front else { return self.accept(v) };
        if instance.front_free > 0 {
            instance.front_free -= 1;
            self.pass_on(v);
        } else if instance.front_queue.len() < front.bound {
            visit.at = At::FrontQueue;
            instance.front_queue.push(&mut self.visits.slots, v);
        } else {
            self.refuse(v, Ended::Refused);
        }
    }

    /// A front worker processes a request.
    pub(super) fn pass_on(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        let Some(front) = &self.services[visit.service as usize].front else { return };
        visit.wait = front.wait.draw(&mut visit.rng);
        visit.at = At::FrontCpu;
        let work = front.cpu.draw(&mut visit.rng);
        if work > 0.0 { self.run(v, work) } else { self.front_computed(v) }
    }

    pub(super) fn front_computed(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        if visit.wait >= 1.0 {
            visit.at = At::FrontWait;
            self.timers.push(self.now + visit.wait as u64, Due::Visit(v));
        } else {
            self.front_done(v);
        }
    }

    /// A front worker has passed a request on, and takes the next one.
    pub(super) fn front_done(&mut self, v: u32) {
        let number = self.visits.slots[v as usize].instance;
        self.accept(v);
        let instance = &mut self.instances[number as usize];
        match instance.front_queue.pop(&mut self.visits.slots) {
            Some(next) => self.front_ready.push(next),
            None => instance.front_free += 1,
        }
    }

    /// A request needs a thread.
    #[inline]
    pub(super) fn accept(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        let number = visit.instance;
        let instance = &self.instances[number as usize];
        let service = &self.services[visit.service as usize];
        visit.at = At::Queue;
        let (bound, first, processes) = (service.bound, instance.processes, service.processes);
        match service.accept {
            Queueing::Shared | Queueing::Kept => {
                if visit.connection != NONE
                    && self.connections.slots[visit.connection as usize].process != NONE
                {
                    return self.accept_kept(v);
                }
                let weighted = service.accept == Queueing::Shared;
                if let Some(process) = self.free_process(first, processes, weighted) {
                    self.processes[process as usize].free -= 1;
                    self.take(v, process);
                } else if self.instances[number as usize].queue.len() < bound {
                    self.instances[number as usize].queue.push(&mut self.visits.slots, v);
                } else {
                    self.refuse(v, Ended::Refused);
                }
            }
            Queueing::PerProcess => {
                let process = first + self.chance.below(processes as usize) as u32;
                self.join(v, process, bound);
            }
        }
    }

    /// A request on a connection that a process has accepted.
    fn accept_kept(&mut self, v: u32) {
        let visit = &self.visits.slots[v as usize];
        let service = &mut self.services[visit.service as usize];
        let bound = service.bound;
        let connection = &mut self.connections.slots[visit.connection as usize];
        let process = connection.process;
        if connection.lingers.take().is_some() {
            service.lingering.remove(&mut self.connections.slots, visit.connection);
            self.take(v, process);
        } else {
            connection.in_row = 0;
            self.join(v, process, bound);
        }
    }

    fn join(&mut self, v: u32, number: u32, bound: u32) {
        let process = &mut self.processes[number as usize];
        if process.free > 0 {
            process.free -= 1;
            self.take(v, number);
        } else if process.queue.len() < bound {
            process.queue.push(&mut self.visits.slots, v);
        } else {
            self.refuse(v, Ended::Refused);
        }
    }

    /// A process with a free thread; chosen at random.
    #[inline]
    fn free_process(&mut self, first: u32, processes: u32, weighted: bool) -> Option<u32> {
        if processes == 1 {
            return (self.processes[first as usize].free > 0).then_some(first);
        }
        let all = &self.processes[first as usize..(first + processes) as usize];
        let weight = |free: u32| if weighted { free } else { u32::from(free > 0) };
        let sum: u32 = all.iter().map(|process| weight(process.free)).sum();
        if sum == 0 {
            return None;
        }
        let mut left = self.chance.below(sum as usize) as u32;
        for (at, process) in (first..).zip(all) {
            let weight = weight(process.free);
            if left < weight {
                return Some(at);
            }
            left -= weight;
        }
        None
    }

    /// A thread takes a request.
    #[inline]
    fn take(&mut self, v: u32, process: u32) {
        let visit = &mut self.visits.slots[v as usize];
        visit.process = process;
        visit.taken = self.now;
        if visit.connection != NONE {
            let connection = &mut self.connections.slots[visit.connection as usize];
            connection.process = process;
            connection.in_row += 1;
        }
        match self.services[visit.service as usize].link {
            Link::PerCall { server_cpu } if server_cpu > 0.0 => {
                visit.at = At::Connecting;
                self.compute(v, server_cpu);
            }
            _ => {
                visit.at = At::Ready;
                self.ready.push(v);
            }
        }
    }

    /// A thread is free: it takes the next request that waits for it.
    #[inline]
    pub(super) fn release(&mut self, number: u32) {
        let process = &mut self.processes[number as usize];
        let instance = &mut self.instances[process.instance as usize];
        let slots = &mut self.visits.slots;
        let next = match self.services[instance.service as usize].accept {
            Queueing::Shared => instance.queue.pop(slots),
            Queueing::PerProcess => process.queue.pop(slots),
            Queueing::Kept => process.queue.pop(slots).or_else(|| instance.queue.pop(slots)),
        };
        match next {
            Some(v) => self.take(v, number),
            None => process.free += 1,
        }
    }

    /// Runs the steps of a request until it has to wait.
    #[inline]
    pub(super) fn step(&mut self, v: u32) {
        loop {
            let visit = &mut self.visits.slots[v as usize];
            match &self.program.ops[visit.op as usize] {
                Op::Work { cpu, wait, bursts, .. } => {
                    let share = 1.0 / f64::from(*bursts);
                    visit.burst = cpu.draw(&mut visit.rng) * share;
                    visit.wait = wait.draw(&mut visit.rng) * share;
                    visit.left = *bursts;
                    if visit.burst > 0.0 || visit.wait > 0.0 {
                        return self.burst(v);
                    }
                    visit.op += 1;
                }
                Op::Hold { pool, .. } => {
                    let pool = *pool;
                    return self.hold(v, pool);
                }
                Op::Calls { count: 0, .. } => visit.op += 1,
                Op::Calls { cpu, .. } => {
                    let cpu = *cpu;
                    visit.at = At::CallCpu;
                    return if cpu > 0.0 { self.compute(v, cpu) } else { self.call(v) };
                }
                Op::End { errors } => {
                    let failed = visit.call_failed || (*errors > 0.0 && visit.rng.uniform() < *errors);
                    return self.finish(v, if failed { Ended::Error } else { Ended::Answered });
                }
            }
        }
    }

    #[inline]
    fn burst(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        if visit.burst > 0.0 {
            visit.at = At::Cpu;
            let work = visit.burst;
            self.compute(v, work);
        } else {
            self.wait(v);
        }
    }

    /// After a burst.
    #[inline]
    pub(super) fn wait(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        let Op::Work { incidents, .. } = &self.program.ops[visit.op as usize] else { return };
        let mut time = visit.wait;
        if time <= 0.0 {
            return self.waited(v);
        }
        if let Some(incidents) = incidents {
            time *= self.program.incidents[*incidents as usize].factor(self.now);
        }
        visit.at = At::Wait;
        self.timers.push(self.now.saturating_add(time as u64), Due::Visit(v));
    }

    /// After a wait.
    #[inline]
    pub(super) fn waited(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        visit.left -= 1;
        if visit.left > 0 {
            self.burst(v);
        } else {
            visit.op += 1;
            visit.at = At::Ready;
            self.ready.push(v);
        }
    }

    /// Calls other services, all at once.
    pub(super) fn call(&mut self, v: u32) {
        let visit = &mut self.visits.slots[v as usize];
        let Op::Calls { first, count, .. } = self.program.ops[visit.op as usize] else { return };
        visit.at = At::Calling;
        visit.left = count;
        for number in first..first + u32::from(count) {
            let called = self.program.calls[number as usize];
            let visit = &mut self.visits.slots[v as usize];
            let draws = (visit.rng.fork(), visit.identity);
            self.begin(called, draws, From::Visit, v);
        }
    }

    /// A called service has responded or failed.
    pub(super) fn called(&mut self, v: u32, well: bool) {
        let visit = &mut self.visits.slots[v as usize];
        visit.left -= 1;
        visit.call_failed |= !well;
        if visit.left > 0 {
            return;
        }
        if visit.at == At::Gone {
            return self.visits.end(v);
        }
        visit.op += 1;
        while visit.call_failed && !matches!(self.program.ops[visit.op as usize], Op::End { .. }) {
            visit.op += 1;
        }
        visit.at = At::Ready;
        self.ready.push(v);
    }

    /// The response leaves the instance.
    #[inline]
    pub(super) fn finish(&mut self, v: u32, ended: Ended) {
        let now = self.now;
        let visit = &self.visits.slots[v as usize];
        let (abandoned, process, number) = (visit.abandoned, visit.process, visit.service);
        let instance = &mut self.instances[visit.instance as usize];
        instance.in_flight -= 1;
        let keeps = !abandoned && instance.state == State::Serving;
        let (connection, pool) = (visit.connection, instance.pools + u32::from(visit.node));
        let service = &mut self.services[number as usize];
        service.window.application.record((now - visit.taken) as f64 * 1e-9);
        if !abandoned {
            // The wait at limits before the balancer is included.
            let since = if visit.attempt == 0 { visit.arrived } else { visit.sent };
            service.window.queueing.record((visit.taken - since) as f64 * 1e-9);
        }
        let mut lingers = false;
        if matches!(service.link, Link::Kept { .. }) {
            if keeps {
                self.pools[pool as usize].push_back((now, connection));
                lingers = connection != NONE && self.linger(number, connection);
            } else {
                self.close(number, connection);
            }
        }
        if !lingers {
            self.release(process);
        }
        if !abandoned {
            self.end(v, ended);
        }
        self.visits.end(v);
    }

    /// After a response, a thread may linger on the connection.
    #[inline]
    fn linger(&mut self, number: u16, slot: u32) -> bool {
        let service = &mut self.services[number as usize];
        let connection = &mut self.connections.slots[slot as usize];
        if service.linger == 0 || connection.in_row >= service.inline {
            return false;
        }
        let until = self.now.saturating_add(service.linger);
        connection.lingers = Some(until);
        service.lingering.push(&mut self.connections.slots, slot);
        if !std::mem::replace(&mut service.linger_armed, true) {
            self.timers.push(until, Due::Linger(number));
        }
        true
    }

    /// The longest-lingering thread may give up.
    pub(super) fn give_up_lingering(&mut self, number: u16) {
        loop {
            let service = &mut self.services[number as usize];
            service.linger_armed = false;
            let Some(slot) = service.lingering.first() else { return };
            let connection = &mut self.connections.slots[slot as usize];
            let Some(until) = connection.lingers else { return };
            if until > self.now {
                service.linger_armed = true;
                return self.timers.push(until, Due::Linger(number));
            }
            connection.lingers = None;
            let process = connection.process;
            service.lingering.remove(&mut self.connections.slots, slot);
            self.release(process);
        }
    }

    /// No room: the request is refused at once.
    pub(super) fn refuse(&mut self, v: u32, ended: Ended) {
        self.leave(v);
        if !self.visits.slots[v as usize].abandoned {
            self.end(v, ended);
        }
        self.visits.end(v);
    }

    /// The instance is broken: the connection is reset.
    fn break_off(&mut self, v: u32) {
        self.leave(v);
        if !self.visits.slots[v as usize].abandoned {
            self.end(v, Ended::Failed);
        }
        self.visits.end(v);
    }

    /// A request leaves an instance without having had a thread.
    fn leave(&mut self, v: u32) {
        let visit = &self.visits.slots[v as usize];
        self.instances[visit.instance as usize].in_flight -= 1;
        self.close(visit.service, visit.connection);
    }

    /// Closes a connection; a thread that lingers on it continues.
    pub(super) fn close(&mut self, number: u16, slot: u32) {
        if slot == NONE {
            return;
        }
        let connection = &mut self.connections.slots[slot as usize];
        let (lingers, process) = (connection.lingers.take(), connection.process);
        if lingers.is_some() {
            self.services[number as usize].lingering.remove(&mut self.connections.slots, slot);
            self.release(process);
        }
        self.connections.close(slot);
    }
}
