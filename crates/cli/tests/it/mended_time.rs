//! A clock that was once ahead is seen, and said what to do about.

use crate::harness::{Done, World};

fn warnings(done: &Done) -> Vec<&str> {
    let warnings = done.events.iter().filter(|event| event["event"] == "warning");
    warnings.filter_map(|event| event["text"].as_str()).collect()
}

#[test]
fn a_project_whose_time_is_ahead_of_the_clock_says_so_and_what_to_do() {
    const HOURS: i64 = 36_000_000;
    let world = World::with_clock();
    let repo = world.repo("r");
    repo.ok(&["init", "--no-check"]);
    for branch in ["first", "second", "third"] {
        repo.branch(branch);
    }
    assert_eq!(warnings(&repo.ok(&["land", "first"])), [""; 0]);
    world.advance(HOURS);
    repo.ok(&["land", "second"]);
    assert_eq!(warnings(&repo.ok(&["queue"])), [""; 0], "the clock itself is there");
    world.advance(-HOURS);
    for done in [repo.ok(&["queue"]), repo.ok(&["land", "third"])] {
        let [warning] = warnings(&done)[..] else { panic!("{}", done.all()) };
        assert!(warning.contains("10 h ahead") && warning.contains("signalbox project replace"), "{warning}");
    }
    let (exit, out, err) = repo.people(&["queue"]);
    assert_eq!((exit, out.as_str()), (0, "nobody is in the queue of main\n"));
    assert!(err.starts_with("warning  the project's time is 10 h ahead"), "{err}");
    let held = repo.run(&["hold", "open", "release", "api/", "--for", "2h"]);
    assert_eq!((held.exit, held.code()), (Some(2), "invalid_request"), "{}", held.all());
    assert!(held.all().contains("signalbox project replace"), "{}", held.all());
}
