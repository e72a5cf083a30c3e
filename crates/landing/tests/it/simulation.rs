//! A simulation of many clients with differing clocks, crashes and repeats, judged by a checker that reads
//! only calls and answers.

use crate::{Came, Model, id};
use kernel::{Id, Millis};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the checker knows from the answers alone.
#[derive(Default)]
struct History {
    numbers: HashMap<String, HashSet<i64>>,
    last_turn: i64,
    turns: BTreeMap<i64, (String, i64)>,
    entries: i64,
}

impl History {
    fn minted(&mut self, scope: &str, answer: &Value, repeat: bool) {
        let (first, last) = (answer["first"].as_i64().unwrap(), answer["last"].as_i64().unwrap());
        assert_eq!(last - first + 1, answer["count"].as_i64().unwrap(), "a block has no gap");
        for number in first..=last {
            let fresh = self.numbers.entry(scope.to_owned()).or_default().insert(number);
            assert!(fresh != repeat, "{scope} {number}: issued twice, or a repeat was given a fresh one");
        }
    }

    /// The queue right after a call, as anybody reads it.
    fn queue(&mut self, list: &Value) {
        let tickets = list["tickets"].as_array().unwrap();
        let holders: Vec<_> = tickets.iter().filter(|t| t["turn"] == true).collect();
        assert!(holders.len() <= 1, "two turns at once: {list}");
        assert!(tickets.is_empty() || holders.len() == 1, "somebody waits and nobody has the turn: {list}");
        let waiting: Vec<i64> =
            tickets.iter().filter(|t| t["turn"] == false).map(|t| t["entry"].as_i64().unwrap()).collect();
        assert!(waiting.is_sorted(), "the order of the queue changed: {list}");
        if let Some(holder) = holders.first() {
            let (no, entry) = (holder["turnNo"].as_i64().unwrap(), holder["entry"].as_i64().unwrap());
            let stay = (holder["ticket"].as_str().unwrap().to_owned(), entry);
            if let Some(standing) = self.turns.get(&no) {
                assert_eq!(*standing, stay, "one turn number, two stays");
            } else {
                assert!(no > self.last_turn, "a turn number went back");
                assert!(waiting.iter().all(|w| *w > entry), "the turn passed somebody by: {list}");
                self.last_turn = no;
                self.turns.insert(no, stay);
            }
        }
    }

    fn entered(&mut self, answer: &Value) {
        let entry = answer["entry"].as_i64().unwrap();
        assert!(entry <= self.entries + 1, "an entry number was skipped");
        self.entries = self.entries.max(entry);
    }
}

struct Client {
    ticket: u64,
    entry: Option<i64>,
    skew: Millis,
}

fn simulate(seed: u64, events: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut model = Model::new();
    model.slice.spans.turn = 900_000;
    model.limits.ended_shown = 2;
    let mut history = History::default();
    let mut next_ticket = 10;
    let mut requests: Vec<(Id, Value, Value)> = Vec::new();
    let mut next_request = 1 << 40;
    let skews = [0, 0, 0, 5_000, -5_000, 3_600_000, -3_600_000, 1];
    let mut clients: Vec<Client> =
        skews.into_iter().zip(2..).map(|(skew, ticket)| Client { ticket, entry: None, skew }).collect();
    for _ in 0..events {
        model.now += [0, 1, 10, 1_000, 20_000, 120_000, 400_000][rng.usize(0..7)];
        if rng.u32(0..200) == 0 {
            model.now -= rng.i64(0..600_000);
        }
        let at = rng.usize(0..clients.len());
        let client = &mut clients[at];
        let now = model.now + client.skew;
        let before = model.slice.clone();
        let came = match rng.u32(0..10) {
            0..=2 => {
                let body = json!({ "ticket": id(client.ticket).as_str(), "branch": "b", "head": "a".repeat(40), "label": "l" });
                let came = model.call_at("queue/enter", body, now);
                if let Came::Answer(answer) = &came {
                    history.entered(answer);
                    client.entry = answer["entry"].as_i64();
                }
                came
            }
            3 | 4 => {
                let body =
                    json!({ "ticket": id(client.ticket).as_str(), "entry": client.entry.unwrap_or(1) });
                model.call_at(if rng.bool() { "queue/renew" } else { "queue/wait" }, body, now)
            }
            5 => {
                let body = json!({ "ticket": id(client.ticket).as_str(), "entry": client.entry.unwrap_or(1), "outcome": "landed" });
                let came = model.call_at("queue/leave", body, now);
                if matches!(came, Came::Answer(_)) {
                    client.entry = None;
                }
                came
            }
            6 => {
                // It crashed, and comes back as somebody else.
                client.ticket = next_ticket;
                client.entry = None;
                next_ticket += 1;
                continue;
            }
            7 if !requests.is_empty() && rng.bool() => {
                let (_, body, answer) = &requests[rng.usize(0..requests.len())];
                let came = model.call_at("mint", body.clone(), now);
                if let Came::Answer(again) = &came {
                    assert_eq!(again, answer, "seed {seed}: a repeat got another answer");
                }
                came
            }
            _ => {
                let scope = ["a", "b/c"][rng.usize(0..2)];
                let mut body = json!({ "scope": scope, "count": rng.i64(1..5) });
                if rng.u32(0..4) == 0 {
                    body["floor"] = rng.i64(0..3_000).into();
                }
                body["request"] = id(next_request).as_str().into();
                let came = model.call_at("mint", body.clone(), now);
                if let Came::Answer(answer) = &came {
                    history.minted(scope, answer, false);
                    requests.push((id(next_request), body, answer.clone()));
                    requests.drain(..requests.len().saturating_sub(20));
                }
                next_request += 1;
                came
            }
        };
        if matches!(came, Came::Refused(..)) {
            assert_eq!(model.slice, before, "seed {seed}: a refusal changed something");
        }
        let project = model.project.clone();
        if let (Some(then), Some(project)) =
            (before.projects.get(&project), model.slice.projects.get(&project))
        {
            assert!(project.state.time >= then.state.time, "seed {seed}: the project's time ran backwards");
        }
        let latest = model.now;
        if let Came::Answer(list) = model.call_at("queue/list", json!({}), latest) {
            history.queue(&list);
        }
        if let Some(project) = model.slice.projects.get_mut(&project) {
            project.ended.truncate(20);
            // A store loads the requests that a call names; those that nobody repeats need not stay here.
            project.requests.retain(|request, _| requests.iter().any(|(known, ..)| known == request));
        }
    }
    assert!(history.turns.len() > events / 100, "seed {seed}: hardly anything happened");
}

/// `SIGNALBOX_TEST_SEED` repeats one seed; `SIGNALBOX_TEST_EVENTS` says how many events there are in all
/// (a million: with `--release`).
#[test]
fn simulation_no_number_twice_never_two_turns_order_kept_a_refusal_changes_nothing() {
    if let Ok(seed) = std::env::var("SIGNALBOX_TEST_SEED") {
        return simulate(seed.parse().unwrap(), 10_000);
    }
    let events: u64 = std::env::var("SIGNALBOX_TEST_EVENTS").map_or(40_000, |n| n.parse().unwrap());
    let first = fastrand::u64(..1 << 40);
    let rounds = events.div_ceil(10_000);
    println!("seeds {first} to {}", first + rounds - 1);
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                for seed in (first..first + rounds).skip(half).step_by(2) {
                    simulate(seed, 10_000);
                }
            });
        }
    });
}
