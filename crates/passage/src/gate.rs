//! The gate of a server: which updates of a guarded trunk, its epoch and its box may pass.
//!
//! Two looks, as git gives them. The *push* ([`of_push`], [`judge`]) is seen whole, with what it brings, and the
//! box is asked. The *transaction* ([`of_transaction`], [`together`]) is what really moves: a push that is not
//! atomic becomes several, and only here it shows that the trunk would move without its epoch.
//! Nothing here does anything: facts in, a verdict out.

pub mod words;

use crate::epoch::{Epoch, State, Stop, may_replace};
use bstr::{BStr, BString, ByteSlice};
use git::{BOX_REF, Oid, Symbolic, epoch_ref, trunk_ref};

/// What a ref has, or shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// It does not exist; in a transaction's old value: not said.
    Nothing,
    /// An object.
    Object(Oid),
    /// The name of another ref.
    Name,
}

/// One ref that a push or a transaction would move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Its full name.
    pub name: BString,
    /// What it had.
    pub old: Value,
    /// What it shall have.
    pub new: Value,
}

/// Reads what git gives a hook: a line `<old> <new> <name>` for each ref. `None` if it is not that.
#[must_use]
pub fn read(input: &[u8]) -> Option<Vec<Update>> {
    input.lines().filter(|line| !line.is_empty()).map(update).collect()
}

fn update(line: &[u8]) -> Option<Update> {
    let mut words = line.splitn_str(3, " ");
    let (old, new, name) = (words.next()?, words.next()?, words.next()?);
    Some(Update { name: name.into(), old: value(old)?, new: value(new)? })
}

fn value(word: &[u8]) -> Option<Value> {
    if word.starts_with(b"ref:") {
        return Some(Value::Name);
    }
    if !word.is_empty() && word.iter().all(|b| *b == b'0') {
        return Some(Value::Nothing);
    }
    Oid::parse(word.to_str().ok()?).ok().map(Value::Object)
}

/// A guarded ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarded<'a> {
    /// A trunk, by its short name.
    Trunk(&'a str),
    /// The epoch of the trunk of that short name.
    Epoch(&'a str),
    /// The box.
    Box,
}

impl Guarded<'_> {
    fn refname(self) -> String {
        match self {
            Self::Trunk(trunk) => trunk_ref(trunk),
            Self::Epoch(trunk) => epoch_ref(trunk),
            Self::Box => BOX_REF.to_owned(),
        }
    }
}

fn guarded(trunks: &[String]) -> impl Iterator<Item = Guarded<'_>> {
    let names = trunks.iter().map(String::as_str);
    names.flat_map(|trunk| [Guarded::Trunk(trunk), Guarded::Epoch(trunk)]).chain([Guarded::Box])
}

/// Which guarded ref this is, if it is one.
#[must_use]
pub fn which<'a>(name: &BStr, trunks: &'a [String]) -> Option<Guarded<'a>> {
    guarded(trunks).find(|guarded| guarded.refname() == *name)
}

/// One ref on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// What it had; in a transaction `None` also where that was not said.
    pub old: Option<Oid>,
    /// What it shall have.
    pub new: Oid,
}

/// What belongs to one trunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The trunk's short name.
    pub trunk: &'a str,
    /// The trunk's own way.
    pub branch: Option<Move>,
    /// Its epoch's way.
    pub epoch: Option<Move>,
}

/// What of a push is guarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Each trunk of which something shall move.
    pub parts: Vec<Part<'a>>,
    /// The box that shall be claimed.
    pub claim: Option<Oid>,
}

impl Asked<'_> {
    /// Whether nothing that is guarded shall move.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.parts.is_empty() && self.claim.is_none()
    }
}

/// Why something may not pass. The words are in [`words`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The trunk would move without a turn.
    Direct,
    /// The trunk would be deleted.
    TrunkDeleted,
    /// The epoch would be deleted.
    EpochDeleted,
    /// The box would be moved or deleted, or an epoch of another box replaced.
    BoxStands,
    /// The box or the epoch is of another box than the one that this server asks.
    OtherBox,
    /// A ref that leads to a guarded one, or a guarded one that leads elsewhere.
    Symbolic(BString),
    /// A ref in whose presence git could not make a guarded one.
    InTheWay(BString),
    /// The same ref twice.
    Twice,
    /// What shall be the epoch is none.
    NoEpoch,
    /// The epoch that stands cannot be read.
    StandsUnreadable,
    /// The epoch does not follow the one that stands.
    NotChained,
    /// A later turn stands, or this one has landed: these turns.
    OldTurn(i64, i64),
    /// The box says that the ticket does not have that turn.
    NoTurn(i64),
    /// The epoch names another commit of the trunk.
    OtherCommit,
    /// The epoch says `landed` and the turn was not begun.
    NotBegun,
    /// The epoch voids what has not begun.
    NothingToVoid,
    /// Trunk and epoch do not move together.
    Apart,
    /// The trunk would lose commits.
    Backwards,
}

/// A refusal, and the trunk that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused<'a> {
    /// The trunk's short name; `None` where it is about the box.
    pub trunk: Option<&'a str>,
    /// Why.
    pub why: Refusal,
}

/// Finds what of a push is guarded. `symbolic`: those of the pushed refs that name another ref.
///
/// # Errors
/// What can be refused without looking at what the push brings.
pub fn of_push<'a>(
    updates: &[Update],
    trunks: &'a [String],
    symbolic: &[Symbolic],
) -> Result<Asked<'a>, Refused<'a>> {
    let mut asked = Asked { parts: Vec::new(), claim: None };
    for update in updates {
        let name = update.name.as_bstr();
        let target = symbolic.iter().find(|s| s.name == update.name).map(|s| s.target.as_bstr());
        let leads = which(name, trunks).or_else(|| which(target?, trunks));
        if let (Some(guarded), Some(_)) = (leads, target) {
            return Err(refused(guarded, Refusal::Symbolic(update.name.clone())));
        }
        let Some(guarded) = leads else {
            in_the_way(update, trunks)?;
            continue;
        };
        let no = |why| Err(refused(guarded, why));
        let part = match (guarded, moved(update)) {
            (Guarded::Trunk(_), None) => return no(Refusal::TrunkDeleted),
            (Guarded::Epoch(_), None) => return no(Refusal::EpochDeleted),
            (Guarded::Box, None) => return no(Refusal::BoxStands),
            (Guarded::Box, Some(moved)) if moved.old.is_some() => return no(Refusal::BoxStands),
            (Guarded::Box, Some(moved)) => asked.claim.replace(moved.new).map(drop),
            (Guarded::Trunk(trunk), Some(moved)) => {
                part(&mut asked.parts, trunk).branch.replace(moved).map(drop)
            }
            (Guarded::Epoch(trunk), Some(moved)) => {
                part(&mut asked.parts, trunk).epoch.replace(moved).map(drop)
            }
        };
        if part.is_some() {
            return no(Refusal::Twice);
        }
    }
    match asked.parts.iter().find(|part| part.epoch.is_none()) {
        Some(part) => Err(refused(Guarded::Trunk(part.trunk), Refusal::Direct)),
        None => Ok(asked),
    }
}

fn refused(guarded: Guarded<'_>, why: Refusal) -> Refused<'_> {
    let trunk = match guarded {
        Guarded::Trunk(trunk) | Guarded::Epoch(trunk) => Some(trunk),
        Guarded::Box => None,
    };
    Refused { trunk, why }
}

fn moved(update: &Update) -> Option<Move> {
    let of = |value: &Value| match value {
        Value::Object(oid) => Some(oid.clone()),
        Value::Nothing | Value::Name => None,
    };
    Some(Move { old: of(&update.old), new: of(&update.new)? })
}

fn part<'a, 'p>(parts: &'p mut Vec<Part<'a>>, trunk: &'a str) -> &'p mut Part<'a> {
    let at = parts.iter().position(|part| part.trunk == trunk).unwrap_or_else(|| {
        parts.push(Part { trunk, branch: None, epoch: None });
        parts.len() - 1
    });
    &mut parts[at]
}

/// Git makes no `a/b` beside an `a`. What is deleted makes way.
fn in_the_way<'a>(update: &Update, trunks: &'a [String]) -> Result<(), Refused<'a>> {
    let below = |one: &[u8], other: &[u8]| one.strip_prefix(other).is_some_and(|rest| rest.starts_with(b"/"));
    let clash = |guarded: &Guarded<'_>| {
        let name = guarded.refname();
        below(&update.name, name.as_bytes()) || below(name.as_bytes(), &update.name)
    };
    match guarded(trunks).find(clash) {
        Some(guarded) if update.new != Value::Nothing => {
            Err(refused(guarded, Refusal::InTheWay(update.name.clone())))
        }
        _ => Ok(()),
    }
}

/// What must be known of a push besides its lines, for one trunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What the pushed epoch says; `None` if it is no epoch.
    pub epoch: Option<Epoch>,
    /// What it follows.
    pub parents: Vec<Oid>,
    /// What the epoch says that it replaces, if that can be read.
    pub stands: Option<Epoch>,
    /// The trunk as it stands.
    pub trunk: Option<Oid>,
    /// Whether the pushed trunk contains the one that it replaces.
    pub forward: bool,
}

/// The box's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its id.
    pub box_id: String,
    /// The ticket that has the turn, and the turn's number.
    pub holder: Option<(String, i64)>,
}

impl Word {
    fn has(&self, epoch: &Epoch) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|(ticket, no)| ticket == epoch.ticket.as_str() && *no == epoch.turn_no)
    }
}

/// Whether one trunk's part of a push may pass.
///
/// - The epoch follows the one that stands and is of the box that this server asks.
/// - `begun` moves alone, names the trunk that stands, and its ticket has the turn.
/// - `landed` moves with the trunk, names its new commit, follows `begun` of the same turn, and its ticket has the
///   turn; the trunk only grows.
/// - `void` moves alone and follows `begun` of the same turn. Whether the ticket still has the turn does not
///   count: a push is fenced after its client died, and by it.
///
/// # Errors
/// Why not.
pub fn judge(part: &Part<'_>, facts: &Facts, word: &Word) -> Result<(), Refusal> {
    let Some(moved) = &part.epoch else { return Err(Refusal::Direct) };
    let Some(epoch) = &facts.epoch else { return Err(Refusal::NoEpoch) };
    if !facts.parents.iter().eq(&moved.old) {
        return Err(Refusal::NotChained);
    }
    if moved.old.is_some() && facts.stands.is_none() {
        return Err(Refusal::StandsUnreadable);
    }
    let stands = facts.stands.as_ref().filter(|_| moved.old.is_some());
    if epoch.box_id != word.box_id {
        return Err(Refusal::OtherBox);
    }
    may_replace(stands, epoch).map_err(|stop| match stop {
        Stop::OtherBox => Refusal::BoxStands,
        Stop::LaterTurn | Stop::Landed => {
            Refusal::OldTurn(epoch.turn_no, stands.map_or(epoch.turn_no, |stands| stands.turn_no))
        }
    })?;
    let begun = stands.is_some_and(|s| s.state == State::Begun && s.turn_no == epoch.turn_no);
    match (epoch.state, &part.branch) {
        (State::Landed, None) | (State::Begun | State::Void, Some(_)) => Err(Refusal::Apart),
        (State::Void, None) if begun => Ok(()),
        (State::Void, None) => Err(Refusal::NothingToVoid),
        (State::Begun | State::Landed, _) if !word.has(epoch) => Err(Refusal::NoTurn(epoch.turn_no)),
        (State::Begun, None) if epoch.trunk != facts.trunk.as_ref().map_or("none", Oid::as_str) => {
            Err(Refusal::OtherCommit)
        }
        (State::Begun, None) => Ok(()),
        (State::Landed, Some(branch)) if epoch.trunk != branch.new.as_str() => Err(Refusal::OtherCommit),
        (State::Landed, Some(_)) if !begun => Err(Refusal::NotBegun),
        (State::Landed, Some(_)) if !facts.forward => Err(Refusal::Backwards),
        (State::Landed, Some(_)) => Ok(()),
    }
}

/// Whether a box may be claimed: only the one that this server asks.
///
/// # Errors
/// It is another one.
pub fn judge_claim(claimed: &str, word: &Word) -> Result<(), Refusal> {
    if claimed == word.box_id { Ok(()) } else { Err(Refusal::OtherBox) }
}

/// Finds what of a transaction is guarded. Deletions are passed over, and values that do not change, since a
/// collection packs refs by such transactions; that nobody deletes by a push is seen before.
///
/// # Errors
/// A guarded ref would name another.
pub fn of_transaction<'a>(updates: &[Update], trunks: &'a [String]) -> Result<Vec<Part<'a>>, Refused<'a>> {
    let mut parts = Vec::new();
    for update in updates {
        let Some(guarded) = which(update.name.as_bstr(), trunks) else { continue };
        if update.new == Value::Name {
            return Err(refused(guarded, Refusal::Symbolic(update.name.clone())));
        }
        let Some(moved) = moved(update).filter(|moved| moved.old.as_ref() != Some(&moved.new)) else {
            continue;
        };
        match guarded {
            Guarded::Trunk(trunk) => part(&mut parts, trunk).branch = Some(moved),
            Guarded::Epoch(trunk) => part(&mut parts, trunk).epoch = Some(moved),
            Guarded::Box => {}
        }
    }
    Ok(parts)
}

/// The values that the refs of a trunk have before a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The trunk.
    pub trunk: Option<Oid>,
    /// Its epoch.
    pub epoch: Option<Oid>,
}

/// Whether a transaction keeps trunk and epoch together. `epoch`: what the new epoch says, if it is one.
///
/// # Errors
/// Why not.
pub fn together(
    part: &Part<'_>,
    updates: &[Update],
    before: &Before,
    epoch: Option<&Epoch>,
) -> Result<(), Refusal> {
    let changes = |moved: &Option<Move>, before: &Option<Oid>| {
        moved.clone().filter(|moved| before.as_ref() != Some(&moved.new))
    };
    let branch = changes(&part.branch, &before.trunk);
    let moved = changes(&part.epoch, &before.epoch);
    if let Some(moved) = &moved {
        // Nothing else ever has an epoch's commit: git came here through a symbolic ref.
        let name = epoch_ref(part.trunk);
        let same = |update: &&Update| update.name != name && update.new == Value::Object(moved.new.clone());
        if let Some(update) = updates.iter().find(same) {
            return Err(Refusal::Symbolic(update.name.clone()));
        }
    }
    let landed = |epoch: &&Epoch| epoch.state == State::Landed;
    match (branch, moved) {
        (None, None) => Ok(()),
        (None, Some(_)) if epoch.is_none() => Err(Refusal::NoEpoch),
        (None, Some(_)) if epoch.filter(landed).is_some() => Err(Refusal::Apart),
        (None, Some(_)) => Ok(()),
        (Some(branch), Some(_)) => match epoch.filter(landed) {
            Some(epoch) if epoch.trunk == branch.new.as_str() => Ok(()),
            _ => Err(Refusal::OtherCommit),
        },
        (Some(_), None) => Err(Refusal::Apart),
    }
}

#[cfg(test)]
mod tests;
