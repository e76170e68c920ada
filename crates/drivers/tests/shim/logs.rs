//! What programs write.

use std::fs;

use futures_util::StreamExt as _;
use orchestra_drivers::process::{LogLimits, Stream, log};

use crate::shim::support::{Place, block_on, script, tests, texts};

tests![
    both_streams_are_kept_in_order,
    the_log_is_cut_into_files_and_the_oldest_are_thrown_away,
    a_log_can_be_followed_through_every_rotation_to_the_end,
    a_log_is_read_from_a_time_on_and_from_its_end,
    a_line_without_an_end_and_one_that_is_too_long_are_kept,
];

fn both_streams_are_kept_in_order() {
    let place = Place::new();
    block_on(place.run(&script("for i in 1 2 3; do echo out $i; echo err $i >&2; done")));
    let lines = log::read(&place.folder, None, None).unwrap();
    assert!(lines.is_sorted_by_key(|line| line.time));
    for (stream, name) in [(Stream::Stdout, "out"), (Stream::Stderr, "err")] {
        let of: Vec<_> = lines.iter().filter(|line| line.stream == stream).map(|line| &line.text).collect();
        assert_eq!(of, [&format!("{name} 1"), &format!("{name} 2"), &format!("{name} 3")]);
    }
}

fn the_log_is_cut_into_files_and_the_oldest_are_thrown_away() {
    let place = Place::new();
    let mut order = script("i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done");
    order.logs = LogLimits { bytes: 1000, files: 3 };
    block_on(place.run(&order));
    let files: Vec<_> = fs::read_dir(&place.folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("log."))
        .collect();
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|file| file.metadata().unwrap().len() <= 1000));
    let lines = place.log();
    let first = 300 - lines.len();
    assert!((20..=70).contains(&lines.len()), "{}", lines.len());
    assert_eq!(lines, (first..300).map(|i| format!("line {i}")).collect::<Vec<_>>());
}

fn a_log_can_be_followed_through_every_rotation_to_the_end() {
    block_on(async {
        let place = Place::new();
        let mut order = script("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done");
        order.logs = LogLimits { bytes: 200, files: 1000 };
        place.launch(&order).await;
        let lines: Vec<_> = place.follow().map(|line| line.unwrap().text).collect().await;
        assert_eq!(lines, (0..500).map(|i| format!("line {i}")).collect::<Vec<_>>());
        place.end().await;
    });
}

fn a_log_is_read_from_a_time_on_and_from_its_end() {
    let place = Place::new();
    let write =
        |number: u32, lines: &str| fs::write(place.folder.join(format!("log.{number}")), lines).unwrap();
    write(9, "2026-03-01T10:00:01.000000000Z stdout F one\n2026-03-01T10:00:02.000000000Z stderr F two\n");
    write(10, "cut off\n2026-03-01T10:00:03.000000000Z stdout F three\n");
    assert_eq!(place.log(), ["one", "two", "three"]);
    let since = Some("2026-03-01T10:00:02Z".parse().unwrap());
    assert_eq!(texts(log::read(&place.folder, since, None).unwrap()), ["two", "three"]);
    assert_eq!(texts(log::read(&place.folder, since, Some(1)).unwrap()), ["three"]);
    let followed = log::follow(&place.folder, None, Some(2)).map(|line| line.unwrap().text);
    assert_eq!(block_on(followed.collect::<Vec<_>>()), ["two", "three"]);
}

fn a_line_without_an_end_and_one_that_is_too_long_are_kept() {
    let place = Place::new();
    block_on(place.run(&script("head -c 40000 /dev/zero | tr '\\0' x; printf '\\nno end'")));
    let lines = log::read(&place.folder, None, None).unwrap();
    let parts: Vec<_> = lines.iter().map(|line| (line.text.len(), line.part)).collect();
    assert_eq!(parts, [(16384, true), (16384, true), (7232, false), (6, false)]);
}
