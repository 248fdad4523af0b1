//! What makes the knee: the scalability law of the closed-loop steps, or why it is not shown.
//!
//! ## Why the limit does not come from the law
//! The search stops where two steps bring no more, which is mostly after four to six: too few for three numbers. Where
//! there are enough, a service with so many slots has a corner, and the law has none: it would see a peak in a plateau.
//! The knee is read off the steps themselves and needs two. The law says what makes it: turns that have to be taken, or
//! costs of agreeing that grow with each pair.

use control::search::closed_loop::Knee;
use measure::scalability::{Estimate, Fit, PeakEstimate, Point, Refusal, fit};
use report::rate;
use serde::Serialize;
use units::{Rate, Ratio};

/// What the steps say of contention and coherency.
#[derive(Debug, Clone, PartialEq)]
pub enum Scaling {
    /// The law, and its peak or why there is none.
    Told(Fit, Result<PeakEstimate, Refusal>),
    /// Why the law says nothing.
    NotTold(String),
}

/// The law of the steps.
pub fn of(knee: &Knee) -> Scaling {
    let points: Vec<Point> = knee
        .steps
        .iter()
        .map(|step| Point {
            concurrency: f64::from(step.concurrency),
            throughput: step.throughput.per_second(),
        })
        .collect();
    match fit(&points) {
        Err(error) => Scaling::NotTold(error.to_string()),
        Ok(fit) => match fit.trusted() {
            Err(refusal) => Scaling::NotTold(refusal.to_string()),
            Ok(()) => {
                let peak = fit.peak();
                Scaling::Told(fit, peak)
            }
        },
    }
}

/// In words, a line each.
pub fn words(scaling: &Scaling) -> Vec<String> {
    let (fit, peak) = match scaling {
        Scaling::NotTold(why) => return vec![format!("not estimated: {why}")],
        Scaling::Told(fit, peak) => (fit, peak),
    };
    let contention = match share(&fit.alpha()) {
        Share::None => "no contention seen".to_owned(),
        Share::AtMost(high) => {
            format!(
                "contention at most {}: the optimum is {:.0} in flight or more",
                percent(high),
                1.0 / high
            )
        }
        Share::Within(low, high) => {
            let alpha = fit.law().alpha();
            let optimum = 1.0 / alpha;
            let beyond = if optimum > fit.highest_concurrency() { ", beyond all steps" } else { "" };
            format!(
                "contention {} ({} to {}): the optimum is {optimum:.0} in flight ({:.0} to {:.0}{beyond}), the limit {}",
                percent(alpha),
                percent(low),
                percent(high),
                1.0 / high,
                1.0 / low,
                rate(Rate::per_second_of(fit.law().limit().unwrap_or_default()))
            )
        }
    };
    let coherency = match (peak, share(&fit.beta())) {
        (Ok(peak), found) => {
            let (low, high) = peak.interval(SURE);
            let cost = match found {
                Share::Within(low, high) => {
                    format!("{} ({} to {})", percent(fit.law().beta()), percent(low), percent(high))
                }
                Share::AtMost(high) => format!("at most {}", percent(high)),
                Share::None => percent(0.0),
            };
            format!(
                "coherency {cost}: the peak is {} at {:.0} in flight ({low:.0} to {high:.0})",
                rate(Rate::per_second_of(peak.throughput)),
                peak.concurrency
            )
        }
        (Err(refusal), Share::AtMost(high) | Share::Within(_, high)) => {
            format!("coherency at most {}: {refusal}", percent(high))
        }
        (Err(refusal), Share::None) => format!("no coherency seen: {refusal}"),
    };
    vec![contention, coherency]
}

/// The law as JSON has it; null for what is not told.
#[derive(Debug, Default, Serialize)]
pub struct ScalingDocument {
    contention: Option<EstimateDocument>,
    coherency: Option<EstimateDocument>,
    alone_per_second: Option<EstimateDocument>,
    optimum_in_flight: Option<f64>,
    limit_per_second: Option<f64>,
    error_per_second: Option<f64>,
    peak: Option<PeakDocument>,
    refused: Option<String>,
}

/// A number and its 95 % interval.
#[derive(Debug, Serialize)]
struct EstimateDocument {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// The most requests a second, and the requests in flight that give it.
#[derive(Debug, Serialize)]
struct PeakDocument {
    in_flight: f64,
    low: f64,
    high: f64,
    per_second: f64,
}

/// The law as JSON has it.
pub fn document(scaling: &Scaling) -> ScalingDocument {
    let (fit, peak) = match scaling {
        Scaling::NotTold(why) => {
            return ScalingDocument { refused: Some(why.clone()), ..ScalingDocument::default() };
        }
        Scaling::Told(fit, peak) => (fit, peak),
    };
    ScalingDocument {
        contention: Some(EstimateDocument::of(fit.alpha())),
        coherency: Some(EstimateDocument::of(fit.beta())),
        alone_per_second: Some(EstimateDocument::of(fit.gamma())),
        optimum_in_flight: fit.law().optimum().map(digits),
        limit_per_second: fit.law().limit().map(digits),
        error_per_second: fit.residual_standard_error().map(digits),
        peak: peak.as_ref().ok().map(PeakDocument::of),
        refused: peak.as_ref().err().map(ToString::to_string),
    }
}

impl EstimateDocument {
    fn of(found: Estimate) -> Self {
        let interval = found.interval(SURE);
        EstimateDocument {
            value: digits(found.value),
            low: interval.map(|(low, _)| digits(low.max(0.0))),
            high: interval.map(|(_, high)| digits(high)),
        }
    }
}

impl PeakDocument {
    fn of(peak: &PeakEstimate) -> Self {
        let (low, high) = peak.interval(SURE);
        PeakDocument {
            in_flight: digits(peak.concurrency),
            low: digits(low),
            high: digits(high),
            per_second: digits(peak.throughput),
        }
    }
}

/// The law from the first step to the last, for a picture.
pub fn curve(scaling: &Scaling) -> Vec<(f64, f64)> {
    let Scaling::Told(fit, _) = scaling else { return Vec::new() };
    let pieces = f64::from(PIECES);
    (0..=PIECES)
        .map(|piece| 1.0 + (fit.highest_concurrency() - 1.0) * f64::from(piece) / pieces)
        .map(|concurrency| (concurrency, fit.law().throughput(concurrency)))
        .collect()
}

/// What an interval leaves of a share.
enum Share {
    None,
    AtMost(f64),
    Within(f64, f64),
}

fn share(found: &Estimate) -> Share {
    match found.interval(SURE) {
        None => Share::None,
        Some((low, high)) if low > 0.0 => Share::Within(low, high),
        Some((_, high)) => Share::AtMost(high),
    }
}

/// Two digits: no interval knows more.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent > 0.0 { (1.0 - percent.log10().floor()).clamp(0.0, 9.0) } else { 0.0 };
    let text = format!("{percent:.*}", decimals as usize);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Six digits: more is noise.
fn digits(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powf(5.0 - number.abs().log10().floor());
    (number * scale).round() / scale
}

/// The confidence of all intervals here.
const SURE: Ratio = Ratio::new(0.95).expect("a share");
/// Straight pieces that look like a curve.
const PIECES: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use control::search::closed_loop::{Measured, Stopped};
    use serde_json::Value as Json;
    use std::time::Duration;

    fn knee(steps: &[(u32, f64)]) -> Knee {
        let steps: Vec<Measured> = steps
            .iter()
            .map(|&(concurrency, throughput)| Measured {
                concurrency,
                throughput: Rate::per_second_of(throughput),
                response_time: Duration::from_millis(10),
            })
            .collect();
        Knee {
            best: Rate::per_second_of(100.0),
            best_at: 5,
            calm: Duration::from_millis(10),
            knee: 5,
            stopped: Stopped::Flat,
            steps,
        }
    }

    fn law(alpha: f64, beta: f64, noise: f64) -> Knee {
        let law = measure::scalability::Law::new(alpha, beta, 100.0).unwrap();
        let noise = |place: usize| 1.0 + if place.is_multiple_of(2) { noise } else { -noise };
        let steps = [1, 2, 5, 10, 20, 50, 100, 200].into_iter().enumerate();
        let steps: Vec<(u32, f64)> =
            steps.map(|(place, n)| (n, law.throughput(f64::from(n)) * noise(place))).collect();
        knee(&steps)
    }

    #[test]
    fn what_is_known_is_told_and_what_is_not_is_refused() {
        let mut told = String::new();
        for (what, knee) in [
            ("four steps", knee(&[(1, 53.1), (2, 106.2), (5, 107.5), (10, 107.5)])),
            ("contention and coherency", law(0.03, 1e-4, 0.005)),
            ("contention alone", law(0.03, 0.0, 0.005)),
            ("little of both", law(1e-4, 1e-6, 0.02)),
            ("a plateau", knee(&[(1, 10.0), (2, 20.0), (5, 50.0), (10, 100.0), (20, 120.0), (50, 120.0)])),
            ("no law", knee(&[(1, 10.0), (2, 90.0), (5, 10.0), (10, 90.0), (20, 10.0), (50, 90.0)])),
            ("one step", knee(&[(1, 10.0)])),
        ] {
            told.push_str(&format!("{what}\n"));
            for line in words(&of(&knee)) {
                told.push_str(&format!("  {line}\n"));
            }
        }
        insta::assert_snapshot!(told);
    }

    #[test]
    fn json_has_every_name_whether_told_or_not() {
        let json = |knee| serde_json::to_value(document(&of(&knee))).unwrap();
        let told = json(law(0.03, 1e-4, 0.005));
        let not = json(knee(&[(1, 53.1), (2, 106.2)]));
        let names = |json: &Json| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&told), names(&not));
        assert!(told["refused"].is_null() && told["peak"]["in_flight"].is_number());
        assert!(not["peak"].is_null() && not["refused"].is_string());
        assert!(curve(&of(&law(0.03, 1e-4, 0.005))).len() > 100);
    }
}
