//! What a landing makes of a branch: merge and squash, and what may not influence it.

use crate::harness::World;
use crate::words::{refused, refuses};

fn gits() -> [&'static str; 2] {
    ["git", "/usr/bin/git"]
}

#[test]
fn a_merge_has_the_old_trunk_as_its_first_parent_and_the_branch_as_its_second() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--no-check"]);
        let old = repo.git(&["rev-parse", "main"]);
        let head = repo.branch("feature");
        let done = repo.ok(&["land", "feature"]);
        let parents = repo.git(&["rev-list", "--parents", "-1", "main"]);
        let commit = done.end()["commit"].as_str().unwrap();
        assert_eq!(parents, format!("{commit} {old} {head}"));
        let message = repo.git(&["log", "-1", "--format=%an <%ae>%n%B", "main"]);
        let ticket = done.end()["ticket"].as_str().unwrap();
        assert_eq!(
            message,
            format!(
                "Tester <tester@example.org>\nMerge branch 'feature' into main\n\nSignalbox-Turn: 1\n\
                 Signalbox-Ticket: {ticket}"
            )
        );
    }
}

#[test]
fn a_squash_of_one_commit_keeps_its_message_and_its_author() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--no-check", "--strategy", "squash"]);
        let old = repo.git(&["rev-parse", "main"]);
        repo.git(&["switch", "-q", "-c", "feature"]);
        repo.write("a", "1\n");
        repo.git(&["add", "a"]);
        let author = "--author=Änne O'Hara <anne@example.org>";
        let message = "Say ünï\n\nBody: with a colon.\n\nReviewed-by: Bo <bo@example.org>";
        repo.git(&["commit", "-q", author, "-m", message]);
        repo.git(&["switch", "-q", "main"]);
        repo.ok(&["land", "feature"]);
        assert_eq!(repo.git(&["rev-parse", "main^"]), old);
        assert_eq!(repo.git(&["rev-list", "--parents", "-1", "main"]).split(' ').count(), 2);
        assert_eq!(repo.git(&["log", "-1", "--format=%an <%ae>", "main"]), "Änne O'Hara <anne@example.org>");
        assert_eq!(repo.git(&["log", "-1", "--format=%cn", "main"]), "Tester");
        let body = repo.git(&["log", "-1", "--format=%B", "main"]);
        assert!(body.starts_with(&format!("{message}\nSignalbox-Turn: 1\n")), "{body}");
        let reviewed = "--format=%(trailers:key=Reviewed-by,valueonly,separator=)";
        assert_eq!(repo.git(&["log", "-1", reviewed, "main"]), "Bo <bo@example.org>");
    }
}

#[test]
fn a_squash_of_several_commits_lists_them() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--strategy", "squash"]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.commit("a", "1\n", "first thing");
    repo.commit("b", "1\n", "second thing");
    repo.git(&["switch", "-q", "main"]);
    repo.ok(&["land", "feature"]);
    let body = repo.git(&["log", "-1", "--format=%B", "main"]);
    assert!(
        body.starts_with("Land feature\n\n* first thing\n* second thing\n\nSignalbox-Turn: 1\n"),
        "{body}"
    );
}

#[test]
fn a_squash_whose_tree_is_the_trunks_is_nothing_to_land() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--strategy", "squash"]);
    repo.branch("feature");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    let landed = repo.git(&["rev-parse", "main"]);
    assert_eq!(repo.ok(&["land", "feature"]).code(), "already_in_trunk");
    assert_eq!(repo.git(&["rev-parse", "main"]), landed);
    assert_eq!(repo.leftovers(), [""; 0]);
}

#[test]
fn attributes_that_stand_where_the_command_stands_have_no_influence() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--no-check"]);
        repo.commit("list", "base\n", "base");
        let tree = repo.worktree("feature");
        tree.commit("list", "theirs\n", "theirs");
        repo.commit("list", "ours\n", "ours");
        for place in [".gitattributes", "sub/.gitattributes"] {
            tree.write(place, "* merge=union\n");
        }
        repo.write(".gitattributes", "* merge=union\n");
        let sub = tree.below("sub");
        let end = refuses(&sub, &["land"], 12, "conflict");
        assert_eq!(end["files"][0], "list", "with {git}");
        assert_eq!(repo.git(&["show", "main:list"]), "ours");
    }
}

#[test]
fn attributes_of_the_branch_do_not_decide_its_own_merge() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--no-check"]);
        repo.commit("list", "base\n", "base");
        let tree = repo.worktree("feature");
        tree.write(".gitattributes", "* merge=union\n");
        tree.commit("list", "theirs\n", "theirs");
        repo.commit("list", "ours\n", "ours");
        refuses(&tree, &["land"], 12, "conflict");
    }
}

#[test]
fn a_merge_driver_of_the_users_configuration_is_not_run_on_content() {
    let world = World::new();
    let repo = world.repo("r");
    let ran = world.path("ran");
    repo.git(&["config", "--global", "merge.own.driver", &format!("touch '{}'", ran.display())]);
    repo.ok(&["init", "--no-check"]);
    repo.write(".gitattributes", "list merge=own\n");
    repo.commit("list", "base\n", "base");
    let tree = repo.worktree("feature");
    tree.commit("list", "theirs\n", "theirs");
    repo.commit("list", "ours\n", "ours");
    refuses(&tree, &["land"], 12, "conflict");
    assert!(!ran.exists());
}

#[test]
fn a_shallow_clone_is_refused_with_the_command_that_mends_it() {
    for git in gits() {
        let world = World::new();
        let remote = world.bare("remote.git");
        let full = world.clone_of(&remote, "full");
        full.commit("more", "1\n", "more");
        full.git(&["push", "-q", "origin", "main"]);
        let url = format!("file://{}", remote.path.display());
        let path = world.path("shallow");
        remote.git(&["clone", "-q", "--depth", "1", &url, path.to_str().unwrap()]);
        let shallow = world.tree(path).env("SIGNALBOX_GIT", git);
        shallow.ok(&["init", "--no-check"]);
        shallow.git(&["switch", "-q", "-c", "feature"]);
        shallow.commit("a", "1\n", "a");
        let end = refuses(&shallow, &["land"], 3, "shallow");
        assert_eq!(end["do"], "git fetch --unshallow");
        shallow.git(&["fetch", "-q", "--unshallow"]);
        assert_eq!(shallow.ok(&["land"]).code(), "landed");
    }
}

#[test]
fn histories_with_nothing_in_common_are_refused() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--no-check"]);
        repo.git(&["switch", "-q", "--orphan", "stranger"]);
        repo.commit("a", "1\n", "a");
        repo.git(&["switch", "-q", "main"]);
        let before = repo.git(&["rev-parse", "main"]);
        refuses(&repo, &["land", "stranger"], 12, "unrelated");
        assert_eq!(repo.git(&["rev-parse", "main"]), before);
    }
}

#[test]
fn nothing_of_the_users_worktree_index_and_stash_is_touched() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.ok(&["init", "--no-check"]);
    clone.branch("feature");
    clone.write("README", "stashed\n");
    clone.git(&["stash", "-q"]);
    clone.write("README", "changed\n");
    clone.write("staged", "1\n");
    clone.git(&["add", "staged"]);
    let look = || {
        [
            clone.git(&["status", "--porcelain=v2"]),
            clone.git(&["stash", "list"]),
            clone.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/stash"]),
            clone.git(&["diff", "HEAD"]),
        ]
    };
    let before = look();
    let done = clone.ok(&["land", "feature"]);
    assert_eq!(done.code(), "landed", "another branch's worktree may be dirty");
    assert_eq!(look(), before);
    assert!(!clone.path.join(".git/FETCH_HEAD").exists() && !clone.path.join(".git/MERGE_HEAD").exists());
    assert_eq!(remote.git(&["rev-parse", "main"]), done.end()["commit"].as_str().unwrap());
}

#[test]
fn a_user_whom_git_does_not_know_lands_in_the_name_of_the_commits_author() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    let nobody = repo.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", world.path("").to_str().unwrap());
    let done = nobody.run(&["land", "feature"]);
    assert_eq!(done.code(), "landed", "{}", done.all());
    assert_eq!(repo.git(&["log", "-1", "--format=%an %cn", "main"]), "Tester Tester");
    let red = repo.run(&["land", "gone"]);
    refused(&red, 2, "no_branch");
}

#[test]
fn no_hook_of_the_users_repository_is_run() {
    let world = World::new();
    let remote = world.bare("remote.git");
    for tree in [world.clone_of(&remote, "clone"), world.repo("r")] {
        tree.ok(&["init", "--check", "true"]);
        tree.branch("feature");
        let ran = world.path("ran");
        let names = ["pre-push", "reference-transaction", "post-checkout", "post-merge", "post-index-change"];
        for name in names {
            let hook = tree.path.join(".git/hooks").join(name);
            std::fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
            crate::harness::executable(&hook);
        }
        assert_eq!(tree.ok(&["land", "feature"]).code(), "landed");
        assert!(!ran.exists());
    }
}

#[test]
fn a_landing_in_place_obeys_the_users_line_ends() {
    let world = World::new();
    let repo = world.repo("r");
    repo.git(&["config", "--global", "core.autocrlf", "true"]);
    repo.git(&["config", "--global", "core.safecrlf", "false"]);
    repo.ok(&["init", "--check", "true"]);
    repo.branch("feature");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.read("file-feature"), "feature\r\n");
    assert_eq!(repo.git(&["cat-file", "blob", "main:file-feature"]), "feature");
    assert_eq!(repo.git(&["status", "--porcelain", "-uno"]), "");
}

#[test]
fn a_conflict_in_thousands_of_files_is_told_at_once_and_in_few_lines() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let put = |tree: &crate::harness::Tree, content: &str| {
        for n in 0..3_000 {
            std::fs::write(tree.path.join(format!("a-file-with-a-rather-long-name-{n:06}")), content)
                .unwrap();
        }
        tree.commit("last", content, content.trim());
    };
    put(&repo, "base\n");
    let tree = repo.worktree("feature");
    put(&tree, "theirs\n");
    put(&repo, "ours\n");
    let end = refuses(&tree, &["land"], 12, "conflict");
    assert_eq!(end["files"].as_array().unwrap().len(), 3_001);
    assert!(end["more"].as_array().unwrap().len() < 20, "{end}");
    let log = repo.ok(&["log"]);
    assert_eq!(log.events[0]["report"]["files"][0], "a-file-with-a-rather-long-name-000000");
    assert_eq!(log.events[0]["outcome"], "conflict");
}
