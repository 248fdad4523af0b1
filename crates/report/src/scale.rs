//! Axes: their range, scale and round ticks.

/// Maps values to positions.
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

    /// As [`Scale::from_zero`], but extended downwards if values are negative.
    pub(crate) fn signed(values: impl Iterator<Item = f64>, count: f64) -> Self {
        let values: Vec<f64> =
            values.filter(|value| value.is_finite()).map(|value| value.clamp(-LARGEST, LARGEST)).collect();
        let lowest = values.iter().copied().fold(0.0, f64::min);
        let highest = values.iter().copied().fold(0.0, f64::max);
        if lowest >= 0.0 {
            return Scale::from_zero(values.into_iter(), count);
        }
        let step = round_up((highest - lowest).max(SMALLEST) / count);
        let (first, last) = ((lowest / step).floor() as i64, (highest / step).ceil() as i64);
        let ticks = (first..=last).map(|i| i as f64 * step).collect();
        Scale { low: first as f64 * step, high: last as f64 * step, kind: Kind::Linear, ticks }
    }

    /// As [`Scale::from_zero`], but logarithmic if the values range over more than 1 to 50.
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
        // Some space below, so that no line is on the axis.
        Scale::logarithmic(round_down(lowest * 0.8), round_up(highest), count)
    }

    /// Only the range of the values, with some space on both sides, so that near values are apart: for positions, not
    /// for lengths, which begin at 0. Logarithmic if the values range over more than 1 to 8.
    pub(crate) fn spread(values: impl Iterator<Item = f64>, count: f64) -> Self {
        let values: Vec<f64> = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .map(|value| value.clamp(SMALLEST, LARGEST))
            .collect();
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(0.0, f64::max);
        if values.is_empty() {
            return Scale::from_zero(values.into_iter(), count);
        }
        if highest > lowest * SPREAD_RANGE {
            return Scale::logarithmic(lowest / 1.15, highest * 1.15, count);
        }
        let room = ((highest - lowest) * 0.05).max(highest * 0.01);
        let (low, high) = (lowest - room, highest + room);
        let step = round_up((high - low) / count);
        let (first, last) = ((low / step - 1e-9).ceil() as u64, (high / step + 1e-9).floor() as u64);
        let ticks = (first..=last).map(|i| i as f64 * step).collect();
        Scale { low, high, kind: Kind::Linear, ticks }
    }

    /// With one to three ticks per decade, or one for several decades, so that there are about `count`.
    fn logarithmic(low: f64, high: f64, count: f64) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
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

    /// A time axis from 0 to exactly `span` seconds, with steps that clocks use; and the unit of its labels.
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

    /// The position of a value between the two ends, from 0 to 1.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Logarithmic => (value.max(self.low) / self.low).log10() / (self.high / self.low).log10(),
        };
        share.clamp(0.0, 1.0)
    }
}

/// The unit of a time axis's labels.
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

/// Seconds with a suitable unit: `0`, `500 µs`, `20 ms`, `1.5 s`.
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

/// Beyond this ratio the small values of a linear axis look like zero.
const LINEAR_RANGE: f64 = 50.0;

/// The same for an axis that does not begin at 0.
const SPREAD_RANGE: f64 = 8.0;

/// Beyond these bounds the arithmetic of the ticks loses precision; measured values are far from them.
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

    #[test]
    fn negative_values_have_room() {
        let signed = Scale::signed([-3.0, 12.0].into_iter(), 4.0);
        assert_eq!(signed.ticks, [-5.0, 0.0, 5.0, 10.0, 15.0]);
        assert_eq!(Scale::signed([3.0].into_iter(), 4.0), Scale::from_zero([3.0].into_iter(), 4.0));
    }

    #[test]
    fn an_axis_of_places_uses_its_width() {
        let spread = |values: &[f64]| Scale::spread(values.iter().copied(), 8.0);
        let trials = spread(&[97.0, 104.0, 110.0]);
        assert_eq!(trials.ticks, [96.0, 98.0, 100.0, 102.0, 104.0, 106.0, 108.0, 110.0]);
        assert!(trials.at(97.0) < 0.1 && trials.at(110.0) > 0.9, "{trials:?}");
        let connections = spread(&[1.0, 100.0]);
        assert_eq!(connections.ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(connections.at(1.0) < 0.1 && connections.at(100.0) > 0.9, "{connections:?}");
        assert_eq!(spread(&[100.0]).ticks, [99.0, 99.5, 100.0, 100.5, 101.0]);
    }

    proptest! {
        #[test]
        fn any_values_have_a_scale(values in prop::collection::vec(prop::num::f64::ANY, 0..8)) {
            let spread = Scale::spread(values.iter().copied(), 8.0);
            prop_assert!(spread.ticks.len() < 40, "{spread:?}");
            for value in values.iter().copied().filter(|value| value.is_finite()) {
                prop_assert!((0.0..=1.0).contains(&spread.at(value)), "{value} {spread:?}");
            }
            let signed = Scale::signed(values.iter().copied(), 5.0);
            prop_assert!(signed.ticks.len() < 40, "{signed:?}");
            for value in values.iter().copied().filter(|value| value.is_finite()) {
                prop_assert!((0.0..=1.0).contains(&signed.at(value)), "{value} {signed:?}");
            }
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
