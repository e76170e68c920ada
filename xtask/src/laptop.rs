//! Benchmarks of `orchestra up` (latency, memory, CPU), and its picture.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    budgets::{self, Verdict},
    root,
};

/// Repetitions of each measurement.
const ROUNDS: usize = 10;
/// Duration of the idle measurement.
const IDLE_MEASUREMENT_TIME: Duration = Duration::from_secs(20);
/// Timeout of each step.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Workload that cannot become ready without an edit: its profile does not exist.
const FAULT: &str = "
apiVersion: score.dev/v1b1
metadata: {name: fault, annotations: {score.dev/profile: no-such-profile}}
containers: {main: {image: ., command: [sleep, '900']}}
";

/// Data folder and program.
struct Laptop {
    program: PathBuf,
    home: PathBuf,
}

impl Laptop {
    fn new(program: &Path) -> Result<Self, String> {
        let home = std::env::temp_dir().join(format!("orchestra-laptop-{}", std::process::id()));
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self { program, home })
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env("HOME", &self.home).current_dir(root());
        command.env_remove("XDG_DATA_HOME").env_remove("ORCHESTRA_DATA_DIR");
        command
    }

    fn run(&self, args: &[&str]) -> Result<Duration, String> {
        let started = Instant::now();
        let output = self.command(args).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(started.elapsed())
        } else {
            Err(format!("{args:?}: {}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// Durations of `up --detach` on a running platform with a fault that only the platform knows: an upper bound of the time
    /// from the fault being known. The last instance of hello keeps the platform running.
    fn faults(&self) -> Result<Vec<Duration>, String> {
        let file = self.home.join("fault.yaml");
        fs::write(&file, FAULT).map_err(|error| error.to_string())?;
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let output = self.command(&["up", "--detach"]).arg(&file).output();
            let output = output.map_err(|error| error.to_string())?;
            times.push(started.elapsed());
            let error = String::from_utf8_lossy(&output.stderr);
            if output.status.success() || !error.contains("fault cannot become ready") {
                return Err(format!("expected a permanent fault, got {}: {error}", output.status));
            }
            self.run(&["delete", "fault"])?;
        }
        Ok(times)
    }
}

impl Drop for Laptop {
    fn drop(&mut self) {
        // A failed cleanup leaves only temporary files.
        let _ = self.run(&["down", "--rm"]);
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// Measures, prints the results, and compares them with the budgets.
pub(crate) fn bench(program: &Path) -> Result<(), String> {
    let laptop = Laptop::new(program)?;
    let hello =
        fs::read_to_string(root().join("examples/hello/score.yaml")).map_err(|error| error.to_string())?;
    let (port, target) = (free_port()?, free_port()?);
    let file = laptop.home.join("score.yaml");
    let write = |greeting: &str| {
        let text = hello.replace("8080", &port.to_string()).replace("8000", &target.to_string());
        let text = text.replace("Hello from ${metadata.name}!", greeting);
        fs::write(&file, text).map_err(|error| error.to_string())
    };
    let path = file.to_string_lossy().into_owned();
    let up = ["up", "--detach", path.as_str()];
    let (mut cold, mut warm, mut edits) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        write(&format!("first {round}"))?;
        cold.push(laptop.run(&up)?);
        write(&format!("again {round}"))?;
        warm.push(laptop.run(&up)?);
        laptop.run(&["down", "--rm"])?;
    }
    write("watched")?;
    let watching = laptop.command(&["up", path.as_str()]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut watching = watching.map_err(|error| error.to_string())?;
    until(|| get(port).is_some_and(|page| page.contains("watched")))?;
    for round in 0..ROUNDS {
        let started = Instant::now();
        write(&format!("edit {round}"))?;
        until(|| get(port).is_some_and(|page| page.contains(&format!("edit {round}"))))?;
        edits.push(started.elapsed());
    }
    interrupt(&mut watching)?;
    laptop.run(&up)?;
    let before = usage(&laptop.home)?;
    thread::sleep(IDLE_MEASUREMENT_TIME);
    let after = usage(&laptop.home)?;
    let mut verdict = Verdict::default();
    let worst = spread("exec to Ready, hello, including the start of the platform", &mut cold);
    verdict.check(&budgets::UP, worst);
    spread("exec to Ready, hello, on a running platform", &mut warm);
    verdict.check(&budgets::EDIT, spread("edit to new page", &mut edits));
    idle(&before, &after, &mut verdict)?;
    let mut faults = laptop.faults()?;
    verdict.check(&budgets::FAULT, spread("exec to the end of `up --detach`, permanent fault", &mut faults));
    laptop.run(&["down", "--rm"])?;
    let mut visits = Vec::new();
    for _ in 0..3 {
        visits.push(laptop.run(&["up", "--detach", "examples/visits"])?);
        laptop.run(&["down", "--rm"])?;
    }
    let worst = spread("exec to Ready, web application with a new postgres", &mut visits);
    verdict.check(&budgets::UP_DATABASE, worst);
    verdict.finish().map_err(|error| error.to_string())
}

/// Prints the usage of the idle platform and shim.
fn idle(before: &[Usage], after: &[Usage], verdict: &mut Verdict) -> Result<(), String> {
    let names: Vec<&str> = after.iter().map(|usage| usage.name).collect();
    if names != ["platform", "shim"] || before.len() != after.len() {
        return Err(format!("expected a platform and a shim, found {names:?}"));
    }
    let (mut memory, mut cpu) = (0.0, 0.0);
    for (before, after) in before.iter().zip(after) {
        let share = (after.cpu - before.cpu) / IDLE_MEASUREMENT_TIME.as_secs_f64() * 100.0;
        let Usage { name, rss, pss, .. } = after;
        println!("idle, {name}: RSS {rss:.1} MiB, PSS {pss:.1} MiB, {share:.2} % of a core");
        memory += rss;
        cpu += share;
    }
    verdict.check(&budgets::IDLE_MEMORY, memory);
    verdict.check(&budgets::IDLE_CPU, cpu);
    Ok(())
}

/// Usage of a process: RSS and PSS in MiB, and CPU seconds so far.
struct Usage {
    name: &'static str,
    rss: f64,
    pss: f64,
    cpu: f64,
}

/// Usage of the processes of a platform.
fn usage(home: &Path) -> Result<Vec<Usage>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").map_err(|error| error.to_string())?.flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let command = read("cmdline").replace('\0', " ");
        if !command.contains(&*home.to_string_lossy()) {
            continue;
        }
        let name = if command.contains(" serve ") { "platform" } else { "shim" };
        let memory = read("smaps_rollup");
        let mib = |title: &str| {
            let kib = memory.lines().find_map(|line| line.strip_prefix(title)?.trim().strip_suffix(" kB"));
            // Not a number without the line, which no budget accepts.
            kib.and_then(|kib| kib.trim().parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
        };
        let stat = read("stat");
        let fields: Vec<f64> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split(' ')
            .filter_map(|field| field.parse().ok())
            .collect();
        // After the state: fields 11 and 12 are user and system time in hundredths of a second.
        let cpu = fields.get(10..12).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0);
        found.push(Usage { name, rss: mib("Rss:"), pss: mib("Pss:"), cpu });
    }
    found.sort_by(|one, other| one.name.cmp(other.name));
    Ok(found)
}

/// Runs an example, and draws the output of the terminal.
pub(crate) fn picture(program: &Path) -> Result<(), String> {
    let laptop = Laptop::new(program)?;
    let mut child = laptop
        .command(&["up", "examples/visits"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let (sender, lines) = mpsc::channel();
    let streams = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
    }
    drop(sender);
    let mut shown = vec!["$ orchestra up examples/visits".to_owned()];
    let mut is_ended = false;
    while let Ok(line) = lines.recv_timeout(STEP_TIMEOUT) {
        let is_placed = line.contains("accepts the workload");
        shown.push(line.replace(&*laptop.home.to_string_lossy(), "~"));
        if is_placed && !is_ended {
            is_ended = true;
            get(8081).ok_or("the application does not answer")?;
            thread::sleep(Duration::from_secs(1));
            shown.push("^C".to_owned());
            interrupt(&mut child)?;
        }
    }
    let path = root().join("docs/up.svg");
    fs::write(&path, draw(&shown)).map_err(|error| error.to_string())?;
    println!("wrote {}", path.display());
    Ok(())
}

/// SVG of terminal lines.
fn draw(lines: &[String]) -> String {
    let width = 16 + 8 * lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let height = 24 + 20 * lines.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d1f21\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let fill = if line.starts_with("$ ") { "#b5bd68" } else { "#c5c8c6" };
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            svg,
            "<text x=\"12\" y=\"{}\" fill=\"{fill}\" xml:space=\"preserve\">{text}</text>",
            26 + 20 * number
        );
    }
    svg + "</svg>\n"
}

/// Interrupts a process, and waits for its exit.
fn interrupt(child: &mut Child) -> Result<(), String> {
    let id = child.id().to_string();
    let signalled = Command::new("kill").args(["-INT", &id]).status().map_err(|error| error.to_string())?;
    let ended = child.wait().map_err(|error| error.to_string())?;
    if signalled.success() && ended.success() { Ok(()) } else { Err("it exited with an error".to_owned()) }
}

/// Polls until a condition holds.
fn until(mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let started = Instant::now();
    while started.elapsed() < STEP_TIMEOUT {
        if holds() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(2));
    }
    Err("timed out".to_owned())
}

/// Prints median and maximum, and returns the maximum in milliseconds.
fn spread(what: &str, times: &mut [Duration]) -> f64 {
    times.sort();
    let at = |index: usize| times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
    let (median, worst) = (at(times.len() / 2), at(times.len() - 1));
    println!("{what}: median {median:.0} ms, worst {worst:.0} ms of {}", times.len());
    worst
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

fn get(port: u16) -> Option<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
    connection.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}
