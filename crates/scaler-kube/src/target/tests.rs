//! Against an API server made by hand: plain HTTP on a loopback port, objects as JSON.

mod server;

use super::*;
use scaler::settings::Kubernetes;
use scaler::{Remote, Target as _, WITHDRAWN_AFTER};
use server::{LEASE, SCALE, Server};

fn settings() -> Kubernetes {
    Kubernetes {
        resource: "deployments".to_owned(),
        group: "apps".to_owned(),
        name: "web".to_owned(),
        namespace: Some("shop".to_owned()),
        kubeconfig: None,
        context: None,
        lease: "headroom-web".to_owned(),
        cores: None,
    }
}

fn target(server: &Server) -> Remote {
    Remote::new(Box::new(KubernetesTarget::with_api(&settings(), Api::of_url(&server.url()), false)))
}

/// A target that leads and has read a scale.
fn leading(server: &Server) -> Remote {
    let mut target = target(server);
    target.check(true).unwrap();
    assert_eq!(target.lead().unwrap(), None);
    target.work(None).unwrap();
    target
}

/// Works until the target tells what is expected, for at most a minute.
fn until<T>(target: &mut Remote, set: Option<u32>, found: impl Fn(&WorkResult) -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        let worked = target.work(set);
        if let Some(found) = found(&worked) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{worked:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

type WorkResult = Result<Snapshot, TargetError>;

#[test]
fn a_scale_is_read_and_written() {
    let server = Server::start(3, 2);
    let mut target = leading(&server);
    let snapshot = target.work(None).unwrap();
    assert_eq!((snapshot.size, snapshot.instances.len()), (3, 2));
    let snapshot = target.work(Some(5)).unwrap();
    assert_eq!((snapshot.size, server.size()), (5, 5));
    server.replicas(7);
    let snapshot = until(&mut target, None, |worked| {
        worked.clone().ok().filter(|snapshot| snapshot.instances.len() == 7)
    });
    let ending = snapshot.instances.iter().filter(|one| one.phase == Phase::Ending).count();
    assert_eq!(ending, 2, "more than wanted");
}

#[test]
fn a_conflict_is_tried_again_and_somebody_elses_size_is_left() {
    let server = Server::start(3, 3);
    let mut target = leading(&server);
    server.change(|state| state.conflicts = 2);
    assert_eq!(target.work(Some(4)).unwrap().size, 4);
    // Somebody sets 9 between the reading and the writing.
    server.change(|state| state.hand_at_write = Some(9));
    assert_eq!(target.work(Some(2)).unwrap().size, 9);
    assert_eq!(server.size(), 9);
    server.change(|state| state.conflicts = 100);
    let error = target.work(Some(2)).unwrap_err();
    assert!(error.0.contains("at each of 5 attempts"), "{error}");
}

#[test]
fn a_size_whose_answer_was_lost_is_nobody_elses() {
    let server = Server::start(4, 4);
    let mut target = leading(&server);
    server.change(|state| state.lost = 1);
    target.work(Some(6)).unwrap_err();
    assert_eq!(server.size(), 6, "it was set");
    let snapshot = until(&mut target, Some(8), |worked| worked.clone().ok());
    assert_eq!((snapshot.size, server.size()), (8, 8));
}

#[test]
fn a_missing_right_is_named() {
    let server = Server::start(3, 3);
    let mut target = leading(&server);
    server.change(|state| state.forbidden = Some(("PUT", "/scale")));
    let error = target.work(Some(4)).unwrap_err().0;
    for part in ["403", "verb `update`", "`deployments/scale` `web`", "API group apps", "namespace shop"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // At the start, before anything is changed.
    server.change(|state| (state.forbidden, state.lacks) = (None, Some("update")));
    let error = target.check(true).unwrap_err().0;
    assert!(error.contains("verb `update` on `deployments/scale`"), "{error}");
    target.check(false).unwrap();
}

#[test]
fn what_does_not_exist_is_named() {
    let server = Server::start(3, 3);
    for (change, expected) in [
        (
            Kubernetes { name: "wob".to_owned(), ..settings() },
            "there is no `deployments.apps/wob` in namespace shop",
        ),
        (Kubernetes { group: "aps".to_owned(), ..settings() }, "no API group `aps`"),
        (Kubernetes { resource: "deploys".to_owned(), ..settings() }, "no resource `deploys.apps`"),
        (Kubernetes { resource: "daemonsets".to_owned(), ..settings() }, "no scale subresource"),
    ] {
        let mut target = KubernetesTarget::with_api(&change, Api::of_url(&server.url()), false);
        let error = target.check(true).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn another_autoscaler_of_the_same_object_is_refused() {
    let server = Server::start(3, 3);
    let hpa = |name: &str, kind: &str, target: &str| {
        json!({"metadata": {"name": name},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": target}}})
    };
    let others = vec![hpa("a", "Deployment", "other"), hpa("b", "StatefulSet", "web")];
    server.change(|state| state.autoscalers = others);
    target(&server).check(true).unwrap();
    server.change(|state| state.autoscalers.push(hpa("c", "Deployment", "web")));
    let error = target(&server).check(true).unwrap_err().0;
    assert!(error.contains("`c`") && error.contains("kubectl delete hpa c -n shop"), "{error}");
    let mut recommends = target(&server);
    recommends.check(false).unwrap();
    assert!(recommends.events()[0].0.contains("`c` sets the size now"));
}

#[test]
fn an_api_server_that_restarts_is_waited_for() {
    let server = Server::start(3, 3);
    let mut target = leading(&server);
    server.change(|state| state.down = true);
    let error = until(&mut target, Some(5), |worked| worked.clone().err());
    assert!(!error.0.is_empty());
    server.change(|state| state.down = false);
    let snapshot = until(&mut target, Some(5), |worked| worked.clone().ok());
    assert_eq!((snapshot.size, snapshot.withdrawn, server.size()), (5, false, 5));
    assert!(!target.lost_lead());
}

#[test]
fn an_old_scale_in_is_withdrawn() {
    let server = Server::start(5, 5);
    let mut target = leading(&server);
    server.change(|state| state.down = true);
    let begun = Instant::now();
    until(&mut target, Some(2), |worked| {
        (worked.is_err() && begun.elapsed() > WITHDRAWN_AFTER + Duration::from_secs(1)).then_some(())
    });
    server.change(|state| state.down = false);
    let snapshot = until(&mut target, Some(2), |worked| worked.clone().ok());
    assert_eq!((snapshot.size, snapshot.withdrawn, server.size()), (5, true, 5));
}

#[test]
fn one_leads_while_both_are_alive() {
    let server = Server::start(3, 3);
    let mut first = leading(&server);
    let mut second = target(&server);
    second.check(true).unwrap();
    let begun = Instant::now();
    // Longer than a Lease.
    while begun.elapsed() < Duration::from_secs(12) {
        first.work(None).unwrap();
        assert!(second.lead().unwrap().is_some());
        std::thread::sleep(Duration::from_millis(200));
    }
    // One that ends gives the Lease up.
    drop(first);
    assert_eq!(second.lead().unwrap(), None);
}

#[test]
fn a_standby_takes_over_from_a_leader_that_is_gone() {
    let server = Server::start(3, 3);
    let mut first = leading(&server);
    let mut second = target(&server);
    second.check(true).unwrap();
    assert!(second.lead().unwrap().is_some());
    let begun = Instant::now();
    while second.lead().unwrap().is_some() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(begun.elapsed() > Duration::from_secs(9), "not before the Lease is over");
    assert_eq!(server.object(LEASE)["spec"]["leaseTransitions"], 1);
    // The old leader wakes up: it sets nothing, and knows that it does not lead.
    assert!(first.work(Some(1)).is_err());
    assert!(first.lost_lead());
    assert_eq!(server.object(SCALE)["spec"]["replicas"], 3);
}

#[test]
fn the_manifests_have_the_rights_and_no_other() {
    let text = rights::manifest(&settings(), false).unwrap();
    for line in [
        "- { apiGroups: ['apps'], resources: [deployments/scale], verbs: [get, update], resourceNames: [web] }",
        "- { apiGroups: ['autoscaling'], resources: [horizontalpodautoscalers], verbs: [list] }",
        "- { apiGroups: ['coordination.k8s.io'], resources: [leases], verbs: [get, update], resourceNames: [headroom-web] }",
        "- { apiGroups: ['coordination.k8s.io'], resources: [leases], verbs: [create] }",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(text.matches("apiGroups").count(), 4);
    let error = rights::manifest(&Kubernetes { namespace: None, ..settings() }, false).unwrap_err().0;
    assert!(error.contains("add `live.kubernetes.namespace`"), "{error}");
}
