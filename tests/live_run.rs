//! The scaler's whole loop on a target. A part of each test that needs one.

use scaler::{
    Ended, Listener, Options, PeriodSeen, Plan, Remote, RemoteTarget, ScaleError, Snapshot, Target as _,
    TargetError, Told,
};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Until it holds, for at most two minutes.
pub fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Works until the target tells what is expected.
pub fn until(
    target: &mut Remote,
    set: Option<u32>,
    found: impl Fn(&Result<Snapshot, TargetError>) -> bool,
) -> Result<Snapshot, TargetError> {
    eventually("the target did not tell what was expected", || Some(target.work(set)).filter(&found))
}

/// The plan of a case file.
pub fn plan(text: &str, folder: &Path) -> Plan {
    let given = config::case::Given::default();
    let case = config::case::parse("case.yaml", text, folder, given).unwrap();
    let live = case.live(0).unwrap();
    let service = &case.stages[0].system.services[live.service];
    Plan {
        policy: service.scaling.policy.clone(),
        goal: None,
        instances: service.instances.get(),
        quota: None,
        case: "case.yaml".to_owned(),
        stage: case.stages[0].name.clone(),
        title: case.name.clone(),
        service: service.name.clone(),
        run: None,
        live,
    }
}

/// A scaler that applies its decisions.
pub struct Run {
    ends: Arc<AtomicBool>,
    decisions: Arc<Mutex<Vec<Told>>>,
    thread: JoinHandle<Result<Option<Ended>, ScaleError>>,
}

impl Run {
    pub fn start(plan: Plan, target: impl RemoteTarget + 'static) -> Self {
        let (ends, decisions) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let mut listener = Heard { ends: Arc::clone(&ends), decisions: Arc::clone(&decisions) };
        let thread = std::thread::spawn(move || {
            let options = Options { apply: true, lasts: Some(Duration::from_secs(120)) };
            scaler::run(&plan, options, Some(Box::new(target)), &mut listener)
        });
        Run { ends, decisions, thread }
    }

    /// The decisions.
    pub fn end(self) -> Vec<Told> {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.join().unwrap().unwrap().unwrap();
        assert_eq!(ended.lost, 0);
        self.decisions.lock().unwrap().clone()
    }
}

struct Heard {
    ends: Arc<AtomicBool>,
    decisions: Arc<Mutex<Vec<Told>>>,
}

impl Listener for Heard {
    fn decision(&mut self, told: &Told) {
        self.decisions.lock().unwrap().push(told.clone());
    }

    fn note(&mut self, text: &str) {
        eprintln!("{text}");
    }

    fn period(&mut self, _: &PeriodSeen) {}

    fn ends(&mut self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}
