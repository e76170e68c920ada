use super::*;
use crate::template::encode_secret_ref;
use serde_json::json;

const PASSWORD_VALUE: &str = "Zx81Spectrum48K";

fn own() -> Secrets {
    [(("pg".to_owned(), "password".to_owned()), PASSWORD_VALUE.as_bytes().to_vec())].into()
}

fn sealed(outputs: &Json, random: &[&str], public: &[String]) -> Result<Sealed, TemplateError> {
    let (secrets, random) = (own(), random.iter().map(|text| (*text).to_owned()).collect());
    let context =
        SecretContext { secrets: &secrets, random_values: &random, public, secret_name: "postgres-1" };
    seal(outputs.as_object().unwrap(), context)
}

fn composed(output: &str) -> Output {
    Output::SecretKeyRef(SecretKeyRef { name: "postgres-1".to_owned(), key: format!("output.{output}") })
}

#[test]
fn a_reference_stays_one_and_a_text_with_one_is_composed() {
    let reference = encode_secret_ref("pg", "password");
    let outputs = json!({"password": reference, "uri": format!("pg://app:{reference}@host"), "port": 5432});
    let sealed = sealed(&outputs, &[], &[]).unwrap();
    let own = SecretKeyRef { name: "pg".to_owned(), key: "password".to_owned() };
    assert_eq!(sealed.outputs["password"], Output::SecretKeyRef(own));
    assert_eq!(sealed.outputs["uri"], composed("uri"));
    assert_eq!(sealed.outputs["port"], Output::Value(json!(5432)));
    assert_eq!(sealed.composed["output.uri"], format!("pg://app:{PASSWORD_VALUE}@host"));
}

#[test]
fn random_values_are_secret_inside_of_texts_lists_and_base64() {
    let encoded = STANDARD.encode(format!("{PASSWORD_VALUE}!"));
    let outputs = json!({
        "a": PASSWORD_VALUE, "b": format!("x{PASSWORD_VALUE}y"), "c": [{"d": PASSWORD_VALUE}], "e": encoded,
        "f": PASSWORD_VALUE.to_lowercase(), "g": "plain",
    });
    let sealed = sealed(&outputs, &[PASSWORD_VALUE], &[]).unwrap();
    for output in ["a", "b", "c", "e", "f"] {
        assert_eq!(sealed.outputs[output], composed(output), "{output}");
    }
    assert_eq!(sealed.outputs["g"], Output::Value(json!("plain")));
    let shown = serde_json::to_string(&sealed.outputs).unwrap();
    assert!(!shown.contains(PASSWORD_VALUE));
}

#[test]
fn a_few_random_characters_do_not_make_a_name_secret() {
    let outputs = json!({"host": "dnsabc123.localhost", "username": "user-abc123"});
    let given = sealed(&outputs, &["abc123"], &[]).unwrap();
    assert_eq!(given.outputs["host"], Output::Value(json!("dnsabc123.localhost")));
    assert_eq!(given.outputs["username"], composed("username"));
    let public = sealed(&outputs, &["abc123"], &["username".to_owned()]).unwrap();
    assert_eq!(public.outputs["username"], Output::Value(json!("user-abc123")));
    let long = sealed(&json!({"host": PASSWORD_VALUE}), &[PASSWORD_VALUE], &[]).unwrap();
    assert_eq!(long.outputs["host"], composed("host"), "a password is secret in any output");
}

#[test]
fn outputs_may_refer_only_to_secrets_of_their_instance() {
    for text in [encode_secret_ref("others", "password"), format!("x{}", encode_secret_ref("pg", "other"))] {
        let refused = sealed(&json!({"out": text}), &[], &[]).unwrap_err();
        assert!(refused.to_string().contains("not among its manifests"), "{refused}");
    }
}

#[test]
fn an_output_with_an_invalid_key_name_is_stored_under_a_hash() {
    let sealed = sealed(&json!({"a b/c": PASSWORD_VALUE}), &[PASSWORD_VALUE], &[]).unwrap();
    let key = sealed.composed.keys().next().unwrap();
    assert!(is_composed(key) && !key.contains(' '), "{key}");
}
