//! Calls of AWS, one at a time, with a bound on their time; and words for their errors.

use crate::rights::Right;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ecs::error::{ProvideErrorMetadata, SdkError};
use scaler::settings::Aws;
use scaler::{TargetError, with_causes};
use std::error::Error;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The services of AWS that are called.
pub(crate) struct Client {
    runtime: Runtime,
    pub(crate) ecs: aws_sdk_ecs::Client,
    pub(crate) groups: aws_sdk_autoscaling::Client,
    pub(crate) policies: aws_sdk_applicationautoscaling::Client,
    pub(crate) metrics: aws_sdk_cloudwatch::Client,
}

impl Client {
    /// With the region and the credentials that the CLI of AWS would use, unless `settings` name others.
    pub(crate) fn of_environment(settings: &Aws) -> Result<Self, TargetError> {
        let runtime = runtime()?;
        let mut loader = aws_config::defaults(BehaviorVersion::latest());
        if let Some(region) = &settings.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(profile) = &settings.profile {
            loader = loader.profile_name(profile);
        }
        let config = runtime.block_on(loader.load());
        if config.region().is_none() {
            return Err(TargetError(format!(
                "`live.{}`: no region; set `region` there, AWS_REGION, or a region of the profile",
                settings.fleet.key()
            )));
        }
        Ok(Client::new(&config, runtime))
    }

    /// With a configuration of the caller's.
    pub(crate) fn with_config(config: &SdkConfig) -> Result<Self, TargetError> {
        Ok(Client::new(config, runtime()?))
    }

    fn new(config: &SdkConfig, runtime: Runtime) -> Self {
        let time = TimeoutConfig::builder().connect_timeout(LONGEST).operation_timeout(LONGEST).build();
        // The scaler tries again by itself.
        let config = config.to_builder().retry_config(RetryConfig::disabled()).timeout_config(time).build();
        Client {
            runtime,
            ecs: aws_sdk_ecs::Client::new(&config),
            groups: aws_sdk_autoscaling::Client::new(&config),
            policies: aws_sdk_applicationautoscaling::Client::new(&config),
            metrics: aws_sdk_cloudwatch::Client::new(&config),
        }
    }

    /// Waits for a call.
    pub(crate) fn call<T, E>(
        &self,
        right: &Right,
        sent: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, Refused>
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        let refused = |error: SdkError<E>| Refused {
            answered: error.as_service_error().is_some(),
            words: words(&error, right),
        };
        self.runtime.block_on(sent).map_err(refused)
    }
}

/// A call that was not carried out, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// AWS said so: without an answer it may have been carried out.
    pub(crate) answered: bool,
    pub(crate) words: String,
}

impl From<Refused> for TargetError {
    fn from(refused: Refused) -> Self {
        TargetError(refused.words)
    }
}

fn runtime() -> Result<Runtime, TargetError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| TargetError(format!("cannot start the client of AWS: {error}")))
}

/// The words for an error. Codes: "Common Errors" in the API references of the services.
fn words<E>(error: &SdkError<E>, right: &Right) -> String
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let action = right.action;
    let Some((code, refusal)) = error.as_service_error().and_then(|refusal| Some((refusal.code()?, refusal)))
    else {
        return match error {
            SdkError::TimeoutError(_) => format!("AWS did not respond to `{action}` within {LONGEST:?}"),
            _ => match error.raw_response() {
                Some(response) => format!(
                    "AWS gave no valid response to `{action}` (status {}): {}",
                    response.status(),
                    with_causes(error)
                ),
                None => format!("AWS does not respond to `{action}`: {}", with_causes(error)),
            },
        };
    };
    let message = refusal.message().unwrap_or("no details");
    match code {
        "ThrottlingException" | "Throttling" | "RequestLimitExceeded" | "TooManyRequestsException" => {
            format!("AWS throttles `{action}` ({code}: {message}); it is tried again")
        }
        "ExpiredTokenException" | "ExpiredToken" | "RequestExpired" => format!(
            "the credentials of AWS have expired ({code}); log in again (`aws sso login`), or renew them"
        ),
        "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "AuthFailure"
        | "MissingAuthenticationToken" => format!(
            "AWS does not accept the credentials ({code}: {message}); look at them with `aws sts get-caller-identity`"
        ),
        "AccessDeniedException" | "AccessDenied" | "UnauthorizedOperation" => format!(
            "AWS forbids `{action}` on `{}` ({message}); `headroom scale --print-permissions` has the policy that allows it",
            right.resource
        ),
        _ => format!("AWS refuses `{action}` on `{}`: {code}: {message}", right.resource),
    }
}

/// The longest time of a call.
const LONGEST: Duration = Duration::from_secs(5);
