//! Which application server a service runs on, and how many processes and threads answer its requests.
//!
//! ## How it is told
//! By command lines and names of threads alone, as `ps -eLf` shows them: nothing is attached to the process. What they
//! do not show (a thread count in a configuration file) is `None`, and a person has to say it.
//!
//! Sources: gunicorn's documentation, *Settings* (`--workers`, `--threads`, `--worker-class`); Puma's *Architecture*
//! (threads of its pool are named `puma srv tp NNN`); Tomcat's *HTTP connector* (`http-nio-PORT-exec-N`); uvicorn's
//! *Settings* (`--workers`); Unicorn's *Signal handling* (titles `unicorn master`, `unicorn worker[N]`); PHP's *FastCGI Process
//! Manager* (titles `php-fpm: pool NAME`); uWSGI's *Options* (`--processes`, `--threads`, `--auto-procname`).

use crate::service::Running;
use std::collections::BTreeMap;
use std::fmt;

/// The application server of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplicationServer {
    /// gunicorn with sync workers: one request a process.
    GunicornSync,
    /// gunicorn with `--threads`, or the worker class `gthread`.
    GunicornThreads,
    /// An event loop of Python: uvicorn, or gunicorn with asynchronous workers.
    PythonEventLoop,
    /// Puma.
    Puma,
    /// Unicorn: one request a process.
    Unicorn,
    /// PHP-FPM: one request a process.
    PhpFpm,
    /// uWSGI: one request a thread.
    Uwsgi,
    /// Node.js.
    Node,
    /// A server of Java with a pool of named threads, such as Tomcat.
    Java,
    /// The built-in service of headroom: its workers are groups of threads.
    Sample,
}

/// How many processes and threads answer requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The server.
    pub server: ApplicationServer,
    /// Processes that answer requests: the workers, not their supervisor.
    pub processes: u32,
    /// Threads of each that answer requests; `None` where an event loop has no bound, or where it is not shown.
    pub threads: Option<u32>,
}

impl fmt::Display for ApplicationServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApplicationServer::GunicornSync => "gunicorn, sync workers",
            ApplicationServer::GunicornThreads => "gunicorn, workers with threads",
            ApplicationServer::PythonEventLoop => "Python event loop",
            ApplicationServer::Puma => "Puma",
            ApplicationServer::Unicorn => "Unicorn",
            ApplicationServer::PhpFpm => "PHP-FPM",
            ApplicationServer::Uwsgi => "uWSGI",
            ApplicationServer::Node => "Node.js",
            ApplicationServer::Java => "Java",
            ApplicationServer::Sample => "headroom sample-service",
        })
    }
}

impl Layout {
    /// What the processes of a service show; `None` where none of them is a known server.
    pub fn of(running: &[Running]) -> Option<Self> {
        let rules = [gunicorn, uvicorn, puma, unicorn, php_fpm, uwsgi, java, node, sample];
        rules.iter().find_map(|rule| rule(running))
    }
}

/// A master with workers of the same command line.
fn gunicorn(running: &[Running]) -> Option<Layout> {
    let master = running.iter().find(|one| program(one, "gunicorn"))?;
    let class = option(&master.command, &["-k", "--worker-class"]).unwrap_or("sync");
    let threads = option(&master.command, &["--threads"]).map(str::parse).transpose().ok()?;
    let processes = children(running, master.id).max(1);
    let (server, threads) = match (class, threads) {
        ("gthread", threads) => (ApplicationServer::GunicornThreads, Some(threads.unwrap_or(1))),
        // gunicorn takes the worker with threads where a sync one is asked to have more than one.
        ("sync", Some(threads @ 2..)) => (ApplicationServer::GunicornThreads, Some(threads)),
        ("sync", _) => (ApplicationServer::GunicornSync, Some(1)),
        _ => (ApplicationServer::PythonEventLoop, None),
    };
    Some(Layout { server, processes, threads })
}

fn uvicorn(running: &[Running]) -> Option<Layout> {
    let first = running.iter().find(|one| program(one, "uvicorn") || program(one, "hypercorn"))?;
    // Without --workers the first process serves; with it, processes that multiprocessing spawned do, beside a tracker.
    let workers =
        option(&first.command, &["--workers", "-w"]).and_then(|count| count.parse().ok()).unwrap_or(1);
    Some(Layout { server: ApplicationServer::PythonEventLoop, processes: workers, threads: None })
}

/// A process, or a cluster of workers; the threads of its pool have names.
fn puma(running: &[Running]) -> Option<Layout> {
    let pool = |one: &Running| count(one, |name| name.starts_with("puma srv tp"));
    let serving: Vec<u32> = running.iter().map(pool).filter(|&threads| threads > 0).collect();
    let processes = u32::try_from(serving.len()).ok().filter(|&processes| processes > 0)?;
    Some(Layout { server: ApplicationServer::Puma, processes, threads: serving.into_iter().max() })
}

/// The master of Unicorn, or of `unicorn_rails`, has one child for each request at a time.
fn unicorn(running: &[Running]) -> Option<Layout> {
    let master = running.iter().find(|one| program(one, "unicorn") || program(one, "unicorn_rails"))?;
    let processes = children(running, master.id).max(1);
    Some(Layout { server: ApplicationServer::Unicorn, processes, threads: Some(1) })
}

/// The children of all pools.
fn php_fpm(running: &[Running]) -> Option<Layout> {
    let workers = running.iter().filter(|one| one.command.starts_with("php-fpm: pool ")).count();
    let processes = u32::try_from(workers).ok().filter(|&processes| processes > 0)?;
    Some(Layout { server: ApplicationServer::PhpFpm, processes, threads: Some(1) })
}

/// Processes of the same command line, with titles only where `--auto-procname` asks for them.
fn uwsgi(running: &[Running]) -> Option<Layout> {
    let first = running.iter().find(|one| program(one, "uwsgi") || program(one, "uWSGI"))?;
    let option = |names: &[&str]| option(&first.command, names)?.parse::<u32>().ok();
    let has_title = first.command.starts_with("uWSGI");
    if has_title || CONFIGURED.iter().any(|end| first.command.contains(end)) {
        return Some(uwsgi_of_file(running, first.id, has_title));
    }
    let is_async = ["--gevent", "--async", "--asyncio"].iter().any(|name| option(&[name]).is_some());
    let threads = option(&["--threads"]).or(if is_async { None } else { Some(1) });
    // A router for HTTP is a child, too.
    let processes = option(&["-p", "--processes", "--workers"]).unwrap_or(1);
    Some(Layout { server: ApplicationServer::Uwsgi, processes, threads })
}

/// Where the options are in a file, or a title has replaced them, the workers are the processes with the most threads: a router has
/// one. A single thread may be a loop that takes many requests.
fn uwsgi_of_file(running: &[Running], first: u32, has_title: bool) -> Layout {
    let is_worker = |one: &&Running| match has_title {
        true => one.command.starts_with("uWSGI worker "),
        false => one.parent == first,
    };
    let workers: Vec<usize> = running.iter().filter(is_worker).map(|one| one.threads.len()).collect();
    let most = workers.iter().copied().max().unwrap_or_default();
    let alike = workers.iter().filter(|threads| **threads == most).count();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Layout {
        server: ApplicationServer::Uwsgi,
        processes: count(alike).max(1),
        threads: (most >= 2).then(|| count(most)),
    }
}

/// Threads such as `http-nio-8080-e` (Tomcat; the kernel cuts names at 15 bytes) or `qtp1234-17` (Jetty).
fn java(running: &[Running]) -> Option<Layout> {
    let java = running.iter().find(|one| program(one, "java"))?;
    let exec = |name: &str| name.starts_with("http-nio-") && name.contains("-e");
    let threads = count(java, |name| exec(name) || name.starts_with("qtp"));
    Some(Layout {
        server: ApplicationServer::Java,
        processes: 1,
        threads: Some(threads).filter(|&count| count > 0),
    })
}

/// One event loop, or a cluster of them below a primary.
fn node(running: &[Running]) -> Option<Layout> {
    let loops: Vec<&Running> = running.iter().filter(|one| program(one, "node")).collect();
    let workers = loops.iter().filter(|one| loops.iter().any(|parent| parent.id == one.parent)).count();
    let processes =
        u32::try_from(if workers > 0 { workers } else { loops.len() }).ok().filter(|&count| count > 0)?;
    Some(Layout { server: ApplicationServer::Node, processes, threads: None })
}

/// Threads such as `sample-0-1`, the second one of the first worker.
fn sample(running: &[Running]) -> Option<Layout> {
    let mut workers: BTreeMap<&str, u32> = BTreeMap::new();
    for name in running.iter().flat_map(|one| &one.threads) {
        let place = name.strip_prefix("sample-").and_then(|place| place.split_once('-'));
        if let Some((worker, _)) = place.filter(|(worker, _)| worker.parse::<u32>().is_ok()) {
            *workers.entry(worker).or_default() += 1;
        }
    }
    let processes = u32::try_from(workers.len()).ok().filter(|&processes| processes > 0)?;
    Some(Layout { server: ApplicationServer::Sample, processes, threads: workers.into_values().max() })
}

/// Whether one of the first three words is this program: `python3 /usr/bin/gunicorn`, `python -m gunicorn`, and titles
/// such as `gunicorn: master [app]`. A shell that starts it names it too, and is not it.
fn program(one: &Running, name: &str) -> bool {
    let words = one.command.split_whitespace().take(3);
    let mut words =
        words.map(|word| word.rsplit('/').next().unwrap_or(word).trim_end_matches(':')).peekable();
    words.peek().is_some_and(|first| !SHELLS.contains(first)) && words.any(|word| word == name)
}

/// The value of an option: `-k gthread`, `--threads=4`.
fn option<'a>(command: &'a str, names: &[&str]) -> Option<&'a str> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        for name in names {
            match word.strip_prefix(name) {
                Some("") => return words.next(),
                Some(rest) if rest.starts_with('=') => return Some(&rest[1..]),
                _ => (),
            }
        }
    }
    None
}

fn children(running: &[Running], parent: u32) -> u32 {
    u32::try_from(running.iter().filter(|one| one.parent == parent).count()).unwrap_or(u32::MAX)
}

fn count(one: &Running, wanted: impl Fn(&str) -> bool) -> u32 {
    u32::try_from(one.threads.iter().filter(|name| wanted(name)).count()).unwrap_or(u32::MAX)
}

/// What the command line of uWSGI has if the rest is in a file.
const CONFIGURED: [&str; 6] = [".ini", ".yaml", ".yml", ".xml", ".json", "--emperor"];
/// Shells whose arguments may name a server.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "zsh"];

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    fn process(id: u32, parent: u32, command: &str, threads: &[&str]) -> Running {
        let threads = threads.iter().map(|&name| name.to_owned()).collect();
        Running { id, parent, command: command.to_owned(), threads, memory: Bytes::new(0) }
    }

    #[test]
    fn tells_servers_by_what_they_show() {
        use ApplicationServer::*;
        let alone = |command: &str, threads: &[&str]| vec![process(10, 1, command, threads)];
        let with_two = |command: &str, worker: &str, threads: &[&str]| {
            vec![
                process(10, 1, command, &["x"]),
                process(11, 10, worker, threads),
                process(12, 10, worker, threads),
            ]
        };
        let same = |command: &str| with_two(command, command, &["gunicorn"]);
        let pool = ["puma", "puma srv tp 001", "puma srv tp 002", "puma reactor", "puma srv thread"];
        // gunicorn and Puma as those of Debian 12 (20.1, 5.6) show themselves.
        for (running, server, processes, threads) in [
            (same("/usr/bin/python3 /usr/bin/gunicorn -w 2 app:app"), GunicornSync, 2, Some(1)),
            (
                same("/usr/bin/python3 /usr/bin/gunicorn -w 2 --threads 4 app:app"),
                GunicornThreads,
                2,
                Some(4),
            ),
            (same("python -m gunicorn -k gthread --threads=8 app:app"), GunicornThreads, 2, Some(8)),
            (same("gunicorn: master [app:app]"), GunicornSync, 2, Some(1)),
            (
                same("/venv/bin/python /venv/bin/gunicorn -k uvicorn.workers.UvicornWorker a:b"),
                PythonEventLoop,
                2,
                None,
            ),
            (alone("/usr/bin/python3 /usr/bin/uvicorn app:app", &["uvicorn"]), PythonEventLoop, 1, None),
            (alone("python3 -m uvicorn app:app --workers 4", &["python3"]), PythonEventLoop, 4, None),
            (alone("puma 5.6.5 (tcp://127.0.0.1:1) [tmp]", &pool), Puma, 1, Some(2)),
            (
                with_two("puma 5.6.5 (tcp://127.0.0.1:1) [tmp]", "puma: cluster worker 0: 10 [tmp]", &pool),
                Puma,
                2,
                Some(2),
            ),
            (
                with_two(
                    "unicorn master -c config/unicorn.rb",
                    "unicorn worker[0] -c config/unicorn.rb",
                    &["ruby"],
                ),
                Unicorn,
                2,
                Some(1),
            ),
            (
                with_two(
                    "php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)",
                    "php-fpm: pool www",
                    &["php-fpm8.2"],
                ),
                PhpFpm,
                2,
                Some(1),
            ),
            (same("uwsgi --http :8000 --master -p 2 --threads 4 --wsgi-file app.py"), Uwsgi, 2, Some(4)),
            // uWSGI as that of Debian 12 (2.0.21) shows itself.
            (same("/usr/bin/uwsgi --ini /etc/shop.ini"), Uwsgi, 2, None),
            (with_two("uwsgi shop.ini", "uwsgi shop.ini", &["uwsgi", "uwsgi", "uwsgi"]), Uwsgi, 2, Some(3)),
            (with_two("uWSGI master", "uWSGI worker 1", &["uwsgi", "uwsgi"]), Uwsgi, 2, Some(2)),
            (with_two("uWSGI master", "uWSGI worker 1", &["uwsgi"]), Uwsgi, 2, None),
            (same("uwsgi --http :8000 --master --wsgi-file app.py"), Uwsgi, 1, Some(1)),
            (same("uwsgi --http :8000 -p 2 --gevent 100 --wsgi-file app.py"), Uwsgi, 2, None),
            (same("uwsgi --emperor /etc/uwsgi/vassals"), Uwsgi, 2, None),
            (alone("uwsgi --socket :3031 --wsgi-file app.py", &["uwsgi"]), Uwsgi, 1, Some(1)),
            (alone("node server.js", &["node", "libuv-worker"]), Node, 1, None),
            (with_two("/usr/bin/node cluster.js", "/usr/bin/node cluster.js", &["node"]), Node, 2, None),
            (
                alone(
                    "java -jar shop.jar",
                    &["java", "http-nio-8080-e", "http-nio-8080-e", "http-nio-8080-A"],
                ),
                Java,
                1,
                Some(2),
            ),
            (alone("java -jar shop.jar", &["java"]), Java, 1, None),
            (
                alone(
                    "headroom sample-service --workers 2 --threads 1",
                    &["headroom", "sample-0-0", "sample-1-0", "sample-poller", "sample-processo"],
                ),
                Sample,
                2,
                Some(1),
            ),
        ] {
            assert_eq!(Layout::of(&running), Some(Layout { server, processes, threads }), "{running:?}");
        }
        // A script that starts nginx, too.
        let mut started = with_two("gunicorn: master [a:b]", "gunicorn: worker [a:b]", &[]);
        started.push(process(9, 1, "/bin/sh /opt/start gunicorn 2", &["sh"]));
        started.push(process(8, 9, "nginx: master process nginx", &["nginx"]));
        started.sort_by_key(|one| one.id);
        let found = Layout::of(&started).unwrap();
        assert_eq!((found.server, found.processes), (GunicornSync, 2));
        assert_eq!(Layout::of(&alone("/opt/shop/server --threads 8", &["server"])), None);
        assert_eq!(Layout::of(&[]), None);
    }

    #[test]
    fn a_thread_count_that_is_no_number_is_not_guessed() {
        let running = [process(10, 1, "/usr/bin/gunicorn --threads many app:app", &[])];
        assert_eq!(Layout::of(&running), None);
    }
}
