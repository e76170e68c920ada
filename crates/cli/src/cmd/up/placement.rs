//! Reasons for a placement.

use orchestra_core::place::{self, Conclusion};

/// Reasons for a placement in the JSON of `explain`, one per line. The backend in force is known from the status, so that
/// only the choice of another one is worth a line.
pub(super) fn reasons(explained: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Explained {
        explanation: Decided,
    }
    #[derive(serde::Deserialize)]
    struct Decided {
        placement: Option<place::Explanation>,
    }
    let explained: Option<Explained> = serde_json::from_str(explained).ok();
    let Some(placement) = explained.and_then(|explained| explained.explanation.placement) else {
        return Vec::new();
    };
    match &placement.conclusion {
        Conclusion::Refused(_) => Vec::new(),
        Conclusion::Stays(_) | Conclusion::Kept { .. } => placement.considered().collect(),
        chosen @ Conclusion::Chosen { .. } => placement.considered().chain([chosen.to_string()]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use orchestra_api::Placement;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reasons_of_a_placement_come_from_the_fields_of_explain() {
        let lines = |conclusion: Conclusion| {
            let profile = place::ProfileChoice {
                name: "web-service".to_owned(),
                because: place::ProfileReason::BuiltIn,
            };
            let placement = place::Explanation { profile: Some(profile), backends: Vec::new(), conclusion };
            let explained = json!({"name": "web", "explanation": {"placement": placement, "gaps": []}});
            reasons(&explained.to_string())
        };
        let placement = Placement { runtime_class: "process".to_owned(), backend_id: "local".to_owned() };
        let profile = "profile web-service: built-in default";
        assert_eq!(lines(Conclusion::Stays(placement.clone())), [profile]);
        let because = place::ChoiceReason::OnlyOne;
        assert_eq!(
            lines(Conclusion::Chosen { placement, because }),
            [profile, "runs on local: the only backend that accepts the workload"]
        );
        assert!(lines(Conclusion::Refused("no backend".to_owned())).is_empty());
        assert!(reasons("").is_empty());
    }
}
