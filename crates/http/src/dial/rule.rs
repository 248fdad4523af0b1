//! The rules of `--resolve` and `--connect-to`, in curl's syntax.

use super::ResolveError;
use super::origin::{self, Origin};
use std::net::IpAddr;

/// `HOST:PORT:ADDRESS[,ADDRESS]`: the addresses of a host, instead of asking the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolve {
    /// `None`: any host.
    pub(super) host: Option<String>,
    pub(super) port: u16,
    pub(super) addresses: Vec<IpAddr>,
}

/// `HOST1:PORT1:HOST2:PORT2`: another host and port to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectTo {
    from_host: Option<String>,
    from_port: Option<u16>,
    to_host: Option<String>,
    to_port: Option<u16>,
}

impl Resolve {
    pub(super) fn parse(rule: &str) -> Result<Self, ResolveError> {
        let wrong = |why| ResolveError::Resolve { rule: rule.to_owned(), why };
        if rule.starts_with('-') {
            return Err(wrong("there is nothing to take away"));
        }
        // In curl a plus lets the entry expire; a run keeps it to its end.
        let (host, rest) = field(rule.strip_prefix('+').unwrap_or(rule)).map_err(wrong)?;
        let rest = rest.ok_or_else(|| wrong("it has no port"))?;
        let (port, addresses) = rest.split_once(':').ok_or_else(|| wrong("it has no address"))?;
        let host = if host == "*" { None } else { Some(origin::host(host).map_err(wrong)?) };
        let mut found = Vec::new();
        for address in addresses.split(',') {
            let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
            found.push(bare.parse().map_err(|_| wrong("an address of it is neither IPv4 nor IPv6"))?);
        }
        Ok(Resolve { host, port: origin::port(port).map_err(wrong)?, addresses: found })
    }

    pub(super) fn applies_to(&self, host: &str, port: u16) -> bool {
        self.port == port && self.host.as_deref().is_none_or(|own| own == host)
    }
}

impl ConnectTo {
    pub(super) fn parse(rule: &str) -> Result<Self, ResolveError> {
        let wrong = |why| ResolveError::ConnectTo { rule: rule.to_owned(), why };
        let mut fields = [""; 4];
        let mut rest = Some(rule);
        for place in &mut fields {
            let text = rest.ok_or_else(|| wrong("it has fewer than four fields"))?;
            (*place, rest) = field(text).map_err(wrong)?;
        }
        if rest.is_some() {
            return Err(wrong("it has more than four fields, or an IPv6 address without brackets"));
        }
        let host = |text: &str| (!text.is_empty()).then(|| origin::host(text)).transpose().map_err(wrong);
        let port = |text: &str| (!text.is_empty()).then(|| origin::port(text)).transpose().map_err(wrong);
        Ok(ConnectTo {
            from_host: host(fields[0])?,
            from_port: port(fields[1])?,
            to_host: host(fields[2])?,
            to_port: port(fields[3])?,
        })
    }

    /// The host and port to connect to instead; `None` if the rule does not match the origin.
    pub(super) fn instead_of<'a>(&'a self, origin: &'a Origin) -> Option<(&'a str, u16)> {
        let applies = self.from_host.as_ref().is_none_or(|host| *host == origin.host)
            && self.from_port.is_none_or(|port| port == origin.port);
        applies
            .then(|| (self.to_host.as_deref().unwrap_or(&origin.host), self.to_port.unwrap_or(origin.port)))
    }
}

/// The first field of a rule, which may be an address in brackets, and the text after its colon.
fn field(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    let from =
        if text.starts_with('[') { text.find(']').ok_or("its address has no closing bracket")? } else { 0 };
    match text[from..].find(':') {
        Some(colon) => Ok((&text[..from + colon], Some(&text[from + colon + 1..]))),
        None => Ok((text, None)),
    }
}
