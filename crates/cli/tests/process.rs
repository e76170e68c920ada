//! The program in scripts: JSON, standard input, exit codes, pipes.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Value as Json, json};

fn orchestra(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_orchestra"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/validate.in"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may close its input early.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn json_of(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn json_is_one_document_with_the_documented_fields() {
    let output = orchestra(&["validate", "-o", "json", "valid.yaml", "invalid.yaml", "warned.yaml"], b"");
    assert_eq!(output.status.code(), Some(1));
    let answer = json_of(&output);
    assert_eq!(
        answer["files"][0],
        json!({"file": "valid.yaml", "valid": true, "specVersion": "0.1.0", "errors": [], "warnings": []})
    );
    assert_eq!(answer["files"][1]["valid"], json!(false));
    assert_eq!(
        answer["files"][1]["errors"][1],
        json!({
            "path": "/containers/main/variables/PORT",
            "message": "invalid type: expected string, found number for `PORT`",
            "code": "TYPE_MISMATCH",
            "line": 8,
            "column": 13,
            "hint": "quote the value: \"8080\"",
        })
    );
    assert_eq!(answer["files"][2]["valid"], json!(true));
    assert_eq!(answer["files"][2]["warnings"][0]["code"], json!("DEPRECATED_FORM"));
}

#[test]
fn a_file_that_cannot_be_read_is_a_finding_in_json_too() {
    let answer = json_of(&orchestra(
        &["validate", "-o", "json", "nope.yaml", "folder", "binary.yaml", "empty.yaml"],
        b"",
    ));
    let codes: Vec<_> =
        answer["files"].as_array().unwrap().iter().map(|file| &file["errors"][0]["code"]).collect();
    assert_eq!(codes, ["UNREADABLE_FILE", "UNREADABLE_FILE", "NOT_TEXT", "EMPTY_DOCUMENT"]);
    assert_eq!(answer["files"][0]["errors"][0]["line"], Json::Null);
}

#[test]
fn standard_input_is_read_for_a_dash_as_yaml_or_json() {
    let document = br#"{"apiVersion": "score.dev/v1b1", "metadata": {"name": "demo"}, "containers": {"main": {"image": "x"}}}"#;
    let output = orchestra(&["validate", "-o", "json", "-"], document);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(json_of(&output)["files"][0]["file"], json!("<stdin>"));
    let output = orchestra(&["validate", "-"], b"metadata: {}\n");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_finding_in_an_override_names_its_source() {
    let output = orchestra(
        &["validate", "-o", "json", "valid.yaml", "--override-property", "containers.main.image=1"],
        b"",
    );
    let error = &json_of(&output)["files"][0]["errors"][0];
    assert_eq!(error["path"], json!("/containers/main/image"));
    assert_eq!(error["source"], json!("--override-property containers.main.image"));
}

#[test]
fn input_that_is_too_long_is_refused_without_reading_it_all() {
    let output = orchestra(&["validate", "-o", "json", "-"], &vec![b'a'; 5 * 1024 * 1024]);
    assert_eq!(json_of(&output)["files"][0]["errors"][0]["code"], json!("LIMIT_EXCEEDED"));
}

#[test]
fn output_into_a_pipe_has_no_colour() {
    let output = orchestra(&["validate", "invalid.yaml"], b"");
    assert!(!output.stdout.contains(&0x1b));
    assert!(output.stderr.is_empty());
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    for document in [
        "metadata: {name: \"\u{1b}[31mred\"}\nx\u{1b}]0;title\u{7}: 1\n",
        "{\"containers\":{\"\\u001b[31mX\\u0007\":\"x\"}}",
        "{\"resources\":{\"db\":{\"type\":\"aa\",\"\\u001b[31m\":1}}}",
        "{\"containers\":{\"main\":{\"variables\":[{\"name\":\"\\u001b[31m\"}]}}}",
        "{\"containers\":{\"main\":{\"files\":[{\"target\":\"\\u001b[31m\",\"content\":\"x\"}]}}}",
        "a: \"\u{9b}31m\u{202e}\"\n",
    ] {
        let output = orchestra(&["validate", "-"], document.as_bytes());
        let shown = String::from_utf8(output.stdout).unwrap();
        let steers = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{202e}');
        assert!(!shown.chars().any(steers), "{shown:?}");
    }
}

#[test]
fn control_characters_of_a_valid_file_do_not_reach_the_terminal_either() {
    let document = b"apiVersion: score.dev/v1b1\nmetadata: {name: demo}\ncontainers: {main: {image: \"a\\e[31m\\nvalid\"}}\n";
    let output = orchestra(&["validate", "--explain", "-"], document);
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains(r"main: a\u{1b}[31m\nvalid"), "{shown}");
}

#[test]
fn standard_input_is_read_once() {
    assert_eq!(orchestra(&["validate", "-", "-"], b"").status.code(), Some(2));
    assert_eq!(orchestra(&["validate", "-", "--overrides-file", "-"], b"").status.code(), Some(2));
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output = orchestra(&["completion", shell], b"");
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("validate"), "{shell}");
    }
}

#[test]
fn the_help_of_every_command_has_an_example() {
    fn commands(command: &clap::Command, name: &str, found: &mut Vec<(String, String)>) {
        for inner in command.get_subcommands() {
            let name = format!("{name} {}", inner.get_name());
            let about = inner.get_long_about().or(inner.get_about()).map(ToString::to_string);
            if inner.has_subcommands() {
                commands(inner, &name, found);
            } else {
                found.push((name, about.unwrap_or_default()));
            }
        }
    }
    let mut found = Vec::new();
    commands(&orchestra_cli::command(), "orchestra", &mut found);
    assert!(found.len() > 10, "{found:?}");
    for (name, about) in found {
        assert!(about.contains(&name), "the help of `{name}` has no example:\n{about}");
    }
    let help = String::from_utf8(orchestra(&["apply", "--help"], b"").stdout).unwrap();
    assert!(help.contains("--override-property 'containers.main.variables.DEBUG=\"true\"'"), "{help}");
}

#[test]
fn the_schema_is_json_that_names_the_fields() {
    let output = orchestra(&["schema"], b"");
    assert!(json_of(&output)["properties"]["containers"].is_object());
}
