//! The problems of a service's cloud settings.

use super::Check;
use crate::settings::{Host, MINUTE, Service};

impl Check<'_> {
    /// Prices, launches, deployments and goals of a service.
    pub(super) fn cloud(&mut self, at: &str, service: &Service) {
        let rate = service.start.launches_per_second;
        let place = format!("{at}.start.launches_per_second");
        self.that(rate.is_none_or(positive), place, rate.unwrap_or(0.0), "above 0, or none");
        for (number, price) in service.prices.iter().enumerate() {
            let place = format!("{at}.prices[{number}].per_hour");
            self.that(not_negative(price.per_hour), place, price.per_hour, "at least 0");
        }
        for (number, deployment) in service.deployments.iter().enumerate() {
            let place = format!("{at}.deployments[{number}]");
            self.share(format!("{place}.least_healthy"), deployment.least_healthy);
            let most = deployment.most;
            self.that(most >= 1.0 && most.is_finite(), format!("{place}.most"), most, "at least 1");
        }
        let scaling = &service.scaling;
        if let Some(goal) = scaling.goal {
            self.that(!goal.below.is_zero(), format!("{at}.scaling.goal.below"), "0", "above 0");
        }
        let capacity = scaling.capacity;
        let place = format!("{at}.scaling.capacity");
        self.that(capacity.is_none_or(positive), place, capacity.unwrap_or(0.0), "above 0, or none");
    }

    /// Credits of a host.
    pub(super) fn credits(&mut self, at: &str, host: &Host) {
        let Some(credits) = host.credits else { return };
        for (field, value) in [
            ("earned_per_hour", credits.earned_per_hour),
            ("most", credits.most),
            ("at_start", credits.at_start),
            ("surplus_per_hour", credits.surplus_per_hour),
        ] {
            self.that(not_negative(value), format!("{at}.credits.{field}"), value, "at least 0");
        }
    }

    /// The measured span and the warm-up consist of whole rows.
    pub(super) fn spans(&mut self) {
        let row = self.system.row;
        let divides =
            row.subsec_nanos() == 0 && !row.is_zero() && MINUTE.as_secs().is_multiple_of(row.as_secs());
        self.that(divides, "rows", format!("{row:?}"), "whole seconds that divide a minute");
        if !divides {
            return;
        }
        let bound = if row == MINUTE { "a whole number of minutes" } else { "a multiple of `rows`" };
        for (place, span) in [("measured", self.system.measured), ("warm_up", self.system.warm_up)] {
            let whole = span.as_nanos().is_multiple_of(row.as_nanos());
            self.that(whole, place, format!("{span:?}"), bound);
        }
    }
}

fn positive(value: f64) -> bool {
    value > 0.0 && value.is_finite()
}

fn not_negative(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}
