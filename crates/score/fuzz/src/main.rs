//! Fuzzer for stable Rust with a time limit: seeds and fragments of the language, mutated at random. `cargo fuzz` (see
//! CONTRIBUTING.md) is guided by coverage; this one runs everywhere.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a tool reads the clock and talks to people"
)]

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use orchestra_score_fuzz::{TARGETS, Target};

/// Time after which an input counts as a hang.
const HANG_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum length of most inputs.
const MAX_INPUT_BYTES: usize = 64 * 1024;
/// Maximum length of a few inputs that reveal superlinear time.
const LARGE_INPUT_BYTES: usize = 1024 * 1024;

/// Fragments of the language.
const PIECES: &[&str] = &[
    "apiVersion: score.dev/v1b1\n",
    "metadata:\n  name: demo\n",
    "containers:\n  main:\n    image: nginx\n",
    "    variables:\n      A: \"b\"\n",
    "    files:\n      /a:\n        content: |\n          x\n",
    "resources:\n  db:\n    type: postgres\n",
    "    before:\n      other:\n        ready: complete\n",
    "service:\n  ports:\n    web:\n      port: 80\n",
    "${resources.db.host}",
    "${metadata.name}",
    "$$",
    "${",
    "}",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "!!binary ",
    "- ",
    ": ",
    "? ",
    "|\n",
    ">-\n",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    "---\n",
    "...\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{2028}",
    "é",
    "0644",
    "1_000",
    ".inf",
    "2024-01-01",
    "null",
    "~",
    "\\u0000",
    "=",
    "===\n",
    "-1",
    "\\.",
    "%TAG ! x\n",
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
    fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound.max(1)
    }
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(24)).min(input.len());
        match random.below(8) {
            0 => drop(input.drain(at..end)),
            1 => {
                let copy = input[at..end].to_vec();
                let to = random.below(input.len() + 1);
                drop(input.splice(to..to, copy));
            }
            2 if at < input.len() => input[at] = b" \n:-[]{}\"'&*!|>#%$0a"[random.below(20)],
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(200)).min(other.len());
                drop(input.splice(at..at, other[from..to].iter().copied()));
            }
            4 => {
                // Indentation matters in YAML.
                let spaces = b"        "[..random.below(9)].to_vec();
                drop(input.splice(at..at, [b"\n".to_vec(), spaces].concat()));
            }
            _ => {
                let piece = PIECES[random.below(PIECES.len())];
                drop(input.splice(at..at, piece.bytes()));
            }
        }
    }
    input.truncate(MAX_INPUT_BYTES);
}

/// Current input, for the watchdog.
static CURRENT: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

/// Watchdog: exits the process if an input hangs.
fn watch() {
    thread::spawn(|| {
        loop {
            thread::sleep(HANG_TIMEOUT / 4);
            if let Ok(current) = CURRENT.lock()
                && let Some((since, input)) = current.as_ref()
                && since.elapsed() > HANG_TIMEOUT
            {
                eprintln!("hang: more than {HANG_TIMEOUT:?} on {:?}", String::from_utf8_lossy(input));
                std::process::exit(1);
            }
        }
    });
}

fn set_current(input: Option<&[u8]>) {
    if let Ok(mut current) = CURRENT.lock() {
        *current = input.map(|input| (Instant::now(), input.to_vec()));
    }
}

struct Options {
    seconds: u64,
    seed: u64,
    seeds: Vec<Vec<u8>>,
}

fn options() -> Result<Options, String> {
    let seeds = PIECES.windows(6).map(|pieces| pieces.concat().into_bytes()).collect();
    let mut options = Options { seconds: 30, seed: 1, seeds };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value =
            arguments.next().ok_or("usage: score-fuzz [--seconds N] [--seed N] [--corpus FOLDER]…")?;
        let number = || value.parse().map_err(|_| format!("{argument} takes a number, not {value}"));
        match argument.as_str() {
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--corpus" => {
                let entries =
                    fs::read_dir(&value).map_err(|error| format!("failed to read {value}: {error}"))?;
                options.seeds.extend(entries.flatten().filter_map(|entry| fs::read(entry.path()).ok()));
            }
            _ => return Err(format!("unknown option {argument}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    println!("seed {}, {} seeds, {} s", options.seed, options.seeds.len(), options.seconds);
    watch();
    let until = Duration::from_secs(options.seconds) / u32::try_from(TARGETS.len()).unwrap_or(1);
    let failed = TARGETS.iter().filter(|target| !run(target, &options, until)).count();
    println!("{} passed, {failed} failed", TARGETS.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run((name, target): &Target, options: &Options, until: Duration) -> bool {
    let mut random = Random(options.seed);
    let started = Instant::now();
    let mut inputs = 0u64;
    let mut slowest = Duration::ZERO;
    while started.elapsed() < until {
        let mut input = options.seeds[random.below(options.seeds.len())].clone();
        mutate(&mut input, &options.seeds, &mut random);
        if random.below(500) == 0 {
            enlarge(&mut input, &mut random);
        }
        let before = Instant::now();
        set_current(Some(&input));
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
        set_current(None);
        slowest = slowest.max(before.elapsed());
        inputs += 1;
        if outcome.is_err() {
            eprintln!("{name}: panic on {:?}", String::from_utf8_lossy(&input));
            return false;
        }
    }
    println!("{name}: {inputs} inputs, slowest {slowest:?}");
    true
}

/// Repeats a part of an input until it is large, to reveal superlinear time.
fn enlarge(input: &mut Vec<u8>, random: &mut Random) {
    if input.is_empty() {
        return;
    }
    let at = random.below(input.len());
    let piece = input[at..(at + 1 + random.below(200)).min(input.len())].to_vec();
    let count = LARGE_INPUT_BYTES / piece.len();
    let repeated: Vec<u8> = piece.iter().copied().cycle().take(piece.len() * count).collect();
    drop(input.splice(at..at, repeated));
}
