//! The functions that a rule may call, by name: the list that a rule is checked against before it runs.
//!
//! `prelude.luau` defines the functions; a test ensures that both lists agree.

/// When a rule runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Before the request is sent to an instance: it may respond, wait, choose the pool and change the request.
    Request,
    /// When the head of an instance's response has arrived: it may change or replace the response.
    Response,
}

/// The error in a call such as `http.getPth(`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misnamed {
    /// There is no such function.
    Unknown,
    /// Rules of the other phase have it.
    OtherPhase,
}

/// Checks a call of `function`, in `library` if there is one.
pub(crate) fn misnamed(phase: Phase, library: Option<&str>, function: &str) -> Option<Misnamed> {
    let Some(library) = library else {
        return (!LANGUAGE.contains(&function)).then_some(Misnamed::Unknown);
    };
    if let Some((_, members)) = LIBRARIES.iter().find(|(name, _)| *name == library) {
        return (!members.contains(&function)).then_some(Misnamed::Unknown);
    }
    match HOST.iter().find(|entry| entry.1 == library && entry.2 == function) {
        Some((phases, ..)) => (!phases.has(phase)).then_some(Misnamed::OtherPhase),
        None => Some(Misnamed::Unknown),
    }
}

/// Every function that rules of this phase may call, as `library.function`; those of the language without a library.
pub(crate) fn known(phase: Phase) -> Vec<String> {
    let host = HOST.iter().filter(|entry| entry.0.has(phase)).map(|entry| format!("{}.{}", entry.1, entry.2));
    let libraries = LIBRARIES
        .iter()
        .flat_map(|(library, members)| members.iter().map(move |member| format!("{library}.{member}")));
    host.chain(libraries).chain(LANGUAGE.iter().map(|name| (*name).to_owned())).collect()
}

/// Every name that only rules of the other phase have: functions, and libraries that have no other.
pub(crate) fn of_other_phase(phase: Phase) -> impl Iterator<Item = String> {
    let absent = HOST.iter().filter(move |entry| !entry.0.has(phase));
    let has_some = move |library: &str| HOST.iter().any(|entry| entry.1 == library && entry.0.has(phase));
    absent.map(move |(_, library, function)| match has_some(library) {
        true => format!("{library}.{function}"),
        false => (*library).to_owned(),
    })
}

#[derive(Debug, Clone, Copy)]
enum Phases {
    Both,
    Only(Phase),
}

impl Phases {
    fn has(self, phase: Phase) -> bool {
        match self {
            Phases::Both => true,
            Phases::Only(only) => only == phase,
        }
    }
}

const BOTH: Phases = Phases::Both;
const REQUEST: Phases = Phases::Only(Phase::Request);
const RESPONSE: Phases = Phases::Only(Phase::Response);

const HOST: &[(Phases, &str, &str)] = &[
    (BOTH, "http", "getPath"),
    (REQUEST, "http", "setPath"),
    (BOTH, "http", "getQueryString"),
    (REQUEST, "http", "setQueryString"),
    (BOTH, "http", "getQueryParam"),
    (REQUEST, "http", "setQueryParam"),
    (REQUEST, "http", "removeQueryParam"),
    (BOTH, "http", "getMethod"),
    (BOTH, "http", "getHostHeader"),
    (BOTH, "http", "getHeader"),
    (REQUEST, "http", "setHeader"),
    (REQUEST, "http", "addHeader"),
    (REQUEST, "http", "removeHeader"),
    (BOTH, "http", "getCookie"),
    (REQUEST, "http", "setCookie"),
    (REQUEST, "http", "removeCookie"),
    (BOTH, "http", "sendResponse"),
    (BOTH, "http", "redirect"),
    (RESPONSE, "http", "getResponseCode"),
    (RESPONSE, "http", "setResponseCode"),
    (RESPONSE, "http", "getResponseHeader"),
    (RESPONSE, "http", "setResponseHeader"),
    (RESPONSE, "http", "addResponseHeader"),
    (RESPONSE, "http", "removeResponseHeader"),
    (BOTH, "request", "getRemoteIP"),
    (REQUEST, "connection", "setServiceLevelClass"),
    (BOTH, "slm", "conforming"),
    (BOTH, "rate", "getBacklog"),
    (REQUEST, "rate", "use"),
    (REQUEST, "rate", "useNoQueue"),
    (REQUEST, "pool", "select"),
    (REQUEST, "pool", "use"),
    (BOTH, "log", "info"),
];

/// The functions of Luau's libraries that rules may use.
const LIBRARIES: &[(&str, &[&str])] = &[
    (
        "bit32",
        &[
            "arshift", "band", "bnot", "bor", "btest", "bxor", "byteswap", "countlz", "countrz", "extract",
            "lrotate", "lshift", "replace", "rrotate", "rshift",
        ],
    ),
    (
        "math",
        &[
            "abs", "acos", "asin", "atan", "atan2", "ceil", "clamp", "cos", "cosh", "deg", "exp", "floor",
            "fmod", "frexp", "isfinite", "isinf", "isnan", "ldexp", "lerp", "log", "log10", "map", "max",
            "min", "modf", "noise", "pow", "rad", "random", "round", "sign", "sin", "sinh", "sqrt", "tan",
            "tanh",
        ],
    ),
    (
        "string",
        &[
            "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize",
            "rep", "reverse", "split", "sub", "unpack", "upper",
        ],
    ),
    (
        "table",
        &[
            "clear", "clone", "concat", "create", "find", "freeze", "getn", "insert", "isfrozen", "maxn",
            "pack", "remove", "sort", "unpack",
        ],
    ),
    ("utf8", &["char", "codepoint", "codes", "len", "offset"]),
];

/// The functions of the language itself that rules may use.
const LANGUAGE: &[&str] = &[
    "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type",
    "typeof", "unpack", "xpcall",
];
