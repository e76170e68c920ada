use serde_json::Value as Json;

use super::*;
use crate::limits::Limits;

/// Rows that differ from Go.
fn differences(golden: &str) -> Vec<String> {
    let mut interpreter = Interpreter::with_limits(b"", Limits { bytes: usize::MAX, ..Limits::default() });
    let (mut values, mut is_each) = (Vec::new(), true);
    let mut differences = Vec::new();
    for line in golden.lines().filter(|line| !line.starts_with('#')) {
        match serde_json::from_str(line).unwrap() {
            Json::Object(section) => {
                let (name, list) = section.iter().next().unwrap();
                is_each = name == "each";
                values =
                    list.as_array().unwrap().iter().map(|v| interpreter.heap.value_from_json(v)).collect();
            }
            Json::Array(row) => {
                let format = row[0].as_str().unwrap();
                let arguments: Vec<&[Value]> =
                    if is_each { values.chunks(1).collect() } else { vec![&values] };
                assert_eq!(arguments.len(), row.len() - 1, "{line}");
                for (arguments, expected) in arguments.into_iter().zip(&row[1..]) {
                    let printed = interpreter.sprintf(format, arguments).unwrap();
                    if printed != *expected {
                        differences
                            .push(format!("{format:?} of {arguments:?}: {printed:?}, in Go {expected}"));
                    }
                }
            }
            other => panic!("{other}"),
        }
    }
    differences
}

#[test]
fn formats_print_what_go_prints() {
    let differences = differences(include_str!("golden.jsonl"));
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
