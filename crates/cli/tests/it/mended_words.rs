//! What cannot be understood is a refusal like any other, for programs too.

use crate::harness::World;
use crate::words::columns;

#[test]
fn words_that_cannot_be_understood_are_refused_in_one_object_that_names_what_is_wrong() {
    let world = World::new();
    let repo = world.repo("r");
    for (typed, exit, wrong) in [
        ("", 2, "subcommand"),
        ("hold", 2, "subcommand"),
        ("freeze", 2, "subcommand"),
        ("hook", 2, "subcommand"),
        ("project", 2, "subcommand"),
        ("hold open", 2, "<NAME>"),
        ("hold open", 2, "<PATHS>"),
        ("mint", 2, "<LINE>"),
        ("run", 125, "<COMMAND>"),
        ("run --", 125, "<COMMAND>"),
        ("--state elsewhere run", 125, "<COMMAND>"),
        ("--state=elsewhere run", 125, "<COMMAND>"),
        ("--state run mint", 2, "<LINE>"),
        ("land --nope", 2, "--nope"),
    ] {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let done = repo.run(&words);
        assert_eq!((done.exit, done.events.len()), (Some(exit), 1), "{typed}: {}", done.all());
        assert_eq!((done.code(), &done.end()["exit"]), ("usage", &exit.into()), "{typed}: {}", done.all());
        let detail = done.end()["detail"].as_str().unwrap();
        assert!(detail.contains(wrong) && columns(detail) <= 100, "{typed}: {detail}");
    }
    let (exit, out, err) = repo.people(&["hold"]);
    assert_eq!((exit, out.as_str()), (2, ""));
    assert!(err.contains("open") && err.contains("close"), "people read which there are: {err}");
}

#[test]
fn an_empty_variable_for_the_state_is_one_that_is_not_set() {
    let world = World::new();
    let repo = world.repo("r").env("SIGNALBOX_STATE", "");
    assert_eq!(repo.ok(&["init", "--no-check"]).code(), "ready");
    assert!(repo.state().join("state.db").exists());
    repo.ok(&["queue"]);
}
