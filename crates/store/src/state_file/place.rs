//! Where a state file stands: which file of which device of which machine, and on what file system.

use sha2::{Digest, Sha256};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The file's device and inode, and the machine. A copy differs in one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) device: String,
    pub(crate) inode: String,
    pub(crate) machine: String,
}

impl Place {
    /// The place of the file. Looks at its entry only and opens nothing.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        Ok(Self { device: meta.dev().to_string(), inode: meta.ino().to_string(), machine: machine() })
    }
}

/// The machine's id, hashed, so that the state does not carry it. A machine without one (many containers)
/// is told apart by device and inode alone.
fn machine() -> String {
    let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .map(|id| id.trim().to_owned())
        .find(|id| !id.is_empty() && id != "uninitialized")
        .unwrap_or_default();
    let hash = Sha256::digest(format!("signalbox state place\0{id}"));
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a file system is, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// The type as `statfs` gives it.
    pub magic: u64,
    /// For FUSE, the kind as `/proc/self/mountinfo` gives it, for example `fuse.sshfs`.
    pub fuse: Option<String>,
}

const FUSE: u64 = 0x6573_5546;

/// File systems whose machines do not see each other's locks and shared memory.
const NETWORK: &[(u64, &str)] = &[
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb"),
    (0x564c, "ncp"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0x00c3_6400, "ceph"),
    (0x0bd0_0bd0, "lustre"),
    (0x0116_1970, "gfs2"),
    (0x7461_636f, "ocfs2"),
    (0x1983_0326, "beegfs"),
    (0x4750_4653, "gpfs"),
];

/// Kinds of FUSE that reach over a network. Others (a local disk under another format, an overlay) do not.
const NETWORK_FUSE: &[&str] = &[
    "sshfs",
    "glusterfs",
    "s3fs",
    "gcsfuse",
    "rclone",
    "davfs",
    "ceph",
    "curlftpfs",
    "goofys",
    "mount-s3",
    "cifs",
    "smbnetfs",
    "juicefs",
    "seaweedfs",
    "blobfuse",
    "lustre",
    "afp",
];

impl FileSystem {
    /// The file system of a folder; `None` where the system does not say.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        let stat = rustix::fs::statfs(dir).ok()?;
        // The type is a bit pattern of 32 bits whose width and sign differ between systems.
        #[expect(clippy::cast_sign_loss, reason = "a bit pattern")]
        let magic = (stat.f_type as u64) & 0xffff_ffff;
        let fuse = (magic == FUSE).then(|| fuse_kind(dir)).flatten();
        Some(Self { magic, fuse })
    }

    /// The name of the network file system, where this is one. 9p, which virtual machines share folders
    /// with, is none: its one kernel sees every lock, and where it cannot share memory the switch to the
    /// write-ahead log says so.
    pub(crate) fn network(&self) -> Option<&'static str> {
        if let Some(kind) = &self.fuse {
            return NETWORK_FUSE.iter().find(|name| kind.contains(*name)).copied();
        }
        NETWORK.iter().find(|(magic, _)| *magic == self.magic).map(|(_, name)| *name)
    }
}

/// The kind of the mount that the folder is in, from the mount table.
fn fuse_kind(dir: &Path) -> Option<String> {
    let device = std::fs::metadata(dir).ok()?.dev();
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&device))?;
    mount.split(" - ").nth(1)?.split(' ').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_type_and_local_ones_are_not() {
        let of = |magic, fuse: Option<&str>| FileSystem { magic, fuse: fuse.map(String::from) }.network();
        assert_eq!(of(0x6969, None), Some("nfs"));
        assert_eq!(of(0xff53_4d42, None), Some("cifs"));
        assert_eq!(of(FUSE, Some("fuse.sshfs")), Some("sshfs"));
        assert_eq!(of(FUSE, Some("fuseblk")), None);
        assert_eq!(of(FUSE, None), None);
        assert_eq!(of(0xef53, None), None);
        assert_eq!(of(0x0102_1997, None), None);
    }

    #[test]
    fn the_temporary_folder_has_a_file_system_and_a_place() {
        let dir = tempfile::tempdir().unwrap();
        assert!(FileSystem::of(dir.path()).is_some());
        assert_eq!(Place::of(dir.path()).unwrap(), Place::of(dir.path()).unwrap());
        assert!(Place::of(&dir.path().join("missing")).is_err());
    }
}
