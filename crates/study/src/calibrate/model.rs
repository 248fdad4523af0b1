//! The model of a service, and what it predicts.

use sim::plant::{Plant, Window};
use sim::settings::{
    Arrivals, Distribution, Endpoint, Host, PoolId, Quota, Server, Service, ServiceId, Step, System, Traffic,
};
use sim::{Requests, settings};
use std::time::Duration;
use units::Timestamp;

/// A service: half of the processor time, the wait, the other half.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Processor time of a request.
    pub cpu: Distribution,
    /// The wait of a request.
    pub wait: Distribution,
    /// Cores that it may use.
    pub cores: f64,
    /// Processor use without requests, in cores.
    pub background: f64,
    /// The application server.
    pub server: Server,
    /// A pool that requests hold a place of while they wait.
    pub pool: Option<Pool>,
}

/// A pool behind a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Its places.
    pub places: u32,
}

/// The load for a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Users without think time.
    Users(u32),
    /// Poisson arrivals, in requests a second.
    Rate(f64),
    /// Arrivals at equal distances, in requests a second.
    Even(f64),
}

/// What the model predicts.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// Responses a second.
    pub per_second: f64,
    /// Response times, in seconds.
    pub times: stats::Sketch,
    /// Processor use, in cores.
    pub cores: f64,
}

impl Model {
    pub(super) fn system(&self, load: Load, seed: u64) -> System {
        let steps = match self.pool {
            Some(_) => {
                let half = Step::Work {
                    cpu: self.cpu.scaled(0.5),
                    wait: Distribution::ZERO,
                    bursts: 1,
                    incidents: None,
                };
                vec![half.clone(), Step::Hold { pool: PoolId(0), time: self.wait.clone() }, half]
            }
            None => {
                let (cpu, wait) = (self.cpu.clone(), self.wait.clone());
                vec![Step::Work { cpu, wait, bursts: 2, incidents: None }]
            }
        };
        let cores = self.cores.ceil().max(1.0) as u32;
        let quota = (self.cores < f64::from(cores))
            .then(|| Quota { cores: self.cores, period: Duration::from_millis(100) });
        let host = Host { quota, background: self.background, ..Host::new("host", cores) };
        let traffic = match load {
            Load::Users(users) => Traffic::Closed { users, think: Distribution::ZERO },
            Load::Rate(rate) => open(rate, Arrivals::Poisson),
            Load::Even(rate) => open(rate, Arrivals::Even),
        };
        let pools = self.pool.iter().map(|pool| settings::Pool {
            name: "pool".into(),
            places: pool.places,
            bound: u32::MAX,
        });
        let service = Service::new("service", self.server.clone(), host, vec![Endpoint::new("all", steps)]);
        System { pools: pools.collect(), seed, ..System::new(traffic, vec![service]) }
    }
}

fn open(rate: f64, arrivals: Arrivals) -> Traffic {
    Traffic::Open { rates: [rate].into(), bin: Duration::from_secs(3600), arrivals, noise: None }
}

/// Simulates the model for `seconds`, after a tenth of that which is left out.
pub fn predict(model: &Model, load: Load, seconds: f64, seed: u64) -> Predicted {
    let system = model.system(load, seed);
    let mut plant = Requests::new(&system);
    let instance = plant.launch(ServiceId(0), 0);
    plant.serve(instance);
    let mut window = Window::default();
    let at = |seconds: f64| Timestamp::ZERO + Duration::from_secs_f64(seconds);
    let warm_up = seconds / 10.0;
    plant.run_until(at(warm_up));
    plant.take_window(ServiceId(0), &mut window);
    plant.take_cpu(instance);
    window.clear();
    plant.run_until(at(warm_up + seconds));
    plant.take_window(ServiceId(0), &mut window);
    Predicted {
        per_second: window.answered as f64 / seconds,
        times: window.balancer,
        cores: plant.take_cpu(instance) / seconds,
    }
}
