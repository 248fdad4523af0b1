//! Whether an instance is ready: its port accepts connections, or a path of it responds with a status below 400.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Asks it now; waits at most half a second.
pub(super) fn is_ready(port: u16, path: Option<&str>) -> bool {
    let address = super::address(port);
    let Ok(stream) = TcpStream::connect_timeout(&address, PATIENCE) else { return false };
    match path {
        None => true,
        Some(path) => responds(stream, path).unwrap_or(false),
    }
}

fn responds(mut stream: TcpStream, path: &str) -> std::io::Result<bool> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    // `HTTP/1.1 200`
    let mut line = [0; 12];
    stream.read_exact(&mut line)?;
    let status = line.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u16>().ok());
    Ok(line.starts_with(b"HTTP/1.") && status.is_some_and(|status| (200..400).contains(&status)))
}

/// An instance on this machine that is ready responds at once.
const PATIENCE: Duration = Duration::from_millis(500);
