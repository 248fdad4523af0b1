//! Processes of a shell behind a pool of paper.

use super::*;
use std::sync::{Arc, Mutex};

/// What the pool was asked for, and what it has.
#[derive(Debug, Clone, Default)]
struct Paper(Arc<Mutex<(Vec<String>, Vec<PoolInstance>)>>);

impl Pool for Paper {
    fn instances(&mut self) -> Result<Vec<PoolInstance>, String> {
        Ok(self.0.lock().unwrap().1.clone())
    }
    fn add(&mut self, address: SocketAddr) -> Result<(), String> {
        let mut paper = self.0.lock().unwrap();
        paper.0.push(format!("add {}", address.port()));
        paper.1.retain(|one| one.address != address.to_string());
        paper.1.push(PoolInstance {
            address: address.to_string(),
            state: "available".to_owned(),
            takes_requests: true,
            in_flight: 0,
        });
        Ok(())
    }
    fn drain(&mut self, address: SocketAddr) -> Result<(), String> {
        let mut paper = self.0.lock().unwrap();
        paper.0.push(format!("drain {}", address.port()));
        for one in paper.1.iter_mut().filter(|one| one.address == address.to_string()) {
            (one.state, one.takes_requests, one.in_flight) = ("draining".to_owned(), false, 1);
        }
        Ok(())
    }
    fn remove(&mut self, address: SocketAddr) -> Result<(), String> {
        let mut paper = self.0.lock().unwrap();
        paper.0.push(format!("remove {}", address.port()));
        paper.1.retain(|one| one.address != address.to_string());
        Ok(())
    }
}

/// Ends the processes of a test.
struct World {
    folder: tempfile::TempDir,
    pool: Paper,
    settings: Processes,
}

impl Drop for World {
    fn drop(&mut self) {
        for kept in State::read(self.folder.path(), 0).unwrap().instances {
            if let Some(process) = &kept.process {
                launch::signal(process, Signalled::Kill);
            }
        }
    }
}

impl World {
    fn new(command: &str) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = Processes {
            command: command.to_owned(),
            ports: (free, free.saturating_add(20)),
            environment: Vec::new(),
            ready: None,
            usage: None,
            cores: None,
            limits: Limits::default(),
            start: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            stop: Duration::from_millis(200),
            ends: Ends::Oldest,
        };
        World { folder: tempfile::tempdir().unwrap(), pool: Paper::default(), settings }
    }

    fn target(&self, first: u32) -> LocalProcesses {
        let pool = Box::new(self.pool.clone());
        LocalProcesses::with_pool(&self.settings, pool, self.folder.path(), first).unwrap()
    }

    fn asked(&self, what: &str) -> usize {
        self.pool.0.lock().unwrap().0.iter().filter(|line| line.starts_with(what)).count()
    }
}

fn until(target: &mut LocalProcesses, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Vec<Event> {
    let (mut events, end) = (Vec::new(), Instant::now() + Duration::from_secs(20));
    loop {
        let snapshot = target.work(None).unwrap();
        events.extend(target.events());
        if holds(&snapshot) {
            return events;
        }
        assert!(Instant::now() < end, "not {what}: {snapshot:?} {events:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const LISTENS: &str =
    "python3 -c 'import socket,time; s=socket.create_server((\"127.0.0.1\",{port})); time.sleep(60)'";

fn ready(snapshot: &Snapshot) -> usize {
    snapshot.instances.iter().filter(|one| one.phase == Phase::Ready).count()
}

#[test]
fn instances_join_drain_and_outlive_their_scaler() {
    let world = World::new(LISTENS);
    let mut target = world.target(2);
    until(&mut target, "two ready", |snapshot| ready(snapshot) == 2);
    assert_eq!((world.asked("add"), world.asked("drain")), (2, 0));
    target.work(Some(1)).unwrap();
    // It has a request in flight, and waits for it.
    std::thread::sleep(Duration::from_millis(500));
    let waiting = target.work(None).unwrap();
    assert_eq!((ready(&waiting), waiting.instances.len(), world.asked("remove")), (1, 2, 0));
    world.pool.0.lock().unwrap().1.iter_mut().for_each(|one| one.in_flight = 0);
    until(&mut target, "one left", |snapshot| snapshot.instances.len() == 1);
    assert_eq!(world.asked("remove"), 1);
    // Killed, and the next one adopts.
    drop(target);
    let mut next = world.target(9);
    let events = until(&mut next, "adopted", |snapshot| ready(snapshot) == 1 && snapshot.size == 1);
    assert!(events[0].0.starts_with("adopted 1 running"), "{events:?}");
    assert_eq!(world.asked("add"), 2, "it is in the pool already");
    // Somebody changes the size by hand.
    std::fs::write(world.folder.path().join("size"), "2").unwrap();
    until(&mut next, "two again", |snapshot| ready(snapshot) == 2);
    next.work(Some(0)).unwrap();
    world.pool.0.lock().unwrap().1.clear();
    until(&mut next, "none left", |snapshot| snapshot.instances.is_empty());
}

#[test]
fn a_command_that_ends_at_once_is_refused() {
    let world = World::new("sh -c 'echo no such port {port} >&2; exit 3'");
    let refused = world.target(1).try_command().unwrap_err();
    assert!(refused.0.contains("exit status: 3") && refused.0.contains("no such port"), "{refused}");
}

#[test]
fn an_instance_that_is_never_ready_is_replaced_after_a_pause() {
    let world = World::new("sleep 60");
    let mut target = world.target(1);
    let events = until(&mut target, "replaced", |snapshot| snapshot.instances.iter().any(|one| one.id == 1));
    assert!(events.iter().any(|event| event.0.contains("was not ready within 1s")), "{events:?}");
    assert_eq!(world.asked("add"), 0);
    assert_eq!(target.failures, 1);
}

#[test]
fn a_state_that_cannot_be_written_stops_nothing_and_is_written_later() {
    let world = World::new(LISTENS);
    let mut target = world.target(1);
    until(&mut target, "one ready", |snapshot| ready(snapshot) == 1);
    // As on a full disk: new files cannot be written.
    let blocked = ["size.new", "instances.json.new"].map(|name| world.folder.path().join(name));
    blocked.iter().for_each(|path| std::fs::create_dir(path).unwrap());
    target.work(Some(3)).unwrap();
    let events = until(&mut target, "three ready", |snapshot| ready(snapshot) == 3 && snapshot.size == 3);
    let told = |events: &[Event]| events.iter().filter(|event| event.0.contains("changes go on")).count();
    assert!(told(&events) <= 1 && target.told.is_some(), "{events:?}");
    let file = || State::read(world.folder.path(), 0).unwrap();
    assert_eq!(file().instances.len(), 1);
    blocked.iter().for_each(|path| std::fs::remove_dir(path).unwrap());
    until(&mut target, "written", |_| file().instances.len() == 3 && file().size == 3);
    assert_eq!(target.told, None);
    // A size that is no number changes nothing, and those that end are replaced all the same.
    std::fs::write(world.folder.path().join("size"), "many").unwrap();
    let process = target.state.instances[0].process.clone().unwrap();
    launch::signal(&process, Signalled::Kill);
    let first = target.state.instances[0].id;
    let replaced =
        |snapshot: &Snapshot| ready(snapshot) == 3 && snapshot.instances.iter().all(|one| one.id != first);
    let events = until(&mut target, "replaced", replaced);
    let told = events.iter().filter(|event| event.0.contains("no number of instances")).count();
    assert_eq!(told, 1, "{events:?}");
    std::fs::write(world.folder.path().join("size"), "3").unwrap();
}

#[test]
fn limits_hold_for_all_of_an_instance() {
    let mut world = World::new(LISTENS);
    world.settings.limits = Limits { cores: Some(0.25), memory: Some(units::Bytes::new(64 << 20)) };
    let allowed = LimitedGroup::create("headroom-test-of-limits", world.settings.limits);
    LimitedGroup::remove("headroom-test-of-limits");
    let mut target = world.target(1);
    let events = until(&mut target, "one ready", |snapshot| ready(snapshot) == 1);
    let told = events.iter().any(|event| event.0.contains("instances start without `limits`"));
    if let Err(why) = allowed {
        // Somebody without the right to make groups.
        eprintln!("SKIPPED: {why}");
        assert!(told, "{events:?}");
        return;
    }
    assert!(!told, "{events:?}");
    let (process, port) =
        (target.state.instances[0].process.clone().unwrap(), target.state.instances[0].port);
    let quota = host::Cgroup::of_process(process.id()).and_then(|group| group.quota());
    assert!(quota.is_some_and(|quota| quota <= 0.25), "{quota:?}");
    let group = target.group(port).unwrap();
    for members in group.members() {
        let members = std::fs::read_to_string(members).unwrap();
        assert!(members.lines().any(|id| id == process.id().to_string()), "{members}");
    }
    // It ends, and its groups with it.
    target.work(Some(0)).unwrap();
    world.pool.0.lock().unwrap().1.clear();
    until(&mut target, "none left", |snapshot| snapshot.instances.is_empty());
    assert!(group.folders().iter().all(|folder| !folder.exists()), "{group:?}");
}
