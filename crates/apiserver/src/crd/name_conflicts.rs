//! Name conflicts between definitions: the older one keeps the name.

use serde_json::Value;

/// Name that another definition uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// `plural`, `shortNames`, …
    pub field: &'static str,
    /// `PluralConflict`, `ListKindConflict`, …
    pub reason: &'static str,
    /// `"foos" is already in use`
    pub message: String,
}

/// Conflicts of a definition with older ones of its group.
pub(crate) fn conflicts(definition: &Value, all: &[Value]) -> Vec<Taken> {
    let mut resources: Vec<&str> = Vec::new();
    let mut kinds: Vec<&str> = Vec::new();
    let established = |other: &Value| {
        other["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    };
    let age = |other: &Value| {
        let metadata = &other["metadata"];
        (
            !established(other),
            metadata["creationTimestamp"].as_str().unwrap_or_default().to_owned(),
            metadata["resourceVersion"].as_str().and_then(|v| v.parse::<u64>().ok()).unwrap_or_default(),
        )
    };
    for other in all {
        let conflicts = other["spec"]["group"] == definition["spec"]["group"]
            && other["metadata"]["name"] != definition["metadata"]["name"]
            // An established definition keeps its accepted names, however old it is.
            && (established(other) || age(other) < age(definition));
        if conflicts {
            let names =
                if established(other) { &other["status"]["acceptedNames"] } else { &other["spec"]["names"] };
            resources.extend(names["plural"].as_str());
            resources.extend(names["singular"].as_str());
            resources.extend(names["shortNames"].as_array().into_iter().flatten().filter_map(Value::as_str));
            kinds.extend(names["kind"].as_str());
            kinds.extend(names["listKind"].as_str());
        }
    }
    let names = &definition["spec"]["names"];
    let mut taken = Vec::new();
    let mut check = |used: &[&str], name: &Value, field, reason| {
        if let Some(name) = name.as_str()
            && !name.is_empty()
            && used.contains(&name)
        {
            taken.push(Taken { field, reason, message: format!("{name:?} is already in use") });
        }
    };
    check(&resources, &names["plural"], "plural", "PluralConflict");
    check(&resources, &names["singular"], "singular", "SingularConflict");
    for name in names["shortNames"].as_array().into_iter().flatten() {
        check(&resources, name, "shortNames", "ShortNamesConflict");
    }
    check(&kinds, &names["kind"], "kind", "KindConflict");
    check(&kinds, &names["listKind"], "listKind", "ListKindConflict");
    taken
}
