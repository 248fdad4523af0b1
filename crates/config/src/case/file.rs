//! The tables of a case file, as they are written. Descriptions end up in the JSON Schema.

use super::words::{GoalText, LockTime, Number, Seed, TimeOfDay, Times};
use crate::file::{FileConcurrency, FilePolicy, FileRateClass, FileServiceLevel};
use fields::{At, Count, Frequency, Names, Needed, Share, Size, Span, Switch, Text, tables};

pub(super) use super::scaling_file::ScalingTable;

tables! {
    /// A fleet, its traffic, the policies that size it, and what is known about it.
    CaseTable {
        /// The name of the case.
        case: Needed<At<Text>>,
        /// What it is about.
        about: Option<Text>,
        /// Who sends requests, and when.
        traffic: Needed<At<TrafficTable>>,
        /// Services by name. Traffic enters at the first.
        services: Needed<At<Names<At<ServiceTable>>>>,
        /// Service level classes, as in a gateway's file.
        service_levels: Option<Names<FileServiceLevel>>,
        /// Rate classes, as in a gateway's file, without keys.
        rate_classes: Option<Names<FileRateClass>>,
        /// Concurrency limits, as in a gateway's file.
        concurrency_limits: Option<Names<FileConcurrency>>,
        /// Limits that apply only while a service level class is not conforming, as in a gateway's file.
        policies: Option<Names<FilePolicy>>,
        /// Places that several instances or services share, by name, such as connections to a database.
        pools: Option<Names<At<PoolTable>>>,
        /// What the account of the cloud allows in all.
        quotas: Option<QuotasTable>,
        /// What instances cost. Without it nothing is said of cost.
        prices: Option<At<PricesTable>>,
        /// What users may expect of a minute, such as `p(95)<600ms`. Minutes outside it are counted.
        goal: Option<At<GoalText>>,
        /// Simulated before the measured time, and not reported. Default: 0.
        warm_up: Option<At<Span>>,
        /// The time that is measured. Default: 1d, or as long as the traffic file.
        measured: Option<At<Span>>,
        /// The time of the day at which the measured time begins. Default: 00:00.
        begins: Option<At<TimeOfDay>>,
        /// Every random number comes from it. Default: 1.
        seed: Option<At<Seed>>,
        /// The steps of the account: each has the changes that it made to the one before.
        stages: Option<At<Vec<At<StageTable>>>>,
        /// What must come out, or what was published of it.
        published: Option<At<Vec<At<RowTable>>>>,
    }

    /// A step: the stage before it with some changes.
    StageTable {
        /// Its name: letters, digits, `-` and `_`.
        name: At<Text>,
        /// What was done, and why.
        about: Option<Text>,
        /// The stage that it changes. Default: the last one before it that is no aside.
        after: Option<At<Text>>,
        /// Whether it stands beside the others, such as a negative control: later stages do not build on it.
        /// Default: false.
        aside: Option<At<Switch>>,
        /// Keys of this file with their new values. Tables are merged, anything else is replaced, and a key without a
        /// value is taken away.
        changes: Option<At<fields::Tree>>,
    }

    /// Something that was published, and the bounds within which it must come out.
    RowTable {
        /// What it says.
        what: At<Text>,
        /// What was published, as it was published.
        says: Option<Text>,
        /// What must hold, such as `final.p95 / baseline.p95 in 0.40..0.60` or `throttle-2.p95 > baseline.p95`.
        row: At<Text>,
        /// Why it cannot be required. Without this key it is.
        reported: Option<At<Text>>,
    }

    /// One of `rate`, `peak` with `day`, `file`, and `users`.
    TrafficTable {
        /// The same rate all the time.
        rate: Option<At<Frequency>>,
        /// The highest rate of the day.
        peak: Option<At<Frequency>>,
        /// Shares of the peak by time of the day: `{ '02:30': 34%, '10:00': 85% }`. The day begins again at its end.
        day: Option<At<Names<At<Share>>>>,
        /// How the rate goes from one time to the next: `smooth` (half a cosine) or `straight`. Default: smooth.
        rises: Option<At<Text>>,
        /// What is put on top, minute by minute.
        noise: Option<NoiseTable>,
        /// How requests come within a minute: `poisson` (each by itself) or `even`. Default: poisson.
        arrivals: Option<At<Text>>,
        /// A table of counts over time, relative to this file.
        file: Option<At<Text>>,
        /// The width of the rows of the file. Default: as its times say.
        bin: Option<At<Span>>,
        /// What the counts of the file are multiplied by. Default: 1.
        times: Option<At<Number>>,
        /// Users who each send a request after the response to the one before.
        users: Option<At<Count>>,
        /// Time between a response and the user's next request. Default: 0.
        think: Option<At<Times>>,
    }

    /// Log-normal noise that remembers.
    NoiseTable {
        /// Standard deviation of the logarithm, such as 0.06.
        sigma: At<Number>,
        /// Correlation from minute to minute, from 0 up to 1. Default: 0.
        phi: Option<At<Share>>,
    }

    /// A fleet of like instances behind a balancer.
    ServiceTable {
        /// What requests do, by name.
        endpoints: Needed<At<Names<At<EndpointTable>>>>,
        /// The application server on each instance.
        server: Needed<At<ServerTable>>,
        /// What instances run on, by name. The n-th instance gets the n-th, and around again.
        hosts: Needed<At<Names<At<HostTable>>>>,
        /// What passes to the balancer. Default: everything.
        admission: Option<At<AdmissionTable>>,
        /// How requests come to instances.
        balancing: Option<At<BalancingTable>>,
        /// What it takes for an instance to start and to end.
        start: Option<At<StartTable>>,
        /// Instances at the beginning. Default: the least that scaling allows then, or 1.
        instances: Option<At<Count>>,
        /// What changes the number of instances.
        scaling: Option<At<ScalingTable>>,
        /// Rolling deployments.
        deployments: Option<Vec<At<DeploymentTable>>>,
        /// Instances that fail.
        failures: Option<Vec<At<FailureTable>>>,
    }

    /// A kind of request: `cpu`, `wait` and `bursts`, or `steps`.
    EndpointTable {
        /// Its share of the requests that enter here, in proportion to the others. Default: 1, or 0 for services that
        /// only others call.
        share: Option<At<Number>>,
        /// Processor time in all.
        cpu: Option<At<Times>>,
        /// Waiting in all: databases, disks, other people's services. Default: 0.
        wait: Option<At<Times>>,
        /// How many pieces the processor time comes in, with waits between and after them. Default: 1.
        bursts: Option<At<Count>>,
        /// Times during which the wait is longer.
        incidents: Option<At<IncidentsTable>>,
        /// What it does, in order, where that is more.
        steps: Option<At<Vec<At<StepTable>>>>,
        /// Share of the requests that end with a server error. Default: 0.
        errors: Option<At<Share>>,
    }

    /// One of work (`cpu`, `wait`, `bursts`, `incidents`), `hold` with `time`, and `call`.
    StepTable {
        /// Processor time in all.
        cpu: Option<At<Times>>,
        /// Waiting in all. Default: 0.
        wait: Option<At<Times>>,
        /// How many pieces the processor time comes in. Default: 1.
        bursts: Option<At<Count>>,
        /// Times during which the wait is longer.
        incidents: Option<At<IncidentsTable>>,
        /// Takes a place of this pool.
        hold: Option<At<Text>>,
        /// For how long.
        time: Option<At<Times>>,
        /// Calls these, all at once, and goes on when all have answered: `service/endpoint`.
        call: Option<At<Vec<At<Text>>>>,
    }

    /// Bad times of a third party; they come by chance.
    IncidentsTable {
        /// How many in an hour, on average.
        per_hour: At<Number>,
        /// How long each lasts.
        duration: At<Span>,
        /// What waits are multiplied by meanwhile.
        factor: At<Number>,
    }

    /// The application server of an instance.
    ServerTable {
        /// Processes. Default: 1.
        processes: Option<At<Count>>,
        /// Requests that a process has in hand at once. Default: 1.
        threads: Option<At<Count>>,
        /// Where one thread of a process runs at a time: for how long it keeps the lock while another waits, or `held`
        /// for an event loop. Default: threads run at the same time.
        lock: Option<At<LockTime>>,
        /// Where requests wait for a thread: `shared` (any free one takes the next), `per-process` (by chance) or
        /// `kept` (a kept connection belongs to the process that accepted it). Default: shared.
        accept: Option<At<Text>>,
        /// The most that wait there; one more is refused. Default: 1024.
        backlog: Option<At<Count>>,
        /// With `kept`: how long a thread waits on a connection after a response. Default: 0.
        linger: Option<At<Span>>,
        /// With `kept`: after so many requests in a row on one connection it does not wait. Default: 10.
        inline: Option<At<Count>>,
        /// Workers in front of the processes on the same host, such as nginx.
        front: Option<At<FrontTable>>,
        /// Memory of a process. Default: it does not matter.
        memory_per_process: Option<At<Size>>,
    }

    /// Single-threaded workers that pass requests on.
    FrontTable {
        /// How many.
        workers: At<Count>,
        /// Processor time for each request. Default: 0.
        cpu: Option<At<Times>>,
        /// Time for each request in which the worker does nothing else (disk, log). Default: 0.
        wait: Option<At<Times>>,
        /// The most requests that wait for a worker. Default: 1024.
        backlog: Option<At<Count>>,
    }

    /// What an instance runs on.
    HostTable {
        /// Processors.
        cores: Needed<At<Count>>,
        /// How fast a core is, beside one on which the processor times hold. Default: 1.
        speed: Option<At<Number>>,
        /// Cores that it may use on average, where that is less: 0.05 is 50 millicores.
        limit: Option<At<Number>>,
        /// The period of that limit. Default: 100ms.
        limit_period: Option<At<Span>>,
        /// Memory. Default: it does not matter.
        memory: Option<At<Size>>,
        /// Processor use that has nothing to do with requests, in cores. Default: 0.
        background: Option<At<Number>>,
        /// For burstable types: what it may use above its baseline.
        credits: Option<At<CreditsTable>>,
        /// Share of each core that neighbours take. Default: 0.
        steal: Option<At<Share>>,
        /// Its name in the table of prices. Default: its own name.
        price: Option<At<Text>>,
    }

    /// Processor credits; one is one core for one minute.
    CreditsTable {
        /// Earned in an hour.
        earned_per_hour: At<Number>,
        /// The most that it holds. Default: what is earned in a day.
        most: Option<At<Number>>,
        /// Held at the start. Default: 0.
        at_start: Option<At<Number>>,
        /// Share of each core that it may use without credits.
        baseline: At<Share>,
        /// Whether it goes on above the baseline without credits, and pays for that. Default: false.
        unlimited: Option<At<Switch>>,
        /// What it pays then: US dollars for an hour of a core. Default: 0.05.
        surplus_per_hour: Option<At<Number>>,
    }

    /// What passes to the balancer of a service, as on a route of a gateway's file.
    AdmissionTable {
        /// A rate class that always applies.
        rate_class: Option<At<Text>>,
        /// A concurrency limit that always applies.
        concurrency: Option<At<Text>>,
        /// Limits that apply while a service level class is not conforming.
        policy: Option<At<Text>>,
    }

    /// How requests come to instances.
    BalancingTable {
        /// Which instance is next: `round-robin`, `weighted-round-robin`, `least-outstanding` or `peak-ewma`.
        /// Default: round-robin.
        algorithm: Option<At<Text>>,
        /// Balancer nodes, each with its own pointer, counts and connections. Default: 1.
        nodes: Option<At<Count>>,
        /// Which idle connection a request takes: `random`, `most-recent`, `least-recent`, or `never` for a connection
        /// a request. Default: random.
        reuse: Option<At<Text>>,
        /// An idle connection is closed after so long. Default: 60s.
        idle_timeout: Option<At<Span>>,
        /// With `never`: what each connection costs.
        connection: Option<At<ConnectionTable>>,
        /// The client's patience. Default: none.
        timeout: Option<At<Span>>,
        /// Attempts after a failure or a time-out. Default: none.
        retries: Option<At<RetriesTable>>,
        /// The most requests in flight at one instance; the rest are refused. Default: no limit.
        instance_limit: Option<At<Count>>,
        /// For how long a new instance gets less than its share. Default: not at all.
        slow_start: Option<At<Span>>,
        /// Time on the network, there and back together. Default: 0.
        network: Option<At<Span>>,
    }

    /// What a connection costs.
    ConnectionTable {
        /// Processor time of the caller, where that is a service. Default: 0.
        caller_cpu: Option<At<Span>>,
        /// Processor time of the instance. Default: 0.
        server_cpu: Option<At<Span>>,
        /// Time that passes before the request can be sent. Default: 0.
        delay: Option<At<Span>>,
    }

    /// Attempts after a failure.
    RetriesTable {
        /// The most after the first.
        most: At<Count>,
        /// Retries over requests that are allowed. Default: 20%.
        budget: Option<At<Share>>,
        /// Wait before each. Default: 0.
        backoff: Option<At<Span>>,
    }

    /// What it takes for an instance to start and to end.
    StartTable {
        /// From the decision until the processes start: billed, without metrics. Default: 0.
        provision: Option<At<Span>>,
        /// From there until it serves. Default: 0.
        boot: Option<At<Span>>,
        /// Processor use meanwhile, as a share of its cores; it is in the metrics. Default: 0.
        boot_cpu: Option<At<Share>>,
        /// For how long requests cost more on a new instance, falling evenly. Default: 0.
        warm_up: Option<At<Span>>,
        /// What processor times are multiplied by at the beginning of that. Default: 1.
        warm_up_factor: Option<At<Number>>,
        /// The longest that a draining instance is waited for. Default: 5m.
        drain: Option<At<Span>>,
        /// The most launches in a second. Default: no bound.
        launches_per_second: Option<At<Number>>,
        /// Launches that may come at once before that holds. Default: 1.
        launch_burst: Option<At<Count>>,
    }

    /// A rolling deployment.
    DeploymentTable {
        /// When, after the beginning of the measured time.
        at: At<Span>,
        /// Share of the desired count that serves all the time. Default: 100%.
        least_healthy: Option<At<Share>>,
        /// What the desired count is multiplied by for the most that run at once. Default: 2.
        most: Option<At<Number>>,
    }

    /// Instances that fail.
    FailureTable {
        /// When, after the beginning of the measured time.
        at: At<Span>,
        /// How many.
        instances: At<Count>,
        /// For how long the balancer goes on sending to them. Default: 0.
        noticed_after: Option<At<Span>>,
    }

    /// Places that are shared.
    PoolTable {
        /// How many at once.
        places: At<Count>,
        /// The most that wait; one more fails. Default: no bound.
        backlog: Option<At<Count>>,
    }

    /// What the account of the cloud allows in all.
    QuotasTable {
        /// Addresses in the subnets; each instance takes one.
        addresses: Option<At<Count>>,
        /// Virtual processors.
        vcpus: Option<At<Count>>,
        /// Instances.
        instances: Option<At<Count>>,
    }

    /// What instances cost: a built-in `table`, prices of your own, or both; your own win.
    PricesTable {
        /// A built-in table, such as `aws-us-east-1`.
        table: Option<At<Text>>,
        /// When the prices of your own held.
        as_of: Option<At<Text>>,
        /// US dollars an hour by the name of a host, or by processors and memory: `{ vcpu: 0.04048, gb: 0.004445 }`.
        per_hour: Option<Names<At<super::prices::PriceWords>>>,
        /// Every instance is billed for at least so long. Default: as the table says, or 1m.
        minimum: Option<At<Span>>,
    }
}
