//! A server that responds, stalls, breaks off or sends invalid data, depending on its seed.

use http::reactor::virtual_net::{End, Peer, World};
use stats::Rng;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use units::Timestamp;

/// A server and its connections.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    rng: Rng,
    h2: bool,
    /// It responds correctly, and soon.
    calm: bool,
    connections: Vec<Connection>,
}

struct Connection {
    peer: Peer,
    got: Vec<u8>,
    acts: VecDeque<(Timestamp, Act)>,
    greeted: bool,
    deaf: bool,
    over: bool,
}

enum Act {
    Send(Vec<u8>),
    Finish,
    Close,
    Reset,
}

impl Server {
    pub(super) fn new(number: u8, rng: &mut Rng, h2: bool, calm: bool) -> Self {
        let address = SocketAddr::from(([10, 3, 0, number], 80));
        let rng = Rng::new(rng.bits(), "server");
        Server { address, rng, h2, calm, connections: Vec::new() }
    }

    /// Does what is due, and returns when to call it again.
    pub(super) fn play(&mut self, world: &World) -> Timestamp {
        let now = world.now();
        while let Some(peer) = world.accept(self.address) {
            let mut connection = Connection {
                peer,
                got: Vec::new(),
                acts: VecDeque::new(),
                greeted: false,
                deaf: !self.calm && self.rng.below(30) == 0,
                over: false,
            };
            if !self.calm {
                match self.rng.below(40) {
                    0 => connection.later(now, &mut self.rng, Act::Close),
                    1 => connection.later(now, &mut self.rng, Act::Reset),
                    2 => connection.later(now, &mut self.rng, Act::Send(b"220 mail ready\r\n".to_vec())),
                    _ => {}
                }
            }
            self.connections.push(connection);
        }
        for connection in &mut self.connections {
            if !connection.deaf {
                let (bytes, end) = connection.peer.receive(100_000);
                connection.got.extend(bytes);
                if self.h2 {
                    frames(connection, &mut self.rng, now, self.calm);
                } else {
                    requests(connection, &mut self.rng, now, self.calm);
                }
                if let Some(end) = end {
                    connection.over = true;
                    if end == End::Finished {
                        connection.peer.close();
                    }
                }
            }
            while connection.acts.front().is_some_and(|(at, _)| *at <= now) && !connection.over {
                let Some((_, act)) = connection.acts.pop_front() else { break };
                connection.over |= matches!(act, Act::Close | Act::Reset);
                match act {
                    Act::Send(bytes) => connection.peer.send(&bytes),
                    Act::Finish => connection.peer.finish(),
                    Act::Close => connection.peer.close(),
                    Act::Reset => connection.peer.reset(),
                }
            }
        }
        self.connections.retain(|connection| !connection.over);
        let acts = self.connections.iter().filter_map(|connection| connection.acts.front());
        acts.map(|(at, _)| *at).min().unwrap_or(Timestamp::NEVER)
    }
}

impl Connection {
    /// Queues an action after the earlier ones; every server takes some time.
    fn later(&mut self, now: Timestamp, rng: &mut Rng, act: Act) {
        let wait = Duration::from_micros(200 + rng.below(3_000) as u64);
        let last = self.acts.back().map_or(now, |(at, _)| *at);
        self.acts.push_back((last.max(now + wait), act));
    }
}

/// Responds to the complete HTTP/1.1 requests.
fn requests(connection: &mut Connection, rng: &mut Rng, now: Timestamp, calm: bool) {
    while let Some(end) = connection.got.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&connection.got[..end]).into_owned();
        let length = head.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if connection.got.len() < end + 4 + length {
            return;
        }
        connection.got.drain(..end + 4 + length);
        // Mostly a correct response.
        let kind = if calm { 13 * rng.below(2) } else { rng.below(26) };
        let text = |text: &str| Act::Send(text.as_bytes().to_vec());
        let mut says = |act| connection.later(now, rng, act);
        match kind {
            0 => says(text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")),
            1 => says(text("HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")),
            2 => {
                says(text("HTTP/1.1 200 OK\r\n\r\nuntil the end"));
                says(Act::Finish);
            }
            3 => {
                says(text("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
                says(Act::Close);
            }
            5 => says(text("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")),
            6 => says(Act::Reset),
            7 => {
                says(text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
                says(Act::Close);
            }
            8 => says(text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more")),
            9 => says(text("SSH-2.0-OpenSSH\r\n\r\n")),
            10 => {}
            11 => {
                says(text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
                says(Act::Close);
            }
            12 => {
                says(text("HTTP/1.1 302 Found\r\nLocation: http://10.3.0.2/x\r\nContent-Length: 0\r\n\r\n"))
            }
            _ => says(text(
                "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nSet-Cookie: a=b\r\n\r\n{\"id\": \"a b\"}",
            )),
        }
    }
}

/// Responds to HTTP/2 requests.
fn frames(connection: &mut Connection, rng: &mut Rng, now: Timestamp, calm: bool) {
    const PREFACE: usize = 24;
    if !connection.greeted {
        if connection.got.len() < PREFACE {
            return;
        }
        connection.got.drain(..PREFACE);
        connection.greeted = true;
        let mut settings = Vec::new();
        if rng.below(2) == 0 {
            settings.extend([0, 3, 0, 0, 0, 1 + rng.below(8) as u8]);
        }
        if rng.below(3) == 0 {
            // A window that is smaller than the bodies.
            settings.extend([0, 4, 0, 0, 0, 50 + rng.below(200) as u8]);
        }
        let answer = if !calm && rng.below(20) == 0 {
            b"HTTP/1.1 400 Bad\r\n\r\n".to_vec()
        } else {
            frame(4, 0, 0, &settings)
        };
        connection.later(now, rng, Act::Send(answer));
    }
    while connection.got.len() >= 9 {
        let size = usize::from(connection.got[0]) << 16
            | usize::from(connection.got[1]) << 8
            | usize::from(connection.got[2]);
        if connection.got.len() < 9 + size {
            return;
        }
        let whole: Vec<u8> = connection.got.drain(..9 + size).collect();
        let (kind, flags) = (whole[3], whole[4]);
        let stream = u32::from_be_bytes([whole[5], whole[6], whole[7], whole[8]]);
        match kind {
            // A window update for as much as arrived.
            0 if size > 0 => {
                let increment = (size as u32).to_be_bytes();
                connection.later(now, rng, Act::Send(frame(8, 0, 0, &increment)));
                if flags & 1 == 0 {
                    connection.later(now, rng, Act::Send(frame(8, 0, stream, &increment)));
                }
            }
            4 if flags & 1 == 0 => connection.later(now, rng, Act::Send(frame(4, 1, 0, &[]))),
            6 if flags & 1 == 0 => connection.later(now, rng, Act::Send(frame(6, 1, 0, &whole[9..]))),
            _ => {}
        }
        // The request is complete.
        if (kind == 0 || kind == 1) && flags & 1 == 1 {
            answer_stream(connection, rng, now, calm, stream);
        }
    }
}

fn answer_stream(connection: &mut Connection, rng: &mut Rng, now: Timestamp, calm: bool, stream: u32) {
    let kind = if calm { 100 } else { rng.below(40) };
    let act = match kind {
        0 => Act::Send(frame(3, 0, stream, &7_u32.to_be_bytes())),
        1 => Act::Send(frame(3, 0, stream, &2_u32.to_be_bytes())),
        2 => Act::Send(frame(7, 0, 0, &[(stream.saturating_sub(4)).to_be_bytes(), [0; 4]].concat())),
        3 => Act::Send(frame(7, 0, 0, &[stream.to_be_bytes(), [0; 4]].concat())),
        4 => Act::Close,
        5 => Act::Reset,
        6 => Act::Send(vec![0xff; 30]),
        7 | 8 => return,
        // Data before a head.
        9 => Act::Send(frame(0, 1, stream, b"early")),
        10 => Act::Send(frame(4, 0, 0, &[0, 3, 0, 0, 0, rng.below(3) as u8])),
        11 => Act::Send(frame(1, 5, stream, &[0x8d])),
        _ => {
            connection.later(now, rng, Act::Send(frame(1, 4, stream, &[0x88])));
            Act::Send(frame(0, 1, stream, br#"{"id":"a b"}"#))
        }
    };
    connection.later(now, rng, act);
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}
