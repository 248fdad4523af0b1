//! A run on a terminal: a few lines that redraw themselves where the cursor stands.
//!
//! ## Why not the whole terminal
//! What came before stays in sight, and when the run is over the summary takes the screen's place and stays too.

use super::pulse::{Pulse, Second};
use super::terminal;
use ::load::{Model, Plan};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Gauge, Paragraph, Sparkline};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use report::{grouped, quantile, rate, time};
use std::io::{self, BufWriter, Stderr, Write};
use std::mem::ManuallyDrop;
use study::load::asked;
use units::{Quantile, Timestamp};

/// A screen that is up; taken down when dropped.
pub struct Screen {
    /// Dropped, it would panic where it cannot say that the terminal is gone; [`terminal::restore`] does what it would
    /// do.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stderr>>>>,
    colours: bool,
}

impl Screen {
    /// Puts the screen up below the cursor.
    ///
    /// # Errors
    /// Where the terminal cannot show one.
    pub fn up() -> io::Result<Self> {
        terminal::prepare()?;
        let backend = CrosstermBackend::new(BufWriter::new(io::stderr()));
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let colours = super::with_colours();
        match Terminal::with_options(backend, options) {
            Ok(terminal) => Ok(Screen { terminal: ManuallyDrop::new(terminal), colours }),
            Err(error) => {
                terminal::restore();
                Err(error)
            }
        }
    }

    /// Shows how the run stands.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub fn show(&mut self, plan: &Plan, pulse: &Pulse, stopping: bool) -> io::Result<()> {
        let colours = self.colours;
        self.terminal.draw(|frame| {
            terminal::note_bottom(frame.area().bottom());
            draw(frame, plan, pulse, stopping, colours);
        })?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if terminal::restore() {
            // The summary follows in its place, whatever the terminal says to these.
            let top = self.terminal.get_frame().area().as_position();
            let _ = self.terminal.clear();
            let _ = self.terminal.set_cursor_position(top);
            let _ = self.terminal.backend_mut().flush();
        }
    }
}

fn draw(frame: &mut Frame<'_>, plan: &Plan, pulse: &Pulse, stopping: bool, colours: bool) {
    let colour = |colour| if colours { Style::new().fg(colour) } else { Style::new() };
    let [title, what, gauge, _, middle, _, errors, state, hint] =
        Layout::vertical([1, 1, 1, 1, 7, 1, 1, 1, 1].map(Constraint::Length)).areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(format!("headroom load {}", plan.url()), bold), title);
    frame.render_widget(Line::raw(asked(plan).model()), what);
    let (done, label) = progress(plan, pulse, stopping);
    frame.render_widget(Gauge::default().ratio(done).label(label).gauge_style(colour(Color::Blue)), gauge);

    let [table, _, pictures] =
        Layout::horizontal([Constraint::Length(47), Constraint::Length(2), Constraint::Fill(1)])
            .areas(middle);
    frame.render_widget(Paragraph::new(numbers(pulse)), table);
    let [rates, _, times] =
        Layout::vertical([Constraint::Length(3), Constraint::Length(1), Constraint::Length(3)])
            .areas(pictures);
    let answered = |second: &Second| second.answered.per_second() as u64;
    let shown = |second: &Second| grouped(answered(second));
    picture(frame, rates, pulse, "answered/s", answered, shown, colour(Color::Green));
    let p95 = |second: &Second| second.p95.map_or(0, |p95| p95.at.as_micros() as u64);
    let shown = |second: &Second| time(second.p95);
    picture(frame, times, pulse, "p95", p95, shown, colour(Color::Yellow));

    let account = &pulse.now.accounting;
    let wrong = account.shed + account.failed + account.timed_out > 0;
    let text = format!(
        "shed {}   failed {}   timed out {}",
        grouped(account.shed),
        grouped(account.failed),
        grouped(account.timed_out)
    );
    let style = if wrong { colour(Color::Red).add_modifier(Modifier::BOLD) } else { Style::new() };
    frame.render_widget(Line::styled(text, style), errors);
    frame.render_widget(Line::raw(standing(plan, pulse)), state);
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(
        Line::styled("Ctrl-C ends the run and shows the summary; twice quits at once", dim),
        hint,
    );
}

fn progress(plan: &Plan, pulse: &Pulse, stopping: bool) -> (f64, String) {
    let at = pulse.now.at.as_secs_f64();
    let scheduled = pulse.now.accounting.scheduled;
    let last = plan.end();
    let by_time = if last == Timestamp::NEVER { 0.0 } else { at / last.since(Timestamp::ZERO).as_secs_f64() };
    let by_count = plan.requests.map_or(0.0, |requests| scheduled as f64 / requests as f64);
    let done = by_time.max(by_count).clamp(0.0, 1.0);
    let label = if stopping {
        "stopping".to_owned()
    } else if done >= 1.0 {
        "waiting for the last answers".to_owned()
    } else {
        // Whole seconds: a number that changes ten times a second cannot be read.
        let left =
            if done > 0.0 { format!(", {:.0} s left", (at / done - at).ceil()) } else { String::new() };
        format!("{:.0} s of {}{left}", at.floor(), asked(plan).end())
    };
    (done, label)
}

fn numbers(pulse: &Pulse) -> Vec<Line<'static>> {
    let row = |name: &str, last: String, whole: String| Line::raw(format!("{name:<8}{last:>19} {whole:>19}"));
    let last = pulse.last();
    let now = &pulse.now;
    let run = now.at.since(Timestamp::ZERO);
    let of_last = |of: fn(&Second) -> units::Rate| last.map_or("-".to_owned(), |second| rate(of(second)));
    let whole = |count| rate(units::Rate::of(count, run));
    let mut rows = vec![
        row("", "last second".to_owned(), "whole run".to_owned()).style(Modifier::DIM),
        row("offered", of_last(|second| second.offered), whole(now.accounting.scheduled)),
        row("answered", of_last(|second| second.answered), whole(now.accounting.answered)),
    ];
    for point in [Quantile::P50, Quantile::P95, Quantile::P99] {
        let recent = quantile(&pulse.recent, point);
        rows.push(row(&point.to_string(), recent, quantile(&pulse.whole, point)));
    }
    rows.push(row("max", time(pulse.recent.max()), time(pulse.whole.max())));
    rows
}

fn standing(plan: &Plan, pulse: &Pulse) -> String {
    let now = &pulse.now;
    let mut text = format!("in flight {}   connections {}", grouped(now.in_flight), grouped(now.connections));
    if matches!(plan.model, Model::Open { .. }) {
        text += &format!(
            "   waiting for a connection {}   dispatch delay p99 {}",
            grouped(now.waiting),
            pulse.dispatch_delay()
        );
    }
    text
}

/// A line of bars, one a second, the latest at the right, with the largest in words.
fn picture(
    frame: &mut Frame<'_>,
    area: Rect,
    pulse: &Pulse,
    name: &str,
    value: impl Fn(&Second) -> u64,
    show: impl Fn(&Second) -> String,
    style: Style,
) {
    let [title, bars] = Layout::vertical([Constraint::Length(1), Constraint::Length(2)]).areas(area);
    let from = pulse.seconds.len().saturating_sub(bars.width.into());
    let seconds = &pulse.seconds[from..];
    let values: Vec<u64> = seconds.iter().map(&value).collect();
    let text = match seconds.iter().max_by_key(|second| value(second)).filter(|most| value(most) > 0) {
        Some(most) => format!("{name}, up to {}", show(most)),
        None => name.to_owned(),
    };
    frame.render_widget(Line::styled(text, Modifier::DIM), title);
    frame.render_widget(Sparkline::default().data(values).style(style), bars);
}

/// Title, model, progress, numbers beside pictures, errors, state and hint, with two empty lines.
const HEIGHT: u16 = 15;
