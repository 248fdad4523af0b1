//! Dimensions beside policies: the server, the balancer, the hosts.

use super::ladder::{magnitude, parts, texts};
use super::{Also, Choice, Edit, Finder, at, below};
use crate::case::prices::is_built_in;
use crate::case::tree::{Absent, set};
use crate::case::vary::flow;

impl Finder<'_> {
    pub(super) fn also(&mut self, service: &[String], also: &[Also]) {
        if also.contains(&Also::Server) {
            let server = below(service, &["server"]);
            // Without the memory of a process nothing shows that more of them fit.
            let knows_memory = self.has(&below(&server, &["memory_per_process"]));
            self.ladder(&below(&server, &["processes"]), Some("1"), &|today| {
                let now = magnitude(today).unwrap_or(1.0);
                let fits = |count: &&str| knows_memory || magnitude(count).is_some_and(|count| count <= now);
                ["1", "2", "3", "4", "6", "8"].into_iter().filter(fits).map(str::to_owned).collect()
            });
            let threads = below(&server, &["threads"]);
            self.ladder(&threads, Some("1"), &|_| texts(&["1", "2", "4", "8", "16", "32"]));
        }
        if also.contains(&Also::Balancing) {
            let algorithm = below(service, &["balancing", "algorithm"]);
            self.words(&algorithm, "round-robin", &["round-robin", "least-outstanding", "peak-ewma"]);
        }
        if also.contains(&Also::Hosts) {
            self.hosts(service);
        }
    }

    /// Other sizes in place of the only host: of Fargate, or of the same family of EC2 instances that have a price. Other
    /// types differ in more than their size: the case has to say how fast their cores are.
    fn hosts(&mut self, service: &[String]) {
        let hosts = below(service, &["hosts"]);
        let names = self.keys(&hosts);
        let [name] = names.as_slice() else { return };
        let host = below(&hosts, &[name]);
        let price = self.scalar(&below(&host, &["price"])).unwrap_or_else(|| name.clone());
        let Some(cores) = self.scalar(&below(&host, &["cores"])).and_then(|text| magnitude(&text)) else {
            return;
        };
        let removed = Edit { path: host.clone(), value: None };
        let of = |name: String, value: String| {
            let added = Edit { path: below(&hosts, &[&name]), value: Some(value) };
            Choice { text: Some(name), edits: vec![removed.clone(), added] }
        };
        let others: Vec<Choice> = if price.starts_with("fargate") {
            // A task of a quarter of a vCPU has a limit.
            let limit = self.scalar(&below(&host, &["limit"])).and_then(|text| magnitude(&text));
            let allotted = limit.unwrap_or(cores).min(cores);
            let Some(node) = at(self.tree, &host) else { return };
            let size = |&(vcpu, gib): &(u32, u32)| {
                let mut table = node.clone();
                put(&mut table, "cores", &vcpu.to_string());
                put(&mut table, "memory", &format!("{gib}GiB"));
                put(&mut table, "price", &price);
                for own in ["limit", "limit_period", "request"] {
                    let _ = set(&mut table, &[own.to_owned()], None, Absent::Added);
                }
                of(format!("fargate-{vcpu}-vcpu-{gib}-gb"), flow(&table))
            };
            SIZES.iter().filter(|(vcpu, _)| f64::from(*vcpu) != allotted).map(size).collect()
        } else {
            self.family(&host, &price, cores).into_iter().map(|(name, value)| of(name, value)).collect()
        };
        let today = Choice { text: Some(name.clone()), edits: Vec::new() };
        self.add(&hosts, std::iter::once(today).chain(others).collect(), 0, false);
    }

    /// Sizes of the family of an EC2 type that have a price, each with the host's table. Burstable types are left alone:
    /// their credits do not follow from the size.
    fn family(&self, host: &[String], price: &str, cores: f64) -> Vec<(String, String)> {
        let Some((family, size)) = price.split_once('.') else { return Vec::new() };
        let (Some(now), Some(node)) = (doublings(size), at(self.tree, host)) else { return Vec::new() };
        if self.has(&below(host, &["credits"])) || family.starts_with('t') {
            return Vec::new();
        }
        let memory = self.scalar(&below(host, &["memory"]));
        let sized = |size: &&str| {
            let factor = doublings(size)? / now;
            let name = format!("{family}.{size}");
            let is_whole = (cores * factor).fract() == 0.0 && cores * factor >= 1.0;
            if factor == 1.0 || !is_whole || !self.is_priced(&name) {
                return None;
            }
            let mut table = node.clone();
            put(&mut table, "cores", &format!("{}", cores * factor));
            if let Some((number, unit)) = memory.as_deref().and_then(parts) {
                put(&mut table, "memory", &format!("{}{unit}", number * factor));
            }
            if self.has(&below(host, &["price"])) {
                put(&mut table, "price", &name);
            }
            Some((name, flow(&table)))
        };
        EC2_SIZES.iter().filter_map(|(size, _)| sized(size)).collect()
    }

    /// Whether the prices of the file, or the built-in table that it names, have this type.
    fn is_priced(&self, name: &str) -> bool {
        let prices = ["prices".to_owned()];
        let table = self.scalar(&below(&prices, &["table"]));
        self.has(&below(&prices, &["per_hour", name])) || table.is_some_and(|table| is_built_in(&table, name))
    }
}

/// Sets a key of the table of a host.
fn put(table: &mut yaml::Node, key: &str, text: &str) {
    let _ = set(table, &[key.to_owned()], yaml::tree(text).ok(), Absent::Added);
}

/// How large an EC2 size is, in units of `large`.
fn doublings(size: &str) -> Option<f64> {
    EC2_SIZES.iter().find(|(name, _)| *name == size).map(|(_, large)| *large)
}

/// Sizes of EC2 instances in units of `large`: processors, memory and prices double with each.
const EC2_SIZES: [(&str, f64); 5] =
    [("large", 1.0), ("xlarge", 2.0), ("2xlarge", 4.0), ("4xlarge", 8.0), ("8xlarge", 16.0)];
/// Sizes of Fargate tasks: vCPU, and the least memory that AWS sells with them, in GiB.
const SIZES: [(u32, u32); 3] = [(1, 2), (2, 4), (4, 8)];
