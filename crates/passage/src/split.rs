//! A remote that is read in one place and pushed to in another. Two ways to one place are common and fine, and no
//! URL tells whether they lead there: what was pushed must be seen.

use crate::end::{End, exit, naming, quoted, short};
use crate::site::Site;
use git::{GitError, Oid, Remote, Seen, Trunk};
use std::time::Duration;

/// How often a remote is read that does not show what it took: one whose servers follow each other gets a moment.
const LOOKS: u32 = 5;

/// Waits before the remote is read again; `false` once it was read often enough.
pub(crate) fn look_again(look: u32) -> bool {
    if look + 1 < LOOKS {
        std::thread::sleep(Duration::from_millis(50 << look));
    }
    look + 1 < LOOKS
}

/// Refuses a remote of several push URLs: each would have refs of its own, and only one of them is read.
///
/// # Errors
/// There are several; or git failed.
pub fn one_push_url(site: &Site) -> Result<(), End> {
    one_push_url_of(&site.trunk)
}

/// The same of a trunk.
///
/// # Errors
/// As [`one_push_url`].
pub(crate) fn one_push_url_of(trunk: &Trunk) -> Result<(), End> {
    let Remote::Named(remote) = &trunk.remote else { return Ok(()) };
    let urls = trunk.repo.urls(remote).map_err(End::internal)?;
    let push = urls.push();
    if push.len() < 2 {
        return Ok(());
    }
    let line = "the remote {} is pushed to several places and read from one; name another, with one URL";
    let mut end = End::new(exit::SETUP, "push_urls", naming(line, [remote]));
    for url in &push {
        end = end.more(short(url, 120));
    }
    Err(end
        .more("A landing can be exact in one place only. Make a remote for it, and mirror from there:")
        .more("  git remote add trunk URL   and in .signalbox.toml:  [trunk]  remote = \"trunk\"")
        .next(format!("git remote get-url --push --all {}", quoted(remote))))
}

/// Whether the place that is pushed to shows other refs than the one that is read. What cannot be told is not said.
pub(crate) fn is_split(site: &Site) -> bool {
    let differs = || {
        let pushed = site.trunk.peek_where_pushed();
        matches!((pushed, site.trunk.peek()), (Ok(Some(pushed)), Ok(read)) if pushed != read)
    };
    // Somebody may move them between the two looks, or one server may follow the other.
    let mut look = 0;
    while differs() {
        if !look_again(look) {
            return true;
        }
        look += 1;
    }
    false
}

/// What was pushed is not seen.
pub(crate) fn end(site: &Site) -> End {
    end_of(&site.trunk)
}

/// The same of a trunk.
pub(crate) fn end_of(trunk: &Trunk) -> End {
    let name = match &trunk.remote {
        Remote::Here => ".",
        Remote::Named(name) => name,
    };
    let line = "the remote {} took a push and does not show it: it is read elsewhere; make its URLs agree";
    let mut end = End::new(exit::SETUP, "remote_split", naming(line, [name]));
    if let Ok(urls) = trunk.repo.urls(name)
        && let (Some(read), [push]) = (urls.read(), &urls.push()[..])
    {
        end = end.more(format!("It is read from {}", short(&read, 120)));
        end = end.more(format!("and pushed to {}", short(push, 120)));
    }
    end.more("See url, pushurl, url.*.insteadOf and url.*.pushInsteadOf; nothing landed.")
        .next(format!("git remote -v && git config --get-regexp {}", quoted("^url\\.")))
}

/// Reads the trunk in a turn, whose epoch the remote has taken and must show.
///
/// # Errors
/// As [`Site::read_trunk`]; or the remote still shows what stood before that epoch.
pub(crate) fn read_trunk(site: &Site, epoch: Option<&Oid>) -> Result<Seen, End> {
    let mut look = 0;
    loop {
        let seen = site.read_trunk()?;
        if !behind(site, epoch, &seen).map_err(End::internal)? {
            return Ok(seen);
        }
        if !look_again(look) {
            return Err(end(site));
        }
        look += 1;
    }
}

/// Whether the remote shows what the epoch has replaced.
fn behind(site: &Site, epoch: Option<&Oid>, seen: &Seen) -> Result<bool, GitError> {
    let Some(epoch) = epoch.filter(|epoch| seen.epoch.as_ref() != Some(epoch)) else { return Ok(false) };
    Ok(site.repo.parents_of(epoch)?.first() == seen.epoch.as_ref())
}
