//! M/M/10 at 8 of 10 busy with only a binary heap: the cost of a simulator without any model, for comparison. Prints
//! customers for each second of processor time, and the mean wait.
//!
//! ```text
//! cargo run --release -p sim --example bare_loop -- 20000000
//! ```

use rustix::time::{ClockId, clock_gettime};
use stats::Rng;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

fn main() {
    let customers: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(20_000_000);
    let began = cpu_seconds();
    let (mut arrivals, mut services) = (Rng::new(1, "arrivals"), Rng::new(1, "services"));
    let (mut ends, mut queue) = (BinaryHeap::new(), VecDeque::new());
    let (mut waited, mut served) = (0_u64, 0_u64);
    let mut arrival = nanos(arrivals.exponential() / 8.0);
    while served < customers {
        match ends.peek() {
            Some(&Reverse(end)) if end <= arrival => {
                ends.pop();
                served += 1;
                if let Some(came) = queue.pop_front() {
                    waited += end - came;
                    ends.push(Reverse(end + nanos(services.exponential())));
                }
            }
            _ => {
                if ends.len() < 10 {
                    ends.push(Reverse(arrival + nanos(services.exponential())));
                } else {
                    queue.push_back(arrival);
                }
                arrival += nanos(arrivals.exponential() / 8.0);
            }
        }
    }
    println!("{} {}", served as f64 / (cpu_seconds() - began), waited as f64 * 1e-9 / served as f64);
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
