//! What heads of responses showed, as JSON.

use measure::{Heads, Times};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The text of the column.
pub(crate) fn text(heads: &Heads) -> String {
    let parts: BTreeMap<&str, Value> = heads
        .parts
        .iter()
        .map(|(name, times)| (name.as_str(), json!([times.count, times.sum, times.squares])))
        .collect();
    json!({
        "sampled": heads.sampled,
        "cached": heads.cached,
        "cached_by": heads.cached_by,
        "servers": heads.servers,
        "parts": parts,
    })
    .to_string()
}

/// Reads the column; none: the run is of an older version, which did not read heads.
pub(crate) fn of_text(text: Option<&str>) -> Result<Heads, String> {
    let Some(text) = text else { return Ok(Heads::default()) };
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let count = |name: &str| value[name].as_u64().ok_or_else(|| format!("`{name}` is no number"));
    let read = |name: &str, error: serde_json::Error| format!("`{name}`: {error}");
    let servers = serde_json::from_value(value["servers"].clone()).map_err(|error| read("servers", error))?;
    let parts: BTreeMap<String, (u64, f64, f64)> =
        serde_json::from_value(value["parts"].clone()).map_err(|error| read("parts", error))?;
    let times = |(count, sum, squares): (u64, f64, f64)| Times { count, sum, squares };
    Ok(Heads {
        sampled: count("sampled")?,
        cached: count("cached")?,
        cached_by: value["cached_by"].as_str().map(str::to_owned),
        servers,
        parts: parts.into_iter().map(|(name, sums)| (name, times(sums))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut heads = Heads { sampled: 7, cached: 2, ..Heads::default() };
        heads.cached_by = Some("X-Cache: \"HIT\"".to_owned());
        heads.add_server("nginx/1.28");
        heads.add_part("db", 0.0125);
        assert_eq!(of_text(Some(&text(&heads))), Ok(heads));
        assert_eq!(of_text(None), Ok(Heads::default()));
        for damaged in ["", "{}", "[1]", r#"{"sampled":1,"cached":0,"servers":[],"parts":{}}"#] {
            assert!(of_text(Some(damaged)).is_err(), "{damaged}");
        }
    }
}
