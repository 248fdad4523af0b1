//! Zones: where instances are launched, and what the loss of one takes away.
//!
//! A new instance goes to the zone with the fewest, as with EC2 Auto Scaling
//! (<https://docs.aws.amazon.com/autoscaling/ec2/userguide/auto-scaling-benefits.html>, *Distribute instances across
//! Availability Zones*), tasks of ECS with the default spread strategy, and pods with a topology spread constraint of
//! `maxSkew: 1`. When a zone is back, nothing is moved into it; the next launches go there.

use super::{Fleet, World};
use crate::cloud::instance::{Instance, Phase};
use crate::cloud::queue::Launch;
use crate::outcome::Happening;
use crate::plant::Plant;

impl Fleet<'_> {
    /// Instances in each zone; empty without zones.
    pub(crate) fn by_zone(&self, which: impl Fn(&Instance) -> bool) -> Vec<u32> {
        let mut counts = vec![0; self.lost.len()];
        for instance in self.instances.iter().filter(|one| which(one)) {
            if let Some(count) = counts.get_mut(usize::from(instance.zone)) {
                *count += 1;
            }
        }
        counts
    }

    /// The zone of the next launch: the available one with the fewest instances; the first without zones, and none if
    /// all zones are lost.
    pub(super) fn zone_for_launch(&self) -> Option<u16> {
        if self.lost.is_empty() {
            return Some(0);
        }
        let counts = self.by_zone(Instance::is_live);
        let available = counts.iter().zip(&self.lost).enumerate().filter(|(_, (_, lost))| **lost == 0);
        let (zone, _) = available.min_by_key(|(_, (count, _))| **count)?;
        u16::try_from(zone).ok()
    }

    /// All instances of a zone fail, also those that do not serve yet.
    pub(super) fn lose_zone<P: Plant>(&mut self, place: usize, world: &mut World<P>) {
        let Some(failure) = self.settings.zones.failures.get(place) else { return };
        if let Some(lost) = self.lost.get_mut(usize::from(failure.zone)) {
            *lost += 1;
        }
        let inside =
            self.instances.iter().filter(|one| one.zone == failure.zone && one.phase != Phase::Failed);
        let launches: Vec<Launch> = inside.map(|one| one.launch).collect();
        for launch in &launches {
            let Some(place) = self.place(*launch) else { continue };
            match self.instances[place].phase {
                Phase::Serving => self.break_one(place, failure.noticed_after, world),
                _ => self.end(place, world),
            }
        }
        let (zone, instances) = (self.zone_name(failure.zone), launches.len() as u32);
        self.happenings.note(world.now, Happening::ZoneLost { zone, instances });
        self.reconcile(world);
    }

    /// Instances may be launched in the zone again, unless another failure of it lasts.
    pub(super) fn zone_back<P: Plant>(&mut self, place: usize, world: &mut World<P>) {
        let Some(failure) = self.settings.zones.failures.get(place) else { return };
        let Some(lost) = self.lost.get_mut(usize::from(failure.zone)) else { return };
        *lost = lost.saturating_sub(1);
        if *lost == 0 {
            let zone = self.zone_name(failure.zone);
            self.happenings.note(world.now, Happening::ZoneBack { zone });
        }
        self.reconcile(world);
    }

    fn zone_name(&self, zone: u16) -> String {
        self.settings.zones.names.get(usize::from(zone)).cloned().unwrap_or_default()
    }
}
