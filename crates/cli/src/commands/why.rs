//! `signalbox why`.

use super::Context;
use crate::args::Why;
use crate::outcome;
use crate::times::time_of_day;
use passage::end::{End, exit};
use passage::why::{self, Answer};
use serde_json::Value;

pub(super) fn run(context: &Context, args: &Why) -> Result<End, End> {
    let answers = match context.site() {
        Ok(site) => {
            let label = Context::label(&site)?;
            let now = context.clock.now();
            why::ask(&site, args.name.as_deref(), &label, &|at| time_of_day(at, now))?
        }
        Err(end) => why::unready(end)?,
    };
    let mut ends: Vec<End> = answers.iter().map(told).collect();
    if ends.len() == 1 {
        return Ok(ends.remove(0));
    }
    for end in &ends {
        outcome::print_event("why", end, context.json);
    }
    Ok(End::new(exit::DONE, "shown", "").fact("answers", ends.len()))
}

fn told(answer: &Answer) -> End {
    why::told(&answer.causes)
        .fact("branch", answer.branch.clone().map_or(Value::Null, Value::from))
        .fact("ticket", answer.ticket.clone().map_or(Value::Null, Value::from))
}
