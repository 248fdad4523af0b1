//! Minute by minute (or by rows of another length) as CSV, for spreadsheets and notebooks. A cell without a value is empty.

use super::Simulation;
use report::csv::field;
use sim::outcome::{Quantiles, Row};
use std::io::{self, Write};

impl Simulation {
    /// Writes a line a row for each stage, seed and service. The column `minute` is the number of the row.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let watched = self.watched();
        let columns: String =
            watched.iter().map(|name| format!(",{}", field(&format!("seen_{name}")))).collect();
        writeln!(out, "{COLUMNS}{columns}")?;
        for stage in &self.simulated.stages {
            for outcome in &stage.outcomes {
                for service in &outcome.services {
                    for (minute, row) in service.rows.iter().enumerate() {
                        let (stage_name, seed, name) = (field(&stage.name), outcome.seed, &service.name);
                        let clock = stage.time_of(row);
                        write!(out, "{stage_name},{seed},{name},{minute},{clock},{}", cells(row))?;
                        let seen = service.seen.minute(minute);
                        for name in &watched {
                            let place = service.seen.names().iter().position(|known| known == name);
                            let value = place.and_then(|place| seen.get(place).copied().flatten());
                            write!(out, ",{}", number(value))?;
                        }
                        writeln!(out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Simulation {
    /// The names of all alarms and metrics by which an autoscaler decided, each once: a column each.
    fn watched(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        let services = self.simulated.outcomes().flat_map(|outcome| &outcome.services);
        for name in services.flat_map(|service| service.seen.names()) {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        all
    }
}

/// The cells of a minute, from `desired` on.
fn cells(row: &Row) -> String {
    let counts = &row.counts;
    let shares = [row.cpu_average, row.cpu_maximum, row.busy_average].map(number);
    let within = row.within_goal.map_or("", |within| if within { "1" } else { "0" });
    format!(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.6},{within}",
        counts.desired,
        counts.running,
        counts.serving,
        counts.booting,
        shares.join(","),
        row.arrived,
        row.answered,
        row.errors,
        row.refused,
        row.timed_out,
        row.failed,
        row.retried,
        times(row.balancer),
        times(row.application),
        number(row.queued.map(|queued| queued * 1e3)),
        number(row.credits),
        row.held_back,
        row.cost,
    )
}

fn times(times: Option<Quantiles>) -> String {
    let Some(Quantiles { mean, p50, p75, p90, p95, p99 }) = times else { return ",,,,,".to_owned() };
    [mean, p50, p75, p90, p95, p99].map(|seconds| format!("{:.3}", seconds * 1e3)).join(",")
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.4}"))
}

const COLUMNS: &str = "stage,seed,service,minute,clock,desired,running,serving,booting,cpu_average,cpu_maximum,\
    cpu_true,arrived,answered,errors,refused,timed_out,failed,retried,mean_ms,p50_ms,p75_ms,p90_ms,p95_ms,p99_ms,\
    app_mean_ms,app_p50_ms,app_p75_ms,app_p90_ms,app_p95_ms,app_p99_ms,queued_ms,credits,held_back,cost_usd,\
    within_goal";
