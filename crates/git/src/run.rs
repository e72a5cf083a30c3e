//! Running a started git to its end: collecting its outputs within a limit of size and time, or talking to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::{Call, Input};
use crate::{GitError, redact};

const STDOUT_CAP: usize = 64 << 20;
const STDERR_CAP: usize = 1 << 20;
/// Between asking git's process group to stop and killing it.
const TERM_GRACE: Duration = Duration::from_secs(5);
/// The same for a call that only reads and was asked to stop.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// How long outputs are still read after git has ended: a helper that it left running may hold them open.
const DRAIN: Duration = Duration::from_millis(500);

/// How a call of git ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Output {
    pub(crate) fn success(&self) -> bool {
        self.status.success()
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// What git said to people, redacted.
    pub(crate) fn text(&self) -> String {
        words(&self.stderr)
    }

    pub(crate) fn failed(&self, command: &str) -> GitError {
        let end = match self.code() {
            Some(code) => format!("status {code}"),
            None => format!("{}", self.status),
        };
        GitError::Failed { command: command.to_owned(), end, text: self.text() }
    }
}

fn words(stderr: &[u8]) -> String {
    redact(String::from_utf8_lossy(stderr).trim())
}

impl Call {
    /// Runs git to its end, whatever that is.
    pub(crate) fn run(mut self) -> Result<Output, GitError> {
        let command = self.name();
        let limit = self.limit;
        let input = std::mem::replace(&mut self.input, Input::Null);
        let (stdio, bytes) = match input {
            Input::Null => (Stdio::null(), None),
            Input::Inherit(file) => (Stdio::from(file), None),
            Input::Bytes(bytes) => (Stdio::piped(), Some(bytes)),
        };
        let mut child = self.spawn(stdio)?;
        if let (Some(bytes), Some(mut stdin)) = (bytes, child.stdin.take()) {
            // Git that ends early closes the pipe; its exit status tells why, the write error does not.
            thread::spawn(move || drop(stdin.write_all(&bytes)));
        }
        let (sender, ends) = channel();
        let stdout = collect(child.stdout.take(), STDOUT_CAP, sender.clone());
        let stderr = collect(child.stderr.take(), STDERR_CAP, sender);
        let waited = wait(&mut child, &ends, limit, self.stop.as_deref())
            .map_err(|e| GitError::io(format!("waiting for git {command}"), e))?;
        let (stdout, truncated) = stdout.take();
        let (stderr, _) = stderr.take();
        let status = match waited {
            Waited::Ended(status) => status,
            Waited::TooLong => {
                return Err(GitError::TimedOut { command, after: limit, text: words(&stderr) });
            }
            Waited::Stopped => return Err(GitError::Interrupted { command }),
        };
        if truncated {
            return Err(GitError::TooMuchOutput { command });
        }
        Ok(Output { status, stdout, stderr })
    }

    /// Runs git and gives its output.
    ///
    /// # Errors
    /// [`GitError::Failed`] if git did not end with success.
    pub(crate) fn stdout(self) -> Result<Vec<u8>, GitError> {
        let command = self.name();
        let output = self.run()?;
        if output.success() { Ok(output.stdout) } else { Err(output.failed(&command)) }
    }

    /// Like [`Call::stdout`], without the newline at its end, as text.
    pub(crate) fn line(self) -> Result<String, GitError> {
        let out = self.stdout()?;
        let text = String::from_utf8_lossy(&out);
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    /// Starts git to be talked to line by line.
    pub(crate) fn talk(self) -> Result<Talk, GitError> {
        let command = self.name();
        let limit = self.limit;
        let mut child = self.spawn(Stdio::piped())?;
        let (sender, ends) = channel();
        let stderr = collect(child.stderr.take(), STDERR_CAP, sender);
        let (line_sender, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if line_sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Talk { command, stdin: child.stdin.take(), child, lines, stderr, ends, limit })
    }
}

/// A git that is talked to. Dropping it closes its standard input, which ends it.
#[derive(Debug)]
pub(crate) struct Talk {
    command: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Collected,
    ends: Receiver<()>,
    limit: Duration,
}

impl Talk {
    /// Says something and waits for one line; none if git has ended or does not answer in time.
    pub(crate) fn ask(&mut self, words: &str) -> Option<String> {
        let stdin = self.stdin.as_mut()?;
        stdin.write_all(words.as_bytes()).and_then(|()| stdin.flush()).ok()?;
        self.lines.recv_timeout(self.limit).ok()
    }

    /// Closes git's standard input and waits for its end.
    pub(crate) fn finish(&mut self) -> Result<(bool, String), GitError> {
        self.stdin = None;
        let waited = wait(&mut self.child, &self.ends, self.limit, None)
            .map_err(|e| GitError::io(format!("waiting for git {}", self.command), e))?;
        let success = matches!(waited, Waited::Ended(status) if status.success());
        Ok((success, words(&self.stderr.take().0)))
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

/// What a reading thread has taken in so far.
#[derive(Debug, Clone, Default)]
struct Collected(Arc<Mutex<(Vec<u8>, bool)>>);

impl Collected {
    fn take(&self) -> (Vec<u8>, bool) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn collect(from: Option<impl Read + Send + 'static>, cap: usize, done: Sender<()>) -> Collected {
    let collected = Collected::default();
    let into = collected.clone();
    if let Some(mut from) = from {
        thread::spawn(move || {
            let mut chunk = vec![0; 64 << 10];
            while let Ok(n @ 1..) = from.read(&mut chunk) {
                let mut held = into.0.lock().unwrap_or_else(PoisonError::into_inner);
                let room = cap.saturating_sub(held.0.len());
                held.0.extend_from_slice(&chunk[..n.min(room)]);
                held.1 |= n > room;
            }
            drop(done);
        });
    }
    collected
}

/// How a wait ended.
#[derive(Debug)]
enum Waited {
    /// The child has ended.
    Ended(ExitStatus),
    /// The limit was reached and the child's group was stopped.
    TooLong,
    /// It was asked to stop, and the child's group was.
    Stopped,
}

/// Waits for the child's end, for the limit, or until `stop` is not 0.
///
/// `ends` is cut off when all outputs have reached their end, which is when git normally ends too.
fn wait(
    child: &mut Child,
    ends: &Receiver<()>,
    limit: Duration,
    stop: Option<&AtomicI32>,
) -> std::io::Result<Waited> {
    let deadline = Instant::now() + limit;
    if let Some(status) = wait_until(child, ends, deadline, stop)? {
        return Ok(Waited::Ended(status));
    }
    let stopped = asked(stop);
    signal(child, Signal::TERM);
    let grace = if stopped { STOP_GRACE } else { TERM_GRACE };
    if wait_until(child, ends, Instant::now() + grace, None)?.is_none() {
        signal(child, Signal::KILL);
        child.wait()?;
    }
    Ok(if stopped { Waited::Stopped } else { Waited::TooLong })
}

fn asked(stop: Option<&AtomicI32>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed) != 0)
}

fn wait_until(
    child: &mut Child,
    ends: &Receiver<()>,
    deadline: Instant,
    stop: Option<&AtomicI32>,
) -> std::io::Result<Option<ExitStatus>> {
    let mut open = true;
    let mut pause = Duration::from_millis(1);
    loop {
        if open {
            let left = deadline.saturating_duration_since(Instant::now());
            open = ends.recv_timeout(left.min(Duration::from_millis(100))) == Err(RecvTimeoutError::Timeout);
        }
        if let Some(status) = child.try_wait()? {
            if open {
                let _ = ends.recv_timeout(DRAIN);
            }
            return Ok(Some(status));
        }
        if Instant::now() >= deadline || asked(stop) {
            return Ok(None);
        }
        if !open {
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// The child has not been waited for yet, so its number cannot have passed to another process.
fn signal(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // The group may have ended in this moment; then there is nothing to stop.
        let _ = kill_process_group(group, signal);
    }
}
