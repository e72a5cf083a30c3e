//! Names that are no words: of files, of branches, and content that must pass through untouched.

use crate::harness::{Tree, World};
use crate::words::{more, refuses, told};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

/// File names that break what joins or prints them carelessly.
const NAMES: &[&[u8]] = &[
    b"with space",
    b"quote'\"`$(x)",
    b"new\nline",
    b"no\xff\xfeutf8",
    b"-dash",
    b"tab\tand\x1b[31mred",
    b"back\\slash",
    b":colon",
    "ünïcödé 日本".as_bytes(),
    b" leading",
];

fn put(tree: &Tree, name: &[u8], content: &str) {
    let path = tree.path.join(OsStr::from_bytes(name));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn commit_all(tree: &Tree, message: &str) {
    tree.git(&["add", "-A"]);
    tree.git(&["commit", "-q", "-m", message]);
}

fn gits() -> [&'static str; 2] {
    ["git", "/usr/bin/git"]
}

#[test]
fn files_with_any_name_land() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--check", "test -f 'with space'"]);
        let tree = repo.worktree("feature");
        for name in NAMES {
            put(&tree, name, "content\n");
        }
        commit_all(&tree, "odd names");
        assert_eq!(tree.ok(&["land"]).code(), "landed");
        for name in NAMES {
            let path = repo.path.join(OsStr::from_bytes(name));
            assert_eq!(std::fs::read(&path).unwrap(), b"content\n", "{path:?} with {git}");
        }
        assert_eq!(repo.git(&["status", "--porcelain", "-uno"]), "");
    }
}

#[test]
fn conflicts_in_files_with_any_name_are_told_without_breaking_the_output() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        repo.ok(&["init", "--no-check"]);
        for name in NAMES {
            put(&repo, name, "base\n");
        }
        commit_all(&repo, "base");
        let tree = repo.worktree("feature");
        for (tree, content) in [(&tree, "theirs\n"), (&repo, "ours\n")] {
            for name in NAMES {
                put(tree, name, content);
            }
            commit_all(tree, content.trim());
        }
        let end = refuses(&tree, &["land"], 12, "conflict");
        assert_eq!(end["files"].as_array().unwrap().len(), NAMES.len(), "{end}");
        assert!(more(&end).contains("ours"), "the commit that caused it: {end}");
        let log = tree.ok(&["log"]);
        assert_eq!(log.events[0]["outcome"], "conflict");
        let (exit, stdout, _) = tree.people(&["log"]);
        assert_eq!((exit, stdout.lines().count()), (0, 2), "{stdout}");
        assert!(!stdout.contains('\x1b'), "{stdout:?}");
    }
}

#[test]
fn a_duplicate_number_in_files_with_any_name_is_told_without_breaking_the_output() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check", "--line", "adr=adr/{number:04}-{slug}"]);
    put(&repo, b"adr/0007-no\xff\nutf8\x1b[2J", "old\n");
    commit_all(&repo, "seven");
    let tree = repo.worktree("feature");
    put(&tree, b"adr/7-it's \"7\"\t", "new\n");
    commit_all(&tree, "seven too");
    let end = refuses(&tree, &["land"], 12, "duplicate_number");
    assert_eq!((end["line"].as_str(), end["number"].as_i64()), (Some("adr"), Some(7)));
    assert_eq!(end["files"].as_array().unwrap().len(), 2);
}

#[test]
fn obstacles_with_any_name_are_told_without_breaking_the_output() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let tree = repo.worktree("feature");
    for name in NAMES {
        put(&tree, name, "landing\n");
        put(&repo, name, "mine\n");
    }
    commit_all(&tree, "odd names");
    let end = refuses(&tree, &["land"], 2, "trunk_file_in_the_way");
    assert!(more(&end).contains("with space"), "{end}");
    for name in NAMES {
        assert_eq!(std::fs::read(repo.path.join(OsStr::from_bytes(name))).unwrap(), b"mine\n");
    }
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "mine"]);
    put(&repo, NAMES[5], "changed\n");
    refuses(&tree, &["land"], 2, "trunk_dirty");
}

#[test]
fn changed_files_with_any_name_are_told_without_breaking_the_output() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    let tree = repo.worktree("feature");
    for name in NAMES {
        put(&tree, name, "committed\n");
    }
    commit_all(&tree, "odd names");
    for name in NAMES {
        put(&tree, name, "changed\n");
    }
    refuses(&tree, &["land"], 2, "dirty");
}

#[test]
fn branches_with_any_name_that_git_allows_land() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.ok(&["init", "--check", "test -n \"$SIGNALBOX_BRANCH\""]);
    let long = "x".repeat(200);
    let names =
        ["it's", "a\"b", "$(touch)", "x;y|z&", "ünï/日本", "a/b/c/d", "refs/heads/x", "@", "-x", "#1", &long];
    for (at, name) in names.iter().enumerate() {
        clone.git(&["switch", "-q", "--detach", "origin/main"]);
        let head = clone.commit(&format!("file-{at}"), "x\n", "odd branch");
        clone.git(&["update-ref", &format!("refs/heads/{name}"), &head]);
        let done = clone.ok(&["land", "--", name]);
        assert_eq!(done.code(), "landed", "{name}");
        assert!(remote.git(&["log", "--format=%B", "-1", "main"]).contains(name));
    }
    assert_eq!(remote.tickets("main").len(), names.len());
}

#[test]
fn the_command_to_type_reaches_a_branch_with_any_name() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    for name in ["it's", "-x", "$(touch)", "--json"] {
        let head = repo.git(&["commit-tree", "-p", "main", "-m", name, "main^{tree}"]);
        repo.git(&["update-ref", &format!("refs/heads/{name}"), &head]);
        let next = repo.ok(&["land", "--dry-run", "--", name]).end()["do"].as_str().unwrap().to_owned();
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_signalbox")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let out = repo.env("PATH", path).command("sh").arg("-c").arg(&next).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(said.contains("landed on main"), "{next}: {said}{}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn a_long_name_shortens_no_refusal_beyond_use() {
    let world = World::new();
    let long = "トランク".repeat(15);
    let repo = world.repo("r");
    repo.git(&["branch", "-q", "-m", "main", &long]);
    let branch = "feature-".repeat(28);
    let deep = format!("{}/{}", "verzeichnis".repeat(15), "文書".repeat(30));
    repo.ok(&["init", "--check", "! test -e bad", "--line", "adr={number}-{slug}", "--trunk", &long]);
    repo.write(&deep, "base\n");
    repo.commit("1-one", "", "base");
    repo.git(&["switch", "-q", "-c", &branch]);
    repo.commit("bad", "", "bad");
    refuses(&repo, &["land"], 10, "check_red");
    repo.git(&["rm", "-q", "bad"]);
    repo.commit(&deep, "theirs\n", "theirs");
    repo.write(&deep, "dirty\n");
    refuses(&repo, &["land"], 2, "dirty");
    repo.git(&["reset", "-q", "--hard"]);
    repo.git(&["switch", "-q", &long]);
    refuses(&repo, &["land"], 2, "trunk_itself");
    repo.write(&deep, "dirty\n");
    refuses(&repo, &["land", &branch], 2, "trunk_dirty");
    repo.commit(&deep, "ours\n", "ours");
    refuses(&repo, &["land", &branch], 12, "conflict");
    repo.git(&["switch", "-q", &branch]);
    repo.git(&["reset", "-q", "--hard", &long]);
    repo.commit(&format!("1-{}", "lang".repeat(40)), "", "one again");
    refuses(&repo, &["land"], 12, "duplicate_number");
    repo.git(&["rm", "-q", &format!("1-{}", "lang".repeat(40))]);
    repo.commit("fine", "", "fine");
    repo.git(&["switch", "-q", "--detach"]);
    let (exit, stdout, stderr) = repo.people(&["land", &branch]);
    assert_eq!(exit, 0, "{stderr}");
    crate::words::fits(stdout.lines().next().unwrap());
    refuses(&repo, &["new", &"line".repeat(60), "title"], 2, "no_template");
}

#[test]
fn submodules_and_lfs_pointers_pass_through_unharmed() {
    for git in gits() {
        let world = World::new();
        let repo = world.repo("r").env("SIGNALBOX_GIT", git);
        let seen = world.path("seen");
        repo.ok(&["init", "--check", &format!("cat big.bin > '{}'", seen.display())]);
        repo.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "attributes");
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        repo.git(&["switch", "-q", "-c", "feature"]);
        repo.write("big.bin", pointer);
        let link = "0123456789abcdef0123456789abcdef01234567";
        repo.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./nowhere\n");
        repo.git(&["add", "-A"]);
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{link},sub")]);
        repo.git(&["commit", "-q", "-m", "odd content"]);
        repo.git(&["switch", "-q", "main"]);
        let entries = |at: &str| repo.git(&["ls-tree", at, "big.bin", "sub", ".gitmodules"]);
        let done = repo.ok(&["land", "feature"]);
        assert_eq!(done.code(), "landed");
        assert_eq!(entries("main"), entries("feature"));
        assert!(entries("main").contains(link));
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), pointer, "no filter ran with {git}");
        assert_eq!(repo.read("big.bin"), pointer);
    }
}

#[test]
fn only_filters_of_the_users_own_configuration_run_for_a_check() {
    let world = World::new();
    let repo = world.repo("r");
    let (seen, ran) = (world.path("seen"), world.path("ran"));
    repo.commit(".gitattributes", "*.own filter=own\n*.evil filter=evil\n", "attributes");
    repo.ok(&["init", "--check", &format!("cat a.own b.evil > '{}'", seen.display())]);
    repo.git(&["config", "--global", "filter.own.smudge", "sed s/stored/shown/"]);
    repo.git(&["config", "--global", "filter.own.clean", "sed s/shown/stored/"]);
    let evil = format!("[filter \"evil\"]\n\tsmudge = touch {}\n", ran.display());
    repo.git(&["switch", "-q", "-c", "feature"]);
    for file in [".gitconfig", ".git-config", "config"] {
        repo.write(file, &evil);
    }
    repo.write("a.own", "shown\n");
    repo.commit("b.evil", "stored\n", "content");
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "shown\nstored\n");
    assert_eq!(repo.read("a.own"), "shown\n", "in the trunk's worktree too");
    assert!(!ran.exists());
    assert_eq!(repo.git(&["status", "--porcelain", "-uno"]), "");
}

#[test]
fn executable_bits_links_and_line_ends_land_as_they_are() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--check", "test -x run && test -L link && test \"$(wc -c < crlf)\" = 6"]);
    let tree = repo.worktree("feature");
    tree.write("run", "#!/bin/sh\n");
    std::fs::set_permissions(tree.path.join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("README", tree.path.join("link")).unwrap();
    symlink("../outside", tree.path.join("dangling")).unwrap();
    tree.write("crlf", "a\r\nb\r\n");
    tree.write("deep/er", "x\n");
    commit_all(&tree, "kinds");
    assert_eq!(tree.ok(&["land"]).code(), "landed");
    assert_eq!(repo.git(&["ls-tree", "-r", "main"]), repo.git(&["ls-tree", "-r", "feature"]));
    assert_eq!(std::fs::read(repo.path.join("crlf")).unwrap(), b"a\r\nb\r\n");
    assert_eq!(std::fs::read_link(repo.path.join("link")).unwrap(), OsStr::new("README"));
    assert_eq!(std::fs::read_link(repo.path.join("dangling")).unwrap(), OsStr::new("../outside"));
    let mode = |tree: &Tree, file: &str| {
        std::fs::metadata(tree.path.join(file)).unwrap().permissions().mode() & 0o777
    };
    for file in ["run", "crlf", "deep", "deep/er"] {
        assert_eq!(mode(&repo, file), mode(&tree, file), "{file} has the permissions that git gives it");
    }
}

#[test]
fn a_folder_with_control_characters_in_its_name_moves_no_cursor() {
    let world = World::new();
    let repo = world.repo("r\u{1b}[2J\u{9b}1m\nfolder");
    let gate = world.gate("gate");
    repo.ok(&["init", "--check", &gate.command()]);
    repo.branch("first");
    repo.branch("second");
    let mut first = repo.start(&["land", "first"]);
    first.event("check");
    let (exit, stdout, _) = repo.people(&["queue"]);
    assert_eq!(exit, 0);
    assert!(!stdout.contains(|c: char| c.is_control() && c != '\n'), "{stdout:?}");
    let (exit, _, stderr) = repo.people(&["land", "second", "--no-wait"]);
    assert_eq!(exit, 22);
    told(&stderr);
    gate.open();
    let done = first.end();
    assert_eq!(done.code(), "landed", "{}", done.all());
    refuses(&repo, &["land", "second", "--label", "a\u{1b}[2Jb"], 2, "invalid_request");
}

#[test]
fn a_repository_in_a_folder_whose_name_is_no_utf8_is_set_up_and_landed_on() {
    let world = World::new();
    let repo = world.tree(world.path("").join(OsStr::from_bytes(b"r\xff e\npo")));
    std::fs::create_dir(&repo.path).unwrap();
    repo.git(&["init", "-q"]);
    repo.commit("README", "hello\n", "first");
    repo.ok(&["init", "--check", "test -f README"]);
    repo.branch("feature");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    assert_eq!(repo.read("file-feature"), "feature\n");
    repo.write("README", "changed\n");
    repo.branch("next");
    repo.write("README", "changed again\n");
    refuses(&repo, &["land", "next"], 2, "trunk_dirty");
}
