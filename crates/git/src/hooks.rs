//! What a process needs that git started as a hook, and where hooks are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::process::Program;
use crate::repo::{fields, oid};
use crate::{GitError, Oid, Repo};

/// A commit that carries a message of ours: what it follows, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// Its message, as its bytes stand in it.
    pub message: BString,
}

/// A ref that names another ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbolic {
    /// Its full name.
    pub name: BString,
    /// The full name of the ref at the end of the chain.
    pub target: BString,
}

/// Where git keeps what a push brings until its hooks have let it in.
const QUARANTINE: [&str; 3] =
    ["GIT_QUARANTINE_PATH", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"];

/// How many names one call of git is given.
const NAMES: usize = 200;

impl Repo {
    /// The repository whose hook this process is, where git has started it in `cwd`. Objects that a push brings
    /// and that are in quarantine can be read; no ref can be moved meanwhile.
    ///
    /// # Errors
    /// As [`Repo::discover`]. Whose the repository is, git has judged before it started the hook.
    pub fn of_hook(cwd: &Path) -> Result<Self, GitError> {
        let git_dir = env::var_os("GIT_DIR").filter(|dir| !dir.is_empty());
        let at = git_dir.map_or_else(|| cwd.to_path_buf(), |dir| cwd.join(dir));
        let mut repo = Self::found(&at, &Program::from_env(), true)?;
        let quarantine = env::var_os(QUARANTINE[0]).is_some();
        let set = |name: &&str| Some((OsString::from(name), env::var_os(name)?));
        repo.incoming = QUARANTINE.iter().filter(|_| quarantine).filter_map(set).collect();
        Ok(repo)
    }

    /// Whether the repository is bare.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn is_bare(&self) -> Result<bool, GitError> {
        Ok(self.user(self.common_dir()).args(["rev-parse", "--is-bare-repository"]).line()? == "true")
    }

    /// The folder from which git takes this repository's hooks, as the user's configuration says; it may not be
    /// there.
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn hooks_dir(&self) -> Result<PathBuf, GitError> {
        let call =
            self.user(self.home()).args(["config", "-z", "--type=path", "--get-all", "core.hooksPath"]);
        let out = call.run()?;
        // The last value is our own, by which our calls of git run no hooks.
        let values: Vec<&[u8]> = fields(&out.stdout).collect();
        let theirs = values.split_last().and_then(|(_, theirs)| theirs.last());
        Ok(match theirs.and_then(|path| path.to_path().ok()).filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => self.home().join(path),
            None => self.common_dir().join("hooks"),
        })
    }

    /// The URLs to which git pushes for a remote.
    ///
    /// # Errors
    /// If git cannot be run. That there is no such remote is no error.
    pub fn push_urls(&self, remote: &str) -> Result<Vec<BString>, GitError> {
        let call = self.user(self.home()).args(["remote", "get-url", "--push", "--all", "--end-of-options"]);
        let out = call.arg(remote).run()?;
        Ok(if out.success() { out.stdout.lines().map(BString::from).collect() } else { Vec::new() })
    }

    /// The values of a key in this repository's own configuration, and in no other.
    ///
    /// # Errors
    /// If git cannot be run, or the configuration cannot be read.
    pub fn own_config(&self, key: &str) -> Result<Vec<BString>, GitError> {
        let out = self.content().args(["config", "--local", "-z", "--get-all", key]).run()?;
        match out.code() {
            Some(0) => Ok(fields(&out.stdout).map(BString::from).collect()),
            Some(1) => Ok(Vec::new()),
            _ => Err(out.failed("config")),
        }
    }

    /// Sets a key of this repository's own configuration to these values; to none: takes it out.
    ///
    /// # Errors
    /// If the configuration cannot be written.
    pub fn set_own_config(&self, key: &str, values: &[&BStr]) -> Result<(), GitError> {
        let out = self.content().args(["config", "--local", "--unset-all", key]).run()?;
        // 5: there was none.
        if !matches!(out.code(), Some(0 | 5)) {
            return Err(out.failed("config"));
        }
        for value in values {
            let value = value.to_os_str().map_err(|_| GitError::unreadable("config", "a value"))?;
            self.content().args(["config", "--local", "--add", key]).arg(value).stdout()?;
        }
        Ok(())
    }

    /// What a commit carries; none if no object of that name is here, or if it is no commit (a tag that names one
    /// is none).
    ///
    /// # Errors
    /// If git cannot be run.
    pub fn note(&self, commit: &Oid) -> Result<Option<Note>, GitError> {
        let out = self.content().args(["cat-file", "--batch"]).stdin(format!("{commit}\n")).stdout()?;
        let Some((header, object)) = out.split_once_str("\n") else { return Ok(None) };
        let is_commit = header.split_str(" ").nth(1) == Some(b"commit");
        let object = object.strip_suffix(b"\n").unwrap_or(object);
        let Some((head, message)) = object.split_once_str("\n\n").filter(|_| is_commit) else {
            return Ok(None);
        };
        let parents = head.lines().filter_map(|line| line.strip_prefix(b"parent "));
        let parents = parents.map(|parent| oid(parent, "cat-file")).collect::<Result<_, _>>()?;
        Ok(Some(Note { parents, message: message.into() }))
    }

    /// Which of these refs are symbolic, and where they lead. One that leads to a ref that does not exist is not
    /// told.
    ///
    /// # Errors
    /// If git fails.
    pub fn symbolic<'a>(&self, names: impl IntoIterator<Item = &'a BStr>) -> Result<Vec<Symbolic>, GitError> {
        let names: Vec<&BStr> = names.into_iter().collect();
        let mut found = Vec::new();
        for names in names.chunks(NAMES) {
            let mut call =
                self.content().args(["for-each-ref", "--format=%(refname) %(symref)", "--end-of-options"]);
            for name in names {
                call =
                    call.arg(name.to_os_str().map_err(|_| GitError::unreadable("for-each-ref", "a name"))?);
            }
            for line in call.stdout()?.lines() {
                let Some((name, target)) = line.split_once_str(" ") else { continue };
                if !target.is_empty() {
                    found.push(Symbolic { name: name.into(), target: target.into() });
                }
            }
        }
        Ok(found)
    }

    /// The object that a ref has, by its full name; none if it does not exist.
    ///
    /// # Errors
    /// If git fails.
    pub fn value_of(&self, refname: &str) -> Result<Option<Oid>, GitError> {
        let [value] = self.local_refs([refname])?;
        Ok(value)
    }
}
