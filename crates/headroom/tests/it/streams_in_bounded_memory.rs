//! Bodies of a gigabyte through the gateway, in both directions: its memory does not grow, even if one side is slow.

use crate::programs::{Server, alone, free_address, headroom};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const SIZE: usize = 1 << 30;
const PART: usize = 1 << 16;

/// Grows by far less than a body, with room for what allocators keep.
const GROWTH_BYTES_MAX: usize = 24 << 20;

/// Swallows a body, then sends one in chunks, with a nap now and then.
fn serve(mut stream: TcpStream) {
    let mut buffer = vec![0; 4 * PART];
    let mut head = Vec::new();
    let begun = loop {
        let count = stream.read(&mut buffer).unwrap();
        if count == 0 {
            return;
        }
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            break head.len() - end - 4;
        }
    };
    let mut left = SIZE - begun;
    while left > 0 {
        left -= stream.read(&mut buffer).unwrap();
        if left % 4_096 == 7 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    let chunk = [format!("{PART:x}\r\n").as_bytes(), &vec![0; PART], b"\r\n"].concat();
    (0..SIZE / PART).for_each(|_| stream.write_all(&chunk).unwrap());
    stream.write_all(b"0\r\n\r\n").unwrap();
}

/// The most memory that a process has held so far, in bytes.
fn peak_bytes(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

fn exchange(gateway: SocketAddr) -> usize {
    let stream = TcpStream::connect(gateway).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let upload = std::thread::spawn(move || {
        writer
            .write_all(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes())
            .unwrap();
        let part = vec![0; PART];
        (0..SIZE / PART).for_each(|_| writer.write_all(&part).unwrap());
    });
    let (mut reader, mut buffer, mut count) = (stream, vec![0; 4 * PART], 0);
    let end = b"\r\n0\r\n\r\n";
    let mut tail = Vec::new();
    while !tail.ends_with(end) {
        let read = reader.read(&mut buffer).unwrap();
        assert!(read > 0, "broken off after {count} bytes");
        count += read;
        tail.extend_from_slice(&buffer[read.saturating_sub(end.len())..read]);
        tail.drain(..tail.len().saturating_sub(end.len()));
        if count % 4_096 == 7 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    upload.join().unwrap();
    count
}

#[test]
fn a_gigabyte_of_zeros_each_way_takes_no_memory() {
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || serve(stream));
        }
    });
    let address = free_address();
    let gateway =
        Server::start(headroom(&["gateway", "--to", &to, "--listen", &address.to_string()]), address);
    let before = peak_bytes(gateway.id());
    let count = exchange(address);
    assert!(count > SIZE, "{count}");
    let grown = peak_bytes(gateway.id()) - before;
    assert!(grown < GROWTH_BYTES_MAX, "grew by {grown} bytes");
}
