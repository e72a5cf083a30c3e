//! Reading the list. What the format does not know is refused here; what the format cannot say is in
//! `check.rs`.

use crate::list::{
    Body, By, CallRow, CallStep, Case, CodeRow, Expect, HttpStep, List, Piece, Settings, Step, Tag, Then,
};
use crate::read::{Members, boolean, integer, object, strings, text};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl List {
    /// Reads a list.
    ///
    /// # Errors
    /// What the format does not know, and where it stands.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let members = kernel::json::object(bytes).map_err(|fault| format!("the list: {fault:?}"))?;
        let mut list = Members::new(members, "the list");
        let mut constants = table(list.must("constants")?, "constants", integer)?;
        for (name, value) in table(list.must("ownConstants")?, "ownConstants", integer)? {
            if constants.insert(name.clone(), value).is_some() {
                return Err(format!("the constant {name} stands twice"));
            }
        }
        let read = Self {
            constants,
            no_edge: table(list.must("noEdge")?, "noEdge", text)?,
            calls: table(list.must("calls")?, "calls", call_row)?,
            codes: table(list.must("codes")?, "codes", code_row)?,
            cases: match list.must("cases")? {
                Value::Array(cases) => cases.into_iter().map(case).collect::<Result<_, _>>()?,
                _ => return Err("cases are no array".into()),
            },
        };
        list.end()?;
        Ok(read)
    }
}

fn table<T>(
    value: Value,
    at: &str,
    row: impl Fn(Value, &str) -> Result<T, String>,
) -> Result<BTreeMap<String, T>, String> {
    let rows = object(value, at)?.into_iter().map(|(name, value)| {
        let read = row(value, &format!("{at}: {name}"))?;
        Ok((name, read))
    });
    rows.collect()
}

fn call_row(value: Value, at: &str) -> Result<CallRow, String> {
    let mut row = Members::new(object(value, at)?, at);
    let required = |value: Value, at: &str| match value.as_str() {
        Some("required") => Ok(true),
        Some("optional") => Ok(false),
        _ => Err(format!("{at} is neither required nor optional")),
    };
    let read = CallRow {
        request: boolean(&row.must("request")?, at)?,
        members: table(row.must("members")?, at, required)?,
        plain: object(row.must("plain")?, at)?,
    };
    row.end()?;
    Ok(read)
}

fn code_row(value: Value, at: &str) -> Result<CodeRow, String> {
    let mut row = Members::new(object(value, at)?, at);
    let read = CodeRow {
        status: status(row.must("status")?, at)?,
        retry: text(row.must("retry")?, at)?,
        retry_after_ms: row.may("retryAfterMs").map(|ms| integer(ms, at)).transpose()?,
        by: match row.must("by")?.as_str() {
            Some("rules") => By::Rules,
            Some("transport") => By::Transport,
            Some("engine") => By::Engine,
            _ => return Err(format!("{at} is by nobody known")),
        },
    };
    row.end()?;
    Ok(read)
}

fn case(value: Value) -> Result<Case, String> {
    let mut case = Members::new(object(value, "a case")?, "a case");
    let name = text(case.must("name")?, "the name of a case")?;
    let at = format!("“{name}”");
    case.at(&at);
    let tag = |tag: String| match tag.as_str() {
        "http" => Ok(Tag::Http),
        "beyond" => Ok(Tag::Beyond),
        _ => Err(format!("{at}: there is no tag {tag}")),
    };
    let read = Case {
        tags: strings(case.may("tags"), &at)?.into_iter().map(tag).collect::<Result<_, _>>()?,
        edges: strings(case.may("edges"), &at)?,
        settings: case.may("settings").map_or_else(|| Ok(Settings::default()), |v| settings(v, &at))?,
        steps: steps(case.must("steps")?, &at)?,
        name,
    };
    case.end()?;
    Ok(read)
}

fn settings(value: Value, at: &str) -> Result<Settings, String> {
    let mut set = Members::new(object(value, at)?, at);
    let calls = |value: Value, at: &str| strings(Some(value), at);
    let read = Settings {
        lease_ms: set.may("leaseMs").map(|ms| integer(ms, at)).transpose()?,
        turn_ms: set.may("turnMs").map(|ms| integer(ms, at)).transpose()?,
        freeze_holds_turns: set.may("freezeHoldsTurns").map(|on| boolean(&on, at)).transpose()?,
        rates: set.may("rates").map_or(Ok(false), |on| boolean(&on, at))?,
        tokens: set.may("tokens").map_or_else(|| Ok(BTreeMap::new()), |all| table(all, at, calls))?,
    };
    set.end()?;
    Ok(read)
}

fn steps(value: Value, at: &str) -> Result<Vec<Step>, String> {
    let Value::Array(steps) = value else { return Err(format!("{at}: steps are no array")) };
    let steps = steps.into_iter().enumerate();
    steps.map(|(n, value)| step(value, &format!("{at}, step {}", n + 1))).collect()
}

fn step(value: Value, at: &str) -> Result<Step, String> {
    let mut step = Members::new(object(value, at)?, at);
    let read = if let Some(call) = step.may("call") {
        Step::Call(call_step(&mut step, call, at)?)
    } else if let Some(of) = step.may("repeat") {
        let expect = step.may("expect").map(|value| expect(value, at)).transpose()?;
        Step::Repeat { of: text(of, at)?, expect }
    } else if let Some(of) = step.may("answers") {
        Step::Answers { of: text(of, at)?, expect: expect(step.must("expect")?, at)? }
    } else if let Some(of) = step.may("waiting") {
        Step::Waiting(strings(Some(of), at)?)
    } else if let Some(by) = step.may("advance") {
        Step::Advance(by)
    } else if let Some(count) = step.may("times") {
        let counter =
            step.may("counter").map_or_else(|| Ok(crate::value::COUNTER.into()), |c| text(c, at))?;
        Step::Times { count, counter, steps: steps(step.must("steps")?, at)? }
    } else if let Some(method) = step.may("http") {
        let header = |value: Value, at: &str| text(value, at);
        Step::Http(HttpStep {
            method: text(method, at)?,
            path: text(step.must("path")?, at)?,
            headers: step.may("headers").map_or_else(|| Ok(BTreeMap::new()), |h| table(h, at, header))?,
            body: step.may("body"),
            expect: expect(step.must("expect")?, at)?,
        })
    } else {
        return Err(format!("{at}: there is no such kind of step"));
    };
    step.end()?;
    Ok(read)
}

fn call_step(step: &mut Members, call: Value, at: &str) -> Result<CallStep, String> {
    let bodies = [step.may("with"), step.may("body"), step.may("raw")];
    let body = match bodies {
        [None, None, None] => Body::With(Map::new()),
        [Some(with), None, None] => Body::With(object(with, at)?),
        [None, Some(whole), None] => Body::Whole(whole),
        [None, None, Some(raw)] => Body::Raw(pieces(raw, at)?),
        _ => return Err(format!("{at} has more than one body")),
    };
    let then = match (step.may("waits"), step.may("expect")) {
        (Some(label), None) => Then::Waits(text(label, at)?),
        (None, Some(value)) => Then::Answers(Box::new(expect(value, at)?)),
        _ => return Err(format!("{at} expects nothing, or an answer of a call that waits")),
    };
    Ok(CallStep {
        call: text(call, at)?,
        body,
        pad_to: step.may("padTo"),
        label: step.may("as").map(|label| text(label, at)).transpose()?,
        copies: step.may("copies").map_or(Ok(1), |copies| integer(copies, at))?,
        then,
    })
}

fn pieces(raw: Value, at: &str) -> Result<Vec<Piece>, String> {
    let Value::Array(pieces) = raw else { return Ok(vec![Piece::Text(raw)]) };
    let piece = |piece: Value| match piece.get("$hex").and_then(Value::as_str) {
        Some(hex) => hex_bytes(hex).map(Piece::Bytes).ok_or_else(|| format!("{at}: {hex} is no hex")),
        None => Ok(Piece::Text(piece)),
    };
    pieces.into_iter().map(piece).collect()
}

fn hex_bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes = pairs.map(|pair| pair.filter(|p| p.len() == 2).and_then(|p| u8::from_str_radix(p, 16).ok()));
    bytes.collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

fn expect(value: Value, at: &str) -> Result<Expect, String> {
    let mut expect = Members::new(object(value, at)?, at);
    let read = Expect {
        status: expect.may("status").map(|value| status(value, at)).transpose()?,
        code: expect.may("code").map(|code| text(code, at)).transpose()?,
        member: expect.may("member").map(|member| text(member, at)).transpose()?,
        says: strings(expect.may("says"), at)?,
        has: expect.may("has"),
        at: expect
            .may("at")
            .map_or_else(|| Ok(BTreeMap::new()), |at_| table(at_, at, |value, _| Ok(value)))?,
        is: expect.may("is"),
        text: expect.may("text"),
        same: expect.may("same").map(|same| text(same, at)).transpose()?,
        bind: expect.may("bind").map_or_else(|| Ok(BTreeMap::new()), |bind| table(bind, at, text))?,
        headers: expect.may("headers").map_or_else(|| Ok(BTreeMap::new()), |h| table(h, at, text))?,
    };
    expect.end()?;
    match (read.status, &read.code) {
        (None, None) => Err(format!("{at} expects neither a status nor a code")),
        (Some(_), Some(_)) => Err(format!("{at} expects a status beside a code, which has its own")),
        _ => Ok(read),
    }
}

fn status(value: Value, at: &str) -> Result<u16, String> {
    u16::try_from(integer(value, at)?).map_err(|_| format!("{at}: no status"))
}
