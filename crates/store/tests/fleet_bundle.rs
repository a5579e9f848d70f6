//! Bundles: equal contents give equal bytes; what was cut off, altered, swapped or made by a newer
//! version is refused with a reason.

use coretwin_base::fleet::MemberState;
use coretwin_base::fleet_plan::{BundleHolds, Manifest};
use coretwin_base::random::Stream;
use coretwin_store::fleet_bundle::{self, FleetBundle};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn manifest() -> Manifest {
    Manifest {
        schema: 1,
        coretwin: "0".to_owned(),
        fleet: "f".repeat(64),
        task: 3,
        machine: "00112233aabbccdd".into(),
        name: "n1".to_owned(),
        holds: BundleHolds::Study,
        state: MemberState::Complete,
        files: BTreeMap::new(),
    }
}

fn bundle(folder: &Path, manifest: Manifest) -> PathBuf {
    let sources = folder.join("sources");
    fs::create_dir_all(&sources).expect("folder");
    fs::write(sources.join("plan.json"), "{}\n").expect("plan");
    fs::write(sources.join("journal.jsonl"), "x".repeat(5_000)).expect("journal");
    let files = ["plan.json", "journal.jsonl"].map(|name| (name, sources.join(name)));
    fleet_bundle::write(&folder.join("bundles"), manifest, &files).expect("a bundle")
}

#[test]
fn equal_contents_give_equal_bytes_and_come_back() {
    let scratch = tempfile::tempdir().expect("folder");
    let path = bundle(scratch.path(), manifest());
    let bytes = fs::read(&path).expect("bytes");
    assert_eq!(bundle(scratch.path(), manifest()), path, "it replaces itself");
    assert_eq!(fs::read(&path).expect("bytes"), bytes);
    let read = FleetBundle::read(&path).expect("whole");
    assert_eq!(read.file("plan.json"), Some(b"{}\n".as_slice()));
    assert_eq!(read.file("journal.jsonl").map(<[u8]>::len), Some(5_000));
    assert_eq!(FleetBundle::manifest_of(&path).expect("manifest"), read.manifest);
    let name = path.file_name().expect("name").to_string_lossy().into_owned();
    assert_eq!(name, format!("00112233aabbccdd-{}.tar.gz", &read.digest[..16]));
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let scratch = tempfile::tempdir().expect("folder");
    let path = bundle(scratch.path(), manifest());
    let good = fs::read(&path).expect("bytes");
    let whole = FleetBundle::read(&path).expect("whole");
    let bad = scratch.path().join("00112233aabbccdd-bad.tar.gz");
    for length in (0..good.len() - 100).step_by(7) {
        fs::write(&bad, &good[..length]).expect("write");
        assert!(FleetBundle::read(&bad).is_err(), "cut to {length} bytes");
    }
    let mut stream = Stream::new(1, "bundle", 0);
    for _ in 0..300 {
        let mut bytes = good.clone();
        let at = stream.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << stream.below(8);
        fs::write(&bad, &bytes).expect("write");
        // A bit of the gzip header may mean nothing; then what is read must be what was written.
        if let Ok(read) = FleetBundle::read(&bad) {
            assert_eq!(read.manifest, whole.manifest, "byte {at}");
            assert_eq!(read.file("journal.jsonl"), whole.file("journal.jsonl"), "byte {at}");
        }
    }
}

#[test]
fn a_reason_is_given_in_words() {
    let scratch = tempfile::tempdir().expect("folder");
    let path = bundle(scratch.path(), manifest());
    let reason = |path: &Path| FleetBundle::read(path).expect_err("refused").to_string();

    let good = fs::read(&path).expect("bytes");
    let cut = path.with_file_name("cut.tar.gz");
    fs::write(&cut, &good[..good.len() / 2]).expect("write");
    assert!(reason(&cut).contains("cut off"), "{}", reason(&cut));

    // A name that promises another manifest.
    let renamed = path.with_file_name("00112233aabbccdd-0123456789abcdef.tar.gz");
    fs::copy(&path, &renamed).expect("copy");
    assert!(reason(&renamed).contains("altered"), "{}", reason(&renamed));

    let newer = bundle(scratch.path(), Manifest { schema: 99, ..manifest() });
    assert!(reason(&newer).contains("newer coretwin"), "{}", reason(&newer));

    let text = path.with_file_name("text.tar.gz");
    fs::write(&text, "no archive").expect("write");
    assert!(reason(&text).contains("damaged or no bundle"), "{}", reason(&text));
}
