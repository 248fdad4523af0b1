//! The chart of an experiment: a measure of each service, block by block.

use crate::over_time::{Axis, Labels, Line, MOST_POINTS, OverTime, Panel, Sample};
use crate::plot::Stroke;
use crate::scale::{Scale, show_number, show_seconds};
use crate::svg::Drawing;

/// A measure of the services of an experiment.
#[derive(Debug, Clone)]
pub struct Blocks {
    /// The measure.
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// When each block ended, in seconds from the beginning of the experiment, ascending.
    pub ended: Vec<f64>,
    /// At most [`Blocks::SERVICES_MAX`] services, each with its name and its value in each block; `None` in blocks that do not
    /// count.
    pub services: Vec<(String, Vec<Option<f64>>)>,
}

/// The unit of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A share, 0 to 1.
    Share,
    /// Bytes.
    Bytes,
}

impl Blocks {
    /// There are no more kinds of lines.
    pub const SERVICES_MAX: usize = STROKES.len();
}

/// The values over time; a block that does not count is a gap.
pub fn blocks(blocks: &Blocks) -> Drawing {
    let Blocks { title, unit, ended, services } = blocks;
    let values = || services.iter().flat_map(|(_, values)| values.iter().copied().flatten());
    let (scale, show): (Scale, fn(f64) -> String) = match unit {
        Unit::Seconds => (Scale::spread(values(), 5.0), show_seconds),
        Unit::Share => (Scale::from_zero(values(), 5.0), |share| format!("{} %", show_number(100.0 * share))),
        Unit::Bytes => {
            (Scale::spread(values(), 5.0), |bytes| format!("{} MiB", show_number(bytes / MEBIBYTE)))
        }
    };
    let lines = services.iter().zip(STROKES).map(|((name, values), stroke)| Line {
        name: shortened(name),
        stroke,
        samples: samples(ended, values),
        steps: false,
        hatched: false,
    });
    let panel = Panel { title: title.clone(), scale, show, lines: lines.collect(), goals: Vec::new() };
    let axis = Axis { span: ended.last().copied().unwrap_or(0.0), labels: Labels::SinceStart };
    let name = format!("{title} of each service, block by block");
    OverTime { name: &name, axis, panels: vec![panel], phases: &[], marks: &[] }.drawing()
}

/// The blocks combined into at most [`MOST_POINTS`] samples.
fn samples(ended: &[f64], values: &[Option<f64>]) -> Vec<Option<Sample>> {
    let each = ended.len().div_ceil(MOST_POINTS).max(1);
    let chunks = ended.chunks(each).zip(values.chunks(each));
    // The comparison does not begin with the experiment: its first block is about as long as the second.
    let mut from = match ended {
        [first, second, ..] => (2.0 * first - second).max(0.0),
        _ => 0.0,
    };
    chunks
        .map(|(ended, values)| {
            let until = ended.last().copied().unwrap_or(from);
            let begun = std::mem::replace(&mut from, until);
            Sample::combined(begun, until, values.iter().copied().flatten())
        })
        .collect()
}

/// A name that fits beside the chart.
fn shortened(name: &str) -> String {
    match name.chars().count() {
        _ if name == "second control" => "second".to_owned(),
        count if count > NAME_MAX => format!("{}…", name.chars().take(NAME_MAX - 1).collect::<String>()),
        _ => name.to_owned(),
    }
}

const STROKES: [Stroke; 5] =
    [Stroke::Solid, Stroke::Dashed, Stroke::Dotted, Stroke::DashDotted, Stroke::Thin];
const NAME_MAX: usize = 10;
const MEBIBYTE: f64 = 1_048_576.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn both(count: usize) -> Blocks {
        let values = |from: f64| (0..count).map(|block| Some(from + 1e-4 * (block % 3) as f64)).collect();
        Blocks {
            title: "p50".to_owned(),
            unit: Unit::Seconds,
            ended: (1..=count).map(|block| 2.0 * block as f64).collect(),
            services: vec![
                ("control".to_owned(), values(0.010)),
                ("a name that is too long".to_owned(), values(0.012)),
            ],
        }
    }

    #[test]
    fn each_service_has_a_line_and_a_void_block_is_a_gap() {
        let mut shown = both(30);
        shown.services[1].1[10] = None;
        let drawing = blocks(&shown);
        for picture in [&drawing.wide, &drawing.narrow] {
            roxmltree::Document::parse(picture).unwrap();
            assert!(picture.contains(">control<") && picture.contains(">a name th…<"), "{picture}");
            // With the piece that joins the end of the line with its name.
            assert_eq!(picture.matches("line dashed").count(), 3);
        }
        let said = "p50. control: 10 ms to 10.2 ms, a name th…: 12 ms to 12.2 ms.";
        assert!(drawing.wide.contains(said), "{}", drawing.wide);
    }

    #[test]
    fn odd_blocks_are_drawn() {
        let none = Blocks { ended: Vec::new(), services: Vec::new(), ..both(0) };
        let void = Blocks { services: vec![("a".to_owned(), vec![None; 3])], ..both(3) };
        let one = |value| Blocks { services: vec![("a".to_owned(), vec![Some(value)])], ..both(1) };
        let many = both(5_000);
        assert!(samples(&many.ended, &many.services[0].1).len() <= MOST_POINTS);
        for shown in [none, void, one(0.0), one(f64::NAN), one(1e300), many] {
            for unit in [Unit::Seconds, Unit::Share, Unit::Bytes] {
                let drawing = blocks(&Blocks { unit, ..shown.clone() });
                for picture in [&drawing.wide, &drawing.narrow] {
                    roxmltree::Document::parse(picture).unwrap();
                    assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
                }
            }
        }
    }
}
