//! Dimensions beside policies: the server, the balancer, the hosts.

use super::ladder::{magnitude, texts};
use super::{Also, Choice, Edit, Finder, below};

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

    /// Sizes of Fargate in place of the only host, if that is one. Other types differ in more than their size: the case
    /// has to say how fast their cores are.
    fn hosts(&mut self, service: &[String]) {
        let hosts = below(service, &["hosts"]);
        let names = self.keys(&hosts);
        let [name] = names.as_slice() else { return };
        let host = below(&hosts, &[name]);
        let price = self.scalar(&below(&host, &["price"])).unwrap_or_else(|| name.clone());
        let cores = self.scalar(&below(&host, &["cores"])).and_then(|text| magnitude(&text));
        let (true, Some(cores)) = (price.starts_with("fargate"), cores) else { return };
        let background = self.scalar(&below(&host, &["background"])).unwrap_or_else(|| "0".to_owned());
        let size = |&(vcpu, gib): &(u32, u32)| {
            let text =
                format!("{{ cores: {vcpu}, memory: {gib}GiB, background: {background}, price: {price} }}");
            let size = format!("fargate-{vcpu}-vcpu-{gib}-gb");
            let added = Edit { path: below(&hosts, &[&size]), value: Some(text) };
            let removed = Edit { path: host.clone(), value: None };
            Choice { text: Some(size), edits: vec![removed, added] }
        };
        let today = Choice { text: Some(name.clone()), edits: Vec::new() };
        let others = SIZES.iter().filter(|(vcpu, _)| f64::from(*vcpu) != cores).map(size);
        self.add(&hosts, std::iter::once(today).chain(others).collect(), 0, false);
    }
}

/// Sizes of Fargate tasks: vCPU, and the least memory that AWS sells with them, in GiB.
const SIZES: [(u32, u32); 3] = [(1, 2), (2, 4), (4, 8)];
