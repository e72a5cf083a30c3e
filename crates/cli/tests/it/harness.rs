//! A world for each test: real git, real processes, a home of its own, and a clock that the test moves.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long anything may take before a test counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a home, in which repositories stand. Everything in it goes when it is dropped.
pub struct World {
    dir: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

/// A worktree (or a bare repository) of a world.
#[derive(Clone)]
pub struct Tree {
    pub path: PathBuf,
    env: BTreeMap<String, String>,
    /// Another user, and a signalbox that this one can run.
    user: Option<(u32, PathBuf)>,
}

#[allow(dead_code, reason = "not every helper is used by every part")]
impl World {
    /// A world on the machine's own clock.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("signalbox-test-").tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let config = "[user]\n\tname = Tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n";
        std::fs::write(home.join(".gitconfig"), config).unwrap();
        let home = home.to_str().unwrap().to_owned();
        let env = [
            ("HOME", home.as_str()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", &format!("{home}/.gitconfig")),
            ("NO_COLOR", "1"),
            ("TZ", "UTC"),
            ("LC_ALL", "C.UTF-8"),
        ];
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { dir, env }
    }

    /// A world whose clock stands still until [`World::advance`] moves it.
    pub fn with_clock() -> Self {
        let mut world = Self::new();
        let clock = world.path("clock");
        world.env.insert("SIGNALBOX_CLOCK".into(), clock.to_str().unwrap().into());
        world.set_clock(1_800_000_000_000);
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn set_clock(&self, now: i64) {
        let new = self.path("clock.new");
        std::fs::write(&new, now.to_string()).unwrap();
        std::fs::rename(new, self.path("clock")).unwrap();
    }

    pub fn now(&self) -> i64 {
        std::fs::read_to_string(self.path("clock")).unwrap().parse().unwrap()
    }

    /// Moves the clock of every process of this world.
    pub fn advance(&self, ms: i64) {
        self.set_clock(self.now() + ms);
    }

    pub fn tree(&self, path: PathBuf) -> Tree {
        Tree { path, env: self.env.clone(), user: None }
    }

    /// A repository with one commit (`README`) on `main`, not set up.
    pub fn repo(&self, name: &str) -> Tree {
        let tree = self.tree(self.path(name));
        std::fs::create_dir(&tree.path).unwrap();
        tree.git(&["init", "-q"]);
        tree.commit("README", "hello\n", "first");
        tree
    }

    /// A bare remote with one commit on `main`.
    pub fn bare(&self, name: &str) -> Tree {
        let seed = self.repo(&format!("{name}-seed"));
        let path = self.path(name);
        seed.git(&["clone", "-q", "--bare", ".", path.to_str().unwrap()]);
        self.tree(path)
    }

    /// A clone of a remote.
    pub fn clone_of(&self, remote: &Tree, name: &str) -> Tree {
        let path = self.path(name);
        remote.git(&["clone", "-q", remote.path.to_str().unwrap(), path.to_str().unwrap()]);
        self.tree(path)
    }

    /// A gate that a check can wait at: see [`Gate::command`].
    pub fn gate(&self, name: &str) -> Gate {
        Gate { path: self.path(name) }
    }
}

#[allow(dead_code, reason = "not every helper is used by every part")]
impl Tree {
    fn env_of(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("GIT_") || name.starts_with("SIGNALBOX_") && name != "SIGNALBOX_GIT" {
                command.env_remove(name);
            }
        }
        command.envs(&self.env).current_dir(&self.path);
    }

    /// The home of this tree's user.
    pub fn home(&self) -> PathBuf {
        PathBuf::from(&self.env["HOME"])
    }

    /// The same worktree with another variable in its processes' environment.
    pub fn env(&self, name: &str, value: impl AsRef<str>) -> Tree {
        let mut tree = self.clone();
        tree.env.insert(name.into(), value.as_ref().into());
        tree
    }

    /// The same worktree, where programs are run by another user, who can run that signalbox.
    pub fn as_user(&self, user: u32, binary: &Path) -> Tree {
        Tree { user: Some((user, binary.to_owned())), ..self.clone() }
    }

    /// The signalbox that is run here.
    pub fn binary(&self) -> PathBuf {
        let own = || PathBuf::from(env!("CARGO_BIN_EXE_signalbox"));
        self.user.as_ref().map_or_else(own, |(_, binary)| binary.clone())
    }

    /// The same repository, from a folder of it.
    pub fn below(&self, folder: &str) -> Tree {
        Tree { path: self.path.join(folder), ..self.clone() }
    }

    /// A program, run here.
    #[expect(clippy::disallowed_methods, reason = "tests start programs")]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match &self.user {
            None => Command::new(program),
            Some((user, _)) => {
                let mut command = Command::new("setpriv");
                let ids = [format!("--reuid={user}"), format!("--regid={user}")];
                command.args(ids).arg("--clear-groups").arg(program.as_ref());
                command
            }
        };
        self.env_of(&mut command);
        command
    }

    /// Runs git; it must succeed. Gives what it printed, without the last line break.
    pub fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let out = self.command("git").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).trim_end().to_owned();
        let args: Vec<_> = args.iter().map(|a| a.as_ref().to_owned()).collect();
        assert!(out.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&out.stderr));
        text
    }

    /// Whether git succeeds.
    pub fn git_ok<S: AsRef<OsStr>>(&self, args: &[S]) -> bool {
        self.command("git").args(args).output().unwrap().status.success()
    }

    pub fn write(&self, file: &str, content: &str) {
        let path = self.path.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path.join(file)).unwrap()
    }

    /// Writes a file and commits it; gives the commit.
    pub fn commit(&self, file: &str, content: &str, message: &str) -> String {
        self.write(file, content);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A linked worktree on a new branch of that name, beside this one.
    pub fn worktree(&self, branch: &str) -> Tree {
        let name =
            format!("{}-{}", self.path.file_name().unwrap().to_str().unwrap(), branch.replace('/', "-"));
        let path = self.path.parent().unwrap().join(name);
        self.git(&["worktree", "add", "-q", "-b", branch, path.to_str().unwrap()]);
        Tree { path, ..self.clone() }
    }

    /// A new branch from `main` with one commit that adds a file of the branch's own.
    pub fn branch(&self, branch: &str) -> String {
        self.git(&["switch", "-q", "-c", branch, "main"]);
        let file = format!("file-{}", branch.replace('/', "-"));
        let commit = self.commit(&file, &format!("{branch}\n"), &format!("work on {branch}"));
        self.git(&["switch", "-q", "main"]);
        commit
    }

    /// The signalbox of this build.
    pub fn signalbox<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.command(self.binary());
        command.args(args).stdin(Stdio::null());
        command
    }

    /// Runs signalbox to its end, with `--json`.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Done {
        self.start(args).end()
    }

    /// Runs signalbox, which must succeed.
    pub fn ok<S: AsRef<OsStr>>(&self, args: &[S]) -> Done {
        let done = self.run(args);
        assert_eq!(done.exit, Some(0), "{}", done.all());
        done
    }

    /// Runs signalbox as a person would, without `--json`: exit code, standard output, standard error.
    pub fn people<S: AsRef<OsStr>>(&self, args: &[S]) -> (i32, String, String) {
        let out = self.signalbox(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
    }

    /// Starts signalbox with `--json`, in a process group of its own.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Running {
        let mut command = self.signalbox(&["--json"]);
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Running::of(command.spawn().unwrap())
    }

    /// Starts a command that was put together elsewhere; both its outputs must be piped.
    pub fn spawn(&self, mut command: Command) -> Running {
        Running::of(command.process_group(0).spawn().unwrap())
    }

    /// The commits of a branch's first-parent line, the newest first.
    pub fn first_parent(&self, branch: &str) -> Vec<String> {
        self.git(&["rev-list", "--first-parent", branch]).lines().map(str::to_owned).collect()
    }

    /// The tickets in the trailers of a branch's first-parent line, the oldest first.
    pub fn tickets(&self, branch: &str) -> Vec<String> {
        let format = "--format=%(trailers:key=Signalbox-Ticket,valueonly,separator=)";
        let text = self.git(&["log", "--first-parent", "--reverse", format, branch]);
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// The state folder of this repository.
    pub fn state(&self) -> PathBuf {
        PathBuf::from(self.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]))
            .join("signalbox")
    }

    /// The subjects of what is kept below `refs/signalbox/keep/`, of open intents and of live locks: what a
    /// finished passage must not leave behind.
    pub fn leftovers(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .git(&["for-each-ref", "--format=%(refname)", "refs/signalbox/keep"])
            .lines()
            .map(str::to_owned)
            .collect();
        for dir in ["intents", "live"] {
            for entry in std::fs::read_dir(self.state().join(dir)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name != "settled.jsonl" {
                    found.push(format!("{dir}/{name}"));
                }
            }
        }
        found
    }
}

/// Something a check waits at until the test opens it.
pub struct Gate {
    path: PathBuf,
}

#[allow(dead_code, reason = "not every helper is used by every part")]
impl Gate {
    /// A shell command that waits until the gate is open, or its world is gone.
    pub fn command(&self) -> String {
        let world = self.path.parent().unwrap().display();
        format!("until [ -e '{}' ] || [ ! -d '{world}' ]; do sleep 0.02; done", self.path.display())
    }

    pub fn open(&self) {
        std::fs::write(&self.path, "").unwrap();
    }

    pub fn close(&self) {
        std::fs::remove_file(&self.path).unwrap();
    }
}

/// A signalbox that runs.
pub struct Running {
    pub child: Child,
    lines: Receiver<String>,
    seen: Vec<Value>,
    stderr: Option<std::thread::JoinHandle<String>>,
}

/// A signalbox that has ended.
#[derive(Debug)]
pub struct Done {
    /// Its exit code; none if a signal ended it.
    pub exit: Option<i32>,
    pub status: ExitStatus,
    pub events: Vec<Value>,
    pub stderr: String,
}

#[allow(dead_code, reason = "not every helper is used by every part")]
impl Done {
    /// The outcome: the last object.
    pub fn end(&self) -> &Value {
        self.events.last().unwrap_or(&Value::Null)
    }

    pub fn code(&self) -> &str {
        self.end()["code"].as_str().unwrap_or("")
    }

    /// Everything, for a failed assertion.
    pub fn all(&self) -> String {
        let events: Vec<String> = self.events.iter().map(ToString::to_string).collect();
        format!("{:?}\n{}\n{}", self.status, events.join("\n"), self.stderr)
    }
}

#[allow(dead_code, reason = "not every helper is used by every part")]
impl Running {
    fn of(mut child: Child) -> Self {
        let stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Self { child, lines, seen: Vec::new(), stderr: Some(stderr) }
    }

    fn next(&mut self, deadline: Instant) -> Option<Value> {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = self.lines.recv_timeout(left).ok()?;
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        self.seen.push(value.clone());
        Some(value)
    }

    /// Waits for an event that the predicate knows.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.next(deadline) {
                Some(event) if wanted(&event) => return event,
                Some(_) => {}
                None => panic!("{what} did not come; seen: {:#?}", self.seen),
            }
        }
    }

    /// Waits for an event of that name.
    pub fn event(&mut self, name: &str) -> Value {
        self.until(name, |event| event["event"] == name)
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Sends a signal again and again until the process ends: a repeat that comes too soon counts as the first.
    pub fn insist(&mut self, signal: rustix::process::Signal) {
        let deadline = Instant::now() + PATIENCE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            self.signal(signal);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    /// Kills the process and everything in its process group.
    pub fn kill_group(&self) {
        rustix::process::kill_process_group(self.pid(), rustix::process::Signal::KILL).unwrap();
    }

    /// Waits for its end. What was printed before is in the result.
    pub fn end(self) -> Done {
        self.end_within(PATIENCE)
    }

    /// Waits for its end, which may take this long.
    pub fn end_within(mut self, patience: Duration) -> Done {
        let deadline = Instant::now() + patience;
        while self.next(deadline).is_some() {}
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() >= deadline {
                self.kill_group();
                panic!("it does not end; seen: {:#?}", self.seen);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        // A check that outlives its passage may hold standard error open: it is not waited for then.
        let stderr = match self.stderr.take() {
            Some(thread) if status.code().is_some() => thread.join().unwrap_or_default(),
            _ => String::new(),
        };
        Done { exit: status.code(), status, events: std::mem::take(&mut self.seen), stderr }
    }
}

impl Drop for Running {
    /// What a test does not end itself does not outlive it.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process_group(self.pid(), rustix::process::Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Waits until something holds.
#[allow(dead_code, reason = "not every helper is used by every part")]
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come to hold");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Makes a file executable.
#[allow(dead_code, reason = "not every helper is used by every part")]
pub fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
