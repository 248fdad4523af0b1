//! The client against frames written by hand, against generated ones, and against the `h2` crate.

mod hpack_examples;
mod peer;
mod properties;
mod requests;
mod violations;
mod windows;

use super::client::{Connection, Settings};
use super::error::H2Error;
use super::frame::{self, Header, kind};
use super::hpack::RequestHead;
use super::laws::{Event, Recorder};

/// A frame from a server.
fn framed(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::header(&mut bytes, payload.len(), kind, flags, stream);
    bytes.extend_from_slice(payload);
    bytes
}

fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::settings(&mut bytes, settings);
    bytes
}

fn get() -> RequestHead {
    RequestHead::new("GET", "http", "a", "/", []).unwrap()
}

/// A client whose server has sent its settings.
struct Client {
    connection: Connection,
    recorder: Recorder,
    out: Vec<u8>,
}

impl Client {
    fn new(ours: Settings, theirs: &[(u16, u32)]) -> Client {
        let mut client = Client::silent(ours);
        client.receive(&settings(theirs)).unwrap();
        client.sent();
        client
    }

    /// A client whose server has sent nothing yet.
    fn silent(ours: Settings) -> Client {
        let mut out = Vec::new();
        let connection = Connection::new(ours, &mut out);
        Client { connection, recorder: Recorder::default(), out }
    }

    /// A client with this many requests in flight, on streams 1, 3, ... with keys 0, 1, ...
    fn with_requests(count: u32) -> Client {
        let mut client = Client::new(Settings::default(), &[]);
        (0..count).for_each(|key| client.request(key, b""));
        client.sent();
        client
    }

    fn request(&mut self, key: u32, body: &[u8]) {
        self.connection.request(&get(), body, key, &mut self.out).unwrap();
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<(), H2Error> {
        self.connection.received(bytes, &mut self.out, &mut self.recorder)
    }

    /// The events since the last call.
    fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.recorder.events)
    }

    /// The frames that were sent since the last call: type, flags, stream, payload.
    fn sent(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        let out = std::mem::take(&mut self.out);
        let mut rest = out.strip_prefix(frame::PREFACE).unwrap_or(&out);
        let mut frames = Vec::new();
        while let Some(header) = Header::read(rest) {
            let (payload, after) = rest[9..].split_at(header.len as usize);
            frames.push((header.kind, header.flags, header.stream, payload.to_vec()));
            rest = after;
        }
        assert!(rest.is_empty());
        frames
    }

    /// The lengths of the DATA frames sent since the last call, with their streams and flags.
    fn sent_data(&mut self) -> Vec<(u32, usize, u8)> {
        let data = self.sent().into_iter().filter(|sent| sent.0 == kind::DATA);
        data.map(|(_, flags, stream, payload)| (stream, payload.len(), flags)).collect()
    }
}
