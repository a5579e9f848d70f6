//! Bundles: equal contents give equal bytes; what was cut off, altered, swapped or made by a newer
//! version is refused with a reason.

use coretwin_base::fleet::MemberState;
use coretwin_base::fleet::plan::{BundleHolds, Manifest};
use coretwin_base::random::Stream;
use coretwin_store::Extent;
use coretwin_store::fleet_bundle::{self, FleetBundle};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
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
    fs::write(sources.join("cells.jsonl"), "x".repeat(5_000)).expect("cells");
    let files = ["plan.json", "cells.jsonl"].map(|name| (name, sources.join(name)));
    fleet_bundle::write(&folder.join("bundles"), manifest, &files).expect("a bundle")
}

#[test]
fn equal_contents_give_equal_bytes_and_come_back() {
    let scratch = tempfile::tempdir().expect("folder");
    let path = bundle(scratch.path(), manifest());
    let bytes = fs::read(&path).expect("bytes");
    assert_eq!(bundle(scratch.path(), manifest()), path, "it replaces itself");
    assert_eq!(fs::read(&path).expect("bytes"), bytes);
    let read = FleetBundle::read(&path, Extent::Whole).expect("whole");
    assert_eq!(read.file("plan.json"), Some(b"{}\n".as_slice()));
    assert_eq!(read.file("cells.jsonl").map(<[u8]>::len), Some(5_000));
    assert_eq!(FleetBundle::manifest_of(&path).expect("manifest"), read.manifest);
    let name = path.file_name().expect("name").to_string_lossy().into_owned();
    assert_eq!(name, format!("00112233aabbccdd-{}.tar.gz", &read.digest[..16]));
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let scratch = tempfile::tempdir().expect("folder");
    let path = bundle(scratch.path(), manifest());
    let good = fs::read(&path).expect("bytes");
    let whole = FleetBundle::read(&path, Extent::Whole).expect("whole");
    let bad = scratch.path().join("00112233aabbccdd-bad.tar.gz");
    for length in (0..good.len() - 100).step_by(7) {
        fs::write(&bad, &good[..length]).expect("write");
        assert!(FleetBundle::read(&bad, Extent::Whole).is_err(), "cut to {length} bytes");
    }
    let mut stream = Stream::new(1, "bundle", 0);
    for _ in 0..300 {
        let mut bytes = good.clone();
        let at = stream.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << stream.below(8);
        fs::write(&bad, &bytes).expect("write");
        // A bit of the gzip header may mean nothing; then what is read must be what was written.
        if let Ok(read) = FleetBundle::read(&bad, Extent::Whole) {
            assert_eq!(read.manifest, whole.manifest, "byte {at}");
            assert_eq!(read.file("cells.jsonl"), whole.file("cells.jsonl"), "byte {at}");
        }
    }
}

#[test]
fn a_reason_is_given_in_words() {
    let scratch = tempfile::tempdir().expect("folder");
    let path = bundle(scratch.path(), manifest());
    let reason =
        |path: &Path| FleetBundle::read(path, Extent::Whole).expect_err("refused").to_string();

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

    // Nobody will ever write into it.
    let pipe = path.with_file_name("pipe.tar.gz");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success() && reason(&pipe).contains("no regular file"), "{}", reason(&pipe));

    let text = path.with_file_name("text.tar.gz");
    fs::write(&text, "no archive").expect("write");
    assert!(reason(&text).contains("damaged or no bundle"), "{}", reason(&text));
}

/// An archive with an entry of that kind and so many zeros behind a manifest, and whatever follows it.
fn with_zeros(folder: &Path, kind: u8, zeros: u64, padding: u64) -> PathBuf {
    let path = folder.join("zeros.tar.gz");
    let file = GzEncoder::new(fs::File::create(&path).expect("file"), Compression::fast());
    let mut archive = tar::Builder::new(file);
    let mut add = |name: &str, kind: u8, bytes: u64, from: &mut dyn Read| {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes);
        header.set_entry_type(tar::EntryType::new(kind));
        archive.append_data(&mut header, name, from).expect("added");
    };
    let text = serde_json::to_vec(&manifest()).expect("manifest");
    add("manifest.json", b'0', text.len() as u64, &mut &*text);
    if zeros > 0 {
        add("long", kind, zeros, &mut io::repeat(0).take(zeros));
    }
    let mut file = archive.into_inner().expect("archive");
    io::copy(&mut io::repeat(0).take(padding), &mut file).expect("padding");
    file.finish().expect("gzip").flush().expect("flush");
    path
}

#[test]
fn what_other_programs_write_for_long_names_is_not_read() {
    let scratch = tempfile::tempdir().expect("folder");
    // GNU's long name and long link, and the headers of POSIX.
    for kind in [b'L', b'K', b'x', b'g', b'0'] {
        let path = with_zeros(scratch.path(), kind, 8 << 20, 0);
        let told = FleetBundle::read(&path, Extent::Whole).expect_err("refused").to_string();
        assert!(told.contains("which its manifest does not name"), "{}: {told}", kind as char);
    }
    assert!(
        FleetBundle::read(&with_zeros(scratch.path(), b'0', 0, 10 << 10), Extent::Whole).is_ok()
    );
    let bomb = with_zeros(scratch.path(), b'0', 0, 1 << 20);
    let told = FleetBundle::read(&bomb, Extent::Whole).expect_err("refused").to_string();
    assert!(told.contains("more follows its archive"), "{told}");
}
