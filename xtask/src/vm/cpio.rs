//! Archives in the `newc` format, in which the kernel takes files at boot: several may follow each
//! other, and what comes later is laid over what came before
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;
const LAST: &str = "TRAILER!!!";

/// An archive under construction. Names are relative to the guest's `/`, folders before what is in
/// them.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a folder.
    pub(crate) fn folder(&mut self, name: &str, permissions: u32) {
        self.entry(name, FOLDER | permissions, (0, 0), &[]);
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) {
        self.entry(name, FILE | permissions, (0, 0), content);
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, name: &str, to: &str) {
        self.entry(name, LINK | 0o777, (0, 0), to.as_bytes());
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, name: &str, permissions: u32, major: u32, minor: u32) {
        self.entry(name, DEVICE | permissions, (major, minor), &[]);
    }

    /// Adds a folder with everything in it under the same name, as the guest has it. Sockets and
    /// pipes are left out.
    pub(crate) fn tree(&mut self, path: &Path) -> Result<()> {
        let reading = || format!("reading {}", path.display());
        let name = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        let name = name.trim_start_matches('/');
        let metadata = fs::symlink_metadata(path).with_context(reading)?;
        let permissions = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            self.folder(name, permissions);
            let entries = fs::read_dir(path).with_context(reading)?;
            let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
            paths.sort();
            paths.iter().try_for_each(|path| self.tree(path))?;
        } else if metadata.is_symlink() {
            let to = fs::read_link(path).with_context(reading)?;
            self.link(name, to.to_str().context("a link to a name that is not UTF-8")?);
        } else if metadata.is_file() {
            if metadata.size() >= u64::from(u32::MAX) {
                bail!("{} is too large for an archive", path.display());
            }
            self.file(name, permissions, &fs::read(path).with_context(reading)?);
        }
        Ok(())
    }

    /// The whole archive, its end marked, to a multiple of 4 bytes so that another can follow.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry(LAST, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        // A file of this size does not fit into a guest.
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let links = if mode & FOLDER == FOLDER && mode & FILE != FILE { 2 } else { 1 };
        let fields = [
            self.entries, // inode
            mode,
            0, // user
            0, // group
            links,
            0, // time of change
            length,
            0, // device, major and minor
            0,
            device.0,
            device.1,
            name_length,
            0, // checksum, not used by this format
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, mode, device and content.
    type Entry = (String, u32, (u32, u32), Vec<u8>);

    /// Every entry, read by the format's rules.
    fn read(bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            assert_eq!(&bytes[at..at + 6], b"070701", "at {at}");
            let field = |index: usize| {
                let start = at + 6 + 8 * index;
                let text = std::str::from_utf8(&bytes[start..start + 8]).expect("hex");
                u32::from_str_radix(text, 16).expect("hex")
            };
            let name_end = at + 110 + field(11) as usize;
            assert_eq!(bytes[name_end - 1], 0);
            let name = String::from_utf8(bytes[at + 110..name_end - 1].to_vec()).expect("name");
            let start = name_end.next_multiple_of(4);
            let end = start + field(6) as usize;
            entries.push((name, field(1), (field(9), field(10)), bytes[start..end].to_vec()));
            at = end.next_multiple_of(4);
        }
        entries
    }

    #[test]
    fn every_kind_of_entry_is_written_as_the_format_asks() {
        let mut archive = Archive::default();
        archive.folder("dev", 0o755);
        archive.device("dev/console", 0o600, 5, 1);
        archive.link("bin", "usr/bin");
        archive.file("init", 0o755, b"12345");
        archive.file("empty", 0o600, b"");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let expected = [
            ("dev", 0o040_755, (0, 0), &b""[..]),
            ("dev/console", 0o020_600, (5, 1), b""),
            ("bin", 0o120_777, (0, 0), b"usr/bin"),
            ("init", 0o100_755, (0, 0), b"12345"),
            ("empty", 0o100_600, (0, 0), b""),
            (LAST, 0, (0, 0), b""),
        ];
        let expected = expected
            .map(|(name, mode, device, content)| (name.to_owned(), mode, device, content.to_vec()));
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn a_tree_is_taken_whole_in_order_with_its_permissions() {
        let folder = tempfile::tempdir().expect("folder");
        let top = folder.path().join("study");
        fs::create_dir_all(top.join("inner")).expect("folders");
        fs::write(top.join("b"), "bee").expect("write");
        fs::write(top.join("inner/secret"), "s").expect("write");
        fs::set_permissions(top.join("inner/secret"), fs::Permissions::from_mode(0o600))
            .expect("permissions");
        std::os::unix::fs::symlink("b", top.join("a")).expect("link");
        let mut archive = Archive::default();
        archive.tree(&top).expect("tree");
        let prefix = top.to_str().expect("text").trim_start_matches('/').to_owned();
        let entries = read(&archive.finish());
        let found: Vec<(&str, u32, &[u8])> = entries
            .iter()
            .map(|(name, mode, _, content)| {
                (
                    name.strip_prefix(&prefix).unwrap_or(name),
                    mode & !0o777 | mode & 0o700,
                    &content[..],
                )
            })
            .collect();
        let expected = [
            ("", 0o040_700, &b""[..]),
            ("/a", 0o120_700, b"b"),
            ("/b", 0o100_600, b"bee"),
            ("/inner", 0o040_700, b""),
            ("/inner/secret", 0o100_600, b"s"),
            (LAST, 0, b""),
        ];
        assert_eq!(found, expected);
        assert_eq!(entries[4].1, 0o100_600);
        assert!(Archive::default().tree(&top.join("gone")).is_err());
    }
}
