//! Why a message is refused: one variant for each rule.
//!
//! A refusal carries positions, counts and single bytes, never the sender's text, so it can be logged, counted and sent
//! without escaping and without allocation.

use thiserror::Error;

/// A message that has no single safe reading, or is larger than its bound. The connection cannot be used further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is and what its fields are")]
pub enum Refusal {
    #[error("the request line is malformed, expected a method, one space, a target, one space, HTTP/1.1")]
    RequestLine,
    #[error("the status line is malformed, expected HTTP/1.1, one space, three digits, one space, a reason")]
    StatusLine,
    #[error("the version is malformed, expected HTTP/1.1 or HTTP/1.0")]
    Version,
    #[error("the version is not supported, expected HTTP/1.1 or HTTP/1.0")]
    VersionUnsupported,
    #[error("this is the preface of HTTP/2, expected HTTP/1.1; connect without prior knowledge of HTTP/2")]
    Http2Preface,
    #[error(
        "a header name has a byte that is no token character, is folded, or has a space before its colon"
    )]
    HeaderName,
    #[error("a header value has a control character")]
    HeaderValue,
    #[error("a line end is malformed: CR without LF")]
    BareCr,
    #[error("the line end at byte {at} is LF without CR")]
    BareLf { at: usize },
    #[error("{found} bytes of line ends before the start line, expected none or one CRLF")]
    LeadingLines { found: usize },
    #[error("the head has {found} bytes or more, at most {bound} are allowed")]
    HeadTooLong { found: usize, bound: usize },
    #[error("the head has more than {bound} header fields")]
    TooManyHeaders { bound: usize },
    #[error("the target has {found} bytes or more, at most {bound} are allowed")]
    TargetTooLong { found: usize, bound: usize },
    #[error("the target has byte 0x{byte:02x}, expected printable ASCII without #, or UTF-8")]
    TargetByte { byte: u8 },
    #[error("the target has a form that does not fit its method, expected a path or an http URL")]
    TargetForm,
    #[error("the host of the target differs from the Host field")]
    HostDiffers,
    #[error("method CONNECT asks for a tunnel, which is not offered")]
    Connect,
    #[error("there is no Host field, HTTP/1.1 requires one")]
    HostMissing,
    #[error("there is more than one Host field")]
    HostRepeated,
    #[error("the Host field is no host name or address with an optional port")]
    HostInvalid,
    #[error("both Content-Length and Transfer-Encoding are given, so the end of the body is ambiguous")]
    TwoFramings,
    #[error("Content-Length is given more than once")]
    ContentLengthRepeated,
    #[error("Content-Length is no plain decimal number below 2^63")]
    ContentLengthInvalid,
    #[error("Transfer-Encoding is given more than once or is malformed, expected exactly: chunked")]
    TransferEncodingInvalid,
    #[error("Transfer-Encoding names a coding other than chunked")]
    TransferCodingUnsupported,
    #[error("Transfer-Encoding in an HTTP/1.0 message")]
    TransferEncodingInHttp10,
    #[error("a header name reads as a framing field where other characters count as -")]
    FramingLookalike,
    #[error("the Connection field is malformed, expected tokens separated by commas")]
    ConnectionInvalid,
    #[error("the Connection field has more than {bound} options")]
    ConnectionTooLong { bound: usize },
    #[error("the Connection field names Host, Content-Length or Transfer-Encoding")]
    ConnectionNamesFraming,
    #[error("Upgrade is given more than once")]
    UpgradeRepeated,
    #[error("Expect asks for something other than 100-continue")]
    ExpectationUnknown,
    #[error("status {found} is outside of 100 to 999")]
    StatusRange { found: u16 },
    #[error("a response with status {status} frames a body, but cannot have one")]
    BodyForbidden { status: u16 },
    #[error("a chunk size has byte 0x{byte:02x}, expected hexadecimal digits and CRLF")]
    ChunkSize { byte: u8 },
    #[error("a chunk size has more than {bound} digits")]
    ChunkSizeTooLong { bound: usize },
    #[error("byte 0x{byte:02x} in a chunk extension")]
    ChunkExtension { byte: u8 },
    #[error("the chunk extensions of one body have more than {bound} bytes")]
    ChunkExtensionsTooLong { bound: usize },
    #[error("byte 0x{byte:02x} after the data of a chunk, expected CRLF")]
    ChunkEnd { byte: u8 },
    #[error("byte 0x{byte:02x} in the trailers, expected fields and CRLF")]
    Trailer { byte: u8 },
    #[error("the trailers have more than {bound} bytes")]
    TrailersTooLong { bound: usize },
    #[error("a trailer names a field that frames or routes the message")]
    TrailerForbidden,
    #[error("the connection closed before the message was complete")]
    Truncated,
}

impl Refusal {
    /// The names of all refusals of requests; the others are of responses.
    pub fn names_of_requests() -> impl Iterator<Item = &'static str> {
        OF_REQUESTS.iter().map(Refusal::name)
    }

    /// The response status for a request. For a malformed response of an upstream, use 502 instead.
    pub fn status(&self) -> u16 {
        use Refusal::*;
        match self {
            TargetTooLong { .. } => 414,
            ExpectationUnknown => 417,
            HeadTooLong { .. } | TooManyHeaders { .. } | TrailersTooLong { .. } => 431,
            Connect | TransferCodingUnsupported => 501,
            VersionUnsupported | Http2Preface => 505,
            _ => 400,
        }
    }

    /// A stable name for metrics and logs.
    pub fn name(&self) -> &'static str {
        use Refusal::*;
        match self {
            RequestLine => "request-line",
            StatusLine => "status-line",
            Version => "version",
            VersionUnsupported => "version-unsupported",
            Http2Preface => "http2-preface",
            HeaderName => "header-name",
            HeaderValue => "header-value",
            BareCr => "bare-cr",
            BareLf { .. } => "bare-lf",
            LeadingLines { .. } => "leading-lines",
            HeadTooLong { .. } => "head-too-long",
            TooManyHeaders { .. } => "too-many-headers",
            TargetTooLong { .. } => "target-too-long",
            TargetByte { .. } => "target-byte",
            TargetForm => "target-form",
            HostDiffers => "host-differs",
            Connect => "connect",
            HostMissing => "host-missing",
            HostRepeated => "host-repeated",
            HostInvalid => "host-invalid",
            TwoFramings => "two-framings",
            ContentLengthRepeated => "content-length-repeated",
            ContentLengthInvalid => "content-length-invalid",
            TransferEncodingInvalid => "transfer-encoding-invalid",
            TransferCodingUnsupported => "transfer-coding-unsupported",
            TransferEncodingInHttp10 => "transfer-encoding-in-http10",
            FramingLookalike => "framing-lookalike",
            ConnectionInvalid => "connection-invalid",
            ConnectionTooLong { .. } => "connection-too-long",
            ConnectionNamesFraming => "connection-names-framing",
            UpgradeRepeated => "upgrade-repeated",
            ExpectationUnknown => "expectation-unknown",
            StatusRange { .. } => "status-range",
            BodyForbidden { .. } => "body-forbidden",
            ChunkSize { .. } => "chunk-size",
            ChunkSizeTooLong { .. } => "chunk-size-too-long",
            ChunkExtension { .. } => "chunk-extension",
            ChunkExtensionsTooLong { .. } => "chunk-extensions-too-long",
            ChunkEnd { .. } => "chunk-end",
            Trailer { .. } => "trailer",
            TrailersTooLong { .. } => "trailers-too-long",
            TrailerForbidden => "trailer-forbidden",
            Truncated => "truncated",
        }
    }
}

/// One of each kind that a request can have.
const OF_REQUESTS: [Refusal; 39] = [
    Refusal::RequestLine,
    Refusal::Version,
    Refusal::VersionUnsupported,
    Refusal::Http2Preface,
    Refusal::HeaderName,
    Refusal::HeaderValue,
    Refusal::BareCr,
    Refusal::BareLf { at: 0 },
    Refusal::LeadingLines { found: 0 },
    Refusal::HeadTooLong { found: 0, bound: 0 },
    Refusal::TooManyHeaders { bound: 0 },
    Refusal::TargetTooLong { found: 0, bound: 0 },
    Refusal::TargetByte { byte: 0 },
    Refusal::TargetForm,
    Refusal::HostDiffers,
    Refusal::Connect,
    Refusal::HostMissing,
    Refusal::HostRepeated,
    Refusal::HostInvalid,
    Refusal::TwoFramings,
    Refusal::ContentLengthRepeated,
    Refusal::ContentLengthInvalid,
    Refusal::TransferEncodingInvalid,
    Refusal::TransferCodingUnsupported,
    Refusal::TransferEncodingInHttp10,
    Refusal::FramingLookalike,
    Refusal::ConnectionInvalid,
    Refusal::ConnectionTooLong { bound: 0 },
    Refusal::ConnectionNamesFraming,
    Refusal::UpgradeRepeated,
    Refusal::ExpectationUnknown,
    Refusal::ChunkSize { byte: 0 },
    Refusal::ChunkSizeTooLong { bound: 0 },
    Refusal::ChunkExtension { byte: 0 },
    Refusal::ChunkExtensionsTooLong { bound: 0 },
    Refusal::ChunkEnd { byte: 0 },
    Refusal::Trailer { byte: 0 },
    Refusal::TrailersTooLong { bound: 0 },
    Refusal::TrailerForbidden,
];
