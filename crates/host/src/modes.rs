//! What makes a service slower than it has to be in production: debug modes, and profilers and tracers that are attached to it.
//!
//! ## How it is told
//! By command lines, the environment at the start, mapped libraries and `TracerPid`. A mode that a program switches on by itself,
//! for example from a file of settings, is not seen.
//!
//! Sources: Flask *Configuration Handling* (`FLASK_DEBUG`), Python *Command line and environment* (`-X dev`), gunicorn *Settings*
//! (`--reload`), uvicorn *Settings*, Django *django-admin* (`runserver`), Rails *Configuring Rails* (`RAILS_ENV`), Rack
//! (`RACK_ENV`), Puma's options, Node.js *Command-line API*, Java *JPDA* (`jdwp`), Xdebug *Settings* (`XDEBUG_MODE`), Go *Command go*
//! (`run`), the documentation of ts-node, Babel, nodemon, webpack and *dotnet watch*.

use crate::service::{Running, command_of};
use crate::stat;
use crate::text::{field, read};
use std::collections::BTreeSet;

/// Something that belongs to development.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// A debug or development mode, as it is written: `--reload`, `RACK_ENV=development`.
    Debug(String),
    /// A profiler or a tracer, with what shows it.
    Profiler(String),
}

/// The modes of a service's processes, without repetition. Programs that are attached from outside are looked for among all
/// processes of the machine.
pub fn modes(running: &[Running]) -> Vec<Mode> {
    let mut found = BTreeSet::new();
    for one in running {
        let words: Vec<&str> = one.command.split_whitespace().collect();
        found.extend(of_command(&words));
        if let Some(environment) = read(format!("/proc/{}/environ", one.id)) {
            found.extend(environment.split('\0').filter_map(of_variable));
        }
        found.extend(of_maps(&read(format!("/proc/{}/maps", one.id)).unwrap_or_default()));
        let status = read(format!("/proc/{}/status", one.id)).unwrap_or_default();
        if let Some(tracer) = field(&status, "TracerPid").filter(|&tracer| tracer != "0") {
            let name = read(format!("/proc/{tracer}/comm")).unwrap_or_default();
            found.insert(Mode::Profiler(format!("{} ({tracer}) traces process {}", name.trim(), one.id)));
        }
    }
    let ids: Vec<String> = running.iter().map(|one| one.id.to_string()).collect();
    found.extend(attached(&ids));
    found.into_iter().collect()
}

/// From the words of a command line.
fn of_command(words: &[&str]) -> Vec<Mode> {
    let program = |name: &str| {
        let of = |word: &str| word.rsplit('/').next().unwrap_or(word).trim_end_matches(':').to_owned();
        words.iter().take(3).any(|word| of(word).starts_with(name))
    };
    let after =
        |option: &str, value: &str| words.windows(2).any(|pair| pair[0] == option && pair[1] == value);
    let has = |wanted: &str| words.contains(&wanted);
    let starting =
        |start: &str| words.iter().find(|word| word.starts_with(start)).map(|word| (*word).to_owned());
    let mut found = Vec::new();
    let mut debug = |on: bool, shown: &str| found.extend(on.then(|| Mode::Debug(shown.to_owned())));
    let python = program("python") || program("gunicorn") || program("uvicorn") || program("flask");
    debug(python && has("--reload"), "--reload");
    debug(python && has("--debug"), "--debug");
    debug(python && (after("-X", "dev") || has("-Xdev")), "-X dev");
    debug(python && has("runserver"), "runserver, Django's development server");
    let ruby =
        program("puma") || program("ruby") || program("rails") || program("rackup") || program("unicorn");
    let development =
        after("-e", "development") || after("-E", "development") || after("--environment", "development");
    debug(ruby && (development || has("--environment=development")), "-e development");
    debug(program("php") && has("-S"), "php -S, PHP's development server");
    let is_go = words.first().is_some_and(|word| *word == "go" || word.ends_with("/go"));
    debug(is_go && words.get(1) == Some(&"run"), "go run, which compiles the service when it starts");
    for compiler in ["ts-node", "babel-node"] {
        debug(program(compiler), &format!("{compiler}, which compiles while it runs"));
    }
    for watcher in ["nodemon", "webpack-dev-server"] {
        debug(program(watcher), &format!("{watcher}, which watches for changes of the source"));
    }
    debug(
        program("webpack") && (has("serve") || has("--watch")),
        "webpack, which compiles when the source changes",
    );
    debug(program("dotnet") && has("watch"), "dotnet watch, which watches for changes of the source");
    if program("node")
        && let Some(inspect) = starting("--inspect")
    {
        debug(true, &inspect);
    }
    if program("java")
        && let Some(agent) =
            starting("-agentlib:jdwp").or_else(|| starting("-Xrunjdwp")).or_else(|| starting("-Xdebug"))
    {
        debug(true, &agent);
    }
    let mut profiler = |on: bool, shown: &str| found.extend(on.then(|| Mode::Profiler(shown.to_owned())));
    for module in ["cProfile", "profile", "pdb", "trace"] {
        profiler(program("python") && after("-m", module), &format!("python -m {module}"));
    }
    profiler(program("node") && has("--prof"), "node --prof");
    profiler(program("node") && has("--cpu-prof"), "node --cpu-prof");
    profiler(program("valgrind"), "valgrind");
    found
}

/// From `NAME=value`.
fn of_variable(variable: &str) -> Option<Mode> {
    let (name, value) = variable.split_once('=')?;
    let lower = value.to_ascii_lowercase();
    let on = matches!(&*lower, "1" | "true" | "yes" | "on");
    let development = matches!(&*lower, "development" | "dev");
    let debug = match name {
        "FLASK_DEBUG" | "DJANGO_DEBUG" | "APP_DEBUG" => on,
        "PYTHONDEVMODE" | "PYTHONASYNCIODEBUG" | "PYTHONTRACEMALLOC" => !value.is_empty() && value != "0",
        "FLASK_ENV"
        | "RAILS_ENV"
        | "RACK_ENV"
        | "NODE_ENV"
        | "ASPNETCORE_ENVIRONMENT"
        | "DOTNET_ENVIRONMENT" => development,
        "XDEBUG_MODE" => !matches!(value, "" | "off"),
        "NODE_OPTIONS" => value.contains("--inspect"),
        "JAVA_TOOL_OPTIONS" => value.contains("jdwp"),
        _ => false,
    };
    debug.then(|| Mode::Debug(variable.to_owned()))
}

/// From the libraries that a process has mapped.
fn of_maps(maps: &str) -> Vec<Mode> {
    let has = |library: &str| {
        maps.lines().any(|line| line.rsplit('/').next().is_some_and(|name| name.starts_with(library)))
    };
    let of = |library, mode: Mode| has(library).then_some(mode);
    let found = [
        of("xdebug", Mode::Debug("xdebug is loaded".to_owned())),
        of("libasan", Mode::Debug("the address sanitizer is loaded".to_owned())),
        of("libtsan", Mode::Debug("the thread sanitizer is loaded".to_owned())),
        of("vgpreload", Mode::Profiler("valgrind".to_owned())),
        of("libasyncProfiler", Mode::Profiler("async-profiler is loaded".to_owned())),
    ];
    found.into_iter().flatten().collect()
}

/// Profilers among all processes that were given the id of one of these.
fn attached(ids: &[String]) -> Vec<Mode> {
    let commands = stat::ids().filter_map(command_of);
    commands.filter(|command| attaches(command, ids)).map(Mode::Profiler).collect()
}

fn attaches(command: &str, ids: &[String]) -> bool {
    let mut words = command.split_whitespace();
    let named =
        words.by_ref().take(2).any(|word| PROFILERS.contains(&word.rsplit('/').next().unwrap_or(word)));
    named && words.any(|word| ids.iter().any(|id| word == id || word.strip_prefix("--pid=") == Some(id)))
}

/// Programs that attach to a process by its id.
const PROFILERS: [&str; 10] =
    ["perf", "strace", "ltrace", "gdb", "py-spy", "rbspy", "phpspy", "bpftrace", "austin", "asprof"];

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Vec<String> {
        let shown = |mode| match mode {
            Mode::Debug(shown) => shown,
            Mode::Profiler(shown) => format!("profiler {shown}"),
        };
        of_command(&text.split_whitespace().collect::<Vec<_>>()).into_iter().map(shown).collect()
    }

    #[test]
    fn knows_the_options_of_development() {
        for (text, expected) in [
            ("python3 /usr/bin/gunicorn --reload app:app", vec!["--reload"]),
            ("python3 -X dev -m gunicorn app:app", vec!["-X dev"]),
            (
                "/usr/bin/python3 manage.py runserver 0.0.0.0:8000",
                vec!["runserver, Django's development server"],
            ),
            ("flask run --debug", vec!["--debug"]),
            ("puma 6.0 -e development", vec!["-e development"]),
            ("node --inspect=0.0.0.0:9229 app.js", vec!["--inspect=0.0.0.0:9229"]),
            (
                "java -agentlib:jdwp=transport=dt_socket -jar a.jar",
                vec!["-agentlib:jdwp=transport=dt_socket"],
            ),
            ("python3 -m cProfile app.py", vec!["profiler python -m cProfile"]),
            (
                "/usr/local/go/bin/go run ./cmd/shop",
                vec!["go run, which compiles the service when it starts"],
            ),
            ("node /app/node_modules/.bin/ts-node server.ts", vec!["ts-node, which compiles while it runs"]),
            ("node node_modules/.bin/webpack serve", vec!["webpack, which compiles when the source changes"]),
            // In production.
            ("gunicorn: master [app:app]", vec![]),
            ("python3 /usr/bin/gunicorn -w 4 app:app", vec![]),
            ("puma 6.0 -e production", vec![]),
            ("nginx: master process nginx --debug", vec![]),
            ("gogs run", vec![]),
            ("node dist/webpack.js", vec![]),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(command(text), expected, "{text}");
        }
    }

    #[test]
    fn knows_the_variables_of_development() {
        for (variable, debug) in [
            ("RAILS_ENV=development", true),
            ("FLASK_DEBUG=1", true),
            ("XDEBUG_MODE=develop,debug", true),
            ("PYTHONDEVMODE=1", true),
            ("RAILS_ENV=production", false),
            ("FLASK_DEBUG=0", false),
            ("XDEBUG_MODE=off", false),
            ("PATH=/development", false),
            ("nothing", false),
        ] {
            assert_eq!(of_variable(variable).is_some(), debug, "{variable}");
        }
    }

    #[test]
    fn a_profiler_is_attached_if_it_has_the_id() {
        let ids = ["4711".to_owned()];
        for (command, expected) in [
            ("perf record -g -p 4711", true),
            ("/usr/bin/strace -f -p 4711", true),
            ("sudo py-spy top --pid=4711", true),
            ("perf record -p 12", false),
            ("vim 4711", false),
            ("perf", false),
        ] {
            assert_eq!(attaches(command, &ids), expected, "{command}");
        }
        assert_eq!(of_maps("7f00-7f01 r-xp 0 08:01 1 /usr/lib/php/20220829/xdebug.so\n").len(), 1);
    }
}
