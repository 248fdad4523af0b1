//! The tables of a gateway file, as they are written. Descriptions end up in the JSON Schema.

use crate::scalar::{Address, Count, Frequency, PerMinute, Share, Size, Span, Text};
use crate::table::{At, Names, Needed, Read, Report, place, schema_of_word_or_table, tables};
use crate::yaml::{Kind, Node};

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
        /// Groups of instances of the same service, by name.
        pools: Needed<Names<FilePool>>,
        /// Service level classes: what counts as a response in time.
        service_levels: Option<Names<FileServiceLevel>>,
        /// Rate classes: how often requests may pass.
        rate_classes: Option<Names<FileRateClass>>,
        /// Concurrency limits: how many requests may be in flight.
        concurrency_limits: Option<Names<FileConcurrency>>,
        /// Limits that apply only while a service level class is not conforming.
        policies: Option<Names<FilePolicy>>,
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
        /// Client connections together; further ones are closed at once. Default: 10000.
        connections: Option<At<Count>>,
        /// Within this a request's head must be whole, counted from its first byte. Default: 10s.
        head_timeout: Option<At<Span>>,
        /// How long a client's connection may be idle. Default: 60s.
        idle_timeout: Option<At<Span>>,
        /// How long SIGTERM waits for requests in flight. Default: 30s.
        drain_timeout: Option<At<Span>>,
    }

    /// Instances of the same service.
    FilePool {
        /// Where they listen, as IP addresses with ports.
        instances: At<Vec<At<Address>>>,
        /// How long connecting may take. Default: 1s.
        connect_timeout: Option<At<Span>>,
        /// How long the first byte of an answer, or the next part of it, may take. Default: 60s.
        answer_timeout: Option<At<Span>>,
        /// Idle connections kept to each instance by each worker. Default: 64.
        idle_connections: Option<At<Count>>,
        /// How long an idle connection is kept. Default: 30s.
        idle_timeout: Option<At<Span>>,
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

    /// What counts as a response in time.
    FileServiceLevel {
        /// The time to the first byte within which a response conforms.
        target: At<Span>,
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
        /// Where the rate comes from.
        provenance: Option<FileProvenance>,
    }

    /// How many requests may be in flight.
    FileConcurrency {
        /// Requests in flight.
        limit: At<Count>,
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
        /// A rule in Luau that decides for each request, before the limits: a file, or name and text.
        rule: Option<At<FileRule>>,
        /// What a shed request is told. Default: problem, which is 503 with problem details.
        shed: Option<At<FileShed>>,
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
