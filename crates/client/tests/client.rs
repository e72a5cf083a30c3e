//! The typed calls over a local file, and over something that loses answers.
#![expect(clippy::unwrap_used, reason = "tests")]

use client::{CallError, Enter, Local, Mint, Signals, Stay, Typed, Unreached};
use kernel::{Code, Id, Refusal, SystemClock};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::{Options, StateFile};

fn local(dir: &Path) -> Local {
    let file = StateFile::create_or_open(dir, &Options::default(), &SystemClock).unwrap();
    Local::start(file, Arc::new(SystemClock)).unwrap()
}

fn entry(ticket: &Id) -> Enter {
    Enter {
        ticket: ticket.clone(),
        branch: "work".into(),
        head: "a".repeat(40),
        label: "somebody".into(),
        step: Some("starting".into()),
    }
}

#[test]
fn a_passage_through_the_queue_and_its_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let (here, there) = (local(dir.path()), local(dir.path()));
    let project = here.file().project().clone();
    let (here, there) = (Typed::new(&here, &project), Typed::new(&there, &project));
    let block = here.mint(&Mint { scope: "adr".into(), count: Some(3), floor: Some(10) }, None).unwrap();
    assert_eq!((block.first, block.last, block.count), (11, 13, 3));

    let (first, second) = (Id::random(), Id::random());
    let holder = here.enter(&entry(&first), None).unwrap();
    assert!(holder.turn && holder.turn_no == Some(1) && holder.step == "starting");
    let waiter = there.enter(&entry(&second), None).unwrap();
    assert_eq!((waiter.position, waiter.ahead.len()), (1, 1));
    let (first, second) =
        (Stay { ticket: first, entry: holder.entry }, Stay { ticket: second, entry: waiter.entry });
    assert_eq!(here.renew(&first, Some("checking")).unwrap().step, "checking");
    assert!(!there.wait(&second, Some(0)).unwrap().turn);
    let queue = there.list(None).unwrap();
    assert_eq!((queue.tickets.len(), queue.ended.len()), (2, 0));

    let (turn, list) = std::thread::scope(|scope| {
        let turn = scope.spawn(|| there.wait(&second, None).unwrap());
        let list = scope.spawn(|| there.list(Some((&queue.mark, 50_000))).unwrap());
        here.leave(&first, "landed", Some(&json!({ "files": ["a"] })), None).unwrap();
        (turn.join().unwrap(), list.join().unwrap())
    });
    assert!(turn.turn && turn.turn_no == Some(2));
    assert_eq!(list.ended[0].outcome, "landed");
    assert_eq!(list.ended[0].report.as_ref().unwrap()["files"][0], "a");

    let lifted = here.lift(Some(40), &[("adr".into(), 5)], None).unwrap();
    assert_eq!((lifted.turn_no, lifted.lines[0].value), (40, 13));
    let gone = there.renew(&second, None).unwrap_err();
    assert!(gone.is(Code::TicketGone), "{gone:?}");
    assert!(gone.to_string().contains("enter again"));
}

/// Loses every answer until it has lost enough, and says busy once.
struct Lossy {
    inner: Local,
    losses: AtomicUsize,
    sent: Mutex<Vec<Vec<u8>>>,
}

impl Signals for Lossy {
    fn post(&self, call: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Unreached> {
        self.sent.lock().unwrap().push(body.to_vec());
        match self.losses.fetch_add(1, Ordering::SeqCst) {
            0 => {
                let busy = Refusal::new(Code::Busy, "somebody was before; repeat the call");
                Ok((busy.code.status(), busy.body()))
            }
            1 | 2 => {
                self.inner.post(call, body).unwrap();
                Err(Unreached::Unknown("the answer was lost; repeat the call".into()))
            }
            _ => self.inner.post(call, body),
        }
    }
}

#[test]
fn a_lost_answer_is_asked_for_again_with_the_same_request_and_has_one_effect() {
    let dir = tempfile::tempdir().unwrap();
    let inner = local(dir.path());
    let project = inner.file().project().clone();
    let lossy = Lossy { inner, losses: AtomicUsize::new(0), sent: Mutex::default() };
    let typed = Typed::new(&lossy, &project);
    assert_eq!(typed.mint(&Mint { scope: "adr".into(), ..Mint::default() }, None).unwrap().last, 1);
    {
        let sent = lossy.sent.lock().unwrap();
        assert_eq!(sent.len(), 4);
        assert!(sent.iter().all(|body| *body == sent[0]));
    }
    let request = Id::random();
    let again = |n| typed.mint(&Mint { scope: "adr".into(), count: Some(n), floor: None }, Some(&request));
    assert_eq!(again(2).unwrap(), again(2).unwrap());
    assert!(again(3).unwrap_err().is(Code::RequestReused));
}

struct Dead;

impl Signals for Dead {
    fn post(&self, _: &str, _: &[u8]) -> Result<(u16, Vec<u8>), Unreached> {
        Err(Unreached::Unknown("nobody answered; repeat the call".into()))
    }
}

#[test]
fn patience_ends() {
    let project = Id::random();
    let typed = Typed::new(&Dead, &project).patience(Duration::from_millis(100));
    let error = typed.list(None).unwrap_err();
    assert!(error.is_unknown());
    assert!(matches!(error, CallError::Unreached(Unreached::Unknown(_))));
}

#[test]
fn a_refusal_before_the_desk_has_its_status_too() {
    let dir = tempfile::tempdir().unwrap();
    let local = local(dir.path());
    assert_eq!(local.post("no/call", b"{}").unwrap().0, 404);
    assert_eq!(local.post("mint", b"[]").unwrap().0, 400);
    assert_eq!(local.post("mint", &vec![b' '; 20_000]).unwrap().0, 413);
}
