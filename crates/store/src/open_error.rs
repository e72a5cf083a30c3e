//! Why a state file cannot be used. The first line of each says what, why, and what to do next, in fewer
//! than 100 columns, and names no path, id or text of the driver.

/// Why a state file cannot be used. Nothing was changed, and what stands in the folder was not touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There is no state.
    #[error("this repository has no signalbox state yet; run `signalbox init`")]
    Missing,
    /// A newer version wrote it, and says that this one cannot serve it.
    #[error("the state was written by a newer signalbox than this; update signalbox, then run it again")]
    Newer,
    /// The file is something else, or its first page was overwritten.
    #[error("state.db is no state of signalbox; move it away, then run `signalbox init --take-over`")]
    NotOurs,
    /// The file is damaged.
    #[error("state.db is damaged and was left as it is; move it away, then `signalbox init --take-over`")]
    Corrupt,
    /// The file or its folder cannot be written.
    #[error("the state is read-only for you; make state.db and its folder writable, then run this again")]
    ReadOnly,
    /// No space is left.
    #[error("the disk of the state is full and nothing was changed; free space there, then run this again")]
    Full,
    /// The folder is on a file system on which processes cannot share a state safely.
    #[error("the state is on a network file system ({0}), which may lose it; point --state to a local disk")]
    NetworkFileSystem(&'static str),
    /// The file stands somewhere else than where it was made.
    #[error("this state is a copy; run `signalbox init --take-over`, or `init --moved` if you moved it")]
    Copied,
    /// The bounded wait for other processes ended.
    #[error("other processes kept the state in use for two seconds; nothing was changed, run this again")]
    Busy,
    /// The system refused something else.
    #[error("the system refused to read or write the state and nothing was changed; see its log")]
    Io,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_first_line_fits_100_columns_and_names_a_remedy() {
        for error in [
            OpenError::Missing,
            OpenError::Newer,
            OpenError::NotOurs,
            OpenError::Corrupt,
            OpenError::ReadOnly,
            OpenError::Full,
            OpenError::NetworkFileSystem("glusterfs"),
            OpenError::Copied,
            OpenError::Busy,
            OpenError::Io,
        ] {
            let text = error.to_string();
            assert!(text.chars().count() < 100, "{} {text}", text.chars().count());
            assert!(text.contains(';'), "{text}");
        }
    }
}
