//! Supervision of the program by its shim: start, output, signals, stop, exit status.

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
    PreparedShim, family,
    output::{Cutter, Log},
};
use crate::process::{End, Exit, LaunchSpec, MARKER, NotStarted, Run, Stream};

/// Interval between two SIGKILLs to processes that are left: new ones may have been forked.
const KILL_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Longest grace period: an instant cannot be further in the future on every machine.
const MAX_GRACE_PERIOD: Duration = Duration::from_hours(24 * 365);

/// Starts the program, and returns when no process of it is left.
pub(super) fn supervise(folder: &Path, shim: PreparedShim) -> io::Result<Exit> {
    let PreparedShim { spec, run, signals, mut log } = shim;
    let grace = spec.grace.min(MAX_GRACE_PERIOD);
    let started = start(folder, &spec);
    // From here on only the program has its secrets.
    drop(spec);
    let (end, stopped) = match started {
        Ok(program) => {
            // For display: the run is found without it.
            Run { program: Some(program.pid.as_raw_nonzero().get()), ..run.clone() }.write(folder).ok();
            Watch { program, signals, grace, stopping: None, told_rest: false, ended: None }
                .until_gone(&mut log)?
        }
        Err(error) => (End::NotStarted(NotStarted::Refused { why: error.to_string() }), false),
    };
    Ok(Exit { run: run.run, end, stopped, at: Timestamp::now() })
}

/// Signals as readable sockets.
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
        // Caught and ignored, instead of SIG_IGN: programs would inherit that.
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Self { stop: caught(SIGTERM)?, child: caught(SIGCHLD)? })
    }
}

/// The program.
struct Program {
    pid: Pid,
    outputs: [Output; 2],
    /// Closes when the program is executed; carries the error if it is not.
    report: Option<UnixStream>,
    reported: Vec<u8>,
}

/// One output stream.
struct Output {
    pipe: Option<OwnedFd>,
    cutter: Cutter,
}

/// Starts the process that executes the program, in a process group of its own, and passes the specification on.
fn start(folder: &Path, spec: &LaunchSpec) -> io::Result<Program> {
    let (report, theirs) = UnixStream::pair()?;
    let (stdout, stdout_theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    // The file that this process runs, even if it was replaced on disk meanwhile.
    let child = Command::new("/proc/self/exe")
        .arg0("orchestra")
        .arg("__exec")
        .arg(folder)
        .arg(getpid().to_string())
        .env_clear()
        .env(MARKER, &spec.run)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::from(stdout_theirs))
        .stderr(Stdio::from(stderr_theirs))
        .process_group(0)
        .spawn()?;
    // If it has exited, its error is more specific than a broken pipe.
    (&report).write_all(&serde_json::to_vec(spec)?).ok();
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

/// Program that is watched until no process of it is left.
struct Watch {
    program: Program,
    signals: Signals,
    grace: Duration,
    /// End of the grace period, once a stop was requested.
    stopping: Option<Instant>,
    /// True if descendants outside the process group were signalled.
    told_rest: bool,
    /// Exit status of the program itself.
    ended: Option<WaitStatus>,
}

impl Watch {
    /// Exit status, and whether a stop was requested.
    fn until_gone(mut self, log: &mut Log) -> io::Result<(End, bool)> {
        loop {
            self.wait()?;
            self.program.read(log);
            if drain(&mut self.signals.stop) && self.stopping.is_none() {
                self.stopping = Some(Instant::now() + self.grace);
                // The group id is not reused until the program is reaped, which happens below.
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
            (Err(_), None) => return Err(io::Error::other("the program was reaped by another process")),
        };
        Ok((end, self.stopping.is_some()))
    }

    /// Waits for the next event.
    fn wait(&self) -> io::Result<()> {
        let timeout = if self.forced() {
            Some(KILL_RETRY_INTERVAL)
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

    /// True if descendants are killed: the grace period is over, or the program exited by itself.
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
            // The program has exited and cannot stop descendants outside its group.
            self.told_rest = true;
            family::signal(Signal::TERM)
        } else {
            Ok(())
        }
    }

    /// Reaps exited children. Returns whether none is left.
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

    /// Reads all output up to now.
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

    /// Reads the rest of the output. If a process outside of the run holds the pipe, its end is not waited for.
    fn finish(&mut self, log: &mut Log) {
        /// Reads that drain the largest pipe.
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
    /// Reads at most the size of a pipe, so that a program that writes without end cannot block the rest.
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

/// Reads all bytes. Returns whether there were any.
fn drain(socket: &mut UnixStream) -> bool {
    let mut buffer = [0; 64];
    let mut any = false;
    while matches!(socket.read(&mut buffer), Ok(count) if count > 0) {
        any = true;
    }
    any
}
