//! The trial: two refs of its own are set together where the trunk is kept, read back and deleted.

use crate::doctor::judge::trunk::Trial;
use crate::end::short;
use crate::event::{Event, Show};
use crate::site::git_failed;
use crate::{fault, split};
use git::{GitError, PushEnd, RefName, Remote, TRIALS, Trunk, TrunkError, Try};
use kernel::{Clock, Id, Millis};

/// How old the refs of a trial may be before nobody is taken to work with them.
const TRIAL_MAX: Millis = 600_000;

/// Makes the trial. Refs that an earlier one has left are used again rather than joined by more. Gives, too, which
/// such refs stand afterwards.
///
/// # Errors
/// The remote cannot be read, or git failed.
pub(in crate::doctor) fn make(
    trunk: &Trunk,
    clock: &dyn Clock,
    show: &dyn Show,
) -> Result<(Trial, Vec<RefName>), TrunkError> {
    let now = clock.now();
    let stand = trunk.trials()?;
    let (old, _): (Vec<_>, Vec<_>) = stand.into_iter().partition(|trial| is_old(&trial.name, now));
    let fresh = format!("{TRIALS}{now}-{}", &Id::random().as_str()[..8]);
    let mut tries = Vec::new();
    for (n, end) in ["trunk", "epoch"].into_iter().enumerate() {
        let used = old.get(n).filter(|_| old.len() > 1);
        let name = used.map_or_else(|| format!("{fresh}/{end}"), |trial| trial.name.clone());
        tries.push(Try {
            trial: git::Trial { name, oid: note(trunk)? },
            old: used.map(|trial| trial.oid.clone()),
        });
    }
    let place = match &trunk.remote {
        Remote::Here => "here".to_owned(),
        Remote::Named(name) => format!("at {}", short(name, 20)),
    };
    show.show(&Event::Note(&format!(
        "trying it {place}: two refs below {TRIALS} are set, read back, deleted"
    )));
    let (trial, deleted) = carry_out(trunk, &tries, &format!("{fresh}/alone"))?;
    let mut left: Vec<RefName> = old.into_iter().map(|trial| trial.name).collect();
    if !deleted {
        left.extend(tries.into_iter().map(|tried| tried.trial.name));
        left.sort();
        left.dedup();
    }
    Ok((trial, left))
}

/// Gives, too, whether nothing of this trial is left; what an earlier one left stays.
fn carry_out(trunk: &Trunk, tries: &[Try], alone: &str) -> Result<(Trial, bool), TrunkError> {
    let pushed = trunk.try_out(tries, true);
    fault::point("doctor:pushed");
    match pushed {
        Ok(PushEnd::Accepted) => {}
        Ok(other) => return Ok(one_alone(trunk, alone, other)?),
        Err(error @ GitError::Mirror { .. }) => {
            return Ok((Trial::Known(Box::new(git_failed(&error))), true));
        }
        Err(error) => return Err(error.into()),
    }
    let trials: Vec<git::Trial> = tries.iter().map(|tried| tried.trial.clone()).collect();
    let read = read_back(trunk, &trials);
    // Those of an earlier trial are deleted by a person: what keeps them may be wanted.
    let fresh: Vec<git::Trial> =
        tries.iter().filter(|tried| tried.old.is_none()).map(|tried| tried.trial.clone()).collect();
    let deleted = fresh.is_empty() || trunk.drop_trials(&fresh)? == PushEnd::Accepted;
    fault::point("doctor:deleted");
    Ok((read?, deleted))
}

/// Two were not taken together: is one?
fn one_alone(trunk: &Trunk, name: &str, together: PushEnd) -> Result<(Trial, bool), GitError> {
    let text = match together {
        PushEnd::Refused { text } | PushEnd::NoAnswer { text } => text,
        PushEnd::Accepted => String::new(),
    };
    let alone = Try { trial: git::Trial { name: name.to_owned(), oid: note(trunk)? }, old: None };
    Ok(match trunk.try_out(std::slice::from_ref(&alone), false)? {
        PushEnd::Accepted => {
            let deleted = trunk.drop_trials(&[alone.trial])? == PushEnd::Accepted;
            (Trial::NotAtomic(text), deleted)
        }
        PushEnd::Refused { text } => (Trial::Refused(text), true),
        PushEnd::NoAnswer { text } => (Trial::NoAnswer(text), true),
    })
}

fn read_back(trunk: &Trunk, trials: &[git::Trial]) -> Result<Trial, TrunkError> {
    let among = |seen: &[git::Trial]| trials.iter().all(|trial| seen.contains(trial));
    let mut look = 0;
    while !among(&trunk.trials()?) {
        if !split::look_again(look) {
            let elsewhere = trunk.trials_where_pushed()?;
            return Ok(match elsewhere {
                Some(seen) if among(&seen) => Trial::Known(Box::new(split::end_of(trunk))),
                _ => Trial::Hidden,
            });
        }
        look += 1;
    }
    trunk.fetch_trials(trials).map(|()| Trial::Passed)
}

/// An object that nothing else has.
fn note(trunk: &Trunk) -> Result<git::Oid, GitError> {
    let nonce = Id::random();
    trunk.repo.note_commit(format!("signalbox doctor\n\nnonce: {}\n", nonce.as_str()).as_bytes(), None)
}

fn is_old(name: &str, now: Millis) -> bool {
    let time = name.strip_prefix(TRIALS).and_then(|rest| rest.split('-').next()?.parse::<Millis>().ok());
    time.is_none_or(|time| now.saturating_sub(time) > TRIAL_MAX || time > now.saturating_add(TRIAL_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refs_of_a_trial_tell_how_old_it_is() {
        let name = |time: i64| format!("{TRIALS}{time}-0a0a0a0a/trunk");
        assert!(!is_old(&name(5_000_000), 5_000_000 + TRIAL_MAX));
        assert!(is_old(&name(5_000_000), 5_000_001 + TRIAL_MAX));
        assert!(is_old(&name(5_000_001 + TRIAL_MAX), 5_000_000));
        assert!(is_old(&format!("{TRIALS}x"), 0));
    }
}
