//! Numbers that would block their line, and how a branch with a number that is taken is mended.

use crate::harness::{Tree, World};
use crate::words::{more, refuses};
use serde_json::Value;

fn with_line(world: &World) -> Tree {
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--line", "adr=docs/adr/{number:04}-{slug}.md"]);
    repo
}

fn branch_with(repo: &Tree, branch: &str, file: &str) -> Tree {
    let tree = repo.worktree(branch);
    tree.commit(file, "", &format!("decide {branch}"));
    tree
}

/// Types what a refusal says is to be done on the branch, the last line (to land) left out.
fn type_what_mends(tree: &Tree, end: &Value) {
    let lines = more(end);
    let commands: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let (land, mend) = commands.split_last().unwrap();
    assert!(land.starts_with("signalbox land "), "{land}");
    type_all(tree, &format!("set -e\n{}\n", mend.join("\n")));
}

/// Types that into a shell, on whose path this signalbox is.
fn type_all(tree: &Tree, script: &str) {
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_signalbox")).parent().unwrap().display().to_string();
    let path = format!("{path}:{}", std::env::var("PATH").unwrap());
    let out = tree.command("sh").env("PATH", path).args(["-c", script]).output().unwrap();
    assert!(out.status.success(), "{script}{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_number_that_was_never_issued_and_would_block_its_line_is_refused_and_mended_by_what_is_said() {
    let world = World::new();
    let repo = with_line(&world);
    repo.ok(&["mint", "adr", "--count", "3"]);
    let tree = branch_with(&repo, "feature", "docs/adr/999999999-it's big.md");
    let end = refuses(&tree, &["land"], 12, "number_not_issued");
    assert_eq!((end["line"].as_str(), end["number"].as_i64()), (Some("adr"), Some(999_999_999)));
    assert_eq!(end["issued"], 3);
    assert_eq!(end["files"][0], "docs/adr/999999999-it's big.md");
    type_what_mends(&tree, &end);
    assert_eq!(tree.ok(&["land"]).code(), "landed");
    assert_eq!(repo.git(&["ls-tree", "-r", "--name-only", "main", "docs/adr"]), "docs/adr/0004-it's big.md");
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 5);
}

#[test]
fn a_number_by_hand_that_does_no_harm_lands() {
    let world = World::new();
    let repo = with_line(&world);
    // A line that was never minted takes any floor, so that a repository with its own numbers can adopt it.
    assert_eq!(branch_with(&repo, "adopted", "docs/adr/20250-old.md").ok(&["land"]).code(), "landed");
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 20_251);
    let near = branch_with(&repo, "near", "docs/adr/21251-near.md");
    assert_eq!(near.ok(&["land"]).code(), "landed", "a thousand above the line");
    let far = branch_with(&repo, "far", "docs/adr/21252-far.md");
    refuses(&far, &["land"], 12, "number_not_issued");
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 21_252);
    assert_eq!(far.ok(&["land"]).code(), "landed", "it was issued by now");
}

#[test]
fn a_first_number_that_leaves_no_room_above_is_refused_too() {
    let world = World::new();
    let repo = with_line(&world);
    let tree = branch_with(&repo, "feature", "docs/adr/999999999-x.md");
    assert_eq!(refuses(&tree, &["land"], 12, "number_not_issued")["issued"], 0);
}

#[test]
fn a_number_in_the_trunk_that_blocks_its_line_is_named_with_its_file_by_the_mint() {
    let world = World::new();
    let repo = with_line(&world);
    repo.ok(&["mint", "adr"]);
    repo.commit("docs/adr/999999999-x.md", "", "by hand");
    for args in [&["mint", "adr"][..], &["mint", "adr", "--floor-from", "docs/adr/*.md"]] {
        let end = refuses(&repo, args, 24, "floor_too_far");
        assert_eq!((&end["file"], &end["number"]), (&"docs/adr/999999999-x.md".into(), &999_999_999.into()));
        assert!(end["detail"].as_str().unwrap().contains("docs/adr/999999999-x.md"), "{end}");
    }
    let tree = repo.worktree("renamed");
    tree.git(&["mv", "docs/adr/999999999-x.md", "docs/adr/0002-x.md"]);
    tree.git(&["commit", "-q", "-m", "a number that can be"]);
    assert_eq!(tree.ok(&["land"]).code(), "landed");
    assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 3);
    repo.commit("docs/adr/1000000001-x.md", "", "by hand");
    assert_eq!(refuses(&repo, &["mint", "adr"], 24, "floor_too_far")["number"], 1_000_000_001);
}

#[test]
fn a_duplicate_number_is_mended_by_what_is_said() {
    let world = World::new();
    let repo = with_line(&world);
    branch_with(&repo, "one", "docs/adr/0001-one.md").ok(&["land"]);
    let tree = branch_with(&repo, "two", "docs/adr/0001-two.md");
    let end = refuses(&tree, &["land"], 12, "duplicate_number");
    // What is to be done next is one command, and all of it: the branch has landed then.
    type_all(&tree, end["do"].as_str().unwrap());
    let files = repo.git(&["ls-tree", "-r", "--name-only", "main", "docs/adr"]);
    assert_eq!(files, "docs/adr/0001-one.md\ndocs/adr/0002-two.md");
}

#[test]
fn a_line_without_files_goes_on_above_what_the_last_landing_recorded_when_the_state_is_lost() {
    for with_remote in [true, false] {
        let world = World::new();
        let repo = if with_remote {
            let remote = world.bare("remote.git");
            world.clone_of(&remote, "r")
        } else {
            world.repo("r")
        };
        let set_up = ["init", "--no-check", "--line", "bare", "--line", "adr=docs/adr/{number:04}-{slug}.md"];
        repo.ok(&set_up);
        repo.branch("first");
        repo.branch("second");
        repo.ok(&["mint", "bare", "--count", "40"]);
        repo.ok(&["land", "first"]);
        repo.ok(&["mint", "bare", "--count", "2"]);
        repo.ok(&["mint", "adr"]);
        std::fs::remove_dir_all(repo.state()).unwrap();
        let done = repo.ok(&[&set_up[..], &["--take-over"]].concat());
        let told = done.events.iter().any(|event| {
            event["event"] == "warning" && event["text"].as_str().unwrap().starts_with("bare above 1040: ")
        });
        assert!(told, "{}", done.all());
        assert_eq!(repo.ok(&["mint", "bare"]).end()["first"], 1_041);
        assert_eq!(repo.ok(&["mint", "adr"]).end()["first"], 1, "its files show it");
        assert_eq!(repo.ok(&["land", "second"]).code(), "landed");
    }
}
