//! The port itself, with a subject that is only made for this and an engine that is the test.

use crate::support::code;
use kernel::{Code, Decision, Key, Limits, Millis, Mode, Refusal, Subject};
use std::sync::mpsc::{Receiver, channel};
use store::port::{Deal, Mapped, Rows, Source, Stmt, Writes};
use store::{Answer, Calls, Desk, Fault};

/// Adds up; refuses or panics when it is told to.
#[derive(Debug)]
struct Sum;

#[derive(Debug, Clone, Copy)]
enum Call {
    Add(&'static str, i64),
    Refuse,
    Panic,
    Wait { asked: bool },
}

impl Subject for Sum {
    type Call = Call;
    type Slice = i64;
    type Change = i64;

    fn keys(call: &Call) -> Vec<Key> {
        let (name, mode) = match call {
            Call::Add(name, _) => (*name, Mode::Shared),
            _ => ("a", Mode::Exclusive),
        };
        vec![Key { kind: "sum", name: name.to_owned(), mode }]
    }

    fn decide(sum: &i64, call: &Call, _: Millis, _: &Limits) -> Result<Decision<i64>, Refusal> {
        match call {
            Call::Add(_, n) => Ok(Decision::Answer { json: (sum + n).to_string().into(), changes: vec![*n] }),
            Call::Refuse => Err(Refusal::new(Code::QueueFull, "no; ask somebody else")),
            Call::Panic => panic!("a defect of the rule"),
            Call::Wait { asked: false } => Ok(Decision::Park { until: 100, changes: Vec::new() }),
            Call::Wait { asked: true } => {
                Ok(Decision::Answer { json: sum.to_string().into(), changes: Vec::new() })
            }
        }
    }

    fn asked(call: &mut Call) {
        if let Call::Wait { asked } = call {
            *asked = true;
        }
    }

    fn apply(sum: &mut i64, n: &i64) -> Option<i64> {
        *sum += n;
        None
    }

    fn finish(_: &Call, _: Option<i64>) -> Result<Vec<u8>, Refusal> {
        Err(Fault::Defect.refusal())
    }
}

impl Mapped for Sum {
    fn reads(_: &[&Call], _: &Limits) -> Vec<Stmt> {
        Vec::new()
    }
    fn slice(_: &[&Call], _: &Limits, _: &[Rows]) -> Result<i64, Fault> {
        Ok(0)
    }
    fn writes(changes: &[i64]) -> Writes {
        let deals: Vec<Option<Deal>> = vec![None; changes.len()];
        Writes { stmts: changes.iter().map(|n| Stmt::new("add", vec![(*n).into()])).collect(), deals }
    }
    fn once(_: &Call) -> Option<String> {
        None
    }
    fn mark(sum: &i64, _: &Key) -> i64 {
        *sum
    }
    fn watch(_: &Key) -> Stmt {
        Stmt::new("mark", Vec::new())
    }
}

fn send(desk: &Desk<Sum>, call: Call) -> Receiver<Answer> {
    let (send, receive) = channel();
    desk.submit(call, Box::new(move |answer| drop(send.send(answer))));
    receive
}

#[test]
fn a_refusal_and_a_panic_of_the_rule_are_one_calls_own() {
    let desk = Desk::<Sum>::new(Limits::default());
    let calls = [Call::Add("a", 1), Call::Panic, Call::Refuse, Call::Add("a", 2)];
    let answers = calls.map(|call| send(&desk, call));
    let mut work = desk.take(100).unwrap();
    assert_eq!(work.locks(), [Key { kind: "sum", name: "a".into(), mode: Mode::Exclusive }]);
    assert_eq!(work.decide(&[true], Vec::new(), 0).unwrap().len(), 2);
    assert!(answers.iter().all(|answer| answer.try_recv().is_err()), "nobody hears before the commit");
    work.settle(Ok(Vec::new()));
    let answers = answers.map(|answer| answer.try_recv().unwrap());
    assert_eq!(answers[0], Ok(b"1".to_vec()));
    assert_eq!(code(&answers[1]), "internal");
    assert_eq!(code(&answers[2]), "queue_full");
    assert_eq!(answers[3], Ok(b"3".to_vec()));
}

#[test]
fn a_transaction_that_failed_is_told_to_all_of_its_group() {
    let desk = Desk::<Sum>::new(Limits::default());
    let answers = [Call::Add("a", 1), Call::Refuse].map(|call| send(&desk, call));
    let mut work = desk.take(100).unwrap();
    work.decide(&[true], Vec::new(), 0).unwrap();
    work.settle(Err(Fault::Unknown));
    assert!(answers.iter().all(|answer| code(&answer.try_recv().unwrap()) == "outcome_unknown"));
}

#[test]
fn a_call_whose_lock_was_not_had_leaves_the_group_and_waits_alone() {
    let desk = Desk::<Sum>::new(Limits::default());
    let (a, b) = (send(&desk, Call::Add("a", 1)), send(&desk, Call::Add("b", 2)));
    let mut work = desk.take(100).unwrap();
    assert!(!work.alone());
    assert_eq!(work.decide(&[false, true], Vec::new(), 0).unwrap().len(), 1);
    work.settle(Ok(vec![Vec::new()]));
    assert_eq!(b.try_recv().unwrap(), Ok(b"2".to_vec()));
    assert!(a.try_recv().is_err());
    let later = send(&desk, Call::Add("a", 5));
    let mut work = desk.take(100).unwrap();
    assert!(work.alone());
    work.decide(&[true], Vec::new(), 0).unwrap();
    work.settle(Ok(vec![Vec::new()]));
    assert_eq!(a.try_recv().unwrap(), Ok(b"1".to_vec()));
    assert!(later.try_recv().is_err());
}

#[test]
fn a_parked_call_is_asked_again_when_its_mark_has_moved_or_its_time_has_come() {
    let desk = Desk::<Sum>::new(Limits::default());
    let run = || {
        let Some(mut work) = desk.take(100) else { return false };
        work.decide(&[true], Vec::new(), 0).unwrap();
        work.settle(Ok(Vec::new()));
        true
    };
    // A later call of the same group moves the mark.
    let (wait, _add) = (send(&desk, Call::Wait { asked: false }), send(&desk, Call::Add("a", 7)));
    assert!(run() && run());
    assert!(wait.try_recv().unwrap().is_ok());

    let wait = send(&desk, Call::Wait { asked: false });
    assert!(run() && !run());
    let (keys, _) = desk.watch();
    Source::heard(&desk, &keys, &[Vec::new()]);
    desk.due(99);
    assert!(!run(), "neither has the mark moved nor has the time come");
    desk.due(100);
    assert!(run() && wait.try_recv().unwrap().is_ok());
}
