//! Logs of runs.

use std::fs;

use futures_util::StreamExt as _;
use orchestra_drivers::process::{LogLimits, Stream, log};

use crate::shim::support::{RunDir, block_on, script, tests, texts};

tests![
    both_streams_are_logged_in_order,
    the_log_is_rotated_and_the_oldest_files_are_deleted,
    a_log_is_followed_across_rotations_to_the_end,
    a_log_is_read_since_a_time_and_from_its_tail,
    a_line_without_a_newline_and_a_too_long_line_are_kept,
];

fn both_streams_are_logged_in_order() {
    let dir = RunDir::new();
    block_on(dir.run(&script("for i in 1 2 3; do echo out $i; echo err $i >&2; done")));
    let lines = log::read(&dir.folder, None, None).unwrap();
    assert!(lines.is_sorted_by_key(|line| line.time));
    for (stream, name) in [(Stream::Stdout, "out"), (Stream::Stderr, "err")] {
        let of: Vec<_> = lines.iter().filter(|line| line.stream == stream).map(|line| &line.text).collect();
        assert_eq!(of, [&format!("{name} 1"), &format!("{name} 2"), &format!("{name} 3")]);
    }
}

fn the_log_is_rotated_and_the_oldest_files_are_deleted() {
    let dir = RunDir::new();
    let mut spec = script("i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done");
    spec.logs = LogLimits { bytes: 1000, files: 3 };
    block_on(dir.run(&spec));
    let files: Vec<_> = fs::read_dir(&dir.folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("log."))
        .collect();
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|file| file.metadata().unwrap().len() <= 1000));
    let lines = dir.log();
    let first = 300 - lines.len();
    assert!((20..=70).contains(&lines.len()), "{}", lines.len());
    assert_eq!(lines, (first..300).map(|i| format!("line {i}")).collect::<Vec<_>>());
}

fn a_log_is_followed_across_rotations_to_the_end() {
    block_on(async {
        let dir = RunDir::new();
        let mut spec = script("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done");
        spec.logs = LogLimits { bytes: 200, files: 1000 };
        dir.launch(&spec).await;
        let lines: Vec<_> = dir.follow().map(|line| line.unwrap().text).collect().await;
        assert_eq!(lines, (0..500).map(|i| format!("line {i}")).collect::<Vec<_>>());
        dir.exit().await;
    });
}

fn a_log_is_read_since_a_time_and_from_its_tail() {
    let dir = RunDir::new();
    let write =
        |number: u32, lines: &str| fs::write(dir.folder.join(format!("log.{number}")), lines).unwrap();
    write(9, "2026-03-01T10:00:01.000000000Z stdout F one\n2026-03-01T10:00:02.000000000Z stderr F two\n");
    write(10, "cut off\n2026-03-01T10:00:03.000000000Z stdout F three\n");
    assert_eq!(dir.log(), ["one", "two", "three"]);
    let since = Some("2026-03-01T10:00:02Z".parse().unwrap());
    assert_eq!(texts(log::read(&dir.folder, since, None).unwrap()), ["two", "three"]);
    assert_eq!(texts(log::read(&dir.folder, since, Some(1)).unwrap()), ["three"]);
    let followed = log::follow(&dir.folder, None, Some(2)).map(|line| line.unwrap().text);
    assert_eq!(block_on(followed.collect::<Vec<_>>()), ["two", "three"]);
}

fn a_line_without_a_newline_and_a_too_long_line_are_kept() {
    let dir = RunDir::new();
    block_on(dir.run(&script("head -c 40000 /dev/zero | tr '\\0' x; printf '\\nno end'")));
    let lines = log::read(&dir.folder, None, None).unwrap();
    let parts: Vec<_> = lines.iter().map(|line| (line.text.len(), line.part)).collect();
    assert_eq!(parts, [(16384, true), (16384, true), (7232, false), (6, false)]);
}
