use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use git::{GitError, Oid, PushEnd, Remote, Trunk, TrunkError};

use crate::lab::{Lab, hook, lab, with_each_git};

fn origin() -> Remote {
    Remote::Named("origin".to_owned())
}

/// An epoch in which nothing but the words matters.
fn epoch(trunk: &Trunk, words: &str, parent: Option<&Oid>) -> Oid {
    trunk.repo.note_commit(words.as_bytes(), parent).unwrap()
}

/// A commit on top of main that only the clone has.
fn landing(lab: &Lab, work: &Path, name: &str) -> Oid {
    lab.branch(work, name, &format!("{name}.txt"), name)
}

#[test]
fn trunk_and_epoch_move_together() {
    with_each_git(|lab| {
        let (_, work) = lab.cloned();
        let trunk = lab.trunk(&work, origin());
        let before = trunk.read().unwrap();
        assert_eq!(before.trunk, Some(lab.oid(&work, "main")));
        assert_eq!((before.epoch, before.box_id), (None, None));
        let begun = epoch(&trunk, "begun", None);
        assert_eq!(trunk.create_or_move(&trunk.epoch_ref(), &begun, None).unwrap(), PushEnd::Accepted);
        let new = landing(lab, &work, "one");
        let landed = epoch(&trunk, "landed", Some(&begun));
        let end = trunk.land(&new, before.trunk.as_ref(), &landed, Some(&begun), None).unwrap();
        assert_eq!(end, PushEnd::Accepted);
        let after = trunk.read().unwrap();
        assert_eq!((after.trunk, after.epoch), (Some(new), Some(landed)));
        assert_eq!(lab.ok(&work, &["for-each-ref", "refs/remotes/origin/signalbox"]), "");
    });
}

#[test]
fn a_stale_epoch_is_refused_and_leaves_the_trunk_alone() {
    with_each_git(|lab| {
        let (_, work) = lab.cloned();
        let trunk = lab.trunk(&work, origin());
        let old = trunk.read().unwrap().trunk.unwrap();
        let mine = epoch(&trunk, "mine", None);
        let theirs = epoch(&trunk, "theirs", Some(&mine));
        trunk.create_or_move(&trunk.epoch_ref(), &mine, None).unwrap();
        trunk.create_or_move(&trunk.epoch_ref(), &theirs, Some(&mine)).unwrap();
        let new = landing(lab, &work, "one");
        let landed = epoch(&trunk, "landed", Some(&mine));
        let end = trunk.land(&new, Some(&old), &landed, Some(&mine), None).unwrap();
        assert!(matches!(&end, PushEnd::Refused { text } if text.contains("stale info")), "{end:?}");
        let seen = trunk.read().unwrap();
        assert_eq!((seen.trunk, seen.epoch), (Some(old), Some(theirs)));
    });
}

#[test]
fn a_ref_is_created_once_only() {
    with_each_git(|lab| {
        let (_, work) = lab.cloned();
        for remote in [origin(), Remote::Here] {
            let trunk = lab.trunk(&work, remote);
            let (a, b) = (epoch(&trunk, "a", None), epoch(&trunk, "b", None));
            assert_eq!(trunk.create_or_move(&trunk.box_ref(), &a, None).unwrap(), PushEnd::Accepted);
            let again = trunk.create_or_move(&trunk.box_ref(), &b, None).unwrap();
            assert!(matches!(again, PushEnd::Refused { .. }), "{again:?}");
            assert_eq!(trunk.read().unwrap().box_id, Some(a));
        }
    });
}

#[test]
fn a_hook_that_refuses_is_quoted() {
    with_each_git(|lab| {
        let (bare, work) = lab.cloned();
        hook(&bare, "pre-receive", "echo 'no landing on fridays' >&2; exit 1");
        let trunk = lab.trunk(&work, origin());
        let old = trunk.read().unwrap().trunk.unwrap();
        let (new, first) = (landing(lab, &work, "one"), epoch(&trunk, "e", None));
        let end = trunk.land(&new, Some(&old), &first, None, None).unwrap();
        assert!(
            matches!(&end, PushEnd::Refused { text } if text.contains("no landing on fridays")),
            "{end:?}"
        );
        let seen = trunk.read().unwrap();
        assert_eq!((seen.trunk, seen.epoch), (Some(old), None));
    });
}

#[test]
fn the_users_own_push_hook_does_not_run() {
    let lab = lab();
    let (_, work) = lab.cloned();
    hook(&work.join(".git"), "pre-push", "exit 1");
    hook(&work.join(".git"), "reference-transaction", "exit 1");
    let trunk = lab.trunk(&work, origin());
    let note = epoch(&trunk, "a", None);
    assert_eq!(trunk.create_or_move(&trunk.box_ref(), &note, None).unwrap(), PushEnd::Accepted);
    assert_eq!(trunk.read().unwrap().box_id, Some(note));
}

#[test]
fn a_remote_that_is_gone_gives_no_answer_and_cannot_be_read() {
    with_each_git(|lab| {
        let (bare, work) = lab.cloned();
        let trunk = lab.trunk(&work, origin());
        let note = epoch(&trunk, "a", None);
        fs::rename(&bare, lab.path("elsewhere.git")).unwrap();
        assert!(matches!(trunk.read(), Err(TrunkError::Unreachable { .. })));
        let end = trunk.create_or_move(&trunk.box_ref(), &note, None).unwrap();
        assert!(matches!(end, PushEnd::NoAnswer { .. }), "{end:?}");
    });
}

#[test]
fn a_connection_lost_during_a_push_is_no_answer() {
    with_each_git(|lab| {
        let (bare, work) = lab.cloned();
        // The hook kills the server's process that would report.
        hook(&bare, "pre-receive", "kill -9 $PPID; sleep 0.1");
        let trunk = lab.trunk(&work, origin());
        let note = epoch(&trunk, "a", None);
        let end = trunk.create_or_move(&trunk.box_ref(), &note, None).unwrap();
        assert!(matches!(end, PushEnd::NoAnswer { .. }), "{end:?}");
    });
}

#[test]
fn a_push_that_takes_too_long_is_stopped_and_is_no_answer() {
    let lab = lab();
    let (bare, work) = lab.cloned();
    hook(&bare, "pre-receive", "sleep 30");
    let mut trunk = lab.trunk(&work, origin());
    trunk.push_limit = Duration::from_millis(300);
    let note = epoch(&trunk, "a", None);
    let started = Instant::now();
    let end = trunk.create_or_move(&trunk.box_ref(), &note, None).unwrap();
    assert!(matches!(end, PushEnd::NoAnswer { .. }), "{end:?}");
    assert!(started.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_push_inherits_the_guard_and_its_lock() {
    let lab = lab();
    let (bare, work) = lab.cloned();
    let flag = lab.path("in-hook");
    hook(&bare, "pre-receive", &format!("touch {}; sleep 1", flag.display()));
    let trunk = lab.trunk(&work, origin());
    let old = trunk.read().unwrap().trunk;
    let (new, first) = (landing(&lab, &work, "one"), epoch(&trunk, "e", None));
    let path = lab.path("guard");
    let guard = fs::File::create(&path).unwrap();
    guard.lock().unwrap();
    let push = thread::spawn(move || trunk.land(&new, old.as_ref(), &first, None, Some(guard)).unwrap());
    while !flag.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(fs::File::open(&path).unwrap().try_lock().is_err());
    assert_eq!(push.join().unwrap(), PushEnd::Accepted);
    assert!(fs::File::open(&path).unwrap().try_lock().is_ok());
}

#[test]
fn a_mirror_is_said_to_be_one() {
    with_each_git(|lab| {
        let (_, work) = lab.cloned();
        lab.ok(&work, &["config", "remote.origin.mirror", "true"]);
        let trunk = lab.trunk(&work, origin());
        let note = epoch(&trunk, "a", None);
        let end = trunk.create_or_move(&trunk.box_ref(), &note, None);
        assert!(matches!(&end, Err(GitError::Mirror { remote }) if remote == "origin"), "{end:?}");
    });
}

#[test]
fn a_ref_that_was_deleted_is_not_seen_though_its_copy_stays() {
    with_each_git(|lab| {
        let (bare, work) = lab.cloned();
        let trunk = lab.trunk(&work, origin());
        let note = epoch(&trunk, "a", None);
        trunk.create_or_move(&trunk.epoch_ref(), &note, None).unwrap();
        assert_eq!(trunk.read().unwrap().epoch, Some(note));
        lab.ok(&bare, &["update-ref", "-d", &trunk.epoch_ref()]);
        assert_eq!(trunk.read().unwrap().epoch, None);
        assert_eq!(trunk.peek().unwrap().epoch, None);
    });
}

#[test]
fn a_trunk_that_moves_between_the_listing_and_the_fetch_is_read_as_it_is_then() {
    with_each_git(|lab| {
        let (bare, work) = lab.cloned();
        let trunk = lab.trunk(&work, origin());
        let old = trunk.read().unwrap().trunk.unwrap();
        let new = landing(lab, &work, "one");
        lab.ok(&work, &["push", "-q", "origin", "one"]);
        let note = epoch(&trunk, "e", None);
        trunk.create_or_move("refs/signalbox/later", &note, None).unwrap();
        // The server answers, and then both refs move, once.
        let update = format!(
            "git-upload-pack \"$@\"; cd {} && test ! -e moved && touch moved && {} update-ref --stdin <<E\n\
             update refs/heads/main {new} {old}\ncreate {} {note}\nE\ntrue",
            bare.display(),
            lab.git_path(),
            trunk.epoch_ref()
        );
        hook(&lab.path("bin"), "upload", &update);
        let script = lab.path("bin/hooks/upload");
        lab.ok(&work, &["config", "remote.origin.uploadpack", script.to_str().unwrap()]);
        lab.ok(&work, &["update-ref", "-d", "refs/signalbox/seen/heads/main"]);
        let seen = trunk.read().unwrap();
        assert_eq!((seen.trunk, seen.epoch), (Some(new), Some(note)));
    });
}

#[test]
fn a_read_leaves_the_users_own_remote_branches_alone() {
    with_each_git(|lab| {
        let (_, work) = lab.cloned();
        let other = lab.clone("other");
        let new = lab.commit(&work, "x.txt", "x");
        lab.ok(&work, &["push", "-q", "origin", "main"]);
        let before = lab.ok(&other, &["for-each-ref", "refs/remotes"]);
        assert_eq!(lab.trunk(&other, origin()).read().unwrap().trunk, Some(new));
        assert_eq!(lab.ok(&other, &["for-each-ref", "refs/remotes"]), before);
        assert!(!other.join(".git/FETCH_HEAD").exists());
    });
}

#[test]
fn refs_that_only_end_alike_are_not_taken_for_the_trunk() {
    let lab = lab();
    let (bare, work) = lab.cloned();
    let trunk = Trunk::new(lab.repo(&work), origin(), "trunk");
    lab.ok(&bare, &["update-ref", "refs/heads/x/refs/heads/trunk", "main"]);
    assert_eq!(trunk.read().unwrap().trunk, None);
}

#[test]
fn the_copy_of_a_ref_that_is_gone_does_not_block_one_below_it() {
    let lab = lab();
    let (bare, work) = lab.cloned();
    let short = Trunk::new(lab.repo(&work), origin(), "a");
    let long = Trunk::new(lab.repo(&work), origin(), "a/b");
    let note = epoch(&short, "x", None);
    short.create_or_move(&short.epoch_ref(), &note, None).unwrap();
    assert_eq!(short.read().unwrap().epoch, Some(note.clone()));
    lab.ok(&bare, &["update-ref", "-d", &short.epoch_ref()]);
    long.create_or_move(&long.epoch_ref(), &note, None).unwrap();
    assert_eq!(long.read().unwrap().epoch, Some(note));
}

#[test]
fn many_readers_see_each_state_whole_while_landings_go_on() {
    let lab = lab();
    let (_, work) = lab.cloned();
    let reader = lab.clone("reader");
    let trunk = lab.trunk(&work, origin());
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let trunk = lab.trunk(&reader, origin());
            thread::spawn(move || {
                for _ in 0..12 {
                    let seen = trunk.read().unwrap();
                    let Some(epoch) = seen.epoch else { continue };
                    let named = trunk.repo.message_of(&epoch).unwrap().to_string();
                    assert_eq!(named, seen.trunk.unwrap().as_str());
                }
            })
        })
        .collect();
    let (mut old, mut old_epoch) = (trunk.read().unwrap().trunk.unwrap(), None);
    for n in 0..8 {
        let new = landing(&lab, &work, &format!("b{n}"));
        lab.ok(&work, &["merge", "-q", "--ff-only", &format!("b{n}")]);
        let next = epoch(&trunk, new.as_str(), old_epoch.as_ref());
        assert_eq!(trunk.land(&new, Some(&old), &next, old_epoch.as_ref(), None).unwrap(), PushEnd::Accepted);
        (old, old_epoch) = (new, Some(next));
    }
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
fn credentials_of_a_url_do_not_reach_a_message() {
    let lab = lab();
    let (_, work) = lab.cloned();
    lab.ok(&work, &["remote", "add", "secret", "http://me:hunter2@127.0.0.1:9/x.git"]);
    let trunk = lab.trunk(&work, Remote::Named("secret".to_owned()));
    let error = trunk.read().unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
    let end = trunk.create_or_move(&trunk.box_ref(), &epoch(&trunk, "a", None), None).unwrap();
    assert!(!format!("{end:?}").contains("hunter2"));
}

#[test]
fn tags_are_neither_pushed_nor_fetched() {
    let lab = lab();
    let (bare, work) = lab.cloned();
    lab.ok(&work, &["config", "push.followTags", "true"]);
    let trunk = lab.trunk(&work, origin());
    let old = trunk.read().unwrap().trunk;
    let new = landing(&lab, &work, "one");
    lab.ok(&work, &["tag", "-a", "-m", "x", "v1", "one"]);
    trunk.land(&new, old.as_ref(), &epoch(&trunk, "e", None), None, None).unwrap();
    assert_eq!(lab.ok(&bare, &["tag"]), "");
}
