//! Numbers in file names, and those that are minted.

use crate::harness::{Done, Tree, World};
use crate::words::{more, refused, refuses};

fn with_line(world: &World) -> Tree {
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--line", "adr=docs/adr/{number:04}-{slug}.md", "--line", "bare"]);
    repo
}

fn block(done: &Done) -> (i64, i64) {
    (done.end()["first"].as_i64().unwrap(), done.end()["last"].as_i64().unwrap())
}

#[test]
fn the_second_branch_with_a_number_is_refused_and_both_files_are_named_with_where_they_came_from() {
    let world = World::new();
    let repo = with_line(&world);
    for (branch, file) in [("one", "docs/adr/0007-one.md"), ("two", "docs/adr/0007-two.md")] {
        repo.git(&["switch", "-q", "-c", branch, "main"]);
        repo.commit(file, "", &format!("decide {branch}"));
        repo.git(&["switch", "-q", "main"]);
    }
    repo.ok(&["land", "one"]);
    let end = refuses(&repo, &["land", "two"], 12, "duplicate_number");
    assert_eq!((end["line"].as_str(), end["number"].as_i64()), (Some("adr"), Some(7)));
    let next = end["do"].as_str().unwrap();
    assert!(
        next.starts_with("git switch two && n=$(printf %04d \"$(signalbox mint adr)\") && git mv "),
        "{next}"
    );
    assert!(next.ends_with(" && signalbox --json land two"), "{next}");
    let lines = more(&end);
    assert!(lines.contains("docs/adr/0007-two.md: from two"), "{lines}");
    assert!(lines.contains("docs/adr/0007-one.md: in the trunk since"), "{lines}");
    assert!(lines.contains("Merge branch 'one'"), "{lines}");
    assert_eq!(repo.ok(&["log"]).events[0]["outcome"], "duplicate");
}

#[test]
fn two_new_files_with_one_number_in_one_branch_are_refused() {
    let world = World::new();
    let repo = with_line(&world);
    let tree = repo.worktree("feature");
    tree.write("docs/adr/0003-a.md", "");
    tree.commit("docs/adr/3-b.md", "", "three and three");
    let end = refuses(&tree, &["land"], 12, "duplicate_number");
    assert_eq!(more(&end).matches("from feature").count(), 2, "{end}");
}

#[test]
fn an_old_double_in_the_trunk_is_no_reason_to_refuse_others() {
    let world = World::new();
    let repo = with_line(&world);
    repo.write("docs/adr/0001-a.md", "");
    repo.commit("docs/adr/0001-b.md", "", "one and one");
    let tree = repo.worktree("feature");
    tree.commit("docs/adr/0002-c.md", "", "two");
    assert_eq!(tree.ok(&["land"]).code(), "landed");
    let tree = repo.worktree("rename");
    tree.git(&["mv", "docs/adr/0002-c.md", "docs/adr/0002-better.md"]);
    tree.git(&["commit", "-q", "-m", "a better name"]);
    assert_eq!(tree.ok(&["land"]).code(), "landed", "a file that is renamed keeps its number");
    let tree = repo.worktree("third");
    tree.commit("docs/adr/0001-third.md", "", "one again");
    refused(&tree.run(&["land"]), 12, "duplicate_number");
}

#[test]
fn a_mint_of_a_line_with_a_template_starts_above_the_trunks_files() {
    let world = World::new();
    let repo = with_line(&world);
    repo.commit("docs/adr/0041-old.md", "", "41");
    assert_eq!(block(&repo.ok(&["mint", "adr"])), (42, 42));
    assert_eq!(block(&repo.ok(&["mint", "adr"])), (43, 43));
    assert_eq!(block(&repo.ok(&["mint", "adr", "--count", "3"])), (44, 46));
    assert_eq!(block(&repo.ok(&["mint", "bare"])), (1, 1));
    assert_eq!(block(&repo.ok(&["mint", "another", "--floor", "9"])), (10, 10), "a line needs no settings");
    let (exit, stdout, stderr) = repo.people(&["mint", "adr", "--count", "2"]);
    assert_eq!((exit, stdout.as_str(), stderr.as_str()), (0, "47\n48\n", ""));
}

#[test]
fn a_mint_starts_above_the_highest_number_that_a_glob_finds_in_the_trunk() {
    let world = World::new();
    let repo = with_line(&world);
    repo.write("db/v12_tables.sql", "");
    repo.write("db/old/v99_tables.sql", "");
    repo.commit("db/notes.sql", "", "files");
    repo.write("db/v77_not_committed.sql", "");
    assert_eq!(block(&repo.ok(&["mint", "db", "--floor-from", "db/*.sql"])), (13, 13));
    assert_eq!(block(&repo.ok(&["mint", "db2", "--floor-from", "db/**/*.sql"])), (100, 100));
    assert_eq!(block(&repo.ok(&["mint", "db3", "--floor-from", "none/*"])), (1, 1));
    assert_eq!(block(&repo.ok(&["mint", "db4", "--floor-from", "db/*.sql", "--floor", "20"])), (21, 21));
    refuses(&repo, &["mint", "db", "--floor-from", "db/***"], 2, "bad_glob");
}

#[test]
fn a_floor_that_is_too_far_for_a_line_that_exists_is_refused_and_burns_nothing() {
    let world = World::new();
    let repo = with_line(&world);
    assert_eq!(block(&repo.ok(&["mint", "bare"])), (1, 1));
    refuses(&repo, &["mint", "bare", "--floor", "1002"], 24, "floor_too_far");
    assert_eq!(block(&repo.ok(&["mint", "bare"])), (2, 2));
    assert_eq!(block(&repo.ok(&["mint", "bare", "--floor", "1002"])), (1003, 1003));
}

#[test]
fn what_cannot_be_minted_is_refused_by_name() {
    let world = World::new();
    let repo = with_line(&world);
    refuses(&repo, &["mint", "Not A Line"], 2, "invalid_request");
    refuses(&repo, &["mint", "bare", "--count", "0"], 2, "invalid_request");
    refuses(&repo, &["mint", "bare", "--count", "101"], 2, "invalid_request");
    refuses(&repo, &["mint", "bare", "--count", "many"], 2, "usage");
    refuses(&repo, &["mint", "bare", "--request", "not-an-id"], 2, "usage");
    assert_eq!(block(&repo.ok(&["mint", "bare"])), (1, 1));
}

#[test]
fn a_request_that_is_repeated_gets_the_same_numbers_even_if_the_trunk_moved_between() {
    let world = World::new();
    let repo = with_line(&world);
    let id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let first = repo.ok(&["mint", "adr", "--count", "2", "--request", id]);
    assert_eq!(block(&first), (1, 2));
    assert_eq!(block(&repo.ok(&["mint", "adr", "--count", "2", "--request", id])), (1, 2));
    repo.commit("docs/adr/0050-by-hand.md", "", "fifty");
    assert_eq!(block(&repo.ok(&["mint", "adr", "--count", "2", "--request", id])), (1, 2));
    assert_eq!(block(&repo.ok(&["mint", "adr"])), (51, 51));
    refuses(&repo, &["mint", "adr", "--count", "3", "--request", id], 24, "request_reused");
    refuses(&repo, &["mint", "bare", "--count", "2", "--request", id], 24, "request_reused");
}

#[test]
fn a_new_file_gets_the_next_number_and_overwrites_nothing() {
    let world = World::new();
    let repo = with_line(&world);
    repo.commit("docs/adr/0004-old.md", "", "four");
    let tree = repo.worktree("feature");
    let done = tree.ok(&["new", "adr", "Use SQLite, not files!"]);
    assert_eq!(done.end()["number"], 5);
    assert_eq!(done.end()["path"], "docs/adr/0005-use-sqlite-not-files.md");
    assert_eq!(tree.read("docs/adr/0005-use-sqlite-not-files.md"), "# 5 Use SQLite, not files!\n");
    tree.write("docs/adr/0006-taken.md", "mine\n");
    let taken = tree.run(&["new", "adr", "Taken"]);
    refused(&taken, 24, "file_exists");
    assert_eq!(tree.read("docs/adr/0006-taken.md"), "mine\n");
    let sub = tree.below("docs");
    let (exit, stdout, _) = sub.people(&["new", "adr", "From below"]);
    assert_eq!((exit, stdout.as_str()), (0, "docs/adr/0007-from-below.md\n"), "a number once minted is gone");
    assert!(tree.path.join("docs/adr/0007-from-below.md").exists());
    refuses(&tree, &["new", "bare", "No template"], 2, "no_template");
}

#[test]
fn a_new_file_is_made_with_the_users_own_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let repo = with_line(&world);
    repo.ok(&["new", "adr", "One"]);
    let mode = |file: &str| std::fs::metadata(repo.path.join(file)).unwrap().permissions().mode();
    assert_eq!(mode("docs/adr/0001-one.md"), mode("README"));
    assert_eq!(mode(".signalbox.toml"), mode("README"));
    let state = repo.state();
    for entry in [state.clone(), state.join("state.db"), state.join("settings.toml")] {
        let mode = std::fs::metadata(&entry).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{entry:?} is for its owner alone");
    }
}
