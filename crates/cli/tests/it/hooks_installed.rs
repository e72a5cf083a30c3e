//! Installing hooks and taking them away: nothing of the user's is lost or run less than before.

use crate::harness::{Tree, World};
use crate::hooks::{guarded, push, pushed, state};
use crate::promises::{Kept, Place, hook};
use crate::words::{plain, refuses, seen};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn place(kept: Kept) -> Place {
    Place::with(World::new(), kept, &["--no-check"])
}

fn install(place: &Place) -> Vec<String> {
    ["hook", "install", "--server", "--state", state(place).to_str().unwrap()].map(str::to_owned).to_vec()
}

#[test]
fn installing_says_what_it_does_and_what_it_does_not() {
    let here = place(Kept::Here);
    insta::assert_snapshot!(seen(&here.world, &here.work, &["hook", "install"]), @r"
    exit 0
    -- standard output
    here main moves by landings only from now on: no commit, merge or reset moves it
      For whoever must: git -c core.hooksPath=/dev/null … passes it. Deleting it is not stopped.
      hook: [world]/work/.git/hooks/reference-transaction
    -- standard error
    ");
    let remote = place(Kept::Remote);
    insta::assert_snapshot!(seen(&remote.world, &remote.work, &["hook", "install"]), @r"
    exit 0
    -- standard output
    direct pushes to main of origin are stopped here, outside a turn
      It reminds whoever pushes from this clone; `git push --no-verify` passes it.
      To guard the remote itself, there: signalbox hook install --server
      hook: [world]/work/.git/hooks/pre-push
    -- standard error
    ");
    insta::assert_snapshot!(seen(&remote.world, &remote.trunk, &install(&remote)), @r"
    exit 0
    -- standard output
    main moves by landings only from now on; all other refs are as before
      The box is asked at each landing: [world]/work/.git/signalbox
      Whoever pushes here must be able to write that state: the hooks run as who pushes.
      hook: [world]/trunk.git/hooks/reference-transaction
      hook: [world]/trunk.git/hooks/pre-receive
    -- standard error
    ");
    insta::assert_snapshot!(seen(&remote.world, &remote.trunk, &["hook", "remove"]), @r"
    exit 0
    -- standard output
    signalbox's hooks are gone from here; direct pushes and moves of the trunk pass again
      removed: [world]/trunk.git/hooks/pre-receive
      removed: [world]/trunk.git/hooks/reference-transaction
    -- standard error
    ");
    insta::assert_snapshot!(seen(&remote.world, &remote.trunk, &["hook", "remove"]), @r"
    exit 0
    -- standard output
    there is no hook of signalbox here
    -- standard error
    ");
}

#[test]
fn installing_again_changes_nothing_and_mends_what_is_old() {
    let place = guarded("merge");
    let file = place.trunk.path.join("hooks/pre-receive");
    let before = (std::fs::read(&file).unwrap(), place.trunk.git(&["config", "--local", "-l"]));
    place.trunk.ok(&install(&place));
    assert_eq!((std::fs::read(&file).unwrap(), place.trunk.git(&["config", "--local", "-l"])), before);
    let text = String::from_utf8(before.0.clone()).unwrap();
    std::fs::write(&file, text.replace("exit 1", "exit 0")).unwrap();
    place.trunk.ok(&install(&place));
    assert_eq!(std::fs::read(&file).unwrap(), before.0);
    let names = std::fs::read_dir(file.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name());
    let ours: Vec<_> = names.filter(|n| !n.to_str().unwrap().ends_with(".sample")).collect();
    assert_eq!(ours.len(), 2, "{ours:?}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_hook_of_the_users_is_left_as_it_is_and_runs_beside_once_it_is_set_aside() {
    let place = place(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    let log = place.world.path("log");
    hook(
        &place.work,
        "pre-push",
        &format!("{{ echo \"$1 $2\"; cat; }} >> {}; exit ${{USER_SAYS:-0}}", log.display()),
    );
    let file = place.work.path.join(".git/hooks/pre-push");
    let before = std::fs::read(&file).unwrap();
    let end = refuses(&place.work, &["hook", "install"], 2, "hook_stands");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let next = end["do"].as_str().unwrap();
    insta::assert_snapshot!(plain(&place.world, next), @"mv -n [world]/work/.git/hooks/pre-push [world]/work/.git/hooks/pre-push.local");
    assert!(place.work.command("sh").args(["-c", next]).status().unwrap().success());
    place.work.ok(&["hook", "install"]);
    place.work.git(&["push", "-q", "origin", "feature"]);
    let url = place.trunk.path.display();
    let commit = place.work.git(&["rev-parse", "feature"]);
    let wanted = format!("origin {url}\nrefs/heads/feature {commit} refs/heads/feature {}\n", "0".repeat(40));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), wanted, "it gets what git gives");
    let unwilling = place.work.env("USER_SAYS", "1");
    assert!(!push(&place, &unwilling, &["origin", "feature:other"]).0, "its word counts");
    let said = pushed(&place, &place.work, &["origin", "feature:main"]);
    assert!(said.contains("takes landings only"), "{said}");
    place.work.ok(&["hook", "remove"]);
    assert_eq!(std::fs::read(&file).unwrap(), before, "it is put back");
    assert!(!place.work.path.join(".git/hooks/pre-push.local").exists());
}

#[test]
fn a_servers_own_hooks_run_beside_with_the_same_input() {
    let place = place(Kept::Remote);
    place.branches(&["feature", "other"].map(str::to_owned));
    let log = place.world.path("log");
    for name in ["pre-receive", "reference-transaction"] {
        hook(&place.trunk, name, &format!("sed \"s/^/{name} $1 /\" >> {}", log.display()));
    }
    let end = refuses(&place.trunk, &install(&place), 2, "hook_stands");
    let moves = end["do"].as_str().unwrap();
    assert!(place.trunk.command("sh").args(["-c", moves]).status().unwrap().success(), "{moves}");
    place.trunk.ok(&install(&place));
    place.work.ok(&["land", "feature"]);
    let text = std::fs::read_to_string(&log).unwrap();
    for wanted in ["pre-receive  ", "reference-transaction prepared ", "reference-transaction committed "] {
        let of_main = text.lines().filter(|l| l.starts_with(wanted) && l.ends_with(" refs/heads/main"));
        assert_eq!(of_main.count(), 1, "{wanted}: {text}");
    }
    place.trunk.ok(&["hook", "remove"]);
    place.work.ok(&["land", "other"]);
    for name in ["pre-receive", "reference-transaction"] {
        let stands = std::fs::read_to_string(place.trunk.path.join("hooks").join(name)).unwrap();
        assert!(stands.contains("sed"), "{name} is put back");
    }
}

#[test]
fn a_folder_of_hooks_of_the_repositorys_own_is_used_and_one_that_others_share_is_not() {
    let place = place(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    place.work.git(&["config", "core.hooksPath", ".githooks"]);
    place.work.ok(&["hook", "install"]);
    assert!(place.work.path.join(".githooks/pre-push").exists());
    assert!(!place.work.path.join(".git/hooks/pre-push").exists());
    assert!(pushed(&place, &place.work, &["origin", "feature:main"]).contains("landings only"));
    place.work.ok(&["hook", "remove"]);
    assert!(!place.work.path.join(".githooks/pre-push").exists());

    let shared = place.world.path("shared");
    std::fs::create_dir(&shared).unwrap();
    for folder in [shared.to_str().unwrap(), "/dev/null", "~/hooks"] {
        place.work.git(&["config", "core.hooksPath", folder]);
        let end = refuses(&place.work, &["hook", "install"], 3, "hooks_elsewhere");
        let next = end["do"].as_str().unwrap().to_owned();
        assert!(next.starts_with("git config core.hooksPath "), "{next}");
        assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
    }
    let end = refuses(&place.work, &["hook", "install"], 3, "hooks_elsewhere");
    assert!(place.work.command("sh").args(["-c", end["do"].as_str().unwrap()]).status().unwrap().success());
    place.work.ok(&["hook", "install"]);
    assert!(pushed(&place, &place.work, &["origin", "feature:main"]).contains("landings only"));
    let linked = place.work.worktree("linked");
    linked.ok(&["hook", "install"]);
}

#[test]
fn each_kind_of_hook_is_refused_where_it_does_not_belong() {
    let world = World::new();
    let bare = world.bare("bare.git");
    let repo = world.repo("repo");
    let nowhere = world.tree(world.path("home"));
    refuses(&nowhere, &["hook", "install"], 2, "no_repository");
    refuses(&repo, &["hook", "install"], 3, "not_set_up");
    refuses(&repo, &["hook", "install", "--server"], 2, "not_bare");
    refuses(&bare, &["hook", "install"], 2, "bare");
    let end = refuses(&bare, &["hook", "install", "--server"], 2, "no_state");
    assert!(end["detail"].as_str().unwrap().contains("--state DIR"), "{end}");
    assert!(!bare.path.join("signalbox").exists(), "nothing is made");
    refuses(&repo, &["hook", "install", "--trunk", "x"], 2, "usage");
}

fn config(tree: &Tree, key: &str) -> Vec<String> {
    tree.git(&["config", "--get-all", key]).lines().map(str::to_owned).collect()
}

#[test]
fn a_server_guards_the_states_trunk_or_those_that_are_named() {
    let place = place(Kept::Remote);
    place.branches(&["feature".to_owned()]);
    place.trunk.ok(&install(&place));
    assert_eq!(config(&place.trunk, "signalbox.trunk"), ["main"]);
    assert_eq!(config(&place.trunk, "signalbox.state"), [state(&place).to_str().unwrap()]);
    let named =
        [install(&place), ["--trunk", "main", "--trunk", "release/1"].map(str::to_owned).to_vec()].concat();
    place.trunk.ok(&named);
    assert_eq!(config(&place.trunk, "signalbox.trunk"), ["main", "release/1"]);
    for trunk in ["main", "release/1"] {
        let said = pushed(&place, &place.work, &["origin", &format!("feature:{trunk}")]);
        assert!(said.contains(&format!("{trunk} takes landings only")), "{said}");
    }
    place.trunk.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    for (odd, code) in [("alias", "symbolic_ref"), ("a..b", "bad_branch"), ("refs heads", "bad_branch")] {
        refuses(&place.trunk, &[install(&place), vec!["--trunk".into(), odd.into()]].concat(), 2, code);
    }
    assert_eq!(config(&place.trunk, "signalbox.trunk"), ["main", "release/1"], "a refusal changes nothing");
}

#[test]
fn another_boxs_state_is_not_taken_for_a_servers_own() {
    let place = place(Kept::Remote);
    let other = place.world.repo("other");
    other.ok(&["init", "--no-check"]);
    let state = other.state();
    let args = ["hook", "install", "--server", "--state", state.to_str().unwrap()];
    refuses(&place.trunk, &args, 3, "other_box");
    assert!(!place.trunk.path.join("hooks/pre-receive").exists());
}

#[test]
fn a_state_in_the_bare_repository_itself_is_found_without_being_named() {
    let world = World::new();
    let trunk = world.bare("trunk.git");
    let work = world.clone_of(&trunk, "work");
    let folder: PathBuf = trunk.path.join("signalbox");
    let shared = work.env("SIGNALBOX_STATE", folder.to_str().unwrap());
    shared.ok(&["init", "--no-check"]);
    trunk.ok(&["hook", "install", "--server"]);
    shared.branch("feature");
    assert_eq!(shared.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_program_and_a_folder_with_odd_names_work() {
    let world = World::new();
    let bin = world.path("it's $HOME `x`");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("signalbox");
    std::fs::copy(env!("CARGO_BIN_EXE_signalbox"), &program).unwrap();
    let trunk = world.bare("a 'b' $c.git");
    let work = world.clone_of(&trunk, "work of \"x\"");
    work.ok(&["init", "--no-check"]);
    let by = |tree: &Tree, args: &[&str]| {
        let out = tree.command(&program).args(args).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    let state = work.state();
    by(&trunk, &["hook", "install", "--server", "--state", state.to_str().unwrap()]);
    by(&work, &["hook", "install"]);
    work.branch("feature");
    let place = Place { world, work, trunk, kept: Kept::Guarded };
    assert!(
        pushed(&place, &place.work, &["origin", "feature:main"]).contains("of origin takes landings only")
    );
    assert!(
        pushed(&place, &place.work, &["--no-verify", "origin", "feature:main"])
            .contains("main takes landings")
    );
    assert_eq!(place.work.ok(&["land", "feature"]).code(), "landed");
}
