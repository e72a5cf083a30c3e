//! What each call answers.

use crate::{Came, Model, entry, id};
use serde_json::{Value, json};

fn refused(status: u16, code: &str) -> Came {
    Came::Refused(status, code.to_owned())
}

fn stay(ticket: u64, entry: i64) -> Value {
    json!({ "ticket": id(ticket).as_str(), "entry": entry })
}

fn with(mut body: Value, name: &str, value: impl Into<Value>) -> Value {
    body[name] = value.into();
    body
}

#[test]
fn numbers_of_a_line_follow_each_other_without_a_gap() {
    let mut model = Model::new();
    assert_eq!(model.call("mint", json!({ "scope": "adr" })).answer()["last"], 1);
    let block = model.call("mint", json!({ "scope": "adr", "count": 3 })).answer();
    assert_eq!((block["first"].clone(), block["last"].clone()), (json!(2), json!(4)));
    assert_eq!(model.call("mint", json!({ "scope": "other" })).answer()["last"], 1);
}

#[test]
fn a_floor_lifts_a_new_line_anywhere_and_a_standing_one_only_so_far() {
    let mut model = Model::new();
    let mint = |model: &mut Model, floor: i64| model.call("mint", json!({ "scope": "a", "floor": floor }));
    assert_eq!(mint(&mut model, 1_000_000_000).answer()["last"], 1_000_000_001);
    let mut model = Model::new();
    assert_eq!(mint(&mut model, 0).answer()["last"], 1);
    assert_eq!(mint(&mut model, 1_002), refused(409, "floor_too_far"));
    assert_eq!(mint(&mut model, 1_001).answer()["last"], 1_002);
    assert_eq!(mint(&mut model, 5).answer()["last"], 1_003, "a floor never lowers");
    assert_eq!(mint(&mut model, 1_000_000_001), refused(400, "invalid_request"));
}

#[test]
fn a_block_has_at_most_as_many_numbers_as_the_limit() {
    let mut model = Model::new();
    assert_eq!(model.call("mint", json!({ "scope": "a", "count": 100 })).answer()["last"], 100);
    for count in [json!(101), json!(0), json!(-1), json!(1.0), json!("1"), Value::Null] {
        assert_eq!(
            model.call("mint", json!({ "scope": "a", "count": count })),
            refused(400, "invalid_request")
        );
    }
    assert_eq!(model.call("mint", json!({ "scope": "a" })).answer()["last"], 101);
}

#[test]
fn a_repeated_request_gets_the_same_answer_and_another_one_under_its_id_is_refused() {
    let mut model = Model::new();
    let mint = json!({ "scope": "a", "count": 2, "request": id(9).as_str() });
    let first = model.call("mint", mint.clone()).answer();
    assert_eq!(model.call("mint", json!({ "scope": "a" })).answer()["last"], 3);
    let before = model.slice.clone();
    assert_eq!(model.call("mint", mint.clone()).answer(), first);
    assert_eq!(model.slice, before, "a repeat changes nothing");
    assert_eq!(model.call("mint", with(mint.clone(), "count", 1)), refused(409, "request_reused"));
    assert_eq!(
        model.call("queue/enter", with(entry(2), "request", id(9).as_str())),
        refused(409, "request_reused")
    );
    model.now += model.limits.request_ms;
    assert_eq!(model.call("mint", mint).answer()["first"], 4, "after seven days it is forgotten");
}

#[test]
fn a_call_that_is_remembered_forgets_what_was_remembered_too_long_ago() {
    let mut model = Model::new();
    let mint = |request: u64| json!({ "scope": "a", "request": id(request).as_str() });
    model.call("mint", mint(1));
    model.now += 1;
    model.call("mint", mint(2));
    model.now += model.limits.request_ms;
    model.call("mint", mint(3));
    let requests = &model.slice.projects[&model.project].requests;
    assert_eq!(requests.keys().collect::<Vec<_>>(), [&id(2), &id(3)], "only the first is older than that");
}

#[test]
fn a_mint_that_was_refused_is_not_remembered() {
    let mut model = Model::new();
    model.call("mint", json!({ "scope": "a" }));
    let far = json!({ "scope": "a", "floor": 5_000, "request": id(9).as_str() });
    assert_eq!(model.call("mint", far.clone()), refused(409, "floor_too_far"));
    model.call("project/lift", json!({ "lines": [{ "scope": "a", "value": 4_500 }] }));
    assert_eq!(model.call("mint", far).answer()["last"], 5_001);
}

#[test]
fn the_first_that_enters_has_the_turn_and_the_next_follows_when_it_leaves() {
    let mut model = Model::new();
    let first = model.enter(1).answer();
    assert_eq!((&first["turn"], &first["position"], &first["turnNo"]), (&json!(true), &json!(0), &json!(1)));
    let second = model.enter(2).answer();
    assert_eq!((&second["turn"], &second["position"]), (&json!(false), &json!(1)));
    assert_eq!(second["ahead"][0]["branch"], "b1");
    let third = model.enter(3).answer();
    assert_eq!((&third["position"], third["ahead"].as_array().unwrap().len()), (&json!(2), 2));
    model.call("queue/leave", with(stay(1, 1), "outcome", "landed")).answer();
    assert_eq!(model.call("queue/renew", stay(2, 2)).answer()["turnNo"], 2);
    let list = model.call("queue/list", json!({})).answer();
    assert_eq!(list["ended"][0]["outcome"], "landed");
    assert_eq!(list["tickets"].as_array().unwrap().len(), 2);
}

#[test]
fn entering_again_while_live_keeps_the_place_and_another_head_is_refused() {
    let mut model = Model::new();
    model.enter(1);
    let place = model.enter(2).answer();
    assert_eq!(model.enter(2).answer()["entry"], place["entry"]);
    let other = with(entry(2), "head", "b".repeat(40));
    assert_eq!(model.call("queue/enter", other.clone()), refused(409, "ticket_taken"));
    model.now += 300_000;
    assert_eq!(model.call("queue/enter", other).answer()["entry"], 3, "lapsed: a new stay at the end");
}

#[test]
fn a_lease_ends_at_its_edge_and_the_turn_goes_to_the_next() {
    let mut model = Model::new();
    model.enter(1);
    model.now += 299_999;
    model.enter(2);
    assert_eq!(model.call("queue/renew", stay(2, 2)).answer()["turn"], false);
    model.now += 1;
    assert_eq!(model.call("queue/renew", stay(1, 1)), refused(409, "ticket_gone"));
    assert_eq!(model.call("queue/renew", stay(2, 2)).answer()["turn"], true);
    assert_eq!(model.call("queue/list", json!({})).answer()["ended"][0]["outcome"], "lapsed");
}

#[test]
fn a_turn_ends_at_its_edge_however_often_it_is_renewed() {
    let mut model = Model::new();
    model.enter(1);
    model.enter(2);
    let end = model.now + 5_400_000;
    while model.now + 60_000 < end {
        model.now += 60_000;
        assert_eq!(model.call("queue/renew", stay(1, 1)).answer()["turn"], true);
        assert_eq!(model.call("queue/renew", stay(2, 2)).answer()["turn"], false);
    }
    model.now = end - 1;
    assert_eq!(model.call("queue/renew", stay(1, 1)).answer()["turnUntil"], end);
    model.now = end;
    assert_eq!(model.call("queue/renew", stay(1, 1)), refused(409, "ticket_gone"));
    assert_eq!(model.call("queue/renew", stay(2, 2)).answer()["turnNo"], 2);
}

#[test]
fn a_ticket_ends_by_age_and_entering_sweeps_it_into_the_register() {
    let mut model = Model::new();
    model.slice.spans.turn = i64::MAX / 2;
    model.enter(1);
    let end = model.now + 604_800_000;
    while model.now + 200_000 < end {
        model.now += 200_000;
        assert_eq!(model.call("queue/renew", stay(1, 1)).answer()["turn"], true);
    }
    model.now = end - 1;
    assert_eq!(model.call("queue/renew", stay(1, 1)).answer()["turn"], true);
    model.now = end;
    assert_eq!(model.call("queue/renew", stay(1, 1)), refused(409, "ticket_gone"));
    model.enter(2);
    let ended = model.call("queue/list", json!({})).answer();
    assert_eq!(
        (&ended["ended"][0]["ticket"], &ended["ended"][0]["outcome"]),
        (&json!(id(1).as_str()), &json!("lapsed"))
    );
}

#[test]
fn the_queue_has_room_for_so_many_and_no_more() {
    let mut model = Model::new();
    for ticket in 1..=200 {
        model.enter(ticket).answer();
    }
    let before = model.slice.clone();
    assert_eq!(model.enter(201), refused(409, "queue_full"));
    assert_eq!(model.slice, before);
    model.enter(200).answer();
    model.call("queue/leave", with(stay(7, 7), "outcome", "withdrawn")).answer();
    assert_eq!(model.enter(201).answer()["position"], 199);
}

#[test]
fn a_wait_is_answered_by_the_turn_by_its_end_or_by_the_loss_of_the_place() {
    let mut model = Model::new();
    model.enter(1);
    model.enter(2);
    let body = json!({ "project": model.project.as_str(), "ticket": id(2).as_str(), "entry": 2, "timeoutMs": 1_000 });
    let mut call =
        landing::Call::parse("queue/wait", body.to_string().as_bytes(), model.now, &model.limits).unwrap();
    assert_eq!(model.ask(&call, model.now), Came::Waits(model.now + 1_000));
    call.asked = true;
    let touched = model.slice.projects[&model.project].tickets[1].touched_at;
    assert_eq!(touched, model.now, "it counts as a renewal");
    model.now += 999;
    assert!(matches!(model.ask(&call, model.now), Came::Waits(_)));
    assert_eq!(model.slice.projects[&model.project].tickets[1].touched_at, touched, "asking again does not");
    model.now += 1;
    assert_eq!(model.ask(&call, model.now).answer()["turn"], false);
    model.call("queue/leave", with(stay(1, 1), "outcome", "landed"));
    assert_eq!(model.ask(&call, model.now).answer()["turn"], true);
    model.now += 300_000;
    assert_eq!(model.ask(&call, model.now), refused(409, "ticket_gone"));
}

#[test]
fn a_wait_is_asked_again_at_the_first_lapse() {
    let mut model = Model::new();
    let lapse = model.now + 300_000;
    model.enter(1);
    model.now += 290_000;
    model.enter(2);
    let waits = model.call("queue/wait", stay(2, 2));
    assert_eq!(waits, Came::Waits(lapse), "not at the end of its own 55 seconds");
}

#[test]
fn who_follows_the_queue_hears_of_entries_steps_lapses_and_leaves() {
    let mut model = Model::new();
    let mark =
        |model: &mut Model| model.call("queue/list", json!({})).answer()["mark"].as_str().unwrap().to_owned();
    let mut seen = mark(&mut model);
    let mut moved = |model: &mut Model| {
        let now = mark(model);
        std::mem::replace(&mut seen, now.clone()) != now
    };
    assert!(!moved(&mut model));
    model.enter(1);
    assert!(moved(&mut model));
    model.call("queue/renew", stay(1, 1));
    assert!(!moved(&mut model), "a renewal is nothing to see");
    model.call("queue/renew", with(stay(1, 1), "step", "checking"));
    assert!(moved(&mut model));
    let after = mark(&mut model);
    assert!(matches!(model.call("queue/list", json!({ "after": after })), Came::Waits(_)));
    model.now += 300_000;
    assert!(moved(&mut model), "a lapse that nobody has written down");
    assert!(
        model.call("queue/list", json!({ "after": after })).answer()["tickets"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn every_counter_of_a_project_only_grows() {
    let mut model = Model::new();
    let mut before = landing::State::default();
    for number in 1..=3 {
        for (call, body) in [
            ("queue/enter", entry(1)),
            ("queue/renew", with(stay(1, number), "step", format!("step {number}"))),
            ("hold/open", json!({ "name": "n", "paths": ["a"], "owner": "o", "until": model.now + 9 })),
            ("hold/close", json!({ "name": "n", "owner": "o" })),
            ("queue/leave", with(stay(1, number), "outcome", "landed")),
        ] {
            model.now += 1;
            model.call(call, body).answer();
            let now = model.slice.projects[&model.project].state;
            assert!(now.mark > before.mark, "{call}: whoever follows sees a mark that it never saw");
            assert!(now.time > before.time && now.entry >= before.entry && now.turn_no >= before.turn_no);
            before = now;
        }
    }
    assert_eq!((before.entry, before.turn_no), (3, 3));
}

#[test]
fn a_projects_time_never_runs_backwards_so_a_slow_clock_revives_nobody() {
    let mut model = Model::new();
    model.enter(1);
    let hour_ahead = model.now + 3_600_000;
    assert_eq!(model.call_at("queue/enter", entry(2), hour_ahead).answer()["turn"], true);
    assert_eq!(model.call("queue/renew", stay(1, 1)), refused(409, "ticket_gone"));
    assert_eq!(model.call("queue/renew", stay(2, 2)).answer()["touchedAt"], hour_ahead);
}

#[test]
fn a_lift_raises_never_lowers_and_takes_the_turn_from_whoever_has_an_older_one() {
    let mut model = Model::new();
    model.enter(1);
    model.call("mint", json!({ "scope": "a", "count": 10 }));
    let stands =
        model.call("project/lift", json!({ "turnNo": 0, "lines": [{ "scope": "a", "value": 5 }] })).answer();
    assert_eq!(stands, json!({ "turnNo": 1, "lines": [{ "scope": "a", "value": 10 }] }));
    assert_eq!(model.call("queue/renew", stay(1, 1)).answer()["turn"], true);
    model.call("project/lift", json!({ "turnNo": 70, "lines": [{ "scope": "a", "value": 5_000 }] }));
    assert_eq!(model.call("queue/renew", stay(1, 1)), refused(409, "ticket_gone"));
    assert_eq!(model.enter(2).answer()["turnNo"], 71);
    assert_eq!(model.call("mint", json!({ "scope": "a" })).answer()["last"], 5_001);
}

#[test]
fn a_lift_to_zero_reads_a_line_and_makes_none() {
    let mut model = Model::new();
    let read = json!({ "lines": [{ "scope": "a", "value": 0 }] });
    assert_eq!(model.call("project/lift", read.clone()).answer()["lines"][0]["value"], 0);
    let far = json!({ "scope": "a", "floor": 5_000 });
    assert_eq!(model.call("mint", far).answer()["last"], 5_001, "it takes any floor still");
    assert_eq!(model.call("project/lift", read).answer()["lines"][0]["value"], 5_001);
}

#[test]
fn a_refusal_names_the_member_and_the_rule_and_never_the_value() {
    let model = Model::new();
    let value = "Secret-Value-That-Is-Long";
    for (call, member) in [("mint", "scope"), ("queue/enter", "ticket"), ("queue/leave", "outcome")] {
        let mut body = entry(1);
        body["entry"] = json!(1);
        body["project"] = model.project.as_str().into();
        if call == "mint" {
            body = json!({ "project": model.project.as_str() });
        } else if call == "queue/leave" {
            body = with(stay(1, 1), "project", model.project.as_str());
        } else {
            body.as_object_mut().unwrap().remove("entry");
        }
        body[member] = json!(value);
        let call = landing::Call::parse(call, body.to_string().as_bytes(), 0, &model.limits).unwrap();
        let refusal = call.verb.unwrap_err();
        assert_eq!(refusal.code, kernel::Code::InvalidRequest);
        assert!(refusal.detail.starts_with(member), "{}", refusal.detail);
        assert!(!refusal.detail.contains(value), "{}", refusal.detail);
    }
}

#[test]
fn a_member_that_is_unknown_or_repeated_is_named_where_its_name_is_a_plain_word() {
    let model = Model::new();
    let project = model.project.as_str();
    let detail = |members: &str| {
        let body = format!("{{\"project\":\"{project}\",\"scope\":\"a\",{members}}}");
        let call = landing::Call::parse("mint", body.as_bytes(), 0, &model.limits);
        call.and_then(|call| call.verb).unwrap_err().detail.into_owned()
    };
    assert!(detail("\"scop\":1").starts_with("scop is no member of mint; send only project, scope,"));
    assert!(detail(&format!("\"{project}\":1")).starts_with("something is no member of mint;"));
    assert_eq!(detail("\"scope\":\"b\""), "scope is repeated; send each member once");
    assert_eq!(
        detail(&format!("\"{project}\":1,\"{project}\":1")),
        "a member is repeated; send each member once"
    );
}

#[test]
fn hostile_bodies_are_refused_before_any_lock() {
    let model = Model::new();
    let parse = |call: &str, body: &[u8]| {
        landing::Call::parse(call, body, 0, &model.limits)
            .map(|_| ())
            .map_err(|r| (r.code.status(), r.code.as_str()))
    };
    let invalid = Err((400, "invalid_request"));
    let project = model.project.as_str();
    for body in ["", "[]", "null", "{", "{}", "{\"project\":null}", "{\"project\":1}", "\u{feff}{}"] {
        assert_eq!(parse("mint", body.as_bytes()), invalid, "{body}");
    }
    let upper = project.to_uppercase().replace("00000000-", "ABCDEF00-");
    assert_eq!(parse("mint", json!({ "project": upper, "scope": "a" }).to_string().as_bytes()), invalid);
    assert_eq!(parse("mint", format!("{{\"project\":\"{project}\",\"scope\":\"a\"}} x").as_bytes()), invalid);
    assert_eq!(parse("queue/dance", b"{}"), Err((404, "unknown_call")));
    let mut long = json!({ "project": project, "scope": "a" }).to_string();
    long.push_str(&" ".repeat(model.limits.body_bytes_max - long.len()));
    assert_eq!(parse("mint", long.as_bytes()), Ok(()));
    long.push(' ');
    assert_eq!(parse("mint", long.as_bytes()), Err((413, "body_too_large")));
}

#[test]
fn unknown_null_and_malformed_members_are_refused_and_change_nothing() {
    let mut model = Model::new();
    model.enter(1);
    let before = model.slice.clone();
    let invalid = refused(400, "invalid_request");
    for (call, body) in [
        ("mint", json!({ "scope": "a", "extra": 1 })),
        ("mint", json!({ "scope": "A" })),
        ("mint", json!({ "scope": "a", "floor": -1 })),
        ("mint", json!({ "scope": "a", "request": "x" })),
        ("queue/renew", with(stay(1, 1), "request", id(3).as_str())),
        ("queue/renew", stay(1, 0)),
        ("queue/wait", with(stay(1, 1), "timeoutMs", 55_001)),
        ("queue/leave", with(stay(1, 1), "outcome", "lapsed")),
        ("queue/leave", with(with(stay(1, 1), "outcome", "held"), "report", json!({ "reason": "a\nb" }))),
        ("queue/leave", with(with(stay(1, 1), "outcome", "landed"), "report", json!({ "more": 1 }))),
        (
            "queue/leave",
            with(with(stay(1, 1), "outcome", "landed"), "report", json!({ "files": ["x".repeat(3_000)] })),
        ),
        ("queue/enter", with(entry(2), "branch", "a..b")),
        ("queue/enter", with(entry(2), "head", "A".repeat(40))),
        ("queue/enter", with(entry(2), "label", "")),
        ("queue/enter", with(entry(2), "label", "a\u{7}")),
        ("queue/enter", with(entry(2), "label", "x".repeat(201))),
        ("queue/enter", with(entry(2), "step", Value::Null)),
        ("project/lift", json!({ "lines": [{ "scope": "a" }] })),
    ] {
        assert_eq!(model.call(call, body.clone()), invalid, "{call} {body}");
    }
    assert_eq!(model.slice, before);
}
