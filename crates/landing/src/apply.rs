//! Applying changes to a slice: what the database will do, done to the working copy.

use crate::slice::{Change, Past, Project, Remembered, Slice};
use kernel::Id;

impl Slice {
    fn project(&mut self, id: &Id) -> &mut Project {
        let project = self.projects.entry(id.clone()).or_default();
        project.known = true;
        project
    }

    /// Applies one change. Gives the line's new value where the change is a mint that wrote.
    pub(crate) fn apply(&mut self, change: &Change) -> Option<i64> {
        match change {
            Change::Mint(mint) => {
                let lines = &mut self.project(&mint.project).lines;
                let value = mint.applied_to(lines.get(&mint.scope).copied())?;
                lines.insert(mint.scope.clone(), value);
                return Some(value);
            }
            Change::RememberMint { mint, request, fingerprint, at } => {
                let project = self.project(&mint.project);
                let value = project.lines.get(&mint.scope).copied().unwrap_or(0);
                if mint.wrote(value) {
                    let answer = Past::Line(value);
                    let what = Remembered { fingerprint: fingerprint.clone(), answer, at: *at };
                    project.requests.insert(request.clone(), what);
                }
            }
            Change::Remember { project, request, what } => {
                self.project(project).requests.insert(request.clone(), what.clone());
            }
            Change::Forget { before, .. } => {
                for project in self.projects.values_mut() {
                    project.requests.retain(|_, past| past.at >= *before);
                }
            }
            Change::State { project, state } => self.project(project).state = *state,
            Change::Put { project, ticket } => {
                let tickets = &mut self.project(project).tickets;
                tickets.retain(|t| t.ticket != ticket.ticket);
                tickets.push(ticket.clone());
                tickets.sort_by_key(|t| t.entry);
            }
            Change::End { project, ended } => {
                let project = self.project(project);
                project.tickets.retain(|t| t.ticket != ended.ticket.ticket);
                project.ended.insert(0, ended.clone());
            }
            Change::Hold { project, hold } => {
                self.project(project).holds.insert(hold.name.clone(), hold.clone());
            }
            Change::DropHold { project, name } => {
                self.project(project).holds.remove(name);
            }
            Change::Freeze { project, freeze } => self.project(project).freeze.clone_from(freeze),
            Change::CopyLines { from, to } => {
                let lines = self.project(from).lines.clone();
                self.project(to).lines = lines;
            }
            Change::Retire { project, replacement, .. } => {
                self.project(project).retired = Some(replacement.clone());
            }
            Change::Line { project, scope, value } => {
                self.project(project).lines.insert(scope.clone(), *value);
            }
        }
        None
    }
}
