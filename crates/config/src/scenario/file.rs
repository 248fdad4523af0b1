//! The tables of a scenario file. Their descriptions are used in the JSON Schema.

use super::words::{FileStage, FileStatuses, FileWait};
use fields::{
    At, Count, Frequency, Names, Needed, Read, Report, Size, Span, Text, Tree, schema_of_word_or_table,
    tables,
};
use yaml::{Kind, Node};

tables! {
    /// The flows of users, the load, and the thresholds.
    ScenarioTable {
        /// The name of the scenario.
        scenario: Needed<At<Text>>,
        /// The base URL of paths, such as `http://127.0.0.1:8080`.
        base: Option<At<Text>>,
        /// The load. Flags override it.
        load: Option<FileLoad>,
        /// Files with data, by name: `${people.email}` is the column `email` of the data `people`.
        data: Option<Names<At<FileData>>>,
        /// Fixed values, by name: `${region}`.
        variables: Option<Names<Text>>,
        /// Header fields of every request.
        headers: Option<Names<At<Text>>>,
        /// Tags of every result.
        tags: Option<Names<Text>>,
        /// How long a user keeps cookies: `user` (for the whole run), `iteration` or `off`. Default: user.
        cookies: Option<At<Text>>,
        /// How many redirects a request follows. Default: 0.
        redirects: Option<At<Count>>,
        /// The flows; each iteration draws one of them by weight.
        flows: Needed<At<Vec<At<FlowTable>>>>,
        /// Thresholds by metric, such as `http_req_duration: ['p(95)<500ms']`.
        thresholds: Option<Names<Vec<At<FileThreshold>>>>,
    }

    /// The load: one of `rate`, `users` and `stages`.
    FileLoad {
        /// Open model: the rate of new iterations.
        rate: Option<At<Frequency>>,
        /// Closed model: users, each with one iteration after the other.
        users: Option<At<Count>>,
        /// Stages that follow each other: `30s:200/s` ends at that rate, `30s:50` at that number of users.
        stages: Option<At<Vec<At<FileStage>>>>,
        /// The duration of the load.
        duration: Option<At<Span>>,
    }

    /// A file with data.
    FileData {
        /// Its path, relative to this file: `.csv` with a header line, or `.ndjson` or `.jsonl`.
        file: At<Text>,
        /// Which row an iteration gets: `in-order`, `random` or `per-user`. Default: in-order.
        order: Option<At<Text>>,
        /// What happens after the last row: `repeat` or `stop`. Default: repeat.
        on_end: Option<At<Text>>,
    }

    /// Steps in sequence.
    FlowTable {
        /// Its name.
        name: At<Text>,
        /// Its weight relative to the others. Default: 1.
        weight: Option<At<Count>>,
        /// Its steps.
        steps: At<Vec<At<StepTable>>>,
    }

    /// A request and the processing of its response; or a `mix` of several, of which one is drawn by weight.
    StepTable {
        /// Its name in results. Default: method and path.
        name: Option<At<Text>>,
        /// GET this path or URL.
        get: Option<At<Text>>,
        /// POST to this path or URL.
        post: Option<At<Text>>,
        /// PUT to this path or URL.
        put: Option<At<Text>>,
        /// PATCH this path or URL.
        patch: Option<At<Text>>,
        /// DELETE this path or URL.
        delete: Option<At<Text>>,
        /// HEAD of this path or URL.
        head: Option<At<Text>>,
        /// OPTIONS of this path or URL.
        options: Option<At<Text>>,
        /// Parameters that are added to the URL, encoded.
        query: Option<Names<At<Text>>>,
        /// Header fields of this request; they replace those of the scenario.
        headers: Option<Names<At<Text>>>,
        /// The body as text.
        body: Option<At<Text>>,
        /// The body as JSON, written as YAML.
        json: Option<At<Tree>>,
        /// The body as the fields of a form.
        form: Option<At<Names<At<Text>>>>,
        /// Values of the response for later steps of the flow, by name.
        extract: Option<Names<At<ExtractTable>>>,
        /// Checks of the response; they are counted.
        check: Option<Vec<At<CheckTable>>>,
        /// The think time after the response.
        think: Option<At<FileThink>>,
        /// Tags of its results.
        tags: Option<Names<Text>>,
        /// Within a mix: its weight relative to the others. Default: 1.
        weight: Option<At<Count>>,
        /// One of several requests, drawn by weight.
        mix: Option<At<Vec<At<StepTable>>>>,
    }

    /// The source of a value: `json`, `header` or, for the body, `regex` alone.
    ExtractTable {
        /// A JSON pointer into the body, such as `/items/0/id`.
        json: Option<At<Text>>,
        /// A header field.
        header: Option<At<Text>>,
        /// The first group of this regular expression, or its whole match.
        regex: Option<At<Text>>,
    }

    /// A check: `status`, `size_max`, `within`, or a test of `json`, of a `header` or of the body.
    CheckTable {
        /// Its name in results. Default: its text.
        name: Option<At<Text>>,
        /// A status such as `200`, a class such as `2xx`, or a list of them.
        status: Option<At<FileStatuses>>,
        /// Maximum size of the body.
        size_max: Option<At<Size>>,
        /// Maximum response time.
        within: Option<At<Span>>,
        /// A JSON pointer into the body. Without a test: it must exist.
        json: Option<At<Text>>,
        /// A header field. Without a test: it must be present.
        header: Option<At<Text>>,
        /// It must equal this.
        equals: Option<At<Text>>,
        /// It must contain this.
        contains: Option<At<Text>>,
        /// This regular expression must match somewhere in it.
        matches: Option<At<Text>>,
    }

    /// A distribution of think times: one of `exponential` and `lognormal`.
    ThinkTable {
        /// Exponentially distributed, with this mean.
        exponential: Option<At<Span>>,
        /// Log-normally distributed.
        lognormal: Option<LognormalTable>,
    }

    /// Most think times are near the median, with a long tail.
    LognormalTable {
        /// The median of think times.
        median: At<Span>,
        /// The 95th percentile of think times.
        p95: At<Span>,
    }

    /// A condition with the action when it is missed.
    ThresholdTable {
        /// The condition, such as `rate<0.01`.
        threshold: At<Text>,
        /// Whether the run is aborted when it is missed: `true` or `false`. Default: false.
        abort: Option<At<Text>>,
        /// The minimum duration of the run before it is aborted. Default: 0.
        after: Option<At<Span>>,
    }
}

/// A think time: a span, a range, or a table.
#[derive(Debug)]
pub(crate) enum FileThink {
    Word(FileWait),
    Table(ThinkTable),
}

impl Read for FileThink {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Table(_) => ThinkTable::read(node, path, report).map(FileThink::Table),
            _ => FileWait::read(node, path, report).map(FileThink::Word),
        }
    }
}
schema_of_word_or_table!(FileThink, { "type": "string" }, ThinkTable);

/// A condition: its text, or a table.
#[derive(Debug)]
pub(crate) enum FileThreshold {
    Word(Text),
    Table(ThresholdTable),
}

impl Read for FileThreshold {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Table(_) => ThresholdTable::read(node, path, report).map(FileThreshold::Table),
            _ => Text::read(node, path, report).map(FileThreshold::Word),
        }
    }
}
schema_of_word_or_table!(FileThreshold, { "type": "string" }, ThresholdTable);
