//! Which processes are still there. What is bound to one system stands here alone: elsewhere than on
//! Linux nothing is ever "seen to be gone", and the lease decides.

use std::path::Path;

/// Whether no process of that group, and none that works below that folder, is to be seen.
///
/// `false` where that cannot be told.
#[cfg(target_os = "linux")]
#[must_use]
pub fn seen_gone(group: Option<i32>, below: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let process = entry.path();
        if std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(below)) {
            return false;
        }
        if group.is_some() && group_of(&process) == group {
            return false;
        }
    }
    true
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

/// Whether no process of that group, and none that works below that folder, is to be seen.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn seen_gone(_group: Option<i32>, _below: &Path) -> bool {
    false
}
