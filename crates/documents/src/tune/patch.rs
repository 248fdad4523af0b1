//! The changes as files: an input for each call, a script that makes the calls, and one that undoes them.

use super::{PatchCall, Tune};
use import::aws::patch::{Call, Change, PatchError, calls};
use std::fmt::Write;

impl PatchCall {
    /// The calls for changes of objects. The inputs are the names and the texts of the files that the case was imported
    /// from.
    ///
    /// # Errors
    /// All changes without a call.
    pub fn of(inputs: &[(String, String)], changes: &[Change]) -> Result<Vec<PatchCall>, Vec<PatchError>> {
        let files = inputs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let of_call = |Call { command, name, input, undo_command, undo }: Call| PatchCall {
            command: command.join(" "),
            name,
            input,
            undo_command: undo_command.join(" "),
            undo,
        };
        calls(files, changes).map(|found| found.into_iter().map(of_call).collect())
    }
}

impl Tune {
    /// The files of the patch: names and texts; `None` without a patch. The scripts find the inputs beside themselves and
    /// end at the first call that fails. Undoing begins with the last call.
    pub fn patch_files(&self) -> Option<Vec<(String, String)>> {
        let calls = self.patch.as_ref()?;
        let mut files = Vec::new();
        let (mut apply, mut undo) = (SCRIPT.to_owned(), String::new());
        for (number, call) in (1..).zip(calls) {
            let stem = format!("{number:02}-{}", call.name.replace(|c: char| !is_plain(c), "-"));
            let (to, from) = (format!("{stem}.json"), format!("{stem}.undo.json"));
            // Writing to a string cannot fail.
            let _ = writeln!(apply, "aws {} --cli-input-json 'file://{to}'", call.command);
            undo.insert_str(0, &format!("aws {} --cli-input-json 'file://{from}'\n", call.undo_command));
            files.push((to, format!("{:#}\n", call.input)));
            files.push((from, format!("{:#}\n", call.undo)));
        }
        files.push(("apply.sh".to_owned(), apply));
        files.push(("undo.sh".to_owned(), format!("{SCRIPT}{undo}")));
        Some(files)
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

const SCRIPT: &str = "#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")\"\n";
