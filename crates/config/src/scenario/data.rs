//! Data files of a scenario.

use super::file::FileData;
use fields::{At, Names, Place, Report, word};
use load::scenario::{Feed, OnEnd, Order};
use std::io::Read as _;
use std::path::Path;

/// Data is kept in memory; this protects it against a wrong file name.
const DATA_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The feeds, in the order of the file. One that cannot be read is left out, and the report has the reason.
pub(super) fn feeds(data: Option<&Names<At<FileData>>>, report: &mut Report, folder: &Path) -> Vec<Feed> {
    let found = data.into_iter().flat_map(Names::iter);
    found.filter_map(|named| feed(&named.name, &named.place, named.value.as_ref()?, report, folder)).collect()
}

fn feed(name: &str, at: &Place, found: &At<FileData>, report: &mut Report, folder: &Path) -> Option<Feed> {
    super::request::check_placeholder(name, at, report);
    let FileData { file, order, on_end } = &found.value;
    let orders = [("in-order", Order::InOrder), ("random", Order::Random), ("per-user", Order::PerUser)];
    let order = word(order.as_ref(), &orders, report);
    let ends = word(on_end.as_ref(), &[("repeat", OnEnd::Repeat), ("stop", OnEnd::Stop)], report);
    if let (Order::Random, OnEnd::Stop, Some(at)) = (order, ends, on_end) {
        let help = "use `order: in-order`, or leave `on_end` out".to_owned();
        report.wrong(&at.place, "random rows never end".to_owned(), "never happens", help);
    }
    let path = &file.value.0;
    let read = match Path::new(path).extension().and_then(|ending| ending.to_str()) {
        Some("csv") => Feed::csv,
        Some("ndjson" | "jsonl") => Feed::ndjson,
        _ => {
            let help = "use `.csv` with a header line, or `.ndjson` or `.jsonl` with an object a line";
            let message = format!("`{path}` does not end in a kind of data");
            report.wrong(&file.place, message, "its ending", help.to_owned());
            return None;
        }
    };
    let text = match bytes_of(&folder.join(path)) {
        Ok(text) => text,
        Err(error) => {
            let help = "paths are relative to the scenario file; at most 1 GiB is read".to_owned();
            report.wrong(&file.place, format!("cannot read `{path}`: {error}"), "this file", help);
            return None;
        }
    };
    match read(name, &text, order, ends) {
        Ok(feed) => Some(feed),
        Err(error) => {
            let help = "the first line names the columns, and each row has all of them".to_owned();
            report.wrong(&file.place, format!("`{path}`: {error}"), "this file", help);
            None
        }
    }
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(DATA_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DATA_BYTES_MAX {
        return Err(std::io::Error::other("it is longer than 1 GiB"));
    }
    Ok(bytes)
}
