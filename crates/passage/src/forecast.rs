//! What a landing would stand on: the trunk with those ahead landed, as far as can be told. Pure: what merges and
//! what is known to fail is asked of a [`World`].

use crate::results::Verdict;
use git::Oid;

/// What came of a merge that nobody sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Onto {
    /// It merges into this commit.
    Clean(Oid),
    /// It is in there already.
    Nothing,
    /// It does not merge, in these files.
    Conflict(Vec<String>),
    /// Its objects are not here.
    Missing,
}

/// What a forecast asks.
pub trait World {
    /// What cannot be found out.
    type Error;

    /// What `head` merged into `base` would be.
    ///
    /// # Errors
    /// It cannot be found out.
    fn merge(&mut self, base: &Oid, head: &Oid) -> Result<Onto, Self::Error>;

    /// What the check is known to say of that commit.
    ///
    /// # Errors
    /// It cannot be found out.
    fn verdict(&mut self, commit: &Oid) -> Result<Option<Verdict>, Self::Error>;
}

/// What is to be expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forecast {
    /// It would land as this commit.
    Lands {
        /// The commit.
        commit: Oid,
        /// What it would stand on: the trunk as it would be then.
        base: Oid,
        /// On which of those ahead it would stand, by their places in the list.
        with: Vec<usize>,
    },
    /// It would not merge.
    Conflict {
        /// With whom: a place in the list; none for the trunk itself.
        with: Option<usize>,
        /// In which files.
        files: Vec<String>,
    },
    /// The trunk with those ahead has it all.
    Nothing,
    /// The objects of one of those ahead (or its own) are not here.
    Unknown,
}

/// What is to be expected of `head`, with `ahead` before it. Who would not merge is expected not to land; so is who is
/// known to fail on what is known to pass without it. Where that is not known, another one may be to blame.
///
/// # Errors
/// The world's.
pub fn forecast<W: World>(
    world: &mut W,
    trunk: &Oid,
    ahead: &[Oid],
    head: &Oid,
) -> Result<Forecast, W::Error> {
    let mut base = trunk.clone();
    let mut with = Vec::new();
    let mut bases = Vec::new();
    for (at, other) in ahead.iter().enumerate() {
        match world.merge(&base, other)? {
            Onto::Clean(commit) if fails(world, trunk, &base, &commit)? => {}
            Onto::Clean(commit) => {
                with.push(at);
                bases.push(commit.clone());
                base = commit;
            }
            Onto::Nothing | Onto::Conflict(_) => {}
            Onto::Missing => return Ok(Forecast::Unknown),
        }
    }
    Ok(match world.merge(&base, head)? {
        Onto::Clean(commit) => Forecast::Lands { commit, base, with },
        Onto::Nothing => Forecast::Nothing,
        Onto::Missing => Forecast::Unknown,
        Onto::Conflict(files) => {
            let mut culprit = (None, files);
            for (at, base) in
                std::iter::once((None, trunk)).chain(with.iter().map(|at| Some(*at)).zip(&bases))
            {
                if let Onto::Conflict(files) = world.merge(base, head)? {
                    culprit = (at, files);
                    break;
                }
            }
            Forecast::Conflict { with: culprit.0, files: culprit.1 }
        }
    })
}

fn fails<W: World>(world: &mut W, trunk: &Oid, base: &Oid, commit: &Oid) -> Result<bool, W::Error> {
    Ok(world.verdict(commit)? == Some(Verdict::Red)
        && (base == trunk || world.verdict(base)? == Some(Verdict::Green)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Commits are sets of branches; two that write one file conflict.
    #[derive(Default)]
    struct Toy {
        files: BTreeMap<u8, &'static str>,
        red: BTreeSet<u8>,
        /// Of no commit with one of these anything is known.
        unknown: BTreeSet<u8>,
        missing: BTreeSet<u8>,
    }

    fn oid(branches: &BTreeSet<u8>) -> Oid {
        let text: String = branches.iter().map(|b| format!("{b:02x}")).collect();
        Oid::parse(&format!("{text:0<40}")).unwrap()
    }

    fn branches(oid: &Oid) -> BTreeSet<u8> {
        let pairs = oid.as_str().as_bytes().chunks(2);
        pairs
            .map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap())
            .filter(|b| *b > 0)
            .collect()
    }

    fn one(branch: u8) -> Oid {
        oid(&BTreeSet::from([branch]))
    }

    impl World for Toy {
        type Error = std::convert::Infallible;

        fn merge(&mut self, base: &Oid, head: &Oid) -> Result<Onto, Self::Error> {
            let (mut base, head) = (branches(base), branches(head));
            if !head.is_disjoint(&self.missing) {
                return Ok(Onto::Missing);
            }
            if head.is_subset(&base) {
                return Ok(Onto::Nothing);
            }
            let file = |b: &u8| self.files.get(b).copied();
            for branch in &head {
                if let Some(mine) = file(branch).filter(|mine| base.iter().any(|b| file(b) == Some(*mine))) {
                    return Ok(Onto::Conflict(vec![mine.to_owned()]));
                }
            }
            base.extend(head);
            Ok(Onto::Clean(oid(&base)))
        }

        fn verdict(&mut self, commit: &Oid) -> Result<Option<Verdict>, Self::Error> {
            let red = !branches(commit).is_disjoint(&self.red);
            // One alone with the unknown ones has not been checked yet.
            let known = branches(commit).is_disjoint(&self.unknown) || branches(commit).len() > 3;
            Ok(known.then_some(if red { Verdict::Red } else { Verdict::Green }))
        }
    }

    fn of(mut world: Toy, trunk: u8, ahead: &[u8], head: u8) -> Forecast {
        let ahead: Vec<Oid> = ahead.iter().map(|b| one(*b)).collect();
        forecast(&mut world, &one(trunk), &ahead, &one(head)).unwrap()
    }

    fn lands(on: &[u8], with: &[usize]) -> Forecast {
        let base = oid(&on.iter().copied().filter(|b| *b != 4).collect());
        Forecast::Lands { commit: oid(&on.iter().copied().collect()), base, with: with.to_vec() }
    }

    #[test]
    fn it_stands_on_the_trunk_and_all_ahead() {
        assert_eq!(of(Toy::default(), 1, &[2, 3], 4), lands(&[1, 2, 3, 4], &[0, 1]));
        assert_eq!(of(Toy::default(), 1, &[], 4), lands(&[1, 4], &[]));
    }

    #[test]
    fn one_that_has_landed_already_changes_nothing() {
        assert_eq!(of(Toy::default(), 1, &[1, 3], 4), lands(&[1, 3, 4], &[1]));
        assert_eq!(of(Toy::default(), 4, &[], 4), Forecast::Nothing);
    }

    #[test]
    fn who_fails_or_conflicts_is_expected_not_to_land() {
        let world = Toy { red: BTreeSet::from([2]), ..Toy::default() };
        assert_eq!(of(world, 1, &[2, 3], 4), lands(&[1, 3, 4], &[1]));
        let world = Toy { files: BTreeMap::from([(2, "a"), (3, "a")]), ..Toy::default() };
        assert_eq!(of(world, 1, &[2, 3], 4), lands(&[1, 2, 4], &[0]));
    }

    #[test]
    fn who_fails_on_something_unknown_may_not_be_to_blame() {
        // What is known: 1+2+3+4 fails. Whether 1+2+3 does is not.
        let world = Toy { red: BTreeSet::from([3]), unknown: BTreeSet::from([3]), ..Toy::default() };
        assert_eq!(of(world, 1, &[2, 3, 4], 5), {
            let base = oid(&BTreeSet::from([1, 2, 3, 4]));
            Forecast::Lands { commit: oid(&BTreeSet::from([1, 2, 3, 4, 5])), base, with: vec![0, 1, 2] }
        });
    }

    #[test]
    fn a_conflict_names_the_first_with_whom_it_is() {
        let files = || BTreeMap::from([(3, "a"), (4, "a")]);
        let conflict = |with| Forecast::Conflict { with, files: vec!["a".into()] };
        assert_eq!(of(Toy { files: files(), ..Toy::default() }, 1, &[2, 3, 5], 4), conflict(Some(1)));
        assert_eq!(of(Toy { files: files(), ..Toy::default() }, 3, &[2, 5], 4), conflict(None));
    }

    #[test]
    fn without_the_objects_of_one_ahead_nothing_is_told() {
        for missing in [2, 4] {
            let world = Toy { missing: BTreeSet::from([missing]), ..Toy::default() };
            assert_eq!(of(world, 1, &[2, 3], 4), Forecast::Unknown);
        }
    }
}
