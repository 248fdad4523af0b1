//! The API server of the tests: what the target uses of it, with faults to switch on.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(super) const SCALE: &str = "/apis/apps/v1/namespaces/shop/deployments/web/scale";
pub(super) const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/headroom-web";

pub(super) struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub(super) struct State {
    objects: BTreeMap<String, Value>,
    version: u64,
    pub(super) autoscalers: Vec<Value>,
    /// Writes of the scale that meet a conflict.
    pub(super) conflicts: u32,
    /// A size that somebody sets just before the next write.
    pub(super) hand_at_write: Option<u32>,
    /// A method and the end of a path.
    pub(super) forbidden: Option<(&'static str, &'static str)>,
    /// A verb of the scale that reviews deny.
    pub(super) lacks: Option<&'static str>,
    /// Writes of the scale whose answer is lost.
    pub(super) lost: u32,
    /// Connections are closed.
    pub(super) down: bool,
}

impl Server {
    pub(super) fn start(size: u32, replicas: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut first = State::default();
        let scale = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"},
            "spec": {"replicas": size}, "status": {"replicas": replicas}});
        first.put(SCALE, scale);
        let state = Arc::new(Mutex::new(first));
        let of_thread = Arc::clone(&state);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&of_thread);
                std::thread::spawn(move || serve(&stream, &state));
            }
        });
        Server { address, state }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    pub(super) fn object(&self, path: &str) -> Value {
        self.change(|state| state.objects[path].clone())
    }

    pub(super) fn size(&self) -> u64 {
        self.object(SCALE)["spec"]["replicas"].as_u64().unwrap()
    }

    pub(super) fn replicas(&self, replicas: u32) {
        self.change(|state| {
            let mut scale = state.objects[SCALE].clone();
            scale["status"]["replicas"] = json!(replicas);
            state.put(SCALE, scale);
        });
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let mut state = state.lock().unwrap();
        if state.down {
            let _ = stream.shutdown(Shutdown::Both);
            return None;
        }
        let (code, answer) = state.answer(&method, &path, body);
        if method == "PUT" && path == SCALE && state.lost > 0 {
            state.lost -= 1;
            let _ = stream.shutdown(Shutdown::Both);
            return None;
        }
        drop(state);
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {code} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        let mut writer = stream;
        writer.write_all((head + &text).as_bytes()).ok()?;
    }
}

impl State {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        object
    }

    fn answer(&mut self, method: &str, path: &str, body: Value) -> (u16, Value) {
        if self.forbidden.is_some_and(|(verb, end)| verb == method && path.ends_with(end)) {
            return refusal(403, "forbidden: no RBAC rule matched");
        }
        match (method, path) {
            ("GET", "/apis/apps") => {
                let version = json!({"groupVersion": "apps/v1", "version": "v1"});
                (200, json!({"versions": [version], "preferredVersion": version}))
            }
            ("GET", "/apis/apps/v1") => {
                let resources = json!([{"name": "deployments", "kind": "Deployment"},
                    {"name": "deployments/scale", "kind": "Scale"}, {"name": "daemonsets", "kind": "DaemonSet"}]);
                (200, json!({"resources": resources}))
            }
            ("GET", path) if path.ends_with("/horizontalpodautoscalers") => {
                (200, json!({"items": self.autoscalers}))
            }
            ("POST", path) if path.ends_with("/selfsubjectaccessreviews") => {
                let asked = &body["spec"]["resourceAttributes"];
                let lacks = asked["subresource"] == "scale" && asked["verb"].as_str() == self.lacks;
                (201, json!({"status": {"allowed": !lacks}}))
            }
            ("POST", path) => {
                let path = format!("{path}/{}", body["metadata"]["name"].as_str().unwrap());
                if self.objects.contains_key(&path) {
                    return refusal(409, "it exists");
                }
                (201, self.put(&path, body))
            }
            ("PUT", path) => {
                if path == SCALE && self.conflicts > 0 {
                    // Its status changes.
                    self.conflicts -= 1;
                    let same = self.objects[path].clone();
                    self.put(path, same);
                }
                if let Some(size) = self.hand_at_write.take() {
                    let mut scale = self.objects[SCALE].clone();
                    scale["spec"]["replicas"] = json!(size);
                    self.put(SCALE, scale);
                }
                let Some(found) = self.objects.get(path) else { return refusal(404, "not found") };
                if found["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] {
                    return refusal(409, "the object has been modified");
                }
                (200, self.put(path, body))
            }
            _ => {
                self.objects.get(path).map_or_else(|| refusal(404, "not found"), |found| (200, found.clone()))
            }
        }
    }
}

fn refusal(code: u16, message: &str) -> (u16, Value) {
    (
        code,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}),
    )
}
