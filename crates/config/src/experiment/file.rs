//! The tables of an experiment file. Their descriptions are used in the JSON Schema.

use super::vary::Values;
use crate::case::Number;
use fields::{At, Count, Frequency, Names, Needed, Share, Span, Switch, Text, tables};

tables! {
    /// A comparison of a control with candidates in which one variable is changed; or (`mirroring`) of a gateway with and
    /// without its copies.
    ExperimentTable {
        /// The name of the experiment.
        experiment: Needed<At<Text>>,
        /// The one variable that is changed, such as `workers`.
        variable: Option<At<Text>>,
        /// A finding of `headroom doctor` that the experiment is to confirm or refute.
        hypothesis: Option<At<HypothesisTable>>,
        /// The load, the same for each arm.
        load: Option<At<LoadTable>>,
        /// The service as it is.
        control: Option<At<ArmTable>>,
        /// The services that are compared with it; each has another value of the variable.
        candidates: Option<At<Vec<At<ArmTable>>>>,
        /// In place of `variable`, `control` and `candidates`: one or more variables with their values, such as
        /// `{ processes: 4..20 }`. Each is written as `{processes}` in `service`.
        vary: Option<At<Names<At<Values>>>>,
        /// With `vary`: the service, with `{NAME}` in the place of each variable.
        service: Option<At<ServiceTable>>,
        /// With `vary`: `best` (the best combination of values; the first one if several are as good) or `effects` (the
        /// effect of each variable, which has two values, and whether they depend on each other). Default: best.
        find: Option<At<Text>>,
        /// In place of `variable`, `load`, `control` and `candidates`: the admin listener of a running gateway, such as
        /// `127.0.0.1:9901` or `unix:/run/headroom.sock`. What its mirrors and its capture cost is measured by pausing them in
        /// random order, under the traffic that is there.
        mirroring: Option<At<Text>>,
        /// With `mirroring`: a file with the token of the admin listener; relative to this file.
        token_file: Option<At<Text>>,
        /// A second copy of the control, which shows how much equal services differ: `first` (before the candidates run),
        /// `alongside` (before and beside them) or `off`. Default: first if the command of the control has `{port}`,
        /// otherwise off.
        second_control: Option<At<Text>>,
        /// Whether the arms share something that both load, such as a database: `nothing`, `something` or `unknown`, which
        /// blocks with the control alone find out. Default: unknown.
        shared: Option<At<Text>>,
        /// The measure that decides: `p50`, `p95`, `p99`, `errors`, `processor_time` or `memory`. Default: p50; with `mirroring`,
        /// processor_time, or `live_processor_time` in place of `memory`.
        primary: Option<At<Text>>,
        /// Relative effects up to this are called the same. Default: 1%.
        margin: Option<At<Share>>,
        /// A candidate whose primary measure is worse by more than this is stopped. Default: 50%.
        harm: Option<At<Share>>,
        /// The effect that the experiment is planned to find. Default: 5%.
        effect: Option<At<Share>>,
        /// The longest time of the experiment, with its warm-up and the noise floor. Default: 10m.
        time: Option<At<Span>>,
        /// How long all arms get load before anything is measured; with `vary`, after each start; with `mirroring`, how long the
        /// traffic is watched. Default: 10s; with `vary`, 2s.
        warm_up: Option<At<Span>>,
        /// The length of an arm's part of a block; its first tenth is not measured. Default: a sixtieth of the time, at most
        /// 3s.
        block: Option<At<Span>>,
        /// A block is void if the generator sent requests later than this at the 99th percentile. Default: 5ms.
        max_lag: Option<At<Span>>,
        /// The longest time from the start of a command to the first good response. Default: 1m.
        ready_within: Option<At<Span>>,
        /// `duet`, `alternating`, `slices` or `restarts`. Default: the plan chooses.
        design: Option<At<Text>>,
        /// The servers that the control runs on today: the result then says how many a candidate needs.
        fleet: Option<At<FleetTable>>,
        /// `planned` (after the planned blocks, or later when the primary measure is decided), `decided` (as soon as it is) or
        /// `time` (when the time is over). Default: planned.
        ends: Option<At<Text>>,
        /// In place of `ends`: as soon as the interval of the primary measure is at most this far from its middle, for every
        /// candidate.
        precision: Option<At<Share>>,
        /// Compare status, media type, size and body of responses between the blocks; takes up to 5 % of the time. Default:
        /// true.
        compare_answers: Option<At<Switch>>,
    }

    /// A finding that is confirmed if a candidate is better, and refuted if all are worse or the same.
    HypothesisTable {
        /// The code of the finding, such as `workers`.
        finding: Needed<At<Text>>,
        /// The run in which it was found, such as `r17`, or its name: the ledger keeps the outcome with it.
        run: Option<At<Text>>,
    }

    /// Servers and their price.
    FleetTable {
        /// How many servers carry the traffic today.
        servers: At<Count>,
        /// US dollars for an hour of a server.
        per_hour: Option<At<Number>>,
        /// With `vary`: the value that they run with today, such as `4`, or `processes=4 threads=1` of several variables. Default: the
        /// first.
        value: Option<At<Text>>,
    }

    /// The load: one of `paths`, `requests` and `scenario`, and one of `rate`, `users` and `times`.
    LoadTable {
        /// GET of these paths, in turn.
        paths: Option<At<Vec<At<Text>>>>,
        /// An access log, a capture or another list of requests, sent in turn; relative to this file.
        requests: Option<At<Text>>,
        /// With `requests`, in place of a rate: `recorded` (each block has the next part of the list, at its recorded times) or
        /// `live` (the list is a capture that the gateway is writing; each block has the requests that came just before it,
        /// at their times).
        times: Option<At<Text>>,
        /// Leave out requests of the list that change data (POST, PUT, DELETE, ...). Default: false.
        reads_only: Option<At<Switch>>,
        /// A scenario file, without its load and base URL; relative to this file.
        scenario: Option<At<Text>>,
        /// Open model: the rate of requests (of iterations of a scenario) to each arm.
        rate: Option<At<Frequency>>,
        /// Closed model: the number of users at each arm.
        users: Option<At<Count>>,
        /// The time-out of a request. Default: 10s.
        timeout: Option<At<Span>>,
    }

    /// A service whose variables have several values: a command that headroom starts and stops for each of them.
    ServiceTable {
        /// The shell command that starts it; `{port}` is replaced by a free port, `{NAME}` by the value of a variable.
        command: Needed<At<Text>>,
        /// Variables of the environment of the command.
        env: Option<At<Names<At<Text>>>>,
        /// Its scheme, host and port. Default: `http://127.0.0.1:{port}`.
        url: Option<At<Text>>,
        /// Whether its writes go to a store of its own, so that it may get requests that change data. Default: false.
        own_store: Option<At<Switch>>,
    }

    /// A service: a `command` that headroom starts and stops, or the `url` of one that runs already.
    ArmTable {
        /// The value of the variable.
        value: At<Text>,
        /// The shell command that starts it; `{port}` is replaced by a free port.
        command: Option<At<Text>>,
        /// Variables of the environment of the command.
        env: Option<At<Names<At<Text>>>>,
        /// Its scheme, host and port, such as `http://127.0.0.1:{port}`, which is the default with a command that has
        /// `{port}`.
        url: Option<At<Text>>,
        /// The id of its process, for processor time and memory, if it runs already on this machine.
        pid: Option<At<Count>>,
        /// Whether its writes go to a store of its own, so that it may get requests that change data. Default: false.
        own_store: Option<At<Switch>>,
    }
}
