//! A server's hooks: landings pass, what goes past the queue does not, and all other refs are left alone.

use crate::harness::{Tree, World, eventually, executable};
use crate::promises::{Kept, Place, assert_killed, stopped};
use crate::words::{plain, refuses, told};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::path::PathBuf;

/// A clone of a bare remote that lets landings only pass.
pub fn guarded(strategy: &str) -> Place {
    let init = ["--check", "test -f README", "--strategy", strategy];
    Place::with(World::with_clock(), Kept::Guarded, &init)
}

/// Pushes; gives whether it passed and what a person reads, with what differs from run to run replaced.
pub fn push<S: AsRef<OsStr>>(place: &Place, from: &Tree, args: &[S]) -> (bool, String) {
    let out = from.command("git").arg("push").args(args).output().unwrap();
    (out.status.success(), plain(&place.world, &String::from_utf8_lossy(&out.stderr)))
}

/// What the remote's hook said, as it is read before git's own lines.
pub fn words(said: &str) -> String {
    let mut lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("To ") && !line.starts_with("error: failed to push"))
        .filter_map(|line| line.strip_prefix("remote: ").or(Some(line).filter(|l| !l.starts_with(" ! "))))
        .map(str::trim_end)
        .collect();
    lines.dedup();
    lines.join("\n")
}

/// A push that must be refused, and change nothing; gives the hook's words.
#[track_caller]
pub fn pushed<S: AsRef<OsStr>>(place: &Place, from: &Tree, args: &[S]) -> String {
    let before = place.trunk.git(&["for-each-ref"]);
    let (passed, said) = push(place, from, args);
    assert_eq!(place.trunk.git(&["for-each-ref"]), before, "{said}");
    assert!(!passed, "it passed: {said}");
    words(&said)
}

/// The state folder of the box, as the server's hooks have it.
pub fn state(place: &Place) -> PathBuf {
    place.work.state()
}

#[test]
fn landings_pass_a_servers_hooks_and_leave_nothing_behind() {
    for strategy in ["merge", "squash"] {
        let place = guarded(strategy);
        let names = ["one", "two", "three"].map(str::to_owned);
        place.branches(&names);
        for name in &names {
            let done = place.work.ok(&["land", name]);
            assert_eq!(done.code(), "landed", "{}", done.all());
            assert_eq!(place.epoch(), "landed");
        }
        place.assert_exactly_once(&names);
        place.assert_nothing_left();
        let second = place.world.clone_of(&place.trunk, "second");
        second.branch("four");
        let state = state(&place);
        let args = ["land", "four", "--state", state.to_str().unwrap()];
        assert_eq!(second.ok(&args).code(), "landed", "another clone with the same state");
    }
}

#[test]
fn a_dead_clients_turn_is_voided_through_the_hooks_and_the_next_one_lands() {
    for strategy in ["merge", "squash"] {
        let place = guarded(strategy);
        place.branches(&["dead", "other"].map(str::to_owned));
        assert_killed(&place.work.env("SIGNALBOX_FAULT", "push:intent-written:kill").run(&["land", "dead"]));
        assert_eq!(place.epoch(), "begun");
        let done = place.work.ok(&["land", "--settle"]);
        assert_eq!(done.end()["notLanded"], 1, "{}", done.all());
        assert_eq!(place.epoch(), "void", "it moved alone, and its ticket had the turn still");
        assert_eq!(place.work.ok(&["land", "other"]).code(), "landed");
        assert_eq!(place.work.ok(&["land", "dead"]).code(), "landed");
        place.assert_nothing_left();
    }
}

#[test]
fn the_first_landing_of_all_makes_the_trunk_of_an_empty_remote() {
    let world = World::new();
    let trunk = world.tree(world.path("empty.git"));
    std::fs::create_dir(&trunk.path).unwrap();
    trunk.git(&["init", "-q", "--bare"]);
    let work = world.clone_of(&trunk, "work");
    work.git(&["switch", "-q", "-c", "feature"]);
    work.commit("README", "hello\n", "first");
    work.ok(&["init", "--no-check", "--trunk", "main"]);
    let state = work.state();
    trunk.ok(&["hook", "install", "--server", "--state", state.to_str().unwrap()]);
    let place = Place { world, work, trunk, kept: Kept::Guarded };
    let said = pushed(&place, &place.work, &["origin", "feature:main"]);
    assert!(said.contains("main takes landings only"), "{said}");
    for name in ["refs/heads/main/x", "refs/signalbox/epoch/main/x", "refs/signalbox/box/x"] {
        let said = pushed(&place, &place.work, &["origin", &format!("feature:{name}")]);
        assert!(said.contains("would stand in the way"), "{name}: {said}");
    }
    assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(place.main(), place.work.git(&["rev-parse", "feature"]));
}

#[test]
fn a_landing_passes_in_a_repository_with_long_object_names() {
    let world = World::new();
    let seed = world.tree(world.path("seed"));
    std::fs::create_dir(&seed.path).unwrap();
    seed.git(&["init", "-q", "--object-format=sha256"]);
    seed.commit("README", "hello\n", "first");
    seed.git(&["clone", "-q", "--bare", ".", world.path("trunk.git").to_str().unwrap()]);
    let trunk = world.tree(world.path("trunk.git"));
    let work = world.clone_of(&trunk, "work");
    work.ok(&["init", "--no-check"]);
    trunk.ok(&["hook", "install", "--server", "--state", work.state().to_str().unwrap()]);
    work.branch("feature");
    assert_eq!(work.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(trunk.git(&["rev-parse", "main"]).len(), 64);
}

#[test]
fn a_direct_push_is_refused_with_the_way_out() {
    let place = guarded("merge");
    place.branches(&["feature", "landed"].map(str::to_owned));
    place.work.ok(&["land", "landed"]);
    insta::assert_snapshot!(push(&place, &place.work, &["origin", "+feature:main"]).1, @r"
    remote: signalbox: main takes landings only, no direct push; land the branch        
    remote:   Nothing was changed here.        
    remote:   Commits that are on your copy of it: git switch -c NAME, then land that branch.        
    remote:   next: signalbox land        
    To [world]/trunk.git
     ! [remote rejected] feature -> main (pre-receive hook declined)
    error: failed to push some refs to '[world]/trunk.git'
    ");
    let forwards = place.work.git(&["commit-tree", "-p", "origin/main", "-m", "x", "origin/main^{tree}"]);
    for args in [
        &["origin", &format!("{forwards}:main")][..],
        &["origin", "+origin/main~1:main"],
        &["--force", "--atomic", "origin", "feature:main", "feature:other"],
        &["--no-verify", "origin", "+feature:main"],
        &["--mirror", "origin"],
    ] {
        let said = pushed(&place, &place.work, args);
        told(&said);
        let box_first = args[0] == "--mirror" && said.contains("which box keeps this trunk");
        assert!(said.contains("landings only") || box_first, "{args:?}: {said}");
    }
}

#[test]
fn nothing_that_guards_the_trunk_is_deleted_or_moved_by_a_push() {
    let place = guarded("merge");
    place.branches(&["landed".to_owned()]);
    place.work.ok(&["land", "landed"]);
    let refused = |arg: &str| pushed(&place, &place.work, &["origin", arg]);
    insta::assert_snapshot!(refused(":main"), @"signalbox: main is not deleted by a push; ask whoever keeps this server");
    insta::assert_snapshot!(refused(":refs/signalbox/epoch/main"), @r"
    signalbox: the epoch of main is never deleted: it keeps stale pushes out
      Nothing need be done; leave it where it is.
    ");
    let boxed = r"
    signalbox: no push changes which box keeps this trunk; ask whoever keeps this server
      A box is claimed once. If its state is lost, whoever keeps this server lets another in:
      1. in this repository: signalbox hook remove
      2. in a clone: signalbox init --take-over
      3. here again: signalbox hook install --server --state DIR (that clone's state)
    ";
    let boxed = boxed.trim().replace("\n    ", "\n");
    assert_eq!(refused(":refs/signalbox/box"), boxed);
    assert_eq!(refused("+landed:refs/signalbox/box"), boxed);
}

#[test]
fn a_push_through_a_symbolic_ref_is_refused() {
    let place = guarded("merge");
    place.branches(&["feature", "landed"].map(str::to_owned));
    place.work.ok(&["land", "landed"]);
    place.trunk.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    place.trunk.git(&["symbolic-ref", "refs/heads/chain", "refs/heads/alias"]);
    place.trunk.git(&["symbolic-ref", "refs/tags/fence", "refs/signalbox/epoch/main"]);
    place.trunk.git(&["symbolic-ref", "refs/heads/harmless", "refs/heads/other"]);
    insta::assert_snapshot!(pushed(&place, &place.work, &["origin", "+feature:alias"]), @r"
    signalbox: refs/heads/alias is symbolic, to or from main; push refs by their own names
      next: signalbox land
    ");
    for args in [
        &["+feature:chain"][..],
        &["+feature:refs/tags/fence"],
        &[":alias"],
        &["+feature:alias", "+feature:main"],
    ] {
        let said = pushed(&place, &place.work, &[&["origin"], args].concat());
        assert!(said.contains("is symbolic, to or from main"), "{args:?}: {said}");
    }
    place.work.git(&["push", "-q", "origin", "feature:harmless"]);
    assert_eq!(place.trunk.git(&["rev-parse", "other"]), place.work.git(&["rev-parse", "feature"]));
}

#[test]
fn a_symbolic_ref_that_leads_nowhere_yet_makes_no_trunk() {
    let world = World::new();
    let trunk = world.bare("trunk.git");
    let work = world.clone_of(&trunk, "work");
    work.ok(&["init", "--no-check", "--trunk", "next"]);
    trunk.ok(&["hook", "install", "--server", "--state", work.state().to_str().unwrap()]);
    trunk.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/next"]);
    work.branch("feature");
    let place = Place { world, work, trunk, kept: Kept::Guarded };
    let said = pushed(&place, &place.work, &["origin", "feature:alias"]);
    assert!(said.contains("next and its epoch move together or not at all"), "{said}");
}

#[test]
fn other_branches_and_tags_pass_untouched_whatever_they_are_called() {
    let place = guarded("merge");
    place.branches(&["feature".to_owned()]);
    let names = [
        "refs/heads/feature",
        "refs/heads/mainly",
        "refs/heads/Main",
        "refs/heads/x/main",
        "refs/heads/$(touch${IFS}hit)",
        "refs/heads/`touch-hit`",
        "refs/heads/a'b\"c;d&e|f>g",
        "refs/heads/-main",
        "refs/heads/%s%n%(x)",
        "refs/heads/日本語",
        "refs/tags/main",
        "refs/tags/v1",
        "refs/notes/commits",
        "refs/signalbox/epoch/other",
        &format!("refs/heads/{}", "n".repeat(200)),
    ];
    let refspecs: Vec<String> = names.iter().map(|name| format!("+feature:{name}")).collect();
    let args: Vec<&str> = ["-q", "origin"].into_iter().chain(refspecs.iter().map(String::as_str)).collect();
    assert_eq!(push(&place, &place.work, &args), (true, String::new()));
    let args: Vec<String> = refspecs.iter().map(|spec| spec.replace("+feature:", "+main:")).collect();
    let args: Vec<&str> = ["-q", "origin"].into_iter().chain(args.iter().map(String::as_str)).collect();
    assert_eq!(push(&place, &place.work, &args), (true, String::new()), "moved back");
    for name in names {
        assert_eq!(place.trunk.git(&["rev-parse", "--verify", name]), place.main(), "{name}");
    }
    let args: Vec<String> = names.iter().map(|name| format!(":{name}")).collect();
    let args: Vec<&str> = ["-q", "origin"].into_iter().chain(args.iter().map(String::as_str)).collect();
    assert_eq!(push(&place, &place.work, &args), (true, String::new()), "deleted");
    assert!(!place.trunk.path.join("hit").exists());
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let odd = OsStr::from_bytes(b"feature:refs/heads/\xff\xfe");
        assert!(push(&place, &place.work, &[OsStr::new("-q"), OsStr::new("origin"), odd]).0);
    }
    assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn packing_and_collecting_go_on_working() {
    let place = guarded("merge");
    place.branches(&["one", "two", "three", "dead"].map(str::to_owned));
    for (name, epoch) in [("one", "landed"), ("two", "begun"), ("three", "void")] {
        place.work.ok(&["land", name]);
        // The trunk is packed beside an epoch that does not name it, too.
        if epoch != "landed" {
            let fault = "push:intent-written:kill";
            assert_killed(&place.work.env("SIGNALBOX_FAULT", fault).run(&["land", "dead"]));
        }
        if epoch == "void" {
            place.work.ok(&["land", "--settle"]);
        }
        assert_eq!(place.epoch(), epoch);
        let before = place.trunk.git(&["for-each-ref"]);
        for args in [
            &["pack-refs", "--all"][..],
            &["pack-refs", "--all", "--prune"],
            &["gc", "-q", "--prune=now"],
            &["reflog", "expire", "--all", "--expire=now"],
            &["repack", "-adq"],
            &["prune"],
            &["fsck", "--strict"],
        ] {
            place.trunk.git(args);
            assert_eq!(place.trunk.git(&["for-each-ref"]), before, "{args:?}");
        }
    }
    place.assert_exactly_once(&["one", "two", "three"].map(str::to_owned));
}

#[test]
fn a_holder_whose_turn_went_on_meanwhile_is_refused_by_the_hooks_and_waits_again() {
    let place = guarded("merge");
    place.branches(&["slow", "other"].map(str::to_owned));
    let before_epoch = place.work.env("SIGNALBOX_FAULT", "before:epoch:stop");
    let at_the_epoch = |args: &[&str]| {
        let mut landing = before_epoch.start(args);
        landing.event("turn");
        eventually("it is stopped", || stopped(landing.pid()));
        landing
    };
    let mut slow = at_the_epoch(&["land", "slow"]);
    place.world.advance(300_001);
    // The next one has the turn, and the epoch does not show it yet.
    let other = at_the_epoch(&["land", "other", "--no-reenter"]);
    slow.signal(Signal::CONT);
    assert_eq!(slow.event("waiting")["holder"]["branch"], "other");
    place.world.advance(300_001);
    slow.event("turn");
    other.signal(Signal::CONT);
    let done = other.end();
    assert_eq!((done.exit, done.code()), (Some(17), "turn_lost"), "{}", done.all());
    let done = slow.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    place.assert_exactly_once(&["slow".to_owned()]);
    place.assert_nothing_left();
}

#[test]
fn a_box_that_cannot_be_asked_refuses_the_landing_and_nothing_else() {
    let place = guarded("merge");
    place.branches(&["feature".to_owned()]);
    let (state, away) = (state(&place), place.world.path("away"));
    let other = place.world.clone_of(&place.trunk, "other");
    other.branch("by-hand");
    // The hook's settings name a folder that is gone, while the clone still has its own.
    let rename = |from: &PathBuf, to: &PathBuf| std::fs::rename(from, to).unwrap();
    place.trunk.git(&["config", "signalbox.state", place.world.path("gone").to_str().unwrap()]);
    let end = refuses(&place.work, &["land", "feature"], 19, "remote_refused");
    let said: Vec<&str> = end["more"][0].as_str().unwrap().lines().map(str::trim_end).collect();
    let said = said.iter().filter_map(|line| line.strip_prefix("remote: ")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(said, @r"
    signalbox: the box cannot be asked whose turn it is, so main takes nothing now
      Why: there is no state where the hook's settings say that it is
      Nothing was changed here; land again when that is mended.
      Where the state is says, there: signalbox hook install --server --state DIR
    ");
    assert!(!place.world.path("gone").exists(), "nothing is made");
    place.trunk.git(&["config", "signalbox.state", state.to_str().unwrap()]);

    let epoch = "refs/signalbox/epoch/main";
    let ticket = "00000000-0000-4000-8000-000000000001";
    let text = format!(
        "signalbox epoch\n\nturn: 1\nticket: {ticket}\nbox: b\nstate: begun\ntrunk: none\nnonce: 1\n"
    );
    let forged = other.git(&["commit-tree", "-m", &text, "main^{tree}"]);
    rename(&state, &away);
    let said = pushed(&place, &other, &["origin", &format!("{forged}:{epoch}")]);
    assert!(said.contains("box cannot be asked"), "{said}");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("state.db"), "not a database, but long enough to be looked at".repeat(100))
        .unwrap();
    let said = pushed(&place, &other, &["origin", &format!("{forged}:{epoch}")]);
    assert!(said.contains("state.db is no state of signalbox"), "{said}");
    std::fs::remove_dir_all(&state).unwrap();
    // A copy is another file: its box is none that may give turns.
    std::fs::create_dir(&state).unwrap();
    std::fs::copy(away.join("state.db"), state.join("state.db")).unwrap();
    let said = pushed(&place, &other, &["origin", &format!("{forged}:{epoch}")]);
    assert!(said.contains("this state is a copy"), "{said}");
    other.git(&["push", "-q", "origin", "by-hand"]);
    std::fs::remove_dir_all(&state).unwrap();
    rename(&away, &state);
    assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_pushers_own_variables_do_not_turn_the_hooks_to_another_state() {
    let place = guarded("merge");
    place.branches(&["feature".to_owned()]);
    let elsewhere = place.world.repo("elsewhere");
    elsewhere.ok(&["init", "--no-check"]);
    let state = elsewhere.state();
    let turned = place.work.env("SIGNALBOX_STATE", state.to_str().unwrap());
    let turned = turned.env("SIGNALBOX_TICKET", "00000000-0000-4000-8000-000000000001");
    let said = pushed(&place, &turned, &["origin", "feature:main"]);
    assert!(said.contains("landings only"), "{said}");
    let text = "signalbox epoch\n\nturn: 9\nticket: 00000000-0000-4000-8000-000000000001\nbox: BOX\nstate: begun\n\
                trunk: none\nnonce: 1\n";
    let forged = turned.git(&["commit-tree", "-m", text, "main^{tree}"]);
    let said = pushed(&place, &turned, &["origin", &format!("{forged}:refs/signalbox/epoch/main")]);
    assert!(said.contains("turns of another box only"), "{said}");
    // A landing whose caller has a variable for another repository is judged by the server's own box.
    let own = place.work.state();
    let args = ["land", "feature", "--state", own.to_str().unwrap()];
    assert_eq!(turned.ok(&args).code(), "landed");
}

#[test]
fn another_box_neither_claims_a_server_nor_takes_it_over_by_a_push() {
    let place = guarded("merge");
    place.branches(&["one", "two"].map(str::to_owned));
    place.work.ok(&["land", "one"]);
    let other = place.world.clone_of(&place.trunk, "other");
    other.branch("three");
    let end = refuses(&other, &["init", "--take-over", "--no-check"], 19, "take_over_refused");
    assert!(end["more"].to_string().contains("turns of another box only"), "{end}");
    assert_eq!(place.work.ok(&["land", "two"]).code(), "landed", "the first box goes on");

    place.trunk.git(&["update-ref", "-d", "refs/signalbox/box"]);
    let end = refuses(&other, &["land", "three"], 19, "box_refused");
    assert!(end["more"].to_string().contains("turns of another box only"), "{end}");
    place.branches(&["four".to_owned()]);
    assert_eq!(place.work.ok(&["land", "four"]).code(), "landed", "its own box claims it again");

    place.trunk.ok(&["hook", "remove"]);
    other.ok(&["init", "--take-over"]);
    let state = other.state();
    place.trunk.ok(&["hook", "install", "--server", "--state", state.to_str().unwrap()]);
    assert_eq!(other.ok(&["land", "three"]).code(), "landed", "as the hook's words say");
    place.branches(&["five".to_owned()]);
    refuses(&place.work, &["land", "five"], 3, "other_box");
}

#[test]
fn a_hook_without_settings_or_program_refuses_and_says_so() {
    let place = guarded("merge");
    place.branches(&["feature".to_owned()]);
    let trunks = place.trunk.git(&["config", "signalbox.trunk"]);
    place.trunk.git(&["config", "--unset", "signalbox.trunk"]);
    insta::assert_snapshot!(pushed(&place, &place.work, &["origin", "feature"]), @r"
    signalbox: this repository's signalbox hook has lost its settings; install it again, or remove it
      They are signalbox.trunk and, at a server, signalbox.state in its git configuration.
      There: `signalbox hook install` (at a server with --server), or `signalbox hook remove`.
    ");
    place.trunk.git(&["config", "signalbox.trunk", &trunks]);
    place.work.git(&["push", "-q", "origin", "feature"]);
    let hook = place.trunk.path.join("hooks/pre-receive");
    let text = std::fs::read_to_string(&hook).unwrap();
    let gone = text.replace(env!("CARGO_BIN_EXE_signalbox"), "/nowhere/signalbox");
    assert_ne!(gone, text);
    std::fs::write(&hook, gone).unwrap();
    executable(&hook);
    insta::assert_snapshot!(pushed(&place, &place.work, &["origin", "feature:x"]), @"signalbox: the program of this hook is gone; install signalbox again, or remove hooks/pre-receive");
    // One that the search path finds will do.
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_signalbox")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    assert_eq!(place.work.env("PATH", path).ok(&["land", "feature"]).code(), "landed");
}
