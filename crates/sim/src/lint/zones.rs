//! Whether the other zones carry the peak when one is lost.

use super::capacity::{targets, without_alarm};
use super::{Finding, Rule, Subject};
use units::show_duration;

/// The instances that run at the peak are those that the targets ask for, or those at which no upward alarm fires any
/// more, at most the maximum; if neither is known, the maximum. The largest zone is lost. New instances are launched in the other zones, up to the maximum, and serve after
/// their start-up.
pub(super) fn check(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let service = subject.service;
    let zones = service.zones.names.len() as u32;
    let (Some(capacity), Some(peak)) = (subject.capacity, subject.load.highest()) else { return };
    if zones == 0 {
        return;
    }
    let fixed = service.instances.get();
    let (min, max) = service.scaling.policy.widest_bounds().unwrap_or((fixed, fixed));
    let wanted = targets(subject, &capacity, peak).into_iter().map(|(_, wanted)| wanted.ceil());
    let wanted = wanted.chain(without_alarm(subject, &capacity, peak));
    let wanted = wanted.max_by(f64::total_cmp).filter(|wanted| wanted.is_finite());
    let running = wanted.map_or(max, |wanted| (wanted as u32).clamp(min.min(max), max));
    let left = running - running.div_ceil(zones);
    let carried = f64::from(left) * capacity.rate;
    // A maximum that never carries the peak has a finding of its own.
    if carried >= peak || f64::from(max) * capacity.rate < peak {
        return;
    }
    let start = service.start.provision + service.start.boot;
    let lost = 100.0 * (1.0 - carried / peak);
    // Each zone but the lost one has its share.
    let needed = (peak / capacity.rate).ceil().max(1.0) as u32;
    let enough = (zones > 1).then(|| needed.saturating_mul(zones).div_ceil(zones - 1));
    let until = match zones {
        1 => "until the zone is back".to_owned(),
        _ => format!("for at least {}, until new instances have started", show_duration(start)),
    };
    findings.push(Finding {
        rule: Rule::ZoneLoss,
        place: format!("{}: zones", service.name),
        what: "the other zones cannot carry the loss of one at the peak".to_owned(),
        why: format!(
            "at the peak of {peak:.0} requests/s, {running} instances run in {zones} {}; without one zone, {left} are \
             left, which answer at most {carried:.0}/s ({:.1} each, limited by {}): {lost:.0} % of the requests cannot \
             be answered in time {until}",
            if zones == 1 { "zone" } else { "zones" },
            capacity.rate,
            capacity.by
        ),
        remedy: match enough {
            Some(enough) => {
                let max = if enough > max { format!(", with `max: {enough}`") } else { String::new() };
                format!("run {enough} instances or more at the peak: lower the target, or raise `min`{max}")
            }
            None => "use two zones or more".to_owned(),
        },
    });
}
