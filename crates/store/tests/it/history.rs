//! Judges answers by what was promised, knowing nothing of the code that gave them.

use kernel::Millis;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A stay as the answers showed it last.
#[derive(Debug, Clone)]
struct Seen {
    ticket: String,
    touched: Millis,
    entered: Millis,
    ended: bool,
    turn: Option<i64>,
}

#[derive(Debug, Default)]
struct Project {
    issued: BTreeMap<String, BTreeSet<i64>>,
    /// What each line was seen to have reached.
    reached: BTreeMap<String, i64>,
    stays: BTreeMap<i64, Seen>,
    /// The latest turn, and whose it is.
    turn: (i64, Option<i64>),
    /// How many lifts since then have taken the turn away from somebody; no answer needs to have shown whom.
    robbed: usize,
    /// Whether a freeze stands, or stood when the latest turn began or since.
    frozen: bool,
    thawed: bool,
    /// The latest time that the project was seen to have.
    time: Millis,
}

/// What has been answered so far.
#[derive(Debug)]
pub(crate) struct History {
    lease: Millis,
    age: Millis,
    projects: HashMap<String, Project>,
    /// Remembered requests: a repeat is the same bytes and no new event.
    requests: HashMap<(String, String), Vec<u8>>,
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no integer: {value}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

impl History {
    pub(crate) fn new(lease: Millis, age: Millis) -> Self {
        Self { lease, age, projects: HashMap::new(), requests: HashMap::new() }
    }

    /// A call was answered with success.
    pub(crate) fn succeeded(&mut self, name: &str, body: &Value, answer: &Value, bytes: &[u8]) {
        let id = text(&body["project"]);
        if let Some(request) = body["request"].as_str() {
            let key = (id.clone(), request.to_owned());
            if let Some(past) = self.requests.insert(key, bytes.to_vec())
                && past == bytes
            {
                // Either a past answer, or a mint that after seven days gave other numbers.
                return;
            }
        }
        let (lease, age) = (self.lease, self.age);
        let project = self.projects.entry(id).or_default();
        match name {
            "mint" => project.minted(body, answer),
            "project/lift" => project.lifted(body, answer),
            "queue/enter" | "queue/renew" | "queue/wait" => {
                project.saw(answer, lease, age);
                project.passed(int(&answer["touchedAt"]), name != "queue/wait");
            }
            "queue/leave" => {
                assert_eq!(answer["outcome"], body["outcome"]);
                let stay = project.stays.get_mut(&int(&body["entry"])).expect("a stay that entered");
                assert!(!stay.ended, "a stay ends once");
                stay.ended = true;
            }
            "queue/list" => project.listed(answer, lease, age),
            "hold/open" => assert_eq!(answer["owner"], body["owner"]),
            "hold/close" => assert_eq!(answer["closed"], true),
            "hold/list" => {}
            "freeze/open" => {
                project.frozen = true;
                project.thawed = false;
            }
            "freeze/close" => project.thawed = true,
            "project/replace" => {
                // Its time is its own: it begins at the clock.
                let fresh = Project {
                    issued: project.issued.clone(),
                    reached: project.reached.clone(),
                    turn: (project.turn.0, None),
                    frozen: project.frozen,
                    thawed: project.thawed,
                    ..Project::default()
                };
                self.projects.entry(text(&body["replacement"])).or_insert(fresh);
            }
            other => panic!("{other}"),
        }
    }
}

impl Project {
    fn minted(&mut self, body: &Value, answer: &Value) {
        let (first, last, count) = (int(&answer["first"]), int(&answer["last"]), int(&answer["count"]));
        assert_eq!(last - first + 1, count);
        assert_eq!(count, body["count"].as_i64().unwrap_or(1));
        let scope = text(&answer["scope"]);
        assert!(first > body["floor"].as_i64().unwrap_or(0), "above the floor");
        let reached = self.reached.entry(scope.clone()).or_default();
        assert!(first > *reached, "a line goes on from {reached}, not from {first}");
        *reached = last;
        let issued = self.issued.entry(scope).or_default();
        for number in first..=last {
            assert!(issued.insert(number), "{number} was issued twice");
        }
    }

    fn lifted(&mut self, body: &Value, answer: &Value) {
        let turn = int(&answer["turnNo"]);
        assert!(turn >= self.turn.0.max(body["turnNo"].as_i64().unwrap_or(0)), "turns only grow");
        if turn > self.turn.0 {
            self.turn = (turn, None);
            self.robbed += 1;
        }
        for line in answer["lines"].as_array().unwrap() {
            let (scope, value) = (text(&line["scope"]), int(&line["value"]));
            let reached = self.reached.entry(scope).or_default();
            assert!(value >= *reached, "a lift never lowers");
            *reached = value;
        }
    }

    /// A time that a call wrote: the project's time never runs backwards.
    fn passed(&mut self, time: Millis, latest: bool) {
        if latest {
            assert!(time >= self.time, "the project's time went back from {} to {time}", self.time);
        }
        self.time = self.time.max(time);
    }

    /// A ticket as an answer shows it.
    fn saw(&mut self, view: &Value, lease: Millis, age: Millis) {
        let entry = int(&view["entry"]);
        let (touched, entered) = (int(&view["touchedAt"]), int(&view["enteredAt"]));
        let ticket = text(&view["ticket"]);
        assert_eq!(view["turn"] == true, int(&view["position"]) == 0);
        let turn = view["turnNo"].as_i64();
        if let Some(old) = self.stays.get(&entry) {
            assert!(!old.ended, "who ended is not in the queue");
            assert_eq!(old.ticket, ticket, "an entry is one stay's");
            assert!(old.turn.is_none() || old.turn == turn, "a turn keeps its number");
        } else {
            let latest = self.stays.keys().next_back().copied().unwrap_or(0);
            assert!(entry > latest, "entries only grow");
        }
        self.stays.insert(entry, Seen { ticket, touched, entered, ended: false, turn });
        if let Some(no) = turn {
            self.has_turn(entry, no, int(&view["turnAt"]), lease, age);
        }
    }

    /// The stay has that turn, which began at `at`.
    fn has_turn(&mut self, entry: i64, no: i64, at: Millis, lease: Millis, age: Millis) {
        assert!(no >= self.turn.0, "a turn that is not the latest is none");
        if no == self.turn.0 {
            assert!(self.turn.1.is_none_or(|owner| owner == entry), "two have turn {no}");
        } else {
            self.passed(at, false);
            let lives = |seen: &Seen| {
                let lapsed = at - seen.touched >= lease || at - seen.entered >= age;
                !seen.ended && !lapsed && seen.turn.is_none()
            };
            let before = self.stays.range_mut(..entry).map(|(_, seen)| seen);
            let passed_over: Vec<_> = before.filter(|seen| lives(seen)).collect();
            assert!(
                self.frozen || passed_over.len() <= self.robbed,
                "{passed_over:?} were before {entry} when its turn began"
            );
            if !self.frozen {
                // A lift took their turns, so this beginning has ended them.
                passed_over.into_iter().for_each(|seen| seen.ended = true);
            }
            self.robbed = 0;
            self.frozen &= !self.thawed;
        }
        self.turn = (no, Some(entry));
    }

    fn listed(&mut self, answer: &Value, lease: Millis, age: Millis) {
        for row in answer["ended"].as_array().unwrap() {
            let seen = self.stays.get_mut(&int(&row["entry"])).expect("who ended had entered");
            seen.ended = true;
            seen.turn = seen.turn.or(row["turnNo"].as_i64());
        }
        let tickets = answer["tickets"].as_array().unwrap();
        assert!(tickets.iter().filter(|t| t["turn"] == true).count() <= 1, "two turns");
        let frozen = !answer["freeze"].is_null();
        let idle = tickets.first().is_none_or(|first| first["turn"] == false);
        assert!(tickets.is_empty() || !idle || frozen, "who is first has the turn");
        if idle {
            assert!(tickets.iter().all(|t| !t["blocked"].is_null()), "the freeze keeps all that wait");
        }
        let waiting: Vec<i64> =
            tickets.iter().filter(|t| t["turn"] == false).map(|t| int(&t["entry"])).collect();
        assert!(waiting.is_sorted(), "the queue keeps its order");
        for (position, ticket) in (i64::from(idle)..).zip(tickets) {
            assert_eq!(int(&ticket["position"]), position);
            self.saw(ticket, lease, age);
        }
    }
}
