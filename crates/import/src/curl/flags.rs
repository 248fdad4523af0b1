//! curl's flags, by their meaning for a request that is sent many times.
//!
//! Source: <https://curl.se/docs/manpage.html>. Flags about the connection or the processing of the response do not
//! belong to the request and are ignored.

/// The effect of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Method,
    Header,
    Data(Data),
    Json,
    User,
    Bearer,
    Agent,
    Cookie,
    Referer,
    Url,
    Get,
    Head,
    Compressed,
    /// None on the request.
    Nothing,
    /// None on the request; it takes a value.
    NothingWith,
    /// It would change the request in an unsupported way; the reason.
    Refused(&'static str),
}

/// The kinds of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// `@` names a file, whose line breaks are removed.
    Text,
    /// `@` names a file, which is sent unchanged.
    Binary,
    /// `@` has no special meaning.
    Raw,
    /// Percent-encoded.
    Encoded,
}

impl Does {
    pub(super) fn takes_a_value(self) -> bool {
        !matches!(self, Does::Get | Does::Head | Does::Compressed | Does::Nothing | Does::Refused(_))
    }
}

/// A flag by its long name, without the dashes.
pub(super) fn long(name: &str) -> Option<Does> {
    FLAGS.iter().find(|flag| flag.0 == name).map(|flag| flag.2)
}

/// A flag by its letter.
pub(super) fn short(letter: u8) -> Option<Does> {
    FLAGS.iter().find(|flag| flag.1 != b' ' && flag.1 == letter).map(|flag| flag.2)
}

/// The most similar long name.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let near = FLAGS.iter().map(|flag| (strsim::damerau_levenshtein(flag.0, name), flag.0));
    near.filter(|(distance, _)| *distance <= 2).min().map(|(_, name)| name)
}

const FILE: &str = "it sends a file; give the body with -X PUT --data-binary @file";
const MANY: &str = "it begins another request; write that as a command of its own";

/// Long name, letter (or a space), meaning.
const FLAGS: [(&str, u8, Does); 67] = [
    ("request", b'X', Does::Method),
    ("header", b'H', Does::Header),
    ("data", b'd', Does::Data(Data::Text)),
    ("data-ascii", b' ', Does::Data(Data::Text)),
    ("data-binary", b' ', Does::Data(Data::Binary)),
    ("data-raw", b' ', Does::Data(Data::Raw)),
    ("data-urlencode", b' ', Does::Data(Data::Encoded)),
    ("json", b' ', Does::Json),
    ("user", b'u', Does::User),
    ("oauth2-bearer", b' ', Does::Bearer),
    ("user-agent", b'A', Does::Agent),
    ("cookie", b'b', Does::Cookie),
    ("referer", b'e', Does::Referer),
    ("url", b' ', Does::Url),
    ("get", b'G', Does::Get),
    ("head", b'I', Does::Head),
    ("compressed", b' ', Does::Compressed),
    ("basic", b' ', Does::Nothing),
    ("disable", b'q', Does::Nothing),
    ("fail", b'f', Does::Nothing),
    ("globoff", b'g', Does::Nothing),
    ("http1.0", b'0', Does::Nothing),
    ("http1.1", b' ', Does::Nothing),
    ("http2", b' ', Does::Nothing),
    ("http2-prior-knowledge", b' ', Does::Nothing),
    ("http3", b' ', Does::Nothing),
    ("include", b'i', Does::Nothing),
    ("insecure", b'k', Does::Nothing),
    ("ipv4", b'4', Does::Nothing),
    ("ipv6", b'6', Does::Nothing),
    ("location", b'L', Does::Nothing),
    ("no-buffer", b'N', Does::Nothing),
    ("no-keepalive", b' ', Does::Nothing),
    ("no-progress-meter", b' ', Does::Nothing),
    ("path-as-is", b' ', Does::Nothing),
    ("progress-bar", b'#', Does::Nothing),
    ("remote-name", b'O', Does::Nothing),
    ("show-error", b'S', Does::Nothing),
    ("silent", b's', Does::Nothing),
    ("tlsv1.2", b' ', Does::Nothing),
    ("tlsv1.3", b' ', Does::Nothing),
    ("verbose", b'v', Does::Nothing),
    ("cacert", b' ', Does::NothingWith),
    ("cert", b'E', Does::NothingWith),
    ("ciphers", b' ', Does::NothingWith),
    ("connect-timeout", b' ', Does::NothingWith),
    ("connect-to", b' ', Does::NothingWith),
    ("cookie-jar", b'c', Does::NothingWith),
    ("dump-header", b'D', Does::NothingWith),
    ("interface", b' ', Does::NothingWith),
    ("key", b' ', Does::NothingWith),
    ("max-redirs", b' ', Does::NothingWith),
    ("max-time", b'm', Does::NothingWith),
    ("output", b'o', Does::NothingWith),
    ("resolve", b' ', Does::NothingWith),
    ("retry", b' ', Does::NothingWith),
    ("unix-socket", b' ', Does::NothingWith),
    ("write-out", b'w', Does::NothingWith),
    (
        "form",
        b'F',
        Does::Refused("it builds a multipart form; give the finished body with --data-binary @file"),
    ),
    (
        "form-string",
        b' ',
        Does::Refused("it builds a multipart form; give the finished body with --data-binary @file"),
    ),
    ("upload-file", b'T', Does::Refused(FILE)),
    ("config", b'K', Does::Refused("it reads more flags from a file; write them here")),
    ("next", b':', Does::Refused(MANY)),
    ("parallel", b'Z', Does::Refused("how many requests run at once is the run's to say")),
    ("proxy", b'x', Does::Refused("load goes to the service itself, not through a proxy")),
    ("digest", b' ', Does::Refused("its response depends on what the server asked")),
    ("range", b'r', Does::Refused("write -H 'Range: bytes=...' instead")),
];
