//! `headroom agent`: examinations of services on this machine, for those who ask from elsewhere.

use crate::exit::Exit;
use crate::live::Interrupts;
use crate::output;
use ::agent::{Agent, AgentError};
use listener::Address;
use std::path::PathBuf;

/// Serve what headroom doctor sees, read-only, for other machines to ask through an ssh tunnel
///
/// GET /doctor?pid=4711&seconds=10 answers with the JSON of headroom doctor after that time (2 to 60 s, 10 by default);
/// /doctor?cgroup=DIR examines a control group. At most four examinations run at a time. Nothing can be changed through it.
///
/// A socket in the file system is for its owner only; over loopback, a token is needed. Addresses that other machines reach are
/// refused. It runs until Ctrl-C or SIGTERM.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Address to listen on: unix:PATH, or a port of loopback such as 127.0.0.1:9903
    #[arg(long, value_name = "ADDRESS")]
    listen: Address,

    /// File with the token that clients send as a bearer token; needed over loopback
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Exit {
    let interrupts = match Interrupts::listen() {
        Ok(interrupts) => interrupts,
        Err(error) => return output::complain(&error, Exit::Failed),
    };
    let agent = match Agent::listen(&args.listen, args.token_file.as_deref()) {
        Ok(agent) => agent,
        Err(error @ AgentError::Listen { .. }) => return output::complain(&error, Exit::Failed),
        Err(error) => return output::complain(&error, Exit::Usage),
    };
    output::tell(&format!("agent: listening on {}", agent.address()));
    match agent.serve(move || interrupts.came()) {
        Ok(()) => Exit::Done,
        Err(error) => output::complain(&error, Exit::Failed),
    }
}

const EXAMPLES: &str = "\
Examples:
  For the user's own programs, and through ssh for those of other machines:
      headroom agent --listen unix:/run/user/1000/headroom-agent.sock
      ssh -L 9903:/run/user/1000/headroom-agent.sock server
      curl 'http://127.0.0.1:9903/doctor?pid=4711'
  Over loopback, with a token:
      headroom agent --listen 127.0.0.1:9903 --token-file token
      curl --oauth2-bearer $(cat token) 'http://127.0.0.1:9903/doctor?pid=4711'

Exit codes:
  0   it was stopped
  1   the address cannot be used
  2   wrong usage: an address that others reach, or no token";
