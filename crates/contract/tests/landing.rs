//! The contract on the implementations that need no server: the rules in memory, and SQLite.

use client::{Local, Signals, Unreached};
use contract::{Clock, Facts, Fresh, Implementation, Opened};
use kernel::{Limits, Refusal};
use landing::{Call, Landing, Slice, Spans};
use std::process::ExitCode;
use std::sync::Arc;
use store::{Calls, Model, Options, StateFile};

fn main() -> ExitCode {
    contract::main(vec![implementation("model", model), implementation("sqlite", sqlite)])
}

fn implementation(name: &'static str, open: fn(&Fresh) -> Result<Opened, String>) -> Implementation {
    Implementation { name, facts: Facts::of_the_rules(), transport: false, open: Box::new(open) }
}

/// The rules over one slice in memory.
struct InMemory {
    model: Model<Landing>,
    clock: Arc<Clock>,
    limits: Limits,
}

impl Signals for InMemory {
    fn post(&self, call: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Unreached> {
        let refused = |refusal: Refusal| (refusal.code.status(), refusal.body());
        let call = Call::parse(call, body, self.clock.reads(), &self.limits);
        let answer = call.and_then(|call| self.model.ask(call));
        Ok(answer.map_or_else(refused, |json| (200, json)))
    }
}

fn model(fresh: &Fresh) -> Result<Opened, String> {
    let (limits, plain, settings) = (Limits::default(), Spans::default(), &fresh.settings);
    let spans = Spans {
        lease: settings.lease_ms.unwrap_or(plain.lease),
        turn: settings.turn_ms.unwrap_or(plain.turn),
        freeze_holds_turns: settings.freeze_holds_turns.unwrap_or(plain.freeze_holds_turns),
    };
    let slice = Slice { box_id: kernel::Id::random().as_str().to_owned(), spans, ..Slice::default() };
    let model = Model::new(slice, limits.clone(), Arc::clone(&fresh.clock) as Arc<dyn kernel::Clock>);
    let box_ = Arc::new(InMemory { model, clock: Arc::clone(&fresh.clock), limits });
    let parked = Arc::clone(&box_);
    Ok(Opened {
        signals: box_,
        parked: Box::new(move || parked.model.parked_count()),
        http: None,
        keep: Box::new(()),
    })
}

fn sqlite(fresh: &Fresh) -> Result<Opened, String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let clock = Arc::clone(&fresh.clock) as Arc<dyn kernel::Clock>;
    let settings = &fresh.settings;
    let options = Options { lease_ms: settings.lease_ms, turn_ms: settings.turn_ms, ..Options::default() };
    let file =
        StateFile::create_or_open(dir.path(), &options, clock.as_ref()).map_err(|error| error.to_string())?;
    if settings.freeze_holds_turns.is_some() {
        file.set_policy(None, None, settings.freeze_holds_turns).map_err(|error| error.to_string())?;
    }
    let local = Arc::new(Local::start(file, clock).map_err(|error| error.to_string())?);
    let parked = Arc::clone(&local);
    Ok(Opened {
        signals: local,
        parked: Box::new(move || parked.parked_count()),
        http: None,
        keep: Box::new(dir),
    })
}
