//! A target that takes seconds for everything: it is decided once a step all the same, and the last size is the one that counts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use control::scaling::controller::{KnativeScaling, Policy};
use control::scaling::guard::GuardSettings;
use control::scaling::knative::KnativeSettings;
use counting_gateway::Gateway as Counting;
use scaler::settings::{Address, Gateway, Kubernetes, Live, Requests};
use scaler::{
    Event, Instance, Line, Listener, Options, PeriodSeen, Phase, Plan, RemoteTarget, Snapshot, TargetError,
    Told,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::InstanceCount;

/// A gateway that counts requests.
#[path = "../../../tests/counting_gateway.rs"]
#[allow(dead_code, reason = "its requests are in flight only")]
mod counting_gateway;

/// Each call takes this long.
const SLOW: Duration = Duration::from_secs(4);

struct Slow {
    size: u32,
    sets: Arc<Mutex<Vec<u32>>>,
}

impl RemoteTarget for Slow {
    fn name(&self) -> String {
        "slow".to_owned()
    }

    fn each(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn check(&mut self, _: bool) -> Result<(), TargetError> {
        Ok(())
    }

    fn lead(&mut self) -> Result<Option<String>, TargetError> {
        Ok(None)
    }

    fn attempt(&mut self, set: Option<u32>, _: Option<&Snapshot>) -> Result<Snapshot, TargetError> {
        std::thread::sleep(SLOW);
        if let Some(size) = set {
            self.size = size;
            self.sets.lock().unwrap().push(size);
        }
        let ready = |id| Instance {
            id,
            process: None,
            port: None,
            phase: Phase::Ready,
            started: None,
            ready: None,
            usage: None,
        };
        Ok(Snapshot {
            size: self.size,
            instances: (0..u64::from(self.size)).map(ready).collect(),
            withdrawn: false,
            stale: false,
        })
    }

    fn events(&mut self) -> Vec<Event> {
        Vec::new()
    }

    fn lost_lead(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct Heard(Vec<Told>);

impl Listener for Heard {
    fn decision(&mut self, told: &Told) {
        self.0.push(told.clone());
    }
    fn note(&mut self, _: &str) {}
    fn period(&mut self, _: &PeriodSeen) {}
    fn ends(&mut self) -> bool {
        false
    }
}

#[test]
fn a_target_that_answers_slowly_delays_no_decision() {
    let folder = tempfile::tempdir().unwrap();
    let knative = KnativeSettings { max: Some(InstanceCount::new(9)), ..KnativeSettings::concurrency(100.0) };
    let plan = Plan {
        live: Live {
            service: 0,
            gateway: Some(Gateway {
                admin: Address::Tcp(Counting::start(350).address),
                pool: "web".to_owned(),
                token_file: None,
            }),
            requests: Requests::Gateway,
            processes: None,
            aws: None,
            kubernetes: Some(Kubernetes {
                resource: "deployments".to_owned(),
                group: "apps".to_owned(),
                name: "web".to_owned(),
                namespace: None,
                kubeconfig: None,
                context: None,
                lease: "web".to_owned(),
                cores: None,
            }),
            guard: GuardSettings::new(1, 9),
            period: Duration::from_secs(2),
            stale_after: Duration::from_secs(10),
            state: folder.path().to_owned(),
            serve: None,
        },
        policy: Policy::Knative(Box::new(KnativeScaling { knative })),
        goal: None,
        instances: 2,
        quota: None,
        case: "case.yaml".to_owned(),
        stage: "now".to_owned(),
        title: "slow".to_owned(),
        service: "web".to_owned(),
        run: None,
    };
    let sets = Arc::new(Mutex::new(Vec::new()));
    let target = Slow { size: 2, sets: Arc::clone(&sets) };
    let mut heard = Heard::default();
    let options = Options { apply: true, lasts: Some(Duration::from_secs(16)) };
    let ended = scaler::run(&plan, options, Some(Box::new(target)), &mut heard).unwrap().unwrap();

    // Each step has its sample, at its time, with the size that was set last.
    let record = std::fs::read_to_string(&ended.record).unwrap();
    let mut step = 0;
    let (mut number, mut size) = (0, 2);
    for line in record.lines() {
        match serde_json::from_str(line).unwrap() {
            Line::Begin(begin) => step = begin.step_ns,
            Line::Sample(sample) => {
                assert_eq!((sample.number, sample.at_ns), (number, (number + 1) * step));
                assert_eq!(
                    sample.size, size,
                    "sample {number}: a size that was set is the one to decide from"
                );
                number += 1;
            }
            Line::Decision(decision) if decision.applied => size = decision.to,
            _ => {}
        }
    }
    assert_eq!(number, 16_000_000_000 / step);
    // 350 in flight at 70 of an instance.
    assert_eq!(size, 5);
    assert_eq!(sets.lock().unwrap().last(), Some(&5), "{:?}", heard.0);
    // Nobody else has set a size.
    assert!(heard.0.iter().all(|told| told.policy != "guard"), "{:?}", heard.0);
}
