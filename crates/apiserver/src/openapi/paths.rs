//! Paths of a kind and their operations.
//!
//! Clients rely on small differences between custom and built-in kinds: a built-in kind takes bodies of any media
//! type, and its lists can be streamed.

use serde_json::{Map, Value, json};

use super::{components, names};
use crate::kinds::{Kind, builtin};

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

const LIST_PARAMETERS: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const WRITE_PARAMETERS: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const PATCH_PARAMETERS: &[&str] = &["dryRun", "fieldManager (patch)", "fieldValidation", "force"];
const DELETE_PARAMETERS: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];
const DELETE_BUILTIN_COLLECTION_PARAMETERS: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
];

/// Adds the paths of one kind to those of its document.
pub(super) fn of_kind(group: &str, version: &str, kind: &Kind, paths: &mut Map<String, Value>) {
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let resource = Resource {
        group,
        version,
        kind,
        object: components::name(kind, &kind.kind),
        list: components::name(kind, &kind.list_kind),
    };
    let plural = &kind.plural;
    if kind.review.is_some() {
        let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
        paths.insert(format!("{root}{scope}/{plural}"), resource.review());
        return;
    }
    let collection = if kind.namespaced {
        paths.insert(format!("{root}/{plural}"), resource.all_namespaces());
        format!("{root}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{root}/{plural}")
    };
    if kind.status {
        paths.insert(format!("{collection}/{{name}}/status"), resource.object("Status"));
    }
    if kind.scale.is_some() {
        paths.insert(format!("{collection}/{{name}}/{}", builtin::SCALE_PART), resource.scale());
    }
    if kind.subresources().iter().any(|part| part.name == builtin::TOKEN) {
        paths.insert(format!("{collection}/{{name}}/{}", builtin::TOKEN), resource.token());
    }
    paths.insert(format!("{collection}/{{name}}"), resource.object(""));
    paths.insert(collection, resource.collection());
}

/// A kind, with the names its operations need.
struct Resource<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a Kind,
    object: String,
    list: String,
}

/// Parts of an operation that differ between operations.
struct Operation<'a> {
    verb: &'a str,
    action: &'a str,
    subject: String,
    description: String,
    parameters: &'a [&'a str],
    body: Option<(&'a [&'a str], &'a str, bool)>,
    media_types: &'a [&'a str],
    answers: &'a [(&'a str, &'a str)],
    answer: &'a str,
}

const OK: (&str, &str) = ("200", "OK");
const CREATED: (&str, &str) = ("201", "Created");
const ACCEPTED: (&str, &str) = ("202", "Accepted");

impl Resource<'_> {
    /// List across all namespaces: the only operation on its path, so its parameters belong to the path.
    fn all_namespaces(&self) -> Value {
        let mut list = self.list(format!("{}ForAllNamespaces", self.kind.kind));
        if let Some(operation) = list.as_object_mut() {
            operation.remove("parameters");
        }
        let mut names = LIST_PARAMETERS.to_vec();
        names.push("pretty");
        names.sort_unstable();
        json!({ "get": list, "parameters": parameters(&names) })
    }

    /// Create, the only operation on its path, so that its parameters belong to the path.
    fn only_create(&self, subject: String, description: String, named: bool, object: &str) -> Value {
        let create = self.operation(&Operation {
            verb: "create",
            action: "post",
            subject,
            description,
            parameters: &[],
            body: Some((self.written(), object, true)),
            media_types: ANSWERS,
            answers: &[OK, CREATED, ACCEPTED],
            answer: object,
        });
        let shared = [parameters(WRITE_PARAMETERS), self.path_parameters(named)];
        let shared = shared.iter().filter_map(Value::as_array).flatten();
        let mut shared: Vec<Value> = shared.cloned().collect();
        shared.sort_by_key(|one| one["name"].as_str().unwrap_or_default().to_owned());
        json!({ "post": create, "parameters": shared })
    }

    /// Operations on a review.
    fn review(&self) -> Value {
        let description = format!("create {}", names::with_article(self.kind));
        self.only_create(self.subject(""), description, false, &self.object)
    }

    /// Request for a token of a service account.
    fn token(&self) -> Value {
        let request = &*builtin::TOKEN_REQUEST;
        let subject = format!("{}Token", self.subject(""));
        let description = format!("create token of {}", names::with_article(self.kind));
        let object = components::name(request, &request.kind);
        let mut operations = self.only_create(subject, description, true, &object);
        operations["post"]["x-kubernetes-group-version-kind"] =
            json!({ "group": request.group, "version": request.version, "kind": request.kind });
        operations
    }

    /// Operations on the scale of an object.
    fn scale(&self) -> Value {
        let scale = &*builtin::SCALE;
        let object = components::name(scale, &scale.kind);
        let Resource { group, version, kind, .. } = *self;
        Resource { group, version, kind, object, list: String::new() }.object("Scale")
    }

    /// List, create and delete of the collection.
    fn collection(&self) -> Value {
        let subject = self.subject("");
        if self.kind.read_only {
            return json!({ "get": self.list(subject), "parameters": self.path_parameters(false) });
        }
        let mut operations = json!({
            "get": self.list(subject.clone()),
            "post": self.operation(&Operation {
                verb: "create",
                action: "post",
                subject: subject.clone(),
                description: format!("create {}", names::with_article(self.kind)),
                parameters: WRITE_PARAMETERS,
                body: Some((self.written(), &self.object, true)),
                media_types: ANSWERS,
                answers: &[OK, CREATED, ACCEPTED],
                answer: &self.object,
            }),
            "parameters": self.path_parameters(false),
        });
        if !(self.group.is_empty() && self.kind.kind == "Namespace") {
            operations["delete"] = self.delete_collection(&subject);
        }
        operations
    }

    fn list(&self, subject: String) -> Value {
        let (verbs, media_types) =
            if self.kind.custom { ("list", ANSWERS) } else { ("list or watch", STREAMS) };
        self.operation(&Operation {
            verb: "list",
            action: "list",
            subject,
            description: format!("{verbs} objects of kind {}", self.kind.kind),
            parameters: LIST_PARAMETERS,
            body: None,
            media_types,
            answers: &[OK],
            answer: &self.list,
        })
    }

    fn delete_collection(&self, subject: &str) -> Value {
        let custom = self.kind.custom;
        self.operation(&Operation {
            verb: "delete",
            action: "deletecollection",
            subject: format!("Collection{subject}"),
            description: format!("delete collection of {}", self.kind.kind),
            parameters: if custom { LIST_PARAMETERS } else { DELETE_BUILTIN_COLLECTION_PARAMETERS },
            body: (!custom).then_some((self.written(), DELETE_OPTIONS, false)),
            media_types: ANSWERS,
            answers: &[OK],
            answer: STATUS,
        })
    }

    /// The operations on one object, or on a subresource of it.
    fn object(&self, subresource: &str) -> Value {
        let name = &self.kind.kind;
        let of = if subresource.is_empty() {
            String::new()
        } else {
            format!("{} of ", subresource.to_lowercase())
        };
        let subject = self.subject(subresource);
        let read = self.operation(&Operation {
            verb: "read",
            action: "get",
            subject: subject.clone(),
            description: format!("read {of}the specified {name}"),
            parameters: if self.kind.custom { &["resourceVersion"] } else { &[] },
            body: None,
            media_types: ANSWERS,
            answers: &[OK],
            answer: &self.object,
        });
        if self.kind.read_only {
            return json!({ "get": read, "parameters": self.path_parameters(true) });
        }
        let mut operations = json!({
            "get": read,
            "put": self.operation(&Operation {
                verb: "replace",
                action: "put",
                subject: subject.clone(),
                description: format!("replace {of}the specified {name}"),
                parameters: WRITE_PARAMETERS,
                body: Some((self.written(), &self.object, true)),
                media_types: ANSWERS,
                answers: &[OK, CREATED],
                answer: &self.object,
            }),
            "patch": self.operation(&Operation {
                verb: "patch",
                action: "patch",
                subject: subject.clone(),
                description: format!("partially update {of}the specified {name}"),
                parameters: PATCH_PARAMETERS,
                body: Some((if self.kind.custom { PATCHES } else { BUILTIN_PATCHES }, PATCH, true)),
                media_types: ANSWERS,
                answers: if self.kind.custom { &[OK] } else { &[OK, CREATED] },
                answer: &self.object,
            }),
            "parameters": self.path_parameters(true),
        });
        if subresource.is_empty() {
            operations["delete"] = self.delete(subject);
        }
        operations
    }

    fn delete(&self, subject: String) -> Value {
        let answers_object = self.group.is_empty() && self.kind.kind == "ServiceAccount";
        self.operation(&Operation {
            verb: "delete",
            action: "delete",
            subject,
            description: format!("delete {}", names::with_article(self.kind)),
            parameters: DELETE_PARAMETERS,
            body: Some((self.written(), DELETE_OPTIONS, false)),
            media_types: ANSWERS,
            answers: &[OK, ACCEPTED],
            answer: if answers_object { &self.object } else { STATUS },
        })
    }

    fn operation(&self, operation: &Operation<'_>) -> Value {
        let mut answers = Map::new();
        for (code, meaning) in operation.answers {
            let content = content(operation.media_types, operation.answer);
            answers.insert((*code).to_owned(), json!({ "description": meaning, "content": content }));
        }
        answers.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
        let mut out = json!({
            "tags": [names::tag(self.group, self.version)],
            "description": operation.description,
            "operationId": names::operation(operation.verb, self.group, self.version, &operation.subject),
            "responses": answers,
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": {
                "group": self.group,
                "version": self.version,
                "kind": self.kind.kind,
            },
        });
        if !operation.parameters.is_empty() {
            out["parameters"] = parameters(operation.parameters);
        }
        if let Some((media_types, component, required)) = operation.body {
            out["requestBody"] = json!({ "content": content(media_types, component) });
            if required {
                out["requestBody"]["required"] = json!(true);
            }
        }
        out
    }

    /// Subject of an operation, as in its name.
    fn subject(&self, subresource: &str) -> String {
        let scope = if self.kind.namespaced { "Namespaced" } else { "" };
        format!("{scope}{}{subresource}", self.kind.kind)
    }

    /// The parameters that all operations on a path share.
    fn path_parameters(&self, named: bool) -> Value {
        let mut shared = Vec::new();
        if named {
            shared.push(json!({
                "name": "name",
                "in": "path",
                "description": format!("name of the {}", self.kind.kind),
                "required": true,
                "schema": { "type": "string", "uniqueItems": true },
            }));
        }
        if self.kind.namespaced {
            shared.push(components::parameter("namespace"));
        }
        shared.push(components::parameter("pretty"));
        Value::Array(shared)
    }

    /// The media types of a written object.
    fn written(&self) -> &'static [&'static str] {
        if self.kind.custom { ANSWERS } else { &["*/*"] }
    }
}

/// The media types of a patch.
const PATCHES: &[&str] =
    &["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];

/// The media types of a patch of a built-in kind. kubectl sends strategic merge patches to these kinds.
const BUILTIN_PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

const ANSWERS: &[&str] = &["application/json", "application/yaml"];
const STREAMS: &[&str] = &["application/json", "application/json;stream=watch", "application/yaml"];

fn parameters(names: &[&str]) -> Value {
    names.iter().map(|name| components::parameter(name)).collect()
}

fn content(media_types: &[&str], component: &str) -> Value {
    let schema = json!({ "schema": { "$ref": names::reference(component) } });
    Value::Object(media_types.iter().map(|media_type| ((*media_type).to_owned(), schema.clone())).collect())
}
