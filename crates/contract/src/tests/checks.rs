//! What is spoiled in the list is found.

use super::{found, spoiled};
use crate::list::List;
use crate::{Facts, LIST, check};
use serde_json::{Value, json};

/// Puts a case at the end of the list.
fn with_case(list: &mut Value, case: Value) {
    list["cases"].as_array_mut().unwrap().push(case);
}

/// Finds something wrong with a case of these steps.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "every caller makes it on the spot")]
fn found_in_steps(says: &str, steps: Value) {
    found(says, |list| with_case(list, json!({ "name": "a spoiled one", "steps": steps })));
}

fn keep_cases(list: &mut Value, keep: impl FnMut(&Value) -> bool) {
    list["cases"].as_array_mut().unwrap().retain(keep);
}

/// The steps of a case, those of its loops too.
fn steps(of: &Value) -> Vec<&Value> {
    let inner = of["steps"].as_array().into_iter().flatten();
    inner.flat_map(|step| std::iter::once(step).chain(steps(step))).collect()
}

#[test]
fn the_list_as_it_stands_has_nothing_wrong_with_it() {
    assert_eq!(spoiled(|_| {}), Vec::<String>::new());
}

#[test]
fn an_unknown_member_is_found_wherever_it_stands() {
    found("the list has an unknown member more", |list| list["more"] = json!(1));
    found("calls: mint has an unknown member more", |list| list["calls"]["mint"]["more"] = json!(1));
    found("codes: busy has an unknown member more", |list| list["codes"]["busy"]["more"] = json!(1));
    found("has an unknown member more", |list| list["cases"][0]["more"] = json!(1));
    found("has an unknown member more", |list| list["cases"][0]["steps"][0]["more"] = json!(1));
    found("has an unknown member more", |list| list["cases"][0]["steps"][0]["expect"]["more"] = json!(1));
    found("has an unknown member more", |list| list["cases"][0]["settings"] = json!({ "more": 1 }));
}

#[test]
fn a_repeated_member_of_the_list_is_found() {
    let twice = LIST.replacen("\"constants\": {", "\"constants\": { \"leaseMs\": 1,", 1);
    assert!(List::read(twice.as_bytes()).unwrap_err().contains("Repeated"));
    found("the constant leaseMs stands twice", |list| list["ownConstants"]["leaseMs"] = json!(1));
}

#[test]
fn an_unknown_tag_setting_kind_or_giver_is_found() {
    found("there is no tag fast", |list| list["cases"][0]["tags"] = json!(["fast"]));
    found("there is no such kind of step", |list| list["cases"][0]["steps"][0] = json!({ "sleep": 1 }));
    found("is by nobody known", |list| list["codes"]["busy"]["by"] = json!("chance"));
    found("neither required nor optional", |list| {
        list["calls"]["mint"]["members"]["scope"] = json!("maybe");
    });
    found("is no hex", |list| {
        list["cases"][0]["steps"][0] =
            json!({ "call": "mint", "raw": [{ "$hex": "f" }], "expect": { "status": 200 } });
    });
}

#[test]
fn two_cases_of_one_name_and_too_few_cases_are_found() {
    found("two cases are called", |list| {
        let first = list["cases"][0].clone();
        with_case(list, first);
    });
    found("there are 119 cases", |list| list["cases"].as_array_mut().unwrap().truncate(119));
}

#[test]
fn a_step_that_expects_nothing_is_found() {
    found_in_steps("expects nothing", json!([{ "call": "mint" }]));
    found_in_steps("neither a status nor a code", json!([{ "call": "mint", "expect": {} }]));
    let both = json!({ "status": 409, "code": "ticket_gone" });
    found_in_steps("beside a code", json!([{ "call": "mint", "expect": both }]));
    found_in_steps(
        "says something else",
        json!([{ "call": "mint", "expect": { "code": "invalid_request" } }]),
    );
    found_in_steps("only a refusal", json!([{ "call": "mint", "expect": { "status": 200, "says": ["x"] } }]));
}

#[test]
fn a_case_in_which_no_step_can_fail_is_found() {
    found_in_steps("there are no steps", json!([]));
    found_in_steps("no step expects more than a status", json!([{ "advance": 1 }]));
    found_in_steps(
        "no step expects more than a status",
        json!([{ "call": "mint", "expect": { "status": 200 } }]),
    );
}

#[test]
fn names_that_mean_nothing_are_found() {
    let has = |value: Value| json!({ "status": 200, "has": { "first": value } });
    found_in_steps("nothing is named nobody", json!([{ "call": "mint", "expect": has(json!("${nobody}")) }]));
    found_in_steps("nothing is named i", json!([{ "advance": "${i}" }]));
    found_in_steps(
        "nothing uses first",
        json!([{ "call": "mint", "expect": { "status": 200, "bind": { "first": "first" } } }]),
    );
    found_in_steps(
        "nothing uses a",
        json!([{ "call": "mint", "as": "a", "expect": { "code": "ticket_gone" } }]),
    );
    found_in_steps("no earlier step is called a", json!([{ "repeat": "a" }]));
    found_in_steps("the table has no code odd", json!([{ "call": "mint", "expect": { "code": "odd" } }]));
    found_in_steps(
        "the table has no call odd",
        json!([{ "call": "odd", "expect": { "code": "ticket_gone" } }]),
    );
    let member = json!({ "code": "invalid_request", "member": "paths" });
    found_in_steps("mint has no member paths", json!([{ "call": "mint", "expect": member }]));
    found("there is no constant odd", |list| list["cases"][0]["edges"] = json!(["odd"]));
    found("there is no constant odd", |list| list["noEdge"]["odd"] = json!("why"));
}

#[test]
fn a_wait_that_nobody_asks_after_is_found() {
    found_in_steps("nobody asks what w was answered", json!([{ "call": "queue/wait", "waits": "w" }]));
    let status = json!({ "status": 200 });
    found_in_steps("nothing waits as w", json!([{ "answers": "w", "expect": status }]));
    found_in_steps("nothing waits as w", json!([{ "waiting": ["w"] }]));
    found_in_steps("no copy is sent", json!([{ "call": "mint", "copies": 0, "expect": status }]));
    found_in_steps("has no other label", json!([{ "call": "queue/wait", "waits": "w", "as": "a" }]));
    let twice = json!({ "call": "mint", "as": "a", "expect": status });
    found_in_steps("two steps are called a", json!([twice, twice]));
    let inner = json!([{ "times": 2, "steps": [{ "advance": 1 }] }]);
    found_in_steps("counts by another name", json!([{ "times": 2, "steps": inner }]));
}

#[test]
fn a_plain_case_that_speaks_to_the_transport_is_found() {
    let step =
        json!({ "http": "GET", "path": "/health", "expect": { "status": 200, "has": { "status": "ok" } } });
    found_in_steps("only a case tagged http", json!([step]));
}

#[test]
fn a_call_that_no_case_makes_is_found() {
    let list: Value = serde_json::from_str(LIST).unwrap();
    for call in list["calls"].as_object().unwrap().keys() {
        found(&format!("no case has the call {call} answered"), |list| {
            keep_cases(list, |case| !steps(case).iter().any(|step| step["call"] == *call));
        });
    }
}

#[test]
fn a_member_that_no_case_breaks_is_found() {
    let list: Value = serde_json::from_str(LIST).unwrap();
    for (call, row) in list["calls"].as_object().unwrap() {
        for member in row["members"].as_object().unwrap().keys() {
            found(&format!("no case has {call} refused for its {member}"), |list| {
                keep_cases(list, |case| {
                    !steps(case).iter().any(|s| s["call"] == *call && s["expect"]["member"] == *member)
                });
            });
        }
    }
}

#[test]
fn a_code_that_no_case_expects_is_found() {
    let list: Value = serde_json::from_str(LIST).unwrap();
    for (code, row) in list["codes"].as_object().unwrap() {
        let expects = |case: &Value| steps(case).iter().any(|step| step["expect"]["code"] == *code);
        if row["by"] == "engine" {
            let step = json!([{ "call": "mint", "expect": { "code": code } }]);
            found_in_steps(&format!("a case expects {code}"), step);
        } else {
            found(&format!("no case expects the code {code}"), |list| {
                keep_cases(list, |case| !expects(case));
            });
        }
    }
}

#[test]
fn an_edge_that_no_case_stands_at_is_found() {
    let read = List::read(LIST.as_bytes()).unwrap();
    for constant in read.constants.keys() {
        let at_edge =
            |case: &Value| case["edges"].as_array().is_some_and(|edges| edges.contains(&json!(constant)));
        if read.no_edge.contains_key(constant) {
            found(&format!("{constant} is said to have no edge"), |list| {
                list["cases"][0]["edges"] = json!([constant]);
            });
            continue;
        }
        found(&format!("no case is at the edge of {constant}"), |list| {
            keep_cases(list, |case| !at_edge(case));
        });
        found(&format!("is not on both sides of {constant}"), |list| {
            let steps = json!([{ "call": "mint", "expect": { "status": 200, "has": { "first": 1 } } },
                { "advance": format!("${{{constant}}}") }]);
            with_case(list, json!({ "name": "one side", "edges": [constant], "steps": steps }));
        });
    }
}

#[test]
fn an_implementation_that_says_something_else_is_found() {
    let list = List::read(LIST.as_bytes()).unwrap();
    let facts = Facts::of_the_rules();
    assert_eq!(check::facts(&list, &facts, false), Vec::<String>::new());
    let one = |facts: &Facts| check::facts(&list, facts, false).len();
    for name in facts.constants.keys() {
        let mut other = facts.clone();
        *other.constants.get_mut(name).unwrap() += 1;
        assert_eq!(one(&other), 1, "{name}");
        other.constants.remove(name);
        assert_eq!(one(&other), 1, "{name}");
    }
    for name in facts.calls.keys() {
        let mut other = facts.clone();
        let (request, _) = other.calls.get_mut(name).unwrap();
        *request = !*request;
        assert_eq!(one(&other), 1, "{name}");
        other.calls.get_mut(name).unwrap().0 = facts.calls[name].0;
        other.calls.get_mut(name).unwrap().1.insert("more".into(), false);
        assert_eq!(one(&other), 1, "{name}");
        other.calls.remove(name);
        assert_eq!(one(&other), 1, "{name}");
    }
    for name in facts.codes.keys() {
        let mut other = facts.clone();
        other.codes.get_mut(name).unwrap().0 += 1;
        assert_eq!(one(&other), 1, "{name}");
        other.codes.remove(name);
        assert_eq!(one(&other), 1, "{name}");
    }
    let mut more = facts.clone();
    more.codes.insert("odd".into(), (400, "never".into(), None));
    more.calls.insert("odd".into(), (false, std::collections::BTreeMap::new()));
    more.constants.insert("oddMax".into(), 1);
    assert_eq!(one(&more), 3);
}

#[test]
fn a_transport_has_the_codes_of_one() {
    let list = List::read(LIST.as_bytes()).unwrap();
    let missing = check::facts(&list, &Facts::of_the_rules(), true);
    assert!(missing.iter().any(|found| found.contains("rate_limited")), "{missing:?}");
}
