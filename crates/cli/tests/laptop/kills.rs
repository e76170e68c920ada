//! Kills of the platform at random moments, while it starts, changes and removes programs. Afterwards exactly the declared
//! programs run.
//!
//! `ORCHESTRA_TEST_KILLS` is the number of kills, `ORCHESTRA_TEST_SEED` repeats a run.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::laptop::session::{Laptop, eventually, free_port, get};

/// Default number of kills.
const KILLS: usize = 10;
/// Longest time before a kill, in milliseconds.
const MAX_MILLIS_TO_KILL: u64 = 400;

/// Random numbers (xorshift), repeatable from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Declared workloads: port, and greeting if it is to run.
type Declared = BTreeMap<&'static str, (u16, Option<String>)>;

#[test]
#[allow(clippy::print_stdout, reason = "it prints the seed and the number of kills")]
fn whenever_the_platform_is_killed_exactly_the_declared_programs_run_afterwards() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("ORCHESTRA_TEST_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("ORCHESTRA_TEST_SEED").unwrap_or(u64::from(now.subsec_nanos())) | 1;
    println!("seed {seed}");
    let mut random = Random(seed);
    let laptop = Laptop::new();
    let mut declared: Declared = ["one", "two", "three"].map(|name| (name, (free_port(), None))).into();
    let (mut killed, mut ready) = (0, Vec::new());
    for round in 0.. {
        if killed == kills {
            break;
        }
        let names: Vec<_> = declared.keys().copied().collect();
        let name = names[usize::try_from(random.below(3)).unwrap()];
        let port = declared[name].0;
        let greeting = (random.below(3) > 0).then(|| format!("greeting {round}"));
        if let Some(greeting) = &greeting {
            laptop.file(&format!("{name}.yaml"), &score(name, port, greeting));
        }
        declared.insert(name, (port, greeting.clone()));
        let file = format!("{name}.yaml");
        let args =
            if greeting.is_some() { vec!["up", "--detach", &file] } else { vec!["down", name, "--rm"] };
        let mut command = laptop.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(random.below(MAX_MILLIS_TO_KILL)));
        if let Some(platform) = laptop.platform() {
            killed += usize::from(Command::new("kill").args(["-9", &platform]).status().unwrap().success());
        }
        command.wait().unwrap();
        // The killed command may or may not have taken effect: run it again, to the end.
        let again = laptop.run(&args);
        let was_gone = again.err.contains("not found");
        assert!(again.code == 0 || was_gone, "round {round}: {args:?}: {again:?}");
        check(&laptop, &declared, &format!("seed {seed}, round {round}"));
        ready.extend(greeting);
    }
    println!("killed {killed} times");
    // Every ready workload has written to its volume, which its policy retains.
    let kept = kept(&laptop);
    for greeting in &ready {
        assert!(kept.contains(greeting), "{greeting} is missing in {kept:?}");
    }
}

fn score(name: &str, port: u16, greeting: &str) -> String {
    format!(
        "apiVersion: score.dev/v1b1
metadata: {{name: {name}}}
containers:
  web:
    image: .
    command: [sh, -c, 'echo \"$GREETING\" >> /orchestra-kills/kept; exec orchestra sample-server']
    variables: {{PORT: '{port}', GREETING: {greeting}}}
    volumes: {{/orchestra-kills: {{source: '${{resources.kept}}'}}}}
resources: {{kept: {{type: volume, metadata: {{annotations: {{score.dev/deprovision: Retain}}}}}}}}
service: {{ports: {{web: {{port: {port}}}}}}}
"
    )
}

/// Lines of all volumes.
fn kept(laptop: &Laptop) -> Vec<String> {
    let instances = fs::read_dir(laptop.data().join("instances/default")).unwrap().flatten();
    let files = instances.filter_map(|instance| fs::read_to_string(instance.path().join("data/kept")).ok());
    files.flat_map(|text| text.lines().map(ToOwned::to_owned).collect::<Vec<_>>()).collect()
}

/// Checks that exactly the declared programs run, in their last version.
fn check(laptop: &Laptop, declared: &Declared, title: &str) {
    let difference = || {
        let processes = laptop.processes();
        let programs = processes.iter().filter(|process| process.ends_with("sample-server")).count();
        let shims = processes.iter().filter(|process| process.contains("__shim")).count();
        let expected = declared.values().filter(|(_, greeting)| greeting.is_some()).count();
        if (programs, shims) != (expected, expected) {
            return Some(format!("{expected} are declared, but these run: {processes:#?}"));
        }
        declared.iter().find_map(|(name, (port, greeting))| {
            let page = get(*port);
            let shown = page.as_deref().and_then(|page| page.split("<h1>").nth(1)?.split("</h1>").next());
            (shown != greeting.as_deref()).then(|| format!("{name} shows {shown:?} instead of {greeting:?}"))
        })
    };
    let mut last = None;
    let settled = eventually(|| {
        last = difference();
        last.is_none().then_some(())
    });
    assert!(settled.is_some(), "{title}: {}\n{}", last.unwrap_or_default(), laptop.serve_log());
}
