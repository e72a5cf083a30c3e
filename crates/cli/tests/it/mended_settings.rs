//! Settings that are no file, or no settings; and what `init` says comes next.

use crate::harness::{Tree, World};
use crate::words::{more, refuses};

fn pipe(tree: &Tree, name: &str) {
    let path = tree.path.join(name);
    let _ = std::fs::remove_file(&path);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
}

#[test]
fn settings_that_are_a_pipe_or_huge_are_refused_and_not_waited_for() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("feature");
    let commands = [&["land", "feature"][..], &["init"], &["mint", "adr"]];
    pipe(&repo, ".signalbox.toml");
    for args in commands {
        assert!(more(&refuses(&repo, args, 3, "bad_settings")).contains("it is no file"));
    }
    std::fs::remove_file(repo.path.join(".signalbox.toml")).unwrap();
    let huge = "# much\n".repeat(300_000);
    repo.write(".signalbox.toml", &huge);
    for args in commands {
        assert!(more(&refuses(&repo, args, 3, "bad_settings")).contains("larger than 1 MiB"));
    }
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "huge"]);
    repo.git(&["switch", "-q", "feature"]);
    assert!(more(&refuses(&repo, &["land"], 3, "bad_settings")).contains("larger than 1 MiB"), "the trunk's");
}

#[test]
fn a_check_that_depends_on_what_is_no_file_is_refused() {
    let world = World::new();
    let repo = world.repo("r");
    repo.write(".signalbox.toml", "[check]\ncommand = \"true\"\nfiles = [\"outside\", \"odd\"]\n");
    repo.ok(&["init"]);
    repo.branch("feature");
    repo.branch("other");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed", "one that is missing counts as such");
    pipe(&repo, "odd");
    let end = refuses(&repo, &["land", "other"], 3, "bad_settings");
    assert!(end["detail"].as_str().unwrap().contains("odd"), "{end}");
    std::fs::remove_file(repo.path.join("odd")).unwrap();
    std::fs::create_dir(repo.path.join("odd")).unwrap();
    refuses(&repo, &["land", "other"], 3, "bad_settings");
    std::fs::remove_dir(repo.path.join("odd")).unwrap();
    assert_eq!(repo.ok(&["land", "other"]).code(), "landed");
}

#[test]
fn what_init_says_comes_next_works_from_where_it_was_typed() {
    let world = World::new();
    let repo = world.repo("r");
    let done = repo.ok(&["init", "--no-check"]);
    let next = done.end()["do"].as_str().unwrap();
    assert_eq!(next, "git switch -c my-change", "on the trunk nothing lands");
    assert!(repo.command("sh").args(["-c", next]).status().unwrap().success());
    repo.commit("file", "1\n", "a change");
    let done = repo.ok(&["init"]);
    assert_eq!(done.end()["do"], "signalbox --json land");
    assert_eq!(repo.ok(&["land"]).code(), "landed");
}
