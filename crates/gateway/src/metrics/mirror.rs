//! The outcomes of copies, for Prometheus: chosen = compared (same or different) + dropped + failed + in flight.

use super::page::Page;
use crate::mirror::{Difference, Dropped, Failed, Link, LinkCounts, Mirrors, RATIO_BOUNDS, Sink};
use status::metric;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Appends nothing if there is no mirror.
pub(super) fn write(page: &mut Page, mirrors: &Mirrors, paused: bool) {
    let (shadows, captured): (Vec<&Link>, Vec<&Link>) =
        mirrors.routes.iter().flatten().partition(|link| matches!(link.target.sink, Sink::Shadow(_)));
    if !shadows.is_empty() {
        write_shadows(page, mirrors, &shadows);
    }
    if !captured.is_empty() {
        write_capture(page, &captured);
    }
    if mirrors.links > 0 {
        write_bytes(page, mirrors);
        page.head(
            "headroom_mirror_paused",
            "gauge",
            "1 while nothing is copied because an experiment asked for it, otherwise 0.",
        );
        page.line("headroom_mirror_paused", &[], &u8::from(paused));
    }
}

fn labels(link: &Link) -> [(&str, &str); 2] {
    [("route", &link.route), ("mirror", &link.target.name)]
}

fn write_shadows(page: &mut Page, mirrors: &Mirrors, links: &[&Link]) {
    type Count = fn(&LinkCounts) -> u64;
    let counters: [(&str, &str, &str, Count); 6] = [
        (
            "headroom_mirror_not_chosen_total",
            "counter",
            "Requests that were not selected for mirroring.",
            |of| of.not_chosen.load(Relaxed),
        ),
        ("headroom_mirror_chosen_total", "counter", "Requests selected for mirroring.", |of| {
            of.chosen.load(Relaxed)
        }),
        ("headroom_mirror_sent_total", "counter", "Copies sent to a shadow instance.", |of| {
            of.sent.load(Relaxed)
        }),
        (
            "headroom_mirror_in_flight",
            "gauge",
            "Copies currently queued, in flight to a shadow instance, or waiting for the live response.",
            |of| of.open.load(Relaxed),
        ),
        (
            "headroom_mirror_compared_total",
            "counter",
            "Copies whose response was compared with the live response.",
            LinkCounts::compared,
        ),
        (
            "headroom_mirror_same_total",
            "counter",
            "Compared responses with equal status, size and body.",
            |of| of.same.load(Relaxed),
        ),
    ];
    for (name, kind, help, count) in counters {
        page.head(name, kind, help);
        for link in links {
            page.line(name, &labels(link), &count(&link.counts));
        }
    }
    type Counts = fn(&LinkCounts) -> &[AtomicU64];
    let by_reason: [(&str, &str, &str, &[&str], Counts); 3] = [
        (
            "headroom_mirror_different_total",
            "Compared responses that differ, by the first difference found.",
            "kind",
            Difference::NAMES,
            |of| &of.different,
        ),
        (
            metric::MIRROR_DROPPED,
            "Copies dropped before they were sent, by reason.",
            "reason",
            Dropped::NAMES,
            |of| &of.dropped,
        ),
        (
            metric::MIRROR_FAILED,
            "Copies whose responses were not compared, by reason.",
            "reason",
            Failed::NAMES,
            |of| &of.failed,
        ),
    ];
    for (name, help, label, names, counts) in by_reason {
        page.head(name, "counter", help);
        for link in links {
            let [route, mirror] = labels(link);
            for (text, count) in names.iter().zip(counts(&link.counts)) {
                let count = count.load(Relaxed);
                if count > 0 {
                    page.line(name, &[route, mirror, (label, text)], &count);
                }
            }
        }
    }
    write_times(page, links);
    page.head(
        "headroom_mirror_tripped",
        "gauge",
        "1 while mirroring is paused because the gateway is overloaded, otherwise 0.",
    );
    for target in shadows(mirrors) {
        page.line(
            "headroom_mirror_tripped",
            &[("mirror", &target.name)],
            &u8::from(target.choice.is_tripped()),
        );
    }
    page.head("headroom_mirror_queue", "gauge", "Copies currently queued for a shadow instance.");
    for target in shadows(mirrors) {
        page.line("headroom_mirror_queue", &[("mirror", &target.name)], &target.queued.load(Relaxed));
    }
}

fn write_bytes(page: &mut Page, mirrors: &Mirrors) {
    let name = "headroom_mirror_bytes";
    page.head(name, "gauge", "Memory held by the requests of all copies, in bytes.");
    page.line(name, &[], &mirrors.budget.held());
}

fn shadows(mirrors: &Mirrors) -> impl Iterator<Item = &crate::mirror::Target> {
    mirrors.targets.iter().map(|target| &**target).filter(|target| matches!(target.sink, Sink::Shadow(_)))
}

/// Times to the first byte of compared copies, added up, and the ratio of each pair.
fn write_times(page: &mut Page, links: &[&Link]) {
    for (name, help, which) in [
        ("headroom_mirror_live_seconds_total", "Total time to first byte of compared live responses.", 0),
        ("headroom_mirror_shadow_seconds_total", "Total time to first byte of compared shadow responses.", 1),
    ] {
        page.head(name, "counter", help);
        for link in links {
            let nanos = if which == 0 { &link.counts.live_ns } else { &link.counts.shadow_ns };
            let seconds = Duration::from_nanos(nanos.load(Relaxed)).as_secs_f64();
            page.line(name, &labels(link), &seconds);
        }
    }
    let name = "headroom_mirror_time_ratio";
    page.head(
        name,
        "histogram",
        "Ratio of the time to first byte of the shadow to that of the live instance, for each compared pair.",
    );
    for link in links {
        let [route, mirror] = labels(link);
        let bounds = RATIO_BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut count = 0;
        for (bucket, bound) in link.counts.ratios.iter().zip(bounds) {
            count += bucket.load(Relaxed);
            page.line(&format!("{name}_bucket"), &[route, mirror, ("le", &bound)], &count);
        }
        let sum = link.counts.ratio_millionths.load(Relaxed) as f64 / 1e6;
        page.line(&format!("{name}_sum"), &[route, mirror], &sum);
        page.line(&format!("{name}_count"), &[route, mirror], &count);
    }
}

fn write_capture(page: &mut Page, links: &[&Link]) {
    for (name, kind, help) in [
        ("headroom_capture_chosen_total", "counter", "Requests selected for the capture."),
        ("headroom_capture_written_total", "counter", "Requests written to the capture."),
        (
            "headroom_capture_in_flight",
            "gauge",
            "Captured requests currently waiting for their response or for the disk.",
        ),
    ] {
        page.head(name, kind, help);
        for link in links {
            let count = match name {
                "headroom_capture_chosen_total" => &link.counts.chosen,
                "headroom_capture_written_total" => &link.counts.written,
                _ => &link.counts.open,
            };
            page.line(name, &[("route", &link.route)], &count.load(Relaxed));
        }
    }
    let name = metric::CAPTURE_DROPPED;
    page.head(name, "counter", "Requests missing from the capture, by reason.");
    for link in links {
        for (reason, count) in Dropped::NAMES.iter().zip(&link.counts.dropped) {
            let count = count.load(Relaxed);
            if count > 0 {
                page.line(name, &[("route", &link.route), ("reason", reason)], &count);
            }
        }
    }
}
