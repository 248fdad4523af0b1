//! Requests to the API server, one at a time, with a bound on their time.

use http_types::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use scaler::settings::Kubernetes;
use scaler::{TargetError, with_causes};
use serde_json::Value;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// An API server.
pub(crate) struct Api {
    runtime: Runtime,
    client: Client,
    /// Where a namespace is not given.
    pub(crate) namespace: String,
    url: String,
}

/// Why there is no answer to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApiError {
    /// The API server refuses.
    Refused {
        /// The status code.
        code: u16,
        /// Its words.
        message: String,
    },
    /// There is no answer.
    Silent(String),
}

impl ApiError {
    /// The status code of a refusal.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            ApiError::Refused { code, .. } => Some(*code),
            ApiError::Silent(_) => None,
        }
    }
}

impl Api {
    /// The cluster of a kubeconfig and a context. Where neither is given: the current context, otherwise that of the pod.
    pub(crate) fn of_cluster(settings: &Kubernetes) -> Result<Self, TargetError> {
        let runtime = runtime()?;
        let options = KubeConfigOptions { context: settings.context.clone(), ..KubeConfigOptions::default() };
        let config = runtime.block_on(async {
            match (&settings.kubeconfig, &settings.context) {
                (Some(path), _) => {
                    let found = Kubeconfig::read_from(path).map_err(|error| with_causes(&error))?;
                    let config = Config::from_custom_kubeconfig(found, &options).await;
                    config.map_err(|error| with_causes(&error))
                }
                (None, Some(_)) => {
                    Config::from_kubeconfig(&options).await.map_err(|error| with_causes(&error))
                }
                (None, None) => Config::infer().await.map_err(|error| with_causes(&error)),
            }
        });
        let config = config.map_err(|why| {
            TargetError(format!(
                "`live.kubernetes`: {why}; set `kubeconfig` or `context` there or KUBECONFIG, or run in a pod"
            ))
        })?;
        Api::new(config, runtime)
    }

    /// The API server of a URL, without credentials.
    #[cfg(test)]
    pub(crate) fn of_url(url: &str) -> Self {
        Api::new(Config::new(url.parse().unwrap()), runtime().unwrap()).unwrap()
    }

    fn new(mut config: Config, runtime: Runtime) -> Result<Self, TargetError> {
        // The scaler tries again by itself.
        config.default_retry = false;
        config.connect_timeout = Some(LONGEST);
        let (namespace, url) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let client = runtime.block_on(async { Client::try_from(config) });
        let client =
            client.map_err(|error| TargetError(format!("`live.kubernetes`: {}", with_causes(&error))))?;
        Ok(Api { runtime, client, namespace, url })
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.call("GET", path, None)
    }

    /// Sends a request; with a body it is JSON.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, ApiError> {
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let mut request = Request::builder().method(method).uri(path);
        if body.is_some() {
            let patch = method == "PATCH";
            let content = if patch { "application/merge-patch+json" } else { "application/json" };
            request = request.header("content-type", content);
        }
        let request = request.body(bytes).map_err(|error| ApiError::Silent(error.to_string()))?;
        let sent = async { tokio::time::timeout(LONGEST, self.client.request::<Value>(request)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(kube::Error::Api(status))) => {
                Err(ApiError::Refused { code: status.code, message: status.message.clone() })
            }
            Ok(Err(error)) => Err(ApiError::Silent(format!("{}: {}", self.url, with_causes(&error)))),
            Err(_) => Err(ApiError::Silent(format!("{} did not respond within {LONGEST:?}", self.url))),
        }
    }
}

fn runtime() -> Result<Runtime, TargetError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| TargetError(format!("`live.kubernetes`: cannot start the client: {error}")))
}

/// The longest time of a request: much shorter than a Lease.
const LONGEST: Duration = Duration::from_secs(3);
