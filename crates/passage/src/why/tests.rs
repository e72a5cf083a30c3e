use super::*;
use crate::end::{COLUMNS, columns};
use insta::assert_snapshot;
use kernel::Code;
use serde_json::json;
use std::fmt::Write;

const NOW: Millis = 1_000_000_000;
const HEAD: &str = "0123456789012345678901234567890123456789";

/// A clock that tells seconds from now.
fn clock(at: Millis) -> String {
    format!("@{}", (at - NOW) / 1_000)
}

fn facts(place: Place) -> Facts<'static> {
    Facts {
        branch: "work".into(),
        trunk: "origin/main".into(),
        now: NOW,
        clock: &clock,
        place,
        queue: Vec::new(),
        full: false,
        owner: "Ann".into(),
        head: Some(HEAD.into()),
        holds: Vec::new(),
        freeze: None,
        changed: Some(vec!["api/x".into()]),
        push: None,
        setup: None,
        before: None,
        ahead: None,
    }
}

fn ticket(label: &str, branch: &str, turn: bool) -> TicketView {
    let answer = json!({
        "ticket": "00000000-0000-4000-8000-000000000001", "entry": 1, "turnNo": turn.then_some(4),
        "branch": branch, "head": HEAD, "label": label, "step": if turn { "checking" } else { "waiting" },
        "position": i64::from(!turn), "turn": turn, "enteredAt": NOW - 200_000, "touchedAt": NOW - 1_000,
        "turnAt": turn.then_some(NOW - 130_000), "leaseUntil": NOW + 299_000,
        "turnUntil": turn.then_some(NOW + 5_270_000),
    });
    serde_json::from_value(answer).unwrap()
}

fn place(view: TicketView, owner: Owner, kept: bool) -> Place {
    Place::Standing { view: Box::new(view), owner, kept }
}

fn waiting() -> Facts<'static> {
    let holder =
        TicketView { ticket: "00000000-0000-4000-8000-000000000002".into(), ..ticket("Bo", "other", true) };
    let ahead = |of: &TicketView| {
        let answer = json!({ "ticket": of.ticket, "branch": of.branch, "head": HEAD, "label": of.label, "step": of.step });
        serde_json::from_value(answer).unwrap()
    };
    let mut view = ticket("Ann", "work", false);
    view.ahead = vec![ahead(&holder), ahead(&ticket("Cy", "third", false))];
    Facts { queue: vec![holder, view.clone()], ..facts(place(view, Owner::Lives, false)) }
}

fn turn() -> Facts<'static> {
    facts(place(ticket("Ann", "work", true), Owner::Lives, false))
}

#[expect(clippy::needless_pass_by_value, reason = "every caller makes it on the spot")]
fn ended(outcome: &str, report: Value) -> Facts<'static> {
    let answer = json!({
        "ticket": "00000000-0000-4000-8000-000000000001", "entry": 1, "turnNo": 4, "branch": "work", "head": HEAD,
        "label": "Ann", "step": "checking", "enteredAt": NOW - 200_000, "turnAt": NOW - 130_000,
        "endedAt": NOW - 60_000, "outcome": outcome, "report": report,
    });
    let view = Box::new(serde_json::from_value(answer).unwrap());
    facts(Place::Ended { view, fate: None, log: None, moved_on: false })
}

fn freeze(admissions: &[&str]) -> Option<FreezeView> {
    let admissions = admissions.iter().map(|name| (*name).to_owned()).collect();
    Some(FreezeView {
        issues: vec!["BUG-12".into()],
        opener: "ops".into(),
        declared_at: NOW - 600_000,
        opened_at: NOW - 600_000,
        admissions,
    })
}

fn hold() -> Vec<HoldView> {
    vec![HoldView {
        name: "release-3".into(),
        paths: vec!["api/".into()],
        owner: "ops".into(),
        opened_at: 0,
        until: NOW + 3_600_000,
    }]
}

fn refusal(exit: u8, code: &'static str, line: &str, next: &str) -> Option<End> {
    Some(End::new(exit, code, line).next(next))
}

/// Every situation that a branch or a ticket can be in.
fn situations() -> Vec<(&'static str, Facts<'static>)> {
    let never = || facts(Place::Never);
    let mut blocked = waiting();
    if let Place::Standing { view, .. } = &mut blocked.place {
        view.blocked = freeze(&["hotfix"]);
    }
    blocked.holds = hold();
    let mut silent = waiting();
    if let Place::Standing { view, owner, .. } = &mut silent.place {
        view.touched_at = NOW - 250_000;
        view.lease_until = NOW + 50_000;
        *owner = Owner::Unknown;
    }
    let mut holder_silent = waiting();
    holder_silent.queue[0].touched_at = NOW - 250_000;
    holder_silent.queue[0].lease_until = NOW + 50_000;
    let mut near = turn();
    if let Place::Standing { view, .. } = &mut near.place {
        view.turn_until = Some(NOW + 10_000);
    }
    let with_log = {
        let mut facts = ended("failed", json!({ "checkCode": 2 }));
        if let Place::Ended { log, .. } = &mut facts.place {
            *log = Some("/state/logs/1.log".into());
        }
        facts
    };
    let mut moved_on = ended("failed", json!({ "checkCode": 2 }));
    if let Place::Ended { moved_on, .. } = &mut moved_on.place {
        *moved_on = true;
    }
    let settled = |landed| Settled {
        ticket: "t".into(),
        branch: "work".into(),
        landed,
        commit: HEAD.into(),
        turn_no: 4,
    };
    let mut fate = ended("unknown", Value::Null);
    if let Place::Ended { fate, .. } = &mut fate.place {
        *fate = Some(settled(true));
    }
    let conflict = || {
        refusal(exit::MEND, "conflict", "conflict in a; merge the trunk, then land again", "git merge main")
    };
    let duplicate =
        || refusal(exit::MEND, "duplicate_number", "adr 1 is used by two files", "signalbox mint adr");
    let unreachable =
        || refusal(exit::AGAIN, "unreachable", "the remote origin cannot be reached", "git ls-remote origin");
    let other_box =
        || Some(End::new(exit::SETUP, "other_box", "this trunk is kept by another clone").more("how"));
    vec![
        ("waiting", waiting()),
        ("waiting, frozen and held", blocked),
        ("waiting, with a hold", Facts { holds: hold(), ..waiting() }),
        ("waiting, with a conflict to come", Facts { ahead: conflict(), ..waiting() }),
        ("waiting, the holder silent", holder_silent),
        ("waiting, silent", silent),
        (
            "waiting, its process gone",
            Facts { place: place(ticket("Ann", "work", false), Owner::Gone, false), ..waiting() },
        ),
        (
            "waiting, kept",
            Facts { place: place(ticket("Ann", "work", false), Owner::Unknown, true), ..waiting() },
        ),
        ("waiting, the remote away", Facts { setup: unreachable(), ..waiting() }),
        ("the turn", turn()),
        ("the turn, frozen since", Facts { freeze: freeze(&["hotfix"]), ..turn() }),
        ("the turn, nearly over", near),
        ("the turn, its process gone", facts(place(ticket("Ann", "work", true), Owner::Gone, false))),
        ("the turn, kept", facts(place(ticket("Ann", "work", true), Owner::Unknown, true))),
        ("the turn, pushing", Facts { push: Some(Push::UnderWay), ..turn() }),
        ("the turn, cut off", Facts { push: Some(Push::CutOff), ..turn() }),
        ("an unreadable note", Facts { push: Some(Push::Unreadable("/state/1.json".into())), ..turn() }),
        ("landed", ended("landed", json!({ "commit": HEAD }))),
        ("landed, as was found out later", fate),
        ("landed long ago", facts(Place::Settled(settled(true)))),
        ("settled as not landed", facts(Place::Settled(settled(false)))),
        ("red", ended("failed", json!({ "checkCode": 2 }))),
        ("red, with its log", with_log),
        ("red, and mended since", moved_on),
        ("a conflict", Facts { ahead: conflict(), ..ended("conflict", json!({ "files": ["a"] })) }),
        ("a conflict that is none any more", ended("conflict", json!({ "files": ["a"] }))),
        ("a duplicate number", Facts { ahead: duplicate(), ..ended("duplicate", json!({ "files": ["a"] })) }),
        ("a duplicate number that is free now", ended("duplicate", json!({ "files": ["a"] }))),
        ("held", Facts { holds: hold(), ..ended("held", Value::Null) }),
        ("held once", ended("held", Value::Null)),
        ("frozen", Facts { freeze: freeze(&[]), ..ended("frozen", Value::Null) }),
        ("frozen once", ended("frozen", Value::Null)),
        ("moved", ended("moved", json!({ "reason": "the branch was changed on its way" }))),
        ("the turn's limit", ended("limit", Value::Null)),
        ("refused by the remote", ended("refused", json!({ "reason": "remote: no pushes on Friday" }))),
        ("lapsed", ended("lapsed", Value::Null)),
        ("its process gone", ended("unknown", Value::Null)),
        ("withdrawn", ended("withdrawn", json!({ "reason": "stopped by Ctrl-C" }))),
        ("withdrawn, nobody knows why", ended("withdrawn", Value::Null)),
        ("never entered", never()),
        (
            "never entered, all that can be",
            Facts { freeze: freeze(&["hotfix"]), holds: hold(), ahead: conflict(), ..never() },
        ),
        ("never entered, the queue full", Facts { full: true, ..never() }),
        (
            "already there",
            Facts {
                before: Some(End::new(
                    exit::DONE,
                    "already_in_trunk",
                    "work is already in main; nothing to land",
                )),
                ..never()
            },
        ),
        (
            "dirty",
            Facts {
                before: refusal(
                    exit::USAGE,
                    "dirty",
                    "work has changes that are not committed",
                    "git status",
                ),
                ..never()
            },
        ),
        (
            "no such branch",
            Facts {
                head: None,
                freeze: freeze(&[]),
                before: Some(
                    End::new(exit::USAGE, "no_branch", "there is no branch work here").next("git branch"),
                ),
                ..never()
            },
        ),
        (
            "no check",
            Facts {
                setup: refusal(exit::SETUP, "no_check", "no check is configured", "git show"),
                ..never()
            },
        ),
        ("another box", Facts { setup: other_box(), ..waiting() }),
        ("the remote away", Facts { setup: unreachable(), ..never() }),
    ]
}

#[test]
fn why_in_every_situation_says_the_cause_and_the_way_out() {
    let mut said = String::new();
    for (name, facts) in situations() {
        let _ = writeln!(said, "# {name}");
        for end in chain(&facts) {
            let next = end.next.map_or_else(String::new, |next| format!(" => {next}"));
            let _ = writeln!(said, "{} {}: {}{next}", end.exit, end.code, end.line);
        }
    }
    assert_snapshot!(said, @r"
    # waiting
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    # waiting, frozen and held
    14 frozen: frozen by BUG-12, which admits only hotfix; work waits until it is closed => signalbox freeze list
    14 held: the hold release-3 of ops covers api/x until @3600 => signalbox hold list
    # waiting, with a hold
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    14 held: the hold release-3 of ops covers api/x until @3600 => signalbox hold list
    # waiting, with a conflict to come
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    12 conflict: conflict in a; merge the trunk, then land again => git merge main
    # waiting, the holder silent
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    22 holder_silent: Bo with other was not heard of for 4:10; in 50 s its turn passes on => signalbox queue --watch
    # waiting, silent
    17 silent: work was not heard of for 4:10; in 50 s its place ends, unless it wakes up => signalbox land work --resume 00000000-0000-4000-8000-000000000001
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    # waiting, its process gone
    17 process_gone: the process of work is gone; land it again, which ends its old place => signalbox land work
    22 waiting: 0 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    # waiting, kept
    22 still_waiting: nobody waits with work: its place was kept and ends in 4:59; go on with it => signalbox land work --resume 00000000-0000-4000-8000-000000000001
    22 waiting: 0 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    # waiting, the remote away
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    20 unreachable: the remote origin cannot be reached => git ls-remote origin
    # the turn
    22 has_the_turn: work has had the turn for 2:10 and goes on: checking => signalbox queue --watch
    # the turn, frozen since
    22 has_the_turn: work has had the turn for 2:10 and goes on: checking => signalbox queue --watch
    14 frozen: frozen by BUG-12 since; work will stop before its push => signalbox freeze list
    # the turn, nearly over
    22 has_the_turn: work has had the turn for 2:10 and goes on: checking => signalbox queue --watch
    17 turn_limit: its turn ends in 10 s at the latest; make the check quicker, or raise the limit => signalbox init --turn-ms 280000
    # the turn, its process gone
    17 process_gone: the process of work is gone; land it again, which ends its old place => signalbox land work
    # the turn, kept
    22 still_waiting: nobody waits with work: its place was kept and ends in 4:59; go on with it => signalbox land work --resume 00000000-0000-4000-8000-000000000001
    # the turn, pushing
    22 pushing: work was pushed and its end is awaited; it says so itself => signalbox queue --watch
    22 has_the_turn: work has had the turn for 2:10 and goes on: checking => signalbox queue --watch
    # the turn, cut off
    21 outcome_unknown: the push of work was cut off and what became of it is not known yet; settle it => signalbox land --settle
    22 has_the_turn: work has had the turn for 2:10 and goes on: checking => signalbox queue --watch
    # an unreadable note
    1 broken_intent: the note of its push cannot be read; look whether it landed, then remove the file => signalbox land --settle
    22 has_the_turn: work has had the turn for 2:10 and goes on: checking => signalbox queue --watch
    # landed
    0 landed: work landed on origin/main as 012345678 (turn 4), @-60
    # landed, as was found out later
    0 landed: work landed on origin/main as 012345678 (turn 4), @-60
    # landed long ago
    0 landed: work landed on origin/main as 012345678 (turn 4)
    # settled as not landed
    20 not_landed: the push of work did not land, and will not; land it again => signalbox land work
    # red
    10 check_red: the check of work failed with code 2 (@-60); mend the branch, then land it again => signalbox land work
    # red, with its log
    10 check_red: the check of work failed with code 2 (@-60); mend the branch, then land it again => cat /state/logs/1.log
    # red, and mended since
    20 not_entered: work is not in the queue: nobody landed it yet; land it => signalbox land work
    # a conflict
    12 conflict: conflict in a; merge the trunk, then land again => git merge main
    # a conflict that is none any more
    20 land_again: work was in conflict in a, and would merge now; land it again => signalbox land work
    # a duplicate number
    12 duplicate_number: adr 1 is used by two files => signalbox mint adr
    # a duplicate number that is free now
    20 land_again: a had the number of another file, which is free now; land work again => signalbox land work
    # held
    14 held: the hold release-3 of ops covers api/x until @3600 => signalbox land work --wait-holds
    # held once
    20 land_again: a hold kept work out (@-60), and stands no longer; land it again => signalbox land work
    # frozen
    14 frozen: frozen by BUG-12, which admits nothing; work waits until it is closed => signalbox freeze list
    # frozen once
    20 land_again: a freeze kept work out (@-60), and does no longer; land it again => signalbox land work
    # moved
    12 moved: work did not land (@-60): the branch was changed on its way; land it again => signalbox land work
    # the turn's limit
    17 turn_limit: the turn's limit came before the check of work ended (@-60); raise the limit => signalbox init --turn-ms 140000
    # refused by the remote
    19 remote_refused: the remote refused work (@-60): remote: no pushes on Friday => signalbox land work
    # lapsed
    17 turn_lost: work was not heard of in time, so its place ended (@-60); land it again => signalbox land work
    # its process gone
    20 process_gone: the process of work was gone, so its place was ended (@-60); land it again => signalbox land work
    # withdrawn
    20 withdrawn: work did not land (@-60): stopped by Ctrl-C; land it again => signalbox land work
    # withdrawn, nobody knows why
    20 withdrawn: work did not land (@-60): it left the queue; land it again => signalbox land work
    # never entered
    20 not_entered: work is not in the queue: nobody landed it yet; land it => signalbox land work
    # never entered, all that can be
    20 not_entered: work is not in the queue: nobody landed it yet; land it => signalbox land work
    14 frozen: frozen by BUG-12, which admits only hotfix; work waits until it is closed => signalbox freeze list
    14 held: the hold release-3 of ops covers api/x until @3600 => signalbox land work --wait-holds
    12 conflict: conflict in a; merge the trunk, then land again => git merge main
    # never entered, the queue full
    20 queue_full: the queue has as many places as it may; enter when some have left => signalbox queue --watch
    # already there
    0 already_in_trunk: work is already in main; nothing to land
    # dirty
    2 dirty: work has changes that are not committed => git status
    # no such branch
    2 no_branch: there is no branch work here => git branch
    # no check
    3 no_check: no check is configured => git show
    20 not_entered: work is not in the queue: nobody landed it yet; land it => signalbox land work
    # another box
    3 other_box: this trunk is kept by another clone
    22 waiting: 2 ahead; Bo with other has had the turn for 2:10: checking => signalbox queue --watch
    # the remote away
    20 unreachable: the remote origin cannot be reached => git ls-remote origin
    20 not_entered: work is not in the queue: nobody landed it yet; land it => signalbox land work
    ");
}

#[test]
fn every_cause_has_a_way_out_and_a_line_that_fits() {
    let long =
        |facts: Facts<'static>| Facts { branch: "日本-long/".repeat(30), owner: "o".into(), ..facts };
    for (name, facts) in situations()
        .into_iter()
        .flat_map(|(name, facts)| [(name, facts)])
        .chain(situations().into_iter().map(|(name, facts)| (name, long(facts))))
    {
        let causes = chain(&facts);
        assert!(!causes.is_empty(), "{name}");
        for end in &causes {
            let out = end.next.is_some() || !end.more.is_empty();
            assert!(out || end.exit == exit::DONE, "{name}: {end:?}");
            assert!(columns(&end.line) <= COLUMNS && !end.line.ends_with('…'), "{name}: {}", end.line);
        }
        let told = told(&causes);
        assert_eq!((told.exit, told.code, told.next.as_ref()), (0, causes[0].code, causes[0].next.as_ref()));
        assert_eq!(told.facts["causes"].as_array().unwrap().len(), causes.len());
    }
}

#[test]
fn every_exit_code_of_a_landing_is_among_the_causes() {
    let met: Vec<u8> = situations().iter().flat_map(|(_, facts)| chain(facts)).map(|end| end.exit).collect();
    for (code, meaning) in exit::TABLE {
        // A signal is the reason of a withdrawal; the rules that 24 and 125 stand for are not about a branch's way.
        let elsewhere = [exit::RULE, 125, 130, 143].contains(code);
        assert!(elsewhere || met.contains(code), "{code}: {meaning}");
    }
}

#[test]
fn every_refusal_of_a_call_is_told_or_is_not_about_a_landing() {
    let met: Vec<&str> =
        situations().iter().flat_map(|(_, facts)| chain(facts)).map(|end| end.code).collect();
    for code in Code::ALL {
        let told = match code {
            Code::TicketGone => "turn_lost",
            Code::TicketTaken => "has_the_turn",
            Code::QueueFull => "queue_full",
            // Of the box as a whole: `why` says what `land` would say.
            Code::ProjectRetired | Code::Busy | Code::OutcomeUnknown | Code::Internal => continue,
            // Of other calls.
            Code::InvalidRequest
            | Code::UnknownCall
            | Code::BodyTooLarge
            | Code::FloorTooFar
            | Code::HoldTaken
            | Code::HoldGone
            | Code::HoldsFull
            | Code::FreezeFull
            | Code::FreezeGone
            | Code::FreezeServesMore
            | Code::ReplacementTaken
            | Code::RequestReused => continue,
        };
        assert!(met.contains(&told), "{}", code.as_str());
    }
}
