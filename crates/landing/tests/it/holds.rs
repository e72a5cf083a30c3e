//! Holds, freezes, and replaced projects.

use crate::{Came, Model, entry, id};
use serde_json::{Value, json};

fn refused(status: u16, code: &str) -> Came {
    Came::Refused(status, code.to_owned())
}

fn open(model: &mut Model, name: &str, owner: &str) -> Came {
    let until = model.now + 1_000;
    model.call("hold/open", json!({ "name": name, "paths": ["api/"], "owner": owner, "until": until }))
}

fn close(model: &mut Model, name: &str, owner: &str) -> Came {
    model.call("hold/close", json!({ "name": name, "owner": owner }))
}

fn freeze(model: &mut Model, issue: &str, admissions: &[&str]) -> Came {
    model.call("freeze/open", json!({ "issue": issue, "opener": "op", "admissions": admissions }))
}

fn renew(model: &mut Model, ticket: u64, entry: i64) -> Value {
    model.call("queue/renew", json!({ "ticket": id(ticket).as_str(), "entry": entry })).answer()
}

#[test]
fn a_hold_is_open_until_its_end_and_its_owner_may_replace_it() {
    let mut model = Model::new();
    let first = open(&mut model, "release", "a").answer();
    assert_eq!((&first["landing"], &first["paths"]), (&Value::Null, &json!(["api/"])));
    assert_eq!(open(&mut model, "release", "b"), refused(409, "hold_taken"));
    model.now += 500;
    let again = open(&mut model, "release", "a").answer();
    assert_eq!((&again["openedAt"], &again["until"]), (&first["openedAt"], &json!(model.now + 1_000)));
    model.now += 999;
    assert_eq!(model.call("hold/list", json!({})).answer()["holds"].as_array().unwrap().len(), 1);
    model.now += 1;
    assert_eq!(model.call("hold/list", json!({})).answer()["holds"], json!([]));
    assert_eq!(close(&mut model, "release", "a"), refused(409, "hold_gone"));
    assert_eq!(open(&mut model, "release", "b").answer()["owner"], "b", "an ended one is in nobody's way");
}

#[test]
fn opening_a_hold_clears_away_so_many_that_ended_the_earliest_end_first() {
    let mut model = Model::new();
    model.limits.sweep_max = 2;
    let now = model.now;
    for (name, until) in [("late", now + 30), ("early", now + 10), ("next", now + 20), ("open", now + 9_000)]
    {
        let body = json!({ "name": name, "paths": ["a"], "owner": "o", "until": until });
        model.call("hold/open", body).answer();
    }
    model.now += 30;
    open(&mut model, "fresh", "o").answer();
    let names =
        |model: &Model| model.slice.projects[&model.project].holds.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&model), ["fresh", "late", "open"]);
    open(&mut model, "fresh", "o").answer();
    assert_eq!(names(&model), ["fresh", "open"], "at its end a hold has ended");
}

#[test]
fn a_hold_is_closed_by_its_name_and_owner_only() {
    let mut model = Model::new();
    open(&mut model, "release", "a");
    assert_eq!(close(&mut model, "release", "b"), refused(409, "hold_gone"));
    assert_eq!(close(&mut model, "other", "a"), refused(409, "hold_gone"));
    assert_eq!(close(&mut model, "release", "a").answer(), json!({ "closed": true }));
}

#[test]
fn a_hold_lasts_at_most_a_day_and_never_ends_in_the_past() {
    let mut model = Model::new();
    let at = |model: &mut Model, until: i64| {
        model.call("hold/open", json!({ "name": "n", "paths": ["a"], "owner": "o", "until": until }))
    };
    let now = model.now;
    assert_eq!(at(&mut model, now), refused(400, "invalid_request"));
    assert_eq!(at(&mut model, now + 86_400_001), refused(400, "invalid_request"));
    at(&mut model, now + 1).answer();
    at(&mut model, now + 86_400_000).answer();
}

#[test]
fn there_is_room_for_so_many_holds_in_a_project_and_in_all() {
    let mut model = Model::new();
    for n in 0..20 {
        open(&mut model, &format!("h{n}"), "a").answer();
    }
    assert_eq!(open(&mut model, "more", "a"), refused(409, "holds_full"));
    open(&mut model, "h3", "a").answer();
    close(&mut model, "h3", "a").answer();
    open(&mut model, "more", "a").answer();
    for project in 2..=100 {
        model.project = id(project);
        for n in 0..20 {
            open(&mut model, &format!("h{n}"), "a").answer();
        }
    }
    model.project = id(101);
    assert_eq!(open(&mut model, "more", "a"), refused(409, "holds_full"));
    model.now += 1_000;
    open(&mut model, "more", "a").answer();
}

#[test]
fn paths_of_a_hold_stay_inside_the_repository() {
    let mut model = Model::new();
    let mut with = |paths: Value| {
        let until = model.now + 1_000;
        let came =
            model.call("hold/open", json!({ "name": "n", "paths": paths, "owner": "o", "until": until }));
        !matches!(came, Came::Refused(400, _))
    };
    for good in [
        json!(["a"]),
        json!(["a/b/"]),
        json!(["a b", "ü/é"]),
        json!(vec!["x"; 64]),
        json!(["x".repeat(4_096)]),
    ] {
        assert!(with(good.clone()), "{good}");
    }
    for bad in [
        json!([]),
        json!(["/a"]),
        json!(["a//b"]),
        json!(["./a"]),
        json!(["a/.."]),
        json!(["/"]),
        json!([""]),
        json!(["a\\b"]),
        json!(["a\nb"]),
        json!([1]),
        json!("a"),
        json!(vec!["x"; 65]),
        json!(["x".repeat(4_097)]),
        json!(["x".repeat(2_048), "y".repeat(2_049)]),
    ] {
        assert!(!with(bad.clone()), "{bad}");
    }
}

#[test]
fn opening_a_hold_tells_who_is_landing_now_and_the_holder_sees_it_when_it_renews() {
    let mut model = Model::new();
    model.enter(1);
    assert_eq!(open(&mut model, "release", "a").answer()["landing"]["branch"], "b1");
    let seen = renew(&mut model, 1, 1);
    assert_eq!((&seen["holds"][0]["name"], &seen["freeze"]), (&json!("release"), &Value::Null));
    model.enter(2);
    assert!(renew(&mut model, 2, 2).get("holds").is_none(), "only the holder is told");
}

#[test]
fn under_a_freeze_only_what_it_admits_gets_a_turn_and_the_others_keep_their_places() {
    let mut model = Model::new();
    model.enter(1);
    freeze(&mut model, "I-1", &["b3"]).answer();
    assert_eq!(renew(&mut model, 1, 1)["turn"], true, "a turn that has begun is not taken away");
    let waits = model.enter(2).answer();
    assert_eq!((&waits["blocked"]["issues"], &waits["position"]), (&json!(["I-1"]), &json!(1)));
    assert_eq!(model.enter(3).answer()["blocked"], Value::Null);
    model.call("queue/leave", json!({ "ticket": id(1).as_str(), "entry": 1, "outcome": "landed" }));
    assert_eq!(renew(&mut model, 3, 3)["turnNo"], 2);
    assert_eq!(renew(&mut model, 2, 2)["position"], 1);
    assert_eq!(model.call("freeze/close", json!({ "issues": ["I-2"] })), refused(409, "freeze_serves_more"));
    model.call("freeze/close", json!({ "issues": ["I-1"] })).answer();
    model.call("queue/leave", json!({ "ticket": id(3).as_str(), "entry": 3, "outcome": "landed" }));
    assert_eq!(renew(&mut model, 2, 2)["turn"], true);
}

#[test]
fn an_admission_may_be_one_commit_of_a_branch() {
    let mut model = Model::new();
    let head = "a".repeat(40);
    freeze(&mut model, "I-1", &[&format!("b1@{head}")]).answer();
    let other = json!({ "ticket": id(2).as_str(), "branch": "b1", "head": "b".repeat(40), "label": "l" });
    assert_eq!(model.call("queue/enter", other).answer()["turn"], false, "another commit of the branch");
    let alike = json!({ "ticket": id(3).as_str(), "branch": "b11", "head": head, "label": "l" });
    assert_eq!(model.call("queue/enter", alike).answer()["turn"], false, "a name that looks alike");
    assert_eq!(model.enter(1).answer()["turn"], true);
}

#[test]
fn a_freeze_that_holds_no_turns_is_a_plain_record() {
    let mut model = Model::new();
    model.slice.spans.freeze_holds_turns = false;
    freeze(&mut model, "I-1", &["hotfix"]).answer();
    let first = model.enter(1).answer();
    assert_eq!((&first["turn"], &first["blocked"]), (&json!(true), &Value::Null));
    assert_eq!(model.call("queue/list", json!({})).answer()["freeze"]["issues"], json!(["I-1"]));
}

#[test]
fn a_freeze_gathers_issues_and_admissions_up_to_its_limit() {
    let mut model = Model::new();
    assert_eq!(model.call("freeze/close", json!({ "issues": ["I-1"] })), refused(409, "freeze_gone"));
    let first: Vec<String> = (0..32).map(|n| format!("h{n}")).collect();
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    freeze(&mut model, "I-1", &first).answer();
    assert_eq!(freeze(&mut model, "I-2", &["more"]), refused(409, "freeze_full"));
    let both = freeze(&mut model, "I-2", &["h0"]).answer();
    assert_eq!((&both["issues"], both["admissions"].as_array().unwrap().len()), (&json!(["I-1", "I-2"]), 32));
    for issue in ["", "a b", "a,b", &"x".repeat(101)] {
        assert_eq!(freeze(&mut model, issue, &[]), refused(400, "invalid_request"));
    }
    model.call("freeze/close", json!({ "issues": ["I-2", "I-3", "I-1"] })).answer();
}

#[test]
fn a_replaced_project_carries_its_numbers_holds_freeze_and_turn_counter_over() {
    let mut model = Model::new();
    model.call("mint", json!({ "scope": "adr", "count": 7 }));
    model.enter(1);
    open(&mut model, "release", "a");
    freeze(&mut model, "I-1", &["b5"]);
    let old = model.project.clone();
    let replace = |model: &mut Model, to: u64| {
        let body = json!({ "project": id(1).as_str(), "replacement": id(to).as_str() });
        model.call("project/replace", body)
    };
    assert_eq!(replace(&mut model, 2).answer(), json!({ "replaced": true }));
    let before = model.slice.clone();
    assert_eq!(replace(&mut model, 2).answer(), json!({ "replaced": true }));
    assert_eq!(model.slice, before, "repeating it changes nothing");
    assert_eq!(replace(&mut model, 3), refused(409, "replacement_taken"));
    assert_eq!(model.call("mint", json!({ "scope": "BAD" })), refused(410, "project_retired"));
    assert_eq!(model.slice.projects[&old].ended[0].outcome, landing::Outcome::Withdrawn);
    model.project = id(2);
    assert_eq!(model.call("mint", json!({ "scope": "adr" })).answer()["last"], 8);
    let list = model.call("hold/list", json!({})).answer();
    assert_eq!((&list["holds"][0]["name"], &list["freeze"]["issues"]), (&json!("release"), &json!(["I-1"])));
    assert_eq!(model.call("queue/enter", entry(5)).answer()["turnNo"], 2);
}

#[test]
fn a_replacements_time_begins_at_the_clock_and_leaves_one_that_was_ahead_behind() {
    let mut model = Model::new();
    let hours_ahead = model.now + 36_000_000;
    model.call_at("queue/enter", entry(1), hours_ahead).answer();
    assert_eq!(model.call("queue/enter", entry(2)).answer()["enteredAt"], hours_ahead, "never backwards");
    let until = model.now + 1_000;
    let hold = json!({ "name": "n", "paths": ["a"], "owner": "o", "until": until });
    assert_eq!(
        model.call("hold/open", hold.clone()),
        refused(400, "invalid_request"),
        "it has ended by then"
    );
    let body = json!({ "project": id(1).as_str(), "replacement": id(2).as_str() });
    model.call("project/replace", body).answer();
    model.project = id(2);
    assert_eq!(model.enter(3).answer()["enteredAt"], model.now);
    assert_eq!(model.call("hold/open", hold).answer()["until"], until);
}

#[test]
fn a_replacement_must_be_fresh() {
    let mut model = Model::new();
    model.call("mint", json!({ "scope": "a" }));
    model.project = id(2);
    model.call("mint", json!({ "scope": "a" }));
    let replace = |model: &mut Model, from: u64, to: u64| {
        let body = json!({ "project": id(from).as_str(), "replacement": id(to).as_str() });
        model.call("project/replace", body)
    };
    let before = model.slice.clone();
    assert_eq!(replace(&mut model, 1, 2), refused(409, "replacement_taken"));
    assert_eq!(replace(&mut model, 1, 1), refused(409, "replacement_taken"));
    assert_eq!(model.slice, before);
    replace(&mut model, 1, 3).answer();
    assert_eq!(replace(&mut model, 2, 1), refused(409, "replacement_taken"), "a retired id");
    assert_eq!(replace(&mut model, 3, 4).answer(), json!({ "replaced": true }), "one after the other");
}
