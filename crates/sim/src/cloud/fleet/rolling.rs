//! Rolling deployments: every instance is replaced, a few at a time.

use super::super::instance::{Instance, Phase};
use super::{Fleet, World};
use crate::outcome::Happening;
use crate::plant::Plant;
use units::Timestamp;

impl Fleet<'_> {
    /// One step of a deployment: it starts as many new instances as `most` allows, and ends as many old ones as
    /// `least_healthy` allows.
    pub(super) fn roll<P: Plant>(&mut self, world: &mut World<P>) {
        let version = self.version;
        let Some(deployment) = self
            .settings
            .deployments
            .iter()
            .filter(|one| Timestamp::ZERO + one.at <= world.now)
            .max_by_key(|one| one.at)
        else {
            return;
        };
        let wanted = f64::from(self.desired);
        // As in ECS: the minimum is rounded up, the maximum down.
        let least = (wanted * deployment.least_healthy).ceil() as u32;
        let most = ((wanted * deployment.most).floor() as u32).max(self.desired);
        let is_new = |instance: &Instance| instance.version == version;
        let is_old = |instance: &Instance| instance.version != version;

        // Ending old instances that do not serve costs no capacity.
        let idle = self.live(|one| is_old(one) && one.phase != Phase::Serving && one.phase != Phase::Failed);
        self.end_some(
            idle,
            |one| is_old(one) && one.phase != Phase::Serving && one.phase != Phase::Failed,
            world,
        );
        let serving = self.live(|one| one.phase == Phase::Serving);
        let old = self.live(|one| is_old(one) && one.phase == Phase::Serving);
        let ending = serving.saturating_sub(least).min(old);
        self.end_some(ending, |one| is_old(one) && one.phase == Phase::Serving, world);

        let new = self.live(is_new);
        if new > self.desired {
            self.end_some(new - self.desired, is_new, world);
        }
        let room = most.saturating_sub(self.live(|_| true));
        self.launch_some(self.desired.saturating_sub(new).min(room), world);

        let (new, old) = (self.live(is_new), self.live(is_old));
        let ready = self.live(|one| is_new(one) && one.phase == Phase::Serving);
        if old == 0 && ready == self.desired {
            self.rolling = false;
            self.happenings.note(world.now, Happening::DeploymentEnded { version });
        } else if new == 0 && old > 0 && least >= self.desired && most <= self.desired {
            self.rolling = false;
            self.happenings.note(world.now, Happening::DeploymentStuck { version });
        }
    }
}
