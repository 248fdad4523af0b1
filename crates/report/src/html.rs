//! The HTML page: one self-contained file.

use crate::svg::{Drawing, escaped};
use crate::table::{Align, Table};
use crate::words::grouped;

/// The content of the page, in order.
#[derive(Debug, Clone)]
pub struct Report {
    /// The heading, also the name of the browser's tab.
    pub title: String,
    /// One sentence below it.
    pub subtitle: String,
    /// The rest.
    pub sections: Vec<Section>,
}

/// A section of the page.
#[derive(Debug, Clone)]
pub enum Section {
    /// The heading of the sections that follow.
    Heading(String),
    /// Information that a reader must know first.
    Notice(Notice, String),
    /// The most important figures, large: each with its name.
    Figures(Vec<(String, String)>),
    /// Parts of a whole, each with a bar as long as its share.
    Shares(Vec<Share>),
    /// A paragraph; an empty line begins another.
    Text(String),
    /// Commands or other text that is shown unchanged.
    Code(String),
    /// Rows and columns.
    Table(Table),
    /// A chart.
    Chart(Chart),
}

/// The kind of a notice; the kinds differ without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// No problem.
    Good,
    /// A reservation.
    Warning,
    /// Something failed.
    Bad,
}

/// A part of a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The name of the part.
    pub name: String,
    /// Its count.
    pub count: u64,
    /// The count of the whole.
    pub of: u64,
    /// An additional remark; may be empty.
    pub remark: String,
}

/// A chart with its title and caption.
#[derive(Debug, Clone)]
pub struct Chart {
    /// The statement of the chart, above it.
    pub title: String,
    /// How to read it, below it; may be empty.
    pub caption: String,
    /// The chart itself.
    pub drawing: Drawing,
}

/// The page as HTML that is also well-formed XML.
pub fn html(report: &Report) -> String {
    let body: String = report.sections.iter().map(section).collect();
    let (title, subtitle) = (escaped(&report.title), escaped(&report.subtitle));
    format!(
        r##"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
{HATCHING}<main>
<header>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
</header>
{body}</main>
</body>
</html>
"##
    )
}

fn section(section: &Section) -> String {
    match section {
        Section::Heading(text) => format!("<h2>{}</h2>\n", escaped(text)),
        Section::Notice(kind, text) => notice(*kind, text),
        Section::Figures(figures) => {
            let figure = |(name, value): &(String, String)| {
                format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value))
            };
            format!("<dl class=\"figures\">\n{}</dl>\n", figures.iter().map(figure).collect::<String>())
        }
        Section::Shares(shares) => html_shares(shares),
        Section::Text(text) => text
            .split("\n\n")
            .filter(|paragraph| !paragraph.trim().is_empty())
            .map(|paragraph| format!("<p>{}</p>\n", escaped(paragraph.trim())))
            .collect(),
        Section::Code(text) => format!("<pre><code>{}</code></pre>\n", escaped(text.trim_end())),
        Section::Table(table) => html_table(table),
        Section::Chart(Chart { title, caption, drawing }) => {
            let caption = match caption.is_empty() {
                true => String::new(),
                false => format!("<figcaption>{}</figcaption>\n", escaped(caption)),
            };
            let (title, Drawing { wide, narrow }) = (escaped(title), drawing);
            format!("<figure>\n<h3>{title}</h3>\n{wide}{narrow}{caption}</figure>\n")
        }
    }
}

fn notice(kind: Notice, text: &str) -> String {
    let (class, sign) = match kind {
        Notice::Good => ("good", "✓"),
        Notice::Warning => ("warning", "!"),
        Notice::Bad => ("bad", "✕"),
    };
    let text = escaped(text);
    format!("<p class=\"notice {class}\"><span aria-hidden=\"true\">{sign}</span>{text}</p>\n")
}

fn html_shares(shares: &[Share]) -> String {
    let row = |Share { name, count, of, remark }: &Share| {
        let percent = if *of > 0 { 100.0 * *count as f64 / *of as f64 } else { 0.0 };
        let (name, remark) = (escaped(name), escaped(remark));
        let remark = if remark.is_empty() { remark } else { format!(" <small>{remark}</small>") };
        format!(
            "<tr><td>{name}{remark}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"bar\"><span style=\"width:{:.1}%\"></span></td></tr>\n",
            grouped(*count),
            shown_percent(percent),
            percent.clamp(0.0, 100.0)
        )
    };
    let rows: String = shares.iter().map(row).collect();
    format!("<div class=\"table shares\"><table>\n<tbody>\n{rows}</tbody>\n</table></div>\n")
}

/// Rounded so that a share that is not 0 % or 100 % is not shown as such.
fn shown_percent(percent: f64) -> String {
    match percent {
        0.0 | 100.0 => format!("{percent:.0} %"),
        small if small < 0.01 => "< 0.01 %".to_owned(),
        large if large > 99.99 => "> 99.99 %".to_owned(),
        other => format!("{other:.2} %"),
    }
}

fn html_table(table: &Table) -> String {
    let row = |cells: &mut dyn Iterator<Item = &String>, tag: &str| -> String {
        let cells: String = cells
            .zip(&table.columns)
            .map(|(cell, (_, align))| match align {
                Align::Left => format!("<{tag}>{}</{tag}>", escaped(cell)),
                Align::Right => format!("<{tag} class=\"number\">{}</{tag}>", escaped(cell)),
            })
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = row(&mut table.columns.iter().map(|(name, _)| name), "th");
    let body: String = table.rows.iter().map(|cells| row(&mut cells.iter(), "td")).collect();
    format!(
        "<div class=\"table\"><table>\n<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )
}

const STYLE: &str = include_str!("style.css");

/// The pattern below the line of shed requests. In a picture of its own, because a pattern inside a picture that is not
/// displayed (the wide one in a narrow window) is not found.
const HATCHING: &str = r#"<svg class="patterns" width="0" height="0" aria-hidden="true">
<pattern id="hatching" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern>
</svg>
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(text: &str) -> String {
        let mut table = Table::new(&[(text, Align::Left), ("count", Align::Right)]);
        table.row([text, "5"]);
        let drawing = Drawing { wide: "<svg/>".to_owned(), narrow: "<svg/>".to_owned() };
        html(&Report {
            title: text.to_owned(),
            subtitle: text.to_owned(),
            sections: vec![
                Section::Heading(text.to_owned()),
                Section::Text(format!("{text}\n\nsecond")),
                Section::Code(text.to_owned()),
                Section::Notice(Notice::Bad, text.to_owned()),
                Section::Figures(vec![(text.to_owned(), text.to_owned())]),
                Section::Shares(vec![Share {
                    name: text.to_owned(),
                    count: 1,
                    of: 2,
                    remark: text.to_owned(),
                }]),
                Section::Table(table),
                Section::Chart(Chart { title: text.to_owned(), caption: text.to_owned(), drawing }),
            ],
        })
    }

    fn parsed(page: &str) -> roxmltree::Document<'_> {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        roxmltree::Document::parse_with_options(page, options).unwrap()
    }

    #[test]
    fn text_from_outside_stays_text() {
        let page = page("</title><script>alert('x')</script>");
        assert!(!page.contains("<script"));
        assert!(parsed(&page).descendants().all(|node| !node.has_tag_name("script")));
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = page("a run");
        for outside in ["http:", "https:", "src=", "href=", "@import", "<script", "url(//"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_share_reads_as_all_or_none_only_where_it_is() {
        let shown = [0.0, 0.000_1, 1.5, 99.999, 100.0].map(shown_percent);
        assert_eq!(shown, ["0 %", "< 0.01 %", "1.50 %", "> 99.99 %", "100 %"]);
    }

    proptest! {
        #[test]
        fn any_text_leaves_the_page_well_formed(text in any::<String>()) {
            let page = page(&text);
            let document = parsed(&page);
            prop_assert_eq!(document.descendants().filter(|node| node.has_tag_name("p")).count() >= 2, true);
        }
    }
}
