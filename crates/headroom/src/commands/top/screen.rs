//! The whole terminal, redrawn ten times a second.
//!
//! The terminal is raw while the screen is up, so that keys come one by one; ratatui takes it back on a panic, we on
//! every other way out, also on a signal.

use super::guard::{self, Input};
use crate::admin::{Error, Gateway, Look};
use crate::{live, output};
use documents::top::{History, Section, scaler_sections, scaler_summary, sections, summary};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use report::{Align, Tone};
use std::collections::BTreeMap;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What the screen shows.
pub struct Top {
    title: String,
    seen: Look,
    history: History,
    paused: bool,
    /// The title of the table that the arrows move in; the first one before any is chosen.
    focus: Option<&'static str>,
    /// How far each table was moved.
    offsets: BTreeMap<&'static str, usize>,
    /// Why there is nothing new.
    trouble: Option<String>,
    colours: bool,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Quit,
    Pause,
    Next,
    Previous,
    Down(usize),
    Up(usize),
}

/// Shows the gateway until a key, a signal or the end of its terminal ends it.
///
/// # Errors
/// Where the terminal cannot be used.
pub fn watch(mut gateway: Gateway, first: Look) -> io::Result<()> {
    let told = guard::start()?;
    let mut top = Top::new(super::title(&gateway, &first), first, live::with_colours());
    // Dropped, it would panic where it cannot say that the terminal is gone; `Restore` does what it would do.
    let mut terminal = ManuallyDrop::new(ratatui::try_init()?);
    let _restored = Restore;
    let mut next = Instant::now();
    while !told.load(Ordering::Relaxed) {
        terminal.draw(|frame| top.draw(frame))?;
        next = (next + LOOK_EVERY).max(Instant::now());
        if !keys_until(next, &mut top)? {
            break;
        }
        if !top.paused {
            top.look(gateway.look());
        }
    }
    Ok(())
}

/// Does what keys say until it is time for the next look; false once one quits, or no more can come.
fn keys_until(until: Instant, top: &mut Top) -> io::Result<bool> {
    loop {
        // crossterm reads on and on where its terminal is gone, so it is asked only where there is something to read.
        match guard::input_within(until.saturating_duration_since(Instant::now()))? {
            Input::None => return Ok(true),
            Input::Ended => return Ok(false),
            Input::There => {}
        }
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
                && let Some(key) = meaning(key.code, key.modifiers)
                && !top.press(key)
            {
                return Ok(false);
            }
        }
    }
}

fn meaning(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    Some(match code {
        KeyCode::Char('c' | 'd') if modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Key::Quit,
        KeyCode::Char('p' | ' ') => Key::Pause,
        KeyCode::Tab | KeyCode::Right => Key::Next,
        KeyCode::BackTab | KeyCode::Left => Key::Previous,
        KeyCode::Down | KeyCode::Char('j') => Key::Down(1),
        KeyCode::Up | KeyCode::Char('k') => Key::Up(1),
        KeyCode::PageDown => Key::Down(PAGE),
        KeyCode::PageUp => Key::Up(PAGE),
        _ => return None,
    })
}

/// Takes the screen down, whatever the way out.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        guard::restore();
    }
}

impl Top {
    pub fn new(title: String, seen: Look, colours: bool) -> Self {
        let mut history = History::default();
        note(&mut history, &seen);
        Top {
            title,
            seen,
            history,
            paused: false,
            focus: None,
            offsets: BTreeMap::new(),
            trouble: None,
            colours,
        }
    }

    /// Takes over what the gateway or the scaler says.
    pub fn look(&mut self, seen: Result<Look, Error>) {
        match seen {
            Ok(seen) => {
                note(&mut self.history, &seen);
                self.seen = seen;
                self.trouble = None;
            }
            // It may be restarting: the last picture stays, and it is asked again.
            Err(error) => {
                self.trouble = Some(output::with_causes(&error));
            }
        }
    }

    /// Does what a key says; false where it quits.
    fn press(&mut self, key: Key) -> bool {
        match key {
            Key::Quit => return false,
            Key::Pause => self.paused = !self.paused,
            Key::Next => self.focus_on(|index, count| (index + 1) % count),
            Key::Previous => self.focus_on(|index, count| (index + count - 1) % count),
            Key::Down(rows) => self.move_by(|offset| offset.saturating_add(rows)),
            Key::Up(rows) => self.move_by(|offset| offset.saturating_sub(rows)),
        }
        true
    }

    fn sections(&self) -> Vec<Section> {
        match &self.seen {
            Look::Gateway(status) => sections(status, Some(&self.history)),
            Look::Scaler(status) => scaler_sections(status),
        }
    }

    fn focus_on(&mut self, other: impl FnOnce(usize, usize) -> usize) {
        let sections = self.sections();
        if !sections.is_empty() {
            self.focus = Some(sections[other(self.focused(&sections), sections.len())].title);
        }
    }

    /// The place of the table that the arrows move in.
    fn focused(&self, sections: &[Section]) -> usize {
        sections.iter().position(|section| Some(section.title) == self.focus).unwrap_or(0)
    }

    fn move_by(&mut self, by: impl FnOnce(usize) -> usize) {
        let sections = self.sections();
        if let Some(section) = sections.get(self.focused(&sections)) {
            let offset = self.offsets.entry(section.title).or_default();
            *offset = by(*offset);
        }
    }

    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let sections = self.sections();
        let [title, what, body, hint] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut head = vec![Span::styled(format!("headroom top   {}", self.title), bold)];
        if self.paused {
            head.push(Span::styled("   paused", self.style(Tone::Busy)));
        }
        frame.render_widget(Line::from(head), title);
        let line = match &self.trouble {
            Some(trouble) => Line::styled(trouble.clone(), self.style(Tone::Bad)),
            None => Line::raw(match &self.seen {
                Look::Gateway(status) => summary(status),
                Look::Scaler(status) => scaler_summary(status),
            }),
        };
        frame.render_widget(line, what);
        let focus = self.focused(&sections);
        let shown = shown(sections.len(), focus, body.height);
        let heights = heights(&sections[shown.clone()], body.height);
        let areas = Layout::vertical(heights.iter().map(|&height| Constraint::Length(height))).split(body);
        for (index, &area) in shown.zip(areas.iter()) {
            self.table(frame, area, &sections[index], index == focus);
        }
        let keys = "q quits   p pauses   Tab next table   arrows move in it";
        frame.render_widget(Line::styled(keys, Modifier::DIM), hint);
    }

    fn table(&mut self, frame: &mut Frame<'_>, area: Rect, section: &Section, has_focus: bool) {
        // An empty line, the title with the headings, then rows.
        let Some(room) = usize::from(area.height).checked_sub(HEAD_LINES) else { return };
        let last = section.rows.len().saturating_sub(room);
        let offset = self.offsets.entry(section.title).or_default();
        *offset = last.min(*offset);
        let offset = *offset;
        let columns = columns(section, area.width.into());
        let widths = widths(section, &columns, area.width.into());
        let mut title = Style::new().add_modifier(Modifier::BOLD);
        if has_focus {
            title = title.add_modifier(Modifier::UNDERLINED);
        }
        let mut name = vec![Span::styled(section.title, title)];
        if last > 0 {
            let rows = format!("   {} to {} of {}", offset + 1, offset + room, section.rows.len());
            name.push(Span::styled(rows, Modifier::DIM));
        }
        let shown =
            columns.iter().zip(&widths).map(|(&column, &width)| (column, width, section.columns[column].1));
        let headings =
            shown.clone().map(|(column, width, align)| cell(section.columns[column].0, width, align));
        let mut lines = vec![
            Line::raw(""),
            Line::from(name),
            Line::styled(headings.collect::<Vec<_>>().join(GAP), Modifier::DIM),
        ];
        for row in section.rows.iter().skip(offset).take(room) {
            let mut spans = Vec::new();
            for (column, width, align) in shown.clone() {
                let found = &row[column];
                spans.push(Span::styled(cell(&found.text, width, align), self.style(found.tone)));
                spans.push(Span::raw(GAP));
            }
            lines.push(Line::from(spans));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn style(&self, tone: Tone) -> Style {
        let colour = |colour| if self.colours { Style::new().fg(colour) } else { Style::new() };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => colour(Color::Green),
            Tone::Busy => colour(Color::Yellow),
            Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
        }
    }
}

/// A gateway has pictures of its last seconds.
fn note(history: &mut History, seen: &Look) {
    if let Look::Gateway(status) = seen {
        history.note(status);
    }
}

/// The sections that there is room for: all of them, or as many as fit around the one that was chosen.
fn shown(count: usize, focus: usize, room: u16) -> Range<usize> {
    let fit = (usize::from(room) / (HEAD_LINES + 1)).clamp(1, count.max(1));
    let first = focus.min(count.saturating_sub(fit));
    first..count.min(first + fit)
}

/// The height of each section: all of it where there is room, otherwise the longest give.
fn heights(sections: &[Section], room: u16) -> Vec<u16> {
    let whole = |section: &Section| u16::try_from(section.rows.len() + HEAD_LINES).unwrap_or(u16::MAX);
    let mut heights: Vec<u16> = sections.iter().map(whole).collect();
    let sum = |heights: &[u16]| heights.iter().map(|&height| u32::from(height)).sum::<u32>();
    while sum(&heights) > u32::from(room) {
        let Some(longest) = heights.iter_mut().max() else { break };
        if usize::from(*longest) <= HEAD_LINES + 1 {
            break;
        }
        *longest -= 1;
    }
    heights
}

/// The width that all of a column needs.
fn whole(section: &Section, column: usize) -> usize {
    let cells = section.rows.iter().map(|row| row[column].text.chars().count());
    cells.chain([section.columns[column].0.chars().count()]).max().unwrap_or(0)
}

fn sum(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    widths.sum::<usize>() + gaps
}

/// The columns that are shown: all, or those that there is room for with some of their words.
fn columns(section: &Section, room: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..section.columns.len()).collect();
    let needed = |column: &usize| match section.columns[*column].1 {
        Align::Left => whole(section, *column).min(SOME_WORDS),
        Align::Right => whole(section, *column),
    };
    for name in section.dispensable {
        if sum(columns.iter().map(needed)) > room {
            columns.retain(|&column| section.columns[column].0 != *name);
        }
    }
    columns
}

/// The width of each of these columns: as wide as its cells, and where that is too much, the widest columns of words
/// give.
fn widths(section: &Section, columns: &[usize], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|&column| whole(section, column)).collect();
    while sum(widths.iter().copied()) > room {
        let words =
            widths.iter_mut().zip(columns).filter(|(_, column)| section.columns[**column].1 == Align::Left);
        match words.map(|(width, _)| width).max().filter(|width| **width > LEAST_WORDS) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    widths
}

fn cell(text: &str, width: usize, align: Align) -> String {
    let printable = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let count = text.chars().count();
    let text: String = if count <= width {
        printable.collect()
    } else {
        printable.take(width.saturating_sub(1)).chain(['…']).collect()
    };
    let padding = " ".repeat(width.saturating_sub(count));
    match align {
        Align::Left => text + &padding,
        Align::Right => padding + &text,
    }
}

/// An empty line, the title, the headings.
const HEAD_LINES: usize = 3;

/// Rows that a page moves by.
const PAGE: usize = 10;

/// A column of words is worth its place with so many characters of them.
const SOME_WORDS: usize = 24;

/// Fewer characters of a name say nothing.
const LEAST_WORDS: usize = 8;

const GAP: &str = "  ";

/// As often as the gateway's own counts are published.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use status::sample;

    fn frame(top: &mut Top, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| top.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    fn top() -> Top {
        let gateway = |status| Look::Gateway(Box::new(status));
        let mut top = Top::new("gateway on 127.0.0.1:9901".to_owned(), gateway(sample::calm()), false);
        top.look(Ok(gateway(sample::busy())));
        top
    }

    #[test]
    fn a_frame_shows_what_matters() {
        insta::assert_snapshot!(frame(&mut top(), 120, 40));
    }

    #[test]
    fn a_frame_of_a_scaler_shows_why_nothing_happens() {
        let seen = Look::Scaler(Box::new(sample::scaler()));
        let mut top = Top::new("scaler on 127.0.0.1:9902".to_owned(), seen, false);
        insta::assert_snapshot!(frame(&mut top, 120, 34));
        assert!(top.press(Key::Next) && top.press(Key::Down(1)));
        for (width, height) in [(1, 1), (3, 2), (20, 5), (300, 3), (70, 16)] {
            frame(&mut top, width, height);
        }
    }

    #[test]
    fn a_small_terminal_shows_what_was_chosen() {
        let mut top = top();
        assert!(frame(&mut top, 70, 16).contains("service levels"));
        for title in ["policies", "limits", "routes", "reason", "instances", "service levels"] {
            assert!(top.press(Key::Next));
            assert!(frame(&mut top, 70, 16).contains(title), "{title}");
        }
        for (width, height) in [(1, 1), (3, 2), (20, 5), (300, 3)] {
            frame(&mut top, width, height);
        }
    }

    #[test]
    fn arrows_move_in_the_chosen_table() {
        let mut top = top();
        top.press(Key::Previous);
        top.press(Key::Down(1_000));
        let text = frame(&mut top, 100, 24);
        assert!(text.contains("10.0.0.20:80") && !text.contains("10.0.0.1:80"), "{text}");
        top.press(Key::Up(1_000));
        assert!(frame(&mut top, 100, 24).contains("10.0.0.1:80"));
    }

    #[test]
    fn a_gateway_that_is_gone_leaves_its_last_picture_and_says_so() {
        let mut top = top();
        let address: gateway::settings::AdminAddress = "127.0.0.1:9901".parse().unwrap();
        let source = io::ErrorKind::ConnectionRefused.into();
        top.look(Err(Error::Unreachable { address, source }));
        let text = frame(&mut top, 120, 40);
        assert!(text.contains("cannot reach") && text.contains("search"), "{text}");
        assert!(!top.press(Key::Quit));
    }

    #[test]
    fn colours_only_stress() {
        let plain = frame(&mut top(), 120, 40);
        let mut coloured = top();
        coloured.colours = true;
        assert_eq!(plain, frame(&mut coloured, 120, 40));
    }
}
