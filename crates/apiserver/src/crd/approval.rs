//! API approval annotation, which protected groups of the Kubernetes community require.

use orchestra_cel::FieldError;

use super::definition::Crd;
use orchestra_cel::Url;

/// Error of a definition in a protected group without approval; an update may keep the old value.
pub(super) fn missing(crd: &Crd, old: Option<&Crd>) -> Option<FieldError> {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = &crd.group;
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owner| group == owner || group.strip_suffix(owner).is_some_and(|rest| rest.ends_with('.')));
    let state = Approval::of(crd);
    if !protected || old.is_some_and(|old| Approval::of(old) == state) {
        return None;
    }
    let place = format!("metadata.annotations[{ANNOTATION}]");
    match state {
        Approval::Given | Approval::Bypassed => None,
        Approval::Missing => {
            let detail = format!("protected groups must have approval annotation \"{ANNOTATION}\", {SEE}");
            Some(FieldError::required(place, &detail))
        }
        Approval::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason \
                 starting with \"unapproved\", {SEE}"
            );
            let text = crd.annotations.get(ANNOTATION).map(String::as_str).unwrap_or_default();
            Some(FieldError::invalid_text(place, text, detail))
        }
    }
}

#[derive(PartialEq, Eq)]
enum Approval {
    Given,
    Bypassed,
    Missing,
    Invalid,
}

impl Approval {
    fn of(crd: &Crd) -> Self {
        let text = crd.annotations.get("api-approved.kubernetes.io").map(String::as_str).unwrap_or_default();
        let url = Url::parse(text);
        if text.is_empty() {
            Self::Missing
        } else if text.starts_with("unapproved") {
            Self::Bypassed
        } else if url.is_ok_and(|url| !url.scheme().is_empty() && !url.host().is_empty()) {
            Self::Given
        } else {
            Self::Invalid
        }
    }
}
