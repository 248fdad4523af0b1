//! `.hgrm`: a distribution in HdrHistogram's text format, for its plotter and similar tools.
//!
//! The format is that of `AbstractHistogram.outputPercentileDistribution` of the Java original
//! (<https://github.com/HdrHistogram/HdrHistogram>), values in ms, with five lines for each halving of the distance to
//! 100 %. It cannot mark times that were given up: they are included at the time that they had reached.

use measure::Histogram;
use std::io::{self, Write};

/// Writes the distribution.
///
/// # Errors
/// Those of `out`.
pub fn write(histogram: &Histogram, out: &mut impl Write) -> io::Result<()> {
    let hdr = crate::hdr::of(&histogram.sparse(), 1);
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut total = 0;
    for step in hdr.iter_quantiles(TICKS) {
        total += step.count_since_last_iteration();
        let (value, share) = (millis(step.value_iterated_to() as f64), step.quantile_iterated_to());
        write!(out, "{value:12.3} {share:2.12} {total:10}")?;
        match share < 1.0 {
            true => writeln!(out, " {:14.2}", 1.0 / (1.0 - share))?,
            false => writeln!(out)?,
        }
    }
    let (mean, deviation) = (millis(hdr.mean()), millis(hdr.stdev()));
    writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]")?;
    writeln!(out, "#[Max     = {:12.3}, Total count    = {:12}]", millis(hdr.max() as f64), hdr.len())?;
    let buckets = hdr.buckets();
    writeln!(out, "#[Buckets = {buckets:12}, SubBuckets     = {SUB_BUCKETS:12}]")
}

fn millis(micros: f64) -> f64 {
    micros / 1e3
}

const TICKS: u32 = 5;
/// Of a distribution with three digits.
const SUB_BUCKETS: u32 = 2_048;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use units::Quantile;

    #[test]
    fn its_quantiles_are_those_of_the_distribution() {
        let mut histogram = Histogram::new();
        for n in 0..10_000_u64 {
            histogram.record(Duration::from_micros(1_000 + n * n / 500));
        }
        let mut bytes = Vec::new();
        write(&histogram, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .take_while(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        for row in &rows {
            let Some(quantile) = Quantile::new(row[1]).filter(|quantile| quantile.get() > 0.0) else {
                continue;
            };
            let value = histogram.quantile(quantile).unwrap().at.as_secs_f64() * 1e3;
            assert!((row[0] - value).abs() <= 0.002 * value, "{row:?}: {value}");
        }
        assert!(rows.len() > 30, "{text}");
        assert_eq!(rows.last().unwrap()[1..3], [1.0, 10_000.0]);
        assert!(text.contains("Total count    =        10000]"), "{text}");
    }

    #[test]
    fn an_empty_distribution_is_written_too() {
        let mut bytes = Vec::new();
        write(&Histogram::new(), &mut bytes).unwrap();
        assert!(String::from_utf8(bytes).unwrap().contains("Total count    =            0]"));
    }
}
