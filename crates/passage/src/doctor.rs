//! `doctor`: what is wrong here, or may be soon, each with its remedy. It mends nothing.
//!
//! `look` gathers facts, and works as far as it can where nothing else does; `judge` makes findings of them and
//! looks at nothing. The rules are those of the commands that would meet it.

mod code;
mod finding;
mod judge;
mod look;

pub use code::{Code, Part, Severity};
pub use finding::{Finding, outcome};

use crate::end::End;
use crate::event::Show;
use crate::hooks::survey::survey;
use crate::hooks::{box_at, state_of_server};
use crate::refused;
use crate::settings::Settings;
use crate::site::{self, Site, local_settings, remote, repository, state_dir};
use git::{GitError, Oid, Repo, Seen, Trunk};
use judge::repository::Repository;
use kernel::Clock;
use look::trunk::Keeper;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Options, StateFile};

/// What is examined, and how.
pub struct Patient<'a> {
    /// Where.
    pub cwd: &'a Path,
    /// The state's folder that is named.
    pub state: Option<&'a Path>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Hears of the trial before it is made.
    pub show: &'a dyn Show,
    /// Whether refs are set, read back and deleted where the trunk is kept. Without it nothing at all is written.
    pub trial: bool,
}

impl std::fmt::Debug for Patient<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patient").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

/// Examines a repository: all that is found, in the order of [`Code::ALL`]. Only the trial that is announced writes
/// anything; a place in the queue that nobody holds up may get its turn, as with every look at the queue.
#[must_use]
pub fn examine(patient: &Patient<'_>) -> Vec<Finding> {
    let mut found = judge::environment::judge(&look::environment());
    match repository(patient.cwd) {
        Ok(repo) => Examination { patient, repo, found: &mut found }.all(),
        Err(end) => found.push(Finding::of(end)),
    }
    found.sort_by_key(|finding| finding.code);
    found
}

struct Examination<'a> {
    patient: &'a Patient<'a>,
    repo: Repo,
    found: &'a mut Vec<Finding>,
}

impl Examination<'_> {
    fn all(mut self) {
        match state_of_server(&self.repo) {
            Ok(Some(state)) => return self.server(&state),
            Ok(None) => {}
            Err(error) => self.take(Err(error)),
        }
        let dir = match state_dir(&self.repo, self.patient.state) {
            Ok(dir) => dir,
            Err(end) => return self.found.push(Finding::of(end)),
        };
        let (settings, broken) = self.settings_here(&dir);
        let (state, file) = look::state::look(&dir, &Options::default(), self.patient.clock.as_ref());
        // What is set up by its settings gets its state from the first command.
        let fresh = settings.is_some() && state.unusable.as_ref().is_some_and(|end| end.code == "not_set_up");
        if fresh {
            let line = "none yet; the first command makes it, as this repository has settings";
            self.found.push(Finding::new(Code::State, line));
        } else {
            self.found.extend(judge::state::judge(&state));
        }
        if let Some(file) = &file {
            self.clocks(&dir, file);
        }
        let site = match (file, &settings) {
            (Some(file), Some(settings)) => self.site(&dir, file, settings),
            _ => None,
        };
        let keeper = match &site {
            Some(site) => Keeper::Box(site),
            None if fresh => Keeper::Fresh,
            None => Keeper::Unknown,
        };
        let seen = settings.as_ref().and_then(|settings| self.trunk(settings, keeper));
        let trunk = seen.as_ref().and_then(|seen| seen.trunk.as_ref());
        let counting = match (&site, &seen) {
            (Some(site), Some(_)) => self.settings(site, trunk, broken),
            _ => {
                self.found.extend(judge::settings::judge(&look::settings::unread(broken)));
                None
            }
        };
        let repository =
            look::repository(&self.repo, trunk).map(|facts: Repository| judge::repository::judge(&facts));
        self.take(repository);
        if let Some(settings) = &settings {
            self.place(settings, trunk, counting.as_ref(), &dir);
        }
        let kept = look::leftovers::kept(&dir);
        let queue = site.as_ref().and_then(|site| self.queue(site));
        let leftovers = look::leftovers::look(&self.repo, &dir, kept, queue.as_ref());
        self.take(leftovers.map(|facts| judge::leftovers::judge(&facts)));
        self.take(survey(&self.repo).map(|facts| judge::hooks::judge(&facts)));
        // Read after the trunk, whose files have no numbers that are issued later.
        let standing = site.as_ref().and_then(look::state::standing);
        if let (Some(trunk), Some(settings), Some(standing)) = (trunk, &counting, &standing) {
            let lines = look::numbers(&self.repo, trunk, settings, standing);
            self.take(lines.map(|lines| judge::numbers::judge(&lines, trunk.short())));
        }
    }

    /// A bare repository whose hooks let landings only pass.
    fn server(mut self, dir: &Path) {
        let (state, file) = look::state::look(dir, &Options::default(), self.patient.clock.as_ref());
        if state.unusable.as_ref().is_some_and(|end| end.code == "not_set_up") {
            self.found.push(judge::hooks::state_gone(dir));
        } else {
            self.found.extend(judge::state::judge(&state));
        }
        if let Some(file) = file {
            self.clocks(dir, &file);
            match box_at(&self.repo) {
                Ok(Some(stands)) if stands != file.box_id().as_str() => {
                    self.found.push(Finding::of(site::other_box()));
                }
                Ok(_) => {}
                Err(error) => self.take(Err(error)),
            }
        }
        let repository = look::repository(&self.repo, None).map(|facts| judge::repository::judge(&facts));
        self.take(repository);
        self.take(survey(&self.repo).map(|facts| judge::hooks::judge(&facts)));
    }

    /// Takes findings in, or that there are none since git failed.
    fn take(&mut self, found: Result<Vec<Finding>, GitError>) {
        match found {
            Ok(found) => self.found.extend(found),
            Err(error) => self.found.push(Finding::of(End::internal(error))),
        }
    }

    /// The settings that say where the trunk is, and why those here cannot be used; then `init`'s copy says it.
    fn settings_here(&self, dir: &Path) -> (Option<Settings>, Option<End>) {
        match local_settings(&self.repo, dir) {
            Ok(settings) => (Some(settings), None),
            Err(end) if end.code == "not_set_up" => (None, None),
            Err(end) => {
                let copy = crate::settings::read(&dir.join("settings.toml")).ok().flatten();
                (copy.and_then(|copy| Settings::parse(&copy).ok()), Some(end))
            }
        }
    }

    fn clocks(&mut self, dir: &Path, file: &StateFile) {
        match file.standing() {
            Ok(standing) => {
                let clocks = look::state::clocks(dir, &standing, self.patient.clock.as_ref());
                self.found.extend(judge::state::judge_clocks(&clocks));
            }
            Err(error) => self.found.push(Finding::of(site::unusable_state(dir, &error))),
        }
    }

    fn site(&mut self, dir: &Path, file: StateFile, settings: &Settings) -> Option<Site> {
        let (dir, clock): (PathBuf, _) = (dir.to_path_buf(), Arc::clone(&self.patient.clock));
        let site = Site::over(self.repo.clone(), dir, settings.clone(), file, clock);
        site.map_err(|end| self.found.push(Finding::of(end))).ok()
    }

    fn trunk(&mut self, settings: &Settings, keeper: Keeper<'_>) -> Option<Seen> {
        let at = &settings.trunk;
        let trunk = Trunk::new(self.repo.clone(), remote(&at.remote), at.branch.clone());
        let (mut facts, seen) = match look::trunk::look(&trunk, keeper) {
            Ok(looked) => looked,
            Err(error) => {
                self.take(Err(error));
                return None;
            }
        };
        if self.patient.trial && seen.is_some() {
            let (clock, show) = (self.patient.clock.as_ref(), self.patient.show);
            self.found.extend(look::trunk::try_out(&mut facts, &trunk, clock, show).map(Finding::of));
        }
        self.found.extend(judge::trunk::judge(&facts));
        seen
    }

    /// Gives the settings that count.
    fn settings(&mut self, site: &Site, trunk: Option<&Oid>, broken: Option<End>) -> Option<Settings> {
        match look::settings::look(site, trunk) {
            Ok(mut facts) => {
                facts.here = broken;
                self.found.extend(judge::settings::judge(&facts));
                facts.counting.map(|(settings, _)| settings)
            }
            Err(error) => {
                self.take(Err(error));
                None
            }
        }
    }

    fn place(&mut self, settings: &Settings, trunk: Option<&Oid>, counting: Option<&Settings>, dir: &Path) {
        let at = &settings.trunk;
        let here = Trunk::new(self.repo.clone(), remote(&at.remote), at.branch.clone());
        let place = look::place::look(&here, trunk, counting, dir);
        self.take(place.map(|place| place.map(|place| judge::place::judge(&place)).unwrap_or_default()));
    }

    /// Gives the tickets that stand.
    fn queue(&mut self, site: &Site) -> Option<BTreeSet<String>> {
        match site.calls().list(None) {
            Ok(view) => {
                let tickets = view.tickets.iter().map(|ticket| ticket.ticket.clone()).collect();
                let facts = look::queue(view, &site.state, site.clock.now());
                self.found.extend(judge::queue::judge(&facts));
                self.found.extend(judge::queue::judge_inside(&facts));
                Some(tickets)
            }
            Err(error) => {
                self.found.push(Finding::of(refused::end(&error, None)));
                None
            }
        }
    }
}
