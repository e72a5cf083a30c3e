//! What is left when the process that lands is killed. The test binary starts itself again as that process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use git::{Oid, Program, PushEnd, Remote, Repo, Trunk};

use crate::lab::{hook, lab, with_each_git, write};

#[test]
#[ignore = "runs only as the process that another test kills"]
fn the_process_that_is_killed() {
    let var = |name: &str| std::env::var(name).unwrap();
    let program = Program::at(var("LAB_GIT")).with_env("GIT_CONFIG_GLOBAL", var("LAB_CONFIG"));
    let repo = Repo::discover_with(Path::new(&var("LAB_AT")), &program).unwrap();
    let remote = if var("LAB_REMOTE") == "." { Remote::Here } else { Remote::Named(var("LAB_REMOTE")) };
    let trunk = Trunk::new(repo, remote, "main");
    let epoch = trunk.repo.note_commit(b"landed", None).unwrap();
    let guard = fs::File::create(var("LAB_GUARD")).unwrap();
    guard.lock().unwrap();
    let (new, old) = (Oid::parse(&var("LAB_NEW")).unwrap(), Oid::parse(&var("LAB_OLD")).unwrap());
    trunk.land(&new, Some(&old), &epoch, None, Some(guard)).unwrap();
}

struct Story<'a> {
    lab: &'a crate::lab::Lab,
    at: PathBuf,
    remote: &'a str,
    old: Oid,
    new: Oid,
}

impl Story<'_> {
    #[expect(clippy::disallowed_methods, reason = "starts the process that is to be killed")]
    fn start(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::the_process_that_is_killed", "--ignored"])
            .env("LAB_GIT", self.lab.git_path())
            .env("LAB_CONFIG", self.lab.path("home/config"))
            .env("LAB_AT", &self.at)
            .env("LAB_REMOTE", self.remote)
            .env("LAB_GUARD", self.lab.path("guard"))
            .env("LAB_NEW", self.new.as_str())
            .env("LAB_OLD", self.old.as_str())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn kill_when(&self, there: &Path) {
        let mut child = self.start();
        until(|| there.exists());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

fn until(holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "waited too long");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_landing_in_place_that_is_killed_moves_no_ref_and_can_be_repaired_and_repeated() {
    with_each_git(|lab| {
        let at = lab.init("r");
        let old = lab.oid(&at, "main");
        let new = lab.branch(&at, "side", "b.txt", "b\n");
        lab.ok(&at, &["config", "filter.slow.smudge", "touch started; sleep 1; cat"]);
        write(&at.join(".git/info/attributes"), "b.txt filter=slow\n");
        let story = Story { lab, at: at.clone(), remote: ".", old: old.clone(), new: new.clone() };
        story.kill_when(&at.join("started"));
        let git_dir = at.join(".git");
        until(|| !git_dir.join("refs/heads/main.lock").exists() && !git_dir.join("index.lock").exists());
        fs::remove_file(at.join("started")).unwrap();
        let trunk = lab.trunk(&at, Remote::Here);
        let seen = trunk.read().unwrap();
        assert_eq!((seen.trunk, seen.epoch), (Some(old.clone()), None));
        assert!(at.join("b.txt").exists(), "the orphaned update went on");
        let repair = trunk.repair_after_crash(&old, &new).unwrap();
        assert_eq!(repair.restored, ["b.txt"]);
        assert_eq!(lab.ok(&at, &["status", "--porcelain"]), "");
        let epoch = trunk.repo.note_commit(b"again", None).unwrap();
        assert_eq!(trunk.land(&new, Some(&old), &epoch, None, None).unwrap(), PushEnd::Accepted);
    });
}

#[test]
fn a_push_goes_on_after_its_process_was_killed_and_keeps_the_guard_until_its_end() {
    let lab = lab();
    let (bare, work) = lab.cloned();
    let flag = lab.path("in-hook");
    hook(&bare, "pre-receive", &format!("touch {}; sleep 1", flag.display()));
    let old = lab.oid(&work, "main");
    let new = lab.branch(&work, "side", "b.txt", "b\n");
    let story = Story { lab: &lab, at: work.clone(), remote: "origin", old, new: new.clone() };
    story.kill_when(&flag);
    let free = || fs::File::open(lab.path("guard")).unwrap().try_lock().is_ok();
    assert!(!free());
    until(free);
    until(|| lab.trunk(&work, Remote::Named("origin".to_owned())).peek().unwrap().trunk == Some(new.clone()));
}
