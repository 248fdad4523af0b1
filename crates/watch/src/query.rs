//! Prometheus' query API: one number for one query.
//!
//! A query must return one series. Several are refused and not added: the query has to choose between `sum`, `max` and
//! `avg`, and a wrong guess would look like a measurement.
//!
//! Format: Prometheus documentation, "HTTP API", instant queries.

use crate::endpoint::Answer;
use measure::Gap;
use serde_json::Value;

/// The path of instant queries.
pub(crate) const PATH: &str = "/api/v1/query";

/// The number in a response of the query API.
pub(crate) fn read(answer: &Answer) -> Result<f64, (Gap, String)> {
    let json = accepted(answer)?;
    let result = &json["data"]["result"];
    let value = match json["data"]["resultType"].as_str() {
        Some("scalar") => &result[1],
        Some("vector") => match result.as_array().map(Vec::as_slice) {
            Some([]) => return Err((Gap::Absent, "the query gave no series".to_owned())),
            Some([one]) => &one["value"][1],
            Some(several) => {
                let count = several.len();
                let detail =
                    format!("the query gave {count} series; make them one with sum(...) or max(...)");
                return Err((Gap::Several, detail));
            }
            None => return Err(unreadable()),
        },
        Some(kind @ ("matrix" | "string")) => {
            return Err((Gap::Unreadable, format!("the query gives a {kind}, not a number; try rate(...)")));
        }
        _ => return Err(unreadable()),
    };
    let value = number(value).ok_or_else(unreadable)?;
    if value.is_finite() { Ok(value) } else { Err((Gap::NotANumber, format!("the query gave {value}"))) }
}

/// The series in a response by their label `le`, with the bounds in rising order.
pub(crate) fn read_by_bound(answer: &Answer) -> Result<Vec<(f64, f64)>, String> {
    let json = accepted(answer).map_err(|(_, why)| why)?;
    let series = json["data"]["result"].as_array().ok_or_else(|| unreadable().1)?;
    let of = |one: &Value| {
        let bound = match one["metric"]["le"].as_str()? {
            "+Inf" => f64::INFINITY,
            text => text.parse().ok()?,
        };
        Some((bound, number(&one["value"][1])?))
    };
    let all: Option<Vec<(f64, f64)>> = series.iter().map(of).collect();
    let mut all = all.ok_or("the query gives series without the label `le`; write sum by (le) (...)")?;
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    if all.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("the query gives several series for a bound; write sum by (le) (...)".to_owned());
    }
    Ok(all)
}

fn accepted(answer: &Answer) -> Result<Value, (Gap, String)> {
    let json: Option<Value> = serde_json::from_str(&answer.body).ok();
    if answer.status != 200 {
        let said = json.as_ref().and_then(|json| json["error"].as_str()).unwrap_or("no reason given");
        return Err((Gap::Refused, format!("status {}: {said}", answer.status)));
    }
    json.ok_or_else(unreadable)
}

fn number(value: &Value) -> Option<f64> {
    value.as_str()?.parse().ok()
}

fn unreadable() -> (Gap, String) {
    (Gap::Unreadable, "the response is not in the format of Prometheus' query API".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> Result<f64, (Gap, String)> {
        super::read(&Answer { status, body: body.to_owned() })
    }

    fn vector(result: &str) -> String {
        format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{result}]}}}}"#)
    }

    #[test]
    fn series_of_a_histogram_are_ordered_by_their_bounds() {
        let read = |series: &str| read_by_bound(&Answer { status: 200, body: vector(series) });
        let one =
            |bound: &str, value: &str| format!(r#"{{"metric":{{"le":"{bound}"}},"value":[1,"{value}"]}}"#);
        let all = [one("+Inf", "9"), one("0.5", "7.5"), one("0.25", "2")].join(",");
        assert_eq!(read(&all), Ok(vec![(0.25, 2.0), (0.5, 7.5), (f64::INFINITY, 9.0)]));
        assert_eq!(read(""), Ok(vec![]));
        assert!(read(r#"{"metric":{},"value":[1,"9"]}"#).unwrap_err().contains("sum by (le)"));
        assert!(read(&[one("0.5", "1"), one("0.5", "2")].join(",")).unwrap_err().contains("several series"));
    }

    #[test]
    fn a_query_gives_one_number() {
        let one = r#"{"metric":{"job":"x"},"value":[1435781451.781,"2.5"]}"#;
        assert_eq!(read(200, &vector(one)), Ok(2.5));
        let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1435781451,"1"]}}"#;
        assert_eq!(read(200, scalar), Ok(1.0));
        let gap = |status, body: &str| read(status, body).unwrap_err();
        assert_eq!(gap(200, &vector("")).0, Gap::Absent);
        assert_eq!(
            gap(200, &vector(&format!("{one},{one}"))),
            (Gap::Several, "the query gave 2 series; make them one with sum(...) or max(...)".to_owned())
        );
        assert_eq!(gap(200, &vector(&one.replace("2.5", "NaN"))).0, Gap::NotANumber);
        assert_eq!(
            gap(400, r#"{"status":"error","errorType":"bad_data","error":"parse error: unclosed"}"#),
            (Gap::Refused, "status 400: parse error: unclosed".to_owned())
        );
        assert_eq!(gap(502, "<html>").0, Gap::Refused);
        for body in ["", "<html>", "{}", "[]", r#"{"data":{"resultType":"vector","result":7}}"#, &vector("7")]
        {
            assert_eq!(gap(200, body).0, Gap::Unreadable, "{body}");
        }
        assert!(gap(200, r#"{"data":{"resultType":"matrix","result":[]}}"#).1.contains("rate(...)"));
    }
}
