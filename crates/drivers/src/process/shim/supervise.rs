//! Starts the program and stays with it: output, signals, stop, end.

use std::{
    io::{self, Read as _, Write as _},
    net::Shutdown,
    os::unix::{net::UnixStream, process::CommandExt as _},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd as _, BorrowedFd, OwnedFd},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, wait},
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::{
    Begun, family,
    output::{Cutter, Log},
};
use crate::process::{End, Exit, MARKER, NotStarted, Order, Run, Stream};

/// How soon those who do not go are told again.
const AGAIN: Duration = Duration::from_millis(20);

/// More than anybody waits, and less than clocks can say.
const LONGEST_GRACE: Duration = Duration::from_hours(24 * 365);

/// Starts the program of an order, and returns when nothing of it is left.
pub(super) fn supervise(folder: &Path, begun: Begun) -> io::Result<Exit> {
    let Begun { order, run, signals, mut log } = begun;
    let grace = order.grace.min(LONGEST_GRACE);
    let started = start(folder, &order);
    // From here on only the program knows its secrets.
    drop(order);
    let (end, stopped) = match started {
        Ok(program) => {
            // Only to be shown: the run is known without it.
            Run { program: Some(program.pid.as_raw_nonzero().get()), ..run.clone() }.write(folder).ok();
            Watch { program, signals, grace, stopping: None, told_rest: false, ended: None }
                .until_gone(&mut log)?
        }
        Err(error) => (End::NotStarted(NotStarted::Refused { why: error.to_string() }), false),
    };
    Ok(Exit { run: run.run, end, stopped, at: Timestamp::now() })
}

/// Signals, as bytes that can be waited for.
pub(super) struct Signals {
    stop: UnixStream,
    child: UnixStream,
}

impl Signals {
    pub(super) fn catch() -> io::Result<Self> {
        let caught = |signal| {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(signal, write)?;
            io::Result::Ok(read)
        };
        // Caught and not looked at, instead of ignored: programs would inherit that.
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Self { stop: caught(SIGTERM)?, child: caught(SIGCHLD)? })
    }
}

/// The program, as its shim has it.
struct Program {
    pid: Pid,
    outputs: [Output; 2],
    /// Closes when the program begins; says why, if it cannot.
    report: Option<UnixStream>,
    reported: Vec<u8>,
}

/// One stream of the program's output.
struct Output {
    pipe: Option<OwnedFd>,
    cutter: Cutter,
}

/// Starts the process that becomes the program, in a group of its own, and hands the order on.
fn start(folder: &Path, order: &Order) -> io::Result<Program> {
    let (report, theirs) = UnixStream::pair()?;
    let (stdout, stdout_theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    // The very file that this process runs, also when another was put in its place meanwhile.
    let child = Command::new("/proc/self/exe")
        .arg0("orchestra")
        .arg("__exec")
        .arg(folder)
        .arg(getpid().to_string())
        .env_clear()
        .env(MARKER, &order.run)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::from(stdout_theirs))
        .stderr(Stdio::from(stderr_theirs))
        .process_group(0)
        .spawn()?;
    // If it has ended already, its end says more than a pipe that is closed.
    (&report).write_all(&serde_json::to_vec(order)?).ok();
    report.shutdown(Shutdown::Write).ok();
    report.set_nonblocking(true)?;
    for pipe in [&stdout, &stderr] {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let pid = Pid::from_child(&child);
    let output = |pipe, stream| Output { pipe: Some(pipe), cutter: Cutter::new(stream) };
    Ok(Program {
        pid,
        outputs: [output(stdout, Stream::Stdout), output(stderr, Stream::Stderr)],
        report: Some(report),
        reported: Vec::new(),
    })
}

/// A program that is watched until nothing of it is left.
struct Watch {
    program: Program,
    signals: Signals,
    grace: Duration,
    /// When a stop becomes forceful, once one was asked for.
    stopping: Option<Instant>,
    /// Whether those outside the program's group were asked to end.
    told_rest: bool,
    /// How the program itself ended.
    ended: Option<WaitStatus>,
}

impl Watch {
    /// How it ended, and whether it was asked to.
    fn until_gone(mut self, log: &mut Log) -> io::Result<(End, bool)> {
        loop {
            self.wait()?;
            self.program.read(log);
            if drain(&mut self.signals.stop) && self.stopping.is_none() {
                self.stopping = Some(Instant::now() + self.grace);
                // The group is the program's until its end is taken note of, which happens below.
                if self.ended.is_none() {
                    kill_process_group(self.program.pid, Signal::TERM).ok();
                }
            }
            drain(&mut self.signals.child);
            if self.reap()? {
                break;
            }
            self.end_what_is_left()?;
        }
        self.program.finish(log);
        let end = match (serde_json::from_slice(&self.program.reported), self.ended) {
            (Ok(why), _) => End::NotStarted(why),
            (Err(_), Some(status)) => match status.terminating_signal() {
                Some(signal) => End::Signal(signal),
                None => End::Code(status.exit_status().unwrap_or_default()),
            },
            (Err(_), None) => return Err(io::Error::other("the program was taken away")),
        };
        Ok((end, self.stopping.is_some()))
    }

    /// Waits until there is something to do.
    fn wait(&self) -> io::Result<()> {
        let timeout = if self.forced() {
            Some(AGAIN)
        } else {
            self.stopping.map(|until| until.saturating_duration_since(Instant::now()))
        };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut waited: Vec<_> = [self.signals.stop.as_fd(), self.signals.child.as_fd()]
            .into_iter()
            .chain(self.program.fds())
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        match poll(&mut waited, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether what is left is ended by force: a stop has lasted too long, or the program ended without one.
    fn forced(&self) -> bool {
        match self.stopping {
            Some(until) => until <= Instant::now(),
            None => self.ended.is_some(),
        }
    }

    fn end_what_is_left(&mut self) -> io::Result<()> {
        if self.forced() {
            family::signal(Signal::KILL)
        } else if self.ended.is_some() && !self.told_rest {
            // The program is gone and can no longer end those that left its group.
            self.told_rest = true;
            family::signal(Signal::TERM)
        } else {
            Ok(())
        }
    }

    /// Takes note of all that has ended; whether nothing is left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program.pid => self.ended = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(false),
                Err(Errno::CHILD) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Program {
    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let pipes = self.outputs.iter().filter_map(|output| output.pipe.as_ref().map(OwnedFd::as_fd));
        pipes.chain(self.report.as_ref().map(UnixStream::as_fd))
    }

    /// Reads all that is there.
    fn read(&mut self, log: &mut Log) {
        for output in &mut self.outputs {
            output.read(log);
        }
        if let Some(report) = &mut self.report
            && !matches!(report.read_to_end(&mut self.reported), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        {
            self.report = None;
        }
    }

    /// Reads what is left. Nobody of the run holds the other end of the pipes any more; if a stranger does, its end is
    /// not waited for.
    fn finish(&mut self, log: &mut Log) {
        /// So many reads take what the largest pipe holds.
        const READS: usize = 16;
        for _ in 0..READS {
            self.read(log);
        }
        for output in &mut self.outputs {
            let mut lines = Vec::new();
            output.cutter.finish(Timestamp::now(), &mut lines);
            log.write(&lines);
        }
    }
}

impl Output {
    /// At most as much as a pipe holds, so that a program that writes without end cannot keep the rest waiting.
    fn read(&mut self, log: &mut Log) {
        const PIPE: usize = 64 * 1024;
        let mut buffer = [0; 8 * 1024];
        let mut lines = Vec::new();
        let mut total = 0;
        while total < PIPE
            && let Some(pipe) = &self.pipe
        {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    total += count;
                    self.cutter.cut(&buffer[..count], Timestamp::now(), &mut lines);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        log.write(&lines);
    }
}

/// Takes all bytes that are there; whether there were any.
fn drain(socket: &mut UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut any = false;
    while matches!(socket.read(&mut buffer), Ok(count) if count > 0) {
        any = true;
    }
    any
}
