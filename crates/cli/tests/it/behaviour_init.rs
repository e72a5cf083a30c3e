//! Setting up: what `init` finds out, what it asks for, and what it leaves as it stands.

use crate::harness::{Tree, World, eventually};
use crate::words::{more, refused, refuses};

fn trunk(tree: &Tree, args: &[&str]) -> String {
    tree.ok(args).end()["trunk"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_remote_the_trunk_is_the_usual_branch_of_the_repository_itself() {
    let world = World::new();
    let repo = world.repo("r");
    repo.git(&["switch", "-q", "-c", "feature"]);
    assert_eq!(trunk(&repo, &["init", "--no-check"]), "main");
    let odd = world.repo("odd");
    odd.git(&["branch", "-q", "-m", "develop"]);
    assert_eq!(trunk(&odd, &["init", "--no-check"]), "develop");
}

#[test]
fn with_a_remote_the_trunk_is_what_the_remote_calls_its_head() {
    let world = World::new();
    let remote = world.bare("remote.git");
    remote.git(&["branch", "-m", "main", "develop"]);
    let clone = world.clone_of(&remote, "clone");
    clone.git(&["switch", "-q", "-c", "main"]);
    assert_eq!(trunk(&clone, &["init", "--no-check"]), "origin/develop");
    let fetched = world.repo("fetched");
    fetched.git(&["remote", "add", "elsewhere", remote.path.to_str().unwrap()]);
    remote.git(&["update-ref", "-d", "refs/signalbox/box"]);
    assert_eq!(trunk(&fetched, &["init", "--no-check"]), "elsewhere/develop", "asked of the remote");
}

#[test]
fn several_remotes_without_an_origin_must_be_chosen_from() {
    let world = World::new();
    let (one, two) = (world.bare("one.git"), world.bare("two.git"));
    let repo = world.repo("r");
    repo.git(&["remote", "add", "one", one.path.to_str().unwrap()]);
    repo.git(&["remote", "add", "two", two.path.to_str().unwrap()]);
    refuses(&repo, &["init", "--no-check"], 2, "which_remote");
    refuses(&repo, &["init", "--no-check", "--remote", "three"], 2, "no_remote");
    refuses(&repo, &["init", "--no-check", "--remote", &"long".repeat(50)], 2, "no_remote");
    assert!(!repo.path.join(".signalbox.toml").exists());
    assert_eq!(trunk(&repo, &["init", "--no-check", "--remote", "two"]), "two/main");
    assert!(!one.git_ok(&["rev-parse", "-q", "--verify", "refs/signalbox/box"]));
    let mixed = world.repo("mixed");
    mixed.git(&["remote", "add", "upstream", two.path.to_str().unwrap()]);
    mixed.git(&["remote", "add", "origin", one.path.to_str().unwrap()]);
    assert_eq!(trunk(&mixed, &["init", "--no-check"]), "origin/main");
}

#[test]
fn a_repository_without_a_commit_is_set_up_and_the_first_landing_makes_the_trunk() {
    let world = World::new();
    let empty = world.tree(world.path("empty"));
    std::fs::create_dir(&empty.path).unwrap();
    empty.git(&["init", "-q"]);
    assert_eq!(trunk(&empty, &["init", "--check", "test -f a"]), "main");
    refuses(&empty, &["land"], 2, "trunk_itself");
    empty.git(&["switch", "-q", "-c", "feature"]);
    refuses(&empty, &["land"], 2, "no_branch");
    let head = empty.commit("a", "1\n", "first");
    let done = empty.ok(&["land"]);
    assert_eq!((done.code(), empty.git(&["rev-parse", "main"])), ("landed", head));
    empty.commit("b", "1\n", "second");
    assert_eq!(empty.ok(&["land"]).code(), "landed");
    assert_eq!(empty.tickets("main").len(), 1, "the second one is a merge");
    assert_eq!(empty.leftovers(), [""; 0]);
}

#[test]
fn an_empty_remote_gets_its_trunk_from_the_first_landing() {
    let world = World::new();
    let remote = world.tree(world.path("remote.git"));
    std::fs::create_dir(&remote.path).unwrap();
    remote.git(&["init", "-q", "--bare"]);
    let clone = world.clone_of(&remote, "clone");
    assert_eq!(trunk(&clone, &["init", "--no-check"]), "origin/main");
    clone.git(&["switch", "-q", "-c", "feature"]);
    let head = clone.commit("a", "1\n", "first");
    assert_eq!(clone.ok(&["land"]).code(), "landed");
    assert_eq!(remote.git(&["rev-parse", "main"]), head);
}

#[test]
fn a_second_init_changes_nothing() {
    let world = World::new();
    let repo = world.repo("r");
    let first = repo.ok(&["init", "--check", "make test", "--line", "adr=adr/{number}-{slug}"]);
    let look = || {
        (
            repo.read(".signalbox.toml"),
            std::fs::read_to_string(repo.state().join("settings.toml")).unwrap(),
            repo.git(&["for-each-ref"]),
        )
    };
    let before = look();
    for args in [&["init"][..], &["init", "--check", "make test"]] {
        let again = repo.ok(args);
        assert_eq!(again.end()["trunk"], first.end()["trunk"]);
        assert_eq!(look(), before);
    }
    let tree = repo.worktree("feature");
    tree.ok(&["init"]);
    assert_eq!(tree.read(".signalbox.toml"), before.0, "the copy serves every worktree");
}

#[test]
fn a_settings_file_that_says_otherwise_is_not_overwritten() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "make test"]);
    let before = repo.read(".signalbox.toml");
    for args in [
        &["init", "--check", "make other"][..],
        &["init", "--no-check"],
        &["init", "--trunk", "develop"],
        &["init", "--strategy", "squash"],
        &["init", "--line", "adr"],
    ] {
        refuses(&repo, args, 2, "settings_stand");
    }
    assert_eq!(repo.read(".signalbox.toml"), before);
    repo.write(".signalbox.toml", "[trunk\n");
    let end = refuses(&repo, &["init"], 3, "bad_settings");
    assert!(more(&end).contains('1'), "{end}");
    assert_eq!(repo.read(".signalbox.toml"), "[trunk\n");
}

#[test]
fn without_a_terminal_the_check_must_be_given_or_declined_out_loud() {
    let world = World::new();
    let repo = world.repo("r");
    let end = refuses(&repo, &["init"], 2, "no_check");
    assert_eq!(end["do"], "signalbox --json init --check 'make test'");
    assert!(!repo.path.join(".signalbox.toml").exists() && !repo.state().exists());
    refuses(&repo, &["init", "--check", "  "], 2, "bad_settings");
    let (exit, stdout, _) = repo.people(&["init", "--no-check"]);
    assert_eq!(exit, 0);
    assert!(stdout.contains("nothing is checked"), "{stdout}");
    assert!(repo.read(".signalbox.toml").contains("none = true"));
}

#[test]
fn on_a_terminal_the_check_is_asked_for() {
    let world = World::new();
    let repo = world.repo("r");
    let bin = env!("CARGO_BIN_EXE_signalbox");
    let mut command = repo.command("script");
    command.args(["-qec", &format!("'{bin}' init"), "/dev/null"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"make test\n").unwrap();
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}");
    assert!(said.contains("Which command must pass"), "{said}");
    assert!(repo.read(".signalbox.toml").contains("command = \"make test\""));
}

#[test]
fn settings_that_cannot_be_meant_are_refused_before_anything_is_written() {
    let world = World::new();
    let repo = world.repo("r");
    for args in [
        &["init", "--no-check", "--trunk", "a..b"][..],
        &["init", "--no-check", "--line", "Bad Name"],
        &["init", "--no-check", "--line", "adr=no-number.md"],
        &["init", "--no-check", "--line", "adr=../{number}"],
    ] {
        refuses(&repo, args, 2, "bad_settings");
    }
    assert!(!repo.path.join(".signalbox.toml").exists() && !repo.state().exists());
}

#[test]
fn a_bare_repository_and_a_folder_below_the_top_are_fine_to_start_from() {
    let world = World::new();
    let remote = world.bare("remote.git");
    remote.git(&["remote", "remove", "origin"]);
    assert_eq!(trunk(&remote, &["init", "--check", "test -f README"]), "main");
    let seed = world.clone_of(&remote, "clone");
    seed.branch("feature");
    seed.git(&["push", "-q", "origin", "feature"]);
    assert_eq!(remote.ok(&["land", "feature"]).code(), "landed");
    refuses(&remote, &["land"], 2, "detached");
    refuses(&remote, &["new", "adr", "x"], 2, "no_worktree");
    let repo = world.repo("r");
    repo.write("deep/er/file", "");
    let below = repo.below("deep/er");
    below.ok(&["init", "--no-check"]);
    assert!(repo.path.join(".signalbox.toml").exists());
    repo.branch("feature");
    std::fs::create_dir_all(&below.path).unwrap();
    assert_eq!(below.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_remote_that_does_not_answer_is_claimed_by_the_first_landing() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    let away = world.path("away.git");
    std::fs::rename(&remote.path, &away).unwrap();
    let done = clone.ok(&["init", "--no-check"]);
    assert!(done.events.iter().any(|event| event["event"] == "note"), "{}", done.all());
    std::fs::rename(&away, &remote.path).unwrap();
    assert!(!remote.git_ok(&["rev-parse", "-q", "--verify", "refs/signalbox/box"]));
    clone.branch("feature");
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
    assert!(remote.git_ok(&["rev-parse", "-q", "--verify", "refs/signalbox/box"]));
}

#[test]
fn many_at_once_set_up_one_box_and_all_of_them_succeed() {
    let world = World::new();
    let repo = world.repo("r");
    let all: Vec<_> = (0..32).map(|_| repo.start(&["init", "--check", "true"])).collect();
    for init in all {
        let done = init.end();
        assert_eq!((done.exit, done.code()), (Some(0), "ready"), "{}", done.all());
    }
    assert_eq!(repo.git(&["for-each-ref", "refs/signalbox/box"]).lines().count(), 1);
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 1);
    let found: Vec<_> = std::fs::read_dir(&repo.path).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(found.len(), 3, "nothing but .git, README and the settings: {found:?}");
}

#[test]
fn many_mints_at_once_in_a_clone_that_was_never_set_up_get_different_numbers() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let seed = world.clone_of(&remote, "seed");
    let settings = "[trunk]\nremote = \"origin\"\nbranch = \"main\"\n[check]\nnone = true\n";
    seed.commit(".signalbox.toml", settings, "settings");
    seed.git(&["push", "-q", "origin", "main"]);
    let clone = world.clone_of(&remote, "clone");
    let all: Vec<_> = (0..32).map(|_| clone.start(&["mint", "adr"])).collect();
    let mut numbers: Vec<i64> = all
        .into_iter()
        .map(|mint| {
            let done = mint.end();
            assert_eq!((done.exit, done.code()), (Some(0), "minted"), "{}", done.all());
            done.end()["first"].as_i64().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
    refused(&seed.run(&["mint", "adr"]), 3, "other_box");
    eventually("one box", || remote.git(&["for-each-ref", "refs/signalbox/box"]).lines().count() == 1);
}
