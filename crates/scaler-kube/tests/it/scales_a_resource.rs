use crate::cluster::{Admin, Cluster};
use crate::counting_gateway::Gateway;
use crate::live_run::{Run, eventually, plan, until};
use scaler::settings::Kubernetes;
use scaler::{Phase, Remote, Snapshot, Target, TargetError};
use scaler_kube::{KubernetesTarget, rights};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One API server for all of them: it takes a quarter of a gigabyte, and the parts need what those before have made.
#[test]
fn a_real_api_server_scales_as_the_scaler_says() {
    let Some((mut cluster, admin)) = Cluster::start() else { return };
    admin.post("/api/v1/namespaces", &json!({ "metadata": { "name": "shop" } })).unwrap();
    admin.post(DEPLOYMENTS, &deployment("web", 3)).unwrap();
    let settings = account(&cluster, &admin);
    pods(&admin);
    the_printed_rights_suffice_and_each_is_needed(&cluster, &admin, &settings);
    a_size_is_read_and_set(&admin, &settings);
    a_write_that_conflicts_is_tried_again(&cluster, &admin, &settings);
    another_autoscaler_is_refused(&admin, &settings);
    credentials_that_are_not_accepted_are_named(&cluster, &settings);
    a_custom_resource_is_scaled(&cluster, &admin);
    one_leads_and_a_standby_takes_over(&admin, &settings);
    a_scaler_follows_the_load(&admin, &settings);
    the_processor_use_of_pods_is_read(&admin, &settings);
    a_server_that_restarts_is_waited_for(&mut cluster, &admin, &settings);
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/shop/deployments/web";
const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/headroom-scale-web";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/headroom-web";

fn deployment(name: &str, size: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "replicas": size,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "web", "image": "registry.example/web" }] },
            },
        },
    })
}

fn of_account(kubeconfig: &Path) -> Kubernetes {
    Kubernetes {
        resource: "deployments".to_owned(),
        group: "apps".to_owned(),
        name: "web".to_owned(),
        namespace: Some("shop".to_owned()),
        kubeconfig: Some(kubeconfig.to_owned()),
        context: None,
        lease: "headroom-web".to_owned(),
        cores: None,
    }
}

/// The service account of the printed manifests.
fn account(cluster: &Cluster, admin: &Admin) -> Kubernetes {
    let manifest = rights::manifest(&of_account(Path::new("")), true).unwrap();
    admin.create(&manifest, false).unwrap();
    let path = "/api/v1/namespaces/shop/serviceaccounts/headroom-scale-web/token";
    let token = admin.post(path, &json!({ "spec": { "expirationSeconds": 3600 } })).unwrap();
    let example = include_str!("../../../../examples/kubernetes-scale.yaml");
    admin.create(example, true).unwrap();
    of_account(&cluster.kubeconfig(token["status"]["token"].as_str().unwrap()))
}

/// A target that was not looked at yet.
fn remote(settings: &Kubernetes, usage: bool) -> Remote {
    Remote::new(Box::new(KubernetesTarget::new(settings, usage).unwrap()))
}

/// A target that leads.
fn leading(settings: &Kubernetes) -> Remote {
    leading_with(settings, false)
}

fn leading_with(settings: &Kubernetes, usage: bool) -> Remote {
    let mut target = remote(settings, usage);
    target.check(true).unwrap();
    eventually("it leads", || target.lead().ok().filter(Option::is_none));
    until(&mut target, None, Result::is_ok).unwrap();
    target
}

fn size(admin: &Admin) -> u64 {
    admin.get(WEB).unwrap()["spec"]["replicas"].as_u64().unwrap()
}

fn the_printed_rights_suffice_and_each_is_needed(cluster: &Cluster, admin: &Admin, settings: &Kubernetes) {
    let checked = || remote(settings, true).check(true);
    // The server learns of roles from a watch of its own.
    eventually("the account has its rights", || checked().ok());
    let role = admin.get(ROLE).unwrap();
    let rules = role["rules"].as_array().unwrap().clone();
    for place in 0..rules.len() {
        let mut fewer = rules.clone();
        let gone = fewer.remove(place);
        admin.merge(ROLE, &json!({ "rules": fewer }));
        let resource = format!("on `{}`", gone["resources"][0].as_str().unwrap());
        eventually("the missing right is named", || {
            checked().err().filter(|error| error.0.contains(&resource))
        });
    }
    admin.merge(ROLE, &json!({ "rules": rules }));
    eventually("the account has its rights again", || checked().ok());
    for (change, expected) in [
        (
            Kubernetes { name: "wob".to_owned(), lease: "headroom-web".to_owned(), ..settings.clone() },
            "on `deployments/scale` `wob`",
        ),
        (Kubernetes { group: "aps".to_owned(), ..settings.clone() }, "no API group `aps`"),
        (Kubernetes { resource: "deploys".to_owned(), ..settings.clone() }, "no resource `deploys.apps`"),
        (Kubernetes { resource: "daemonsets".to_owned(), ..settings.clone() }, "no scale subresource"),
    ] {
        let error = remote(&change, false).check(true).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
    // With all rights it is the name that is wrong.
    let all = of_account(&cluster.kubeconfig("admin"));
    let wrong = Kubernetes { name: "wob".to_owned(), ..all };
    let error = remote(&wrong, false).check(true).unwrap_err().0;
    assert!(error.contains("there is no `deployments.apps/wob` in namespace shop"), "{error}");
}

fn a_size_is_read_and_set(admin: &Admin, settings: &Kubernetes) {
    let mut target = leading(settings);
    assert_eq!(target.work(Some(5)).unwrap().size, 5);
    assert_eq!(size(admin), 5);
    let mut web = admin.get(WEB).unwrap();
    web["status"] = json!({ "replicas": 6, "readyReplicas": 6, "availableReplicas": 6 });
    admin.put(&format!("{WEB}/status"), &web).unwrap();
    let snapshot = until(&mut target, None, |worked| {
        worked.as_ref().is_ok_and(|snapshot| snapshot.instances.len() == 6)
    });
    let of = |phase| snapshot.as_ref().unwrap().instances.iter().filter(|one| one.phase == phase).count();
    assert_eq!((of(Phase::Ready), of(Phase::Ending)), (5, 1));
    // Somebody else sets one between two decisions: it is told, and stays.
    admin.merge(WEB, &json!({ "spec": { "replicas": 9 } }));
    assert_eq!(target.work(Some(2)).unwrap().size, 9);
    assert_eq!(size(admin), 9);
    // A right that is lost while it runs.
    let role = admin.get(ROLE).unwrap();
    admin.merge(ROLE, &json!({ "rules": role["rules"].as_array().unwrap()[1..] }));
    let error = until(&mut target, None, Result::is_err).unwrap_err().0;
    assert!(error.contains("403") && error.contains("`deployments/scale` `web`"), "{error}");
    admin.merge(ROLE, &json!({ "rules": role["rules"] }));
    until(&mut target, None, Result::is_ok).unwrap();
}

fn a_write_that_conflicts_is_tried_again(cluster: &Cluster, admin: &Admin, settings: &Kubernetes) {
    // What the server says of an old version is what a target takes for a conflict.
    let path = format!("{WEB}/scale");
    let mut old = admin.get(&path).unwrap();
    admin.merge(WEB, &json!({ "metadata": { "annotations": { "turn": "first" } } }));
    old["spec"]["replicas"] = json!(1);
    assert_eq!(admin.put(&path, &old).unwrap_err().0, 409);
    let mut target = leading(settings);
    // Somebody changes the object all the time, and not its size.
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = Admin::new(&cluster.kubeconfig("admin"));
            for turn in 0.. {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                other.merge(WEB, &json!({ "metadata": { "annotations": { "turn": format!("{turn}") } } }));
            }
        });
        for turn in 0..20_u32 {
            let wanted = 3 + turn % 5;
            let is_set = |worked: &Result<Snapshot, TargetError>| {
                worked.as_ref().is_ok_and(|snapshot| snapshot.size == wanted)
            };
            until(&mut target, Some(wanted), is_set).unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
    assert_eq!(size(admin), 3 + 19 % 5);
}

fn another_autoscaler_is_refused(admin: &Admin, settings: &Kubernetes) {
    let path = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers";
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
    let cpu = json!({ "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } });
    let object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "other" },
        "spec": { "scaleTargetRef": target, "maxReplicas": 9, "metrics": [{ "type": "Resource", "resource": cpu }] },
    });
    admin.post(path, &object).unwrap();
    let error = remote(settings, false).check(true).unwrap_err().0;
    assert!(error.contains("kubectl delete hpa other -n shop"), "{error}");
    let mut recommends = remote(settings, false);
    recommends.check(false).unwrap();
    assert!(recommends.events()[0].0.contains("`other` sets the size now"));
    admin.delete(&format!("{path}/other"));
}

fn credentials_that_are_not_accepted_are_named(cluster: &Cluster, settings: &Kubernetes) {
    let wrong = Kubernetes { kubeconfig: Some(cluster.kubeconfig("nobody")), ..settings.clone() };
    let error = remote(&wrong, false).check(true).unwrap_err().0;
    assert!(error.contains("(401); log in again"), "{error}");
    let none = Kubernetes { kubeconfig: Some("does-not-exist".into()), ..settings.clone() };
    let error = KubernetesTarget::new(&none, false).err().unwrap().0;
    assert!(error.contains("does-not-exist") && error.contains("`live.kubernetes`"), "{error}");
}

fn a_custom_resource_is_scaled(cluster: &Cluster, admin: &Admin) {
    let version = |subresources: Value| {
        json!({
            "name": "v1", "served": true, "storage": true, "subresources": subresources,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        })
    };
    let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size" });
    for (plural, kind, subresources) in [
        ("shops", "Shop", json!({ "status": {}, "scale": scale })),
        ("stalls", "Stall", json!({ "status": {} })),
    ] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.example.com") },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind },
                "versions": [version(subresources)],
            },
        });
        admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).unwrap();
    }
    let shops = "/apis/example.com/v1/namespaces/shop/shops";
    let shop = json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": { "name": "web" }, "spec": { "size": 2 },
    });
    eventually("the resource is served", || admin.post(shops, &shop).ok());
    let settings = Kubernetes {
        resource: "shops".to_owned(),
        group: "example.com".to_owned(),
        lease: "headroom-shops".to_owned(),
        ..of_account(&cluster.kubeconfig("admin"))
    };
    let mut target = leading(&settings);
    assert_eq!(target.work(Some(4)).unwrap().size, 4);
    assert_eq!(admin.get(&format!("{shops}/web")).unwrap()["spec"]["size"], 4);
    let stalls = Kubernetes { resource: "stalls".to_owned(), ..settings };
    let error = remote(&stalls, false).check(true).unwrap_err().0;
    assert!(error.contains("`stalls.example.com` has no scale subresource"), "{error}");
}

fn one_leads_and_a_standby_takes_over(admin: &Admin, settings: &Kubernetes) {
    let mut first = leading(settings);
    let mut second = remote(settings, false);
    second.check(true).unwrap();
    let begun = Instant::now();
    // Longer than a Lease, while both are alive.
    while begun.elapsed() < Duration::from_secs(12) {
        assert!(first.work(None).is_ok() || !first.lost_lead());
        assert!(!matches!(second.lead(), Ok(None)), "there is one");
        std::thread::sleep(Duration::from_millis(250));
    }
    // The first one is killed: it neither renews the Lease nor gives it up.
    let killed = Instant::now();
    let transitions = admin.get(LEASE).unwrap()["spec"]["leaseTransitions"].as_u64().unwrap();
    eventually("the standby leads", || second.lead().ok().filter(Option::is_none));
    let took = killed.elapsed();
    assert!(took > Duration::from_secs(5), "not before the Lease is over: {took:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
    assert_eq!(admin.get(LEASE).unwrap()["spec"]["leaseTransitions"], transitions + 1);
    // It wakes up: it sets nothing, and knows that it does not lead.
    let before = size(admin);
    first.work(Some(1)).unwrap_err();
    assert!(first.lost_lead());
    assert_eq!(size(admin), before);
    // One that ends in order gives the lead up at once.
    drop(second);
    let mut third = remote(settings, false);
    third.check(true).unwrap();
    eventually("it leads", || third.lead().ok().filter(Option::is_none));
}

fn a_server_that_restarts_is_waited_for(cluster: &mut Cluster, admin: &Admin, settings: &Kubernetes) {
    let mut target = leading(settings);
    let before = u32::try_from(size(admin)).unwrap();
    cluster.kill_server();
    let error = until(&mut target, Some(before + 2), Result::is_err).unwrap_err().0;
    assert!(error.contains("does not respond"), "{error}");
    cluster.start_server();
    until(&mut target, Some(before + 2), Result::is_ok).unwrap();
    assert_eq!(size(admin), u64::from(before + 2));
    assert!(!target.lost_lead());
}

/// The loop of `headroom scale --apply` with the load of a gateway: out when it rises, in when it falls, within the bounds.
fn a_scaler_follows_the_load(admin: &Admin, settings: &Kubernetes) {
    let gateway = Gateway::start(0);
    let folder = tempfile::tempdir().unwrap();
    let scaling = "
      min: 2
      max: 6
      platform: local
      repeat: each-period
      alarms:
        busy: { metric: requests, statistic: sum, above: '60', period: 1s }
        idle: { metric: requests, statistic: sum, below: '30', period: 1s, missing: breaching }
      policies:
        out: { alarms: [busy], change: '+3', cooldown: 2s }
        in: { alarms: [idle], change: '-3', cooldown: 2s }";
    let text = case(&gateway, settings, scaling);
    let plan = plan(&text, folder.path());
    admin.merge(WEB, &json!({ "spec": { "replicas": 2 } }));
    let run = Run::start(plan, KubernetesTarget::new(settings, false).unwrap());
    gateway.rate(100);
    eventually("it scales out to the maximum", || (size(admin) == 6).then_some(()));
    gateway.rate(10);
    eventually("it scales in to the minimum", || (size(admin) == 2).then_some(()));
    let heard = run.end();
    assert!(heard.iter().filter(|told| told.applied).count() >= 4, "{heard:?}");
    assert!(heard.iter().all(|told| (2..=6).contains(&told.to)), "{heard:?}");
}

/// An HPA on processor use, with pods as metrics-server tells of them.
fn the_processor_use_of_pods_is_read(admin: &Admin, settings: &Kubernetes) {
    let mut target = leading_with(settings, true);
    let used = |snapshot: &Snapshot| {
        let mut all: Vec<u64> = snapshot
            .instances
            .iter()
            .filter(|one| one.phase == Phase::Ready)
            .map(|one| (one.usage.unwrap().used.unwrap() * 1000.0).round() as u64)
            .collect();
        all.sort_unstable();
        all
    };
    let snapshot = target.work(None).unwrap();
    assert_eq!(used(&snapshot), [100, 500, 900]);
    assert!(snapshot.instances.iter().all(|one| one.usage.unwrap().allotted == Some(0.5)));
    // The idlest pod is the one to end first; when another one is, the mark is taken back.
    admin.merge(WEB, &json!({ "spec": { "replicas": 3 } }));
    until(&mut target, None, |worked| worked.as_ref().is_ok_and(|snapshot| snapshot.size == 3)).unwrap();
    let cost = |name: &str| {
        let pod = admin.get(&format!("{PODS}/{name}")).unwrap();
        pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"]
            .as_str()
            .map(str::to_owned)
    };
    target.work(Some(2)).unwrap();
    assert_eq!((cost("web-1"), cost("web-2")), (Some("-1".to_owned()), None));
    admin.merge(&format!("{METRICS}/web-1"), &metrics("web-1", "700m"));
    until(&mut target, None, |worked| {
        worked.as_ref().is_ok_and(|snapshot| used(snapshot) == [500, 700, 900])
    })
    .unwrap();
    target.work(Some(1)).unwrap();
    assert_eq!((cost("web-1"), cost("web-2")), (None, Some("-1".to_owned())));
    drop(target);

    let gateway = Gateway::start(0);
    let folder = tempfile::tempdir().unwrap();
    let scaling = "{ min: 2, max: 6, hpa: { cpu: 100%, behavior: true } }";
    let text = case(&gateway, settings, scaling);
    admin.merge(WEB, &json!({ "spec": { "replicas": 3 } }));
    let run = Run::start(plan(&text, folder.path()), KubernetesTarget::new(settings, true).unwrap());
    // 0.5, 0.7 and 0.9 cores of 0.5 that each has requested
    eventually("it has five", || (size(admin) == 5).then_some(()));
    run.end();

    // Without metrics nothing is known of the size any more.
    let mut target = leading_with(settings, true);
    for name in ["web-1", "web-2", "web-3"] {
        admin.delete(&format!("{METRICS}/{name}"));
    }
    let error = until(&mut target, None, Result::is_err).unwrap_err().0;
    assert!(error.contains("no metrics of the ready pods"), "{error}");
    admin.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pods.metrics.k8s.io");
    let is_named = |worked: &Result<Snapshot, TargetError>| matches!(worked, Err(error) if error.0.contains("install metrics-server"));
    until(&mut target, None, is_named).unwrap_err();
}

const PODS: &str = "/api/v1/namespaces/shop/pods";
const METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods";

fn metrics(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": { "name": name, "labels": { "app": "web" } },
        "timestamp": "2026-01-01T00:00:00Z", "window": "15s",
        "containers": [{ "name": "web", "usage": { "cpu": cpu, "memory": "64Mi" } }],
    })
}

/// Pods of the deployment, which nothing starts here, and metrics.k8s.io, which a definition serves in place of metrics-server.
fn pods(admin: &Admin) {
    let account = json!({ "metadata": { "name": "default" } });
    admin.post("/api/v1/namespaces/shop/serviceaccounts", &account).unwrap();
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "pods.metrics.k8s.io",
            "annotations": { "api-approved.kubernetes.io": "unapproved, a test" },
        },
        "spec": {
            "group": "metrics.k8s.io", "scope": "Namespaced",
            "names": { "plural": "pods", "singular": "pod", "kind": "PodMetrics" },
            "versions": [{ "name": "v1beta1", "served": true, "storage": true, "schema": schema }],
        },
    });
    admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).unwrap();
    for (name, cpu) in [("web-1", "100m"), ("web-2", "500000000n"), ("web-3", "900m")] {
        let container = json!({ "name": "web", "image": "registry.example/web", "resources": { "requests": { "cpu": "500m" } } });
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "labels": { "app": "web" } }, "spec": { "containers": [container] },
        });
        let mut made = admin.post(PODS, &pod).unwrap();
        made["status"] = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
        admin.put(&format!("{PODS}/{name}/status"), &made).unwrap();
        eventually("metrics are served", || admin.post(METRICS, &metrics(name, cpu)).ok());
    }
}

fn case(gateway: &Gateway, settings: &Kubernetes, scaling: &str) -> String {
    format!(
        "case: scaled
traffic: {{ rate: 10/s }}
services:
  web:
    endpoints: {{ page: {{ wait: 5ms }} }}
    server: {{ threads: 64 }}
    hosts: {{ small: {{ cores: 1 }} }}
    instances: 2
    scaling: {scaling}
live:
  gateway: {{ admin: '{}', pool: web }}
  kubernetes: {{ resource: deployments.apps/web, namespace: shop, kubeconfig: '{}' }}
  period: 1s
  state: run
",
        gateway.address,
        settings.kubeconfig.as_ref().unwrap().display()
    )
}
