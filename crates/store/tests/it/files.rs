//! State files in every condition.

use crate::support::{ManualClock, Open, code, json};
use kernel::SystemClock;
use serde_json::json;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use store::{FileSystem, OpenError, Options, StateFile};

fn open(dir: &Path) -> Result<StateFile, OpenError> {
    StateFile::open(dir, &Options::default(), &SystemClock)
}

fn create(dir: &Path) -> Result<StateFile, OpenError> {
    StateFile::create_or_open(dir, &Options::default(), &SystemClock)
}

fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_fresh_state_is_for_this_user_alone_and_keeps_what_it_began_with() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("deep/signalbox");
    assert_eq!(open(&dir).unwrap_err(), OpenError::Missing);
    let options = Options { lease_ms: Some(300), turn_ms: Some(9_000), ..Options::default() };
    let file = StateFile::create_or_open(&dir, &options, &SystemClock).unwrap();
    let (box_id, project) = (file.box_id().clone(), file.project().clone());
    assert_ne!(box_id, project);
    file.set_claimed(Some("origin")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
    drop(file);
    let file = create(&dir).unwrap();
    assert_eq!((file.box_id(), file.project()), (&box_id, &project));
    assert_eq!((file.lease_ms(), file.turn_ms()), (300, 9_000));
    assert_eq!(file.claimed().unwrap().as_deref(), Some("origin"));
    file.check().unwrap();
}

#[test]
fn the_lease_of_the_file_is_in_force() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { lease_ms: Some(300), ..Options::default() };
    let clock = ManualClock::new();
    let open = Open::with(dir.path(), clock.clone(), kernel::Limits::default(), &options);
    let (stay, _) = open.enter();
    clock.advance(300);
    assert_eq!(code(&open.ask("queue/renew", stay)), "ticket_gone");
}

#[test]
fn an_empty_file_is_no_state_yet() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("state.db"), "").unwrap();
    assert_eq!(open(dir.path()).unwrap_err(), OpenError::Missing);
    create(dir.path()).unwrap();
}

#[test]
fn other_files_are_refused_and_left_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let text = "not a database at all\n".repeat(200);
    std::fs::write(&path, &text).unwrap();
    for result in [open(dir.path()), create(dir.path())] {
        assert_eq!(result.unwrap_err(), OpenError::NotOurs);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    std::fs::remove_file(&path).unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(create(dir.path()).unwrap_err(), OpenError::NotOurs);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_state_is_refused_only_where_it_says_that_this_version_cannot_serve_it() {
    let dir = tempfile::tempdir().unwrap();
    drop(create(dir.path()).unwrap());
    let set = |version: i64, oldest: i64| {
        let conn = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
        conn.execute("UPDATE schema SET version = ?1, oldest_compatible = ?2", [version, oldest]).unwrap();
    };
    set(9, 1);
    open(dir.path()).unwrap();
    set(9, 9);
    assert_eq!(open(dir.path()).unwrap_err(), OpenError::Newer);
    assert_eq!(create(dir.path()).unwrap_err(), OpenError::Newer);
}

fn overwrite(path: &Path, at: u64, bytes: usize) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&vec![0xa5; bytes]).unwrap();
}

fn filled(dir: &Path) {
    let open = Open::new(dir, ManualClock::new());
    for _ in 0..150 {
        let (stay, _) = open.enter();
        open.leave(&stay);
        open.get("mint", json!({ "scope": "adr", "request": kernel::Id::random().as_str() }));
    }
}

#[test]
fn an_overwritten_header_is_told_and_nothing_is_written_over_it() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let path = dir.path().join("state.db");
    overwrite(&path, 0, 100);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(open(dir.path()).unwrap_err(), OpenError::NotOurs);
    assert_eq!(create(dir.path()).unwrap_err(), OpenError::NotOurs);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn whichever_page_is_overwritten_the_damage_is_told_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let pages = std::fs::metadata(dir.path().join("state.db")).unwrap().len() / 4096;
    assert!(pages > 20, "{pages}");
    for page in 1..pages {
        let copied = tempfile::tempdir().unwrap();
        copy(dir.path(), copied.path());
        let path = copied.path().join("state.db");
        overwrite(&path, page * 4096, 4096);
        let before = std::fs::read(&path).unwrap();
        let file = match StateFile::moved(copied.path(), &Options::default(), &SystemClock) {
            Err(error) => {
                assert_eq!(error, OpenError::Corrupt, "page {page}");
                assert_eq!(std::fs::read(&path).unwrap(), before, "page {page}");
                continue;
            }
            Ok(file) => file,
        };
        assert_eq!(file.check().unwrap_err(), OpenError::Corrupt, "page {page}");
        drop(file);
        let open = Open::new(copied.path(), ManualClock::new());
        for (name, body) in [("queue/list", json!({})), ("mint", json!({ "scope": "adr" }))] {
            let answer = open.ask(name, body);
            assert!(answer.is_ok() || code(&answer) == "internal", "page {page}: {answer:?}");
        }
    }
}

#[test]
fn a_network_file_system_is_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let file_system = Some(FileSystem { magic: 0x6969, fuse: None });
    let options = Options { file_system, ..Options::default() };
    let error = StateFile::create_or_open(dir.path(), &options, &SystemClock).unwrap_err();
    assert_eq!(error, OpenError::NetworkFileSystem("nfs"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_copy_is_noticed_and_a_moved_state_goes_on_where_the_user_says_so() {
    let (dir, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let original = create(dir.path()).unwrap();
    let box_id = original.box_id().clone();
    drop(original);
    copy(dir.path(), copied.path());
    assert_eq!(open(copied.path()).unwrap_err(), OpenError::Copied);
    assert_eq!(create(copied.path()).unwrap_err(), OpenError::Copied);
    let moved = StateFile::moved(copied.path(), &Options::default(), &SystemClock).unwrap();
    assert_eq!(moved.box_id(), &box_id);
    drop(moved);
    open(copied.path()).unwrap();
    open(dir.path()).unwrap();
}

#[test]
fn a_take_over_draws_new_ids_and_lets_nothing_begin_again() {
    let (dir, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (old, turn) = {
        let open = Open::new(dir.path(), ManualClock::new());
        open.file.set_claimed(Some("origin")).unwrap();
        open.get("mint", json!({ "scope": "adr", "count": 41 }));
        let (stay, _) = open.enter();
        open.leave(&stay);
        let (_, holder) = open.enter();
        ((open.file.box_id().clone(), open.file.project().clone()), holder["turnNo"].as_i64().unwrap())
    };
    copy(dir.path(), copied.path());
    let file = StateFile::take_over(copied.path(), &Options::default(), &SystemClock).unwrap();
    assert_ne!(file.box_id(), &old.0);
    assert_ne!(file.project(), &old.1);
    assert_eq!(file.claimed().unwrap(), None);
    drop(file);
    let open = Open::new(copied.path(), ManualClock::new());
    assert_eq!(open.get("mint", json!({ "scope": "adr" }))["first"], 42);
    let (_, view) = open.enter();
    assert_eq!(view["turnNo"], turn + 1);
    assert_eq!(view["entry"], 3);
    let late = json!({ "project": old.1.as_str(), "scope": "adr" }).to_string();
    let late = landing::Call::parse("mint", late.as_bytes(), open.clock.now(), &open.limits).unwrap();
    assert_eq!(code(&store::Calls::ask(&open.desk, late)), "project_retired");
    drop(open);

    let original = Open::new(dir.path(), ManualClock::new());
    assert_eq!((original.file.box_id(), original.file.project()), (&old.0, &old.1));
    assert_eq!(original.get("mint", json!({ "scope": "adr" }))["first"], 42);
}

#[test]
fn a_take_over_of_nothing_makes_a_state() {
    let dir = tempfile::tempdir().unwrap();
    StateFile::take_over(&dir.path().join("new"), &Options::default(), &SystemClock).unwrap();
}

#[test]
fn a_full_disk_refuses_loses_nothing_and_is_over_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    drop(create(dir.path()).unwrap());
    let pages = i64::try_from(std::fs::metadata(dir.path().join("state.db")).unwrap().len() / 4096).unwrap();
    let options = Options { max_pages: Some(pages + 4), ..Options::default() };
    let mint =
        |open: &Open| open.ask("mint", json!({ "scope": "adr", "request": kernel::Id::random().as_str() }));
    let mut last = 0;
    {
        let open = Open::with(dir.path(), Arc::new(SystemClock), kernel::Limits::default(), &options);
        let refused = loop {
            match mint(&open) {
                Ok(answer) => last = json(&Ok(answer))["last"].as_i64().unwrap(),
                Err(refusal) => break refusal,
            }
            assert!(last < 10_000);
        };
        assert!(last > 10);
        assert_eq!(refused.code.as_str(), "internal");
        assert!(refused.detail.contains("free space"), "{}", refused.detail);
        assert_eq!(code(&mint(&open)), "internal");
    }
    let open = Open::new(dir.path(), Arc::new(SystemClock));
    open.file.check().unwrap();
    assert_eq!(json(&mint(&open))["first"], last + 1);
}

#[test]
fn a_disk_that_is_full_at_the_start_is_told_and_a_later_start_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { max_pages: Some(4), ..Options::default() };
    let error = StateFile::create_or_open(dir.path(), &options, &SystemClock).unwrap_err();
    assert_eq!(error, OpenError::Full);
    assert_eq!(open(dir.path()).unwrap_err(), OpenError::Missing);
    create(dir.path()).unwrap();
}

#[test]
fn a_file_that_was_moved_or_replaced_while_it_was_open_issues_nothing_more() {
    let (dir, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = Open::new(dir.path(), ManualClock::new());
    open.get("mint", json!({ "scope": "adr" }));
    std::fs::rename(dir.path().join("state.db"), away.path().join("state.db")).unwrap();
    let answer = open.ask("mint", json!({ "scope": "adr" }));
    assert_eq!(code(&answer), "internal");
    assert!(answer.unwrap_err().detail.contains("moved or replaced"));
    std::fs::write(dir.path().join("state.db"), "").unwrap();
    assert_eq!(code(&open.ask("mint", json!({ "scope": "adr" }))), "internal");
}
