//! Where a setting of a case file came from: an object of AWS, or a resource of Terraform.
//!
//! Names in case files are shortened and may be changed. The origin identifies the object itself, so that a change of a
//! setting can be carried back to it.
//!
//! Formats: "Amazon Resource Names (ARNs)" in the AWS IAM User Guide, and "Resource Addressing" in the documentation of
//! the Terraform CLI.

use std::fmt;
use std::str::FromStr;

/// The object of a vendor that a setting was read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The ARN of an object of AWS: `arn:aws:cloudwatch:eu-west-1:123456789012:alarm:cpu-high`.
    Arn(String),
    /// The address of a resource of Terraform or OpenTofu: `module.web.aws_appautoscaling_policy.out[0]`.
    Address(String),
}

/// Text that is neither an ARN nor the address of a resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither an ARN nor the address of a resource")]
pub struct OriginError(String);

impl Origin {
    /// The Auto Scaling group (its name) or the ECS service (`cluster/service`) that an ARN contains. The ARNs of groups
    /// and of scaling policies and scheduled actions contain one, those of alarms and of scalable targets do not.
    pub fn group(&self) -> Option<&str> {
        let Origin::Arn(arn) = self else { return None };
        let after = |mark: &str| arn.split_once(mark).map(|(_, rest)| rest.split(':').next().unwrap_or(rest));
        after(":autoScalingGroupName/").or_else(|| after(":resource/ecs/service/"))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Origin::Arn(text) | Origin::Address(text)) = self;
        f.write_str(text)
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Origin, OriginError> {
        if text.starts_with("arn:") {
            if is_arn(text) {
                return Ok(Origin::Arn(text.to_owned()));
            }
        } else if is_address(text) {
            return Ok(Origin::Address(text.to_owned()));
        }
        Err(OriginError(text.to_owned()))
    }
}

/// `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`; region and account may be empty.
fn is_arn(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let [_, partition, service, region, account, resource] = parts[..] else { return false };
    let word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let named = !partition.is_empty() && !service.is_empty() && !resource.is_empty();
    let account_known =
        account.is_empty() || (account.len() == 12 && account.bytes().all(|b| b.is_ascii_digit()));
    named
        && account_known
        && [partition, service, region].into_iter().all(word)
        && !resource.chars().any(char::is_control)
}

/// `module.NAME[INDEX].` any number of times, then `TYPE.NAME[INDEX]`.
fn is_address(text: &str) -> bool {
    let mut rest = text;
    while let Some(module) = rest.strip_prefix("module.") {
        let Some(after) = step(module).and_then(|after| after.strip_prefix('.')) else { return false };
        rest = after;
    }
    let kind = name(rest).and_then(|after| after.strip_prefix('.'));
    kind.and_then(step) == Some("")
}

/// What follows a name with or without an index.
fn step(text: &str) -> Option<&str> {
    let after = name(text)?;
    let Some(index) = after.strip_prefix('[') else { return Some(after) };
    let Some(key) = index.strip_prefix('"') else {
        let digits = index.bytes().take_while(u8::is_ascii_digit).count();
        return index[digits..].strip_prefix(']').filter(|_| digits > 0);
    };
    let mut escaped = false;
    let end = key.char_indices().find(|(_, found)| {
        let ends = *found == '"' && !escaped;
        escaped = *found == '\\' && !escaped;
        ends || found.is_control()
    });
    end.and_then(|(at, _)| key[at..].strip_prefix("\"]"))
}

/// What follows a name.
fn name(text: &str) -> Option<&str> {
    let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(text.len());
    begins.then_some(&text[end..])
}

#[cfg(test)]
mod tests {
    use super::Origin;

    #[test]
    fn arns_and_addresses_are_read_and_written_back() {
        for text in [
            "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:cpu high: 60",
            "arn:aws-us-gov:autoscaling:us-gov-west-1:123456789012:scalingPolicy:6d8972f3:resource/ecs/service/a/b:\
             policyName/up",
        ] {
            let origin: Origin = text.parse().unwrap();
            assert!(matches!(origin, Origin::Arn(_)));
            assert_eq!(origin.to_string(), text);
        }
        for text in [
            "aws_appautoscaling_policy.out",
            "aws_autoscaling_policy.out[0]",
            "module.web.aws_appautoscaling_policy.out[0]",
            "module.a[1].module.b[\"x.y[\\\"z\\\"]\"].aws_cloudwatch_metric_alarm.cpu-high[\"a b\"]",
        ] {
            let origin: Origin = text.parse().unwrap();
            assert!(matches!(origin, Origin::Address(_)));
            assert_eq!(origin.to_string(), text);
        }
    }

    #[test]
    fn arns_contain_the_group_that_they_belong_to() {
        for (text, want) in [
            (
                "arn:aws:autoscaling:us-east-1:123456789012:scalingPolicy:6d8972f3:resource/ecs/service/shop/web:\
                 policyName/up",
                Some("shop/web"),
            ),
            (
                "arn:aws:autoscaling:us-east-1:123456789012:scalingPolicy:6d8972f3:autoScalingGroupName/web-asg:\
                 policyName/up",
                Some("web-asg"),
            ),
            (
                "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:6d8972f3:autoScalingGroupName/web-asg",
                Some("web-asg"),
            ),
            ("arn:aws:cloudwatch:eu-west-1:123456789012:alarm:cpu-high", None),
            ("module.web.aws_appautoscaling_policy.out[0]", None),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().group(), want, "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "arn:",
            "arn:aws:cloudwatch",
            "arn:aws:cloudwatch:eu-west-1:123:alarm:x",
            "arn:aws:cloudwatch:eu-west-1:123456789012:",
            "arn::cloudwatch:eu-west-1:123456789012:alarm:x",
            "somewhere",
            "module.web",
            "module.aws_x.",
            "aws_x.out[",
            "aws_x.out[]",
            "aws_x.out[0",
            "aws_x.out[0]x",
            "aws_x.out.id",
            "aws_x.out[\"a]",
            "aws_x.9out",
            "aws x.out",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }
}
