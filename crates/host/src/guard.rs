//! Load on third parties requires explicit permission.
//!
//! A typing error in a host name must not become an attack. Special-purpose addresses are free; a public one gets at
//! most [`Guard::BOUND`] unless its host, its address or its network was allowed by flag or file. By allowing it, the
//! user states that they may load the service.

use crate::address::is_public;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use units::Rate;

/// The addresses that may be loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    allowed: Vec<Entry>,
    /// The highest rate to a public address without permission.
    bound: Rate,
    /// The file for permanent entries; named in refusals.
    file: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Host(String),
    /// An address, and its prefix length.
    Network(IpAddr, u32),
}

/// An invalid entry.
#[derive(Debug, thiserror::Error)]
pub enum WrongEntry {
    /// Neither a host nor an address nor a network.
    #[error(
        "{place}: allowed host `{found}` is neither a host name, nor an address, nor a network such as 203.0.113.0/24"
    )]
    Form {
        /// The flag, or the file and line.
        place: String,
        /// What was written.
        found: String,
    },
    /// The file exists and cannot be read.
    #[error("cannot read the allowed hosts in {}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Load that is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{host} has the public address {address}, and {peak} more than the {bound} that goes to a public address unasked; \
     if the service is yours to load, say so with `--allow-host {host}` or with the line `{host}` in {}",
    file.display()
)]
pub struct Refused {
    /// The host as it was given.
    pub host: String,
    /// Its first public address that is not allowed.
    pub address: IpAddr,
    /// The requested load.
    pub peak: Peak,
    /// The highest accepted load.
    pub bound: Rate,
    /// The file that can allow it.
    pub file: PathBuf,
}

/// The highest load of a run, for refusals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Peak {
    /// The highest rate of the schedule.
    Known(Rate),
    /// In the closed model the service sets the rate.
    Unknown,
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peak::Known(rate) => write!(f, "the load of {rate} is"),
            Peak::Unknown => {
                f.write_str("the closed model sends as fast as the service responds, which may be")
            }
        }
    }
}

impl Guard {
    /// The rate to a public address without permission: a person with a few browsers.
    pub const BOUND: f64 = 50.0;

    /// Nothing public is allowed; `file` is named in refusals.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Guard { allowed: Vec::new(), bound: Rate::per_second_of(Self::BOUND), file: file.into() }
    }

    /// Reads a file with one entry per line; `#` begins a comment. A missing file allows nothing.
    ///
    /// # Errors
    /// The file cannot be read, or a line is invalid.
    pub fn from_file(file: &Path) -> Result<Self, WrongEntry> {
        let mut guard = Guard::new(file);
        match std::fs::read_to_string(file) {
            Ok(text) => guard.allow_lines(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(WrongEntry::Unreadable { path: file.to_owned(), source }),
        }
        Ok(guard)
    }

    fn allow_lines(&mut self, text: &str) -> Result<(), WrongEntry> {
        for (index, line) in text.lines().enumerate() {
            let entry = line.split_once('#').map_or(line, |(entry, _)| entry).trim();
            if !entry.is_empty() {
                let place = || format!("{}:{}", self.file.display(), index + 1);
                let entry = Entry::parse(entry).ok_or_else(|| wrong(place(), entry))?;
                self.allowed.push(entry);
            }
        }
        Ok(())
    }

    /// Allows a host, an address or a network from the flag `--allow-host`.
    ///
    /// # Errors
    /// It is none of them.
    pub fn allow(&mut self, entry: &str) -> Result<(), WrongEntry> {
        let entry = Entry::parse(entry).ok_or_else(|| wrong("--allow-host".to_owned(), entry))?;
        self.allowed.push(entry);
        Ok(())
    }

    /// Checks whether load with this peak may go to this host, which has these addresses. `None` is the closed model,
    /// whose rate is not known.
    ///
    /// # Errors
    /// An address is public, the peak may be above the bound, and no entry allows it.
    pub fn check(&self, host: &str, addresses: &[IpAddr], peak: Option<Rate>) -> Result<(), Refused> {
        if peak.is_some_and(|peak| peak <= self.bound) || self.allowed.iter().any(|entry| entry.names(host)) {
            return Ok(());
        }
        let stranger = addresses.iter().find(|&&address| {
            is_public(address) && !self.allowed.iter().any(|entry| entry.contains(address))
        });
        stranger.map_or(Ok(()), |&address| {
            Err(Refused {
                host: host.to_owned(),
                address,
                peak: peak.map_or(Peak::Unknown, Peak::Known),
                bound: self.bound,
                file: self.file.clone(),
            })
        })
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if let Some((address, bits)) = text.split_once('/') {
            let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
            return (bits <= width(address)).then_some(Entry::Network(address, bits));
        }
        if let Ok(address) = bare(text).parse::<IpAddr>() {
            let address = address.to_canonical();
            return Some(Entry::Network(address, width(address)));
        }
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        (!text.is_empty() && text.chars().all(is_name)).then(|| Entry::Host(name(text)))
    }

    fn names(&self, host: &str) -> bool {
        matches!(self, Entry::Host(allowed) if *allowed == name(host))
    }

    fn contains(&self, address: IpAddr) -> bool {
        let &Entry::Network(network, bits) = self else { return false };
        match (network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

fn wrong(place: String, found: &str) -> WrongEntry {
    WrongEntry::Form { place, found: found.to_owned() }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Removes the brackets that `[::1]` has in a URL.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Names are compared without case and without the dot of the root.
fn name(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn guard(entries: &[&str]) -> Guard {
        let mut guard = Guard::new("allowed-hosts");
        entries.iter().for_each(|entry| guard.allow(entry).unwrap());
        guard
    }

    #[test]
    fn a_stranger_is_loaded_only_when_allowed() {
        let fast = Some(Rate::per_second_of(200.0));
        let (public, private): (&[&str], &[&str]) = (&["8.8.8.8"], &["10.0.0.1", "127.0.0.1"]);
        for (allowed, host, addresses, peak, passes) in [
            // Private, at any rate and in the closed model.
            (&[][..], "db.internal", private, fast, true),
            (&[], "db.internal", private, None, true),
            // A third party: slowly only.
            (&[], "example.com", public, fast, false),
            (&[], "example.com", public, Some(Rate::per_second_of(50.0)), true),
            (&[], "example.com", public, Some(Rate::per_second_of(50.1)), false),
            (&[], "example.com", public, None, false),
            // One public address among private ones is enough.
            (&[], "example.com", &["10.0.0.1", "8.8.8.8"], fast, false),
            // Allowed by name, whatever its case.
            (&["Example.com."], "example.COM", public, None, true),
            (&["example.com"], "www.example.com", public, fast, false),
            // By address or network; each public address must be covered.
            (&["8.8.8.8"], "example.com", public, fast, true),
            (&["8.8.0.0/16"], "example.com", public, fast, true),
            (&["8.8.0.0/16"], "example.com", &["8.8.8.8", "9.9.9.9"], fast, false),
            (&["0.0.0.0/0"], "example.com", &["8.8.8.8", "9.9.9.9"], fast, true),
            (&["2606:4700::/32"], "example.com", &["2606:4700::1111"], fast, true),
            (&["2606:4700::/32"], "example.com", &["2606:4701::1111"], fast, false),
            // IPv4 inside IPv6 is the same address.
            (&["8.8.8.8"], "example.com", &["::ffff:8.8.8.8"], fast, true),
            (&["[2606:4700::1111]"], "[2606:4700::1111]", &["2606:4700::1111"], fast, true),
        ] {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            let result = guard(allowed).check(host, &addresses, peak);
            assert_eq!(result.is_ok(), passes, "{allowed:?} {host} {addresses:?} {peak:?}: {result:?}");
        }
    }

    #[test]
    fn a_refusal_says_how_to_allow_it() {
        let address = ["8.8.8.8".parse().unwrap()];
        let refused = |peak| guard(&[]).check("example.com", &address, peak).unwrap_err().to_string();
        assert_eq!(
            refused(Some(Rate::per_second_of(200.0))),
            "example.com has the public address 8.8.8.8, and the load of 200/s is more than the 50/s that goes to a \
             public address unasked; if the service is yours to load, say so with `--allow-host example.com` or with \
             the line `example.com` in allowed-hosts"
        );
        assert!(
            refused(None)
                .contains("the closed model sends as fast as the service responds, which may be more than")
        );
    }

    #[test]
    fn a_file_has_one_entry_a_line() {
        let mut guard = Guard::new("hosts");
        guard.allow_lines("# ours\nexample.com # the shop\n\n  8.8.0.0/16\n").unwrap();
        assert_eq!(guard.allowed.len(), 2);
        let wrong = guard.allow_lines("\nexample.com\nhttp://example.com\n").unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "hosts:3: allowed host `http://example.com` is neither a host name, nor an address, nor a network such \
             as 203.0.113.0/24"
        );
        let missing = std::env::temp_dir().join("headroom-no-such-file");
        assert_eq!(Guard::from_file(&missing).unwrap(), Guard::new(missing));
    }

    #[test]
    fn refuses_entries_that_say_nothing() {
        for entry in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "two words", "*.example.com", "8.8.8.8:80"] {
            assert!(Guard::new("hosts").allow(entry).is_err(), "{entry:?}");
        }
    }

    proptest! {
        #[test]
        fn a_network_holds_exactly_the_addresses_with_its_prefix(network: u32, address: u32, bits in 0u32..=32) {
            let entry = Entry::Network(IpAddr::V4(network.into()), bits);
            let same = (0..bits).all(|bit| (network ^ address) >> (31 - bit) & 1 == 0);
            prop_assert_eq!(entry.contains(IpAddr::V4(address.into())), same);
        }
    }
}
