//! Random calls of random clients, answered by SQLite (two engines whose clocks differ) and by the model:
//! the answers must be the same bytes, and an independent history must find nothing wrong with them.
//!
//! A failure prints its seed. `SIGNALBOX_TEST_SEED=… cargo test -p store property` runs that one again. The
//! long run: `SIGNALBOX_TEST_SEQUENCES=10000 cargo test --release -p store property`.

use crate::history::History;
use crate::support::{ManualClock, Open, START};
use fastrand::Rng;
use kernel::{Id, Limits, Millis};
use landing::{
    Call, Ended, Freeze, Hold, Landing, Outcome, Past, Project, Remembered, Slice, Spans, State, Ticket, Turn,
};
use rusqlite::{Connection, Row};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::{Answer, Calls, Model, Options};

const CALLS: usize = 200;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Small limits, so that a short sequence meets their edges. What is dead by age is swept at once, so that
/// both sides forget at the same time.
fn limits() -> Limits {
    Limits {
        live_tickets_max: 4,
        open_holds_max: 3,
        open_holds_total_max: 4,
        freeze_branches_max: 3,
        sweep_max: 10_000,
        ended_shown: 5,
        ..Limits::default()
    }
}

#[test]
fn sqlite_answers_as_the_model_does_and_history_finds_nothing_wrong() {
    let sequences = number("SIGNALBOX_TEST_SEQUENCES", 150);
    if std::env::var_os("SIGNALBOX_TEST_SEED").is_some() {
        sequence(number("SIGNALBOX_TEST_SEED", 0));
        return;
    }
    let first = fastrand::u64(..u64::MAX / 2);
    for seed in first..first + sequences {
        let failed = std::panic::catch_unwind(|| sequence(seed));
        assert!(failed.is_ok(), "SIGNALBOX_TEST_SEED={seed} shows it again");
    }
}

fn sequence(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let dir = tempfile::tempdir().unwrap();
    let clocks = [ManualClock::new(), ManualClock::new()];
    let spans = Options { lease_ms: Some(1_000), turn_ms: Some(5_000), ..Options::default() };
    let engines = clocks.clone().map(|clock| Open::with(dir.path(), clock, limits(), &spans));
    let slice = Slice {
        box_id: engines[0].file.box_id().as_str().to_owned(),
        spans: Spans { lease: 1_000, turn: 5_000, freeze_holds_turns: true },
        ..Slice::default()
    };
    let time = ManualClock::new();
    let model: Model<Landing> = Model::new(slice, limits(), time.clone());
    let eye = Connection::open(dir.path().join("state.db")).unwrap();
    let version = || eye.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut callers = Callers::new(&mut rng);
    let mut history = History::new(1_000, limits().ticket_age_ms);
    let mut now = START;
    for number in 0..CALLS {
        now += advance(&mut rng);
        clocks[0].set(now);
        clocks[1].set(now + callers.skew);
        let engine = rng.usize(..2);
        time.set(if engine == 0 { now } else { now + callers.skew });
        callers.now = now;
        let (name, body) = callers.next(&mut rng);
        let seen = version();
        let answers = both(&engines[engine], &model, name, &body);
        let [answer, expected] = &answers;
        let text = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(answer, expected, "call {number} of seed {seed}: {name} {text}");
        match answer {
            Ok(json) => {
                let body: Value = serde_json::from_slice(&body).unwrap();
                let answer: Value = serde_json::from_slice(json).unwrap();
                callers.learn(name, &body, &answer);
                history.succeeded(name, &body, &answer, json);
            }
            // Nothing was committed, or only requests that are dead by age were swept.
            Err(_) if version() == seen => {}
            Err(_) => {
                let slice = model.with(Clone::clone);
                same(&dump(&eye, &slice), &slice, seed, false);
            }
        }
        if number % 50 == 49 {
            let slice = model.with(Clone::clone);
            same(&dump(&eye, &slice), &slice, seed, true);
        }
    }
}

fn advance(rng: &mut Rng) -> Millis {
    let limits = limits();
    match rng.u8(..100) {
        0..60 => 0,
        60..90 => rng.i64(1..150),
        90..92 => 999,
        92..94 => 1_000,
        94..96 => 5_000,
        96 => rng.i64(1..3_600_000),
        97 => limits.ticket_age_ms,
        _ => -rng.i64(1..2_000),
    }
}

fn both(open: &Open, model: &Model<Landing>, name: &str, body: &[u8]) -> [Answer; 2] {
    let parse = || Call::parse(name, body, open.clock.now(), &open.limits);
    match (parse(), parse()) {
        (Ok(a), Ok(b)) => [open.desk.ask(a), model.ask(b)],
        (a, b) => [Err(a.unwrap_err()), Err(b.unwrap_err())],
    }
}

/// Who calls, what they know, and what they may say.
struct Callers {
    projects: Vec<Id>,
    tickets: Vec<Id>,
    /// The stays that were answered: project, ticket, entry.
    stays: Vec<(String, String, i64)>,
    marks: Vec<String>,
    /// Calls with a request id, to repeat.
    sent: Vec<(&'static str, Vec<u8>)>,
    skew: Millis,
    now: Millis,
}

impl Callers {
    fn new(rng: &mut Rng) -> Self {
        let skew = [0, 0, 0, 300, -300, 700, -700, 3_600_000, -3_600_000][rng.usize(..9)];
        let ids = |count| (0..count).map(|_| Id::random()).collect();
        let (stays, marks, sent) = (Vec::new(), vec!["0.0".to_owned()], Vec::new());
        Self { projects: ids(2), tickets: ids(7), stays, marks, sent, skew, now: START }
    }

    fn learn(&mut self, name: &str, body: &Value, answer: &Value) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        if name == "queue/enter" {
            let entry = answer["entry"].as_i64().unwrap();
            self.stays.push((text(&body["project"]), text(&answer["ticket"]), entry));
        }
        if name == "queue/leave" {
            self.stays
                .retain(|(_, ticket, entry)| *ticket != text(&body["ticket"]) || body["entry"] != *entry);
        }
        if name == "project/replace" {
            self.projects.push(text(&body["replacement"]).parse().unwrap());
        }
        self.marks.extend(answer["mark"].as_str().map(str::to_owned));
    }

    fn next(&mut self, rng: &mut Rng) -> (&'static str, Vec<u8>) {
        if !self.sent.is_empty() && rng.u8(..10) == 0 {
            return self.sent[rng.usize(..self.sent.len())].clone();
        }
        let ticket = self.tickets[rng.usize(..self.tickets.len())].clone();
        let stays = &self.stays[self.stays.len().saturating_sub(5)..];
        let project = match rng.u8(..6) {
            0 => &self.projects[1],
            1 => &self.projects[self.projects.len() - 1],
            _ => &self.projects[0],
        };
        let project = project.as_str().to_owned();
        let (of, known, entry) = stays
            .get(rng.usize(..5))
            .cloned()
            .unwrap_or_else(|| (project.clone(), ticket.as_str().to_owned(), 1));
        let stay = json!({ "project": of, "ticket": known, "entry": entry + i64::from(rng.u8(..15) == 0) });
        let (name, mut body) = match rng.u8(..100) {
            0..15 => ("mint", mint(rng)),
            15..19 => ("hold/open", hold(rng, self.now)),
            19..21 => (
                "hold/close",
                json!({ "name": pick(rng, &["a", "b", "c", "d"]), "owner": pick(rng, &["x", "y"]) }),
            ),
            21..22 => ("hold/list", json!({})),
            22..23 => ("freeze/open", freeze(rng)),
            23..24 => ("freeze/close", close_freeze(rng)),
            24 if rng.u8(..4) == 0 => ("project/replace", json!({ "replacement": Id::random().as_str() })),
            24 => ("mint", mint(rng)),
            25..50 => ("queue/enter", enter(rng, &ticket)),
            50..58 => {
                ("queue/renew", with(stay, rng, "step", |rng| pick(rng, &["build", "test", ""]).into()))
            }
            58..70 => ("queue/wait", with_always(stay, "timeoutMs", json!(0))),
            70..80 => ("queue/leave", leave(rng, stay)),
            80..95 => ("queue/list", list(rng, &self.marks)),
            _ => ("project/lift", lift(rng)),
        };
        if body.get("project").is_none() {
            body["project"] = project.into();
        }
        let takes = !matches!(name, "queue/renew" | "queue/wait" | "queue/list" | "hold/list");
        if takes && rng.bool() {
            let reused = (rng.u8(..15) == 0).then(|| self.request(rng)).flatten();
            body["request"] = reused.unwrap_or_else(|| Id::random().as_str().into());
        }
        if rng.u8(..12) == 0 {
            return (name, spoiled(rng, name, body));
        }
        let bytes = body.to_string().into_bytes();
        if body.get("request").is_some() {
            self.sent.push((name, bytes.clone()));
        }
        (name, bytes)
    }

    /// The request id of another call.
    fn request(&self, rng: &mut Rng) -> Option<Value> {
        let (_, body) = self.sent.get(rng.usize(..self.sent.len().max(1)))?;
        serde_json::from_slice::<Value>(body).unwrap().get("request").cloned()
    }
}

fn with(mut body: Value, rng: &mut Rng, name: &str, value: impl FnOnce(&mut Rng) -> Value) -> Value {
    if rng.bool() {
        body[name] = value(rng);
    }
    body
}

fn with_always(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

fn pick(rng: &mut Rng, from: &[&'static str]) -> &'static str {
    from[rng.usize(..from.len())]
}

fn mint(rng: &mut Rng) -> Value {
    let body = json!({ "scope": pick(rng, &["adr", "db/v", "x"]) });
    let body = with(body, rng, "count", |rng| rng.i64(1..=100).into());
    with(body, rng, "floor", |rng| match rng.u8(..10) {
        0..7 => rng.i64(0..2_000).into(),
        7..9 => rng.i64(0..20_000).into(),
        _ => 1_000_000_000.into(),
    })
}

fn hold(rng: &mut Rng, now: Millis) -> Value {
    let until = now + [-1, 0, 1, 500, 3_000, 86_400_000, 86_400_001][rng.usize(..7)];
    json!({ "name": pick(rng, &["a", "b", "c", "d"]), "owner": pick(rng, &["x", "y"]), "paths": ["api/", "ü"], "until": until })
}

fn freeze(rng: &mut Rng) -> Value {
    let head = "a".repeat(40);
    let all = ["work".to_owned(), format!("work@{head}"), "other".to_owned(), "hotfix".to_owned()];
    let admissions = &all[rng.usize(..4)..];
    let body = json!({ "issue": pick(rng, &["I-1", "I-2"]), "opener": "op", "admissions": admissions });
    with(body, rng, "declaredAt", |rng| rng.i64(0..START).into())
}

fn close_freeze(rng: &mut Rng) -> Value {
    let issues = &["I-1", "I-2"][..rng.usize(1..=2)];
    json!({ "issues": issues })
}

fn enter(rng: &mut Rng, ticket: &Id) -> Value {
    let branch = if rng.u8(..10) == 0 { "other" } else { "work" };
    let head = if rng.u8(..10) == 0 { "b" } else { "a" }.repeat(40);
    let body = json!({ "ticket": ticket.as_str(), "branch": branch, "head": head, "label": pick(rng, &["me", "ü <b>"]) });
    with(body, rng, "step", |_| "start".into())
}

fn leave(rng: &mut Rng, mut stay: Value) -> Value {
    stay["outcome"] = Outcome::ALL[rng.usize(..Outcome::ALL.len())].as_str().into();
    with(
        stay,
        rng,
        "report",
        |rng| json!({ "phases": { "check": rng.i64(0..9_999), "a": 1 }, "files": ["z", "a"] }),
    )
}

fn list(rng: &mut Rng, marks: &[String]) -> Value {
    let body = with_always(json!({}), "timeoutMs", 0.into());
    with(body, rng, "after", |rng| marks[rng.usize(..marks.len())].clone().into())
}

fn lift(rng: &mut Rng) -> Value {
    let body = with(json!({}), rng, "turnNo", |rng| rng.i64(0..30).into());
    with(body, rng, "lines", |rng| {
        let line =
            |rng: &mut Rng| json!({ "scope": pick(rng, &["adr", "x", "new"]), "value": rng.i64(0..3_000) });
        (0..rng.usize(..4)).map(|_| line(rng)).collect()
    })
}

/// A body that breaks some grammar, or is no body at all.
fn spoiled(rng: &mut Rng, name: &str, mut body: Value) -> Vec<u8> {
    // Without its time limit a call would wait, and nobody else calls meanwhile.
    let members = body.as_object().unwrap().keys().filter(|name| *name != "timeoutMs");
    let members: Vec<String> = members.cloned().collect();
    let member = &members[rng.usize(..members.len())];
    match rng.u8(..7) {
        0 => body[member] = Value::Null,
        1 => drop(body.as_object_mut().unwrap().remove(member)),
        2 => body[member] = json!([1, "x", {}, true, -1, 1.5])[rng.usize(..6)].clone(),
        3 => body["unknown"] = name.into(),
        4 => return br#"{"project":1,"project":2}"#.to_vec(),
        5 => return format!("{body} x").into_bytes(),
        _ => body[member] = "\u{0}\u{1F600}".repeat(300).into(),
    }
    body.to_string().into_bytes()
}

/// The tables as a slice, read by statements of the test's own. Lists the projects that `like` has.
fn dump(eye: &Connection, like: &Slice) -> Slice {
    let all = |sql: &str| -> Vec<Vec<rusqlite::types::Value>> {
        let mut stmt = eye.prepare_cached(sql).unwrap();
        let columns = stmt.column_count();
        let row = |row: &Row<'_>| (0..columns).map(|n| row.get(n)).collect();
        stmt.query_map([], row).unwrap().map(Result::unwrap).collect()
    };
    use rusqlite::types::Value as V;
    let int = |v: &V| if let V::Integer(n) = v { *n } else { panic!("{v:?}") };
    let text = |v: &V| if let V::Text(t) = v { t.clone() } else { panic!("{v:?}") };
    let id = |v: &V| text(v).parse::<Id>().unwrap();
    let mut slice = Slice { box_id: like.box_id.clone(), spans: like.spans, ..Slice::default() };
    for row in all("SELECT project, time, turn_no, entry, mark, retired_to FROM projects") {
        let state =
            State { time: int(&row[1]), turn_no: int(&row[2]), entry: int(&row[3]), mark: int(&row[4]) };
        slice.projects.insert(
            id(&row[0]),
            Project { state, retired: (row[5] != V::Null).then(|| id(&row[5])), ..Project::default() },
        );
    }
    fn project<'a>(slice: &'a mut Slice, id: &Id) -> &'a mut Project {
        slice.projects.entry(id.clone()).or_default()
    }
    for row in all("SELECT project, scope, value FROM lines") {
        project(&mut slice, &id(&row[0])).lines.insert(text(&row[1]), int(&row[2]));
    }
    let strings = |v: &V| serde_json::from_str::<Vec<String>>(&text(v)).unwrap();
    for row in all("SELECT project, name, paths, owner, opened_at, until_at FROM holds") {
        let (name, paths, owner) = (text(&row[1]), strings(&row[2]), text(&row[3]));
        let hold = Hold { name: name.clone(), paths, owner, opened_at: int(&row[4]), until: int(&row[5]) };
        project(&mut slice, &id(&row[0])).holds.insert(name, hold);
    }
    for row in all("SELECT project, issues, opener, declared_at, opened_at, admissions FROM freezes") {
        project(&mut slice, &id(&row[0])).freeze = Some(Freeze {
            issues: strings(&row[1]),
            opener: text(&row[2]),
            declared_at: int(&row[3]),
            opened_at: int(&row[4]),
            admissions: strings(&row[5]),
        });
    }
    let ticket = |row: &[V]| Ticket {
        ticket: id(&row[1]),
        entry: int(&row[2]),
        branch: text(&row[3]),
        head: text(&row[4]),
        label: text(&row[5]),
        step: text(&row[6]),
        entered_at: int(&row[7]),
        touched_at: int(&row[8]),
        turn: (row[9] != V::Null).then(|| Turn { no: int(&row[9]), at: int(&row[10]) }),
    };
    const STAY: &str =
        "project, ticket, entry, branch, head, label, step, entered_at, touched_at, turn_no, turn_at";
    for row in all(&format!("SELECT {STAY} FROM tickets ORDER BY project, entry")) {
        project(&mut slice, &id(&row[0])).tickets.push(ticket(&row));
    }
    for row in all(&format!("SELECT {STAY}, ended_at, outcome, report FROM register ORDER BY seq DESC")) {
        let report = (row[13] != V::Null).then(|| serde_json::from_str(&text(&row[13])).unwrap());
        let (at, outcome) = (int(&row[11]), Outcome::parse(&text(&row[12])).unwrap());
        project(&mut slice, &id(&row[0])).ended.push(Ended { ticket: ticket(&row), at, outcome, report });
    }
    for row in all("SELECT project, request, fingerprint, answer, last, at FROM requests") {
        let answer = match &row[3] {
            V::Null => Past::Line(int(&row[4])),
            json => Past::Json(text(json).into_bytes()),
        };
        let what = Remembered { fingerprint: text(&row[2]), answer, at: int(&row[5]) };
        project(&mut slice, &id(&row[0])).requests.insert(id(&row[1]), what);
    }
    slice
}

fn same(found: &Slice, expected: &Slice, seed: u64, requests: bool) {
    let plain = |slice: &Slice| -> BTreeMap<String, Project> {
        let of = |(id, project): (&Id, &Project)| {
            let mut project = project.clone();
            project.known = false;
            if !requests {
                project.requests.clear();
            }
            (id.as_str().to_owned(), project)
        };
        // A project of which nothing stands is none.
        slice.projects.iter().map(of).filter(|(_, project)| *project != Project::default()).collect()
    };
    let (found, expected) = (plain(found), plain(expected));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "seed {seed}");
    for (id, project) in found {
        assert_eq!(project, expected[&id], "seed {seed}");
    }
}
