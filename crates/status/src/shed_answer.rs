//! The response to a shed request.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The response to a shed request: in the document `problem`, `page TYPE` or `redirect ADDRESS`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum ShedAnswer {
    /// 503 with problem details.
    #[default]
    Problem,
    /// 503 with the operator's own page.
    Page {
        /// Its media type.
        content_type: String,
    },
    /// 302.
    Redirect {
        /// The location.
        location: String,
    },
}

impl fmt::Display for ShedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShedAnswer::Problem => f.write_str("problem"),
            ShedAnswer::Page { content_type } => write!(f, "page {content_type}"),
            ShedAnswer::Redirect { location } => write!(f, "redirect {location}"),
        }
    }
}

impl From<ShedAnswer> for String {
    fn from(answer: ShedAnswer) -> Self {
        answer.to_string()
    }
}

impl From<String> for ShedAnswer {
    /// An unknown text counts as problem details, which every version supports.
    fn from(text: String) -> Self {
        match text.split_once(' ') {
            Some(("page", content_type)) => ShedAnswer::Page { content_type: content_type.to_owned() },
            Some(("redirect", location)) => ShedAnswer::Redirect { location: location.to_owned() },
            _ => ShedAnswer::Problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_reads_back() {
        let content_type = "text/html; charset=utf-8".to_owned();
        for (answer, text) in [
            (ShedAnswer::Problem, r#""problem""#),
            (ShedAnswer::Page { content_type }, r#""page text/html; charset=utf-8""#),
            (ShedAnswer::Redirect { location: "/sorry".to_owned() }, r#""redirect /sorry""#),
        ] {
            assert_eq!(serde_json::to_string(&answer).unwrap(), text);
            assert_eq!(serde_json::from_str::<ShedAnswer>(text).unwrap(), answer);
        }
        assert_eq!(ShedAnswer::from("later 1".to_owned()), ShedAnswer::Problem);
    }
}
