//! Benchmarks of the Score language for `benches/RESULTS.md`.

use std::{
    fmt::Write,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use orchestra_score::{Document, Source};

use crate::{
    budgets::{self, Verdict},
    root,
};

/// Prints a table of the measurements, and compares it with the budgets.
pub(crate) fn run(files: &[PathBuf]) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return Err("run it with `cargo run --profile dist -p xtask -- bench FILES…`".to_owned());
    }
    let hello = root().join("examples/hello/score.yaml");
    let files = if files.is_empty() { std::slice::from_ref(&hello) } else { files };
    let mut verdict = Verdict::default();
    println!("| what | median | 95 % are faster than | runs |\n|---|---|---|---|");
    for path in files {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let most = validate(&format!("validate {name} ({} bytes)", text.len()), &text, 2000)?;
        verdict.check(&budgets::VALIDATE, millis(most));
    }
    let large = large();
    let most = validate(&format!("validate a generated file ({} bytes)", large.len()), &large, 100)?;
    verdict.check(&budgets::VALIDATE_LARGE, millis(most));
    verdict.check(&budgets::VALIDATE_PROCESS, millis(cold(&hello)?));
    verdict.finish().map_err(|error| error.to_string())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn validate(what: &str, text: &str, runs: usize) -> Result<Duration, String> {
    let report = Document::parse(Source::new("x", text)).check();
    if !report.is_valid() {
        return Err(format!("{what}: not valid: {:?}", report.diagnostics.first()));
    }
    measure(what, runs, || {
        black_box(Document::parse(Source::new("x", black_box(text))).check());
        Ok(())
    })
}

/// Program, built with the profile `dist`.
pub(crate) fn program() -> Result<PathBuf, String> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--profile", "dist", "--quiet", "--package", "orchestra"])
        .current_dir(root())
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("failed to build the program".to_owned());
    }
    // It is in the same folder as this program.
    Ok(std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("orchestra"))
}

/// Cold run of the program, from process start to exit.
fn cold(file: &Path) -> Result<Duration, String> {
    let program = program()?;
    measure("`orchestra validate` as a process", 200, || {
        let status = Command::new(&program).arg("validate").arg(file).stdout(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) {
            Ok(())
        } else {
            Err("failed to run the program".to_owned())
        }
    })
}

/// Prints a row, and returns the time that 95 % of the runs stay below.
fn measure(what: &str, runs: usize, mut run: impl FnMut() -> Result<(), String>) -> Result<Duration, String> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let started = Instant::now();
        run()?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 21).copied().unwrap_or(Duration::ZERO);
    println!("| {what} | {:?} | {:?} | {runs} |", at(10), at(20));
    Ok(at(20))
}

/// Valid YAML document of about 1 MiB, with many containers, variables and files.
fn large() -> String {
    let mut text = "apiVersion: score.dev/v1b1\nmetadata:\n  name: large\nresources:\n  db:\n    type: postgres\ncontainers:\n".to_owned();
    for container in 0..28 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  container-{container}:\n    image: registry.example.org/team/app:1.0.{container}\n    variables:"
        );
        for variable in 0..150 {
            let _ = writeln!(
                text,
                "      VARIABLE_{variable}: \"value ${{metadata.name}} of ${{resources.db.host}} {variable}\""
            );
        }
        let _ = writeln!(text, "    files:");
        for file in 0..60 {
            let _ = writeln!(
                text,
                "      /etc/app/config-{file}.ini:\n        mode: \"0644\"\n        content: |"
            );
            for line in 0..8 {
                let _ = writeln!(text, "          setting-{line} = a value of some length");
            }
        }
    }
    text
}
