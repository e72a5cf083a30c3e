//! A state folder that `--state` names may be a person's: nothing of theirs is removed, and what processes of
//! ours left is.

use crate::harness::{Tree, World};
use crate::words::refuses;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// No process has it: it is above every system's highest.
const DEAD: &str = "2000000000";
const ID: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

fn put(path: PathBuf) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, path.file_name().unwrap().to_str().unwrap()).unwrap();
    path
}

/// A file that was last written long ago.
fn put_old(path: PathBuf) -> PathBuf {
    let path = put(path);
    fs::File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    path
}

/// Every file below a folder with its content, and every folder.
fn all_of(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(all_of(&path));
            found.insert(path, None);
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, Some(content));
        }
    }
    found
}

fn with_state(repo: &Tree, state: &Path) -> Tree {
    repo.env("SIGNALBOX_STATE", state.to_str().unwrap())
}

#[test]
fn a_persons_files_in_a_state_folder_stay() {
    let world = World::new();
    let state = world.path("box");
    let repo = with_state(&world.repo("r"), &state);
    repo.ok(&["init", "--check", "true"]);
    let mut theirs = Vec::new();
    for folder in ["", "intents", "live", "kept", "logs", "results", "mints"] {
        for name in [".todo", ".todo.", "draft.", "settings.old."] {
            let end = if name == ".todo" { "" } else { DEAD };
            theirs.push(put_old(state.join(folder).join(format!("{name}{end}"))));
            theirs.push(put_old(state.join(folder).join(format!("{name}{end}.new"))));
        }
    }
    theirs.extend((0..120).map(|n| put_old(state.join(format!("logs/build-{n}.log")))));
    theirs.push(put_old(state.join("mints/ideas.txt")));
    let our_logs: Vec<PathBuf> =
        (0..120).map(|n| put_old(state.join(format!("logs/0f8fad5b-d9cb-469f-a165-{n:012}.log")))).collect();
    let our_request = put_old(state.join("mints").join(ID));

    repo.ok(&["init"]);
    for branch in ["one", "two", "three"] {
        repo.branch(branch);
        assert_eq!(repo.ok(&["land", branch]).code(), "landed");
    }
    repo.ok(&["mint", "adr", "--request", "1f8fad5b-d9cb-469f-a165-70867728950e"]);

    let lost: Vec<_> = theirs.iter().filter(|path| !path.exists()).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(our_logs.iter().filter(|path| path.exists()).count(), 97, "with three new ones a hundred");
    assert!(!our_request.exists(), "our own old requests are forgotten");
}

#[test]
fn a_folder_of_other_files_is_no_state_folder_and_stays_untouched() {
    let world = World::new();
    let repo = world.repo("r");
    let foreign = world.path("thesis");
    for name in ["chapter.tex", &format!(".chapter.{DEAD}"), "logs/build.log", "settings.toml"] {
        put(foreign.join(name));
    }
    let before = all_of(&foreign);
    let option = ["--state", foreign.to_str().unwrap()];
    let refuse = |args: &[&str]| {
        let end = refuses(&repo, &[args, &option].concat(), 2, "state_folder_in_use");
        assert!(end["do"].is_null(), "{end}");
        refuses(&with_state(&repo, &foreign), args, 2, "state_folder_in_use");
        assert_eq!(all_of(&foreign), before);
    };
    refuse(&["init", "--no-check"]);
    refuse(&["init", "--take-over", "--no-check"]);
    assert!(!repo.path.join(".signalbox.toml").exists() && !repo.state().exists());
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    for args in [&["land", "feature"][..], &["land", "--settle"], &["mint", "adr"], &["init"]] {
        refuse(args);
    }
    let own = with_state(&world.repo("other"), &foreign.join("signalbox"));
    own.ok(&["init", "--no-check"]);
    own.branch("feature");
    assert_eq!(own.ok(&["land", "feature"]).code(), "landed");
    assert!(before.iter().all(|(path, content)| all_of(&foreign).get(path) == Some(content)));
}

#[test]
fn a_long_path_of_a_folder_of_other_files_is_told_in_full_below_a_line_that_fits() {
    let world = World::new();
    let repo = world.repo("r");
    let foreign = world.path(&"deep/".repeat(30)).join("it's");
    put(foreign.join("notes"));
    let args = ["init", "--no-check", "--state", foreign.to_str().unwrap()];
    refuses(&repo, &args, 2, "state_folder_in_use");
    let (_, _, stderr) = repo.people(&args);
    assert!(stderr.contains(r"deep/it'\''s/signalbox'"), "{stderr}");
}

#[test]
fn a_state_folder_whose_damaged_state_was_moved_away_is_still_ours() {
    let world = World::new();
    for aside in ["box/state.db.damaged", "damaged"] {
        let state = world.path("box");
        let repo = with_state(&world.repo(&format!("r-{}", aside.len())), &state);
        repo.ok(&["init", "--check", "true"]);
        repo.branch("one");
        assert_eq!(repo.ok(&["land", "one"]).code(), "landed");
        repo.ok(&["mint", "adr", "--request", ID]);
        put(state.join("kept").join(format!("{ID}.json")));
        put(state.join(format!("settings.{DEAD}.new")));
        put(state.join("checks/0.lock"));
        fs::rename(state.join("state.db"), world.path(aside)).unwrap();
        repo.ok(&["init", "--take-over"]);
        repo.branch("two");
        assert_eq!(repo.ok(&["land", "two"]).code(), "landed");
        fs::remove_dir_all(&state).unwrap();
    }
}

#[test]
fn what_dead_processes_of_ours_left_is_swept() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "true"]);
    let state = repo.state();
    let key = "0a".repeat(32);
    let left = |pid: &str| -> Vec<PathBuf> {
        let mut names = vec![format!("settings.{pid}.new"), format!("live/.{ID}.{pid}")];
        names.extend(["intents", "kept", "mints"].map(|dir| format!("{dir}/{ID}.{pid}.new")));
        names.push(format!("results/{key}.{pid}.new"));
        names.into_iter().map(|name| put(state.join(name))).collect()
    };
    let dead = left(DEAD);
    let living = left(&std::process::id().to_string());
    // Another container's process cannot be seen from here, but holds its lock.
    let unseen = left("2000000001");
    let locks: Vec<_> = unseen.iter().map(|path| fs::File::open(path).unwrap()).collect();
    for lock in &locks {
        lock.lock().unwrap();
    }
    repo.branch("one");
    assert_eq!(repo.ok(&["land", "one"]).code(), "landed");
    let stay: Vec<_> = dead.iter().filter(|path| path.exists()).collect();
    assert!(stay.is_empty(), "{stay:?}");
    assert!(living.iter().chain(&unseen).all(|path| path.exists()));
}

#[test]
fn an_init_removes_what_a_killed_one_left_in_the_worktree() {
    let world = World::new();
    let repo = world.repo("r");
    let done = repo.env("SIGNALBOX_FAULT", "init:written:kill").run(&["init", "--no-check"]);
    assert_eq!(done.exit, None, "{}", done.all());
    let ours = |repo: &Tree| -> Vec<String> {
        let names = fs::read_dir(&repo.path).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".signalbox.toml")).collect()
    };
    let left = ours(&repo);
    assert!(left.len() == 1 && left[0].ends_with(".new"), "{left:?}");
    let theirs = [format!(".todo.{DEAD}.new"), format!(".signalbox.{DEAD}.new"), "a.1.new".to_owned()];
    for name in &theirs {
        put(repo.path.join(name));
    }
    repo.ok(&["init", "--no-check"]);
    assert_eq!(ours(&repo), [".signalbox.toml"]);
    assert!(theirs.iter().all(|name| repo.path.join(name).exists()));
    let late = put(repo.path.join(format!(".signalbox.toml.{DEAD}.new")));
    repo.ok(&["init"]);
    assert!(!late.exists(), "also where the settings stand by now");
}
