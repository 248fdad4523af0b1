//! The changes as files: an input for each call, a script that makes the calls, and one that undoes them.

use super::{PatchCall, PatchManifest, PatchOverride, Tune};
use import::aws::patch::{Call, Change, PatchError, calls};
use import::aws::terraform::patch::{Override, overrides};
use std::fmt::Write;

/// The changes in the formats of their objects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patches {
    /// Calls of the AWS CLI.
    pub calls: Vec<PatchCall>,
    /// Override files of Terraform.
    pub overrides: Vec<PatchOverride>,
    /// Manifests of Kubernetes.
    pub manifests: Vec<PatchManifest>,
}

impl Patches {
    /// The patches for changes of objects. The inputs are the names and the texts of the files that the case was imported
    /// from.
    ///
    /// # Errors
    /// All changes without a patch.
    pub fn of(inputs: &[(String, String)], changes: &[Change]) -> Result<Patches, Vec<PatchError>> {
        let of_call = |Call { command, name, input, undo_command, undo, invokes }: Call| PatchCall {
            alarm_actions: invokes.into_iter().map(|place| place + 1).collect(),
            command: command.join(" "),
            name,
            input,
            undo_command: undo_command.join(" "),
            undo,
        };
        let of_override =
            |Override { is_new, module, address, text }| PatchOverride { is_new, module, address, text };
        let is_address = |change: &&Change| matches!(change.origin, import::Origin::Address(_));
        let of_terraform: Vec<Change> = changes.iter().filter(is_address).cloned().collect();
        let files = inputs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let calls = calls(files, changes)?.into_iter().map(of_call).collect();
        let mut found = Vec::new();
        if !of_terraform.is_empty() {
            // A case has one state or plan.
            let (name, text) = inputs.first().map_or(("", ""), |(name, text)| (name, text));
            found = overrides(name, text, &of_terraform)?;
        }
        let overrides = found.into_iter().map(of_override).collect();
        Ok(Patches { calls, overrides, manifests: Vec::new() })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.overrides.is_empty() && self.manifests.is_empty()
    }
}

impl Tune {
    /// The files of the patch: names and texts; `None` without a patch. Overrides are a file for each module, manifests
    /// two for each object. The scripts find the inputs beside themselves and
    /// end at the first call that fails. Undoing begins with the last call.
    pub fn patch_files(&self) -> Option<Vec<(String, String)>> {
        let omitted: Vec<&str> =
            self.notes.iter().filter(|note| note.starts_with(NOT_IN_PATCH)).map(String::as_str).collect();
        let mut files = self.override_files();
        if let Some((_, text)) = files.first_mut() {
            text.insert_str(0, &without(&omitted));
        }
        for PatchManifest { name, text, undo } in self.manifests.iter().flatten() {
            let stem = name.replace(|c: char| !is_plain(c), "-");
            files.push((format!("{stem}.yaml"), without(&omitted) + text));
            files.push((format!("{stem}.undo.yaml"), undo.clone()));
        }
        let calls = match self.patch.as_deref() {
            None | Some([]) => return (!files.is_empty()).then_some(files),
            Some(calls) => calls,
        };
        files.extend(scripts(calls, &omitted));
        Some(files)
    }
}

impl Tune {
    /// A file for each module, named by it, and one more for its new resources.
    fn override_files(&self) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = Vec::new();
        for PatchOverride { is_new, module, text, .. } in self.overrides.iter().flatten() {
            let stem = module.replace(|c: char| !is_plain(c), "-");
            let dot = if stem.is_empty() { "" } else { "." };
            let kind = if *is_new { "headroom_added.tf" } else { "headroom_override.tf" };
            let name = format!("{stem}{dot}{kind}");
            match files.iter_mut().find(|(known, _)| *known == name) {
                Some((_, file)) => file.push_str(&format!("\n{text}")),
                None => files.push((name, text.clone())),
            }
        }
        files
    }
}

/// What is omitted, as comments where the rest is applied, which was not simulated without it.
fn without(omitted: &[&str]) -> String {
    let line = |note: &&str| {
        format!("# {note}. The saving is promised for all changes together: make these by hand first.\n")
    };
    omitted.iter().map(line).collect()
}

/// The input of each call and of its undoing, and the scripts.
fn scripts(calls: &[PatchCall], omitted: &[&str]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let (mut apply, mut undo) = (SCRIPT.to_owned() + &without(omitted), String::new());
    for (number, call) in (1..).zip(calls) {
        let stem = format!("{number:02}-{}", call.name.replace(|c: char| !is_plain(c), "-"));
        let (to, from) = (format!("{stem}.json"), format!("{stem}.undo.json"));
        // Writing to a string cannot fail.
        let line = format!("aws {} --cli-input-json 'file://{to}'", call.command);
        let arns: Vec<String> =
            call.alarm_actions.iter().map(|number| format!(" \"$arn_{number}\"")).collect();
        let _ = match (arns.is_empty(), calls.iter().any(|other| other.alarm_actions.contains(&number))) {
            (false, _) => writeln!(apply, "{line} --alarm-actions{}", arns.concat()),
            (true, true) => {
                writeln!(apply, "arn_{number}=$({line} --query PolicyARN --output text)")
            }
            (true, false) => writeln!(apply, "{line}"),
        };
        undo.insert_str(0, &format!("aws {} --cli-input-json 'file://{from}'\n", call.undo_command));
        files.push((to, format!("{:#}\n", call.input)));
        files.push((from, format!("{:#}\n", call.undo)));
    }
    files.push(("apply.sh".to_owned(), apply));
    files.push(("undo.sh".to_owned(), format!("{SCRIPT}{undo}")));
    files
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// How a note begins that says what a patch leaves out.
pub const NOT_IN_PATCH: &str = "not in the patch";
const SCRIPT: &str = "#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")\"\n";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The ARN of a new policy is what its call prints; alarms are deleted before the policies that they invoke.
    #[test]
    fn an_alarm_gets_the_arns_of_the_policies_that_were_made_before_it() {
        let call = |command: &str, name: &str, undo_command: &str, alarm_actions: &[usize]| PatchCall {
            command: command.to_owned(),
            name: name.to_owned(),
            input: json!({}),
            undo_command: undo_command.to_owned(),
            undo: json!({}),
            alarm_actions: alarm_actions.to_vec(),
        };
        let calls = [
            call("autoscaling put-scaling-policy", "out", "autoscaling delete-policy", &[]),
            call("cloudwatch put-metric-alarm", "high", "cloudwatch delete-alarms", &[1]),
            call("cloudwatch disable-alarm-actions", "old one", "cloudwatch enable-alarm-actions", &[]),
        ];
        let note = "not in the patch, because no object has them: services.web.scaling.schedule";
        let files = scripts(&calls, &[note]);
        let text = |name: &str| files.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str());
        let apply = "arn_1=$(aws autoscaling put-scaling-policy --cli-input-json 'file://01-out.json' --query PolicyARN \
                     --output text)\naws cloudwatch put-metric-alarm --cli-input-json 'file://02-high.json' \
                     --alarm-actions \"$arn_1\"\naws cloudwatch disable-alarm-actions --cli-input-json \
                     'file://03-old-one.json'\n";
        let left_out = "The saving is promised for all changes together: make these by hand first.";
        assert_eq!(text("apply.sh"), Some(format!("{SCRIPT}# {note}. {left_out}\n{apply}").as_str()));
        let undo = "aws cloudwatch enable-alarm-actions --cli-input-json 'file://03-old-one.undo.json'\naws cloudwatch \
                    delete-alarms --cli-input-json 'file://02-high.undo.json'\naws autoscaling delete-policy \
                    --cli-input-json 'file://01-out.undo.json'\n";
        assert_eq!(text("undo.sh"), Some(format!("{SCRIPT}{undo}").as_str()));
    }
}
