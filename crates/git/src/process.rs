//! How the git program is started: the one place that may.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::time::Duration;

use crate::GitError;
use crate::environment::Env;

/// Which git program runs, and what its *remote* and *user* environments hold beside the process's own.
#[derive(Clone, Debug)]
pub struct Program {
    path: OsString,
    extra: Vec<(OsString, OsString)>,
}

impl Program {
    /// The program that `SIGNALBOX_GIT` names, else `git` as the search path finds it.
    #[must_use]
    pub fn from_env() -> Self {
        let named = std::env::var_os("SIGNALBOX_GIT").filter(|value| !value.is_empty());
        Self::at(named.unwrap_or_else(|| "git".into()))
    }

    /// The program at this path or of this name.
    #[must_use]
    pub fn at(path: impl Into<OsString>) -> Self {
        Self { path: path.into(), extra: Vec::new() }
    }

    /// Sets a variable for git in the *remote* and *user* environments (for `HOME` or `GIT_CONFIG_GLOBAL` in
    /// tests, for instance). The *content* environment never sees it.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.extra.push((name.into(), value.into()));
        self
    }
}

/// What a call of git reads on its standard input.
#[derive(Debug)]
pub(crate) enum Input {
    /// Nothing.
    Null,
    /// These bytes.
    Bytes(Vec<u8>),
    /// An open file that git inherits (and with it the file's locks).
    Inherit(File),
}

/// One call of git, ready to be started.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) program: Program,
    pub(crate) env: Env,
    pub(crate) dir: PathBuf,
    /// Whether the directory has been found usable before, so that git need not ask whose it is.
    pub(crate) vetted: bool,
    pub(crate) top: Vec<OsString>,
    pub(crate) args: Vec<OsString>,
    pub(crate) vars: Vec<(OsString, OsString)>,
    pub(crate) input: Input,
    pub(crate) limit: Duration,
    /// Ends the call early once it is not 0.
    pub(crate) stop: Option<Arc<AtomicI32>>,
}

/// The time limit of calls that only touch local files.
pub(crate) const LOCAL_LIMIT: Duration = Duration::from_secs(300);

impl Call {
    pub(crate) fn new(program: &Program, env: Env, dir: &Path) -> Self {
        Self {
            program: program.clone(),
            env,
            dir: dir.to_path_buf(),
            vetted: true,
            top: Vec::new(),
            args: Vec::new(),
            vars: Vec::new(),
            input: Input::Null,
            limit: LOCAL_LIMIT,
            stop: None,
        }
    }

    /// Sets a configuration value for this call.
    pub(crate) fn config(mut self, setting: &str) -> Self {
        self.top.push("-c".into());
        self.top.push(setting.into());
        self
    }

    /// Makes what the call writes survive a loss of power: objects and refs are flushed to the disk.
    pub(crate) fn durable(self) -> Self {
        self.config("core.fsync=loose-object,pack,pack-metadata,reference")
    }

    /// Adds an option of the git program itself, which stands before the subcommand.
    pub(crate) fn top(mut self, option: impl Into<OsString>) -> Self {
        self.top.push(option.into());
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    pub(crate) fn var(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.vars.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Bytes(bytes.into());
        self
    }

    pub(crate) fn inherit(mut self, file: Option<File>) -> Self {
        if let Some(file) = file {
            self.input = Input::Inherit(file);
        }
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The subcommand, for messages.
    pub(crate) fn name(&self) -> String {
        self.args.first().map_or_else(String::new, |a| a.to_string_lossy().into_owned())
    }

    /// Starts git in a process group of its own, with pipes for its outputs and the given standard input.
    pub(crate) fn spawn(&self, stdin: Stdio) -> Result<Child, GitError> {
        #[expect(clippy::disallowed_methods, reason = "this is the one module that starts the git program")]
        let mut command = Command::new(&self.program.path);
        for (name, _) in std::env::vars_os().filter(|(name, _)| self.env.scrubs(name)) {
            command.env_remove(name);
        }
        if self.env != Env::Content {
            command.envs(self.program.extra.iter().map(|(k, v)| (k, v)));
        }
        command.envs(self.env.sets()).envs(self.vars.iter().map(|(k, v)| (k, v)));
        for setting in self.env.configures() {
            command.arg("-c").arg(setting);
        }
        if self.vetted {
            command.args(["-c", "safe.directory=*", "-c", "safe.bareRepository=all"]);
        }
        command
            .args(&self.top)
            .args(&self.args)
            .current_dir(&self.dir)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| GitError::Start {
                program: self.program.path.to_string_lossy().into_owned(),
                source,
            })
    }
}
