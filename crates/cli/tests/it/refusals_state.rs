//! A state that cannot be used: newer, damaged, read-only, on a full disk. Nothing is lost by it.

use crate::harness::{Done, Tree, World};
use crate::words::{more, refused, refuses};
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Every command that opens the state.
const COMMANDS: &[&[&str]] =
    &[&["land", "feature"], &["mint", "adr"], &["queue"], &["log"], &["init"], &["land", "--settle"]];

fn with_a_number(world: &World) -> (Tree, PathBuf) {
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 1);
    let file = repo.state().join("state.db");
    (repo, file)
}

/// Once the state is whole again, all goes on where it stood.
fn goes_on(repo: &Tree) {
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 2);
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_state_that_is_something_else_is_refused_and_left_as_it_is() {
    let world = World::new();
    let (repo, file) = with_a_number(&world);
    let whole = fs::read(&file).unwrap();
    for broken in [vec![b'x'; whole.len()], [&[0; 100], &whole[100..]].concat(), b"not a database".to_vec()] {
        fs::write(&file, &broken).unwrap();
        for command in COMMANDS {
            refuses(&repo, command, 3, "state_unusable");
        }
        assert_eq!(fs::read(&file).unwrap(), broken);
    }
    fs::write(&file, whole).unwrap();
    goes_on(&repo);
}

#[test]
fn a_state_that_is_damaged_in_the_middle_is_refused_and_left_as_it_is() {
    let world = World::new();
    let (repo, file) = with_a_number(&world);
    let whole = fs::read(&file).unwrap();
    let damaged = fs::OpenOptions::new().write(true).open(&file).unwrap();
    damaged.write_all_at(&vec![0xaa; whole.len() - 4096], 4096).unwrap();
    drop(damaged);
    let broken = fs::read(&file).unwrap();
    for command in COMMANDS {
        refuses(&repo, command, 3, "state_unusable");
    }
    assert_eq!(fs::read(&file).unwrap(), broken);
    fs::write(&file, whole).unwrap();
    goes_on(&repo);
}

#[test]
fn a_state_of_a_newer_version_is_refused_and_left_as_it_is() {
    let world = World::new();
    let (repo, file) = with_a_number(&world);
    let set = |version: i64| {
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.execute("UPDATE schema SET oldest_compatible = ?1", [version]).unwrap();
    };
    set(1_000);
    for command in COMMANDS {
        refuses(&repo, command, 3, "state_newer");
    }
    set(1);
    goes_on(&repo);
}

/// This world as it is seen by a user who owns nothing of it.
fn as_nobody(world: &World, tree: &Tree, args: &[&str]) -> Done {
    let binary = world.path("signalbox");
    if !binary.exists() {
        fs::copy(env!("CARGO_BIN_EXE_signalbox"), &binary).unwrap();
        fs::set_permissions(&binary, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(world.path(""), Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = tree.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary).arg("--json").args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tree.spawn(command).end()
}

fn modes(dir: &Path, folders: u32, files: u32) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let folder = entry.file_type().unwrap().is_dir();
        fs::set_permissions(entry.path(), Permissions::from_mode(if folder { folders } else { files }))
            .unwrap();
    }
    fs::set_permissions(dir, Permissions::from_mode(folders)).unwrap();
}

#[test]
fn a_state_that_another_user_may_not_write_is_refused_as_seen_by_user_65534() {
    assert!(rustix::process::getuid().is_root(), "this test must run as root: it acts as another user");
    let world = World::new();
    let (repo, _) = with_a_number(&world);
    let end = as_nobody(&world, &repo, &["mint", "adr"]);
    assert!(more(refused(&end, 3, "repository_not_yours")).contains("safe.directory"));
    repo.git(&["config", "--global", "safe.directory", "*"]);
    repo.git(&["checkout", "-q", "feature", "--", ".signalbox.toml"]);
    repo.git(&["commit", "-q", "-m", "settings"]);
    let main = repo.git(&["rev-parse", "main"]);
    for (folders, files) in [(0o700, 0o600), (0o755, 0o644), (0o555, 0o444)] {
        modes(&repo.state(), folders, files);
        for command in [&["mint", "adr"][..], &["queue"], &["land", "feature"], &["log"]] {
            let done = as_nobody(&world, &repo, command);
            refused(&done, 3, "state_read_only");
        }
    }
    modes(&repo.state(), 0o700, 0o600);
    assert_eq!(repo.git(&["rev-parse", "main"]), main);
    goes_on(&repo);
}

/// A small file system in memory, which goes when it is dropped.
pub struct Small<'a> {
    tree: &'a Tree,
    pub path: PathBuf,
}

impl<'a> Small<'a> {
    pub fn mount(world: &World, tree: &'a Tree, size: &str) -> Self {
        let path = world.path("small");
        fs::create_dir(&path).unwrap();
        let mut mount = tree.command("mount");
        let status = mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(&path).status();
        assert!(status.is_ok_and(|s| s.success()), "this test needs the right to mount a tmpfs");
        Self { tree, path }
    }

    /// Writes until nothing more goes in.
    pub fn fill(&self) {
        let filler = fs::File::create(self.path.join("filler")).unwrap();
        let mut at = 0;
        for size in [64 << 10, 4 << 10, 1] {
            while let Ok(n) = filler.write_at(&vec![0; size], at) {
                at += n as u64;
            }
        }
    }

    pub fn make_room(&self) {
        fs::remove_file(self.path.join("filler")).unwrap();
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = self.tree.command("umount").arg(&self.path).status();
    }
}

#[test]
fn a_full_disk_of_the_state_is_refused_and_nothing_is_lost_on_a_small_tmpfs() {
    let world = World::new();
    let here = world.tree(world.path("home"));
    let small = Small::mount(&world, &here, "2m");
    let repo = world.repo("r").env("SIGNALBOX_STATE", small.path.join("state").to_str().unwrap());
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 1);
    small.fill();
    let main = repo.git(&["rev-parse", "main"]);
    for command in COMMANDS {
        let done = repo.run(command);
        if done.exit != Some(0) {
            refused(&done, 20, "disk_full");
        }
    }
    refuses(&repo, &["mint", "adr"], 20, "disk_full");
    refuses(&repo, &["land", "feature"], 20, "disk_full");
    assert_eq!(repo.git(&["rev-parse", "main"]), main);
    small.make_room();
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 2);
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_full_disk_of_the_repository_is_refused_and_nothing_is_lost_on_a_small_tmpfs() {
    let world = World::new();
    let here = world.tree(world.path("home"));
    let small = Small::mount(&world, &here, "4m");
    let repo = world.tree(small.path.join("r"));
    fs::create_dir(&repo.path).unwrap();
    repo.git(&["init", "-q"]);
    repo.commit("README", "hello\n", "first");
    repo.ok(&["init", "--check", "true"]);
    repo.branch("feature");
    repo.branch("before");
    assert_eq!(repo.ok(&["land", "before"]).code(), "landed");
    let main = repo.git(&["rev-parse", "main"]);
    small.fill();
    let done = repo.run(&["land", "feature"]);
    assert_eq!(done.exit, Some(20), "{}", done.all());
    refused(&done, 20, "disk_full");
    small.make_room();
    assert_eq!(repo.git(&["rev-parse", "main"]), main);
    assert_eq!(repo.git(&["status", "--porcelain", "-uno"]), "");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn a_state_folder_that_cannot_be_made_is_refused() {
    let world = World::new();
    let repo = world.repo("r");
    fs::write(world.path("file"), "").unwrap();
    let below = world.path("file/state");
    let done = repo.run(&["init", "--no-check", "--state", below.to_str().unwrap()]);
    refused(&done, 3, "state_unusable");
    assert!(!repo.path.join(".signalbox.toml").exists(), "nothing is written where nothing can be kept");
}

#[test]
fn a_result_or_an_intent_that_is_damaged_loses_nothing() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "true"]);
    repo.branch("feature");
    let intents = repo.state().join("intents");
    fs::create_dir_all(&intents).unwrap();
    let broken = intents.join("0f8fad5b-d9cb-469f-a165-70867728950e.json");
    fs::write(&broken, "{\"ticket\":").unwrap();
    let end = refuses(&repo, &["land", "--settle"], 1, "broken_intent");
    assert!(more(&end).contains("0f8fad5b"), "{end}");
    fs::remove_file(&broken).unwrap();
    assert_eq!(repo.ok(&["land", "feature", "--dry-run"]).code(), "dry_run");
    for result in fs::read_dir(repo.state().join("results")).unwrap().flatten() {
        fs::write(result.path(), "maybe\n").unwrap();
    }
    let done = repo.ok(&["land", "feature"]);
    assert_eq!(crate::words::count(&done, "check"), 1, "checked again, since what is remembered is no word");
}

#[test]
fn a_state_folder_in_which_no_intent_can_be_kept_pushes_nothing_and_leaves_nothing_unknown() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    let main = repo.git(&["rev-parse", "main"]);
    let intents = repo.state().join("intents");
    fs::write(&intents, "in the way").unwrap();
    refuses(&repo, &["land", "feature"], 20, "state_unwritable");
    assert_eq!(repo.git(&["rev-parse", "main"]), main);
    assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "withdrawn");
    fs::remove_file(&intents).unwrap();
    assert_eq!(repo.ok(&["land", "--settle"]).code(), "nothing_open");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.leftovers(), [""; 0]);
}
