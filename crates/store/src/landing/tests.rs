use super::writes as texts;
use super::*;
use crate::port::{Deal, Value};
use crate::sqlite::query;
use crate::sqlite::schema;
use landing::Mint;
use rusqlite::Connection;

const STATEMENTS: &[&str] = &[
    BOX,
    PROJECT,
    TICKETS,
    ENDED,
    HOLDS,
    FREEZE,
    OPEN_HOLDS,
    KNOWN,
    LINE,
    REQUEST,
    MARK,
    texts::MINT,
    texts::REMEMBER_MINT,
    texts::PUT_LINE,
    texts::PUT_STATE,
    texts::PUT_TICKET,
    texts::DROP_TICKET,
    texts::APPEND,
    texts::REMEMBER,
    texts::FORGET,
    texts::PUT_HOLD,
    texts::DROP_HOLD,
    texts::PUT_FREEZE,
    texts::DROP_FREEZE,
    texts::COPY_LINES,
    texts::RETIRE,
];

fn tables() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    schema::migrate(&conn, 0).unwrap();
    conn
}

/// The numbers of the parameters, in the order of the text.
fn parameters(sql: &str) -> Vec<usize> {
    let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse();
    sql.split('?').skip(1).map(|rest| number(rest).expect("a numbered parameter")).collect()
}

#[test]
fn every_statement_serves_both_engines() {
    let conn = tables();
    for sql in STATEMENTS {
        let prepared = conn.prepare(sql).unwrap();
        let numbers: BTreeSet<usize> = parameters(sql).into_iter().collect();
        assert_eq!(numbers, (1..=prepared.parameter_count()).collect(), "no gaps: {sql}");
        let upper = sql.to_uppercase();
        for banned in
            ["$", "::", "GREATEST", "MAX(", "->", "LIKE", "INSTR", "JSON", "*", "NOW", "CURRENT_", "%"]
        {
            assert!(!upper.contains(banned), "{banned} in {sql}");
        }
        assert!(!upper.contains("SELECT *") && !sql.contains('\''), "{sql}");
    }
}

#[test]
fn every_read_goes_by_an_index_so_that_what_ended_costs_nothing() {
    let conn = tables();
    for sql in STATEMENTS.iter().filter(|sql| **sql != BOX) {
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let binds = vec![rusqlite::types::Value::Null; plan.parameter_count()];
        let steps = plan.query_map(rusqlite::params_from_iter(binds), |row| row.get::<_, String>(3)).unwrap();
        for step in steps.map(Result::unwrap) {
            let scans = step.contains("SCAN") && step != "SCAN CONSTANT ROW";
            assert!(!scans && !step.contains("TEMP B-TREE"), "{step}: {sql}");
        }
    }
    let plan = "EXPLAIN QUERY PLAN ".to_owned() + ENDED;
    let step: String = conn.query_row(&plan, ["p", "20"], |row| row.get(3)).unwrap();
    assert!(step.contains("register_by_project"), "{step}");
}

fn id(n: u8) -> Id {
    format!("00000000-0000-4000-8000-0000000000{n:02x}").parse().unwrap()
}

fn mint(project: &Id, scope: &str, floor: i64, count: i64) -> Mint {
    Mint { project: project.clone(), scope: scope.into(), floor, count, lift_max: 1_000 }
}

#[test]
fn mints_without_a_floor_are_one_upsert_a_line_in_key_order() {
    let (a, b) = (id(1), id(2));
    let of = |mint: Mint| Change::Mint(mint);
    let changes = [
        of(mint(&b, "x", 0, 1)),
        of(mint(&a, "y", 0, 2)),
        of(mint(&b, "x", 9, 3)),
        of(mint(&a, "x", 0, 4)),
        of(mint(&b, "x", 0, 5)),
    ];
    let writes = texts::writes(&changes);
    let binds: Vec<_> = writes.stmts.iter().map(|stmt| &stmt.binds[..4]).collect();
    let expected = |project: &Id, scope: &str, floor: i64, count: i64| {
        [Value::from(project), scope.into(), floor.into(), count.into()]
    };
    assert_eq!(
        binds,
        [expected(&a, "x", 0, 4), expected(&a, "y", 0, 2), expected(&b, "x", 0, 6), expected(&b, "x", 9, 3),]
    );
    let deal = |stmt, minus| Some(Deal { stmt, minus });
    assert_eq!(writes.deals, [deal(2, 5), deal(1, 0), deal(3, 0), deal(0, 0), deal(2, 0)]);
}

#[test]
fn the_last_put_of_a_row_wins() {
    let project = id(1);
    let state = |mark| Change::State { project: project.clone(), state: State { mark, ..State::default() } };
    let writes = texts::writes(&[state(1), state(2)]);
    assert_eq!(writes.stmts.len(), 1);
    assert_eq!(writes.stmts[0].binds[4], Value::Int(2));
}

/// The statements of any group, run on a database, give every mint the numbers that the rule gives when the
/// calls are taken one by one in an order that concurrent calls may have.
#[test]
fn the_statements_of_a_group_agree_with_the_rule() {
    let project = id(1);
    for seed in 0..2_000 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let conn = tables();
        let mut line: Option<i64> = None;
        for round in 0..3u8 {
            let puts = rng.bool();
            let mut changes = Vec::new();
            for n in 0..rng.u8(1..8) {
                if puts && rng.u8(..4) == 0 {
                    let value = rng.i64(0..3_000);
                    // The rule has read the line and never lowers it; that it comes out as the greater of
                    // both is the statement's part here.
                    changes.push(Change::Line { project: project.clone(), scope: "x".into(), value });
                    continue;
                }
                let floor = [0, 0, rng.i64(0..4_000), 100_000][rng.usize(..4)];
                let mint = mint(&project, "x", floor, rng.i64(1..10));
                changes.push(Change::Mint(mint.clone()));
                if rng.bool() {
                    let request = id(round * 16 + n);
                    changes.push(Change::RememberMint { mint, request, fingerprint: "f".into(), at: 5 });
                }
            }
            let writes = texts::writes(&changes);
            let rows: Vec<Rows> = writes.stmts.iter().map(|stmt| query(&conn, stmt).unwrap()).collect();

            let mut order: Vec<usize> = (0..changes.len()).collect();
            if !changes.iter().any(|change| matches!(change, Change::Line { .. })) {
                order.sort_by_key(|n| matches!(&changes[*n], Change::Mint(mint) if mint.floor != 0));
            }
            for n in order {
                match &changes[n] {
                    Change::Line { value, .. } => line = Some(line.unwrap_or(0).max(*value)),
                    Change::Mint(mint) => {
                        let expected = mint.applied_to(line);
                        line = expected.or(line);
                        let deal = writes.deals[n].unwrap();
                        let got = rows[deal.stmt].first().map(|row| row.int(0).unwrap() - deal.minus);
                        assert_eq!(got, expected, "seed {seed}");
                        if let Some(Change::RememberMint { request, .. }) = changes.get(n + 1) {
                            let stmt = Stmt::new(REQUEST, vec![(&project).into(), request.into()]);
                            let kept = query(&conn, &stmt).unwrap();
                            let kept = kept.first().map(|row| row.int(2).unwrap());
                            assert_eq!(kept, expected, "seed {seed}");
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
