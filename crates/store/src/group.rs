//! A group of calls: what one transaction decides.

use crate::desk::{Answer, Parked, Shared, Waiting};
use crate::fault::Fault;
use crate::port::{Deal, Mapped, Rows, Stmt, Work};
use kernel::{Decision, Key, Millis, Mode, Refusal};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What was decided about one call of the group.
enum Verdict {
    Answer(Vec<u8>),
    /// The answer follows from what the change of this number returns.
    Returned(usize),
    Park {
        until: Millis,
        marks: Vec<i64>,
    },
    Refused(Refusal),
    /// Its lock was not had: it waits alone.
    Away,
}

pub(crate) struct Group<S: Mapped> {
    desk: Arc<Shared<S>>,
    calls: Vec<Waiting<S>>,
    locks: Vec<Key>,
    verdicts: Vec<Verdict>,
    deals: Vec<Option<Deal>>,
    /// The marks as the group leaves them.
    marks: BTreeMap<Key, i64>,
    stirs: bool,
}

impl<S: Mapped> Group<S> {
    pub(crate) fn new(desk: Arc<Shared<S>>, calls: Vec<Waiting<S>>) -> Self {
        let mut locks: BTreeMap<(&'static str, &str), Mode> = BTreeMap::new();
        for key in calls.iter().flat_map(|call| &call.keys) {
            let mode = locks.entry((key.kind, &key.name)).or_insert(key.mode);
            *mode = (*mode).max(key.mode);
        }
        let locks = locks.into_iter().map(|((kind, name), mode)| Key { kind, name: name.to_owned(), mode });
        let locks = locks.collect();
        Self {
            desk,
            calls,
            locks,
            verdicts: Vec::new(),
            deals: Vec::new(),
            marks: BTreeMap::new(),
            stirs: false,
        }
    }

    /// Whether every lock of the call was had.
    fn held(&self, call: &Waiting<S>, had: &[bool]) -> bool {
        call.keys.iter().all(|key| {
            self.locks
                .iter()
                .zip(had)
                .any(|(lock, had)| *had && lock.kind == key.kind && lock.name == key.name)
        })
    }

    /// Decides one call and applies what it changes. The slice is only lent to the rule, so that a refusal
    /// or a panic is that call's alone.
    fn verdict(
        &self,
        call: &Waiting<S>,
        slice: &mut S::Slice,
        changes: &mut Vec<S::Change>,
        now: Millis,
    ) -> Verdict {
        let limits = &self.desk.limits;
        let decided = catch_unwind(AssertUnwindSafe(|| S::decide(slice, &call.call, now, limits)));
        let mut keep = |new: Vec<S::Change>| {
            let first = changes.len();
            for change in &new {
                S::apply(slice, change);
            }
            changes.extend(new);
            first
        };
        match decided {
            Err(_) => Verdict::Refused(Fault::Defect.refusal()),
            Ok(Err(refusal)) => Verdict::Refused(refusal),
            Ok(Ok(Decision::Answer { json, changes })) => {
                keep(changes);
                Verdict::Answer(json)
            }
            Ok(Ok(Decision::Returned { changes })) => Verdict::Returned(keep(changes)),
            Ok(Ok(Decision::Park { until, changes })) => {
                keep(changes);
                Verdict::Park { until, marks: call.keys.iter().map(|key| S::mark(slice, key)).collect() }
            }
        }
    }
}

impl<S: Mapped> Work for Group<S> {
    fn locks(&self) -> &[Key] {
        &self.locks
    }

    fn alone(&self) -> bool {
        self.calls.iter().any(|call| call.alone)
    }

    fn reads(&self) -> Vec<Stmt> {
        let calls: Vec<&S::Call> = self.calls.iter().map(|waiting| &waiting.call).collect();
        S::reads(&calls, &self.desk.limits)
    }

    fn decide(&mut self, had: &[bool], rows: Vec<Rows>, now: Millis) -> Result<Vec<Stmt>, Fault> {
        let calls: Vec<&S::Call> = self.calls.iter().map(|waiting| &waiting.call).collect();
        let mut slice = S::slice(&calls, &self.desk.limits, &rows)?;
        let marks = |slice: &S::Slice| -> BTreeMap<Key, i64> {
            let had = self.locks.iter().zip(had).filter(|(_, had)| **had);
            had.map(|(lock, _)| (lock.clone(), S::mark(slice, lock))).collect()
        };
        let before = marks(&slice);
        let (mut verdicts, mut changes) = (Vec::new(), Vec::new());
        for call in &self.calls {
            verdicts.push(if self.held(call, had) {
                self.verdict(call, &mut slice, &mut changes, now)
            } else {
                Verdict::Away
            });
        }
        let after = marks(&slice);
        let writes = S::writes(&changes);
        self.stirs = before != after;
        self.verdicts = verdicts;
        self.marks = after;
        self.deals = writes.deals;
        Ok(writes.stmts)
    }

    fn stirs(&self) -> bool {
        self.stirs
    }

    fn settle(self: Box<Self>, end: Result<Vec<Rows>, Fault>) {
        let Self { desk, calls, verdicts, deals, marks, .. } = *self;
        let (mut parked, mut away) = (Vec::new(), Vec::new());
        let mut verdicts = verdicts.into_iter();
        for mut waiting in calls {
            // A group that failed before it was decided has no verdicts.
            let verdict = verdicts.next();
            let rows = match (&end, &verdict) {
                (_, Some(Verdict::Away)) => {
                    waiting.alone = true;
                    away.push(waiting);
                    continue;
                }
                (Err(fault), _) => {
                    waiting.answer(Err(fault.refusal()));
                    continue;
                }
                (Ok(rows), _) => rows,
            };
            let answer: Answer = match verdict {
                Some(Verdict::Answer(json)) => Ok(json),
                Some(Verdict::Refused(refusal)) => Err(refusal),
                Some(Verdict::Returned(change)) => dealt(&deals, change, rows)
                    .map_or_else(|fault| Err(fault.refusal()), |returned| S::finish(&waiting.call, returned)),
                Some(Verdict::Park { until, marks }) => {
                    S::asked(&mut waiting.call);
                    parked.push(Parked { waiting, until, marks });
                    continue;
                }
                Some(Verdict::Away) | None => Err(Fault::Defect.refusal()),
            };
            waiting.answer(answer);
        }
        desk.park(parked);
        if !away.is_empty() {
            desk.queue(away);
        }
        if end.is_ok() {
            desk.heard(&marks.iter().map(|(key, mark)| ((key.kind, key.name.as_str()), *mark)).collect());
        }
    }
}

/// What the change of this number returned; `None` where it wrote nothing.
fn dealt(deals: &[Option<Deal>], change: usize, rows: &[Rows]) -> Result<Option<i64>, Fault> {
    let deal = deals.get(change).copied().flatten().ok_or(Fault::Defect)?;
    let rows = rows.get(deal.stmt).ok_or(Fault::Defect)?;
    rows.first().map(|row| row.int(0).map(|value| value - deal.minus)).transpose()
}
