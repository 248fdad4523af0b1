//! Cron triggers and their schedules.

use super::super::CaseResult;
use super::super::reading::{At, Problem};
use super::only;
use control::scaling::keda::{Cron, LocalTime, Schedule};

/// Whether a trigger is valid, and its replicas at a time.
pub(super) fn trigger(at: &At) -> Result<CaseResult, Problem> {
    only(at, &["start", "end", "replicas", "at", "want", "note"])?;
    let (start, end) = (at.field("start")?.text()?, at.field("end")?.text()?);
    let replicas = at.field("replicas")?.count()?;
    let expected = match at.maybe("want") {
        Some(want) => format!("{} replicas", want.count()?),
        None => "refused".to_owned(),
    };
    let found = match (Cron::new(start, end, replicas), at.maybe("at")) {
        (Err(_), _) => "refused".to_owned(),
        (Ok(cron), Some(now)) => format!("{} replicas", cron.replicas(local_time(&now)?)),
        (Ok(_), None) => "accepted".to_owned(),
    };
    let when = at.maybe("at").map(|now| now.text().map(|now| format!(" at {now}"))).transpose()?;
    let name = format!("`{start}` to `{end}`{}", when.unwrap_or_default());
    Ok(CaseResult { name, expected, found })
}

/// The next time of a schedule, whether that is a given time, or whether the schedule is refused.
pub(super) fn schedule(at: &At) -> Result<CaseResult, Problem> {
    only(at, &["schedule", "after", "next", "is", "note"])?;
    let text = at.field("schedule")?.text()?;
    let Some(after) = at.maybe("after") else {
        let found = if Schedule::parse(text).is_ok() { "accepted" } else { "refused" };
        let (name, expected) = (format!("`{text}`"), "refused".to_owned());
        return Ok(CaseResult { name, expected, found: found.to_owned() });
    };
    let name = format!("`{text}` after {}", after.text()?);
    let next = Schedule::parse(text).map_err(|error| at.problem(error))?.next(local_time(&after)?);
    let never = || "never".to_owned();
    let Some(wanted) = at.maybe("next") else {
        let found = if next.is_some() { "some time".to_owned() } else { never() };
        return Ok(CaseResult { name, expected: never(), found });
    };
    let (wanted, expected) = (local_time(&wanted)?, wanted.text()?);
    // Upstream's table of times that a schedule has or does not have.
    if let Some(is) = at.maybe("is") {
        let words = |is: bool| format!("{}{expected}", if is { "" } else { "not " });
        return Ok(CaseResult { name, expected: words(is.truth()?), found: words(next == Some(wanted)) });
    }
    let found = match next.map(|next| next.0 - wanted.0) {
        None => never(),
        Some(0) => expected.to_owned(),
        Some(seconds) if seconds < 0 => format!("{expected} less {} s", -seconds),
        Some(seconds) => format!("{expected} plus {seconds} s"),
    };
    Ok(CaseResult { name, expected: expected.to_owned(), found })
}

/// A time such as `2012-07-09 14:45` or `2012-07-09 14:45:30`.
fn local_time(at: &At) -> Result<LocalTime, Problem> {
    let read = |text: &str| {
        let (date, time) = text.split_once(' ')?;
        let numbers =
            |text: &str, sign| text.split(sign).map(str::parse).collect::<Result<Vec<u32>, _>>().ok();
        let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
        let &[year, month, day] = date.as_slice() else { return None };
        let (hour, minute, second) = match *time.as_slice() {
            [hour, minute] => (hour, minute, 0),
            [hour, minute, second] => (hour, minute, second),
            _ => return None,
        };
        let of_day =
            (hour < 24 && minute < 60 && second < 60).then(|| hour * 3_600 + minute * 60 + second)?;
        Some(LocalTime(LocalTime::of_date(year, month, day)?.0 + i64::from(of_day)))
    };
    read(at.text()?).ok_or_else(|| at.problem("expected a time such as `2012-07-09 14:45`"))
}
