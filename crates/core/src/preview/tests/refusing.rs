//! Plans that their runtime cannot run.

use serde_json::json;

use super::fixture::{Fixture, assert_text, with_database};
use crate::{preview::CapabilitiesOf, run::Capabilities};

/// Platform whose runtime lacks something.
fn lacking() -> Fixture {
    let mut fixture = Fixture::empty();
    let lacks = vec!["`containers.app.image` must be `.`.".to_owned()];
    fixture.context.capabilities = CapabilitiesOf::new(move |plan| {
        (plan.spec.runtime_class == "process")
            .then(|| Capabilities { lacks: lacks.clone(), ..Capabilities::default() })
    });
    fixture
}

#[test]
fn a_plan_that_its_runtime_cannot_run_is_shown_as_refused() {
    let preview = lacking().preview(json!({"containers": {"app": {"image": "nginx"}}}));
    assert_text(
        &preview,
        r#"
+ workload web
+ plan (web-service on here)
    /containers/app/image "nginx"

Expected conditions:
  RuntimeReady is False (RuntimeSelecting): The backend `here` cannot run this: `containers.app.image` must be `.`.
"#,
    );
    assert_eq!(preview.deferred, []);
}

#[test]
fn a_plan_that_waits_for_its_dependencies_has_a_note_that_its_runtime_cannot_run_it() {
    let text = lacking().preview(with_database("hello")).to_string();
    let expected = "+ plan (web-service on here): once its dependencies are ready; it will be refused: The backend `here` \
                    cannot run this: `containers.app.image` must be `.`.\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_suspended_plan_needs_nothing_from_its_runtime() {
    let annotations = json!({"score.dev/suspend": "true"});
    let preview =
        lacking().preview_annotated(annotations, json!({"containers": {"app": {"image": "nginx"}}}));
    assert!(!preview.to_string().contains("cannot run this"), "{preview}");
}

#[test]
fn a_plan_that_may_not_run_in_its_namespace_is_shown_as_refused() {
    let mut fixture = Fixture::empty();
    let refusal = Some("No programs run here.".to_owned());
    fixture.context.capabilities = CapabilitiesOf::new(move |_| {
        Some(Capabilities { refusal: refusal.clone(), ..Capabilities::default() })
    });
    let preview = fixture.preview(json!({"containers": {"app": {"image": "."}}})).to_string();
    let expected = "RuntimeReady is False (PermissionDenied): No programs run here.";
    assert!(preview.contains(expected), "{preview}");
}
