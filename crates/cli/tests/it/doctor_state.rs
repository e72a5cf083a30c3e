//! `doctor` on git, the environment, the state, the settings and the clocks.

use crate::doctor::{healthy, here, sick, typed, with_remote};
use crate::harness::{Tree, World, executable};
use crate::refusals_state::Small;
use insta::assert_snapshot;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;

/// A program in the place of git, and the repository with it.
fn with_git(world: &World, tree: &Tree, script: &str) -> Tree {
    let path = world.path("fake-git");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    executable(&path);
    tree.env("SIGNALBOX_GIT", path.to_str().unwrap())
}

#[test]
fn a_git_that_fails_is_told_and_the_rest_is_examined() {
    let world = World::new();
    let repo = here(&world, "true");
    let script = "case \" $* \" in *' worktree list '*) echo broken >&2; exit 1 ;; esac\nexec git \"$@\"";
    let broken = with_git(&world, &repo, script);
    let ill = sick(&broken, "not_examined");
    assert_snapshot!(ill.told(&world), @r"
    problem: something failed that should not; the next line says what
    git worktree failed (status 1): broken
    ");
    ill.healed_by(|| executable(&fake(&world)));
}

/// Makes the program in the place of git an ordinary one.
fn fake(world: &World) -> PathBuf {
    let path = world.path("fake-git");
    fs::write(&path, "#!/bin/sh\nexec git \"$@\"\n").unwrap();
    path
}

#[test]
fn a_git_that_is_missing_or_old_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let missing = repo.env("SIGNALBOX_GIT", world.path("fake-git").to_str().unwrap());
    let ill = sick(&missing, "git_missing");
    assert_snapshot!(ill.told(&world), @r"
    problem: the git program cannot be started; install git 2.39 or later
    cannot start [world]/fake-git: No such file or directory (os error 2)
    ");
    ill.healed_by(|| executable(&fake(&world)));
    let old =
        with_git(&world, &repo, "[ \"$*\" != version ] || exec echo git version 2.30.1\nexec git \"$@\"");
    let script = fs::read_to_string(world.path("fake-git")).unwrap();
    fs::write(
        world.path("fake-git"),
        script.replace("[ \"$*\" != version ]", "case \" $* \" in *' version '*) false ;; esac"),
    )
    .unwrap();
    let ill = sick(&old, "git_too_old");
    assert_snapshot!(ill.told(&world), @r"
    problem: git 2.30.1 is too old; install git 2.39 or later
    ");
    ill.healed_by(|| executable(&fake(&world)));
}

#[test]
fn a_folder_without_a_repository_is_told() {
    let world = World::new();
    fs::create_dir(world.path("empty")).unwrap();
    let empty = world.tree(world.path("empty"));
    let ill = sick(&empty, "no_repository");
    assert_snapshot!(ill.told(&world), @r"
    problem: this is no git repository; go into one, or make one with `git init`
    next: git init
    ");
    ill.heals();
    let ill = sick(&empty, "not_set_up");
    assert_snapshot!(ill.told(&world), @r"
    problem: this repository has no signalbox state yet; run `signalbox init`
    [world]/empty/.git/signalbox
    next: signalbox init --check 'make test'
    ");
    ill.heals();
}

#[test]
fn a_shallow_clone_is_told() {
    let world = World::new();
    let remote = world.bare("trunk.git");
    world.clone_of(&remote, "more").git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    world.tree(world.path("more")).git(&["push", "-q"]);
    let url = format!("file://{}", remote.path.display());
    let path = world.path("shallow");
    remote.git(&["clone", "-q", "--depth=1", &url, path.to_str().unwrap()]);
    let shallow = world.tree(path);
    shallow.ok(&["init", "--no-check"]);
    let ill = sick(&shallow, "shallow");
    assert_snapshot!(ill.told(&world), @r"
    problem: this clone is shallow, so merges could be silently wrong; run `git fetch --unshallow`
    next: git fetch --unshallow
    ");
    ill.heals();
}

#[test]
fn a_missing_git_lfs_is_told_where_the_trunk_has_such_files() {
    let world = World::new();
    let repo = here(&world, "true");
    repo.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "attributes");
    let programs = world.path("programs");
    fs::create_dir(&programs).unwrap();
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap()).find_map(|dir| {
        let git = dir.join("git");
        git.exists().then_some(git)
    });
    symlink(found.unwrap(), programs.join("git")).unwrap();
    let without = repo.env("PATH", programs.to_str().unwrap());
    let ill = sick(&without, "lfs_missing");
    assert_snapshot!(ill.told(&world), @r"
    warning: the trunk has files that git-lfs keeps, and git-lfs is not here; install it
    A branch with such files does not land from here. Its package is git-lfs.
    ");
    ill.healed_by(|| {
        fs::write(programs.join("git-lfs"), "#!/bin/sh\n").unwrap();
        executable(&programs.join("git-lfs"));
    });
}

#[test]
fn variables_that_do_nothing_or_name_a_turn_that_is_over_are_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let typo = repo.env("SIGNALBOX_STAT", "/x").env("SIGNALBOX_LABEL", "Ann");
    let ill = sick(&typo, "variable_unknown");
    assert_snapshot!(ill.told(&world), @r"
    warning: SIGNALBOX_STAT is no variable of signalbox, so it does nothing; correct or unset it
    next: unset SIGNALBOX_STAT
    ");
    ill.heals_in_the_shell();
    let stale =
        repo.env("SIGNALBOX_TICKET", "0f8fad5b-d9cb-469f-a165-70867728950e").env("SIGNALBOX_TURN", "3");
    let ill = sick(&stale, "variable_stale");
    assert_snapshot!(ill.told(&world), @r"
    warning: SIGNALBOX_TICKET names a turn that is over, or another repository's; unset it
    next: unset SIGNALBOX_TICKET SIGNALBOX_TURN
    ");
    ill.heals_in_the_shell();
    repo.branch("work");
    let inside = repo.ok(&["run", "--", env!("CARGO_BIN_EXE_signalbox"), "doctor", "--json"]);
    assert!(!inside.all().contains("variable_stale"), "{}", inside.all());
}

#[test]
fn a_cache_folder_that_cannot_be_used_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let file = world.path("file");
    fs::write(&file, "").unwrap();
    let by_xdg = repo.env("XDG_CACHE_HOME", file.join("cache").to_str().unwrap());
    let ill = sick(&by_xdg, "cache_unusable");
    assert_snapshot!(ill.told(&world), @r"
    warning: the cache folder [path] cannot be used; checks run below .git
    Below .git test runners find no tests, and tools that look upwards find your untracked files.
    next: unset XDG_CACHE_HOME
    ");
    ill.heals_in_the_shell();
    fs::write(repo.home().join(".cache"), "").unwrap();
    let ill = sick(&repo, "cache_unusable");
    assert_snapshot!(ill.told(&world), @r"
    warning: the cache folder [path] cannot be used; checks run below .git
    Below .git test runners find no tests, and tools that look upwards find your untracked files.
    Make it a folder that you can write: [world]/home/.cache/signalbox
    ");
    ill.healed_by(|| fs::remove_file(repo.home().join(".cache")).unwrap());
}

/// The same tree as it is seen by user 65534, to whom the world belongs then.
fn as_another_user(world: &World, tree: &Tree) -> Tree {
    let binary = world.path("signalbox");
    if !binary.exists() {
        fs::copy(env!("CARGO_BIN_EXE_signalbox"), &binary).unwrap();
        executable(&binary);
    }
    fs::set_permissions(world.path(""), Permissions::from_mode(0o777)).unwrap();
    tree.as_user(65_534, &binary)
}

fn give(path: &std::path::Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            give(&entry.path(), user);
        } else {
            let _ = chown(entry.path(), Some(user), Some(user));
        }
    }
}

#[test]
fn a_repository_or_a_state_of_another_user_is_told_as_seen_by_user_65534() {
    assert!(rustix::process::getuid().is_root(), "this test must run as root: it acts as another user");
    let world = World::new();
    let repo = here(&world, "true");
    let other = as_another_user(&world, &repo);
    give(&repo.home(), 65_534);
    let ill = sick(&other, "repository_not_yours");
    assert_snapshot!(ill.told(&world), @r"
    problem: git refuses this repository: it belongs to another user; the next lines say how to allow it
    fatal: detected dubious ownership in repository at '[world]/r'
    To add an exception for this directory, call:

    	git config --global --add safe.directory [world]/r
    next: git config --global --add safe.directory [world]/r
    ");
    ill.heals();
    let ill = sick(&other, "state_read_only");
    assert_snapshot!(ill.told(&world), @r"
    problem: the state is read-only for you; make state.db and its folder writable, then run this again
    It belongs to user 0. The administrator can give it:
    [world]/r/.git/signalbox
    next: chown -R 65534 [world]/r/.git/signalbox
    ");
    // As the administrator.
    let command = ill.command().unwrap();
    ill.healed_by(|| assert!(typed(&repo, &command).0));
    let ill = sick(&repo, "state_not_yours");
    assert_snapshot!(ill.told(&world), @r"
    warning: the state belongs to user 65534 and you are user 0; what you make is not theirs
    Work as user 65534, or make it yours (as the system's administrator):
    next: chown -R 0 [world]/r/.git/signalbox
    ");
    ill.heals();
    give(&repo.path, 65_534);
    let modes = |mode| {
        for entry in fs::read_dir(repo.state()).unwrap().flatten() {
            fs::set_permissions(entry.path(), Permissions::from_mode(mode)).unwrap();
        }
    };
    modes(0o400);
    fs::set_permissions(repo.state(), Permissions::from_mode(0o500)).unwrap();
    let ill = sick(&other, "state_read_only");
    assert_snapshot!(ill.told(&world), @r"
    problem: the state is read-only for you; make state.db and its folder writable, then run this again
    [world]/r/.git/signalbox
    next: chmod -R u+rwX [world]/r/.git/signalbox
    ");
    ill.heals();
}

#[test]
fn a_folder_of_other_files_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    fs::create_dir(world.path("mine")).unwrap();
    fs::write(world.path("mine/notes"), "").unwrap();
    let named = repo.env("SIGNALBOX_STATE", world.path("mine").to_str().unwrap());
    let ill = sick(&named, "state_folder_in_use");
    assert_snapshot!(ill.told(&world), @r"
    problem: [path] holds other files; give the state a folder of its own: --state [path]
    Nothing was written. For example: --state [world]/mine/signalbox
    ");
    ill.healed_by(|| fs::remove_file(world.path("mine/notes")).unwrap());
}

#[test]
fn a_damaged_state_is_told_and_its_command_goes_on_above_what_the_trunk_shows() {
    let world = World::new();
    let repo = here(&world, "true");
    repo.branch("feature");
    assert_eq!(repo.ok(&["land", "feature"]).code(), "landed");
    fs::write(repo.state().join("state.db"), "not a database").unwrap();
    let ill = sick(&repo, "state_unusable");
    assert_snapshot!(ill.told(&world), @r"
    problem: state.db is no state of signalbox; move it away, then run `signalbox init --take-over`
    Set aside it can still be looked at. A backup of it is no way back: turns and numbers of later would be given again.
    [world]/r/.git/signalbox
    next: mkdir [world]/r/.git/signalbox/state.db.damaged && mv [world]/r/.git/signalbox/state.db [world]/r/.git/signalbox/state.db.damaged && signalbox init --take-over
    ");
    ill.heals();
    assert!(repo.state().join("state.db.damaged/state.db").exists());
    repo.branch("more");
    assert_eq!(repo.ok(&["land", "more"]).end()["turnNo"], 2, "turns go on");
}

#[test]
fn damage_where_nobody_reads_is_found_by_the_look_at_every_page() {
    let world = World::new();
    let repo = here(&world, "true");
    let file = repo.state().join("state.db");
    let conn = rusqlite::Connection::open(&file).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'requests_by_at'";
    let page: i64 = conn.query_row(sql, [], |row| row.get(0)).unwrap();
    let size: i64 = conn.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(conn);
    let damaged = fs::OpenOptions::new().write(true).open(&file).unwrap();
    let at = u64::try_from((page - 1) * size).unwrap();
    damaged.write_all_at(&vec![0xaa; usize::try_from(size).unwrap()], at).unwrap();
    drop(damaged);
    repo.ok(&["queue"]);
    let ill = sick(&repo, "state_unusable");
    assert_snapshot!(ill.told(&world), @r"
    problem: state.db is damaged and was left as it is; move it away, then `signalbox init --take-over`
    Set aside it can still be looked at. A backup of it is no way back: turns and numbers of later would be given again.
    [world]/r/.git/signalbox
    next: mkdir [world]/r/.git/signalbox/state.db.damaged && mv [world]/r/.git/signalbox/state.db [world]/r/.git/signalbox/state.db.damaged && signalbox init --take-over
    ");
    ill.heals();
}

#[test]
fn a_state_of_a_newer_version_and_one_that_was_copied_are_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let file = repo.state().join("state.db");
    let set = |version: i64| {
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.execute("UPDATE schema SET oldest_compatible = ?1", [version]).unwrap();
    };
    set(1_000);
    let ill = sick(&repo, "state_newer");
    assert_snapshot!(ill.told(&world), @r"
    problem: the state was written by a newer signalbox than this; update signalbox, then run it again
    [world]/r/.git/signalbox
    ");
    ill.healed_by(|| set(1));
    for remedy in [None, Some("signalbox init --moved")] {
        fs::copy(&file, world.path("copy")).unwrap();
        fs::rename(world.path("copy"), &file).unwrap();
        let ill = sick(&repo, "state_copied");
        match remedy {
            None => {
                assert_snapshot!(ill.told(&world), @r"
                problem: this state is a copy; run `signalbox init --take-over`, or `init --moved` if you moved it
                [world]/r/.git/signalbox
                next: signalbox init --take-over
                ");
                ill.heals();
            }
            Some(remedy) => {
                assert!(typed(&repo, remedy).0);
                healthy(&repo, "state_copied");
            }
        }
    }
}

#[test]
fn a_state_that_is_kept_in_use_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let conn = rusqlite::Connection::open(repo.state().join("state.db")).unwrap();
    conn.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let ill = sick(&repo, "busy");
    assert_snapshot!(ill.told(&world), @r"
    problem: other processes kept the state in use for two seconds; nothing was changed, run this again
    [world]/r/.git/signalbox
    next: signalbox doctor
    ");
    conn.execute_batch("ROLLBACK").unwrap();
    ill.heals();
}

#[test]
fn a_disk_that_is_low_or_full_is_told_on_a_small_tmpfs() {
    let world = World::new();
    let here = world.tree(world.path("home"));
    let small = Small::mount(&world, &here, "2m");
    let repo = world.repo("r").env("SIGNALBOX_STATE", small.path.join("state").to_str().unwrap());
    repo.ok(&["init", "--no-check"]);
    let ill = sick(&repo, "disk_low");
    assert!(ill.told(&world).contains("MiB are free on the disk of the state; free space there"));
    small.fill();
    sick(&repo, "disk_full").healed_by(|| small.make_room());
    let mount = |size| {
        let mut mount = here.command("mount");
        assert!(
            mount.args(["-o", &format!("remount,size={size}")]).arg(&small.path).status().unwrap().success()
        );
    };
    ill.healed_by(|| mount("200m"));
}

#[test]
fn a_state_that_everybody_can_enter_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    fs::set_permissions(repo.state(), Permissions::from_mode(0o755)).unwrap();
    let ill = sick(&repo, "state_open_to_others");
    assert_snapshot!(ill.told(&world), @r"
    warning: every user of this machine can enter the state's folder, and read the project's id
    next: chmod -R o= [world]/r/.git/signalbox
    ");
    ill.heals();
}

#[test]
fn settings_that_cannot_be_used_are_told_wherever_they_stand() {
    let world = World::new();
    let repo = here(&world, "true");
    let good = repo.read(".signalbox.toml");
    for bad in ["[chekc]\n", "[[line]]\nname = 'a'\ntemplate = 'x.md'\n"] {
        repo.write(".signalbox.toml", bad);
        let ill = sick(&repo, "bad_settings");
        assert!(ill.finding["detail"].as_str().unwrap().starts_with(".signalbox.toml cannot be used"));
        ill.healed_by(|| repo.write(".signalbox.toml", &good));
    }
    repo.commit(".signalbox.toml", "[check]\nfiles = ['/dev/zero']\nnone = true\n", "bad");
    let ill = sick(&repo, "bad_settings");
    assert_snapshot!(ill.told(&world), @r"
    problem: check.files names /dev/zero, which is a folder, a pipe or a device; name files alone
    ");
    ill.healed_by(|| drop(repo.commit(".signalbox.toml", &good, "good")));
    repo.commit(".signalbox.toml", "[chekc]\n", "bad");
    repo.write(".signalbox.toml", &good);
    let ill = sick(&repo, "bad_settings");
    assert_snapshot!(ill.told(&world), @r"
    problem: the trunk's .signalbox.toml cannot be used; mend what the next lines name
    TOML parse error at line 1, column 2
      |
    1 | [chekc]
      |  ^^^^^
    unknown field `chekc`, expected one of `trunk`, `land`, `check`, `line`
    ");
    ill.healed_by(|| drop(repo.commit(".signalbox.toml", &good, "good")));
}

#[test]
fn settings_that_name_another_trunk_or_no_check_are_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let good = repo.read(".signalbox.toml");
    repo.git(&["branch", "work"]);
    repo.commit(
        ".signalbox.toml",
        "[trunk]\nremote = '.'\nbranch = 'develop'\n[check]\nnone = true\n",
        "develop",
    );
    repo.git(&["switch", "-q", "work"]);
    let ill = sick(&repo, "other_trunk");
    assert_snapshot!(ill.told(&world), @r"
    problem: the trunk's .signalbox.toml names develop as the trunk, not main; make both files agree
    ");
    let set = |text: &str| {
        repo.git(&["switch", "-q", "main"]);
        repo.commit(".signalbox.toml", text, "settings");
    };
    ill.healed_by(|| set(&good));
    set("[trunk]\nremote = '.'\nbranch = 'main'\n");
    let ill = sick(&repo, "no_check");
    assert_snapshot!(ill.told(&world), @r#"
    problem: no check is configured on the trunk; set check.command (or check.none = true) there
    In .signalbox.toml on the trunk:  [check]  command = "make test"
    "#);
    ill.healed_by(|| set(&good));
}

#[test]
fn settings_that_the_trunk_has_not_are_brought_there_from_wherever_one_stands() {
    let world = World::new();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    fs::remove_file(repo.path.join(".signalbox.toml")).unwrap();
    let ill = sick(&repo, "settings_not_on_trunk");
    assert_snapshot!(ill.told(&world), @r"
    warning: main has no settings of its own; what init wrote counts, and only here. Land the file
    next: signalbox init && git add -- .signalbox.toml && git commit -m 'Land with signalbox' -- .signalbox.toml
    ");
    ill.heals();
    let remote = world.bare("trunk.git");
    let clone = world.clone_of(&remote, "work");
    clone.ok(&["init", "--no-check"]);
    let ill = sick(&clone, "settings_not_on_trunk");
    assert_snapshot!(ill.told(&world), @r"
    warning: origin/main has no settings of its own; what init wrote counts, and only here. Land the file
    next: git switch -c signalbox-settings && git add -- .signalbox.toml && git commit -m 'Land with signalbox' -- .signalbox.toml && signalbox land
    ");
    ill.heals();
}

#[test]
fn settings_that_differ_are_landed_or_taken_from_the_trunk() {
    let world = World::new();
    let (remote, clone) = with_remote(&world, &[]);
    let good = clone.read(".signalbox.toml");
    clone.git(&["switch", "-q", "-c", "change"]);
    clone.write(".signalbox.toml", &good.replace("none = true", "none = true\nparallel = 1"));
    let ill = sick(&clone, "settings_differ");
    assert_snapshot!(ill.told(&world), @r"
    warning: the settings here are not those of origin/main, which count for check, land and lines
    next: git add -- .signalbox.toml && git commit -m 'Change the settings' -- .signalbox.toml && signalbox land
    ");
    ill.heals();
    clone.git(&["switch", "-q", "main"]);
    let ill = sick(&clone, "settings_differ");
    assert_snapshot!(ill.told(&world), @r"
    warning: the settings here are not those of origin/main, which count for check, land and lines
    next: git merge [commit]
    ");
    ill.heals();
    drop(remote);
}

#[test]
fn a_file_that_results_depend_on_and_that_is_missing_is_told() {
    let world = World::new();
    let repo = here(&world, "true");
    let text = repo.read(".signalbox.toml") + "files = ['toolchain']\n";
    repo.commit(".signalbox.toml", &text, "files");
    let ill = sick(&repo, "check_file_missing");
    assert_snapshot!(ill.told(&world), @r"
    warning: check.files names toolchain, which is not here: results count as if it were empty
    Make the file, or take it out of the trunk's settings.
    ");
    ill.healed_by(|| repo.write("toolchain", "1"));
}

#[test]
fn more_checks_at_once_than_cores_are_told() {
    let cores = std::thread::available_parallelism().unwrap().get();
    assert!(cores < 64, "no setting is above that many cores");
    let world = World::new();
    let repo = here(&world, "true");
    let good = repo.read(".signalbox.toml");
    repo.commit(".signalbox.toml", &(good.clone() + "parallel = 64\n"), "parallel");
    let ill = sick(&repo, "parallel_over_cores");
    let told = ill.told(&world).replace(&format!(" {cores} cores"), " [n] cores");
    assert_snapshot!(told.replace(&format!("parallel = {cores}"), "parallel = [n]"), @r"
    warning: check.parallel is 64 and this machine has [n] cores; lower it, or land slower
    In the trunk's .signalbox.toml:  [check]  parallel = [n]
    ");
    ill.healed_by(|| drop(repo.commit(".signalbox.toml", &good, "less")));
}

#[test]
fn clocks_that_do_not_agree_are_told() {
    let world = World::with_clock();
    let repo = here(&world, "true");
    world.advance(7_200_000);
    repo.ok(&["freeze", "open", "BUG-1"]);
    repo.ok(&["freeze", "close", "BUG-1"]);
    world.advance(-7_200_000);
    let ill = sick(&repo, "project_time_ahead");
    assert_snapshot!(ill.told(&world), @r"
    warning: the project's time is 2 h ahead of this clock, since some clock was
    Until then no lease ends and holds end at once. If this clock is right: signalbox project replace
    next: signalbox project replace
    ");
    ill.heals();
    let ill = sick(&repo, "file_clock");
    assert!(ill.told(&world).contains("the file system's clock and this machine's are"));
    let touched = world.path("touched");
    fs::write(&touched, "").unwrap();
    let now = fs::metadata(&touched).unwrap().modified().unwrap();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    ill.healed_by(|| world.advance(i64::try_from(now).unwrap() - world.now()));
}

#[test]
fn a_partial_clone_is_told_and_no_fault() {
    let world = World::new();
    let remote = world.bare("trunk.git");
    remote.git(&["config", "uploadpack.allowFilter", "true"]);
    let path = world.path("partial");
    let url = format!("file://{}", remote.path.display());
    remote.git(&["clone", "-q", "--filter=blob:none", &url, path.to_str().unwrap()]);
    let clone = world.tree(path);
    clone.ok(&["init", "--no-check"]);
    let done = clone.ok(&["doctor"]);
    assert!(done.events.iter().any(|event| event["code"] == "partial_clone"), "{}", done.all());
}
