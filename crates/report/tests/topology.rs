//! The drawing of a machine, on the records that the topology reader's own tests keep.

use coretwin_base::machine::cpu_set::{CoreId, CpuId, CpuSet};
use coretwin_base::machine::topology::{Cpu, Topology};
use coretwin_report::topology::draw;
use expect_test::expect_file;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Every record that the reader's own tests keep, by name.
fn machines() -> BTreeMap<String, Topology> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/topologies");
    let files = std::fs::read_dir(folder).expect("records").flatten();
    files
        .map(|file| {
            let text = std::fs::read_to_string(file.path()).expect("record");
            let name = file.path().file_stem().expect("name").to_string_lossy().into_owned();
            (name, serde_json::from_str(&text).expect("topology"))
        })
        .collect()
}

#[test]
fn drawings_of_every_machine() {
    let mut all = String::new();
    for (name, topology) in machines() {
        let _ = writeln!(all, "======== {name} ========\n{}", draw(&topology, 100));
    }
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots/topologies.txt")]
        .assert_eq(&all);
}

/// The article's `/proc/cpuinfo`, read under its own kernel, is not two CPUs on two cores.
#[test]
fn listing_1_alone_is_two_logical_cpus_of_unknown_cores() {
    let mut alone = machines().remove("listing-1").expect("record");
    let drawing = draw(&alone, 100);
    assert!(drawing.starts_with("2 logical CPUs; ht flag set; cores unknown\n"), "{drawing}");
    assert!(!drawing.contains("2 cores") && !drawing.contains("package"), "{drawing}");
    assert!(drawing.contains("\nCPUs 0-1, on which cores is unknown\n"), "{drawing}");
    assert!(drawing.contains("microcode unknown, agree in feature flags"), "{drawing}");
    let agree = alone.cpuinfo.siblings_agree.as_mut().expect("two CPUs");
    agree.microcode = Some(false);
    agree.differences = (0..9).map(|cpu| format!("CPUs {cpu} and 9 differ")).collect();
    let drawing = draw(&alone, 100);
    assert!(drawing.contains("DIFFER in microcode, agree in"), "{drawing}");
    assert!(drawing.contains("CPUs 5 and 9") && drawing.contains("and 3 more"), "{drawing}");
}

#[test]
fn every_line_fits_and_every_small_machine_shows_every_cpu() {
    for (name, topology) in machines() {
        let drawing = draw(&topology, 100);
        for line in drawing.lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
            assert_eq!(line, line.trim_end(), "{name}");
        }
        assert!(drawing.lines().count() < 50, "{name}");
        let words: Vec<&str> =
            drawing.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
        if topology.threads_per_core_max.is_some_and(|most| most <= 2) && !drawing.contains('…') {
            for cpu in &topology.cpus {
                assert!(words.contains(&cpu.cpu.to_string().as_str()), "{name}: {}", cpu.cpu);
            }
        }
    }
}

#[test]
fn many_equal_parts_and_long_rows_are_folded_but_never_where_a_cpu_is_marked() {
    let mut wide = machines().remove("vm-no-smt").expect("record");
    let one = wide.cpus[0].clone();
    wide.cpus = (0..300)
        .map(|cpu| Cpu {
            cpu: CpuId(cpu),
            core: CoreId(cpu),
            siblings: CpuSet::new(),
            ..one.clone()
        })
        .collect();
    wide.allowed = wide.cpus.iter().map(|cpu| cpu.cpu).collect();
    let drawing = draw(&wide, 100);
    assert!(drawing.contains("[5] … 292 more … [298] [299]"), "{drawing}");
    wide.cpus[150].online = false;
    let drawing = draw(&wide, 100);
    assert!(drawing.contains("(150)") && drawing.contains("[149]"), "{drawing}");
    for cpu in &mut wide.cpus {
        (cpu.package, cpu.online) = (cpu.cpu.0 / 10, true);
    }
    let drawing = draw(&wide, 100);
    assert!(drawing.contains("… 27 more packages like these, CPUs 20-289"), "{drawing}");
}

#[test]
fn nothing_at_all_is_still_a_drawing() {
    let mut empty = machines().remove("vm-no-smt").expect("record");
    empty.cpus.clear();
    empty.caches.clear();
    assert!(draw(&empty, 100).starts_with("0 CPUs on 0 cores"));
}
