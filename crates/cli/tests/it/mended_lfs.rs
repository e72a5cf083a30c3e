//! Branches whose files git-lfs keeps.

use crate::harness::{Tree, World};
use crate::words::{more, refuses};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

/// A clone of a remote whose address is a URL, for which git-lfs keeps the objects beside the repository.
fn clone(world: &World) -> (Tree, Tree) {
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.git(&["remote", "set-url", "origin", &format!("file://{}", remote.path.display())]);
    clone.ok(&["init", "--check", "true"]);
    (remote, clone)
}

fn with_lfs(tree: &Tree) {
    tree.git(&["lfs", "install", "--skip-repo"]);
}

/// Adds a file that git-lfs keeps on a new branch; gives where the remote keeps its content.
fn branch_with_lfs(remote: &Tree, tree: &Tree, branch: &str) -> PathBuf {
    tree.git(&["switch", "-q", "-c", branch, "main"]);
    tree.write(".gitattributes", ATTRIBUTES);
    tree.commit(&format!("{branch}.bin"), &format!("{branch}\n").repeat(1_000), branch);
    tree.git(&["switch", "-q", "main"]);
    let pointer = tree.git(&["show", &format!("{branch}:{branch}.bin")]);
    let oid = pointer.lines().find_map(|line| line.strip_prefix("oid sha256:")).unwrap();
    remote.path.join("lfs/objects").join(&oid[..2]).join(&oid[2..4]).join(oid)
}

#[test]
fn the_objects_of_a_branch_are_at_the_remote_before_it_lands() {
    let world = World::new();
    let (remote, clone) = clone(&world);
    with_lfs(&clone);
    let object = branch_with_lfs(&remote, &clone, "feature");
    assert_eq!(clone.ok(&["land", "feature", "--dry-run"]).code(), "dry_run");
    assert!(!object.exists(), "a dry run sends nothing");
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(std::fs::read_to_string(object).unwrap(), "feature\n".repeat(1_000));
    let other = world.clone_of(&remote, "other");
    assert_eq!(other.read("feature.bin"), "feature\n".repeat(1_000));
}

#[test]
fn objects_that_cannot_be_sent_keep_the_branch_from_landing() {
    let world = World::new();
    let (remote, clone) = clone(&world);
    with_lfs(&clone);
    let object = branch_with_lfs(&remote, &clone, "feature");
    let before = remote.git(&["for-each-ref"]);
    std::fs::remove_dir_all(clone.path.join(".git/lfs/objects")).unwrap();
    let end = refuses(&clone, &["land", "feature"], 20, "lfs_not_sent");
    assert_eq!(end["do"], "git lfs push origin feature");
    assert!(more(&end).contains("feature.bin"), "{end}");
    assert!(!object.exists());
    assert_eq!(remote.git(&["for-each-ref"]), before);
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn pointers_are_not_landed_where_git_lfs_is_missing() {
    let world = World::new();
    let (remote, clone) = clone(&world);
    // All programs but git-lfs.
    let programs = world.path("programs");
    std::fs::create_dir(&programs).unwrap();
    for dir in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for program in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if program.file_name() != "git-lfs" {
                // The first one of a name counts.
                let _ = symlink(program.path(), programs.join(program.file_name()));
            }
        }
    }
    let bare = clone.env("PATH", programs.to_str().unwrap());
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 8000\n", "a".repeat(64));
    bare.git(&["switch", "-q", "-c", "text"]);
    bare.commit("a.bin", &pointer, "looks like one, and is a file like any other");
    assert_eq!(bare.ok(&["land"]).code(), "landed");
    bare.git(&["switch", "-q", "-c", "feature"]);
    bare.write("b.bin", &format!("{pointer}\n"));
    bare.commit(".gitattributes", ATTRIBUTES, "kept by git-lfs");
    let before = remote.git(&["for-each-ref"]);
    refuses(&bare, &["land"], 3, "lfs_missing");
    assert_eq!(remote.git(&["for-each-ref"]), before);
}
