//! Where a load comes from: a name of our own, or a file, plain or compressed.

use super::parser::parse;
use super::{Load, generator, recipes};
use crate::{Context, Error};
use coretwin_base::caps;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The load of that name: `netbench-2002`, `netbench`, or the path of a file (plain, gzip or
/// zlib). The seed is for those of our own.
pub fn find(name: &str, seed: u64) -> Result<Load, Error> {
    if let Some(recipe) = recipes::ALL.iter().find(|recipe| recipe.name == name) {
        return Ok(generator::generate(recipe, seed));
    }
    parse(name, &text(Path::new(name))?)
}

#[must_use]
pub fn is_own(name: &str) -> bool {
    recipes::ALL.iter().any(|recipe| recipe.name == name)
}

fn text(path: &Path) -> Result<Vec<u8>, Error> {
    let read = || {
        let mut file = BufReader::new(File::open(path)?);
        match *file.fill_buf()? {
            [0x1f, 0x8b, ..] => caps::LOAD.read(MultiGzDecoder::new(file)),
            // No text begins so: 0x78 is 'x', and the two bytes are a multiple of 31 (RFC 1950).
            [0x78, second, ..] if (0x7800 + u16::from(second)) % 31 == 0 => {
                caps::LOAD.read(ZlibDecoder::new(file))
            }
            _ => caps::LOAD.read(file),
        }
    };
    read().with_context(|| format!("cannot read the load file {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;

    #[test]
    fn compressed_files_are_read_as_plain_ones() {
        let folder = tempfile::tempdir().expect("folder");
        let text = b"Sleep 1 NT_STATUS_OK\nSleep 2 NT_STATUS_OK\n";
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).expect("gzip");
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).expect("zlib");
        let stored = [text.to_vec(), gzip.finish().expect("gzip"), zlib.finish().expect("zlib")];
        for (index, bytes) in stored.iter().enumerate() {
            let path = folder.path().join(index.to_string());
            std::fs::write(&path, bytes).expect("written");
            let load = find(&path.to_string_lossy(), 0).expect("read");
            assert_eq!(load.operations.len(), 2);
        }
        // A compressed file that is cut short is refused, not half read.
        let path = folder.path().join("short");
        std::fs::write(&path, &stored[1][..stored[1].len() - 9]).expect("written");
        let error = find(&path.to_string_lossy(), 0).expect_err("short").to_string();
        assert!(error.contains("cannot read the load file"), "{error}");
        let error = find("/none/such", 0).expect_err("none").to_string();
        assert!(error.contains("/none/such"), "{error}");
    }
}
