//! `live` of a case file: the running service of `headroom scale`.
//!
//! ## Why beside the stages
//! A stage is a policy to compare; the service that runs is one. The bounds, the drain time and the rule which instances
//! end first are those of the stage that is run, so that they are written once.

use super::Case;
use super::file::CaseTable;
use super::live_file::{
    LiveEcsTable, LiveGatewayTable, LiveGroupTable, LiveGuardTable, LiveKubernetesTable, LiveProcessesTable,
    LivePrometheusTable, LiveTable,
};
use super::words::Number;
use control::scaling::guard::{ChangeRate, GuardSettings};
use fields::{At, Place, Report, Span, suggestion};
use gateway::settings::AdminAddress;
use scaler::settings::{
    Address, Aws, AwsFleet, Ends, Gateway, Kubernetes, Limits, Live, Processes, Prometheus, Requests, Serve,
};
use sim::settings::Host;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The section, without what comes from a stage.
#[derive(Debug, Clone)]
pub(super) struct Section {
    service: Option<String>,
    gateway: Option<Gateway>,
    requests: Requests,
    processes: Option<(Processes, Option<Duration>)>,
    kubernetes: Option<Kubernetes>,
    aws: Option<Aws>,
    guard: GuardSettings,
    min: Option<u32>,
    max: Option<u32>,
    period: Duration,
    stale_after: Duration,
    state: PathBuf,
    serve: Option<Serve>,
}

impl Case {
    /// The running service with the policy of a stage; none without `live`, or without a policy.
    pub fn live(&self, stage: usize) -> Option<Live> {
        let section = self.live.as_ref()?;
        let services = &self.stages.get(stage)?.system.services;
        let service = match &section.service {
            None => 0,
            Some(name) => services.iter().position(|service| service.name == *name)?,
        };
        let found = services.get(service)?;
        let scaling = &found.scaling;
        let (least, most) = scaling.policy.widest_bounds().unwrap_or((1, u32::MAX));
        let (min, max) = (section.min.unwrap_or(least), section.max.unwrap_or(most));
        let processes = section.processes.clone().map(|(processes, drain)| Processes {
            drain: drain.unwrap_or(found.start.drain),
            // As the simulator divides it.
            cores: processes.cores.or_else(|| found.hosts.first().map(Host::allotted)),
            ends: match scaling.ends {
                sim::settings::Ends::Oldest => Ends::Oldest,
                sim::settings::Ends::Newest => Ends::Newest,
            },
            ..processes
        });
        // No more than there are ports.
        let max = processes.as_ref().map_or(max, |processes| max.min(processes.most()));
        Some(Live {
            service,
            gateway: section.gateway.clone(),
            requests: section.requests.clone(),
            processes,
            kubernetes: section
                .kubernetes
                .clone()
                .map(|target| Kubernetes { cores: found.hosts.first().map(Host::allotted), ..target }),
            aws: section
                .aws
                .clone()
                .map(|target| Aws { cores: found.hosts.first().map(Host::allotted), ..target }),
            guard: GuardSettings { min, max, ..section.guard.clone() },
            period: section.period,
            stale_after: section.stale_after,
            state: section.state.clone(),
            serve: section.serve.clone(),
        })
    }
}

/// The section of a file, unless the report says what is wrong with it. Paths are relative to `base`.
pub(super) fn read(table: &CaseTable, base: &Path, report: &mut Report) -> Option<Section> {
    let live = table.live.as_ref()?;
    let LiveTable {
        service,
        gateway,
        file,
        prometheus,
        processes,
        kubernetes,
        ecs,
        auto_scaling_group,
        guard,
        period,
        stale_after,
        serve,
        state,
    } = &live.value;
    let targets = [
        processes.as_ref().map(|at| ("processes", &at.place)),
        kubernetes.as_ref().map(|at| ("kubernetes", &at.place)),
        ecs.as_ref().map(|at| ("ecs", &at.place)),
        auto_scaling_group.as_ref().map(|at| ("auto_scaling_group", &at.place)),
    ];
    if let [(first, _), (second, place), ..] = targets.into_iter().flatten().collect::<Vec<_>>()[..] {
        let help = format!("leave `{first}` or `{second}` out");
        report.wrong(place, "a service has one target".to_owned(), "a second one", help);
    }
    let kubernetes = kubernetes.as_ref().and_then(|at| read_kubernetes(&at.value, base, report));
    let ecs = ecs.as_ref().map(|at| read_ecs(&at.value, report));
    let aws = ecs.or_else(|| auto_scaling_group.as_ref().map(|at| read_group(&at.value)));
    if gateway.is_none() && (processes.is_some() || kubernetes.is_none() && aws.is_none()) {
        let message = "`live` has no `gateway`".to_owned();
        let help = "add `gateway: { admin: HOST:PORT, pool: NAME }`; only `kubernetes`, `ecs` and `auto_scaling_group` need none"
            .to_owned();
        report.wrong(&live.place, message, "this section", help);
    }
    if let (Some(_), Some(at)) = (file, prometheus) {
        let help = "leave `file` or `prometheus` out".to_owned();
        report.wrong(&at.place, "requests are read from one source".to_owned(), "a second one", help);
    }
    let prometheus = prometheus.as_ref().map(|at| read_prometheus(&at.value, base, report));
    let file = file.as_ref().map(|at| base.join(&at.value.0));
    let gateway = gateway.as_ref().map(|at| read_gateway(&at.value, base, report));
    let requests = match (prometheus, file) {
        (Some(queries), _) => Requests::Prometheus(queries),
        (None, Some(path)) => Requests::File(path),
        (None, None) if gateway.is_some() => Requests::Gateway,
        (None, None) => Requests::Nowhere,
    };
    if let (Some(at), Some(services)) = (service, &table.services.0) {
        let names = services.value.iter().map(|named| named.name.as_str());
        if names.clone().all(|name| name != at.value.0) {
            let help = suggestion(&at.value.0, names);
            report.wrong(&at.place, format!("no service `{}`", at.value.0), "not in this file", help);
        }
    }
    let processes = processes.as_ref().and_then(|at| read_processes(&at.value, report));
    let none = LiveGuardTable {
        min: None,
        max: None,
        step_out: None,
        step_in: None,
        rate: None,
        scale_in_without_data: None,
        by_hand: None,
        rollback: None,
    };
    let guard = guard.as_ref().map_or(&none, |at| &at.value);
    let count = |at: &Option<At<fields::Count>>| at.as_ref().map(|at| at.value.0);
    let (min, max) = (count(&guard.min), count(&guard.max));
    if let (Some(min), Some(max), Some(at)) = (min, max, &guard.max)
        && max < min
    {
        let help = "raise `max`, or lower `min`".to_owned();
        report.wrong(&at.place, format!("the maximum {max} is below the minimum {min}"), "too small", help);
    }
    let period = period_of(period.as_ref(), report);
    let usual = GuardSettings::new(1, 1);
    let guard = GuardSettings {
        step_out: positive(guard.step_out.as_ref(), report),
        step_in: positive(guard.step_in.as_ref(), report),
        rate: guard
            .rate
            .as_ref()
            .map(|at| ChangeRate { instances: at.value.instances.value.0, within: at.value.within.value.0 }),
        scale_in_without_data: guard.scale_in_without_data.as_ref().is_some_and(|at| at.value.0),
        by_hand: span(guard.by_hand.as_ref(), usual.by_hand),
        rollback: match &guard.rollback {
            None => usual.rollback,
            Some(at) => (!at.value.0.is_zero()).then_some(at.value.0),
        },
        ..usual
    };
    let serve = match serve {
        None => None,
        Some(At { value: table, .. }) => {
            let listen = crate::check::admin::address(&table.listen.value.0, &table.listen.place, report)?;
            let token_file = table.token_file.as_ref().map(|at| base.join(&at.value.0));
            Some(Serve { listen: address(listen, base), token_file })
        }
    };
    Some(Section {
        service: service.as_ref().map(|at| at.value.0.clone()),
        // What is wrong with it was reported.
        gateway: gateway.flatten(),
        requests,
        processes,
        kubernetes,
        aws,
        guard,
        min,
        max,
        period,
        stale_after: span(stale_after.as_ref(), Duration::from_secs(10)),
        state: base.join(&state.value.0),
        serve,
    })
}

fn read_gateway(table: &LiveGatewayTable, base: &Path, report: &mut Report) -> Option<Gateway> {
    let LiveGatewayTable { admin, pool, token_file } = table;
    let admin = crate::check::admin::address(&admin.value.0, &admin.place, report)?;
    Some(Gateway {
        admin: address(admin, base),
        pool: pool.value.0.clone(),
        token_file: token_file.as_ref().map(|at| base.join(&at.value.0)),
    })
}

fn read_prometheus(table: &LivePrometheusTable, base: &Path, report: &mut Report) -> Prometheus {
    let LivePrometheusTable { url, token_file, requests, errors, in_flight, times, every } = table;
    let is_web = ["http://", "https://"].iter().any(|scheme| url.value.0.starts_with(scheme));
    if !is_web {
        let help = "write `http://HOST:PORT` or `https://HOST/PATH`".to_owned();
        report.wrong(&url.place, format!("`{}` is not a URL of a Prometheus", url.value.0), "this URL", help);
    }
    if let Some(at) = every.as_ref().filter(|at| at.value.0 < Duration::from_secs(1)) {
        let message = format!("a query each {} is too often", units::show_duration(at.value.0));
        report.wrong(&at.place, message, "this time", "write at least `1s`".to_owned());
    }
    Prometheus {
        url: url.value.0.clone(),
        token_file: token_file.as_ref().map(|at| base.join(&at.value.0)),
        requests: requests.value.0.clone(),
        errors: text(errors),
        in_flight: text(in_flight),
        times: text(times),
        every: span(every.as_ref(), Duration::from_secs(5)),
    }
}

fn address(found: AdminAddress, base: &Path) -> Address {
    match found {
        AdminAddress::Tcp(address) => Address::Tcp(address),
        AdminAddress::Unix(path) => Address::Unix(base.join(path)),
    }
}

fn read_kubernetes(table: &LiveKubernetesTable, base: &Path, report: &mut Report) -> Option<Kubernetes> {
    let LiveKubernetesTable { resource, namespace, kubeconfig, context, lease } = table;
    let found = resource.value.0.split_once('/').map(|(full, name)| {
        let (resource, group) = full.split_once('.').unwrap_or((full, ""));
        (resource, group, name)
    });
    // The lower-case letters, digits and signs that the names of Kubernetes are made of; they are parts of paths.
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
    };
    let Some((kind, group, name)) = found
        .filter(|(kind, group, name)| is_name(kind) && (group.is_empty() || is_name(group)) && is_name(name))
    else {
        let message = format!("`{}` is not RESOURCE.GROUP/NAME", resource.value.0);
        let help =
            "write the plural name with its group, such as `deployments.apps/web`; `kubectl api-resources` \
                    lists them"
                .to_owned();
        report.wrong(&resource.place, message, "this resource", help);
        return None;
    };
    for at in [namespace, lease].into_iter().flatten().filter(|at| !is_name(&at.value.0)) {
        let message = format!("`{}` is not a name of Kubernetes", at.value.0);
        let help = "use lower-case letters, digits, `-` and `.`".to_owned();
        report.wrong(&at.place, message, "this name", help);
    }
    Some(Kubernetes {
        resource: kind.to_owned(),
        group: group.to_owned(),
        name: name.to_owned(),
        namespace: text(namespace),
        kubeconfig: kubeconfig.as_ref().map(|at| base.join(&at.value.0)),
        context: text(context),
        lease: text(lease).unwrap_or_else(|| format!("headroom-{name}")),
        cores: None,
    })
}

fn read_ecs(table: &LiveEcsTable, report: &mut Report) -> Aws {
    let LiveEcsTable { cluster, service, region, profile } = table;
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    for at in [cluster, service].into_iter().filter(|at| at.value.0.is_empty() || !is_name(&at.value.0)) {
        let message = format!("`{}` is not a name of ECS", at.value.0);
        let help =
            "write the name, which is the last part of an ARN: letters, digits, `-` and `_`".to_owned();
        report.wrong(&at.place, message, "this name", help);
    }
    let fleet = AwsFleet::Ecs { cluster: cluster.value.0.clone(), service: service.value.0.clone() };
    Aws { fleet, region: text(region), profile: text(profile), cores: None }
}

fn read_group(table: &LiveGroupTable) -> Aws {
    let LiveGroupTable { name, region, profile } = table;
    let fleet = AwsFleet::Group { name: name.value.0.clone() };
    Aws { fleet, region: text(region), profile: text(profile), cores: None }
}

fn text(at: &Option<At<fields::Text>>) -> Option<String> {
    at.as_ref().map(|at| at.value.0.clone())
}

fn read_processes(table: &LiveProcessesTable, report: &mut Report) -> Option<(Processes, Option<Duration>)> {
    let LiveProcessesTable { command, ports, environment, ready, usage, cores, limits, start, drain, stop } =
        table;
    if !command.value.0.contains("{port}") && !command.value.0.contains("PORT") {
        let help = "write `{port}` where the command takes the port of its instance, or use $PORT".to_owned();
        let message = "all instances would listen on the same port".to_owned();
        report.wrong(&command.place, message, "no `{port}`", help);
    }
    let range = ports.value.0.split_once('-').and_then(|(first, last)| {
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        Some((number(first)?, number(last)?))
    });
    let range = range.filter(|(first, last)| first <= last);
    if range.is_none() {
        let message = format!("expected two ports from 1 to 65535, found `{}`", ports.value.0);
        report.wrong(
            &ports.place,
            message,
            "this range",
            "write `9100-9130`, the lower one first".to_owned(),
        );
    }
    for at in [ready, usage].into_iter().flatten() {
        if !at.value.0.starts_with('/') {
            let message = format!("`{}` is not a path", at.value.0);
            report.wrong(&at.place, message, "this path", "begin with `/`".to_owned());
        }
    }
    let limits = limits.as_ref().map(|at| &at.value);
    if let Some(at) = limits.and_then(|limits| limits.memory.as_ref()).filter(|at| at.value.0.get() == 0) {
        let help = "write what an instance needs, such as `512MiB`".to_owned();
        report.wrong(&at.place, "an instance without memory is killed".to_owned(), "this size", help);
    }
    let limits = Limits {
        cores: positive_cores(limits.and_then(|limits| limits.cores.as_ref()), report),
        memory: limits.and_then(|limits| limits.memory.as_ref()).map(|at| at.value.0),
    };
    let cores = positive_cores(cores.as_ref(), report).or(limits.cores);
    let environment = environment.iter().flat_map(|names| names.iter());
    let environment = environment
        .filter_map(|named| Some((named.name.clone(), named.value.as_ref()?.value.0.clone())))
        .collect();
    let processes = Processes {
        command: command.value.0.clone(),
        ports: range?,
        environment,
        ready: ready.as_ref().map(|at| at.value.0.clone()),
        usage: usage.as_ref().map(|at| at.value.0.clone()),
        cores,
        limits,
        start: span(start.as_ref(), Duration::from_secs(60)),
        drain: Duration::ZERO,
        stop: span(stop.as_ref(), Duration::from_secs(10)),
        ends: Ends::Oldest,
    };
    Some((processes, drain.as_ref().map(|at| at.value.0)))
}

fn positive_cores(at: Option<&At<Number>>, report: &mut Report) -> Option<f64> {
    let at = at?;
    if at.value.0 <= 0.0 {
        let help = "write the cores that an instance may use, such as 0.5".to_owned();
        report.wrong(&at.place, "an instance without cores does nothing".to_owned(), "this number", help);
        return None;
    }
    Some(at.value.0)
}

/// It divides a minute, or is made of whole ones.
fn period_of(at: Option<&At<Span>>, report: &mut Report) -> Duration {
    let Some(At { value: Span(found), place }) = at else { return MINUTE };
    let (short, long) = (found.as_nanos().min(MINUTE.as_nanos()), found.as_nanos().max(MINUTE.as_nanos()));
    if short < Duration::from_secs(1).as_nanos() || !long.is_multiple_of(short) {
        let message =
            format!("{} neither divides a minute nor is made of whole ones", units::show_duration(*found));
        report.wrong(place, message, "this period", "write `1s`, `10s`, `1m` or `5m`".to_owned());
        return MINUTE;
    }
    *found
}

fn positive(at: Option<&At<fields::Count>>, report: &mut Report) -> Option<u32> {
    let At { value, place } = at?;
    let zero = |place: &Place, report: &mut Report| {
        let help = "leave it out for no bound; a pause is a file `pause` in the state directory".to_owned();
        report.wrong(place, "a step of 0 changes nothing".to_owned(), "this number", help);
    };
    if value.0 == 0 {
        zero(place, report);
        return None;
    }
    Some(value.0)
}

fn span(at: Option<&At<Span>>, default: Duration) -> Duration {
    at.map_or(default, |at| at.value.0)
}

const MINUTE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use crate::case::{Given, parse};
    use scaler::settings::Requests;
    use std::path::Path;
    use std::time::Duration;

    const CASE: &str = "\
case: shop
traffic: { rate: 5/s }
services:
  web:
    endpoints: { page: { cpu: 10ms } }
    server: { threads: 4 }
    hosts: { small: { cores: 2 } }
    start: { drain: 7s }
    scaling: { min: 2, max: 90, ends: newest, hpa: { cpu: 50%, behavior: true } }
";

    fn read(live: &str) -> Result<scaler::settings::Live, String> {
        let text = format!("{CASE}live:\n{live}");
        let case =
            parse("a.yaml", &text, Path::new("base"), Given::default()).map_err(|found| found.plain())?;
        Ok(case.live(0).expect("a section"))
    }

    const USUAL: &str = "  gateway: { admin: '127.0.0.1:9901', pool: web }\n  state: run\n";

    #[test]
    fn a_stage_completes_the_section() {
        let live = read(&format!(
            "{USUAL}  processes: {{ command: 'serve {{port}}', ports: 9100-9130, ready: /ready }}\n"
        ))
        .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!((live.guard.min, live.guard.max), (2, 31), "no more than there are ports");
        assert_eq!((live.service, live.state.as_path()), (0, Path::new("base/run")));
        let processes = live.processes.expect("processes");
        assert_eq!((processes.drain, processes.most()), (Duration::from_secs(7), 31));
        assert_eq!(processes.ends, scaler::settings::Ends::Newest);
        assert_eq!((live.period, live.serve), (Duration::from_secs(60), None));
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let live = read(&format!("{USUAL}  serve: {{ listen: 'unix:run/s', token_file: token }}\n")).unwrap();
        let serve = live.serve.expect("an address");
        assert_eq!(serve.listen.to_string(), "unix:base/run/s");
        assert_eq!(serve.token_file.as_deref(), Some(Path::new("base/token")));
    }

    #[test]
    fn a_resource_of_kubernetes_has_a_group_and_a_name() {
        let live = read(&format!("{USUAL}  kubernetes: {{ resource: deployments.apps/web }}\n")).unwrap();
        let found = live.kubernetes.expect("a target");
        assert_eq!((&*found.resource, &*found.group, &*found.name), ("deployments", "apps", "web"));
        assert_eq!((found.to_string().as_str(), &*found.lease), ("deployments.apps/web", "headroom-web"));
    }

    #[test]
    fn a_fleet_elsewhere_needs_no_gateway() {
        let live =
            read("  ecs: { cluster: shop, service: web, region: eu-central-1 }\n  state: run\n").unwrap();
        assert_eq!((live.gateway.clone(), live.requests.clone()), (None, Requests::Nowhere));
        let aws = live.aws.clone().expect("a target");
        assert_eq!(
            (aws.to_string().as_str(), aws.region.as_deref(), aws.cores),
            ("shop/web", Some("eu-central-1"), Some(2.0))
        );
        assert_eq!(live.lacks("cpu"), None);
        assert!(live.lacks("requests").is_some_and(|help| help.contains("live.prometheus")));
        let prometheus = "  prometheus: { url: 'http://127.0.0.1:9090', requests: 'sum(rate(a[1m]))' }\n";
        let live =
            read(&format!("  auto_scaling_group: {{ name: web }}\n  state: run\n{prometheus}")).unwrap();
        assert_eq!((live.lacks("requests"), live.lacks("cpu")), (None, None));
        assert!(live.lacks("response_time").is_some_and(|help| help.contains("live.prometheus.times")));
    }

    #[test]
    fn limits_are_the_cores_of_an_instance() {
        let limits = "limits: { cores: 0.5, memory: 512MiB }";
        let live = read(&format!("{USUAL}  processes: {{ command: 'a {{port}}', ports: 1-2, {limits} }}\n"))
            .unwrap();
        let processes = live.processes.expect("processes");
        assert_eq!(
            (processes.cores, processes.limits.memory),
            (Some(0.5), Some(units::Bytes::new(512 << 20)))
        );
    }

    #[test]
    fn mistakes_have_their_place_and_a_way_out() {
        for (live, expected) in [
            ("  gateway: { admin: here, pool: web }\n  state: run\n", "live.gateway.admin"),
            (
                "  service: webb\n  gateway: { admin: '127.0.0.1:9901', pool: web }\n  state: run\n",
                "did you mean `web`",
            ),
            (&*format!("{USUAL}  processes: {{ command: serve, ports: 9100-9130 }}\n"), "write `{port}`"),
            (
                &*format!("{USUAL}  processes: {{ command: 'a {{port}}', ports: 9130-9100 }}\n"),
                "the lower one first",
            ),
            (
                &*format!("{USUAL}  processes: {{ command: 'a {{port}}', ports: 1-2, ready: x }}\n"),
                "begin with `/`",
            ),
            (&*format!("{USUAL}  guard: {{ min: 5, max: 3 }}\n"), "below the minimum 5"),
            (&*format!("{USUAL}  guard: {{ step_in: 0 }}\n"), "changes nothing"),
            (&*format!("{USUAL}  period: 7s\n"), "divides a minute"),
            (&*format!("{USUAL}  serve: {{ listen: here }}\n"), "live.serve.listen"),
            (&*format!("{USUAL}  kubernetes: {{ resource: Deployment/web }}\n"), "`deployments.apps/web`"),
            (
                &*format!("{USUAL}  kubernetes: {{ resource: a.b/c, namespace: d/e }}\n"),
                "not a name of Kubernetes",
            ),
            (
                &*format!(
                    "{USUAL}  kubernetes: {{ resource: a.b/c }}\n  processes: {{ command: 'a {{port}}', ports: 1-2 }}\n"
                ),
                "one target",
            ),
            ("  state: run\n", "`live` has no `gateway`"),
            ("  state: run\n  processes: { command: 'a {port}', ports: 1-2 }\n", "`live` has no `gateway`"),
            (
                &*format!(
                    "{USUAL}  ecs: {{ cluster: shop, service: web }}\n  auto_scaling_group: {{ name: web }}\n"
                ),
                "leave `ecs` or `auto_scaling_group` out",
            ),
            (
                "  ecs: { cluster: 'arn:aws:ecs:eu-central-1:1:cluster/shop', service: web }\n  state: run\n",
                "the last part of an ARN",
            ),
            (&*format!("{USUAL}  prometheus: {{ url: here, requests: up }}\n"), "not a URL of a Prometheus"),
            (
                &*format!("{USUAL}  prometheus: {{ url: 'http://here', requests: up, every: 10ms }}\n"),
                "at least `1s`",
            ),
            (
                &*format!(
                    "{USUAL}  file: totals.json\n  prometheus: {{ url: 'http://here', requests: up }}\n"
                ),
                "leave `file` or `prometheus` out",
            ),
            (
                &*format!(
                    "{USUAL}  processes: {{ command: 'a {{port}}', ports: 1-2, limits: {{ cores: 0 }} }}\n"
                ),
                "does nothing",
            ),
        ] {
            let problems = read(live).expect_err(live);
            assert!(problems.contains(expected), "{live}: {problems}");
        }
    }
}
