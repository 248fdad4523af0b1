use super::*;
use alloc::vec;

fn start(command: &str, environment: &[(&str, &str)]) -> Start {
    Start {
        words: command.split_whitespace().map(str::to_owned).collect(),
        environment: environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        descriptors: Some(64),
        backlog_most: Some(4096),
        ..Start::default()
    }
}

/// `variable before -> after: the changed command`, or why there is none.
fn said(cause: Cause, start: &Start) -> String {
    match change(cause, start) {
        Err(why) => why.to_string(),
        Ok(Change { variable, before, after, edit, .. }) => {
            let edit = match edit {
                Edit::Words(words) => words.join(" "),
                Edit::Variable { name, value } => format!("{name}={value}"),
                Edit::Descriptors { from, to } => format!("ulimit {from} -> {to}"),
            };
            format!("{variable} {before} -> {after}: {edit}")
        }
    }
}

#[test]
fn each_cause_has_a_change_for_each_server_that_has_an_option() {
    use Cause::*;
    for (cause, command, environment, expected) in [
        // Workers: the option in each form, the variable, and none.
        (Workers, "gunicorn -w 2 app", vec![], "workers 2 -> 3: gunicorn -w 3 app"),
        (
            Workers,
            "/usr/bin/python3 /usr/bin/gunicorn --workers=4 app",
            vec![],
            "workers 4 -> 5: /usr/bin/python3 /usr/bin/gunicorn --workers=5 app",
        ),
        (Workers, "gunicorn -w8 app", vec![], "workers 8 -> 10: gunicorn -w10 app"),
        (Workers, "python3 -m gunicorn app", vec![], "workers 1 -> 2: python3 -m gunicorn -w 2 app"),
        (Workers, "gunicorn app", vec![("WEB_CONCURRENCY", "2")], "workers 2 -> 3: WEB_CONCURRENCY=3"),
        (Workers, "gunicorn -w 4 app", vec![("WEB_CONCURRENCY", "2")], "workers 4 -> 5: gunicorn -w 5 app"),
        (Workers, "uvicorn app:app --workers 2", vec![], "workers 2 -> 3: uvicorn app:app --workers 3"),
        (Workers, "uvicorn app:app", vec![], "workers 1 -> 2: uvicorn --workers 2 app:app"),
        (Workers, "puma -w 2 -t 5:5", vec![], "workers 2 -> 3: puma -w 3 -t 5:5"),
        (Workers, "puma config.ru", vec![], "workers 0 -> 2: puma -w 2 config.ru"),
        (Workers, "uwsgi --processes 2 --http :1", vec![], "workers 2 -> 3: uwsgi --processes 3 --http :1"),
        (
            Workers,
            "unicorn -c unicorn.rb",
            vec![("WEB_CONCURRENCY", "4")],
            "workers 4 -> 5: WEB_CONCURRENCY=5",
        ),
        (Workers, "node cluster.js", vec![("WEB_CONCURRENCY", "1")], "workers 1 -> 2: WEB_CONCURRENCY=2"),
        (Workers, "/opt/shop --workers 2", vec![], "workers 2 -> 3: /opt/shop --workers 3"),
        // Threads, where only these are given.
        (Workers, "puma -t 4:8", vec![], "threads 4:8 -> 8:16: puma -t 8:16"),
        (Workers, "gunicorn --threads 4 app", vec![], "threads 4 -> 8: gunicorn --threads 8 app"),
        (
            Workers,
            "python3 serve.py 80 --threads 8",
            vec![],
            "threads 8 -> 16: python3 serve.py 80 --threads 16",
        ),
        // One more process has a lock and a thread of its own.
        (Lock, "gunicorn -w 1 --threads 16 app", vec![], "workers 1 -> 2: gunicorn -w 2 --threads 16 app"),
        (Lock, "puma -t 8:8", vec![], "workers 0 -> 2: puma -w 2 -t 8:8"),
        (OneThread, "uvicorn app:app", vec![], "workers 1 -> 2: uvicorn --workers 2 app:app"),
        (OneThread, "node cluster.js", vec![("WEB_CONCURRENCY", "2")], "workers 2 -> 3: WEB_CONCURRENCY=3"),
        (Descriptors, "node server.js", vec![], "descriptors 64 -> 256: ulimit 64 -> 256"),
        (AcceptQueue, "gunicorn --backlog 8 app", vec![], "backlog 8 -> 128: gunicorn --backlog 128 app"),
        (AcceptQueue, "gunicorn app", vec![], "backlog 2048 -> 4096: gunicorn --backlog 4096 app"),
        (
            AcceptQueue,
            "python3 serve.py 80 --backlog 64",
            vec![],
            "backlog 64 -> 512: python3 serve.py 80 --backlog 512",
        ),
        (
            NoKeepAlive,
            "gunicorn -w 2 app",
            vec![],
            "worker class sync -> gthread: gunicorn -k gthread -w 2 app",
        ),
        (
            NoKeepAlive,
            "gunicorn -k gthread --keep-alive 0 app",
            vec![],
            "keep-alive 0 -> 75: gunicorn -k gthread --keep-alive 75 app",
        ),
        (
            NoKeepAlive,
            "uvicorn --timeout-keep-alive=0 a:b",
            vec![],
            "keep-alive 0 -> 75: uvicorn --timeout-keep-alive=75 a:b",
        ),
        // Modes of development: options that go, names and variables that change.
        (Debug, "gunicorn --reload app", vec![], "mode --reload -> off: gunicorn app"),
        (Debug, "python3 -X dev -m gunicorn app", vec![], "mode -X dev -> off: python3 -m gunicorn app"),
        (Debug, "flask run --debug", vec![], "mode --debug -> off: flask run"),
        (Debug, "node --inspect=0.0.0.0:9229 a.js", vec![], "mode --inspect=0.0.0.0:9229 -> off: node a.js"),
        (Debug, "puma -e development", vec![], "mode development -> production: puma -e production"),
        (
            Debug,
            "puma",
            vec![("RACK_ENV", "development")],
            "mode development -> production: RACK_ENV=production",
        ),
        (
            Debug,
            "node a.js",
            vec![("NODE_ENV", "development")],
            "mode development -> production: NODE_ENV=production",
        ),
        (Debug, "flask run", vec![("FLASK_DEBUG", "1")], "mode 1 -> 0: FLASK_DEBUG=0"),
        (Debug, "python3 a.py", vec![("PYTHONDEVMODE", "1")], "mode 1 -> off: PYTHONDEVMODE="),
        (
            Debug,
            "node a.js",
            vec![("NODE_OPTIONS", "--inspect -r a")],
            "mode --inspect -r a -> -r a: NODE_OPTIONS=-r a",
        ),
        (Profiler, "python3 -m cProfile a.py", vec![], "profiler -m cProfile -> off: python3 a.py"),
        (Profiler, "node --prof a.js", vec![], "profiler --prof -> off: node a.js"),
    ] {
        assert_eq!(said(cause, &start(command, &environment)), expected, "{command}");
    }
}

#[test]
fn what_a_command_cannot_change_is_said() {
    use Cause::*;
    for (cause, command, expected) in [
        (Stolen, "gunicorn app", "the processor time goes to other guests of the hypervisor"),
        (Neighbour, "gunicorn app", "the cores are used by other processes"),
        (Upstream, "gunicorn app", "the time is spent in another service"),
        (Retransmits, "gunicorn app", "the packets are lost in the network"),
        (Throttled, "gunicorn app", "the quota belongs to the control group, and not to the command"),
        // No option: the work is done by one process, or the number is in a file.
        (Lock, "/opt/shop 8080", "the command of `shop` has no option for the workers that headroom knows"),
        (
            OneThread,
            "node server.js",
            "the command of `server.js` has no option for the workers that headroom knows",
        ),
        (
            Workers,
            "unicorn -c a.rb",
            "the command of `unicorn` has no option for the workers that headroom knows",
        ),
        (
            Workers,
            "gunicorn -w auto app",
            "the command of `gunicorn` has no option for the workers that headroom knows",
        ),
        (
            AcceptQueue,
            "node server.js",
            "the command of `server.js` has no option for the backlog that headroom knows",
        ),
        (
            AcceptQueue,
            "gunicorn --backlog 4096 app",
            "the kernel allows no longer accept queue than 4096 (net.core.somaxconn)",
        ),
        // The server keeps connections: who closes them is the client.
        (
            NoKeepAlive,
            "gunicorn -k gthread app",
            "no option of the server closes the connections; the clients or the application do",
        ),
        (
            NoKeepAlive,
            "uvicorn a:b",
            "no option of the server closes the connections; the clients or the application do",
        ),
        (
            Debug,
            "python3 manage.py runserver",
            "neither the command nor its environment has an option that switches it off",
        ),
        (
            Profiler,
            "gunicorn app",
            "neither the command nor its environment has an option that switches it off",
        ),
    ] {
        assert_eq!(said(cause, &start(command, &[])), expected, "{command}");
    }
    assert!(Cause::ALL.iter().all(|&cause| change(cause, &Start::default()).is_err()));
}

#[test]
fn a_server_listens_where_it_is_told_to() {
    let bound = |command: &str| bound(&start(command, &[]).words).map(|words| words.join(" "));
    assert_eq!(bound("gunicorn app"), Some("gunicorn app -b 127.0.0.1:{port}".to_owned()));
    assert_eq!(bound("flask --app a run"), Some("flask --app a run -p {port}".to_owned()));
    assert_eq!(bound("node server.js"), None);
}

#[test]
fn workers_become_as_many_as_fit() {
    let wanted = |command: &str, workers| {
        let start = Start { workers_wanted: workers, ..start(command, &[]) };
        said(Workers, &start)
    };
    use Cause::Workers;
    assert_eq!(wanted("gunicorn -w 2 app", Some(7)), "workers 2 -> 7: gunicorn -w 7 app");
    assert_eq!(wanted("gunicorn -w 8 app", Some(4)), "workers 8 -> 10: gunicorn -w 10 app");
    // The diagnosis asks for no more than there are requests for.
    for (now, fit, busy, expected) in [
        (2, Some(119), Some(6.2), 7),
        (2, Some(4), Some(6.2), 4),
        (8, Some(4), Some(30.0), 10),
        (2, None, Some(30.0), 3),
        (1, Some(9), None, 9),
        (4, Some(9), Some(3.0), 5),
    ] {
        assert_eq!(more_workers(now, fit, busy), expected, "{now} {fit:?} {busy:?}");
    }
    // A file of settings said how many there are.
    let start = Start { workers: Some(6), ..start("gunicorn -c conf.py app", &[]) };
    assert_eq!(said(Workers, &start), "workers 6 -> 8: gunicorn -w 8 -c conf.py app");
}
