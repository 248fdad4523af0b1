//! The tables of a gateway file, as they are written. Descriptions end up in the JSON Schema.

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
    /// What a headroom gateway does.
    File {
        /// Where clients connect.
        listen: Needed<At<Address>>,
        /// Where the operator's side is served (`/metrics`, `/status`, `/livez`, `/readyz` and so on): a loopback
        /// address, or a table. Left out: nowhere.
        admin: Option<At<FileAdmin>>,
        /// Event loops, each with a thread of its own. Default: 1.
        workers: Option<At<Count>>,
        /// A file, `off`, `-` for standard output, or a table. Default: off.
        access_log: Option<At<FileAccessLog>>,
        /// Bounds on clients and time.
        limits: Option<FileLimits>,
        /// Proxies before this one, as addresses or ranges such as `10.0.0.0/8`. Only they are believed about the client
        /// (`X-Forwarded-For`, `Forwarded`) and the time of arrival (`X-Request-Start`). Default: nobody.
        trusted_hops: Option<At<Vec<At<Range>>>>,
        /// Groups of instances of the same service, by name.
        pools: Needed<Names<FilePool>>,
        /// Service level classes: what counts as a response in time.
        service_levels: Option<Names<FileServiceLevel>>,
        /// Rate classes: how often requests may pass.
        rate_classes: Option<Names<FileRateClass>>,
        /// Concurrency limits: how many requests may be in flight.
        concurrency_limits: Option<Names<FileConcurrency>>,
        /// The names of the priority classes; the first is shed first. At most eight.
        priorities: Option<At<Vec<At<Text>>>>,
        /// Limits that apply only while a service level class is not conforming.
        policies: Option<Names<FilePolicy>>,
        /// Copies of live requests to shadow pools.
        mirrors: Option<Names<FileMirror>>,
        /// Tried in order; the first that matches decides. Other requests are answered with 404.
        routes: Needed<At<Vec<At<FileRoute>>>>,
    }

    /// The operator's side, for others than this machine's users.
    FileAdminTable {
        /// An IP address and port, or `unix:` and the path of a socket that only its owner may use.
        listen: At<Text>,
        /// A file with the token that requests have to bring, except those for `/livez` and `/readyz`. An address
        /// that other machines reach needs one.
        token_file: Option<At<Text>>,
    }

    /// The access log with its form.
    FileAccessLogTable {
        /// A file, or `-` for standard output.
        file: At<Text>,
        /// `extended`: the combined form without referer and user agent, then times and reason. `combined`: nginx's.
        /// `json`: an object a line. Default: extended.
        format: Option<At<Text>>,
        /// What a worker gathers before it writes. Default: 64KiB.
        buffer: Option<At<Size>>,
        /// How long a line may wait to be written. Default: 1s.
        flush: Option<At<Span>>,
    }

    /// Bounds on clients and time.
    FileLimits {
        /// Client connections together. At the bound, connections without a request are given up for new clients;
        /// where there are none, new ones are closed at once. Default: 10000.
        connections: Option<At<Count>>,
        /// Client connections of one address (of IPv6 of one /64), trusted hops exempt. Left out: any number.
        connections_per_client: Option<At<Count>>,
        /// Within this a request's head must be whole, counted from its first byte; the first head of a connection from
        /// when that was accepted. Default: 10s.
        head_timeout: Option<At<Span>>,
        /// How long a client's connection may be idle. Default: 60s.
        idle_timeout: Option<At<Span>>,
        /// Bytes a second that a body must move at least while the gateway waits for the client; slower requests end with
        /// 408. `0` for no such bound. Default: 240B/s.
        body_min_rate: Option<At<Speed>>,
        /// How long a request's body may fall behind that rate. Default: 5s.
        body_grace: Option<At<Span>>,
        /// How long a request's body may take as a whole. Left out: any time.
        body_timeout: Option<At<Span>>,
        /// The longest body of a request; longer ones are answered with 413. Left out: any length.
        body_max: Option<At<Size>>,
        /// How long SIGTERM waits for requests in flight. Default: 30s.
        drain_timeout: Option<At<Span>>,
        /// The longest head of a request, with its request line: longer ones are answered with 431. Default: 16KiB.
        request_head_max: Option<At<Size>>,
        /// The most header fields of a request: more are answered with 431. Default: 100.
        request_fields_max: Option<At<Count>>,
        /// The longest target of a request, path and query: longer ones are answered with 414. Default: 8KiB.
        request_target_max: Option<At<Size>>,
        /// The longest head of an instance's answer, with its status line: longer ones become a 502. Default: 16KiB.
        answer_head_max: Option<At<Size>>,
        /// The most header fields of an instance's answer: more become a 502. Default: 100.
        answer_fields_max: Option<At<Count>>,
    }

    /// Instances of the same service.
    FilePool {
        /// Where they listen, as IP addresses with ports, or tables with `address`, `weight` and `drain`.
        instances: At<Vec<At<FileInstance>>>,
        /// Which instance gets the next request: `least_outstanding`, `round_robin`, `peak_ewma`, or a table with
        /// `hash`. Default: least_outstanding.
        balance: Option<At<FileBalance>>,
        /// Clients stay with the instance that they were given. Left out: they do not.
        affinity: Option<At<FileAffinity>>,
        /// Active checks of the instances. Left out: none.
        health: Option<At<FileHealth>>,
        /// When an instance that fails requests gets none for a while. Left out: never.
        ejection: Option<At<FileEjection>>,
        /// How long a new instance, or one that comes back, takes to its whole share. Left out: no time.
        slow_start: Option<At<Span>>,
        /// Where less than this share of the instances is usable, all of them are used. Default: 50%.
        panic_below: Option<At<Share>>,
        /// How often requests that failed may be sent again.
        retries: Option<FileRetries>,
        /// How long connecting may take. Default: 1s.
        connect_timeout: Option<At<Span>>,
        /// How long the first byte of an answer, or the next part of it, may take. Default: 60s.
        answer_timeout: Option<At<Span>>,
        /// Idle connections kept to each instance by each worker. Default: 64.
        idle_connections: Option<At<Count>>,
        /// How long an idle connection is kept. Default: 30s.
        idle_timeout: Option<At<Span>>,
        /// Requests that may be at each instance at once, of all workers together. Default: any number.
        instance_concurrency: Option<At<Count>>,
        /// Who may wait while all instances are full. Left out: nobody.
        queue: Option<At<FileQueue>>,
    }

    /// Where a figure comes from.
    FileProvenance {
        /// The run in the ledger.
        run: Text,
        /// When it was measured.
        date: Text,
        /// What was measured.
        target: Text,
    }

    /// Which responses conform. `target`, `not_conforming` or both.
    FileServiceLevel {
        /// The time to the first byte within which a response conforms. Left out: any time.
        target: Option<At<Span>>,
        /// Statuses that do not conform, however soon they come: `[5xx, 429]`. Default: none.
        not_conforming: Option<At<Vec<At<StatusWord>>>>,
        /// How far back the share of conforming responses looks. Default: 10s.
        window: Option<At<Span>>,
        /// Where the target comes from.
        provenance: Option<FileProvenance>,
    }

    /// How often requests may pass. `rate`, `per_minute` or both.
    FileRateClass {
        /// Requests a second.
        rate: Option<At<Frequency>>,
        /// Requests that may pass at once after a calm. Default: 1, which spaces evenly.
        burst: Option<At<Count>>,
        /// Requests a minute.
        per_minute: Option<At<PerMinute>>,
        /// Requests that may pass at once under the minute's limit. Default: 1.
        per_minute_burst: Option<At<Count>>,
        /// How many requests may wait for their turn. Default: 0.
        backlog: Option<At<Count>>,
        /// How long a request may wait for its turn. Default: 1s with a backlog.
        longest_wait: Option<At<Span>>,
        /// A limit for each `client` (address), `{ header: … }` or `{ cookie: … }`; without that, the address. Left out:
        /// one for all together.
        key: Option<At<FileKey>>,
        /// Keys that are remembered; new ones beyond them share a few limits. Default: 10000.
        keys: Option<At<Count>>,
        /// Decides, counts what it would have shed, and lets pass. Default: false.
        shadow: Option<At<Switch>>,
        /// Where the rate comes from.
        provenance: Option<FileProvenance>,
    }

    /// How many requests may be in flight.
    FileConcurrency {
        /// Requests in flight; the first value where the limit adapts.
        limit: At<Count>,
        /// The limit follows the service between these bounds.
        adaptive: Option<At<FileAdaptive>>,
        /// Who may wait while the limit is reached. Left out: nobody.
        queue: Option<At<FileQueue>>,
        /// The share of the limit that each priority class may fill, in the order of `priorities`.
        priorities: Option<At<Vec<At<Share>>>>,
        /// Decides, counts what it would have shed, and lets pass. Default: false.
        shadow: Option<At<Switch>>,
        /// Where the limit comes from.
        provenance: Option<FileProvenance>,
    }

    /// Limits that apply only while a service level class is not conforming.
    FilePolicy {
        /// The service level class that is watched.
        service_level: At<Text>,
        /// The limits begin to apply below this conforming share. Default: 100%.
        enter_below: Option<At<Share>>,
        /// The limits cease to apply from this share on, over a whole window. Default: 100%.
        leave_at: Option<At<Share>>,
        /// Fewer responses in the window say nothing. Default: 1.
        min_samples: Option<At<Count>>,
        /// The rate class that applies meanwhile.
        rate_class: Option<At<Text>>,
        /// The concurrency limit that applies meanwhile.
        concurrency: Option<At<Text>>,
        /// Its limits decide, count what they would have shed, and let pass. Default: false.
        shadow: Option<At<Switch>>,
    }

    /// Which requests, and what becomes of them. `path` or `path_prefix`, and `pool`.
    FileRoute {
        /// Its name in metrics and logs. Default: host and path.
        name: Option<At<Text>>,
        /// The host that it is for, without port. Left out: every host.
        host: Option<At<Text>>,
        /// This path only, without query.
        path: Option<At<Text>>,
        /// This path and all below it; `/` is every path.
        path_prefix: Option<At<Text>>,
        /// Also for other spellings that a service may take for the path: letters of either case, `;` parameters, dot
        /// segments that it does not resolve. Default: false.
        any_spelling: Option<At<Switch>>,
        /// The pool that answers.
        pool: At<Text>,
        /// The service level class that times its requests. With a policy: that of the policy.
        service_level: Option<At<Text>>,
        /// A rate class that always applies.
        rate_class: Option<At<Text>>,
        /// A concurrency limit that always applies.
        concurrency: Option<At<Text>>,
        /// Limits that apply while a service level class is not conforming.
        policy: Option<At<Text>>,
        /// The priority class of its requests, or `{ header: …, otherwise: … }`. Default: the highest.
        priority: Option<At<FilePriority>>,
        /// A header in which clients say how long they wait, such as `X-Request-Timeout` or `grpc-timeout`.
        deadline_header: Option<At<Text>>,
        /// Bodies up to this size are read whole before the limits are asked, and longer ones are answered with 413. At
        /// most 16MiB. Left out: bodies are passed on as they come.
        buffer_body: Option<At<Size>>,
        /// A rule in Luau that decides for each request, before the limits: a file, or name and text.
        rule: Option<At<FileRule>>,
        /// A rule in Luau that may change or replace each answer of an instance: a file, or name and text.
        response_rule: Option<At<FileRule>>,
        /// What a shed request is told. Default: problem, which is 503 with problem details.
        shed: Option<At<FileShed>>,
        /// Metrics of the instances' `Server-Timing` whose durations are summed up, by name. Default: none.
        server_timing: Option<At<Vec<At<Text>>>>,
        /// Where copies of its requests go: a mirror, or a list of them.
        mirror: Option<OneOrMore>,
        /// The trailers of requests that reach the instances, by name. Others are dropped. Default: none.
        request_trailers: Option<At<Vec<At<Text>>>>,
    }

    /// A rule that stands in this file.
    FileRuleText {
        /// What messages call it.
        name: At<Text>,
        /// Luau.
        text: Text,
    }

    /// What a shed request is told: one of `page`, `text` and `redirect`.
    FileShedTable {
        /// A file that is sent with 503.
        page: Option<At<Text>>,
        /// A page that stands in this file, sent with 503.
        text: Option<At<Text>>,
        /// The media type of the page. Default: by the ending of the file; text/html for a text.
        content_type: Option<At<Text>>,
        /// The address of a redirect (302).
        redirect: Option<At<Text>>,
    }
}

/// Where the operator's side is served: a single value is an address.
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

/// Where the access log goes: a single value is a file.
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

/// Where a rule comes from: a single value is a file.
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

/// What a shed request is told: `problem`, or a table.
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
