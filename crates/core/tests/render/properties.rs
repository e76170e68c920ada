//! Properties of arbitrary plans.

use std::collections::BTreeMap;

use orchestra_api::{
    plan::{ClaimOutput, Container, File, FileContent, Segment, WorkloadPlanSpec},
    reference::SecretKeyRef,
};
use orchestra_core::render::kubernetes::{Subject, composed, lacks, render};
use proptest::prelude::*;
use serde_json::json;

use crate::render::rules::shown;

/// Unique value of a secret.
fn value_of(key: &SecretKeyRef) -> String {
    format!("<<secret {} of {}>>", key.key, key.name)
}

fn segment() -> impl Strategy<Value = Segment> {
    let secret = ("[a-c]{1,2}", "[a-c]").prop_map(|(name, key)| {
        Segment::ClaimOutput(ClaimOutput {
            claim: "db".to_owned(),
            output: key.clone(),
            secret_key_ref: SecretKeyRef { name, key },
        })
    });
    prop_oneof!["[$()a-zé ]{0,6}".prop_map(Segment::Literal), secret]
}

fn text() -> impl Strategy<Value = Vec<Segment>> {
    prop::collection::vec(segment(), 1..4)
}

fn container() -> impl Strategy<Value = Container> {
    let file = (text(), prop::option::of("0[0-7]{3}"))
        .prop_map(|(text, mode)| File { mode, content: FileContent::Text(text) });
    let variables = prop::collection::btree_map("[A-Z]{1,3}", text(), 0..4);
    let files = prop::collection::btree_map("/[a-c]{1,2}/[a-c]{1,2}", file, 0..4);
    let command = prop::option::of(prop::collection::vec("[$()A-Zé]{0,6}", 0..3));
    (variables, files, command).prop_map(|(variables, files, command)| Container {
        image: "image".to_owned(),
        variables,
        files,
        command,
        ..Container::default()
    })
}

fn plan() -> impl Strategy<Value = WorkloadPlanSpec> {
    prop::collection::btree_map("[a-c]{2}", container(), 1..4)
        .prop_map(|containers| WorkloadPlanSpec { containers, ..WorkloadPlanSpec::default() })
}

/// Expansion of a text with `$(NAME)` by a cluster, byte by byte.
fn expanded(text: &str, known: &BTreeMap<&str, &str>) -> Vec<u8> {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let next = bytes.get(at + 1);
        match (bytes[at], next) {
            (b'$', Some(b'$')) => {
                out.push(b'$');
                at += 2;
            }
            (b'$', Some(b'(')) => {
                let end = text[at..].find(')').map(|end| at + end);
                let value = end.and_then(|end| known.get(&text[at + 2..end]));
                // An unknown or incomplete reference is unchanged.
                let whole = end.map_or(at + 2, |end| end + 1);
                out.extend(value.map_or(&bytes[at..whole], |value| value.as_bytes()));
                at = whole;
            }
            (b'$', Some(other)) => {
                // A byte beyond ASCII is treated as a character, and corrupted.
                out.push(b'$');
                out.extend(char::from(*other).to_string().bytes());
                at += 2;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

proptest! {
    #[test]
    fn secrets_are_only_in_secrets_and_composed_values_contain_all_of_them(plan in plan()) {
        let subject = Subject { namespace: "team", name: "shop", plan: &plan };
        let objects = render(&subject, &|key| value_of(key).into_bytes());
        for object in &objects {
            prop_assert!(object["kind"] == "Secret" || !shown(object).contains("<<secret"), "{object}");
        }
        let kept: String = objects.iter().filter(|object| object["kind"] == "Secret").map(shown).collect();
        for key in composed(&plan) {
            prop_assert!(kept.contains(&value_of(&key)), "{key:?}");
        }
        prop_assert_eq!(&objects, &render(&subject, &|key| value_of(key).into_bytes()));
        prop_assert_eq!(lacks(&plan), Vec::<String>::new());
    }

    #[test]
    fn arguments_reach_the_program_unchanged(words in prop::collection::vec("[$()AZé]{1,8}", 1..3)) {
        let mut plan = WorkloadPlanSpec::default();
        let variables = words.iter().enumerate().map(|(n, word)| (format!("V{n}"), vec![Segment::Literal(word.clone())]));
        let container = Container {
            command: Some(words.clone()), args: Some(words.clone()), variables: variables.collect(), ..Container::default()
        };
        plan.containers.insert("app".to_owned(), container);
        let objects = render(&Subject { namespace: "team", name: "shop", plan: &plan }, &|_| Vec::new());
        let rendered = &objects[0]["spec"]["template"]["spec"]["containers"][0];
        let known = BTreeMap::from([("A", "spoiled"), ("Z", "spoiled"), ("", "spoiled")]);
        for (index, word) in words.iter().enumerate() {
            for text in [&rendered["command"][index], &rendered["args"][index], &rendered["env"][index]["value"]] {
                let seen = expanded(text.as_str().unwrap(), &known);
                prop_assert_eq!(&seen, word.as_bytes(), "{} became {}", word, json!(text));
            }
        }
    }
}
