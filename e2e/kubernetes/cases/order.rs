//! Start order of containers.

use orchestra_e2e::platform::Error;

use crate::{
    document::workload,
    space::Space,
    wait::{holds, same},
};

/// Each container appends its start, and the state that others wait for, to a file on a shared volume.
pub(super) async fn before(space: &Space) -> Result<(), Error> {
    let note = |word: &str| format!("echo {word} >> /notes/all");
    let document = workload(
        "shop",
        &r#"
        containers:
          main:
            image: PROBE
            command: [sh, -c, "NOTE(main starts); exec hold sleep 3600"]
            volumes: {/notes: {source: "${resources.notes}"}}
          migrate:
            image: PROBE
            command: [sh, -c, "NOTE(migrate starts); sleep 1; NOTE(migrate ends)"]
            volumes: {/notes: {source: "${resources.notes}"}}
            before: {cache: {ready: complete}}
          cache:
            image: PROBE
            command: [sh, -c, "NOTE(cache starts); sleep 1; NOTE(cache is healthy); touch /tmp/healthy; exec hold sleep 3600"]
            volumes: {/notes: {source: "${resources.notes}"}}
            readinessProbe: {exec: {command: [test, -f, /tmp/healthy]}}
            before: {proxy: {ready: healthy}}
          proxy:
            image: PROBE
            command: [sh, -c, "NOTE(proxy starts); exec hold sleep 3600"]
            volumes: {/notes: {source: "${resources.notes}"}}
            before: {main: {ready: started}}
        resources:
          notes: {type: volume, params: {size: 16Mi}}
        "#
        .replace("NOTE(main starts)", &note("main starts"))
        .replace("NOTE(migrate starts)", &note("migrate starts"))
        .replace("NOTE(migrate ends)", &note("migrate ends"))
        .replace("NOTE(cache starts)", &note("cache starts"))
        .replace("NOTE(cache is healthy)", &note("cache is healthy"))
        .replace("NOTE(proxy starts)", &note("proxy starts")),
    )?;
    space.run(&document).await?;
    let notes = space.exec("shop", "main", "cat /notes/all").await?;
    same(
        "the order",
        notes.lines().collect::<Vec<_>>(),
        vec![
            "migrate starts",
            "migrate ends",
            "cache starts",
            "cache is healthy",
            "proxy starts",
            "main starts",
        ],
    )?;
    // Containers that others wait for until `started` or `healthy` keep running.
    for container in ["cache", "proxy"] {
        let running = space.exec("shop", container, "cat /proc/1/comm").await?;
        holds(format!("{container} does not run: {running}"), !running.is_empty())?;
    }
    Ok(())
}
