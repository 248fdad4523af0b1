//! The admin listener: its address, and who has access.

use super::same;
use crate::file::{File, FileAdmin};
use fields::{Place, Problem, Report, Source, Warning};
use gateway::settings::{Admin, AdminAddress, Settings};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The admin listener, unless there are problems. Paths are relative to `base`.
pub(super) fn admin(file: &File, report: &mut Report, base: &Path) -> Option<Admin> {
    let at = file.admin.as_ref()?;
    let (text, place, token_file) = match &at.value {
        FileAdmin::Address(text) => (text.as_str(), &at.place, None),
        FileAdmin::Table(table) => {
            (table.listen.value.0.as_str(), &table.listen.place, table.token_file.as_ref())
        }
    };
    let mut listen = address(text, place, report)?;
    if let AdminAddress::Unix(path) = &mut listen {
        *path = base.join(&*path);
        if path.as_os_str().len() > SOCKET_PATH_MAX {
            let message = format!("{} bytes are too many for the path of a socket", path.as_os_str().len());
            let help = format!(
                "{SOCKET_PATH_MAX} are allowed, with the directory of this file: choose a shorter one"
            );
            report.wrong(place, message, "too long", help);
        }
    }
    if let Some(token) = token_file.filter(|token| token.value.0.is_empty()) {
        let help = "create one with `openssl rand -hex 32 > admin.token`".to_owned();
        report.wrong(&token.place, "the file name is missing".to_owned(), "empty", help);
    }
    let admin = Admin { listen, token_file: token_file.map(|at| base.join(&at.value.0)) };
    if admin.is_public() && admin.token_file.is_none() {
        report.wrong(
            place,
            format!(
                "`{}` is not a loopback address, and everybody who can reach it can drain the gateway",
                admin.listen
            ),
            "reachable from outside",
            "use 127.0.0.1, [::1] or unix:PATH, or `{ listen: …, token_file: FILE }`".to_owned(),
        );
    }
    if let (AdminAddress::Tcp(admin), Some(listen)) = (&admin.listen, &file.listen.0)
        && same(listen.value.0, *admin)
    {
        let message = format!("`{admin}` is also the address of `listen`");
        report.wrong(place, message, "the same address", "change the port of `admin`".to_owned());
    }
    Some(admin)
}

/// A warning if other users of this machine can read the token. Kubernetes mounts secrets like that, so it is not an
/// error.
pub(super) fn warning(file: &File, settings: &Settings, source: &Source) -> Option<Warning> {
    let FileAdmin::Table(table) = &file.admin.as_ref()?.value else { return None };
    let token = settings.admin.as_ref()?.token_file.as_ref()?;
    // If it cannot be inspected, the error is reported when it is read.
    let mode = std::fs::metadata(token).ok()?.permissions().mode();
    (mode & OTHERS_READ != 0).then(|| {
        let message = format!("every user of this machine can read {}", token.display());
        let place = &table.token_file.as_ref().unwrap_or(&table.listen).place;
        Problem::warning(source, place, message)
            .label("readable by others")
            .help("`chmod 600` it; for a Kubernetes secret set `defaultMode: 0400`")
    })
}

/// The bit of a file's mode that allows everybody to read it.
const OTHERS_READ: u32 = 0o004;

pub(crate) fn address(text: &str, place: &Place, report: &mut Report) -> Option<AdminAddress> {
    match text.parse() {
        Ok(AdminAddress::Tcp(address)) if address.port() == 0 => {}
        Ok(address) => return Some(address),
        Err(_) => {}
    }
    report.wrong(
        place,
        format!("expected an IP address and a port from 1 to 65535, or unix: and a path, found `{text}`"),
        "this value",
        "write `127.0.0.1:9901`, or `unix:/run/headroom.sock` (no host names)".to_owned(),
    );
    None
}

/// The limit of Linux, minus the temporary suffix under which the socket is created.
const SOCKET_PATH_MAX: usize = 96;
