//! `headroom man`: the help texts as man pages, one file for each command.
//!
//! The pages come from the arguments as they are declared, without the abridgements of `-h`. clap_mangen would fill
//! examples like prose, so that section is written here, line for line.

use crate::Args as CommandLine;
use crate::exit::Exit;
use crate::output;
use crate::output_file::{self, WriteError};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Write man pages, one for each command
///
/// The page of `headroom load` is headroom-load.1, and `man headroom-load` shows it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Directory, which is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes them.
pub fn run(args: &Args) -> Exit {
    match write(&args.directory) {
        Ok(written) => {
            let directory = args.directory.display();
            output::print(&format!("{written} man pages written to {directory}\n"))
        }
        Err(error) => output::complain(&error, Exit::Failed),
    }
}

/// Writes the pages of all commands and returns their number.
fn write(directory: &Path) -> Result<usize, WriteError> {
    fs::create_dir_all(directory).map_err(|source| WriteError { path: directory.to_owned(), source })?;
    let pages = pages();
    for (name, page) in &pages {
        output_file::write(&directory.join(name), |out| out.write_all(page))?;
    }
    Ok(pages.len())
}

/// File names and texts.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut command = CommandLine::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(command, &mut pages);
    pages
}

/// Adds the page of a command and those of its subcommands.
fn add(command: Command, pages: &mut Vec<(String, Vec<u8>)>) {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        add(command.clone(), pages);
    }
    let man = Man::new(command.clone()).source(SOURCE).manual("headroom manual");
    let mut page = Vec::new();
    render(&man, &command, &mut page).expect("a vector takes all bytes");
    pages.push((man.get_filename(), page));
}

fn render(man: &Man, command: &Command, page: &mut dyn Write) -> io::Result<()> {
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(page)?;
    }
    let examples = command.get_after_long_help().or_else(|| command.get_after_help());
    examples.map_or(Ok(()), |text| as_typed(&text.to_string()).to_writer(page))
}

/// The text after the options. A paragraph may begin with a heading, which is a line that ends with a colon.
fn as_typed(text: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let lines = match first.strip_suffix(':') {
            Some(heading) => {
                roff.control("SH", [heading.to_uppercase().as_str()]);
                rest
            }
            None => {
                roff.control("PP", []);
                paragraph
            }
        };
        roff.control("nf", []);
        lines.lines().for_each(|line| {
            roff.text([roman(line)]);
        });
        roff.control("fi", []);
    }
    roff
}

/// The program with its version, which stands in the footer of a page.
const SOURCE: &str = concat!("headroom ", env!("CARGO_PKG_VERSION"));

const EXAMPLES: &str = "\
Examples:
  headroom man ~/.local/share/man/man1
  headroom man \"$DESTDIR/usr/share/man/man1\"";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The names of a command and of all below it.
    fn names(command: &Command, path: &str, all: &mut BTreeSet<String>) {
        let path = format!("{path}{}", command.get_name());
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            names(below, &format!("{path}-"), all);
        }
        all.insert(format!("{path}.1"));
    }

    #[test]
    fn every_command_has_a_page_with_all_its_options() {
        let mut expected = BTreeSet::new();
        names(&CommandLine::command(), "", &mut expected);
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(write(directory.path()).unwrap(), expected.len());
        let written = fs::read_dir(directory.path()).unwrap();
        let written = written.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(expected, written);
    }

    #[test]
    fn a_page_explains_rare_options_too() {
        let pages = pages();
        let (_, page) = pages.iter().find(|(name, _)| name == "headroom-load.1").unwrap();
        let page = String::from_utf8_lossy(page).replace("\\-", "-");
        let command = CommandLine::command();
        let load = command.find_subcommand("load").unwrap();
        for option in load.get_arguments().filter(|option| !option.is_hide_set()) {
            let help = option.get_help().unwrap().to_string();
            let name = option.get_long().map_or_else(String::new, |long| format!("--{long}"));
            assert!(
                page.contains(&name) && page.contains(help.split('\'').next().unwrap()),
                "{name}: {help}"
            );
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let text =
            "Examples:\n  As fast:\n      headroom load URL \\\n          -r 5/s\n\nExit codes:\n  0   done";
        insta::assert_snapshot!(as_typed(text).to_roff());
    }
}
