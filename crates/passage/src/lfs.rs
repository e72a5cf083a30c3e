//! Git LFS: the objects that a branch's files point at are sent before the branch is pushed, and before its place in
//! the queue, since that may take long.

use crate::end::{End, exit, naming, quoted};
use crate::event::{Event, Show};
use crate::site::Site;
use git::{LfsEnd, Oid, Remote, TrunkError};

/// Sends what `head` adds to the trunk. Nothing to do where the trunk is here.
///
/// # Errors
/// There is no git-lfs, or it could not send them.
pub(crate) fn send(
    site: &Site,
    show: &dyn Show,
    branch: &str,
    trunk: Option<&Oid>,
    head: &Oid,
) -> Result<(), End> {
    let Remote::Named(remote) = &site.trunk.remote else { return Ok(()) };
    if !site.repo.adds_lfs_files(trunk, head).map_err(End::internal)? {
        return Ok(());
    }
    show.show(&Event::Step("sending LFS objects"));
    match site.repo.send_lfs_objects(remote, head).map_err(|e| site.unreadable(TrunkError::Git(e)))? {
        LfsEnd::Sent => Ok(()),
        LfsEnd::Missing => {
            let line =
                "{} adds files that git-lfs keeps, and git-lfs is not here; install it, then land again";
            Err(End::new(exit::SETUP, "lfs_missing", naming(line, [branch]))
                .more("Without it the trunk would get pointers to objects that nobody has. Its package is git-lfs.")
                .next("git lfs version"))
        }
        LfsEnd::Failed { text } => {
            let line = "the LFS objects of {} could not be sent, so nothing landed; the next lines say why";
            let send = format!("git lfs push {} {}", quoted(remote), quoted(branch));
            Err(End::new(exit::AGAIN, "lfs_not_sent", naming(line, [branch])).more(text).next(send))
        }
    }
}
