//! `doctor` on what killed processes leave, hooks, numbers and the queue.

use crate::doctor::{examined, here, sick, typed, with_remote};
use crate::harness::{World, eventually, executable};
use crate::promises::assert_killed;
use insta::assert_snapshot;
use rustix::process::Signal;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const TICKET: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

#[test]
fn a_push_that_was_cut_off_is_told_and_a_note_that_cannot_be_read() {
    let world = World::new();
    let (_, clone) = with_remote(&world, &[]);
    clone.branch("feature");
    assert_killed(&clone.env("SIGNALBOX_FAULT", "push:intent-written:kill").run(&["land", "feature"]));
    let ill = sick(&clone, "outcome_unknown");
    assert_snapshot!(ill.told(&world), @r"
    problem: the push of feature was cut off and what became of it is not known yet; settle it
    next: signalbox land --settle
    ");
    ill.heals();
    fs::write(clone.state().join(format!("intents/{TICKET}.json")), "{").unwrap();
    let ill = sick(&clone, "broken_intent");
    assert_snapshot!(ill.told(&world), @r"
    problem: the note of a push cannot be read; look whether its branch landed, then remove it
    next: rm [world]/work/.git/signalbox/intents/[id].json
    ");
    ill.heals();
}

#[test]
fn locks_kept_objects_and_temporary_files_of_killed_processes_are_told() {
    let world = World::new();
    let repo = here(&world, "true");
    fs::create_dir_all(repo.state().join("live")).unwrap();
    fs::write(repo.state().join(format!("live/{TICKET}.lock")), "").unwrap();
    let ill = sick(&repo, "dead_locks");
    assert_snapshot!(ill.told(&world), @r"
    warning: a passage was killed and has left a lock; the next landing removes it, too
    next: signalbox land --settle
    ");
    ill.heals();
    repo.git(&["update-ref", &format!("refs/signalbox/keep/{TICKET}/landing"), "HEAD"]);
    let ill = sick(&repo, "kept_refs");
    assert_snapshot!(ill.told(&world), @r"
    warning: objects are kept for a passage that nobody goes on with; the next landing lets go
    next: signalbox land --settle
    ");
    ill.heals();
    assert_killed(&repo.env("SIGNALBOX_FAULT", "put:written:kill").run(&["init"]));
    let ill = sick(&repo, "temporary_files");
    assert!(ill.told(&world).starts_with("warning: processes that died have left a temporary file;"));
    ill.heals();
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn the_note_of_a_kept_place_that_has_ended_is_told() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = here(&world, &gate.command());
    repo.branch("one");
    repo.branch("two");
    let mut one = repo.start(&["land", "one"]);
    one.event("check");
    assert_eq!(repo.run(&["land", "two", "--no-wait"]).exit, Some(22));
    crate::doctor::healthy(&repo, "kept_places");
    gate.open();
    assert_eq!(one.end().code(), "landed");
    world.advance(600_000);
    let ill = sick(&repo, "kept_places");
    assert_snapshot!(ill.told(&world), @r"
    warning: the kept place of two has ended, and its note stands; remove it
    next: rm [world]/r/.git/signalbox/kept/[id].json
    ");
    ill.heals();
}

#[test]
fn what_a_check_has_left_running_is_told() {
    let world = World::new();
    let number = world.path("number");
    let check = format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 300' >/dev/null 2>&1 </dev/null & \
         until [ -e {0} ]; do sleep 0.01; done",
        number.display()
    );
    let repo = here(&world, &check);
    repo.branch("feature");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    let ill = sick(&repo, "checkouts_in_use");
    let pid = fs::read_to_string(&number).unwrap().trim().to_owned();
    assert_eq!(ill.command().unwrap(), format!("kill {pid}"));
    let (done, said) = typed(&repo, &ill.command().unwrap());
    assert!(done, "{said}");
    eventually("it ends", || !std::path::Path::new(&format!("/proc/{pid}/cwd")).exists());
    crate::doctor::healthy(&repo, "checkouts_in_use");
}

#[test]
fn records_of_worktrees_that_are_gone_are_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let work = repo.worktree("work");
    fs::remove_dir_all(&work.path).unwrap();
    let ill = sick(&repo, "worktrees_gone");
    assert_snapshot!(ill.told(&world), @r"
    warning: git has records of a worktree that is gone; it drops them with: git worktree prune
    [world]/r-work
    next: git worktree prune
    ");
    ill.heals();
}

#[test]
fn a_hook_that_does_not_do_what_it_is_for_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    repo.ok(&["hook", "install"]);
    let hook = repo.path.join(".git/hooks/reference-transaction");
    let text = fs::read_to_string(&hook).unwrap();
    fs::set_permissions(&hook, Permissions::from_mode(0o644)).unwrap();
    let ill = sick(&repo, "hook_not_executable");
    assert_snapshot!(ill.told(&world), @r"
    warning: the hook reference-transaction cannot be executed, so git passes over it; make it executable
    next: chmod +x [world]/r/.git/hooks/reference-transaction
    ");
    ill.heals();
    fs::write(&hook, format!("{text}# mine\n")).unwrap();
    let ill = sick(&repo, "hook_old");
    assert_snapshot!(ill.told(&world), @r"
    warning: the hook reference-transaction is of another version, or was changed; install it again
    [world]/r/.git/hooks/reference-transaction
    next: signalbox hook install
    ");
    ill.heals();
    assert_eq!(fs::read_to_string(&hook).unwrap(), text);
    fs::write(&hook, text.replace(env!("CARGO_BIN_EXE_signalbox"), "/nowhere/signalbox")).unwrap();
    let without = repo.env("PATH", "/usr/bin:/bin");
    let ill = sick(&without, "hook_program_gone");
    assert_snapshot!(ill.told(&world), @r"
    problem: the program that the hook reference-transaction calls is gone, so it refuses all; install it again
    [world]/r/.git/hooks/reference-transaction
    next: signalbox hook install
    ");
    ill.heals();
    repo.git(&["config", "--unset", "signalbox.trunk"]);
    let ill = sick(&repo, "hook_not_set_up");
    assert_snapshot!(ill.told(&world), @r"
    problem: the hook here has lost its settings and refuses all it guards; install it again
    Or take it away: signalbox hook remove
    next: signalbox hook install
    ");
    ill.heals();
}

#[test]
fn a_server_whose_hooks_ask_a_state_that_is_gone_is_told() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    let state = clone.state();
    remote.ok(&["hook", "install", "--server", "--state", state.to_str().unwrap()]);
    let away = world.path("away");
    fs::rename(&state, &away).unwrap();
    let ill = sick(&remote, "hook_state_gone");
    assert_snapshot!(ill.told(&world), @r"
    problem: the hooks here ask the state in [path] which has none, so they refuse all; bring it back
    If it is elsewhere now: signalbox hook install --server --state FOLDER
    ");
    ill.healed_by(|| fs::rename(&away, &state).unwrap());
}

#[test]
fn two_files_of_one_number_are_told_with_the_commands_that_part_them() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &["--line", "adr=adr/{number:04}-{slug}.md"]);
    clone.write("adr/0001-a.md", "a\n");
    clone.commit("adr/0001-b it.md", "b\n", "two at once");
    clone.git(&["push", "-q", "origin", "main"]);
    let ill = sick(&clone, "duplicate_numbers");
    assert_snapshot!(ill.told(&world), @r#"
    warning: adr 1 is used by 2 files of the trunk; give all but one fresh ones
    adr/0001-a.md
    adr/0001-b it.md
    next: git switch -c fresh-number-1 [commit] && n=$(printf %04d "$(signalbox mint adr)") && git mv -- 'adr/0001-b it.md' adr/"$n"'-b it.md' && git commit -m 'A fresh number for adr/0001-b it.md' && signalbox land
    "#);
    ill.heals();
    let files = remote.git(&["ls-tree", "-r", "--name-only", "main", "adr"]);
    assert_eq!(files, "adr/0001-a.md\nadr/0002-b it.md");
}

#[test]
fn files_with_numbers_that_were_never_issued_are_told() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--line", "adr=adr/{number:04}-{slug}.md"]);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "settings"]);
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 1);
    repo.commit("adr/0007-x.md", "", "seven");
    let ill = sick(&repo, "line_behind");
    assert_snapshot!(ill.told(&world), @r"
    warning: adr/0007-x.md has a number that adr did not issue; lift the line above it, or rename it
    The last one that was issued is 1.
    next: signalbox init --take-over
    ");
    ill.heals();
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 8);
    repo.commit("adr/9000-x.md", "", "far");
    assert_eq!(repo.run(&["mint", "adr"]).code(), "floor_too_far");
    let ill = sick(&repo, "line_stuck");
    assert_snapshot!(ill.told(&world), @r"
    problem: adr/9000-x.md has a number too far above adr's for any further mint; lift the line, or rename it
    The last one that was issued is 8.
    next: signalbox init --take-over
    ");
    ill.heals();
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 9_001);
}

#[test]
fn a_holder_that_is_not_heard_of_is_told_until_its_turn_passes_on() {
    let world = World::with_clock();
    let gate = world.gate("gate");
    let repo = here(&world, &gate.command());
    repo.branch("feature");
    let mut land = repo.start(&["land", "feature", "--label", "Ann"]);
    land.event("check");
    crate::doctor::healthy(&repo, "holder_silent");
    land.signal(Signal::STOP);
    eventually("it is stopped", || crate::promises::stopped(land.pid()));
    world.advance(200_000);
    let ill = sick(&repo, "holder_silent");
    let told = ill.told(&world);
    assert!(told.starts_with("warning: Ann with feature was not heard of for 3:"), "{told}");
    ill.healed_by(|| world.advance(200_000));
    gate.open();
    land.signal(Signal::CONT);
    assert_eq!(land.end().code(), "landed");
}

#[test]
fn a_place_whose_process_is_gone_is_told() {
    let world = World::new();
    let gate = world.gate("gate");
    let repo = here(&world, &gate.command());
    repo.branch("one");
    repo.branch("two");
    let mut one = repo.start(&["land", "one"]);
    one.event("check");
    let mut two = repo.start(&["land", "two"]);
    two.event("entered");
    two.kill_group();
    two.end();
    let ill = sick(&repo, "process_gone");
    assert_snapshot!(ill.told(&world), @r"
    warning: the process of two is gone and its place stands; the next landing ends it, or you do
    next: signalbox land --settle
    ");
    ill.heals();
    gate.open();
    assert_eq!(one.end().code(), "landed");
}

#[test]
fn a_freeze_of_more_than_a_day_is_told() {
    let world = World::with_clock();
    let repo = here(&world, "true");
    repo.ok(&["freeze", "open", "BUG-12", "--opener", "Ann"]);
    world.advance(86_400_000);
    crate::doctor::healthy(&repo, "freeze_old");
    world.advance(1);
    let ill = sick(&repo, "freeze_old");
    assert_snapshot!(ill.told(&world), @r"
    warning: the freeze for BUG-12 has stood for more than a day; close it if it is over
    Ann opened it.
    next: signalbox freeze close BUG-12
    ");
    ill.heals();
}

#[test]
fn hooks_of_another_kind_and_hooks_elsewhere_are_told_and_no_fault() {
    let world = World::new();
    let (_, clone) = with_remote(&world, &[]);
    let hook = clone.path.join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    executable(&hook);
    let finds = |code: &str| examined(&clone).events.iter().any(|event| event["code"] == code);
    assert!(finds("hook_beside"));
    assert_eq!(clone.ok(&["doctor"]).end()["warnings"], 0, "its own push does not run it");
    clone.branch("feature");
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed", "nor does a landing");
    clone.git(&["config", "core.hooksPath", world.path("hooks").to_str().unwrap()]);
    assert!(finds("hooks_elsewhere") && !finds("hook_beside"));
}
