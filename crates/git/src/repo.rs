//! A repository: where it is, and what can be asked of it without looking into commits.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI32;
use std::time::Duration;

use bstr::{BString, ByteSlice};

use crate::environment::Env;
use crate::process::{Call, Program};
use crate::{GitError, Oid, TrunkError, redact};

/// What is checked out in a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch, by its short name.
    Branch(String),
    /// A commit without a branch.
    Detached(Oid),
    /// A branch (by its short name) that has no commit yet.
    Unborn(String),
}

/// A repository, found from a directory inside it. Cheap to clone; may be used from several threads.
#[derive(Clone, Debug)]
pub struct Repo {
    program: Program,
    version: (u32, u32, u32),
    common_dir: PathBuf,
    git_dir: PathBuf,
    worktree: Option<PathBuf>,
    hex_len: usize,
    stop: Option<Arc<AtomicI32>>,
    /// Where what a push brings is kept until its hooks have let it in: variables for reading calls.
    pub(crate) incoming: Vec<(OsString, OsString)>,
}

/// Where a remote is. A URL may carry a password, so each is shown redacted only.
#[derive(Clone, PartialEq, Eq)]
pub struct Urls {
    read: Vec<String>,
    push: Vec<String>,
}

impl Urls {
    /// What is read, redacted; none where the remote has no URL.
    #[must_use]
    pub fn read(&self) -> Option<String> {
        self.read.first().map(|url| redact(url))
    }

    /// All that is pushed to, redacted.
    #[must_use]
    pub fn push(&self) -> Vec<String> {
        self.push.iter().map(|url| redact(url)).collect()
    }

    /// The one URL that is pushed to, if it is not the one that is read.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        self.push.first().filter(|url| self.read.first() != Some(url)).map(String::as_str)
    }
}

impl std::fmt::Debug for Urls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Urls").field("read", &self.read()).field("push", &self.push()).finish()
    }
}

const OLDEST: (u32, u32, u32) = (2, 39, 0);

impl Repo {
    /// Finds the repository that holds a directory, with the git program of [`Program::from_env`].
    ///
    /// # Errors
    /// [`GitError::TooOld`] below git 2.39; [`GitError::NotARepository`] if there is none or git refuses it (its
    /// owner is another user and `safe.directory` does not name it).
    pub fn discover(cwd: &Path) -> Result<Self, GitError> {
        Self::discover_with(cwd, &Program::from_env())
    }

    /// Like [`Repo::discover`], with a given git program.
    ///
    /// # Errors
    /// As [`Repo::discover`].
    pub fn discover_with(cwd: &Path, program: &Program) -> Result<Self, GitError> {
        Self::found(cwd, program, false)
    }

    /// `vetted`: git itself has found this repository usable before.
    pub(crate) fn found(cwd: &Path, program: &Program, vetted: bool) -> Result<Self, GitError> {
        let version = version(program)?;
        let ask = |what: &[&str]| {
            let mut call = Call::new(program, Env::User, cwd).arg("rev-parse").args(what);
            call.vetted = vetted;
            call.run()
        };
        let common = ask(&["--path-format=absolute", "--git-common-dir"])?;
        if !common.success() {
            return Err(GitError::NotARepository { path: cwd.to_path_buf(), text: common.text() });
        }
        let git_dir = ask(&["--absolute-git-dir"])?;
        let top = ask(&["--path-format=absolute", "--show-toplevel"])?;
        let format = ask(&["--show-object-format"])?;
        let hex_len = match format.stdout.trim_ascii() {
            b"sha1" => 40,
            b"sha256" => 64,
            other => {
                return Err(GitError::unreadable(
                    "rev-parse",
                    format!("object format {:?}", other.as_bstr()),
                ));
            }
        };
        let worktree =
            top.success().then(|| path_line(&top.stdout)).filter(|path| !path.as_os_str().is_empty());
        Ok(Self {
            program: program.clone(),
            version,
            common_dir: path_line(&common.stdout),
            git_dir: path_line(&git_dir.stdout),
            worktree,
            hex_len,
            stop: None,
            incoming: Vec::new(),
        })
    }

    /// The same repository, whose calls that only read from a remote end with [`GitError::Interrupted`] once the
    /// number is not 0. A push is never stopped: it may have been sent.
    #[must_use]
    pub fn stopped_by(self, stop: Arc<AtomicI32>) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// The same repository, whose calls nothing stops.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { stop: None, ..self }
    }

    /// The version of the git program.
    #[must_use]
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    /// The directory that all worktrees share, absolute.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The git directory of the worktree that the repository was found from, absolute.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The top of the worktree that the repository was found from, absolute; none in a bare repository or inside
    /// a git directory.
    #[must_use]
    pub fn worktree(&self) -> Option<&Path> {
        self.worktree.as_deref()
    }

    /// How many digits an [`Oid`] of this repository has: 40 or 64.
    #[must_use]
    pub fn hash_length(&self) -> usize {
        self.hex_len
    }

    /// The object name that git writes where there is no object.
    pub(crate) fn zero(&self) -> String {
        "0".repeat(self.hex_len)
    }

    /// Where the user's git would stand: the worktree if there is one, else the common directory.
    pub(crate) fn home(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(&self.common_dir)
    }

    /// A call that reads trees or writes objects.
    pub(crate) fn content(&self) -> Call {
        let mut call = Call::new(&self.program, Env::Content, &self.common_dir);
        call.vars.extend(self.incoming.iter().cloned());
        call
    }

    /// A call in one of the user's directories, under the user's configuration.
    pub(crate) fn user(&self, dir: &Path) -> Call {
        Call::new(&self.program, Env::User, dir)
    }

    /// A call that talks to a remote. Relative URLs are relative to where the user's git would stand.
    pub(crate) fn remote(&self) -> Call {
        Call::new(&self.program, Env::Remote, self.home())
    }

    /// A call that only reads from a remote.
    pub(crate) fn reading(&self) -> Call {
        Call { stop: self.stop.clone(), ..self.remote() }
    }

    /// What is checked out in a worktree.
    ///
    /// # Errors
    /// [`GitError::Unreadable`] if the branch's name is no UTF-8; or if git fails there.
    pub fn head(&self, worktree: &Path) -> Result<Head, GitError> {
        let symbolic = self.user(worktree).args(["symbolic-ref", "-q", "HEAD"]).run()?;
        let commit = self.user(worktree).args(["rev-parse", "--verify", "-q", "HEAD^{commit}"]).run()?;
        let commit = commit.success().then(|| oid_line(&commit.stdout, "rev-parse")).transpose()?;
        let name = symbolic.stdout.trim_ascii().to_str();
        let name = name.map_err(|_| GitError::unreadable("symbolic-ref", "a name that is no UTF-8"))?;
        let branch = name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
        match (symbolic.success(), commit) {
            (true, Some(_)) => Ok(Head::Branch(branch)),
            (true, None) => Ok(Head::Unborn(branch)),
            (false, Some(commit)) => Ok(Head::Detached(commit)),
            (false, None) => Err(symbolic.failed("symbolic-ref")),
        }
    }

    /// The commit that a revision names (a full ref name, or anything else that git understands), if it names one
    /// whose object is here.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn resolve(&self, revision: &str) -> Result<Option<Oid>, GitError> {
        let call = self.content().args(["rev-parse", "--verify", "-q", "--end-of-options"]);
        let out = call.arg(format!("{revision}^{{commit}}")).run()?;
        if out.success() { oid_line(&out.stdout, "rev-parse").map(Some) } else { Ok(None) }
    }

    /// Whether history is cut off here, so that merge bases can be silently wrong.
    ///
    /// # Errors
    /// If git fails.
    pub fn is_shallow(&self) -> Result<bool, GitError> {
        Ok(self.content().args(["rev-parse", "--is-shallow-repository"]).line()? == "true")
    }

    /// The names of the configured remotes.
    ///
    /// # Errors
    /// If git fails.
    pub fn remotes(&self) -> Result<Vec<String>, GitError> {
        let out = self.user(self.home()).arg("remote").stdout()?;
        Ok(out.lines().map(|name| name.to_str_lossy().into_owned()).collect())
    }

    /// The branch (short name) that the remote itself calls its default, asked of the remote.
    ///
    /// # Errors
    /// [`TrunkError::Unreachable`] if the remote cannot be read.
    pub fn remote_head_branch(&self, remote: &str) -> Result<Option<String>, TrunkError> {
        let call = self.reading().limit(Duration::from_secs(60));
        let call = call.args(["ls-remote", "--symref", "--end-of-options", remote, "HEAD"]);
        let out = reached(call)?;
        let text = String::from_utf8_lossy(&out);
        let head = text.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
        Ok(head.and_then(|name| name.strip_prefix("refs/heads/")).map(str::to_owned))
    }

    /// The branch (short name) that this repository remembers as the remote's default
    /// (`refs/remotes/<remote>/HEAD`), without asking the remote.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn remembered_head_branch(&self, remote: &str) -> Result<Option<String>, GitError> {
        let call = self.content().args(["symbolic-ref", "-q", "--end-of-options"]);
        let out = call.arg(format!("refs/remotes/{remote}/HEAD")).run()?;
        let text = String::from_utf8_lossy(&out.stdout);
        Ok(text.trim().strip_prefix(&format!("refs/remotes/{remote}/")).map(str::to_owned))
    }

    /// The URLs that a remote is read from and pushed to, as git makes them of the user's configuration. All
    /// empty where `remote` is no remote's name.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn urls(&self, remote: &str) -> Result<Urls, GitError> {
        let ask = |options: &[&str]| {
            let call = self.user(self.home()).args(["remote", "get-url"]).args(options);
            let out = call.args(["--end-of-options", remote]).run()?;
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            Ok(if out.success() { text.lines().map(str::to_owned).collect() } else { Vec::new() })
        };
        Ok(Urls { read: ask(&[])?, push: ask(&["--push", "--all"])? })
    }

    /// A value of the user's git configuration, the last one if there are several.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn config(&self, key: &str) -> Result<Option<String>, GitError> {
        let out = self.user(self.home()).args(["config", "-z", "--get", key]).run()?;
        let value = String::from_utf8_lossy(&out.stdout).trim_end_matches('\0').to_owned();
        Ok(out.success().then_some(value))
    }

    /// Paths of tracked files that differ from the commit checked out in a worktree, or from its index.
    ///
    /// A submodule counts if another commit of it is checked out or staged (a landing would leave that behind),
    /// and not for changes inside it, which belong to another repository. Untracked files do not count.
    ///
    /// # Errors
    /// If git fails there.
    pub fn tracked_changes(&self, worktree: &Path) -> Result<Vec<BString>, GitError> {
        self.status(worktree, "dirty")
    }

    pub(crate) fn status(&self, worktree: &Path, ignore_submodules: &str) -> Result<Vec<BString>, GitError> {
        let call = self.user(worktree).config("status.relativePaths=false");
        let call = call.args(["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames"]);
        let out = call.arg(format!("--ignore-submodules={ignore_submodules}")).stdout()?;
        Ok(fields(&out).filter_map(|entry| entry.get(3..)).map(BString::from).collect())
    }
}

/// The version of a git program.
///
/// # Errors
/// [`GitError::TooOld`] below 2.39.
fn version(program: &Program) -> Result<(u32, u32, u32), GitError> {
    let mut call = Call::new(program, Env::Content, Path::new("/")).arg("version");
    call.vetted = false;
    let text = call.line()?;
    let found = text.strip_prefix("git version ").unwrap_or(&text);
    let mut numbers = found.split(['.', ' ', '-']).map_while(|part| part.parse::<u32>().ok());
    let mut next = || numbers.next().unwrap_or(0);
    let version = (next(), next(), next());
    if version < OLDEST { Err(GitError::TooOld { found: found.to_owned() }) } else { Ok(version) }
}

/// Runs a call that reads from a remote.
pub(crate) fn reached(call: Call) -> Result<Vec<u8>, TrunkError> {
    match call.stdout() {
        Ok(out) => Ok(out),
        Err(GitError::Failed { text, .. }) => Err(TrunkError::Unreachable { text }),
        Err(error @ GitError::TimedOut { .. }) => Err(TrunkError::Unreachable { text: error.to_string() }),
        Err(error) => Err(error.into()),
    }
}

/// The fields of an output that git separates by NUL.
pub(crate) fn fields(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.strip_suffix(b"\0").unwrap_or(out).split(|b| *b == 0).filter(move |_| !out.is_empty())
}

pub(crate) fn oid_line(out: &[u8], command: &str) -> Result<Oid, GitError> {
    oid(out.trim_ascii(), command)
}

pub(crate) fn oid(bytes: &[u8], command: &str) -> Result<Oid, GitError> {
    let text =
        bytes.to_str().map_err(|_| GitError::unreadable(command, "bytes where an object name stands"))?;
    Oid::parse(text)
        .map_err(|_| GitError::unreadable(command, format!("{text:?} where an object name stands")))
}

fn path_line(out: &[u8]) -> PathBuf {
    let line = out.strip_suffix(b"\n").unwrap_or(out);
    line.to_path().map(Path::to_path_buf).unwrap_or_default()
}
