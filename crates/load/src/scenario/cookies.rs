//! The cookies of one user: the core of RFC 6265.
//!
//! ## Why not a crate
//! The maintained ones read the clock. Here time is an argument, so that a run can be repeated, and a user's jar is
//! bounded in count and size, because there may be fifty thousand users and a server that sets many cookies.
//!
//! ## Why `Expires` counts from the response's `Date`
//! A run has no calendar. The difference of the two dates is the age that the server meant, whatever our clock shows.
//! Without `Date`, only a date long ago has an effect: that is how cookies are deleted.
//!
//! Left out: the public suffix list (a domain attribute needs a dot instead) and what browsers add for pages.

use super::date::unix_seconds;
use super::url::Origin;
use std::time::Duration;
use units::Timestamp;

/// RFC 6265, 6.1 asks for 50 a domain and 4096 bytes each.
const COOKIES_MAX: usize = 50;
const COOKIE_BYTES_MAX: usize = 4096;
/// 1 January 2000: an `Expires` before it deletes.
const LONG_AGO: i64 = 946_684_800;

#[derive(Debug, Clone)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    domain: String,
    /// Whether it is sent only to the host that set it.
    host_only: bool,
    path: String,
    secure: bool,
    expires: Timestamp,
}

/// The cookies of one user, the oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jar(Vec<Cookie>);

impl Jar {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes the value of one `Set-Cookie` from `path` of `origin`; `date` is the response's `Date`, if it has one.
    pub(crate) fn set(
        &mut self,
        now: Timestamp,
        origin: &Origin,
        path: &str,
        line: &[u8],
        date: Option<&[u8]>,
    ) {
        let Some(cookie) = parsed(now, origin, path, line, date) else { return };
        let same =
            |old: &Cookie| old.name == cookie.name && old.domain == cookie.domain && old.path == cookie.path;
        let place = self.0.iter().position(same);
        if cookie.expires <= now {
            place.map(|place| self.0.remove(place));
            return;
        }
        if let Some(place) = place {
            self.0[place] = cookie;
            return;
        }
        if self.0.len() >= COOKIES_MAX {
            self.0.retain(|old| old.expires > now);
        }
        if self.0.len() >= COOKIES_MAX {
            self.0.remove(0);
        }
        self.0.push(cookie);
    }

    /// Writes the line `Cookie: a=b; c=d` for a request, or nothing.
    pub(crate) fn write(&self, now: Timestamp, origin: &Origin, path: &str, out: &mut Vec<u8>) {
        let path = path.split('?').next().unwrap_or_default();
        let sent = |cookie: &&Cookie| {
            let host = origin.host();
            let domain_matches = cookie.domain == host || !cookie.host_only && is_below(host, &cookie.domain);
            domain_matches
                && path_matches(path, &cookie.path)
                && (origin.secure || !cookie.secure)
                && cookie.expires > now
        };
        let mut cookies: Vec<&Cookie> = self.0.iter().filter(sent).collect();
        // Longer paths first; the sort is stable, so that older ones come first among equals (RFC 6265, 5.4).
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        for (index, cookie) in cookies.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"Cookie: " } else { b"; " });
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
        }
        if !cookies.is_empty() {
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn parsed(now: Timestamp, origin: &Origin, path: &str, line: &[u8], date: Option<&[u8]>) -> Option<Cookie> {
    if line.len() > COOKIE_BYTES_MAX || line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return None;
    }
    let mut parts = line.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let (name, value) = pair(parts.next()?)?;
    if name.is_empty() {
        return None;
    }
    let mut cookie = Cookie {
        name: name.to_vec(),
        value: value.to_vec(),
        domain: origin.host().to_owned(),
        host_only: true,
        path: default_path(path).to_owned(),
        secure: false,
        expires: Timestamp::NEVER,
    };
    let (mut max_age, mut expires) = (None, None);
    for part in parts {
        let (key, value) = pair(part).unwrap_or((part, b""));
        match key.to_ascii_lowercase().as_slice() {
            b"max-age" => max_age = age(value).or(max_age),
            b"expires" => expires = unix_seconds(value).or(expires),
            b"secure" => cookie.secure = true,
            b"path" if value.starts_with(b"/") => cookie.path = String::from_utf8(value.to_vec()).ok()?,
            b"path" => cookie.path = default_path(path).to_owned(),
            b"domain" if !value.is_empty() => {
                let domain = std::str::from_utf8(value.strip_prefix(b".").unwrap_or(value)).ok()?;
                cookie.domain = domain.to_ascii_lowercase();
                cookie.host_only = false;
            }
            _ => {}
        }
    }
    // A domain without a dot, such as `com`, belongs to no single site.
    let above = cookie.domain.contains('.') && is_below(origin.host(), &cookie.domain);
    if cookie.domain != origin.host() && !above {
        return None;
    }
    let seconds = max_age.or_else(|| {
        let expires = expires?;
        match date.and_then(unix_seconds) {
            Some(date) => Some(expires.saturating_sub(date)),
            None => (expires < LONG_AGO).then_some(0),
        }
    });
    if let Some(seconds) = seconds {
        cookie.expires = u64::try_from(seconds).map_or(now, |seconds| now + Duration::from_secs(seconds));
    }
    Some(cookie)
}

fn pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = part.iter().position(|&byte| byte == b'=')?;
    Some((part[..at].trim_ascii(), part[at + 1..].trim_ascii()))
}

/// Seconds to live; any negative number is in the past.
fn age(value: &[u8]) -> Option<i64> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if digits.len() < value.len() {
        return Some(0);
    }
    Some(std::str::from_utf8(digits).ok()?.parse().unwrap_or(i64::MAX))
}

/// Whether a host is a subdomain; an IP address has no parent domain.
fn is_below(host: &str, domain: &str) -> bool {
    let named = host.parse::<std::net::IpAddr>().is_err();
    named && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// The folder of a path (RFC 6265, 5.1.4).
fn default_path(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(slash) => &path[..slash],
    }
}

fn path_matches(path: &str, cookie: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
