//! How much memory a cached object takes. It prints rather than asserts: what counts is the number, on a real machine.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use k8s_openapi::api::core::v1::ConfigMap;
use orchestra_controllers::cache::Cache;
use serde_json::json;

const OBJECTS: usize = 10_000;

/// The memory of this process in bytes, as Linux counts it.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn map(n: usize) -> ConfigMap {
    let data: serde_json::Map<_, _> =
        (0..10).map(|k| (format!("key-{k}"), json!(format!("{n:08}-{}", "x".repeat(110))))).collect();
    let metadata = json!({
        "name": format!("map-{n:05}"), "namespace": format!("space-{:02}", n % 20),
        "uid": format!("00000000-0000-4000-8000-{n:012}"), "resourceVersion": (n + 1).to_string(),
        "managedFields": [{"manager": "test", "operation": "Apply"}],
    });
    serde_json::from_value(json!({"metadata": metadata, "data": data})).unwrap()
}

#[test]
#[ignore = "measures memory, which needs a process of its own and Linux"]
fn ten_thousand_maps_are_small() {
    let cache = Cache::<ConfigMap>::default();
    let mut pruned = map(0);
    pruned.metadata.managed_fields = None;
    let json = serde_json::to_vec(&pruned).unwrap().len();
    let before = resident();
    for n in 0..OBJECTS {
        cache.wrote(&map(n));
    }
    let each = (resident() - before) / OBJECTS;
    let typed: Vec<ConfigMap> = cache.all();
    let each_typed = (resident() - before) / OBJECTS - each;
    assert_eq!(typed.len(), OBJECTS);
    println!("{each} bytes per object of {json} bytes of JSON; as Rust values {each_typed}");
}
