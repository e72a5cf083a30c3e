//! `signalbox limits`.

use super::Context;
use crate::outcome::line;
use passage::end::{End, columns, exit};
use passage::limits::{Amount, InForce, Limit, Of, in_force};
use serde_json::{Map, Value};

pub(super) fn run(context: &Context) -> Result<End, End> {
    let in_force = in_force(&context.cwd, context.state.as_deref(), context.clock.as_ref())?;
    let out = &mut std::io::stdout();
    if context.json {
        let mut object = Map::new();
        object.insert("event".into(), "limits".into());
        object.extend(in_force.limits.iter().map(|limit| (limit.name.to_owned(), value(limit))));
        line(out, &Value::Object(object).to_string());
    } else {
        for text in table(&in_force) {
            line(out, &text);
        }
    }
    Ok(End::new(exit::DONE, "shown", "").fact("defaults", in_force.defaults))
}

fn value(limit: &Limit) -> Value {
    match limit.amount {
        Amount::Span(ms) => ms.into(),
        Amount::Bytes(bytes) => bytes.into(),
        Amount::Count(count) => count.into(),
        Amount::Switch(on) => on.into(),
    }
}

fn table(in_force: &InForce) -> Vec<String> {
    let own = if in_force.defaults {
        "of a box that `signalbox init` makes (this is the default; there is none here)"
    } else {
        "of this box (`signalbox init` sets them)"
    };
    let groups = [
        (Of::Box, own),
        (Of::Version, "of this version"),
        (Of::Service, "of a service (a local state has no rates)"),
    ];
    let amounts = in_force.limits.iter().map(|limit| columns(&limit.amount.told()));
    let names = in_force.limits.iter().map(|limit| columns(limit.name));
    let (amount, name) = (amounts.max().unwrap_or(0), names.max().unwrap_or(0));
    let mut lines = Vec::new();
    for (of, heading) in groups {
        lines.push(heading.to_owned());
        let group = in_force.limits.iter().filter(|limit| limit.of == of);
        lines.extend(group.map(|l| format!("  {:<name$}  {:>amount$}  {}", l.name, l.amount.told(), l.what)));
    }
    lines
}
