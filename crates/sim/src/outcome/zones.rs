//! Instances of each zone.

use super::Row;

/// Running instances in a zone, over the minutes of the measured span.
#[derive(Debug, Clone, PartialEq)]
pub struct ZoneTotals {
    /// The name of the zone.
    pub name: String,
    /// The lowest number at the end of a minute.
    pub lowest: u32,
    /// Their mean.
    pub mean: f64,
    /// The highest number.
    pub highest: u32,
}

impl ZoneTotals {
    /// Those of the zones with these names.
    pub(crate) fn of(names: &[String], rows: &[Row]) -> Vec<Self> {
        let zone = |(place, name): (usize, &String)| {
            let counts = || rows.iter().filter_map(move |row| row.zones.get(place).copied());
            ZoneTotals {
                name: name.clone(),
                lowest: counts().min().unwrap_or(0),
                mean: counts().map(f64::from).sum::<f64>() / rows.len().max(1) as f64,
                highest: counts().max().unwrap_or(0),
            }
        };
        names.iter().enumerate().map(zone).collect()
    }
}
