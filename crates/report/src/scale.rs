//! Axes: which values they show, where, and their round ticks.

/// From values to positions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    kind: Kind,
    /// The values that have a tick, ascending.
    pub(crate) ticks: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Logarithmic,
}

impl Scale {
    /// From 0 to a round number above all values, with about `count` steps of 1, 2 or 5 times a power of ten.
    pub(crate) fn from_zero(values: impl Iterator<Item = f64>, count: f64) -> Self {
        let highest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let highest = if highest > 0.0 { highest.clamp(SMALLEST, LARGEST) } else { 1.0 };
        let step = round_up(highest / count);
        let steps = (highest / step - 1e-9).ceil().max(1.0);
        let ticks: Vec<f64> = (0..=steps as u32).map(|i| f64::from(i) * step).collect();
        Scale { low: 0.0, high: steps * step, kind: Kind::Linear, ticks }
    }

    /// As [`Scale::from_zero`], but logarithmic where the values range over more than 1 to 50.
    pub(crate) fn fitting(values: impl Iterator<Item = f64>, count: f64) -> Self {
        let values: Vec<f64> = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(|value| value.clamp(SMALLEST, LARGEST))
            .collect();
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(0.0, f64::max);
        if highest <= lowest * LINEAR_RANGE {
            return Scale::from_zero(values.into_iter(), count);
        }
        // A little room below, so that a line does not lie on the axis.
        let (low, high) = (round_down(lowest * 0.8), round_up(highest));
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        // One to three ticks a decade, or one for several decades, so that there are about `count`.
        let decades = (high / low).log10();
        let factors: &[f64] = if decades * 3.0 <= count * 1.8 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = (decades / (count * 1.6)).ceil().max(1.0) as usize;
        let ticks = (first..=last)
            .step_by(every)
            .flat_map(|decade| factors.iter().map(move |factor| factor * 10_f64.powi(decade)))
            .filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001)
            .collect();
        Scale { low, high, kind: Kind::Logarithmic, ticks }
    }

    /// A time axis from 0 to exactly `span` seconds, with steps that clocks have; and the unit of its labels.
    pub(crate) fn time(span: f64, count: f64) -> (Self, TimeUnit) {
        let span = span.max(1.0);
        let step = CLOCK_STEPS
            .into_iter()
            .find(|step| span / step <= count)
            .unwrap_or_else(|| round_up(span / count / 86_400.0) * 86_400.0);
        let ticks = (0..=(span / step + 1e-9) as u32).map(|i| f64::from(i) * step).collect();
        let unit = match step {
            s if s < 60.0 => TimeUnit { name: "seconds", seconds: 1.0 },
            s if s < 3_600.0 => TimeUnit { name: "minutes", seconds: 60.0 },
            _ => TimeUnit { name: "hours", seconds: 3_600.0 },
        };
        (Scale { low: 0.0, high: span, kind: Kind::Linear, ticks }, unit)
    }

    /// Where a value stands between the two ends, from 0 to 1.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Logarithmic => (value.max(self.low) / self.low).log10() / (self.high / self.low).log10(),
        };
        share.clamp(0.0, 1.0)
    }
}

/// In what the labels of a time axis count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeUnit {
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
}

/// A count or a rate: `0`, `50`, `0.2`, `1.5k`, `20M`.
pub(crate) fn show_number(value: f64) -> String {
    match value {
        v if v < 9_999.5 => trimmed(v),
        v if v < 1e6 => format!("{}k", trimmed(v / 1e3)),
        v if v < 1e9 => format!("{}M", trimmed(v / 1e6)),
        v if v < 1e12 => format!("{}G", trimmed(v / 1e9)),
        v => format!("{v:.0e}"),
    }
}

/// Seconds with the unit that fits: `0`, `500 µs`, `20 ms`, `1.5 s`.
pub(crate) fn show_seconds(value: f64) -> String {
    match value {
        v if v <= 0.0 => "0".to_owned(),
        v if v < 0.9995e-3 => format!("{} µs", trimmed(v * 1e6)),
        v if v < 0.9995 => format!("{} ms", trimmed(v * 1e3)),
        v => format!("{} s", show_number(v)),
    }
}

fn trimmed(value: f64) -> String {
    let digits = if value >= 99.95 { 0 } else { 2 };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The least 1, 2 or 5 times a power of ten that is not below the value.
fn round_up(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= value * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

/// The largest 1, 2 or 5 times a power of ten that is not above the value.
fn round_down(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| factor * decade <= value * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * decade
}

/// Beyond this ratio the small values of a linear axis cannot be told from zero.
const LINEAR_RANGE: f64 = 50.0;

/// Beyond these the arithmetic of the ticks loses its digits; nothing that is measured comes near.
const SMALLEST: f64 = 1e-12;
const LARGEST: f64 = 1e24;

const CLOCK_STEPS: [f64; 16] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0,
    86_400.0,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let ticks = |values: &[f64]| Scale::fitting(values.iter().copied(), 5.0).ticks;
        assert_eq!(ticks(&[110.0, 40.0]), [0.0, 50.0, 100.0, 150.0]);
        assert_eq!(ticks(&[]), ticks(&[0.0]));
        assert_eq!(ticks(&[0.013, 3.0]), [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]);
        assert_eq!(Scale::time(65.0, 7.0).0.ticks, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        assert_eq!(Scale::time(600.0, 7.0).1.name, "minutes");
        assert_eq!(Scale::time(900_000.0, 7.0).1.name, "hours");
    }

    #[test]
    fn labels_are_short() {
        let numbers = [0.0, 0.2, 50.0, 1_500.0, 20_000.0, 2.5e6, 1e15].map(show_number);
        assert_eq!(numbers, ["0", "0.2", "50", "1500", "20k", "2.5M", "1e15"]);
        let spans = [0.0, 0.0005, 0.02, 1.5, 100.0].map(show_seconds);
        assert_eq!(spans, ["0", "500 µs", "20 ms", "1.5 s", "100 s"]);
    }

    proptest! {
        #[test]
        fn any_values_have_a_scale(values in prop::collection::vec(prop::num::f64::ANY, 0..8)) {
            for scale in [
                Scale::fitting(values.iter().copied(), 5.0),
                Scale::from_zero(values.iter().copied(), 5.0),
            ] {
                prop_assert!((1..40).contains(&scale.ticks.len()), "{scale:?}");
                for value in values.iter().copied().filter(|value| value.is_finite()) {
                    prop_assert!((0.0..=1.0).contains(&scale.at(value)), "{value} {scale:?}");
                }
            }
        }
    }
}
