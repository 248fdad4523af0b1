use super::*;
use crate::settings::Quota;
use std::time::Duration;

fn host(cores: u32) -> Host {
    Host::new("test", cores)
}

/// Runs bursts (when, work) to their ends; returns when each ended.
fn run(processor: &mut Processor, bursts: &[(u64, f64)]) -> Vec<u64> {
    let mut ends = vec![0; bursts.len()];
    let (mut next, mut at) = (u64::MAX, 0);
    loop {
        match bursts.get(at) {
            Some(&(when, work)) if when <= next => {
                next = processor.start(when, work, at as u32);
                at += 1;
            }
            _ if next == u64::MAX => return ends,
            _ => {
                let now = next;
                let (ended, then) = processor.happen(now);
                if let Some(ended) = ended {
                    ends[ended as usize] = now;
                }
                next = then;
            }
        }
    }
}

const MS: u64 = 1_000_000;
const MS_F: f64 = 1e6;

#[test]
fn bursts_share_a_core_equally() {
    // Alone for 10 ms, then two of them: the first has 10 left, the second needs 20.
    let ends = run(&mut Processor::new(&host(1), 0), &[(0, 20.0 * MS_F), (10 * MS, 20.0 * MS_F)]);
    assert_eq!(ends, [30 * MS, 40 * MS]);
}

#[test]
fn as_many_as_cores_do_not_disturb_each_other() {
    let ends = run(&mut Processor::new(&host(2), 0), &[(0, 20.0 * MS_F), (0, 20.0 * MS_F)]);
    assert_eq!(ends, [20 * MS, 20 * MS]);
    let ends = run(&mut Processor::new(&host(2), 0), &[(0, 20.0 * MS_F); 4]);
    assert_eq!(ends, [40 * MS; 4]);
}

#[test]
fn background_speed_and_what_is_given_change_how_long_it_takes() {
    let mut slow = Processor::new(&Host { speed: 0.5, background: 0.2, ..host(1) }, 0);
    assert_eq!(run(&mut slow, &[(0, 20.0 * MS_F)]), [50 * MS]);
    let mut given = Processor::new(&host(1), 0);
    given.give(0, 0.25);
    assert_eq!(run(&mut given, &[(0, 20.0 * MS_F)]), [80 * MS]);
    assert!((given.take_used(80 * MS) - 20.0 * MS_F).abs() < 1.0);
}

#[test]
fn a_spent_quota_stops_everything_until_its_period_ends() {
    let quota = Some(Quota { cores: 0.2, period: Duration::from_millis(100) });
    // 20 ms in each 100 ms: 50 ms of work end in the third period, after 10 ms of it.
    let mut processor = Processor::new(&Host { quota, ..host(1) }, 0);
    let ends = run(&mut processor, &[(0, 50.0 * MS_F)]);
    assert_eq!(ends, [210 * MS]);
    assert!((processor.take_used(300 * MS) - 50.0 * MS_F).abs() < 10.0);
    // A burst that joins while it is throttled waits, too.
    let ends =
        run(&mut Processor::new(&Host { quota, ..host(1) }, 0), &[(0, 30.0 * MS_F), (50 * MS, 2.0 * MS_F)]);
    assert_eq!(ends, [112 * MS, 104 * MS]);
    // Four threads on two cores use it up twice as fast.
    let mut two = Processor::new(&Host { quota, ..host(2) }, 0);
    assert_eq!(run(&mut two, &[(0, 10.0 * MS_F); 4]), [110 * MS; 4]);
}

#[test]
fn a_quota_that_lasts_is_not_noticed() {
    let quota = Some(Quota { cores: 0.2, period: Duration::from_millis(100) });
    let mut processor = Processor::new(&Host { quota, ..host(1) }, 0);
    let bursts: Vec<(u64, f64)> = (0..50).map(|n| (n * 100 * MS + 95 * MS, 10.0 * MS_F)).collect();
    let ends = run(&mut processor, &bursts);
    assert!(ends.iter().zip(&bursts).all(|(end, (begin, _))| end - begin == 10 * MS), "{ends:?}");
}

#[test]
fn processor_time_used_is_work_done() {
    let mut processor = Processor::new(&Host { cores: 2, speed: 2.0, ..host(2) }, 0);
    run(&mut processor, &[(0, 8.0 * MS_F), (MS, 3.0 * MS_F), (2 * MS, 9.0 * MS_F), (2 * MS, 4.0 * MS_F)]);
    // 24 ms of work at speed 1 are 12 at speed 2.
    assert!((processor.take_used(100 * MS) - 12.0 * MS_F).abs() < 10.0);
}
