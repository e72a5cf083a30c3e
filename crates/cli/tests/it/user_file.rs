//! The user's own file: between the environment and what is found out.

use crate::harness::{Tree, World};
use crate::words::refuses;

fn write(tree: &Tree, text: &str) {
    let dir = tree.home().join(".config/signalbox");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), text).unwrap();
}

fn label(tree: &Tree, args: &[&str]) -> String {
    tree.ok(args);
    tree.ok(&["log"]).events[0]["label"].as_str().unwrap().to_owned()
}

#[test]
fn a_label_of_the_users_file_counts_behind_flags_and_environment() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    for branch in ["a", "b", "c", "d"] {
        repo.branch(branch);
    }
    assert_eq!(label(&repo, &["land", "a"]), "Tester in r");
    write(&repo, "label = 'Ann'\n");
    assert_eq!(label(&repo, &["land", "b"]), "Ann");
    assert_eq!(label(&repo.env("SIGNALBOX_LABEL", "bot"), &["land", "c"]), "bot");
    assert_eq!(label(&repo, &["land", "d", "--label", "me"]), "me");
}

#[test]
fn whom_one_acts_for_may_stand_there_and_a_check_may_not() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    repo.branch("a");
    write(&repo, "owner = 'team'\n");
    repo.ok(&["hold", "open", "ours", "file-a"]);
    assert_eq!(repo.ok(&["hold", "list"]).events[0]["owner"], "team");
    assert_eq!(repo.run(&["land", "a", "--owner", "others"]).exit, Some(14));
    assert_eq!(repo.ok(&["land", "a"]).code(), "landed", "the hold is its own");
    repo.branch("b");
    write(&repo, "[check]\nnone = true\n");
    let end = refuses(&repo, &["land", "b"], 3, "bad_settings");
    assert!(end["detail"].as_str().unwrap().contains("config.toml"), "{end}");
    assert!(end["more"].to_string().contains("check"), "{end}");
}
