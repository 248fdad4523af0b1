//! moto, and a proxy before it that knows which action each request is for, and makes faults.
//!
//! The client speaks CBOR with CloudWatch, which moto's server does not; the proxy translates to the JSON that both AWS and moto
//! have.

use crate::peers::peer;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ecs::config::{Credentials, SharedCredentialsProvider};
use ciborium::Value as Cbor;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// moto with its proxy; it ends with this value.
pub struct Cloud {
    moto: Child,
    address: SocketAddr,
    proxy: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// What happens to requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    #[default]
    None,
    /// They are refused with this code.
    Refused(&'static str),
    /// They get no answer: the connection is closed.
    Silent,
    /// The connection stays open without an answer, for longer than anybody waits.
    Hanging,
    /// They are carried out, and the answer is lost.
    AnswerLost,
}

#[derive(Default)]
struct State {
    fault: Fault,
    /// The action of which requests meet the fault; none: all.
    of: Option<&'static str>,
    actions: BTreeSet<String>,
}

impl Cloud {
    /// None, said out loud, where moto is missing.
    pub fn start() -> Option<Self> {
        let program = peer("moto_server")?;
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let moto = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let cloud = Cloud { moto, address, proxy, state: Arc::clone(&state) };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "moto does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                std::thread::spawn(move || pass(&stream, address, &state));
            }
        });
        Some(cloud)
    }

    /// A client's configuration through the proxy.
    pub fn through_proxy(&self) -> SdkConfig {
        config(self.proxy)
    }

    /// A client's configuration without it.
    pub fn direct(&self) -> SdkConfig {
        config(self.address)
    }

    /// From now on requests of an action, or of all, meet this.
    pub fn fault(&self, fault: Fault, of: Option<&'static str>) {
        let mut state = self.state.lock().unwrap();
        (state.fault, state.of) = (fault, of);
    }

    /// The actions of all requests through the proxy since the last call.
    pub fn actions(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.state.lock().unwrap().actions)
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = self.moto.kill();
        let _ = self.moto.wait();
    }
}

fn config(address: SocketAddr) -> SdkConfig {
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", Some("token".to_owned()), None, "test");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(format!("http://{address}"))
        .build()
}

/// Serves a connection, one request.
fn pass(client: &TcpStream, moto: SocketAddr, state: &Mutex<State>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let Some((head, body)) = request(&mut reader) else { return };
    let action = action_of(&head, &body);
    let fault = {
        let mut state = state.lock().unwrap();
        state.actions.insert(action.clone());
        if state.of.is_none_or(|of| of == action) { state.fault } else { Fault::None }
    };
    let mut client = client;
    let answer = match fault {
        Fault::Silent => None,
        Fault::Hanging => {
            std::thread::sleep(Duration::from_secs(8));
            None
        }
        Fault::Refused(code) => Some(refusal(&action, code)),
        Fault::None | Fault::AnswerLost => {
            let answer = match action.strip_prefix("cloudwatch:") {
                Some(operation) => through_json(&head, operation, &body, moto),
                None => forward(&head, &body, moto),
            };
            if fault == Fault::AnswerLost { None } else { Some(answer) }
        }
    };
    if let Some(answer) = answer {
        let _ = client.write_all(&answer);
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<(Vec<String>, Vec<u8>)> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn header<'a>(head: &'a [String], name: &str) -> Option<&'a str> {
    let found = head.iter().skip(1).filter_map(|line| line.split_once(':'));
    found.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// The action of IAM that a request is for: each protocol of AWS names its operation in another place.
fn action_of(head: &[String], body: &[u8]) -> String {
    if let Some((service, operation)) = header(head, "x-amz-target").and_then(|target| target.split_once('.'))
    {
        let service = match service {
            "AnyScaleFrontendService" => "application-autoscaling",
            service if service.starts_with("AmazonEC2ContainerService") => "ecs",
            other => other,
        };
        return format!("{service}:{operation}");
    }
    let path = head[0].split(' ').nth(1).unwrap();
    if let Some(operation) = path.strip_prefix("/service/GraniteServiceVersion20100801/operation/") {
        return format!("cloudwatch:{operation}");
    }
    let text = String::from_utf8_lossy(body);
    let operation = text.split('&').find_map(|part| part.strip_prefix("Action="));
    format!("autoscaling:{}", operation.unwrap_or(path))
}

fn refusal(action: &str, code: &str) -> Vec<u8> {
    let (kind, body) = match action.starts_with("autoscaling:") {
        true => (
            "text/xml",
            format!(
                "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>made by a test</Message></Error></ErrorResponse>"
            ),
        ),
        false => {
            ("application/x-amz-json-1.1", format!(r#"{{"__type":"{code}","message":"made by a test"}}"#))
        }
    };
    let length = body.len();
    format!("HTTP/1.1 400 Bad Request\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into_bytes()
}

fn forward(head: &[String], body: &[u8], moto: SocketAddr) -> Vec<u8> {
    let mut stream = TcpStream::connect(moto).unwrap();
    let mut text = String::new();
    for line in head.iter().filter(|line| !line.to_ascii_lowercase().starts_with("connection:")) {
        text.push_str(line);
        text.push_str("\r\n");
    }
    text.push_str("connection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// Passes a request in CBOR on as JSON, and the answer back.
fn through_json(head: &[String], operation: &str, body: &[u8], moto: SocketAddr) -> Vec<u8> {
    let request: Cbor = ciborium::from_reader(body).unwrap();
    let body = json_of(&request).to_string().into_bytes();
    let mut lines = vec!["POST / HTTP/1.1".to_owned()];
    let replaced = ["content-length", "content-type", "accept", "smithy-protocol"];
    let kept = |line: &&String| {
        let name = line.split(':').next().unwrap().to_ascii_lowercase();
        !replaced.contains(&name.as_str())
    };
    lines.extend(head.iter().skip(1).filter(kept).cloned());
    lines.push("content-type: application/x-amz-json-1.0".to_owned());
    lines.push(format!("x-amz-target: GraniteServiceVersion20100801.{operation}"));
    lines.push(format!("content-length: {}", body.len()));
    let answer = String::from_utf8(forward(&lines, &body, moto)).unwrap();
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let mut body = Vec::new();
    ciborium::into_writer(&cbor_of(&serde_json::from_str(text).unwrap(), ""), &mut body).unwrap();
    let length = body.len();
    let mut all = format!(
        "HTTP/1.1 200 OK\r\nsmithy-protocol: rpc-v2-cbor\r\ncontent-type: application/cbor\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    )
    .into_bytes();
    all.extend(body);
    all
}

fn json_of(value: &Cbor) -> Value {
    match value {
        Cbor::Map(entries) => {
            let entry = |(key, value): &(Cbor, Cbor)| (key.as_text().unwrap().to_owned(), json_of(value));
            Value::Object(entries.iter().map(entry).collect())
        }
        Cbor::Array(items) => items.iter().map(json_of).collect(),
        Cbor::Text(text) => text.as_str().into(),
        Cbor::Integer(number) => i64::try_from(*number).unwrap().into(),
        Cbor::Float(number) => (*number).into(),
        Cbor::Bool(is) => (*is).into(),
        // A time, in seconds.
        Cbor::Tag(_, inner) => json_of(inner),
        other => panic!("{other:?}"),
    }
}

/// `key` tells times from numbers.
fn cbor_of(value: &Value, key: &str) -> Cbor {
    match value {
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| (Cbor::Text(key.clone()), cbor_of(value, key));
            Cbor::Map(entries.iter().map(entry).collect())
        }
        Value::Array(items) => Cbor::Array(items.iter().map(|item| cbor_of(item, key)).collect()),
        Value::String(text) => Cbor::Text(text.clone()),
        Value::Number(number) if key == "Timestamps" => {
            Cbor::Tag(1, Box::new(Cbor::Float(number.as_f64().unwrap())))
        }
        Value::Number(number) => Cbor::Float(number.as_f64().unwrap()),
        Value::Bool(is) => Cbor::Bool(*is),
        Value::Null => Cbor::Null,
    }
}
