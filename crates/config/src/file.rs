//! The tables of a gateway file. Their descriptions are used in the JSON Schema.

mod key;
mod limits;
pub(crate) mod mirror;
mod pools;
mod scalar;

pub(crate) use key::{FileKey, FileKeyTable};
pub(crate) use limits::{FileAdaptive, FilePriority, FileQueue};
pub(crate) use pools::*;
pub(crate) use scalar::{Range, StatusWord};

use fields::{
    Address, At, Count, Frequency, Names, Needed, PerMinute, Read, Report, Share, Size, Span, Speed, Switch,
    Text, place, schema_of_word_or_table, tables,
};
use mirror::{FileMirror, OneOrMore};
use yaml::{Kind, Node};

tables! {
    /// The configuration of a headroom gateway.
    File {
        /// The address on which clients connect.
        listen: Needed<At<Address>>,
        /// The address of the admin listener (`/metrics`, `/status`, `/livez`, `/readyz` and so on): a loopback
        /// address, or a table. Default: none.
        admin: Option<At<FileAdmin>>,
        /// Number of event loops, each with its own thread. Default: 1.
        workers: Option<At<Count>>,
        /// A file, `off`, `-` for standard output, or a table. Default: off.
        access_log: Option<At<FileAccessLog>>,
        /// Bounds on clients and time.
        limits: Option<FileLimits>,
        /// Proxies in front of the gateway, as addresses or ranges such as `10.0.0.0/8`. Only their information about
        /// the client (`X-Forwarded-For`, `Forwarded`) and the time of arrival (`X-Request-Start`) is trusted. Default:
        /// none.
        trusted_hops: Option<At<Vec<At<Range>>>>,
        /// Groups of instances of the same service, by name.
        pools: Needed<Names<FilePool>>,
        /// Service level classes: which responses conform.
        service_levels: Option<Names<FileServiceLevel>>,
        /// Rate classes: how many requests may pass over time.
        rate_classes: Option<Names<FileRateClass>>,
        /// Concurrency limits: how many requests may be in flight.
        concurrency_limits: Option<Names<FileConcurrency>>,
        /// The names of the priority classes; the first is shed first. At most eight.
        priorities: Option<At<Vec<At<Text>>>>,
        /// Limits that apply only while a service level class is not conforming.
        policies: Option<Names<FilePolicy>>,
        /// Copies of live requests to shadow pools.
        mirrors: Option<Names<FileMirror>>,
        /// Tried in order; the first match is used. Other requests get a 404.
        routes: Needed<At<Vec<At<FileRoute>>>>,
    }

    /// An admin listener for other users or machines.
    FileAdminTable {
        /// An IP address and port, or `unix:` and the path of a socket that only its owner may use.
        listen: At<Text>,
        /// A file with the token that requests must send, except those for `/livez` and `/readyz`. Required for an
        /// address that other machines can reach.
        token_file: Option<At<Text>>,
    }

    /// The access log with its format.
    FileAccessLogTable {
        /// A file, or `-` for standard output.
        file: At<Text>,
        /// `extended`: the combined format without referer and user agent, followed by times and reason. `combined`:
        /// nginx's. `json`: one object per line. Default: extended.
        format: Option<At<Text>>,
        /// Size of a worker's write buffer. Default: 64KiB.
        buffer: Option<At<Size>>,
        /// The longest time before a line is written. Default: 1s.
        flush: Option<At<Span>>,
    }

    /// Bounds on clients and time.
    FileLimits {
        /// Maximum number of client connections. At the maximum, connections without a request are closed for new
        /// clients; if there are none, new connections are closed at once. Default: 10000.
        connections: Option<At<Count>>,
        /// Maximum number of connections from one client address (for IPv6 from one /64), except trusted hops. Default:
        /// no limit.
        connections_per_client: Option<At<Count>>,
        /// The longest time for reading a request's head, from its first byte; for the first request of a connection
        /// from when the connection was accepted. Default: 10s.
        head_timeout: Option<At<Span>>,
        /// How long a client's connection may be idle. Default: 60s.
        idle_timeout: Option<At<Span>>,
        /// Minimum transfer rate of a body while the gateway waits for the client; slower requests end with 408. `0`
        /// disables it. Default: 240B/s.
        body_min_rate: Option<At<Speed>>,
        /// How long a request's body may stay below that rate. Default: 5s.
        body_grace: Option<At<Span>>,
        /// The longest time for a request's whole body. Default: no limit.
        body_timeout: Option<At<Span>>,
        /// Maximum size of a request's body; larger ones get a 413. Default: no limit.
        body_max: Option<At<Size>>,
        /// How long SIGTERM waits for requests in flight. Default: 30s.
        drain_timeout: Option<At<Span>>,
        /// Maximum size of a request's head, with its request line; larger ones get a 431. Default: 16KiB.
        request_head_max: Option<At<Size>>,
        /// Maximum number of header fields of a request; more get a 431. Default: 100.
        request_fields_max: Option<At<Count>>,
        /// Maximum length of a request's target, path and query; longer ones get a 414. Default: 8KiB.
        request_target_max: Option<At<Size>>,
        /// Maximum size of the head of an instance's response, with its status line; larger ones become a 502. Default:
        /// 16KiB.
        answer_head_max: Option<At<Size>>,
        /// Maximum number of header fields of an instance's response; more become a 502. Default: 100.
        answer_fields_max: Option<At<Count>>,
    }

    /// Instances of the same service.
    FilePool {
        /// Their addresses, as IP addresses with ports, or tables with `address`, `weight` and `drain`.
        instances: At<Vec<At<FileInstance>>>,
        /// The balancing algorithm: `least_outstanding`, `round_robin`, `peak_ewma`, or a table with `hash`. Default:
        /// least_outstanding.
        balance: Option<At<FileBalance>>,
        /// Session affinity: clients stay with their instance. Default: disabled.
        affinity: Option<At<FileAffinity>>,
        /// Active health checks of the instances. Default: none.
        health: Option<At<FileHealth>>,
        /// Ejection: an instance that fails requests gets none for some time. Default: disabled.
        ejection: Option<At<FileEjection>>,
        /// How long the share of a new or returning instance takes to reach its full value. Default: 0.
        slow_start: Option<At<Span>>,
        /// If less than this share of the instances is usable, all of them are used. Default: 50%.
        panic_below: Option<At<Share>>,
        /// Retries of failed requests.
        retries: Option<FileRetries>,
        /// Time-out for connecting. Default: 1s.
        connect_timeout: Option<At<Span>>,
        /// Time-out for the first byte of a response, and for each next part of it. Default: 60s.
        answer_timeout: Option<At<Span>>,
        /// Idle connections kept to each instance by each worker. Default: 64.
        idle_connections: Option<At<Count>>,
        /// How long an idle connection is kept. Default: 30s.
        idle_timeout: Option<At<Span>>,
        /// Maximum of requests at each instance at once, from all workers together. Default: no limit.
        instance_concurrency: Option<At<Count>>,
        /// The queue for requests while all instances are full. Default: none.
        queue: Option<At<FileQueue>>,
    }

    /// The source of a value.
    FileProvenance {
        /// The run in the ledger.
        run: Text,
        /// The date of the measurement.
        date: Text,
        /// The measured target.
        target: Text,
    }

    /// Which responses conform. Needs `target`, `not_conforming` or both.
    FileServiceLevel {
        /// The longest time to first byte of a conforming response. Default: no limit.
        target: Option<At<Span>>,
        /// Statuses that do not conform, however fast the response: `[5xx, 429]`. Default: none.
        not_conforming: Option<At<Vec<At<StatusWord>>>>,
        /// The window over which the share of conforming responses is measured. Default: 10s.
        window: Option<At<Span>>,
        /// The source of the target.
        provenance: Option<FileProvenance>,
    }

    /// How many requests may pass over time. Needs `rate`, `per_minute` or both.
    FileRateClass {
        /// Requests per second.
        rate: Option<At<Frequency>>,
        /// Requests that may pass at once after an idle period. Default: 1, which spaces requests evenly.
        burst: Option<At<Count>>,
        /// Requests per minute.
        per_minute: Option<At<PerMinute>>,
        /// Requests that may pass at once under the limit per minute. Default: 1.
        per_minute_burst: Option<At<Count>>,
        /// How many requests may wait for their turn. Default: 0.
        backlog: Option<At<Count>>,
        /// How long a request may wait for its turn. Default: 1s with a backlog.
        longest_wait: Option<At<Span>>,
        /// A separate limit for each `client` (address), `{ header: … }` or `{ cookie: … }`; for requests without that
        /// field or cookie, by address. Default: one limit for all requests.
        key: Option<At<FileKey>>,
        /// Maximum number of keys; further keys share a few limits. Default: 10000.
        keys: Option<At<Count>>,
        /// Only counts what it would have shed, and lets all requests pass. Default: false.
        shadow: Option<At<Switch>>,
        /// The source of the rate.
        provenance: Option<FileProvenance>,
    }

    /// How many requests may be in flight.
    FileConcurrency {
        /// Requests in flight; the initial value of an adaptive limit.
        limit: At<Count>,
        /// The bounds of an adaptive limit.
        adaptive: Option<At<FileAdaptive>>,
        /// The queue for requests while the limit is reached. Default: none.
        queue: Option<At<FileQueue>>,
        /// The share of the limit that each priority class may fill, in the order of `priorities`.
        priorities: Option<At<Vec<At<Share>>>>,
        /// Only counts what it would have shed, and lets all requests pass. Default: false.
        shadow: Option<At<Switch>>,
        /// The source of the limit.
        provenance: Option<FileProvenance>,
    }

    /// Limits that apply only while a service level class is not conforming.
    FilePolicy {
        /// The service level class.
        service_level: At<Text>,
        /// The limits are engaged below this conforming share. Default: 100%.
        enter_below: Option<At<Share>>,
        /// The limits are lifted from this share on, over a whole window. Default: 100%.
        leave_at: Option<At<Share>>,
        /// Fewer responses in the window are ignored. Default: 1.
        min_samples: Option<At<Count>>,
        /// The rate class that applies while the policy is engaged.
        rate_class: Option<At<Text>>,
        /// The concurrency limit that applies while the policy is engaged.
        concurrency: Option<At<Text>>,
        /// Its limits only count what they would have shed, and let all requests pass. Default: false.
        shadow: Option<At<Switch>>,
    }

    /// Which requests the route matches, and how they are handled. Needs `path` or `path_prefix`, and `pool`.
    FileRoute {
        /// Its name in metrics and logs. Default: host and path.
        name: Option<At<Text>>,
        /// The host to match, without port. Default: every host.
        host: Option<At<Text>>,
        /// The exact path to match, without query.
        path: Option<At<Text>>,
        /// The path to match with all paths below it; `/` is every path.
        path_prefix: Option<At<Text>>,
        /// Also match other spellings that a service may accept for the path: letters of either case, `;` parameters,
        /// dot segments that it does not resolve. Default: false.
        any_spelling: Option<At<Switch>>,
        /// The pool that handles the requests.
        pool: At<Text>,
        /// The service level class of its requests. With a policy: that of the policy.
        service_level: Option<At<Text>>,
        /// A rate class that always applies.
        rate_class: Option<At<Text>>,
        /// A concurrency limit that always applies.
        concurrency: Option<At<Text>>,
        /// Limits that apply while a service level class is not conforming.
        policy: Option<At<Text>>,
        /// The priority class of its requests, or `{ header: …, otherwise: … }`. Default: the highest.
        priority: Option<At<FilePriority>>,
        /// A header with the client's time-out, such as `X-Request-Timeout` or `grpc-timeout`.
        deadline_header: Option<At<Text>>,
        /// Bodies up to this size are read completely before the limits apply, and larger ones get a 413. At most
        /// 16MiB. Default: bodies are streamed.
        buffer_body: Option<At<Size>>,
        /// A rule in Luau that decides for each request, before the limits: a file, or name and text.
        rule: Option<At<FileRule>>,
        /// A rule in Luau that may change or replace each response of an instance: a file, or name and text.
        response_rule: Option<At<FileRule>>,
        /// The response to a shed request. Default: problem, which is 503 with problem details.
        shed: Option<At<FileShed>>,
        /// Metrics of the instances' `Server-Timing` whose durations are summed up, by name. Default: none.
        server_timing: Option<At<Vec<At<Text>>>>,
        /// The mirrors that copy its requests: one, or a list of them.
        mirror: Option<OneOrMore>,
        /// Request trailers that are forwarded to the instances, by name. Others are dropped. Default: none.
        request_trailers: Option<At<Vec<At<Text>>>>,
    }

    /// A rule within this file.
    FileRuleText {
        /// Its name in messages.
        name: At<Text>,
        /// Luau.
        text: Text,
    }

    /// The response to a shed request: one of `page`, `text` and `redirect`.
    FileShedTable {
        /// A file that is sent with 503.
        page: Option<At<Text>>,
        /// A page within this file, sent with 503.
        text: Option<At<Text>>,
        /// The media type of the page. Default: by the extension of the file; text/html for a text.
        content_type: Option<At<Text>>,
        /// The location of a redirect (302).
        redirect: Option<At<Text>>,
    }
}

/// The address of the admin listener: a single value is an address.
#[derive(Debug)]
pub(crate) enum FileAdmin {
    Address(String),
    Table(FileAdminTable),
}

impl Read for FileAdmin {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(address) => Some(FileAdmin::Address(address.clone())),
            _ => FileAdminTable::read(node, path, report).map(FileAdmin::Table),
        }
    }
}

/// The target of the access log: a single value is a file.
#[derive(Debug)]
pub(crate) enum FileAccessLog {
    File(String),
    Table(Box<FileAccessLogTable>),
}

impl Read for FileAccessLog {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(file) => Some(FileAccessLog::File(file.clone())),
            _ => {
                let table = FileAccessLogTable::read(node, path, report);
                table.map(|table| FileAccessLog::Table(Box::new(table)))
            }
        }
    }
}

/// The source of a rule: a single value is a file.
#[derive(Debug)]
pub(crate) enum FileRule {
    File(String),
    Here(FileRuleText),
}

impl Read for FileRule {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(file) => Some(FileRule::File(file.clone())),
            _ => FileRuleText::read(node, path, report).map(FileRule::Here),
        }
    }
}

/// The response to a shed request: `problem`, or a table.
#[derive(Debug)]
pub(crate) enum FileShed {
    Problem,
    Table(Box<FileShedTable>),
}

impl Read for FileShed {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(word) if word == "problem" => Some(FileShed::Problem),
            Kind::Scalar(word) => {
                let message = format!("expected `problem`, a page or a redirect, found `{word}`");
                let help = "write `problem`, `{ page: sorry.html }` or `{ redirect: /sorry.html }`";
                report.wrong(&place(node, path), message, "this value", help.to_owned());
                None
            }
            _ => FileShedTable::read(node, path, report).map(|table| FileShed::Table(Box::new(table))),
        }
    }
}

schema_of_word_or_table!(FileRule, { "type": "string" }, FileRuleText);
schema_of_word_or_table!(FileShed, { "const": "problem" }, FileShedTable);
schema_of_word_or_table!(FileAdmin, { "type": "string" }, FileAdminTable);
schema_of_word_or_table!(FileAccessLog, { "type": "string" }, FileAccessLogTable);
