//! Quick figures of the SQLite engine: mints per second in this process, and how long a turn takes to reach
//! a waiter of another engine. Run with `cargo run --release -p store --example bench [FOLDER]`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement for people")]

use kernel::{Clock, Id, Limits, SystemClock};
use landing::{Call, Landing};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use store::{Calls, Desk, Options, Sqlite, StateFile};

struct Box {
    desk: Desk<Landing>,
    project: Id,
    _engine: Sqlite,
}

fn open(dir: &Path) -> Box {
    let file = StateFile::create_or_open(dir, &Options::default(), &SystemClock).unwrap();
    let desk = Desk::new(Limits::default());
    let engine = Sqlite::start(&file, vec![Arc::new(desk.clone())], Arc::new(SystemClock)).unwrap();
    Box { desk, project: file.project().clone(), _engine: engine }
}

impl Box {
    fn call(&self, name: &str, mut body: Value) -> Call {
        body["project"] = self.project.as_str().into();
        Call::parse(name, body.to_string().as_bytes(), SystemClock.now(), &Limits::default()).unwrap()
    }

    fn ask(&self, name: &str, body: Value) -> Value {
        serde_json::from_slice(&self.desk.ask(self.call(name, body)).unwrap()).unwrap()
    }
}

fn mints(dir: &Path, callers: usize, requests: bool) {
    let open = open(dir);
    let (count, end) = (AtomicUsize::new(0), Instant::now() + Duration::from_secs(3));
    thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                while Instant::now() < end {
                    let mut body = json!({ "scope": "adr" });
                    if requests {
                        body["request"] = Id::random().as_str().into();
                    }
                    open.ask("mint", body);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let with = if requests { "with a request id" } else { "without" };
    println!("{callers:3} callers, {with}: {} mints/s", count.into_inner() / 3);
}

/// Engines that mint at once, one caller each: how even they come out, and the longest wait.
fn engines(dir: &Path, count: usize) {
    let open: Vec<_> = (0..count).map(|_| open(dir)).collect();
    let end = Instant::now() + Duration::from_secs(3);
    let of = |open: &Box| {
        let (mut count, mut worst) = (0, Duration::ZERO);
        while Instant::now() < end {
            let began = Instant::now();
            open.ask("mint", json!({ "scope": "adr" }));
            (count, worst) = (count + 1, worst.max(began.elapsed()));
        }
        (count, worst)
    };
    let all: Vec<(u32, Duration)> = thread::scope(|scope| {
        let threads: Vec<_> = open.iter().map(|open| scope.spawn(move || of(open))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum: u32 = all.iter().map(|(count, _)| count).sum();
    let (least, most) = (all.iter().map(|a| a.0).min().unwrap(), all.iter().map(|a| a.0).max().unwrap());
    let worst = all.iter().map(|a| a.1).max().unwrap();
    println!(
        "{count} engines: {} mints/s, least {least} and most {most} of one, worst wait {worst:?}",
        sum / 3
    );
}

fn hand_over(dir: &Path) {
    let (a, b) = (open(dir), open(dir));
    let enter = |of: &Box| {
        let ticket = Id::random();
        let body =
            json!({"ticket": ticket.as_str(), "branch": "b", "head": "a".repeat(40), "label": "bench"});
        let entry = of.ask("queue/enter", body)["entry"].clone();
        json!({ "ticket": ticket.as_str(), "entry": entry })
    };
    let mut times = Vec::new();
    let mut holder = enter(&a);
    for _ in 0..300 {
        let next = enter(&b);
        let (send, receive) = mpsc::channel();
        b.desk.submit(
            b.call("queue/wait", next.clone()),
            std::boxed::Box::new(move |_| send.send(Instant::now()).unwrap_or(())),
        );
        while b.desk.parked_count() == 0 {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(2));
        holder["outcome"] = "landed".into();
        a.ask("queue/leave", holder);
        let left = Instant::now();
        times.push(receive.recv().unwrap().saturating_duration_since(left));
        let mut leave = next.clone();
        leave["outcome"] = "landed".into();
        b.ask("queue/leave", leave);
        holder = enter(&a);
    }
    times.sort_unstable();
    println!(
        "hand-over to another engine: median {:?}, p99 {:?}, worst {:?}",
        times[150], times[296], times[299]
    );
}

fn main() {
    let dir = std::env::args().nth(1).map_or_else(|| tempfile::tempdir().unwrap().keep(), Into::into);
    for callers in [1, 16, 64] {
        for requests in [false, true] {
            mints(&dir, callers, requests);
        }
    }
    engines(&dir, 8);
    hand_over(&dir);
}
