//! The programs that are started for a passage. The check: a process group of its own, output to a bounded log,
//! stopped as a whole. A command of the user's ([`Guest`]): with the terminal and the outputs of this process.

use crate::procs;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, getpgrp, kill_process, kill_process_group, test_kill_process_group};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How much of a check's output is kept in its log, in bytes. What comes after is read and dropped.
pub const LOG_BYTES_MAX: u64 = 32 << 20;

/// How long a group that was asked to stop may take before it is killed.
pub const STOP_GRACE: Duration = Duration::from_secs(5);

/// Where output goes besides the log.
pub type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// A command that runs in a process group of its own.
pub struct Group {
    child: Child,
    group: Pid,
    readers: Receiver<()>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Group({})", self.group.as_raw_nonzero())
    }
}

/// What to run.
pub struct Task<'a> {
    /// The command, for `sh -c`.
    pub command: &'a str,
    /// Where.
    pub dir: &'a Path,
    /// Added to the environment; `GIT_*` of ours is not passed on.
    pub env: &'a [(&'a str, String)],
    /// Becomes the standard input, so that its lock lives as long as the group.
    pub guard: File,
    /// Gets the output, at most [`LOG_BYTES_MAX`].
    pub log: File,
    /// Gets the output too.
    pub sink: Sink,
}

impl std::fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Task({})", self.command)
    }
}

impl Group {
    /// Starts the command.
    ///
    /// # Errors
    /// No shell, no more processes or file handles.
    pub fn start(task: Task<'_>) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the one place of this crate that starts a program")]
        let mut command = Command::new("sh");
        command.arg("-c").arg(task.command).current_dir(task.dir).process_group(0);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command.envs(task.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(task.guard)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (done, readers) = channel();
        let log = Arc::new(std::sync::Mutex::new((task.log, LOG_BYTES_MAX)));
        if let Some(out) = child.stdout.take() {
            pump(out, Arc::clone(&log), Arc::clone(&task.sink), done.clone());
        }
        if let Some(err) = child.stderr.take() {
            pump(err, log, task.sink, done);
        }
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("the system gave a process without an id"))?;
        Ok(Self { child, group, readers })
    }

    /// The group's number.
    #[must_use]
    pub fn number(&self) -> i32 {
        self.group.as_raw_nonzero().get()
    }

    /// Whether the command has ended.
    ///
    /// # Errors
    /// The system cannot tell.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the whole group to stop, kills it after [`STOP_GRACE`], and returns once the command is gone.
    pub fn stop(&mut self) {
        let _ = kill_process_group(self.group, Signal::TERM);
        let until = Instant::now() + STOP_GRACE;
        while Instant::now() < until {
            let gone = self.child.try_wait().is_ok_and(|status| status.is_some());
            if gone && test_kill_process_group(self.group).is_err() {
                return self.drain();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.clear();
    }

    /// Kills what the command left behind in its group, and gives its output a moment to arrive.
    pub fn clear(&mut self) {
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
        self.drain();
    }

    fn drain(&self) {
        // Something outside the group may hold the pipe open: the output is not waited for.
        for _ in 0..2 {
            if self.readers.recv_timeout(Duration::from_millis(500)).is_err() {
                break;
            }
        }
    }
}

fn pump(
    mut from: impl Read + Send + 'static,
    log: Arc<std::sync::Mutex<(File, u64)>>,
    sink: Sink,
    done: Sender<()>,
) {
    std::thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        while let Ok(n) = from.read(&mut buffer) {
            if n == 0 {
                break;
            }
            if let Ok(mut log) = log.lock() {
                let keep = usize::try_from(log.1).map_or(n, |left| left.min(n));
                if log.0.write_all(&buffer[..keep]).is_ok() {
                    log.1 -= keep as u64;
                }
            }
            sink(&buffer[..n]);
        }
        let _ = done.send(());
    });
}

/// A command of the user's, with the terminal and the outputs of this process.
///
/// In a terminal's foreground it stays in this process's group, so that it may read from the terminal and gets
/// the terminal's own signals (Ctrl-C) itself. Anywhere else it has a group of its own, which is signalled and
/// stopped as a whole.
#[derive(Debug)]
pub struct Guest {
    child: Child,
    process: Pid,
    /// Whether the group is its own.
    apart: bool,
}

/// What a guest is started with.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The program and its arguments.
    pub words: &'a [OsString],
    /// Added to the environment.
    pub env: &'a [(&'a str, String)],
    /// A lock that is inherited, and so is held as long as the command or anything that it has started lives.
    pub guard: File,
    /// Its standard output goes to standard error.
    pub out_to_err: bool,
}

/// Whether this process is in the foreground of a terminal.
fn in_the_foreground() -> bool {
    // The terminal that controls this process, wherever its inputs and outputs go.
    File::open("/dev/tty")
        .is_ok_and(|tty| rustix::termios::tcgetpgrp(&tty).is_ok_and(|group| group == getpgrp()))
}

impl Guest {
    /// Starts the command where this process stands. No other thread may start a program at that moment: it
    /// would inherit the guard too.
    ///
    /// # Errors
    /// There is no such program, it may not be run, no more processes or file handles.
    pub fn start(visit: Visit<'_>) -> io::Result<Self> {
        let Some((program, args)) = visit.words.split_first() else {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        };
        let apart = !in_the_foreground();
        #[expect(clippy::disallowed_methods, reason = "the one place of this crate that starts a program")]
        let mut command = Command::new(program);
        command.args(args).envs(visit.env.iter().map(|(name, value)| (name, value)));
        if apart {
            command.process_group(0);
        }
        if visit.out_to_err {
            command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        }
        fcntl_setfd(&visit.guard, FdFlags::empty())?;
        let child = command.spawn();
        drop(visit.guard);
        let child = child?;
        let process = Pid::from_child(&child);
        Ok(Self { child, process, apart })
    }

    /// Whether the command has ended.
    ///
    /// # Errors
    /// The system cannot tell.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Passes a signal on that this process was sent. What a terminal sends, a command in its foreground has got
    /// itself.
    pub fn pass_on(&self, signal: i32) {
        let terminal = [Signal::INT, Signal::QUIT, Signal::HUP].iter().any(|of| of.as_raw() == signal);
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        // It may have ended in this moment.
        let _ = match (self.apart, terminal) {
            (true, _) => kill_process_group(self.process, signal),
            (false, true) => Ok(()),
            (false, false) => kill_process(self.process, signal),
        };
    }

    /// Asks the command and what it has started to stop, kills them after [`STOP_GRACE`], and returns once the
    /// command is gone.
    pub fn stop(&mut self) {
        self.signal_all(Signal::TERM);
        let until = Instant::now() + STOP_GRACE;
        while Instant::now() < until {
            let gone = self.child.try_wait().is_ok_and(|status| status.is_some());
            if gone && (!self.apart || test_kill_process_group(self.process).is_err()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.signal_all(Signal::KILL);
        let _ = self.child.wait();
    }

    fn signal_all(&self, signal: Signal) {
        if self.apart {
            let _ = kill_process_group(self.process, signal);
            return;
        }
        // The list is made first: what loses its parent is no longer below.
        let below = procs::below(self.process.as_raw_nonzero().get());
        let all = below.into_iter().filter_map(Pid::from_raw).chain([self.process]);
        for process in all {
            let _ = kill_process(process, signal);
        }
    }
}
