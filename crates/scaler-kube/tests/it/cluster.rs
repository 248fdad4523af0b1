use crate::peers::peer;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// An API server with etcd. Both end with it.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    etcd: Child,
    server: Option<Child>,
    program: PathBuf,
    etcd_port: u16,
    port: u16,
}

/// A client with all rights.
pub(crate) struct Admin {
    runtime: Runtime,
    client: Client,
}

/// The status code and the words of a refusal.
pub(crate) type Refused = (u16, String);

impl Cluster {
    /// None, said out loud, where a program is missing.
    pub(crate) fn start() -> Option<(Self, Admin)> {
        let (etcd, program, openssl) = (peer("etcd")?, peer("kube-apiserver")?, peer("openssl")?);
        let folder = tempfile::tempdir().unwrap();
        let [etcd_port, peer_port, port] = free_ports();
        let (clients, peers) =
            (format!("http://127.0.0.1:{etcd_port}"), format!("http://127.0.0.1:{peer_port}"));
        let etcd = Command::new(etcd)
            .arg("--data-dir")
            .arg(folder.path().join("etcd"))
            .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers, "--log-level", "error"])
            .stdout(log(folder.path(), "etcd.log"))
            .stderr(log(folder.path(), "etcd.log"))
            .spawn()
            .unwrap();
        let made =
            Command::new(openssl).args(["genrsa", "-out"]).arg(folder.path().join("accounts.key")).output();
        assert!(made.unwrap().status.success());
        std::fs::write(folder.path().join("tokens.csv"), "admin,admin,admin,system:masters\n").unwrap();
        let mut cluster = Cluster { folder, etcd, server: None, program, etcd_port, port };
        cluster.start_server();
        let admin = Admin::new(&cluster.kubeconfig("admin"));
        let begun = Instant::now();
        while !admin.is_ready() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{}", cluster.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
        Some((cluster, admin))
    }

    /// Starts the API server, which was stopped, on the same port.
    pub(crate) fn start_server(&mut self) {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let options = [
            ("etcd-servers", format!("http://127.0.0.1:{}", self.etcd_port)),
            ("secure-port", self.port.to_string()),
            ("bind-address", "127.0.0.1".to_owned()),
            ("advertise-address", "127.0.0.1".to_owned()),
            ("service-cluster-ip-range", "10.0.0.0/24".to_owned()),
            ("cert-dir", file("certificates")),
            ("service-account-issuer", "https://kubernetes.default.svc".to_owned()),
            ("service-account-key-file", file("accounts.key")),
            ("service-account-signing-key-file", file("accounts.key")),
            ("authorization-mode", "RBAC".to_owned()),
            ("token-auth-file", file("tokens.csv")),
        ];
        let server = Command::new(&self.program)
            .args(options.map(|(name, value)| format!("--{name}={value}")))
            .stdout(log(self.folder.path(), "server.log"))
            .stderr(log(self.folder.path(), "server.log"))
            .spawn();
        self.server = Some(server.unwrap());
        let begun = Instant::now();
        let certificates = self.folder.path().join("certificates/apiserver.crt");
        // Its own, and that of its authority.
        let is_written = || {
            let text = std::fs::read_to_string(&certificates).unwrap_or_default();
            text.matches("END CERTIFICATE").count() == 2
        };
        while !is_written() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{}", self.logs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the API server.
    pub(crate) fn kill_server(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// A kubeconfig for the holder of a token.
    pub(crate) fn kubeconfig(&self, token: &str) -> PathBuf {
        let path = self.folder.path().join(format!("{}.kubeconfig", &token[..token.len().min(20)]));
        let certificates = self.folder.path().join("certificates/apiserver.crt");
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test", "namespace": "shop" } }],
            "users": [{ "name": "test", "user": { "token": token } }],
            "clusters": [{ "name": "test", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.port),
                "certificate-authority": certificates,
            } }],
        });
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    fn logs(&self) -> String {
        let of = |name: &str| std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        let (etcd, server) = (of("etcd.log"), of("server.log"));
        let tail: Vec<&str> = server.lines().rev().take(20).collect();
        format!("etcd:\n{etcd}\nAPI server, the last line first:\n{}", tail.join("\n"))
    }
}

impl Admin {
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        let config = Kubeconfig::read_from(kubeconfig).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
            Client::try_from(config.unwrap()).unwrap()
        });
        Admin { runtime, client }
    }

    /// The server may be used: it is up, and has made its own objects.
    fn is_ready(&self) -> bool {
        let request = http_types::Request::get("/readyz").body(Vec::new()).unwrap();
        let asked = async { self.client.request_text(request).await };
        self.runtime.block_on(asked).is_ok_and(|text| text == "ok")
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, Refused> {
        self.call("GET", path, "application/json", String::new())
    }

    pub(crate) fn post(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.call("POST", path, "application/json", object.to_string())
    }

    pub(crate) fn put(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.call("PUT", path, "application/json", object.to_string())
    }

    pub(crate) fn merge(&self, path: &str, change: &Value) -> Value {
        self.call("PATCH", path, "application/merge-patch+json", change.to_string()).unwrap()
    }

    pub(crate) fn delete(&self, path: &str) {
        self.call("DELETE", path, "application/json", String::new()).unwrap();
    }

    /// Creates the objects of a manifest, or only asks whether they are accepted; a field that does not exist is refused.
    pub(crate) fn create(&self, manifest: &str, dry_run: bool) -> Result<(), Refused> {
        for document in manifest.split("---\n") {
            let path = match () {
                () if document.contains("kind: ServiceAccount\nmetadata") => {
                    "/api/v1/namespaces/shop/serviceaccounts"
                }
                () if document.contains("kind: Role\n") => {
                    "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles"
                }
                () if document.contains("kind: RoleBinding\n") => {
                    "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings"
                }
                () => "/apis/apps/v1/namespaces/shop/deployments",
            };
            let dry = if dry_run { "&dryRun=All" } else { "" };
            let path = format!("{path}?fieldValidation=Strict{dry}");
            self.call("POST", &path, "application/yaml", document.to_owned())?;
        }
        Ok(())
    }

    fn call(&self, method: &str, path: &str, content: &str, body: String) -> Result<Value, Refused> {
        let request = http_types::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .body(body.into_bytes())
            .unwrap();
        let found = self.runtime.block_on(async { self.client.request::<Value>(request).await });
        found.map_err(|error| match error {
            kube::Error::Api(status) => (status.code, status.message.clone()),
            other => (0, format!("{other:?}")),
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.server.iter_mut().chain([&mut self.etcd]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn log(folder: &Path, name: &str) -> File {
    File::options().create(true).append(true).open(folder.join(name)).unwrap()
}

fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
