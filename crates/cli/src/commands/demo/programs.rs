//! Starting programs for the demo, and making sure that none of them outlives it.

use super::Trouble;
use passage::Interrupt;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Names the demo in the environment of all that it starts, so that orphans are found again.
const MARK: &str = "SIGNALBOX_DEMO_RUN";

/// How long anything may take before the demo gives up.
const PATIENCE: Duration = Duration::from_secs(25);

/// Tells the programs that run beside the demo apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// How often something that is waited for is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Starts programs in the demo's own environment: nothing of the user's settings reaches them.
pub(super) struct Programs {
    root: PathBuf,
    interrupt: Interrupt,
}

impl Programs {
    /// For a demo in the folder `root`, which gets a home of its own.
    pub(super) fn new(root: &Path, interrupt: Interrupt) -> Result<Self, Trouble> {
        let home = root.join("home");
        std::fs::create_dir(&home)?;
        let config = "[user]\n\tname = Demo\n\temail = demo@localhost\n[gc]\n\tauto = 0\n";
        std::fs::write(home.join(".gitconfig"), config)?;
        Ok(Self { root: root.to_path_buf(), interrupt })
    }

    fn command(&self, dir: &Path, program: impl AsRef<OsStr>, mark: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place of the demo that starts a program")]
        let mut command = Command::new(program);
        command.env_clear().current_dir(dir).stdin(Stdio::null());
        for kept in ["PATH", "TMPDIR", "LD_LIBRARY_PATH", "SIGNALBOX_GIT"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        let home = self.root.join("home");
        command.env("GIT_CONFIG_GLOBAL", home.join(".gitconfig")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("HOME", home).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        // The same commits in both repositories.
        command.env("GIT_AUTHOR_DATE", "2026-01-05T09:00:00Z").env("CHECKED", self.checked());
        command.env(MARK, self.mark(mark));
        command
    }

    fn mark(&self, of: &str) -> String {
        format!("{}#{of}", self.root.display())
    }

    /// Where every check writes which tree it found green.
    pub(super) fn checked(&self) -> PathBuf {
        self.root.join("checked")
    }

    /// Whether such a program can be started.
    pub(super) fn has(&self, program: &str) -> bool {
        self.command(&self.root, program, "").arg("--version").output().is_ok()
    }

    /// Runs a program to its end: whether it succeeded, and what it printed.
    pub(super) fn run(
        &self,
        dir: &Path,
        program: impl AsRef<OsStr>,
        args: &[&str],
    ) -> Result<(bool, String), Trouble> {
        self.heed()?;
        let name = program.as_ref().to_string_lossy().into_owned();
        let out = self
            .command(dir, program, "")
            .args(args)
            .process_group(0)
            .output()
            .map_err(|e| Trouble::Failed(format!("{name} cannot be started: {e}")))?;
        let text = if out.status.success() { &out.stdout } else { &out.stderr };
        Ok((out.status.success(), String::from_utf8_lossy(text).trim_end().to_owned()))
    }

    /// Runs git, which must succeed. Gives what it printed.
    pub(super) fn git(&self, dir: &Path, args: &[&str]) -> Result<String, Trouble> {
        match self.run(dir, "git", args)? {
            (true, text) => Ok(text),
            (false, text) => Err(Trouble::Failed(format!("git {}: {text}", args.join(" ")))),
        }
    }

    /// Starts a program that runs beside the demo.
    pub(super) fn start(
        &self,
        dir: &Path,
        program: impl AsRef<OsStr>,
        args: &[&str],
        hold: Option<&Path>,
    ) -> Result<Running<'_>, Trouble> {
        self.heed()?;
        let mark = format!("{}.", NEXT.fetch_add(1, Ordering::Relaxed));
        let mut command = self.command(dir, program, &mark);
        command.args(args).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(hold) = hold {
            command.env("HOLD", hold);
        }
        let mut child = command.spawn()?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stdout.take().map(|out| {
            let lines = Arc::clone(&lines);
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            })
        });
        if let Some(mut err) = child.stderr.take() {
            // Only read so that the program never waits for a reader.
            std::thread::spawn(move || err.read_to_end(&mut Vec::new()));
        }
        Ok(Running { programs: self, child, mark: self.mark(&mark), lines, reader })
    }

    /// An error if a person asked the demo to stop.
    fn heed(&self) -> Result<(), Trouble> {
        self.interrupt.signal().map_or(Ok(()), |signal| Err(Trouble::Stopped(signal)))
    }

    /// Waits until something holds, at most until `deadline`: whether it does.
    pub(super) fn wait(
        &self,
        most: Duration,
        mut holds: impl FnMut() -> Result<bool, Trouble>,
    ) -> Result<bool, Trouble> {
        let deadline = Instant::now() + most;
        loop {
            self.heed()?;
            if holds()? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until something holds that must.
    pub(super) fn until(
        &self,
        what: &str,
        holds: impl FnMut() -> Result<bool, Trouble>,
    ) -> Result<(), Trouble> {
        if self.wait(PATIENCE, holds)? {
            return Ok(());
        }
        Err(Trouble::Failed(format!("{what} did not happen within {} s", PATIENCE.as_secs())))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        kill_marked(&self.mark(""));
    }
}

/// A program that runs. It is killed, with all that it started, when this is dropped.
pub(super) struct Running<'a> {
    programs: &'a Programs,
    child: Child,
    mark: String,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Running<'_> {
    /// What it has printed so far.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it has ended.
    pub(super) fn ended(&mut self) -> Result<bool, Trouble> {
        self.child.try_wait().map(|status| status.is_some()).map_err(Trouble::from)
    }

    /// Waits for its end: its exit code, and what it printed.
    pub(super) fn end(mut self) -> Result<(i32, Vec<String>), Trouble> {
        let programs = self.programs;
        programs.until("the end of a program", || self.ended())?;
        if let Some(reader) = self.reader.take() {
            // A reader that panicked has ended too.
            let _ = reader.join();
        }
        let code = self.child.wait()?.code().unwrap_or(-1);
        Ok((code, self.lines()))
    }

    /// Stops it and all that it started, as a closed lid would.
    pub(super) fn freeze(&self) {
        for pid in marked(&self.mark) {
            let _ = kill_process(pid, Signal::STOP);
        }
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::STOP);
    }

    /// Lets it go on.
    pub(super) fn thaw(&self) {
        for pid in marked(&self.mark) {
            let _ = kill_process(pid, Signal::CONT);
        }
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::CONT);
    }

    /// Kills it and all that it started.
    pub(super) fn kill(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        kill_marked(&self.mark);
        let _ = self.child.wait();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
        }
    }
}

/// Kills until nothing with that mark is left: what is killed may just have started something.
fn kill_marked(mark: &str) {
    for _ in 0..100 {
        let pids = marked(mark);
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The live processes whose environment has a mark that begins so. Elsewhere than on Linux none is seen, and
/// process groups have to do.
fn marked(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let environ = std::fs::read(entry.path().join("environ")).ok()?;
            environ.split(|byte| *byte == 0).any(|v| v.starts_with(wanted.as_bytes())).then_some(pid)
        })
        .collect()
}
