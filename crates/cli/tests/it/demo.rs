//! `signalbox demo`: shows what it promises, and leaves nothing behind.

use crate::harness::{PATIENCE, Tree, World, eventually};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// The rows of the table.
const ROWS: [&str; 7] = [
    "two take a number at once",
    "the holder is stopped",
    "the holder is killed",
    "green alone, red together",
    "a push by hand meanwhile",
    "a conflict",
    "in the end",
];

/// A folder with a temporary folder of its own.
fn place(world: &World) -> (Tree, PathBuf) {
    let tmp = world.path("tmp");
    std::fs::create_dir(&tmp).unwrap();
    (world.tree(world.path("home")).env("TMPDIR", tmp.to_str().unwrap()), tmp)
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The processes that were started by a demo with this temporary folder.
fn processes(tmp: &Path) -> Vec<String> {
    let mark = format!("SIGNALBOX_DEMO_RUN={}", tmp.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
        if environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes())) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_demo_that_is_kept_shows_every_incident_and_the_script_that_ran() {
    let world = World::new();
    let (here, tmp) = place(&world);
    let began = Instant::now();
    let (exit, out, err) = here.people(&["demo", "--keep"]);
    assert_eq!(exit, 0, "{out}{err}");
    assert!(began.elapsed() < PATIENCE, "it took {:?}", began.elapsed());
    assert_eq!(err, "");
    let wide: Vec<&str> = out.lines().filter(|line| line.chars().count() > 100).collect();
    assert!(wide.iter().all(|line| line.contains(tmp.to_str().unwrap())), "too wide: {wide:#?}");

    let table = out.split_once("incident  ").unwrap().1;
    for row in ROWS {
        let line = table.lines().find(|line| line.starts_with(row));
        let line = line.unwrap_or_else(|| panic!("{row} is not in\n{table}"));
        assert!(line.contains('✓'), "{line}");
    }

    // What is printed is what ran.
    let kept = entries(&tmp);
    let [folder] = kept.as_slice() else { panic!("not one folder: {kept:?}") };
    let script = std::fs::read_to_string(folder.join("flock/land")).unwrap();
    assert_eq!(script.lines().count(), 12);
    for (at, line) in script.lines().enumerate() {
        assert!(out.contains(&format!("\n  {:>2}  {line}\n", at + 1)), "line {} is not printed", at + 1);
    }

    // What is to be tried there can be.
    let shop = world.tree(folder.join("signalbox/shop"));
    let (exit, log, err) = shop.people(&["log"]);
    assert_eq!(exit, 0, "{err}");
    assert!(log.contains("landed") && log.contains("vat-20"), "{log}");
    assert!(processes(&tmp).is_empty());
}

#[test]
fn a_demo_without_flock_says_so_in_json_and_leaves_nothing() {
    let world = World::new();
    let (here, tmp) = place(&world);
    let bin = world.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["git", "sh", "env", "sleep", "cat"] {
        let paths = std::env::var_os("PATH").unwrap();
        let found = std::env::split_paths(&paths).map(|dir| dir.join(program)).find(|path| path.exists());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(program)).unwrap();
    }
    let done = here.env("PATH", bin.to_str().unwrap()).ok(&["demo"]);
    assert_eq!(done.stderr, "");
    let (end, incidents) = done.events.split_last().unwrap();
    let names: Vec<&str> = incidents.iter().map(|object| object["incident"].as_str().unwrap()).collect();
    assert_eq!(names, ["number", "stopped", "killed", "red", "outside", "conflict"]);
    for incident in incidents {
        assert_eq!(incident["flock"], Value::Null, "{incident}");
        assert_eq!(incident["signalbox"]["good"], true, "{incident}");
    }
    assert_eq!((&end["event"], &end["exit"]), (&Value::from("end"), &Value::from(0)));
    assert_eq!(end["landedOnce"]["signalbox"], 8, "{end}");
    assert!(entries(&tmp).is_empty(), "{:?}", entries(&tmp));
    assert!(processes(&tmp).is_empty());
}

#[test]
fn a_demo_that_is_stopped_tidies_up() {
    let world = World::new();
    let (here, tmp) = place(&world);
    let mut child = here.signalbox(&["demo"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Until there is a stopped process, and one that waits for it.
    let out = BufReader::new(child.stdout.take().unwrap());
    let reached = out.lines().map_while(Result::ok).any(|line| line.contains("has the lock and is stopped"));
    assert!(reached);
    assert!(!processes(&tmp).is_empty());
    let pid = rustix::process::Pid::from_child(&child);
    for _ in 0..2 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    eventually("the end of all that it started", || processes(&tmp).is_empty());
    assert!(entries(&tmp).is_empty(), "{:?}", entries(&tmp));
}

#[test]
fn the_readme_shows_what_was_captured() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(top.join("README.md")).unwrap();
    let screen = std::fs::read_to_string(top.join("docs/captures/first-screen.txt")).unwrap();
    assert_eq!(screen.lines().count(), 12);
    assert!(readme.contains(&screen), "run docs/captures/make");
    for (code, meaning) in passage::end::exit::TABLE {
        assert!(readme.contains(&format!("| {code} | {meaning} |")), "exit code {code} is not in the README");
    }
}
