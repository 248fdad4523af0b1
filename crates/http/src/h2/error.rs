//! Errors of a peer: of the connection, or of one response.
//!
//! Like the refusals of the codec, these carry numbers and never the peer's text.
//!
//! Source: RFC 9113, sections 5.4 and 7.

use std::fmt;
use thiserror::Error;

use super::hpack::HpackError;

/// An error code of the protocol, as in RST_STREAM and GOAWAY.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

#[allow(missing_docs, reason = "the names are those of RFC 9113, section 7")]
impl ErrorCode {
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(0x2);
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    pub const SETTINGS_TIMEOUT: ErrorCode = ErrorCode(0x4);
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    pub const CONNECT_ERROR: ErrorCode = ErrorCode(0xa);
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);
    pub const INADEQUATE_SECURITY: ErrorCode = ErrorCode(0xc);
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(0xd);

    /// The name in the RFC, for metrics and logs; `unknown` for a code that it does not have.
    pub fn name(self) -> &'static str {
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "unknown" => write!(f, "0x{:x}", self.0),
            name => f.write_str(name),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The peer violated a rule of the connection, which cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is and what its fields are")]
pub enum H2Error {
    #[error("the peer responds in HTTP/1.1, expected HTTP/2; it does not speak HTTP/2 on this port")]
    Http1,
    #[error("the first frame has type {found}, expected SETTINGS")]
    Preface { found: u8 },
    #[error("a frame has {found} bytes, at most {bound} are allowed")]
    FrameTooLong { found: u32, bound: u32 },
    #[error("a {frame} frame has {found} bytes, which its type does not allow")]
    FrameLength { frame: &'static str, found: u32 },
    #[error("a {frame} frame on stream 0, expected the stream of a request")]
    StreamZero { frame: &'static str },
    #[error("a {frame} frame on stream {stream}, expected stream 0")]
    StreamNotZero { frame: &'static str, stream: u32 },
    #[error("a {frame} frame on stream {stream}, which no request has opened")]
    StreamIdle { frame: &'static str, stream: u32 },
    #[error("a {frame} frame on stream {stream} after the end of its response")]
    StreamClosed { frame: &'static str, stream: u32 },
    #[error("frame type {found} within a header block, expected CONTINUATION")]
    ContinuationExpected { found: u8 },
    #[error("a CONTINUATION frame outside of a header block")]
    ContinuationUnexpected,
    #[error("a {frame} frame has more padding than payload")]
    Padding { frame: &'static str },
    #[error("a PUSH_PROMISE frame, though pushing is switched off")]
    PushPromise,
    #[error("setting {setting} is {found}, which is out of its range")]
    Setting { setting: &'static str, found: u32 },
    #[error("the connection's window is raised by 0")]
    WindowIncrement,
    #[error("a window grows beyond 2^31 - 1")]
    WindowOverflow,
    #[error("a DATA frame of {found} bytes, the window allows {bound}")]
    WindowExceeded { found: u32, bound: u32 },
    #[error("a second GOAWAY raises the last stream from {bound} to {found}")]
    GoawayRaised { found: u32, bound: u32 },
    #[error("a header block has more than {bound} bytes")]
    HeaderBlockTooLong { bound: usize },
    #[error("the fields of a head have more than {bound} bytes")]
    HeaderListTooLong { bound: usize },
    #[error("a header block cannot be decoded")]
    Hpack(#[from] HpackError),
}

impl H2Error {
    /// The code for GOAWAY.
    pub fn code(&self) -> ErrorCode {
        use H2Error::*;
        match self {
            FrameTooLong { .. } | FrameLength { .. } => ErrorCode::FRAME_SIZE_ERROR,
            StreamClosed { .. } => ErrorCode::STREAM_CLOSED,
            Setting { setting: "INITIAL_WINDOW_SIZE", .. } | WindowOverflow | WindowExceeded { .. } => {
                ErrorCode::FLOW_CONTROL_ERROR
            }
            HeaderBlockTooLong { .. } | HeaderListTooLong { .. } => ErrorCode::ENHANCE_YOUR_CALM,
            Hpack(_) => ErrorCode::COMPRESSION_ERROR,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

/// One response violates a rule. Its stream is reset; the connection continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is")]
pub enum Malformed {
    #[error("a head without :status, or with one that is not three digits from 100, or with two")]
    Status,
    #[error("an interim head that ends the response, or has status 101")]
    Interim,
    #[error("a pseudo-header other than :status, or after another field, or in a trailer")]
    PseudoHeader,
    #[error("a header name that is empty, in upper case or no token")]
    HeaderName,
    #[error("a header value with a line end or a zero byte")]
    HeaderValue,
    #[error("a header about a connection of HTTP/1.1")]
    ConnectionSpecific,
    #[error("content-length is not a number, or given twice with different ones")]
    ContentLength,
    #[error("the body is longer or shorter than its content-length")]
    BodyLength,
    #[error("DATA before the head")]
    DataBeforeHead,
    #[error("a second head that does not end the response")]
    SecondHead,
    #[error("the window of the stream is raised by 0")]
    WindowIncrement,
    #[error("the window of the stream grows beyond 2^31 - 1")]
    WindowOverflow,
    #[error("a PRIORITY frame that is not 5 bytes long")]
    PriorityLength,
}

impl Malformed {
    /// The code for RST_STREAM.
    pub fn code(&self) -> ErrorCode {
        match self {
            Malformed::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
            Malformed::PriorityLength => ErrorCode::FRAME_SIZE_ERROR,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }

    /// A stable name for metrics and logs.
    pub fn name(&self) -> &'static str {
        use Malformed::*;
        match self {
            Status => "status",
            Interim => "interim",
            PseudoHeader => "pseudo-header",
            HeaderName => "header-name",
            HeaderValue => "header-value",
            ConnectionSpecific => "connection-specific",
            ContentLength => "content-length",
            BodyLength => "body-length",
            DataBeforeHead => "data-before-head",
            SecondHead => "second-head",
            WindowIncrement => "window-increment",
            WindowOverflow => "window-overflow",
            PriorityLength => "priority-length",
        }
    }
}
