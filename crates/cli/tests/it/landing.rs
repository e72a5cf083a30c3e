//! The passage when nothing goes wrong.

use crate::harness::World;

#[test]
fn a_branch_lands_in_a_repository_without_a_remote() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -f README"]);
    let head = repo.branch("feature");
    let done = repo.ok(&["land", "feature"]);
    assert_eq!(done.code(), "landed");
    assert_eq!(repo.git(&["rev-parse", "main^2"]), head);
    assert_eq!(repo.read("file-feature"), "feature\n", "the trunk's worktree follows");
    assert_eq!(repo.git(&["status", "--porcelain", "-uno"]), "");
    assert_eq!(repo.leftovers(), [""; 0]);
}
