//! Which processes are still there. What is bound to one system stands here alone: elsewhere than on
//! Linux nothing is ever "seen to be gone", and the lease decides.

use std::path::Path;

/// A process that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// What it is called, for people.
    pub name: String,
}

/// Whether no process of that group, and none that works below that folder, is to be seen.
///
/// `false` where that cannot be told.
#[must_use]
pub fn seen_gone(group: Option<i32>, below: &Path) -> bool {
    seen(group, below).is_some_and(|there| there.is_empty())
}

/// The processes of that group, and those that work below that folder, as far as they can be seen. `None` where
/// that cannot be told.
#[cfg(target_os = "linux")]
#[must_use]
pub fn seen(group: Option<i32>, below: &Path) -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let mut there = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let process = entry.path();
        let works_below = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(below));
        if works_below || group.is_some() && group_of(&process) == group {
            let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
            there.push(Process { pid, name: name.trim_end().to_owned() });
        }
    }
    Some(there)
}

/// The process group of a live process: the third field behind the name, which may hold anything.
#[cfg(target_os = "linux")]
fn group_of(process: &Path) -> Option<i32> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(group)
}

/// The live processes below a process, itself left out. Whose parent has ended is below it no longer.
#[cfg(target_os = "linux")]
#[must_use]
pub fn below(process: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let parents: Vec<(i32, i32)> = entries
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let parent = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let mut found = vec![process];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        at += 1;
        let children = parents.iter().filter(|(id, of)| *of == parent && !found.contains(id));
        let children: Vec<i32> = children.map(|(id, _)| *id).collect();
        found.extend(children);
    }
    found.split_off(1)
}

/// The live processes below a process: none that can be told here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn below(_process: i32) -> Vec<i32> {
    Vec::new()
}

/// The processes of that group, and those that work below that folder: here they cannot be told.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn seen(_group: Option<i32>, _below: &Path) -> Option<Vec<Process>> {
    None
}
