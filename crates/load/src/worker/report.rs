//! A worker's reports: ten times a second, and at the end.

use super::connect::Resolving;
use super::{Home, Worker};
use crate::connection::Job;
use crate::run::Slot;
use host::thread_cpu;
use http::reactor::Net;
use measure::Fate;
use std::time::Duration;
use units::Timestamp;

impl<N: Net> Worker<'_, N> {
    /// The requests that were taken and have no end.
    pub(super) fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        let sent = self.connections.iter().flat_map(|(_, connection)| connection.jobs());
        sent.chain(self.resolving.jobs()).chain(self.stash.iter().copied())
    }

    /// How many arrivals that are not finished are older than each of the watched bounds.
    fn overdue(&self, now: Timestamp) -> Vec<u64> {
        let older = |&bound: &Duration| {
            let sent = self.jobs().filter(|job| now.since(job.intended) >= bound).count() as u64;
            let before = now.as_nanos().checked_sub(bound.as_nanos() as u64).map(Timestamp::from_nanos);
            sent + before.map_or(0, |before| self.agenda.waiting_since(before))
        };
        self.watch.bounds.iter().map(older).collect()
    }

    /// `next_due` is when the next uncounted arrival is due; that may have passed by now.
    pub(super) fn report(&mut self, slot: &Slot, now: Timestamp, next_due: Timestamp) {
        let sent = self.jobs().map(|job| job.intended).min();
        let oldest = [sent, self.agenda.oldest()].into_iter().flatten().min();
        self.recorder.close_before(oldest.unwrap_or(now).min(now).min(next_due));
        let waiting = self.agenda.waiting() + self.stash.len() as u64;
        let overdue = self.overdue(now);
        let mut accounting = self.recorder.accounting();
        accounting.scheduled += self.agenda.waiting();
        slot.report(|progress| {
            progress.at = now;
            progress.accounting = accounting;
            progress.in_flight = self.busy as u64;
            progress.waiting = waiting;
            progress.oldest = oldest;
            progress.connections = self.connections.len() as u64;
            progress.recent_good +=
                self.recorder.take_recent(&mut progress.recent, &mut progress.recent_dispatch);
            progress.longest_stall = self.longest_stall;
            let (succeeded, within) = self.recorder.succeeded();
            progress.succeeded = succeeded;
            progress.within.clear();
            progress.within.extend_from_slice(within);
            progress.overdue = overdue;
            progress.lag =
                self.recorder.lag.quantile(units::Quantile::P99).map_or(Duration::ZERO, |p99| p99.at);
        });
        if slot.wants_snapshot() {
            slot.snapshot(self.recorder.so_far(now.since(Timestamp::ZERO)));
        }
    }

    pub(super) fn finish(mut self, end: Timestamp, slot: &Slot) -> Home {
        let unsent: Vec<Job> = self.stash.drain(..).collect();
        let in_flight: Vec<Job> = self.jobs().collect();
        for (jobs, fate) in [(in_flight, Fate::InFlight), (unsent, Fate::Unsent)] {
            jobs.into_iter().for_each(|job| self.recorder.enter(job.endpoint, job.intended, fate));
        }
        self.busy = 0;
        self.connections.clear();
        self.resolving = Resolving::new(None);
        // Arrivals that are due and were not sent, with the endpoint that they would have gone to.
        while self.agenda.waiting() > 0
            && let Some(job) = self.next_job(Timestamp::NEVER)
        {
            self.recorder.enter(job.endpoint, job.intended, Fate::Unsent);
        }
        self.report(slot, end, Timestamp::NEVER);
        let finished = self.recorder.finish(end.since(Timestamp::ZERO), thread_cpu());
        Home { finished, longest_stall: self.longest_stall }
    }
}
