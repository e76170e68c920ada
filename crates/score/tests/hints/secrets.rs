//! Secrets in clear text.

use orchestra_score::{Document, Source};

use super::{after, check, diagnostics};

const HINT: &str = "declare `resources: {token: {type: secret}}`, and write a placeholder such as `${resources.token.secret}`";

#[test]
fn a_secret_in_clear_text_is_a_warning() {
    for (variable, reason) in [
        ("DB_PASSWORD: hunter2", "`DB_PASSWORD` has a literal value"),
        ("API_KEY: changeme", "`API_KEY` has a literal value"),
        ("DATABASE_URL: postgres://admin:hunter2@db/shop", "`DATABASE_URL` contains a URL with a password"),
        ("GH: ghp_abcdefghijklmnopqrstuvwxyz0123456789", "`GH` looks like a token of GitHub"),
    ] {
        let found = diagnostics(&after(&format!("    variables:\n      {variable}\n")));
        assert_eq!(
            found,
            [format!("8:7 SUSPICIOUS_VALUE: possible secret in clear text: {reason} | {HINT}")]
        );
    }
    let file = after("    files:\n      /key:\n        content: |\n          -----BEGIN PRIVATE KEY-----\n");
    assert_eq!(
        diagnostics(&file),
        [format!(
            "9:9 SUSPICIOUS_VALUE: possible secret in clear text: `content` contains a private key | {HINT}"
        )]
    );
}

#[test]
fn a_placeholder_an_empty_value_and_a_setting_are_not_secrets() {
    let db = "resources:\n  db:\n    type: postgres\n";
    check([
        (after(&format!("    variables:\n      DB_PASSWORD: ${{resources.db.password}}\n{db}")), vec![]),
        (
            after(&format!(
                "    variables:\n      URL: postgres://u:${{resources.db.password}}@${{resources.db.host}}\n{db}"
            )),
            vec![],
        ),
        (after("    variables:\n      TOKEN: \"\"\n      TOKEN_URL: https://example.org\n"), vec![]),
    ]);
}

#[test]
fn a_report_does_not_show_a_secret() {
    let file = after("    variables:\n      DB_PASSWORD: hunter2 # local\n      LOG: debug\n");
    let report = Document::parse(Source::new("score.yaml", file.clone())).check();
    let text = &report.sources[0].text;
    assert_eq!(text, &file.replace("hunter2", "*******"));
    let workload = report.workload.unwrap();
    let variables = workload.containers["main"].variables.as_ref().unwrap();
    assert_eq!(variables["DB_PASSWORD"], "hunter2");
}
