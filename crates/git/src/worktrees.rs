//! Worktrees: which there are, and those that checks run in.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use bstr::ByteSlice;

use crate::repo::{fields, oid};
use crate::{GitError, Oid, RefName, Repo};

/// A worktree of the repository, the main one or a linked one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Its top, absolute. It may be gone.
    pub path: PathBuf,
    /// The git directory of its own; none if the worktree is gone or another repository stands there.
    pub git_dir: Option<PathBuf>,
    /// The commit checked out; none on a branch without a commit.
    pub head: Option<Oid>,
    /// The full name of the branch checked out; none if detached.
    pub branch: Option<RefName>,
    /// Whether it is locked against pruning.
    pub locked: bool,
    /// Whether it is the main worktree. Its path is wrong, and `git_dir` none, where its `.git` leads to a
    /// directory elsewhere that does not say where the worktree is, unless the repository was found from there.
    pub main: bool,
}

impl Repo {
    /// All worktrees of the repository, the main one first unless the repository is bare.
    ///
    /// # Errors
    /// If git fails.
    pub fn worktrees(&self) -> Result<Vec<Worktree>, GitError> {
        let out = self.content().args(["worktree", "list", "--porcelain", "-z"]).stdout()?;
        let mut worktrees: Vec<Worktree> = Vec::new();
        let mut bare = false;
        for field in fields(&out) {
            let (key, value) = field.split_once_str(" ").unwrap_or((field, b""));
            if key == b"worktree" {
                let path =
                    value.to_path().map_err(|_| GitError::unreadable("worktree", "path"))?.to_path_buf();
                let main = worktrees.is_empty();
                worktrees.push(Worktree {
                    path,
                    git_dir: None,
                    head: None,
                    branch: None,
                    locked: false,
                    main,
                });
            }
            let Some(last) = worktrees.last_mut() else { continue };
            match key {
                b"HEAD" => last.head = oid(value, "worktree").ok(),
                b"branch" => last.branch = Some(value.to_str_lossy().into_owned()),
                b"locked" => last.locked = true,
                b"bare" => bare = true,
                _ => {}
            }
        }
        if let Some(main) = worktrees.first_mut() {
            main.path = self.main_worktree(&main.path)?;
        }
        if bare {
            worktrees.remove(0);
        }
        for worktree in &mut worktrees {
            worktree.git_dir = git_dir_of(&worktree.path).filter(|dir| self.owns(dir));
        }
        Ok(worktrees)
    }

    /// Git lists the main worktree as the directory above `.git`, which is wrong for a submodule and for a
    /// separate git directory; some of those say where it is in `core.worktree`.
    fn main_worktree(&self, listed: &Path) -> Result<PathBuf, GitError> {
        if let Some(top) = self.worktree().filter(|_| same(self.git_dir(), self.common_dir())) {
            return Ok(top.to_path_buf());
        }
        if git_dir_of(listed).is_some() {
            return Ok(listed.to_path_buf());
        }
        let out = self.content().args(["config", "-z", "--get", "core.worktree"]).run()?;
        let configured = fields(&out.stdout).next().and_then(|value| value.to_path().ok());
        match configured.filter(|_| out.success()) {
            Some(path) => {
                Ok(fs::canonicalize(self.common_dir().join(path)).unwrap_or_else(|_| path.to_path_buf()))
            }
            None => Ok(listed.to_path_buf()),
        }
    }

    /// The ref that a ref stands for in the end: itself unless it is a symbolic one.
    pub(crate) fn target_of(&self, refname: &str) -> Result<RefName, GitError> {
        let out = self.content().args(["symbolic-ref", "-q", "--end-of-options", refname]).run()?;
        let target = out.stdout.trim_ascii().to_str_lossy();
        Ok(if out.success() { target.into_owned() } else { refname.to_owned() })
    }

    /// Makes a worktree at a path that does not exist yet, with a commit checked out and no branch. The user's
    /// filters apply, hooks and sparse checkouts do not. Several may be made at once.
    ///
    /// # Errors
    /// If git fails; nothing of the worktree is left then.
    pub fn worktree_add_detached(&self, path: &Path, commit: &Oid) -> Result<(), GitError> {
        if fs::symlink_metadata(path).is_ok() {
            let exists = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
            return Err(GitError::io(format!("making the worktree {}", path.display()), exists));
        }
        let mut tries = 0;
        loop {
            let call = self.check_call(self.common_dir());
            let call = call
                .args(["worktree", "add", "--quiet", "--force", "--detach", "--end-of-options"])
                .arg(path);
            let error = match call.arg(commit.as_str()).stdout() {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            self.worktree_remove(path)?;
            tries += 1;
            // Git reads the records of worktrees that others are just making, and may find them half written.
            if tries == 5 || !matches!(error, GitError::Failed { .. }) {
                return Err(error);
            }
            sleep(Duration::from_millis(30 * tries));
        }
    }

    /// Makes a worktree of [`Repo::worktree_add_detached`] ready for another commit: ends whatever operation a
    /// check left under way, detaches, resets tracked files and removes untracked ones. Ignored files stay, and
    /// submodules are left alone. A lock that a killed git left in the worktree is removed, so no process may
    /// be at work in it.
    ///
    /// # Errors
    /// [`GitError::NotALinkedWorktree`], before anything is touched; or if git fails.
    pub fn worktree_reset(&self, path: &Path, commit: &Oid) -> Result<(), GitError> {
        let git_dir = self.linked(path).ok_or_else(|| GitError::NotALinkedWorktree(path.to_path_buf()))?;
        end_operations(&git_dir)?;
        let commit = commit.as_str();
        self.check_call(path).args(["checkout", "--quiet", "--force", "--detach", commit]).stdout()?;
        self.check_call(path).args(["reset", "--quiet", "--hard", commit]).stdout()?;
        self.check_call(path).args(["clean", "--quiet", "-ffd"]).stdout()?;
        Ok(())
    }

    /// Removes a worktree of [`Repo::worktree_add_detached`] with all that is in it, and its record. That it is
    /// gone already is no error.
    ///
    /// # Errors
    /// [`GitError::NotALinkedWorktree`] if something else is there; or if it cannot be removed.
    pub fn worktree_remove(&self, path: &Path) -> Result<(), GitError> {
        if self.linked(path).is_some() {
            let call = self.check_call(self.common_dir());
            let call = call.args(["worktree", "remove", "--force", "--force", "--end-of-options"]).arg(path);
            if !call.run()?.success() {
                fs::remove_dir_all(path)
                    .map_err(|e| GitError::io(format!("removing {}", path.display()), e))?;
                self.worktree_prune()?;
            }
        } else if path.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(GitError::NotALinkedWorktree(path.to_path_buf()));
        }
        Ok(())
    }

    /// Drops the records of worktrees whose directories are gone and that are not locked.
    ///
    /// # Errors
    /// If git fails.
    pub fn worktree_prune(&self) -> Result<(), GitError> {
        self.content().args(["worktree", "prune", "--expire=now"]).stdout().map(drop)
    }

    fn check_call(&self, dir: &Path) -> crate::process::Call {
        self.user(dir).config("core.sparseCheckout=false").config("advice.detachedHead=false")
    }

    /// The git directory of a linked worktree of this repository.
    fn linked(&self, path: &Path) -> Option<PathBuf> {
        git_dir_of(path).filter(|git_dir| self.is_record(git_dir))
    }

    /// Whether a git directory belongs to this repository, and not to another that took a worktree's place.
    fn owns(&self, git_dir: &Path) -> bool {
        same(git_dir, self.common_dir()) || self.is_record(git_dir)
    }

    fn is_record(&self, git_dir: &Path) -> bool {
        let records = fs::canonicalize(self.common_dir().join("worktrees")).ok();
        let above = fs::canonicalize(git_dir).ok().and_then(|dir| dir.parent().map(Path::to_path_buf));
        records.is_some() && records == above
    }
}

fn same(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).ok().is_some_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// The git directory of the worktree at a path, if that is the top of one.
fn git_dir_of(path: &Path) -> Option<PathBuf> {
    let dot_git = path.join(".git");
    let kind = fs::metadata(&dot_git).ok()?;
    if kind.is_dir() {
        return Some(dot_git);
    }
    let content = fs::read(&dot_git).ok()?;
    let target = content.strip_prefix(b"gitdir: ")?;
    let target = target.strip_suffix(b"\n").unwrap_or(target).to_path().ok()?;
    Some(path.join(target)).filter(|dir| dir.is_dir())
}

fn end_operations(git_dir: &Path) -> Result<(), GitError> {
    const FILES: &[&str] = &[
        "index.lock",
        "HEAD.lock",
        "MERGE_HEAD",
        "MERGE_MSG",
        "MERGE_MODE",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "AUTO_MERGE",
        "MERGE_AUTOSTASH",
        "BISECT_START",
        "BISECT_LOG",
        "BISECT_NAMES",
        "BISECT_TERMS",
        "BISECT_RUN",
        "BISECT_EXPECTED_REV",
        "BISECT_ANCESTORS_OK",
        "BISECT_FIRST_PARENT",
    ];
    const DIRS: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];
    let files = FILES.iter().map(|name| (name, fs::remove_file(git_dir.join(name))));
    let dirs = DIRS.iter().map(|name| (name, fs::remove_dir_all(git_dir.join(name))));
    for (name, result) in files.chain(dirs) {
        match result {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(GitError::io(format!("removing {}", git_dir.join(name).display()), error));
            }
            _ => {}
        }
    }
    Ok(())
}
