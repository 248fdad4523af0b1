//! The rights that a scaler uses, for its messages and as the manifests that grant them.

use scaler::TargetError;
use scaler::settings::Kubernetes;

/// A right on resources of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// The verb.
    pub verb: &'static str,
    /// The API group.
    pub group: String,
    /// The plural name of the resource.
    pub resource: String,
    /// Its subresource; empty for none.
    pub subresource: &'static str,
    /// The name of the object; none: all of them.
    pub name: Option<String>,
}

impl Right {
    /// The resource with its subresource, as rules have it.
    pub fn full_resource(&self) -> String {
        match self.subresource {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }

    /// In words.
    pub fn words(&self, namespace: &str) -> String {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        let name = self.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
        format!(
            "verb `{}` on `{}`{name} (API group {group}) in namespace {namespace}",
            self.verb,
            self.full_resource()
        )
    }
}

/// All rights that are used: those of recommending, and with `apply` those of setting sizes and leading. With `usage` the
/// processor use of pods is read.
pub fn of(target: &Kubernetes, apply: bool, usage: bool) -> Vec<Right> {
    let mut all = vec![scale(target, "get"), autoscalers()];
    if usage {
        all.extend([pods("list"), metrics()]);
    }
    if apply {
        if usage {
            all.push(pods("patch"));
        }
        all.push(scale(target, "update"));
        all.extend(["get", "update", "create"].map(|verb| lease(target, verb)));
    }
    all
}

pub(crate) fn scale(target: &Kubernetes, verb: &'static str) -> Right {
    Right {
        verb,
        group: target.group.clone(),
        resource: target.resource.clone(),
        subresource: "scale",
        name: Some(target.name.clone()),
    }
}

pub(crate) fn autoscalers() -> Right {
    Right {
        verb: "list",
        group: "autoscaling".to_owned(),
        resource: "horizontalpodautoscalers".to_owned(),
        subresource: "",
        name: None,
    }
}

/// A pod's name is not known beforehand.
pub(crate) fn pods(verb: &'static str) -> Right {
    Right { verb, group: String::new(), resource: "pods".to_owned(), subresource: "", name: None }
}

pub(crate) fn metrics() -> Right {
    Right { group: "metrics.k8s.io".to_owned(), ..pods("list") }
}

pub(crate) fn lease(target: &Kubernetes, verb: &'static str) -> Right {
    Right {
        verb,
        group: "coordination.k8s.io".to_owned(),
        resource: "leases".to_owned(),
        subresource: "",
        // A rule cannot name an object that is being created.
        name: (verb != "create").then(|| target.lease.clone()),
    }
}

/// A service account with exactly these rights, as YAML.
///
/// # Errors
/// The namespace is not given: a binding has to name that of its account.
pub fn manifest(target: &Kubernetes, usage: bool) -> Result<String, TargetError> {
    let Some(namespace) = &target.namespace else {
        return Err(TargetError(
            "the binding of the rights names the namespace of its account; add `live.kubernetes.namespace`"
                .to_owned(),
        ));
    };
    let metadata = format!("metadata: {{ name: headroom-scale-{}, namespace: {namespace} }}", target.name);
    let mut rules: Vec<(Right, Vec<&str>)> = Vec::new();
    for right in of(target, true, usage) {
        let same = rules.iter_mut().find(|(other, _)| Right { verb: right.verb, ..other.clone() } == right);
        match same {
            Some((_, verbs)) => verbs.push(right.verb),
            None => rules.push((right.clone(), vec![right.verb])),
        }
    }
    let rules: String = rules
        .iter()
        .map(|(right, verbs)| {
            let names =
                right.name.as_ref().map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
            format!(
                "- {{ apiGroups: ['{}'], resources: [{}], verbs: [{}]{names} }}\n",
                right.group,
                right.full_resource(),
                verbs.join(", ")
            )
        })
        .collect();
    Ok(format!(
        "apiVersion: v1
kind: ServiceAccount
{metadata}
---
# Every account may also discover the API (system:discovery) and ask for its own rights (system:basic-user).
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
{metadata}
rules:
{rules}---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
{metadata}
roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: Role, name: headroom-scale-{name} }}
subjects:
- {{ kind: ServiceAccount, name: headroom-scale-{name}, namespace: {namespace} }}
",
        name = target.name
    ))
}
