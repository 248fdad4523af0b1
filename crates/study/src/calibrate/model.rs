//! The model of a service, and what it predicts.

use sim::plant::{Plant, Window};
use sim::settings::{
    Accept, Arrivals, Connections, Distribution, Endpoint, Host, PoolId, Quota, Reuse, Server, Service,
    ServiceId, Step, System, Traffic,
};
use sim::{Requests, settings};
use std::time::Duration;
use units::Timestamp;

/// A service: half of the processor time, the wait, the other half.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Processor time of a request; of several endpoints, of their mix.
    pub cpu: Distribution,
    /// The wait of a request, likewise.
    pub wait: Distribution,
    /// The endpoints, if there are several.
    pub kinds: Vec<Kind>,
    /// Cores that it may use.
    pub cores: f64,
    /// Processor use without requests, in cores.
    pub background: f64,
    /// The application server.
    pub server: Server,
    /// A pool that requests hold a place of while they wait.
    pub pool: Option<Pool>,
}

/// An endpoint of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Its name.
    pub name: String,
    /// Its share of the requests, relative to the others.
    pub share: f64,
    /// Processor time of a request.
    pub cpu: Distribution,
    /// The wait of a request.
    pub wait: Distribution,
}

/// A pool behind a service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    /// Its places.
    pub places: u32,
    /// The share of the wait during which a request holds a place, above 0 and at most 1.
    pub held: f64,
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
    /// The endpoints; a service of which only the whole is known has one, named `all`.
    pub(super) fn endpoints(&self) -> Vec<Kind> {
        if !self.kinds.is_empty() {
            return self.kinds.clone();
        }
        vec![Kind { name: "all".to_owned(), share: 1.0, cpu: self.cpu.clone(), wait: self.wait.clone() }]
    }

    /// The same model with this many times the processor time and the wait.
    pub(super) fn scaled(&self, cpu: f64, wait: f64) -> Self {
        let mut model = self.clone();
        (model.cpu, model.wait) = (self.cpu.scaled(cpu), self.wait.scaled(wait));
        for kind in &mut model.kinds {
            (kind.cpu, kind.wait) = (kind.cpu.scaled(cpu), kind.wait.scaled(wait));
        }
        model
    }

    /// The steps of a request with this processor time and this wait.
    fn steps(&self, cpu: &Distribution, wait: &Distribution) -> Vec<Step> {
        let work = |cpu: Distribution, wait: Distribution, bursts: u32| Step::Work {
            cpu,
            wait,
            bursts,
            incidents: None,
        };
        let Some(pool) = self.pool else { return vec![work(cpu.clone(), wait.clone(), 2)] };
        let half = work(cpu.scaled(0.5), Distribution::ZERO, 1);
        let hold = Step::Hold { pool: PoolId(0), time: wait.scaled(pool.held) };
        let mut steps = vec![half.clone(), hold, half];
        if pool.held < 1.0 {
            steps.insert(1, work(Distribution::ZERO, wait.scaled(1.0 - pool.held), 1));
        }
        steps
    }

    pub(super) fn system(&self, load: Load, seed: u64) -> System {
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
        let endpoint = |kind: &Kind| Endpoint {
            share: kind.share,
            ..Endpoint::new(kind.name.as_str(), self.steps(&kind.cpu, &kind.wait))
        };
        let endpoints = self.endpoints().iter().map(endpoint).collect();
        let mut service = Service::new("service", self.server.clone(), host, endpoints);
        if matches!(self.server.accept, Accept::Kept { .. }) {
            // As the load generator does.
            let reuse = Reuse::MostRecent;
            service.balancing.connections = Connections::Kept { reuse, idle_timeout: Duration::MAX };
        }
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
