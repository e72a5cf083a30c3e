//! A place to try things in: repositories that know nothing of the machine's own git configuration.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use git::{Oid, Program, Remote, Repo, Trunk};
use tempfile::TempDir;

pub(crate) struct Lab {
    dir: TempDir,
    git: &'static str,
    format: &'static str,
}

/// Runs a story with every git program of the machine.
pub(crate) fn with_each_git(story: impl Fn(&Lab)) {
    for git in ["/usr/bin/git", "/usr/local/bin/git"] {
        if Path::new(git).exists() {
            story(&Lab::new(git, "sha1"));
        }
    }
}

pub(crate) fn lab() -> Lab {
    Lab::new("git", "sha1")
}

pub(crate) fn lab_sha256() -> Lab {
    Lab::new("git", "sha256")
}

impl Lab {
    fn new(git: &'static str, format: &'static str) -> Self {
        let dir = TempDir::new().unwrap();
        let lab = Self { dir, git, format };
        fs::create_dir(lab.path("home")).unwrap();
        fs::write(
            lab.path("home/config"),
            "[user]\nname = Ada\nemail = ada@example.org\n[protocol \"file\"]\nallow=always\n",
        )
        .unwrap();
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn git_path(&self) -> &'static str {
        self.git
    }

    pub(crate) fn program(&self) -> Program {
        Program::at(self.git)
            .with_env("HOME", self.path("home"))
            .with_env("GIT_CONFIG_GLOBAL", self.path("home/config"))
            .with_env("GIT_CONFIG_NOSYSTEM", "1")
    }

    pub(crate) fn repo(&self, at: &Path) -> Repo {
        Repo::discover_with(at, &self.program()).unwrap()
    }

    /// A repository with one commit on `main`, in which `a.txt` is.
    pub(crate) fn init(&self, name: &str) -> PathBuf {
        let at = self.path(name);
        self.ok(
            self.dir.path(),
            &["init", "-q", "-b", "main", &format!("--object-format={}", self.format), name],
        );
        self.commit(&at, "a.txt", "one\ntwo\nthree\n");
        at
    }

    /// A bare remote `origin.git` and a clone of it with one commit on `main`.
    pub(crate) fn cloned(&self) -> (PathBuf, PathBuf) {
        let seed = self.init("seed");
        self.ok(self.dir.path(), &["clone", "-q", "--bare", "seed", "origin.git"]);
        let clone = self.clone("work");
        fs::remove_dir_all(seed).unwrap();
        (self.path("origin.git"), clone)
    }

    pub(crate) fn clone(&self, name: &str) -> PathBuf {
        self.ok(self.dir.path(), &["clone", "-q", "origin.git", name]);
        self.path(name)
    }

    pub(crate) fn trunk(&self, at: &Path, remote: Remote) -> Trunk {
        Trunk::new(self.repo(at), remote, "main")
    }

    #[expect(clippy::disallowed_methods, reason = "tests play the people around the crate")]
    pub(crate) fn git(&self, at: &Path, args: &[&str]) -> Output {
        let mut command = Command::new(self.git);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home")).env("GIT_CONFIG_GLOBAL", self.path("home/config"));
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C")
            .current_dir(at)
            .args(args)
            .output()
            .unwrap()
    }

    pub(crate) fn ok(&self, at: &Path, args: &[&str]) -> String {
        let out = self.git(at, args);
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    pub(crate) fn oid(&self, at: &Path, rev: &str) -> Oid {
        Oid::parse(&self.ok(at, &["rev-parse", "--verify", rev])).unwrap()
    }

    /// Writes a file and commits it with the path as the subject.
    pub(crate) fn commit(&self, at: &Path, path: &str, content: &str) -> Oid {
        write(&at.join(path), content);
        self.ok(at, &["add", "-f", "--", path]);
        self.ok(at, &["commit", "-q", "-m", &format!("change {path}")]);
        self.oid(at, "HEAD")
    }

    /// A commit on a branch of its own from `main`; the worktree is back on `main` afterwards.
    pub(crate) fn branch(&self, at: &Path, name: &str, path: &str, content: &str) -> Oid {
        self.ok(at, &["checkout", "-q", "-b", name, "main"]);
        let commit = self.commit(at, path, content);
        self.ok(at, &["checkout", "-q", "main"]);
        commit
    }
}

pub(crate) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn hook(git_dir: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = git_dir.join("hooks").join(name);
    write(&path, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
