use crate::cloud::{Cloud, Fault};
use crate::counting_gateway::Gateway;
use crate::live_run::{Run, eventually, plan, until};
use aws_config::SdkConfig;
use aws_sdk_applicationautoscaling::types::{
    AdjustmentType, PolicyType, ScalableDimension, ServiceNamespace, StepAdjustment,
    StepScalingPolicyConfiguration, SuspendedState,
};
use aws_sdk_cloudwatch::primitives::DateTime;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum};
use aws_sdk_ecs::types::{ContainerDefinition, SchedulingStrategy};
use scaler::settings::{Aws, AwsFleet};
use scaler::{Phase, Remote, Snapshot, Target as _, TargetError};
use scaler_aws::{AwsTarget, rights};
use std::collections::BTreeSet;
use std::future::Future;
use std::time::{Duration, SystemTime};
use tokio::runtime::Runtime;

/// One moto for all of them: the parts need what those before have made.
#[test]
fn fleets_of_aws_are_scaled_as_the_scaler_says() {
    let Some(cloud) = Cloud::start() else { return };
    let account = Account::new(&cloud);
    account.make_service();
    account.make_group();
    account.wake_moto();
    for (settings, apply) in [(service(), true), (group(), true), (service(), false)] {
        the_requests_are_those_of_the_rights(&cloud, &settings, apply);
    }
    a_size_that_somebody_else_sets_is_left(&cloud, &account);
    an_answer_that_is_lost_is_no_one_elses_size(&cloud, &account);
    throttling_is_waited_for(&cloud, &account);
    credentials_that_expire_are_named(&cloud, &account);
    what_does_not_exist_is_named(&cloud, &account);
    bounds_of_a_group_are_kept(&cloud);
    the_processor_use_is_that_of_cloudwatch(&cloud, &account);
    others_are_refused(&cloud, &account);
    the_loop_scales_out_and_in(&cloud, &account);
}

fn service() -> Aws {
    Aws {
        fleet: AwsFleet::Ecs { cluster: "shop".to_owned(), service: "web".to_owned() },
        region: None,
        profile: None,
        cores: Some(2.0),
    }
}

fn group() -> Aws {
    Aws { fleet: AwsFleet::Group { name: "web".to_owned() }, ..service() }
}

fn target(cloud: &Cloud, settings: &Aws, usage: bool) -> AwsTarget {
    AwsTarget::with_config(settings, &cloud.through_proxy(), (1, 9), usage).unwrap()
}

fn remote(cloud: &Cloud, settings: &Aws, usage: bool) -> Remote {
    Remote::new(Box::new(target(cloud, settings, usage)))
}

fn leading(cloud: &Cloud, settings: &Aws) -> Remote {
    let mut target = remote(cloud, settings, false);
    target.check(true).unwrap();
    assert_eq!(target.lead().unwrap(), None);
    until(&mut target, None, Result::is_ok).unwrap();
    target
}

type WorkResult = Result<Snapshot, TargetError>;

fn the_requests_are_those_of_the_rights(cloud: &Cloud, settings: &Aws, apply: bool) {
    cloud.actions();
    let mut target = remote(cloud, settings, true);
    // Before there is processor use its size is known all the same, and nothing else.
    target.check(apply).unwrap();
    let found = until(&mut target, None, Result::is_ok).unwrap();
    assert!(
        found.stale && found.size > 0 && found.instances.iter().all(|one| one.usage.unwrap().used.is_none())
    );
    let told = target.events();
    assert!(told[0].0.contains("CloudWatch has no processor use") && told[0].0.contains("web"), "{told:?}");
    let mut target = remote(cloud, settings, false);
    target.check(apply).unwrap();
    let before = until(&mut target, None, Result::is_ok).unwrap();
    if apply {
        target.lead().unwrap();
        let after = target.work(Some(before.size + 1)).unwrap();
        assert_eq!(after.size, before.size + 1);
        let told = target.events();
        assert!(told[0].0.contains("run no other scaler"), "{told:?}");
    }
    let rights = rights::of(settings, apply, true);
    let expected: BTreeSet<String> = rights.iter().map(|right| right.action.to_owned()).collect();
    assert_eq!(cloud.actions(), expected);
    let policy: serde_json::Value = serde_json::from_str(&rights::policy(settings, true)).unwrap();
    let statements = policy["Statement"].as_array().unwrap();
    let allowed = statements.iter().flat_map(|one| one["Action"].as_array().unwrap());
    let allowed: BTreeSet<String> = allowed.map(|action| action.as_str().unwrap().to_owned()).collect();
    assert!(allowed.is_superset(&expected));
    if apply {
        assert_eq!(allowed, expected, "and no other");
    }
}

fn a_size_that_somebody_else_sets_is_left(cloud: &Cloud, account: &Account) {
    let mut target = leading(cloud, &service());
    account.set_service(7);
    // It was not read yet when another size is to be set.
    assert_eq!(target.work(Some(3)).unwrap().size, 7);
    assert_eq!(account.service_size(), 7);
    assert_eq!(target.work(Some(3)).unwrap().size, 3, "it is known now");
    let snapshot =
        until(&mut target, None, |worked| worked.as_ref().is_ok_and(|found| found.instances.len() == 3));
    assert!(snapshot.unwrap().instances.iter().all(|one| one.phase == Phase::Ready));
    let mut target = leading(cloud, &group());
    let before: BTreeSet<u64> = target.work(None).unwrap().instances.iter().map(|one| one.id).collect();
    let size = u32::try_from(before.len()).unwrap();
    assert_eq!(target.work(Some(size + 2)).unwrap().size, size + 2);
    let snapshot = until(&mut target, None, |worked| {
        worked.as_ref().is_ok_and(|found| found.instances.len() == before.len() + 2)
    });
    let after: BTreeSet<u64> = snapshot.unwrap().instances.iter().map(|one| one.id).collect();
    assert!(after.is_superset(&before), "an instance keeps its number");
    assert_eq!(target.work(Some(2)).unwrap().size, 2);
}

fn an_answer_that_is_lost_is_no_one_elses_size(cloud: &Cloud, account: &Account) {
    let mut target = leading(cloud, &service());
    cloud.fault(Fault::AnswerLost, Some("ecs:UpdateService"));
    let error = target.work(Some(6)).unwrap_err().0;
    assert!(error.contains("does not respond to `ecs:UpdateService`"), "{error}");
    assert_eq!(account.service_size(), 6, "it was set");
    cloud.fault(Fault::None, None);
    assert_eq!(until(&mut target, Some(4), Result::is_ok).unwrap().size, 4);
    assert_eq!(account.service_size(), 4);
    cloud.fault(Fault::Silent, None);
    let error = until(&mut target, Some(5), Result::is_err).unwrap_err().0;
    assert!(error.contains("AWS does not respond to `ecs:DescribeServices`"), "{error}");
    assert!(!error.contains('{') && error.len() < 400, "in words: {error}");
    cloud.fault(Fault::Hanging, None);
    let told = "AWS did not respond to `ecs:DescribeServices` within 5s";
    let _ = until(&mut target, Some(5), |worked| worked.as_ref().is_err_and(|error| error.0.contains(told)));
    cloud.fault(Fault::None, None);
    until(&mut target, Some(5), Result::is_ok).unwrap();
}

fn throttling_is_waited_for(cloud: &Cloud, account: &Account) {
    let (service, group) = (service(), group());
    for (settings, code, action) in [
        (&service, "ThrottlingException", "ecs:UpdateService"),
        (&group, "Throttling", "autoscaling:SetDesiredCapacity"),
    ] {
        let mut target = leading(cloud, settings);
        cloud.fault(Fault::Refused(code), Some(action));
        let error = target.work(Some(8)).unwrap_err().0;
        assert!(error.contains(&format!("AWS throttles `{action}`")), "{error}");
        cloud.fault(Fault::None, None);
        assert_eq!(until(&mut target, Some(8), Result::is_ok).unwrap().size, 8);
    }
    assert_eq!(account.service_size(), 8);
}

fn credentials_that_expire_are_named(cloud: &Cloud, account: &Account) {
    let mut target = leading(cloud, &service());
    for (code, expected) in [
        ("ExpiredTokenException", "have expired"),
        ("UnrecognizedClientException", "does not accept the credentials"),
        ("AccessDeniedException", "AWS forbids `ecs:DescribeServices` on `arn:aws:ecs:*:*:service/shop/web`"),
    ] {
        cloud.fault(Fault::Refused(code), None);
        let named = |worked: &WorkResult| matches!(worked, Err(error) if error.0.contains(expected));
        until(&mut target, Some(2), named).unwrap_err();
        // At the start it ends, before anything is changed.
        let error = remote(cloud, &service(), false).check(true).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
    let before = account.service_size();
    cloud.fault(Fault::None, None);
    // They were renewed: what waited for longer than ten seconds is withdrawn, what is newer is set.
    let snapshot = until(&mut target, Some(2), Result::is_ok).unwrap();
    assert!(
        snapshot.withdrawn && i64::from(snapshot.size) == i64::from(before) || snapshot.size == 2,
        "{snapshot:?}"
    );
}

fn what_does_not_exist_is_named(cloud: &Cloud, account: &Account) {
    let ecs = |cluster: &str, service: &str| Aws {
        fleet: AwsFleet::Ecs { cluster: cluster.to_owned(), service: service.to_owned() },
        ..self::service()
    };
    account.make_daemon();
    let wrong_group = Aws { fleet: AwsFleet::Group { name: "wob".to_owned() }, ..service() };
    for (settings, expected) in [
        (ecs("shop", "wob"), "there is no service `wob` in the cluster `shop`"),
        (ecs("shap", "web"), "service/shap/web`: ClusterNotFoundException"),
        (ecs("shop", "agent"), "runs one task on each host (DAEMON)"),
        (wrong_group, "there is no Auto Scaling group `wob`"),
    ] {
        let error = remote(cloud, &settings, false).check(true).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
}

fn bounds_of_a_group_are_kept(cloud: &Cloud) {
    for (bounds, expected) in [
        ((20, 30), "the minimum is 20, but `web` has the maximum 9"),
        ((2, 10), "the maximum is 10, but `web` has the maximum 9"),
        ((0, 9), "the minimum is 0, but `web` has the minimum 1"),
    ] {
        let target = AwsTarget::with_config(&group(), &cloud.through_proxy(), bounds, false).unwrap();
        let error = Remote::new(Box::new(target)).check(true).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
}

fn the_processor_use_is_that_of_cloudwatch(cloud: &Cloud, account: &Account) {
    let of_service = [("ClusterName", "shop"), ("ServiceName", "web")];
    // What is older, or of a minute that has not ended, is not the newest.
    account.measure("AWS/ECS", &of_service, 120, &[20.0, 40.0, 90.0]);
    account.measure("AWS/ECS", &of_service, 240, &[5.0]);
    account.measure("AWS/ECS", &of_service, 0, &[99.0]);
    account.measure("AWS/EC2", &[("AutoScalingGroupName", "web")], 420, &[30.0]);
    account.set_service(4);
    account.service_size();
    let mut target = remote(cloud, &service(), true);
    target.check(true).unwrap();
    let full = |worked: &WorkResult| {
        worked
            .as_ref()
            .is_ok_and(|found| found.instances.iter().filter(|one| one.phase == Phase::Ready).count() == 4)
    };
    let snapshot = until(&mut target, None, full).unwrap();
    let used = |snapshot: &Snapshot| -> Vec<f64> {
        snapshot
            .instances
            .iter()
            .filter_map(|one| one.usage?.used)
            .map(|used| (used * 1e3).round() / 1e3)
            .collect()
    };
    // Of two cores each: 90 % at the most, 50 % on average.
    assert_eq!(used(&snapshot), [1.8, 0.733, 0.733, 0.733]);
    let mut target = remote(cloud, &group(), true);
    target.check(true).unwrap();
    let snapshot = until(&mut target, None, Result::is_ok).unwrap();
    assert!(!snapshot.instances.is_empty());
    assert!(used(&snapshot).iter().all(|used| *used == 0.6), "{snapshot:?}");
}

fn others_are_refused(cloud: &Cloud, account: &Account) {
    account.make_policy();
    let error = remote(cloud, &service(), false).check(true).unwrap_err().0;
    assert!(error.contains("the scaling policy `busy` of AWS sets the size of `shop/web` too"), "{error}");
    let mut recommends = remote(cloud, &service(), false);
    recommends.check(false).unwrap();
    assert!(recommends.events()[0].0.contains("`busy` of AWS sets the size now"));
    account.suspend_policies();
    remote(cloud, &service(), false).check(true).unwrap();
    account.make_group_policy();
    let error = remote(cloud, &group(), false).check(true).unwrap_err().0;
    assert!(error.contains("the scaling policy `busy-hosts`"), "{error}");
    account.suspend_group();
    remote(cloud, &group(), false).check(true).unwrap();
}

/// A step scaling policy on requests, through the scaler's whole loop.
fn the_loop_scales_out_and_in(cloud: &Cloud, account: &Account) {
    let gateway = Gateway::start(0);
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "case: scaled
traffic: {{ rate: 10/s }}
services:
  web:
    endpoints: {{ page: {{ wait: 5ms }} }}
    server: {{ threads: 64 }}
    hosts: {{ small: {{ cores: 2 }} }}
    instances: 2
    scaling:
      min: 2
      max: 6
      platform: local
      repeat: each-period
      alarms:
        busy: {{ metric: requests, statistic: sum, above: '60', period: 1s }}
        idle: {{ metric: requests, statistic: sum, below: '30', period: 1s, missing: breaching }}
      policies:
        out: {{ alarms: [busy], change: '+3', cooldown: 2s }}
        in: {{ alarms: [idle], change: '-3', cooldown: 2s }}
live:
  gateway: {{ admin: '{}', pool: web }}
  ecs: {{ cluster: shop, service: web }}
  period: 1s
  state: run
",
        gateway.address
    );
    let plan = plan(&text, folder.path());
    let settings = plan.live.aws.clone().unwrap();
    assert_eq!(settings, service());
    account.set_service(2);
    let run =
        Run::start(plan, AwsTarget::with_config(&settings, &cloud.through_proxy(), (2, 6), false).unwrap());
    gateway.rate(100);
    eventually("it scales out to the maximum", || (account.service_size() == 6).then_some(()));
    gateway.rate(10);
    eventually("it scales in to the minimum", || (account.service_size() == 2).then_some(()));
    let heard = run.end();
    assert!(heard.iter().filter(|told| told.applied).count() >= 4, "{heard:?}");
    assert!(heard.iter().all(|told| (2..=6).contains(&told.to)), "{heard:?}");
}

/// The account of somebody who makes fleets, and changes them by hand.
struct Account {
    runtime: Runtime,
    config: SdkConfig,
    /// For CloudWatch.
    translated: SdkConfig,
}

impl Account {
    fn new(cloud: &Cloud) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Account { runtime, config: cloud.direct(), translated: cloud.through_proxy() }
    }

    fn wait<T, E: std::fmt::Debug>(&self, sent: impl Future<Output = Result<T, E>>) -> T {
        self.runtime.block_on(sent).unwrap()
    }

    fn ecs(&self) -> aws_sdk_ecs::Client {
        aws_sdk_ecs::Client::new(&self.config)
    }

    fn groups(&self) -> aws_sdk_autoscaling::Client {
        aws_sdk_autoscaling::Client::new(&self.config)
    }

    fn policies(&self) -> aws_sdk_applicationautoscaling::Client {
        aws_sdk_applicationautoscaling::Client::new(&self.config)
    }

    fn make_service(&self) {
        let ecs = self.ecs();
        self.wait(ecs.create_cluster().cluster_name("shop").send());
        let container = ContainerDefinition::builder().name("web").image("web").memory(64).build();
        self.wait(ecs.register_task_definition().family("web").container_definitions(container).send());
        let call = ecs.create_service().cluster("shop").service_name("web").task_definition("web");
        self.wait(call.desired_count(3).send());
    }

    fn make_daemon(&self) {
        let ecs = self.ecs();
        let call = ecs.create_service().cluster("shop").service_name("agent").task_definition("web");
        self.wait(call.scheduling_strategy(SchedulingStrategy::Daemon).send());
    }

    fn set_service(&self, size: i32) {
        let ecs = self.ecs();
        self.wait(ecs.update_service().cluster("shop").service("web").desired_count(size).send());
    }

    fn service_size(&self) -> i32 {
        let ecs = self.ecs();
        let found = self.wait(ecs.describe_services().cluster("shop").services("web").send());
        found.services()[0].desired_count()
    }

    fn make_group(&self) {
        let groups = self.groups();
        let call = groups.create_launch_configuration().launch_configuration_name("small");
        self.wait(call.image_id("ami-12c6146b").instance_type("t3.small").send());
        let call = groups.create_auto_scaling_group().auto_scaling_group_name("web");
        let call = call.launch_configuration_name("small").availability_zones("eu-central-1a");
        self.wait(call.min_size(1).max_size(9).desired_capacity(3).send());
    }

    /// moto loads an interface at its first request, which takes seconds.
    fn wake_moto(&self) {
        self.measure("other", &[], 120, &[1.0]);
        let call = self.policies().describe_scaling_policies().service_namespace(ServiceNamespace::Ecs);
        self.wait(call.send());
        let metrics = aws_sdk_cloudwatch::Client::new(&self.translated);
        let now = SystemTime::now();
        let call = metrics.get_metric_data().start_time(DateTime::from(now - Duration::from_secs(60)));
        self.wait(call.end_time(DateTime::from(now)).set_metric_data_queries(Some(Vec::new())).send());
    }

    fn make_group_policy(&self) {
        let call =
            self.groups().put_scaling_policy().auto_scaling_group_name("web").policy_name("busy-hosts");
        let call = call.policy_type("SimpleScaling").adjustment_type("ChangeInCapacity");
        self.wait(call.scaling_adjustment(1).send());
    }

    fn suspend_group(&self) {
        let call = self.groups().suspend_processes().auto_scaling_group_name("web");
        self.wait(call.scaling_processes("AlarmNotification").send());
    }

    fn make_policy(&self) {
        self.register(None);
        let step = StepAdjustment::builder().metric_interval_lower_bound(0.0).scaling_adjustment(1);
        let steps = StepScalingPolicyConfiguration::builder()
            .adjustment_type(AdjustmentType::ChangeInCapacity)
            .step_adjustments(step.build().unwrap());
        let call =
            self.policies().put_scaling_policy().policy_name("busy").policy_type(PolicyType::StepScaling);
        let call = call.service_namespace(ServiceNamespace::Ecs).resource_id("service/shop/web");
        let call = call.scalable_dimension(ScalableDimension::EcsServiceDesiredCount);
        self.wait(call.step_scaling_policy_configuration(steps.build()).send());
    }

    fn suspend_policies(&self) {
        let all =
            SuspendedState::builder().dynamic_scaling_in_suspended(true).dynamic_scaling_out_suspended(true);
        self.register(Some(all.build()));
    }

    fn register(&self, suspended: Option<SuspendedState>) {
        let call = self.policies().register_scalable_target().service_namespace(ServiceNamespace::Ecs);
        let call = call.resource_id("service/shop/web").min_capacity(1).max_capacity(9);
        let call = call.scalable_dimension(ScalableDimension::EcsServiceDesiredCount);
        self.wait(call.set_suspended_state(suspended).send());
    }

    fn measure(&self, namespace: &str, dimensions: &[(&str, &str)], ago_s: u64, values: &[f64]) {
        let metrics = aws_sdk_cloudwatch::Client::new(&self.translated);
        let at = DateTime::from(SystemTime::now() - Duration::from_secs(ago_s));
        for value in values {
            let mut datum = MetricDatum::builder().metric_name("CPUUtilization").timestamp(at).value(*value);
            for (name, value) in dimensions {
                datum = datum.dimensions(Dimension::builder().name(*name).value(*value).build());
            }
            self.wait(metrics.put_metric_data().namespace(namespace).metric_data(datum.build()).send());
        }
    }
}
