//! A bundle of a fleet, as it comes back from a machine. The first byte says what the rest is: `f` the file, `t` the
//! archive in it (no fuzzer gets past gzip's checksum), else a manifest and after it names and contents of files, with
//! two NULs between them, whose digests are put right (nor past these).

#![no_main]

use coretwin_base::fleet::plan::{FileDigest, Manifest};
use coretwin_base::study::plan::Plan;
use coretwin_store::{Extent, JOURNAL};
use coretwin_store::fleet_bundle::{FleetBundle, sha256};
use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use std::path::Path;

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("compressed")
}

/// An archive of the manifest and the files, if it is one and has names for them.
fn archive(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split("\0\0");
    let mut manifest: Manifest = serde_json::from_str(parts.next()?).ok()?;
    let parts: Vec<&str> = parts.collect();
    let files = parts.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    manifest.files = files
        .clone()
        .map(|(name, file)| {
            let digest = FileDigest { sha256: sha256(file.as_bytes()), bytes: file.len() as u64 };
            (name.to_owned(), digest)
        })
        .collect();
    let text = serde_json::to_string(&manifest).ok()?;
    let mut archive = tar::Builder::new(Vec::new());
    for (name, file) in std::iter::once(("manifest.json", text.as_str())).chain(files) {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, file.as_bytes()).ok()?;
    }
    archive.into_inner().ok()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let file = match kind {
        b'f' => rest.to_vec(),
        b't' => compressed(rest),
        _ => match std::str::from_utf8(bytes).ok().and_then(archive) {
            Some(archive) => compressed(&archive),
            None => return,
        },
    };
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/target"));
    let path = folder.join(format!("bundle-{}.tar.gz", std::process::id()));
    std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, file)).expect("written");
    let manifest = FleetBundle::manifest_of(&path);
    if let Ok(mut bundle) = FleetBundle::read(&path, Extent::Whole) {
        assert_eq!(manifest.expect("as read"), bundle.manifest);
        for (name, digest) in bundle.manifest.files.iter().filter(|(name, _)| *name != JOURNAL) {
            let file = bundle.file(name).expect("every file that is named");
            assert_eq!((file.len() as u64, &sha256(file)), (digest.bytes, &digest.sha256));
        }
        if let Ok(plan) = bundle.record::<Plan>("plan.json") {
            let _ = bundle.readings(&plan);
        }
    }
    std::fs::remove_file(&path).expect("removed");
});
