//! The tables of a case file. Their descriptions are used in the JSON Schema.

use super::words::{Begins, GoalText, LockTime, Number, RandomSizes, Seed, Times, Zone, ZoneNames};
use crate::file::{
    FileAffinity, FileConcurrency, FileEjection, FileHealth, FileKey, FilePolicy, FilePriority, FileQueue,
    FileRateClass, FileServiceLevel,
};
use fields::{At, Count, Frequency, Names, Needed, Share, Size, Span, Switch, Text, tables};

use super::live_file::LiveTable;
pub(super) use super::scaling_file::ScalingTable;

tables! {
    /// A fleet, its traffic, its scaling policies, and the published results of the account.
    CaseTable {
        /// The name of the case.
        case: Needed<At<Text>>,
        /// Description of the case.
        about: Option<Text>,
        /// The result of the calibration that the model comes from, as `headroom calibrate` writes it. Default: none; the
        /// figures are from elsewhere.
        calibration: Option<At<CalibrationTable>>,
        /// The traffic at the first service.
        traffic: Needed<At<TrafficTable>>,
        /// Services by name. Traffic enters at the first.
        services: Needed<At<Names<At<ServiceTable>>>>,
        /// Service level classes, as in a gateway's file.
        service_levels: Option<Names<FileServiceLevel>>,
        /// Priority classes, as in a gateway's file, the lowest first.
        priorities: Option<At<Vec<At<Text>>>>,
        /// Rate classes, as in a gateway's file.
        rate_classes: Option<Names<FileRateClass>>,
        /// Concurrency limits, as in a gateway's file.
        concurrency_limits: Option<Names<FileConcurrency>>,
        /// Limits that apply only while a service level class is not conforming, as in a gateway's file.
        policies: Option<Names<FilePolicy>>,
        /// Shared pools by name, such as database connections.
        pools: Option<Names<At<PoolTable>>>,
        /// The quotas of the cloud account.
        quotas: Option<QuotasTable>,
        /// The prices of instances. Without them no cost is reported.
        prices: Option<At<PricesTable>>,
        /// The goal of each row, such as `p(95)<600ms`. Rows (minutes, unless `rows` says another length) that miss it
        /// are counted.
        goal: Option<At<GoalText>>,
        /// Time that is simulated before the measured time and not reported. Default: 0.
        warm_up: Option<At<Span>>,
        /// The measured time. Default: 1d (or `day_length`), or the length of the traffic file.
        measured: Option<At<Span>>,
        /// The length of a row of the result, over which the goal is judged: whole seconds that divide a minute, such as
        /// `1s` for a fleet that scales within seconds. `warm_up` and `measured` are whole rows. Default: 1m.
        rows: Option<At<Span>>,
        /// When the measured time begins: a time of day, or a date with or without a time, such as `2026-03-02T08:00`
        /// or `2026-03-02T08:00+01:00`. Weekdays and dates in `week` and `schedule` need a date. Default: the beginning
        /// of a traffic file with times, or 00:00.
        begins: Option<At<Begins>>,
        /// The time zone of all times in this file that have none, such as `Europe/Berlin` or `'+01:00'`. Default: the
        /// offset of `begins`, or UTC.
        zone: Option<At<Zone>>,
        /// The seed of all random numbers. Default: 1.
        seed: Option<At<Seed>>,
        /// What `headroom tune` may change. Default: everything that it can.
        tune: Option<At<TuneTable>>,
        /// The running service that `headroom scale` reads and changes. Simulations ignore it.
        live: Option<At<LiveTable>>,
        /// The stages of the account: each has its changes relative to the stage before.
        stages: Option<At<Vec<At<StageTable>>>>,
        /// Required results, and published results to compare with.
        published: Option<At<Vec<At<RowTable>>>>,
    }

    /// What `headroom tune` may change.
    TuneTable {
        /// Keys that stay as they are, with everything below them, such as `services.web.scaling.max`.
        keep: Option<Vec<At<Text>>>,
        /// Keys with the only values that are tried, besides today's.
        values: Option<Vec<At<TuneValuesTable>>>,
    }

    /// The values of a key.
    TuneValuesTable {
        /// The key, such as `services.web.scaling.min`.
        key: At<Text>,
        /// Its values.
        values: At<Vec<At<Text>>>,
    }

    /// The result of a calibration.
    CalibrationTable {
        /// Whether the model predicted the trials that were kept out of the fit: `valid` or `suspect`. From a suspect
        /// model, no savings are shown.
        verdict: At<Text>,
        /// Why a model is suspect.
        reasons: Option<Vec<Text>>,
        /// The prediction that was furthest off.
        worst: Option<WorstTable>,
        /// Figures that are not known: `cpu`, `wait`, `throughput`, `cores`, `server`, `start`. Without `cpu`, policies
        /// on processor use are refused.
        unknown: Option<Vec<At<Text>>>,
    }

    /// A prediction of the backtest, and what was measured.
    WorstTable {
        /// The figure, such as `p95_ms`.
        what: At<Text>,
        /// The rate of the trial.
        at: At<Frequency>,
        /// What the model predicted.
        predicted: At<Number>,
        /// What was measured.
        measured: At<Number>,
    }

    /// A stage: the stage before it with some changes.
    StageTable {
        /// Its name: letters, digits, `-` and `_`.
        name: At<Text>,
        /// The change and its reason.
        about: Option<Text>,
        /// The stage that it changes. Default: the last one before it that is not an aside.
        after: Option<At<Text>>,
        /// Whether the stage is independent of the sequence, such as a negative control: later stages are not based on
        /// it. Default: false.
        aside: Option<At<Switch>>,
        /// Keys of this file with their new values. Tables are merged, other values are replaced, and a key without a
        /// value is removed.
        changes: Option<At<fields::Tree>>,
    }

    /// A published result, and the bounds for the simulated one.
    RowTable {
        /// What the row is about.
        what: At<Text>,
        /// The published statement.
        says: Option<Text>,
        /// The condition, such as `final.p95 / baseline.p95 in 0.40..0.60` or `throttle-2.p95 > baseline.p95`.
        row: At<Text>,
        /// Why the row is only reported and not required. Without this key it is required.
        reported: Option<At<Text>>,
    }

    /// One of `rate`, `peak` with `day`, `file`, and `users`.
    TrafficTable {
        /// A constant rate.
        rate: Option<At<Frequency>>,
        /// The highest rate of the day.
        peak: Option<At<Frequency>>,
        /// Shares of the peak by time of day: `{ '02:30': 34%, '10:00': 85% }`. The shape is repeated every day.
        day: Option<At<Names<At<Share>>>>,
        /// The time in which `day` is played: a day in 2 minutes, for a fleet that scales within seconds. Times of day in
        /// `day` and `week` are then shares of this time after `begins`; all other times in the file stay what they are.
        /// At least 24 rows. Default: 24h.
        day_length: Option<At<Span>>,
        /// The shapes of weekdays that differ from `day`: `{ mon-fri: { '12:00': 100% }, sat-sun: { '15:00': 60% } }`.
        /// Without `day`, all seven days are needed. Needs a date in `begins`.
        week: Option<At<Names<At<Names<At<Share>>>>>>,
        /// Interpolation between these times: `smooth` (half a cosine) or `straight` (linear). Default: smooth.
        rises: Option<At<Text>>,
        /// Noise on the rate, row by row.
        noise: Option<NoiseTable>,
        /// The arrivals within a row: `poisson` (independent) or `even` (evenly spaced). Default: poisson.
        arrivals: Option<At<Text>>,
        /// A table of counts over time, relative to this file.
        file: Option<At<Text>>,
        /// The width of the rows of the file. Default: derived from its times.
        bin: Option<At<Span>>,
        /// The factor for the counts of the file. Default: 1.
        times: Option<At<Number>>,
        /// Users; each sends the next request after the response to the last one.
        users: Option<At<Count>>,
        /// Time between a response and the user's next request. Default: 0.
        think: Option<At<Times>>,
        /// The values by which limits and balancing tell requests apart, by the name of the header field or cookie, or
        /// `client` for the client address. With `users`, each user is a client and keeps its values.
        keys: Option<Names<At<KeyTable>>>,
    }

    /// The values of a key: `count`, or `shares`.
    KeyTable {
        /// How many values there are, such as clients.
        count: Option<At<Count>>,
        /// With `count`: the n-th value is as frequent as 1/n to the power of this number. Default: 0, all are equally
        /// frequent.
        zipf: Option<At<Number>>,
        /// The share of the requests that have each value; the rest has none.
        shares: Option<At<Names<At<Share>>>>,
    }

    /// Autocorrelated log-normal noise.
    NoiseTable {
        /// Standard deviation of the logarithm, such as 0.06.
        sigma: At<Number>,
        /// Correlation from row to row, from 0 up to 1. Default: 0.
        phi: Option<At<Share>>,
    }

    /// A fleet of equal instances behind a balancer.
    ServiceTable {
        /// The kinds of requests, by name.
        endpoints: Needed<At<Names<At<EndpointTable>>>>,
        /// The application server on each instance.
        server: Needed<At<ServerTable>>,
        /// The hosts of instances, by name. The n-th instance gets the n-th host, cyclically.
        hosts: Needed<At<Names<At<HostTable>>>>,
        /// Availability zones of the instances: a number (`3`: a, b and c) or names. Default: not modelled.
        zones: Option<At<ZoneNames>>,
        /// Limits before the balancer. Default: none.
        admission: Option<At<AdmissionTable>>,
        /// How requests are distributed over instances.
        balancing: Option<At<BalancingTable>>,
        /// Times and costs of starting and ending an instance.
        start: Option<At<StartTable>>,
        /// Instances at the beginning. Default: the minimum of the scaling at that time, or 1.
        instances: Option<At<Count>>,
        /// The autoscaler.
        scaling: Option<At<ScalingTable>>,
        /// Rolling deployments.
        deployments: Option<Vec<At<DeploymentTable>>>,
        /// Instances that fail.
        failures: Option<Vec<At<FailureTable>>>,
    }

    /// A kind of request: `cpu`, `wait` and `bursts`, or `steps`.
    EndpointTable {
        /// Its share of the requests that enter here, relative to the others. Default: 1, or 0 for services that only
        /// others call.
        share: Option<At<Number>>,
        /// Total processor time.
        cpu: Option<At<Times>>,
        /// Total waiting time: databases, disks, third-party services. Default: 0.
        wait: Option<At<Times>>,
        /// Number of bursts into which the processor time is split, with waits between and after them. Default: 1.
        bursts: Option<At<Count>>,
        /// Times during which the wait is longer.
        incidents: Option<At<IncidentsTable>>,
        /// Its steps in order, for requests with more than one.
        steps: Option<At<Vec<At<StepTable>>>>,
        /// Share of the requests that end with a server error. Default: 0.
        errors: Option<At<Share>>,
        /// The priority class of its requests, as on a route of its own. Default: `priority` in `admission`.
        priority: Option<At<FilePriority>>,
        /// Size of the body of a response, for `headroom simulate --request-log`; it takes no time.
        bytes: Option<At<RandomSizes>>,
    }

    /// One of work (`cpu`, `wait`, `bursts`, `incidents`), `hold` with `time`, and `call`.
    StepTable {
        /// Total processor time.
        cpu: Option<At<Times>>,
        /// Total waiting time. Default: 0.
        wait: Option<At<Times>>,
        /// Number of bursts into which the processor time is split. Default: 1.
        bursts: Option<At<Count>>,
        /// Times during which the wait is longer.
        incidents: Option<At<IncidentsTable>>,
        /// Holds a slot of this pool.
        hold: Option<At<Text>>,
        /// For how long.
        time: Option<At<Times>>,
        /// Calls these endpoints, all at once, and continues when all have responded: `service/endpoint`.
        call: Option<At<Vec<At<Text>>>>,
    }

    /// Incidents of a third party, which occur at random.
    IncidentsTable {
        /// Mean number per hour.
        per_hour: At<Number>,
        /// How long each lasts.
        duration: At<Span>,
        /// The factor of waits during an incident.
        factor: At<Number>,
    }

    /// The application server of an instance.
    ServerTable {
        /// Processes. Default: 1.
        processes: Option<At<Count>>,
        /// Requests that a process handles at once. Default: 1.
        threads: Option<At<Count>>,
        /// For runtimes that run one thread of a process at a time: how long a thread keeps the lock while another
        /// waits, or `held` for an event loop. Default: threads run at the same time.
        lock: Option<At<LockTime>>,
        /// Where requests wait for a thread: `shared` (any free thread takes the next), `per-process` (a random
        /// process) or `kept` (a kept connection belongs to the process that accepted it). Default: shared.
        accept: Option<At<Text>>,
        /// Maximum number of waiting requests; further ones are refused. Default: 1024.
        backlog: Option<At<Count>>,
        /// With `kept`: how long a thread waits on a connection after a response. Default: 0.
        linger: Option<At<Span>>,
        /// With `kept`: after this many requests in a row on one connection the thread does not wait. Default: 10.
        inline: Option<At<Count>>,
        /// Workers in front of the processes on the same host, such as nginx.
        front: Option<At<FrontTable>>,
        /// Memory of a process. Default: not modelled.
        memory_per_process: Option<At<Size>>,
    }

    /// Single-threaded workers that forward requests.
    FrontTable {
        /// How many.
        workers: At<Count>,
        /// Processor time for each request. Default: 0.
        cpu: Option<At<Times>>,
        /// Time for each request in which the worker is blocked (disk, log). Default: 0.
        wait: Option<At<Times>>,
        /// Maximum number of requests that wait for a worker. Default: 1024.
        backlog: Option<At<Count>>,
    }

    /// The host of an instance.
    HostTable {
        /// Processors.
        cores: Needed<At<Count>>,
        /// Speed of a core, relative to the one on which the processor times were measured. Default: 1.
        speed: Option<At<Number>>,
        /// Cores that it may use on average, if fewer: 0.05 is 50 millicores.
        limit: Option<At<Number>>,
        /// The period of that limit. Default: 100ms.
        limit_period: Option<At<Span>>,
        /// Memory. Default: not modelled.
        memory: Option<At<Size>>,
        /// What a pod requests: prices by `vcpu` and `gb` are for it.
        request: Option<At<RequestTable>>,
        /// Processor use that is not caused by requests, in cores. Default: 0.
        background: Option<At<Number>>,
        /// For burstable types: credits for use above the baseline.
        credits: Option<At<CreditsTable>>,
        /// Share of each core that neighbours take. Default: 0.
        steal: Option<At<Share>>,
        /// Its name in the table of prices. Default: its own name.
        price: Option<At<Text>>,
    }

    /// The resources that a pod requests.
    RequestTable {
        /// Processor request, in cores. Default: `request` of its autoscaler, or `limit`, or all cores.
        cpu: Option<At<Number>>,
        /// Memory request. Default: `memory`.
        memory: Option<At<Size>>,
    }

    /// Processor credits; one is one core for one minute.
    CreditsTable {
        /// Credits earned per hour.
        earned_per_hour: At<Number>,
        /// The highest balance. Default: the credits of a day.
        most: Option<At<Number>>,
        /// The balance at the start. Default: 0.
        at_start: Option<At<Number>>,
        /// Share of each core that it may use without credits.
        baseline: At<Share>,
        /// Whether it may exceed the baseline without credits, at a price. Default: false.
        unlimited: Option<At<Switch>>,
        /// That price: US dollars for an hour of a core. Default: 0.05.
        surplus_per_hour: Option<At<Number>>,
    }

    /// Limits before the balancer of a service, as on a route of a gateway's file.
    AdmissionTable {
        /// A rate class that always applies.
        rate_class: Option<At<Text>>,
        /// A concurrency limit that always applies.
        concurrency: Option<At<Text>>,
        /// Limits that apply while a service level class is not conforming.
        policy: Option<At<Text>>,
        /// The priority class of all requests, or `{ header: … }` for the class that the value of a key names.
        priority: Option<At<FilePriority>>,
        /// A key of the traffic that says how long each client waits, such as `250ms`: requests that cannot pass in time
        /// are refused.
        deadline_header: Option<At<Text>>,
    }

    /// How requests are distributed over instances.
    BalancingTable {
        /// The balancing algorithm: `round-robin`, `weighted-round-robin`, `least-outstanding`, `peak-ewma` or
        /// `consistent-hash`. Default: round-robin.
        algorithm: Option<At<Text>>,
        /// With `consistent-hash`: the key that is hashed, as in a gateway's file.
        hash: Option<At<FileKey>>,
        /// Session affinity, as in a gateway's file: clients stay with their instance.
        affinity: Option<At<FileAffinity>>,
        /// Ejection of instances that fail requests, as in a gateway's file.
        ejection: Option<At<FileEjection>>,
        /// Active checks of the instances, as in a gateway's file. They cost the instances nothing.
        health: Option<At<FileHealth>>,
        /// With `affinity`, `ejection`, `health` or `consistent-hash`: all instances are used if less than this share of them is
        /// usable. Default: 50%.
        panic_below: Option<At<Share>>,
        /// Balancer nodes, each with its own pointer, counts and connections. Default: 1.
        nodes: Option<At<Count>>,
        /// Which idle connection is reused: `random`, `most-recent`, `least-recent`, or `never` for a new connection
        /// per request. Default: random.
        reuse: Option<At<Text>>,
        /// An idle connection is closed after this time. Default: 60s.
        idle_timeout: Option<At<Span>>,
        /// With `never`: the cost of each connection.
        connection: Option<At<ConnectionTable>>,
        /// The client's time-out. Default: none.
        timeout: Option<At<Span>>,
        /// Attempts after a failure or a time-out. Default: none.
        retries: Option<At<RetriesTable>>,
        /// Maximum requests in flight at one instance; further ones go to another instance. If all are full, they wait in
        /// the `queue`, or are refused without one. Default: no limit.
        instance_limit: Option<At<Count>>,
        /// With `instance_limit`: requests that wait while all instances are full, as in a gateway's file. Default: none
        /// waits.
        queue: Option<At<FileQueue>>,
        /// How long a new instance gets less than its share. Default: 0.
        slow_start: Option<At<Span>>,
        /// Network time, there and back together. Default: 0.
        network: Option<At<Span>>,
        /// With `zones`: whether a balancer node sends to the instances of all zones (cross-zone load balancing), or only
        /// to those of its own zone; each node gets an equal share of the requests. Default: true.
        cross_zone: Option<At<Switch>>,
    }

    /// The cost of a connection.
    ConnectionTable {
        /// Processor time of the caller, if it is a service. Default: 0.
        caller_cpu: Option<At<Span>>,
        /// Processor time of the instance. Default: 0.
        server_cpu: Option<At<Span>>,
        /// Delay before the request can be sent. Default: 0.
        delay: Option<At<Span>>,
    }

    /// Attempts after a failure.
    RetriesTable {
        /// Maximum number of attempts after the first.
        most: At<Count>,
        /// The allowed share of retries. Default: 20%.
        budget: Option<At<Share>>,
        /// Wait before each. Default: 0.
        backoff: Option<At<Span>>,
    }

    /// Times and costs of starting and ending an instance.
    StartTable {
        /// From the decision until the processes start: billed, without metrics. Default: 0.
        provision: Option<At<Span>>,
        /// The time from then until it serves. Default: 0.
        boot: Option<At<Span>>,
        /// Processor use during the boot, as a share of its cores; the metrics include it. Default: 0.
        boot_cpu: Option<At<Share>>,
        /// How long requests cost more on a new instance, with a linear decrease. Default: 0.
        warm_up: Option<At<Span>>,
        /// The factor of processor times at the beginning of the warm-up. Default: 1.
        warm_up_factor: Option<At<Number>>,
        /// The longest time for draining an instance. Default: 5m.
        drain: Option<At<Span>>,
        /// Maximum launches per second. Default: no bound.
        launches_per_second: Option<At<Number>>,
        /// Launches that may happen at once before that rate applies. Default: 1.
        launch_burst: Option<At<Count>>,
    }

    /// A rolling deployment.
    DeploymentTable {
        /// When, after the beginning of the measured time.
        at: At<Span>,
        /// Minimum share of the desired count that serves at all times. Default: 100%.
        least_healthy: Option<At<Share>>,
        /// The maximum of instances that run at once, as a multiple of the desired count. Default: 2.
        most: Option<At<Number>>,
    }

    /// Instances that fail: a number of them, or all of a zone.
    FailureTable {
        /// When, after the beginning of the measured time.
        at: At<Span>,
        /// How many.
        instances: Option<At<Count>>,
        /// The zone that is lost with all of its instances.
        zone: Option<At<Text>>,
        /// How long nothing is launched in the zone. Default: to the end of the run.
        lasts: Option<At<Span>>,
        /// How long the balancer continues to send to them. Default: 0.
        noticed_after: Option<At<Span>>,
    }

    /// Shared slots.
    PoolTable {
        /// The number of slots.
        places: At<Count>,
        /// Maximum number of waiting requests; further ones fail. Default: no bound.
        backlog: Option<At<Count>>,
    }

    /// The quotas of the cloud account.
    QuotasTable {
        /// Addresses in the subnets; each instance takes one.
        addresses: Option<At<Count>>,
        /// Virtual processors.
        vcpus: Option<At<Count>>,
        /// Instances.
        instances: Option<At<Count>>,
    }

    /// Prices of instances: a built-in `table`, your own prices, or both; your own take precedence.
    PricesTable {
        /// A built-in table, such as `aws-us-east-1`.
        table: Option<At<Text>>,
        /// The date of your own prices.
        as_of: Option<At<Text>>,
        /// US dollars per hour by the name of a host, or by processors and memory: `{ vcpu: 0.04048, gb: 0.004445 }`.
        per_hour: Option<Names<At<super::prices::PriceWords>>>,
        /// The minimum billed time of an instance. Default: that of the table, or 1m.
        minimum: Option<At<Span>>,
    }
}
