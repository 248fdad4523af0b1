//! The addresses of an origin.

use super::rule::{ConnectTo, Resolve};
use super::{Address, Origin, ResolveError};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Finds the addresses of origins: by rules first, then by the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolver {
    resolve: Vec<Resolve>,
    connect_to: Vec<ConnectTo>,
    unix_socket: Option<PathBuf>,
}

impl Resolver {
    /// A resolver with curl's rules: those of `--resolve` (of two for one host the later one applies, and one for a
    /// host before one for `*`), those of `--connect-to` (the first that matches applies), and `--unix-socket`, which
    /// applies to all connections.
    ///
    /// # Errors
    /// The invalid rule, what is wrong with it and how to write it.
    pub fn new<S: AsRef<str>>(
        resolve: &[S],
        connect_to: &[S],
        unix_socket: Option<PathBuf>,
    ) -> Result<Self, ResolveError> {
        if let Some(path) = &unix_socket {
            let found = path.as_os_str().as_bytes().len();
            if found == 0 || found > UNIX_PATH_BYTES {
                let path = path.clone();
                return Err(ResolveError::UnixSocket { path, found, bound: UNIX_PATH_BYTES });
            }
        }
        Ok(Resolver {
            resolve: resolve.iter().map(|rule| Resolve::parse(rule.as_ref())).collect::<Result<_, _>>()?,
            connect_to: connect_to
                .iter()
                .map(|rule| ConnectTo::parse(rule.as_ref()))
                .collect::<Result<_, _>>()?,
            unix_socket,
        })
    }

    /// The addresses of an origin in the order in which to try them, at least one. Asks the system if no rule matches
    /// and the host is not an address, which takes from microseconds to many seconds.
    ///
    /// # Errors
    /// The system finds no address.
    pub fn addresses(&self, origin: &Origin) -> Result<Vec<Address>, ResolveError> {
        if let Some(known) = self.known(origin) {
            return Ok(known);
        }
        let (host, port) = self.destination(origin);
        let found: Vec<Address> = (host, port)
            .to_socket_addrs()
            .map_err(|source| ResolveError::Unknown { host: host.to_owned(), source })?
            .map(Address::Tcp)
            .collect();
        if found.is_empty() { Err(ResolveError::NoAddress { host: host.to_owned() }) } else { Ok(found) }
    }

    /// The addresses of an origin, if they are known without the system.
    pub fn known(&self, origin: &Origin) -> Option<Vec<Address>> {
        if let Some(path) = &self.unix_socket {
            return Some(vec![Address::Unix(path.clone())]);
        }
        let (host, port) = self.destination(origin);
        let applying = || self.resolve.iter().rev().filter(|rule| rule.applies_to(host, port));
        if let Some(rule) = applying().find(|rule| rule.host.is_some()).or_else(|| applying().next()) {
            let address = |&ip: &IpAddr| Address::Tcp(SocketAddr::new(ip, port));
            return Some(rule.addresses.iter().map(address).collect());
        }
        let ip: IpAddr = host.parse().ok()?;
        Some(vec![Address::Tcp(SocketAddr::new(ip, port))])
    }

    fn destination<'a>(&'a self, origin: &'a Origin) -> (&'a str, u16) {
        self.connect_to.iter().find_map(|rule| rule.instead_of(origin)).unwrap_or((&origin.host, origin.port))
    }
}

/// The longest path that fits in a unix socket's address, with its terminating zero (unix(7)).
const UNIX_PATH_BYTES: usize = 107;

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(resolve: &[&str], connect_to: &[&str], url: &str) -> String {
        let resolver = Resolver::new(resolve, connect_to, None).unwrap();
        let (origin, _) = Origin::of_url(url).unwrap();
        let known = resolver.known(&origin);
        known.map_or("ask".to_owned(), |known| {
            known.iter().map(Address::to_string).collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn rules_are_read_as_curl_reads_them() {
        for (resolve, connect_to, url, expected) in [
            // Without rules.
            (&[][..], &[][..], "http://a/", "ask"),
            (&[], &[], "http://10.0.0.1/", "10.0.0.1:80"),
            (&[], &[], "https://[::1]/", "[::1]:443"),
            // --resolve
            (&["a:80:10.0.0.1"], &[], "http://A/", "10.0.0.1:80"),
            (&["A:80:10.0.0.1"], &[], "http://a:81/", "ask"),
            (&["a:80:10.0.0.1"], &[], "http://b/", "ask"),
            (&["+a:80:10.0.0.1,10.0.0.2"], &[], "http://a/", "10.0.0.1:80 10.0.0.2:80"),
            (&["a:80:[::1],::2,10.0.0.1"], &[], "http://a/", "[::1]:80 [::2]:80 10.0.0.1:80"),
            (&["*:443:10.0.0.1"], &[], "https://any.example/", "10.0.0.1:443"),
            (&["[::1]:80:10.0.0.1"], &[], "http://[::1]/", "10.0.0.1:80"),
            (&["a:80:10.0.0.1", "a:80:10.0.0.2"], &[], "http://a/", "10.0.0.2:80"),
            (&["a:80:10.0.0.1", "*:80:10.0.0.2"], &[], "http://a/", "10.0.0.1:80"),
            // --connect-to
            (&[], &["a:80:10.0.0.1:8080"], "http://a/", "10.0.0.1:8080"),
            (&[], &["a:80:10.0.0.1:8080"], "http://a:81/", "ask"),
            (&[], &["::10.0.0.1:"], "http://a:81/", "10.0.0.1:81"),
            (&[], &["a::[::1]:"], "https://a/", "[::1]:443"),
            (&[], &["[::1]:80:10.0.0.1:1"], "http://[::1]/", "10.0.0.1:1"),
            (&[], &["10.0.0.1:::8080"], "http://10.0.0.1/", "10.0.0.1:8080"),
            (&[], &["a:80:10.0.0.1:1", "a:80:10.0.0.2:2"], "http://a/", "10.0.0.1:1"),
            // The target of --connect-to is looked up with --resolve.
            (&["b:81:10.0.0.1"], &["a:80:b:81"], "http://a/", "10.0.0.1:81"),
            (&["a:80:10.0.0.1"], &["a:80:b:81"], "http://a/", "ask"),
        ] {
            assert_eq!(addresses(resolve, connect_to, url), expected, "{resolve:?} {connect_to:?} {url}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_refused_with_the_reason() {
        for (rule, why) in [
            ("", "it has no port"),
            ("a", "it has no port"),
            ("a:80", "it has no address"),
            ("a:80:", "an address of it is neither IPv4 nor IPv6"),
            ("a:80:b", "an address of it is neither IPv4 nor IPv6"),
            ("a:80:10.0.0.1,", "an address of it is neither IPv4 nor IPv6"),
            ("a:80:10.0.0.1:81", "an address of it is neither IPv4 nor IPv6"),
            (":80:10.0.0.1", "it has no host"),
            ("a b:80:10.0.0.1", "its host contains something other than letters"),
            ("a:0:10.0.0.1", "its port is no number from 1 to 65535"),
            ("a:*:10.0.0.1", "its port is no number from 1 to 65535"),
            ("[::1:80:10.0.0.1", "its address has no closing bracket"),
            ("[x]:80:10.0.0.1", "what stands in brackets is no IPv6 address"),
            ("-a:80", "there is nothing to take away"),
        ] {
            let error = Resolver::new(&[rule], &[], None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--resolve `{rule}`: {why}")), "{error}");
        }
        for (rule, why) in [
            ("", "it has fewer than four fields"),
            ("a:80:b", "it has fewer than four fields"),
            ("a:80:b:81:", "it has more than four fields, or an IPv6 address without brackets"),
            ("a:80:::1:81", "it has more than four fields, or an IPv6 address without brackets"),
            ("a:x:b:81", "its port is no number from 1 to 65535"),
            ("a:80:b:0", "its port is no number from 1 to 65535"),
            ("a:80:b/c:81", "its host contains something other than letters"),
            ("a:80:[::1:81", "its address has no closing bracket"),
        ] {
            let error = Resolver::new(&[], &[rule], None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--connect-to `{rule}`: {why}")), "{error}");
        }
        for length in [0, 108] {
            let path = PathBuf::from("s".repeat(length));
            let error = Resolver::new::<&str>(&[], &[], Some(path)).unwrap_err().to_string();
            assert!(error.ends_with(&format!("a path of {length} bytes, expected 1 to 107")), "{error}");
        }
    }

    #[test]
    fn everything_connects_to_the_unix_socket() {
        let path = PathBuf::from("/run/service.sock");
        let resolver = Resolver::new(&["a:80:10.0.0.1"], &[], Some(path.clone())).unwrap();
        let (origin, _) = Origin::of_url("http://a/").unwrap();
        let found = resolver.addresses(&origin).unwrap();
        assert_eq!(found, [Address::Unix(path)]);
        assert!(found[0].is_loopback());
        assert_eq!(found[0].to_string(), "unix:/run/service.sock");
    }

    #[test]
    fn the_system_is_asked_for_the_rest() {
        let resolver = Resolver::default();
        let (origin, _) = Origin::of_url("http://localhost:81/").unwrap();
        let found = resolver.addresses(&origin).unwrap();
        assert!(!found.is_empty() && found.iter().all(Address::is_loopback), "{found:?}");
        // RFC 6761, 6.4: a name that never exists.
        let (origin, _) = Origin::of_url("http://nowhere.invalid/").unwrap();
        let error = resolver.addresses(&origin).unwrap_err();
        assert!(matches!(error, ResolveError::Unknown { .. }), "{error}");
        assert!(error.to_string().contains("`nowhere.invalid`"), "{error}");
    }
}
