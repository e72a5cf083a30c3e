//! Small durable files of the state folder.

use crate::fault;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder that only its owner may enter, and those above it.
///
/// # Errors
/// The folder cannot be made.
pub(crate) fn private_dir(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Puts a file with that content in one step: it is there whole, and survives a power cut, once this
/// returns.
///
/// # Errors
/// The file cannot be written; what stood there still stands.
pub(crate) fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    private_dir(dir)?;
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    // Locked, it is nobody's leftover, even where this process cannot be seen (another container's).
    file.lock()?;
    file.write_all(content)?;
    file.sync_all()?;
    fault::point("put:written");
    std::fs::rename(&temporary, path)?;
    fault::point("put:renamed");
    File::open(dir)?.sync_all()
}

/// Removes a file; that there is none is no fault.
///
/// # Errors
/// The file is there and cannot be removed.
pub(crate) fn drop(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}
