//! Remotes that are pushed to elsewhere than they are read, and clones that have not all objects.

use crate::harness::{Tree, World};
use crate::words::{more, refuses};

fn url(tree: &Tree) -> String {
    tree.path.to_str().unwrap().to_owned()
}

/// A copy of a bare repository, with all its refs.
fn copy(world: &World, remote: &Tree, name: &str) -> Tree {
    let path = world.path(name);
    remote.git(&["clone", "-q", "--mirror", ".", path.to_str().unwrap()]);
    world.tree(path)
}

#[test]
fn a_remote_that_is_pushed_to_several_places_is_refused_before_anything_is_sent() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let other = copy(&world, &remote, "other.git");
    let clone = world.clone_of(&remote, "clone");
    clone.branch("feature");
    for push in [&remote, &other] {
        clone.git(&["remote", "set-url", "--add", "--push", "origin", &url(push)]);
    }
    let refs = || [&remote, &other].map(|tree| tree.git(&["for-each-ref"]));
    let before = refs();
    let end = refuses(&clone, &["init", "--no-check"], 3, "push_urls");
    assert!([&remote, &other].iter().all(|tree| more(&end).contains(&url(tree))), "{end}");
    assert_eq!(refs(), before);
    clone.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    clone.ok(&["init", "--no-check"]);
    let before = refs();
    clone.git(&["remote", "set-url", "--add", "origin", &url(&other)]);
    refuses(&clone, &["land", "feature"], 3, "push_urls");
    assert_eq!(refs(), before);
    assert_eq!(clone.leftovers(), [""; 0]);
}

#[test]
fn a_remote_that_does_not_show_what_it_took_is_refused_by_the_first_command() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let other = copy(&world, &remote, "other.git");
    let clone = world.clone_of(&remote, "clone");
    clone.git(&["remote", "set-url", "--push", "origin", &url(&other)]);
    let end = refuses(&clone, &["init", "--no-check"], 3, "remote_split");
    assert!(more(&end).contains(&format!("and pushed to {}", url(&other))), "{end}");
}

#[test]
fn a_remote_that_is_read_elsewhere_since_is_refused_before_anything_lands() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.ok(&["init", "--no-check"]);
    clone.branch("first");
    clone.branch("feature");
    clone.ok(&["land", "first"]);
    let other = copy(&world, &remote, "other.git");
    clone.git(&["remote", "set-url", "--push", "origin", &url(&other)]);
    let before = remote.git(&["for-each-ref"]);
    refuses(&clone, &["land", "feature"], 3, "remote_split");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    assert_eq!(other.git(&["rev-parse", "main"]), remote.git(&["rev-parse", "main"]));
    assert_eq!(clone.ok(&["queue"]).events[0]["tickets"].as_array().unwrap().len(), 0);
    clone.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn two_ways_to_one_place_are_fine() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    let there = format!("file://{}", url(&remote));
    clone.git(&["config", "--global", &format!("url.{there}.pushInsteadOf"), &url(&remote)]);
    assert_eq!(clone.git(&["remote", "get-url", "--push", "origin"]), there);
    clone.ok(&["init", "--no-check"]);
    clone.branch("feature");
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
}

#[test]
fn a_partial_clone_fetches_what_it_left_out_as_its_user_would() {
    for filter in ["blob:none", "tree:0"] {
        let world = World::new();
        let remote = world.bare("remote.git");
        remote.git(&["config", "uploadpack.allowFilter", "true"]);
        // An address that only the user's own configuration knows.
        let work = world.tree(world.path("."));
        work.git(&["config", "--global", &format!("url.file://{}.insteadOf", url(&remote)), "work:remote"]);
        let seed = world.clone_of(&remote, "seed");
        let settings = "[trunk]\nremote = \"origin\"\n[check]\ncommand = \"grep -q theirs shared && grep -q ours shared\"\n\
                        [[line]]\nname = \"adr\"\ntemplate = \"adr/{number}.md\"\n";
        seed.write(".signalbox.toml", settings);
        seed.write("adr/7.md", "");
        seed.commit("shared", "1\n2\n3\n4\n5\n6\n7\n8\n", "shared");
        seed.git(&["push", "-q"]);
        let path = world.path("clone");
        let filter = format!("--filter={filter}");
        work.git(&["clone", "-q", &filter, "work:remote", path.to_str().unwrap()]);
        let clone = world.tree(path);
        clone.ok(&["init"]);
        clone.git(&["switch", "-q", "-c", "feature"]);
        clone.commit("shared", "ours\n2\n3\n4\n5\n6\n7\n8\n", "ours");
        seed.write(".signalbox.toml", &format!("# Changed.\n{settings}"));
        seed.commit("shared", "1\n2\n3\n4\n5\n6\n7\ntheirs\n", "theirs");
        seed.git(&["push", "-q"]);
        let missing =
            |tree: &Tree| tree.git(&["rev-list", "--objects", "--all", "--missing=print"]).contains("\n?");
        clone.git(&["fetch", "-q"]);
        assert!(missing(&clone), "nothing is left out, so nothing is shown");
        assert_eq!(clone.ok(&["land", "--dry-run"]).code(), "dry_run");
        assert_eq!(clone.ok(&["mint", "adr"]).end()["first"], 8);
        assert_eq!(clone.ok(&["land"]).code(), "landed");
        let shared = remote.git(&["show", "main:shared"]);
        assert_eq!(shared, "ours\n2\n3\n4\n5\n6\n7\ntheirs");
        assert_eq!(clone.leftovers(), [""; 0]);
    }
}

#[test]
fn a_remote_that_answers_no_push_is_told_from_one_that_is_away_and_doctor_says_why() {
    let world = World::new();
    let remote = world.bare("remote.git");
    let clone = world.clone_of(&remote, "clone");
    clone.branch("feature");
    remote.git(&["config", "receive.advertiseAtomic", "false"]);
    let before = remote.git(&["for-each-ref"]);
    let end = refuses(&clone, &["init", "--no-check"], 20, "push_unanswered");
    assert_eq!(end["do"], "signalbox --json doctor");
    assert_eq!(remote.git(&["for-each-ref"]), before);
    let found = clone.run(&["doctor"]);
    let remedy = found.end()["do"].as_str().unwrap().to_owned();
    assert!(remedy.ends_with("config receive.advertiseAtomic true"), "{}", found.all());
    assert!(clone.command("sh").args(["-c", &remedy]).status().unwrap().success());
    clone.ok(&["init", "--no-check"]);
    assert_eq!(clone.ok(&["land", "feature"]).code(), "landed");
    // The same where it comes to that only after the box was claimed.
    clone.branch("second");
    remote.git(&["config", "receive.advertiseAtomic", "false"]);
    refuses(&clone, &["land", "second"], 20, "push_unanswered");
    assert_eq!(clone.leftovers(), [""; 0]);
    std::fs::rename(&remote.path, world.path("away")).unwrap();
    refuses(&clone, &["land", "second"], 20, "unreachable");
}
