//! What only real processes show. Each test starts this very binary again, as the test of its name in
//! `child`, with a folder in the environment.

use crate::support::Open;
use kernel::SystemClock;
use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use store::{OpenError, Options, StateFile};

const FOLDER: &str = "SIGNALBOX_TEST_CHILD_FOLDER";
const NOBODY: u32 = 65_534;

#[expect(clippy::disallowed_methods, reason = "the test's own child processes")]
fn command(program: &Path, child: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", &format!("processes::child::{child}"), "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(child: &str, folder: &Path) -> Child {
    command(&std::env::current_exe().unwrap(), child, folder).spawn().unwrap()
}

/// What the child said on the line that begins with `said `.
fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    // The harness may have begun the line itself.
    let said = text.lines().find_map(|line| line.split_once("said ")).expect("a child that said something");
    said.1.to_owned()
}

/// What runs in the child processes. In the test run itself, where the folder is not set, they do nothing.
mod child {
    use super::*;

    fn folder() -> Option<std::path::PathBuf> {
        std::env::var_os(FOLDER).map(Into::into)
    }

    #[test]
    fn create() {
        let Some(folder) = folder() else { return };
        let file = loop {
            match StateFile::create_or_open(&folder, &Options::default(), &SystemClock) {
                Err(OpenError::Busy) => {}
                other => break other.unwrap(),
            }
        };
        println!("said {} {}", file.box_id().as_str(), file.project().as_str());
    }

    #[test]
    fn mint() {
        let Some(folder) = folder() else { return };
        let mut numbers = Vec::new();
        for _ in 0..10 {
            let open = Open::new(&folder, Arc::new(SystemClock));
            for _ in 0..5 {
                numbers.push(open.get("mint", json!({ "scope": "adr" }))["last"].to_string());
            }
        }
        println!("said {}", numbers.join(" "));
    }

    #[test]
    fn mint_until_killed() {
        let Some(folder) = folder() else { return };
        let open = Open::new(&folder, Arc::new(SystemClock));
        loop {
            println!("said {}", open.get("mint", json!({ "scope": "adr" }))["last"]);
        }
    }

    #[test]
    fn try_to_open() {
        let Some(folder) = folder() else { return };
        let open = StateFile::open(&folder, &Options::default(), &SystemClock).map(drop);
        let create = StateFile::create_or_open(&folder, &Options::default(), &SystemClock).map(drop);
        println!("said {open:?} {create:?}");
    }
}

#[test]
fn thirty_two_processes_that_start_at_once_make_one_box() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("signalbox");
    let children: Vec<_> = (0..32).map(|_| start("create", &folder)).collect();
    let ids: BTreeSet<String> = children.into_iter().map(said).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[test]
fn processes_that_open_mint_and_close_at_once_never_issue_a_number_twice() {
    let dir = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..6).map(|_| start("mint", dir.path())).collect();
    let mut numbers: Vec<i64> = children
        .into_iter()
        .flat_map(|child| said(child).split(' ').map(|n| n.parse().unwrap()).collect::<Vec<i64>>())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=6 * 10 * 5).collect::<Vec<i64>>());
}

#[test]
fn a_process_that_is_killed_loses_no_number_that_it_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = 0;
    for _ in 0..5 {
        let mut child = start("mint_until_killed", dir.path());
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut told = Vec::new();
        while told.len() < 20 {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut out, &mut line).unwrap();
            told.extend(line.split_once("said ").and_then(|(_, n)| n.trim().parse::<i64>().ok()));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut out, &mut rest).unwrap();
        told.extend(
            rest.split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .filter_map(|line| line.split_once("said ").and_then(|(_, n)| n.trim().parse::<i64>().ok())),
        );
        assert!(told[0] > last && told.is_sorted());
        last = told[told.len() - 1];
    }
    let open = Open::new(dir.path(), Arc::new(SystemClock));
    assert!(open.get("mint", json!({ "scope": "adr" }))["last"].as_i64().unwrap() > last);
    open.file.check().unwrap();
}

/// Root may write everywhere, so a child of another user tries.
fn tried_by_nobody(folder: &Path) -> String {
    let programs = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    let program = programs.path().join("it");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = command(&program, "try_to_open", folder);
    command.current_dir("/");
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    said(command.spawn().unwrap())
}

#[test]
fn a_folder_or_a_file_that_cannot_be_written_is_told() {
    let root = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    let folder = root.path().join("signalbox");
    drop(StateFile::create_or_open(&folder, &Options::default(), &SystemClock).unwrap());
    let path = folder.join("state.db");
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let refused = format!("Err({0:?}) Err({0:?})", OpenError::ReadOnly);

    if rustix::process::getuid().is_root() {
        for path in [&folder, &path, &folder.join("state.bell")] {
            if path.exists() {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
    }
    assert_eq!(tried_by_nobody(&folder), "Ok(()) Ok(())", "with all rights it opens");
    mode(&path, 0o400);
    assert_eq!(tried_by_nobody(&folder), refused, "a file that cannot be written");
    mode(&path, 0o600);
    mode(&folder, 0o500);
    assert_eq!(tried_by_nobody(&folder), refused, "a folder that cannot be written");
    mode(&folder, 0o000);
    assert_eq!(tried_by_nobody(&folder), refused, "a folder that cannot be entered");
    mode(&folder, 0o700);
    assert_eq!(
        tried_by_nobody(&root.path().join("unmade")),
        format!("Err(Missing) Err({:?})", OpenError::ReadOnly)
    );
}
