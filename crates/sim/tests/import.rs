//! Counts of `perf stat` become a profile, in all three forms; nonsense is refused.

use coretwin_sim::core::profile::import::{self, Assumed, from_cachegrind, from_perf_stat};
use coretwin_sim::core::{Class, Preset, Uop, length};

const TABLE: &str = "
 Performance counter stats for 'gzip -9':

          1,069.41 msec task-clock:u              #    0.998 CPUs utilized
     9,000,000,000      instructions:u            #    2.25  insn per cycle
     4,000,000,000      cycles:u
     1,800,000,000      branches:u                #    1.683 G/sec
        54,000,000      branch-misses:u           #    3.00% of all branches
     1,900,000,000      L1-dcache-loads:u
       190,000,000      L1-dcache-load-misses:u   #   10.00% of all L1-dcache accesses
   <not supported>      LLC-load-misses:u

       1.071000000 seconds time elapsed
";

const CSV: &str = "1069.41,msec,task-clock:u,1069410000,100.00,0.998,CPUs utilized
9000000000,,instructions:u,1069410000,100.00,2.25,insn per cycle
4000000000,,cycles:u,1069410000,100.00,,
1800000000,,branches:u,1069410000,100.00,,
54000000,,branch-misses:u,1069410000,100.00,3.00,of all branches
1900000000,,L1-dcache-loads:u,1069410000,100.00,,
190000000,,L1-dcache-load-misses:u,1069410000,100.00,,
<not supported>,,LLC-load-misses:u,0,100.00,,
";

fn json() -> String {
    CSV.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            format!(
                "{{\"counter-value\" : \"{}\", \"unit\" : \"{}\", \"event\" : \"{}\"}}\n",
                fields[0], fields[1], fields[2]
            )
        })
        .collect()
}

#[test]
fn the_three_forms_say_the_same() {
    let table = from_perf_stat("out.txt", "mine", TABLE).unwrap();
    assert_eq!(table, from_perf_stat("out.txt", "mine", CSV).unwrap());
    assert_eq!(table, from_perf_stat("out.txt", "mine", &json()).unwrap());
    assert_eq!(table.instructions_per_cycle, Some(2.25));
    assert_eq!(table.counted.len(), 4, "{:?}", table.counted);
    assert!(table.assumed.iter().any(|line| line.starts_with("stores: assumed")));
    assert!(table.assumed.iter().any(|line| line.starts_with("last-level misses: assumed")));
    // The text is the profile.
    let again = coretwin_sim::core::profile::Profile::read("x", &table.text).unwrap();
    assert_eq!(again, table.profile);
}

#[test]
fn counted_shares_are_those_of_the_stream() {
    let imported = from_perf_stat("out.txt", "mine", TABLE).unwrap();
    let preset = Preset::named("p4-northwood").unwrap();
    let mut uops = vec![Uop::new(Class::Nop, 0); 400_000];
    imported.profile.stream(&preset, 1, 0).fill(&mut uops);
    let share = |class| uops.iter().filter(|uop| uop.class == class).count() as f64 / 400_000.0;
    assert!((share(Class::Branch) - 1.8 / 9.9).abs() < 0.01, "{}", share(Class::Branch));
    assert!((share(Class::Load) - 1.9 / 9.9).abs() < 0.01, "{}", share(Class::Load));
}

#[test]
fn counts_that_cannot_be_are_refused() {
    for (from, to, wanted) in [
        ("9000000000,,instructions", "0,,instructions", "no count of 'instructions'"),
        ("9000000000,,instructions", "9000000000,,tricks", "no count of 'instructions'"),
        ("54000000,,branch-misses", "5400000000,,branch-misses", "is more than 'branches'"),
        ("1800000000,,branches", "18000000000,,branches", "is more than 'instructions'"),
    ] {
        let said =
            from_perf_stat("out.csv", "mine", &CSV.replace(from, to)).unwrap_err().to_string();
        assert!(said.starts_with("out.csv: ") && said.contains(wanted), "{said}");
    }
    for text in ["", "hello\nworld", "{\"event\": 3}", ",,,,,,", "1,2,3"] {
        let said = from_perf_stat("x", "mine", text).unwrap_err().to_string();
        assert!(said.contains("perf stat"), "{text}: {said}");
    }
    assert!(from_perf_stat("x", "a\"b", CSV).is_err());
}

/// The counts of instructions and branches that the text was understood to hold.
fn counts(text: &str) -> (f64, f64) {
    let imported = from_perf_stat("out.txt", "mine", text).unwrap_or_else(|e| panic!("{e}"));
    let between = |from: &str, to: &str| -> f64 {
        let found = imported.text.split_once(from).and_then(|(_, after)| after.split_once(to));
        found.and_then(|(count, _)| count.parse().ok()).expect("a count")
    };
    (between("over ", " instructions"), between("branches: ", " counted"))
}

#[test]
fn digits_are_grouped_as_in_any_language() {
    for group in [",", ".", "'", "’", "\u{202f}", "\u{a0}", ""] {
        let text = "     9,000,000      instructions:u   #  2,25  insn per cycle\n\
                    \x20    1,800,000      branches:u\n";
        let text = text.replace("9,000,000", &["9", "000", "000"].join(group));
        let text = text.replace("1,800,000", &["1", "800", "000"].join(group));
        assert_eq!(counts(&text), (9e6, 1.8e6), "grouped by '{group}'");
    }
    let csv = "     1,000123456;9000000;;instructions;1000;100,00;2,25;insn per cycle\n\
               \x20    1,000123456;1800000;;branches;1000;100,00;1,2;M/sec\n";
    assert_eq!(counts(csv), (9e6, 1.8e6), "decimal commas");
    let json = "{\"counter-value\" : \"9000000,000000\", \"event\" : \"instructions\"}\n\
                {\"counter-value\" : \"1800000,000000\", \"event\" : \"branches\"}\n";
    assert_eq!(counts(json), (9e6, 1.8e6), "decimal commas");
}

#[test]
fn columns_of_time_and_cpu_come_first_or_not() {
    for columns in ["     1.000123456 ", "CPU0 ", "S0-D0-C0           2 "] {
        let text = format!("{columns} 9,000,000  instructions\n{columns} 1,800,000  branches\n");
        assert_eq!(counts(&text), (9e6, 1.8e6), "{columns}");
    }
    for columns in ["     1.000123456,", "CPU0,", "S0-D0-C0,2,"] {
        let text = format!(
            "{columns}9000000,,instructions,1,100.00,,\n{columns}1800000,,branches,1,100.00,,\n"
        );
        assert_eq!(counts(&text), (9e6, 1.8e6), "{columns}");
    }
    let command = " Performance counter stats for './mine 7 branches':\n\n 9,000 instructions\n 18 branches\n";
    assert_eq!(counts(command), (9000.0, 18.0), "a command is no count");
}

#[test]
fn extreme_counts_make_profiles_too() {
    for text in [
        "1000000 instructions\n100 branches\n0 L1-dcache-loads\n0 L1-dcache-stores\n",
        "1000000 instructions\n967151 branches\n393353 L1-dcache-loads\n960453 L1-dcache-stores\n",
        "1000000000 instructions\n158702866 branches\n323512437 L1-dcache-loads\n\
         1451705202 L1-dcache-stores\n",
    ] {
        let _ = from_perf_stat("out.txt", "mine", text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    for name in ["", "  ", "a\rb", "a\u{1b}b"] {
        let said = from_perf_stat("out.txt", name, TABLE).unwrap_err().to_string();
        assert!(said.contains("the profile's name must be"), "{said}");
    }
}

const CACHEGRIND: &str = "desc: I1 cache: 32768 B, 64 B, 8-way associative
cmd: ./mine
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
fl=???
fn=main
0 10 0 0 3 1 0 1 0 0 1 0 0 0
summary: 9000000000 9000 900 1900000000 190000000 1900000 900000000 10000000 900 1700000000 50000000 100000000 4000000
";

#[test]
fn counts_of_valgrind_are_those_of_perf_by_their_names() {
    let imported = from_cachegrind("counts", "mine", CACHEGRIND, Assumed::default()).unwrap();
    assert_eq!(imported.instructions, 9e9);
    assert!((imported.first_level_misses.unwrap() - 200.0 / 9.0).abs() < 1e-9);
    // Branches with a condition and indirect ones together, as perf counts them.
    assert!(imported.counted.contains(&"branches: 1800000000 counted by cachegrind".to_owned()));
    assert!(imported.text.contains("3.00 % of branches missed"), "{}", imported.text);
    // Loads, branches and misses are those of the table; only it does not know stores.
    let table = from_perf_stat("out.txt", "mine", TABLE).unwrap();
    let share = |text: &str, key: &str| {
        text.split_once(key).unwrap().1.split_once(',').unwrap().0.to_owned()
    };
    for key in [" load = ", " branch = "] {
        assert_eq!(share(&imported.text, key), share(&table.text, key));
    }
    assert!(!imported.assumed.iter().any(|line| line.starts_with("stores")));
    for text in [
        "",
        "events: Ir\n",
        "events: Dr\nsummary: 5\n",
        "events: Ir\nsummary: 0\n",
        "summary: 5 6\n",
    ] {
        let said =
            from_cachegrind("counts", "mine", text, Assumed::default()).unwrap_err().to_string();
        assert!(said.contains("has no count"), "{said}");
    }
}

#[test]
fn locked_operations_are_counted_once_and_slow_the_program() {
    let preset = Preset::named("zen4").unwrap();
    let with = |locked: u64| {
        let text = CACHEGRIND.replacen("\nevents: Ir", "\nevents: Ge Ir", 1);
        let text = text.replacen("\nsummary: ", &format!("\nsummary: {locked} "), 1);
        let imported = from_cachegrind("counts", "mine", &text, Assumed::default()).unwrap();
        let alone = length::alone(&preset, &imported.profile, import::UOPS_PER_INSTRUCTION);
        (imported, alone.unwrap().0)
    };
    let ((without, fast), (imported, slow)) = (with(0), with(90_000_000));
    assert!(
        imported.counted.contains(&"locked operations: 90000000 counted by callgrind".to_owned())
    );
    assert!(imported.text.contains("load = 0.1828, store = 0.0818,"), "{}", imported.text);
    assert!(imported.text.contains("atomic = 0.0091,"), "{}", imported.text);
    assert!(without.text.contains("load = 0.1919, store = 0.0909,"), "{}", without.text);
    assert!(slow < 0.8 * fast, "{slow} of {fast}");
}

#[test]
fn a_broken_file_of_valgrind_is_refused_by_file_line_and_field() {
    for (text, says) in [
        ("events: Ir Dr\nsummary: 5\n", "counts:2: summary: 1 counts for 2 events"),
        ("events: Ir\nsummary: 5 6\n", "counts:2: summary: 2 counts for 1 events"),
        ("x\nevents: Ir Dr\nsummary: 5 many\n", "counts:3: Dr: 'many' is not a count"),
        ("events: Ir Dr\nsummary: -5 1\n", "counts:2: Ir: '-5' is not a count"),
        ("events: Ir\nsummary: inf\n", "counts:2: Ir: 'inf' is not a count"),
        ("events: Ir Ir\nsummary: 5 6\n", "counts:2: Ir: is there twice"),
    ] {
        let said = from_cachegrind("counts", "mine", text, Assumed::default()).unwrap_err();
        assert_eq!(said.to_string(), says, "{text}");
    }
}

#[test]
fn counts_that_perf_could_not_make_and_a_cut_line_are_refused_by_line() {
    for (text, says) in [
        (
            "\n   <not supported>      instructions:u\n",
            "counts:2: perf could not count instructions",
        ),
        (
            "{\"counter-value\" : \"<not counted>\", \"event\" : \"instructions:u\"}\n",
            "counts:1: perf",
        ),
        ("{\"counter-value\" : \"5.0\", \"event\" : \"instructi", "counts:1: the line is cut off"),
    ] {
        let said = from_perf_stat("counts", "mine", text).unwrap_err().to_string();
        assert!(said.starts_with(says), "{text}: {said}");
    }
}

#[test]
fn nearer_sources_are_slower_and_fewer_mispredictions_faster() {
    let preset = Preset::named("zen4").unwrap();
    let speed = |near, missed| {
        let assumed = Assumed { near, missed, ..Assumed::default() };
        let imported = from_cachegrind("counts", "mine", CACHEGRIND, assumed).unwrap();
        let alone = length::alone(&preset, &imported.profile, import::UOPS_PER_INSTRUCTION);
        alone.unwrap().0
    };
    let usual = speed(Assumed::default().near, 1.0);
    assert!(speed(0.9, 1.0) < 0.8 * usual, "{} of {usual}", speed(0.9, 1.0));
    assert!(speed(Assumed::default().near, 0.0) > 1.1 * usual);
}

#[test]
fn every_assumption_makes_a_profile_and_chains_are_the_slowest() {
    let preset = Preset::named("zen4").unwrap();
    let many_stores = CACHEGRIND.replace(" 900000000 10000000", " 4000000000 900000000");
    for text in [CACHEGRIND, &many_stores] {
        let mut last = f64::INFINITY;
        for chained in [0.0, 0.3, 1.0] {
            let of = |near, missed| {
                let assumed = Assumed { near, chained, missed };
                from_cachegrind("counts", "mine", text, assumed).unwrap_or_else(|e| panic!("{e}"))
            };
            let slow = of(0.98, 1.0);
            let _ = of(0.02, 0.0);
            let alone = length::alone(&preset, &slow.profile, import::UOPS_PER_INSTRUCTION);
            let speed = alone.unwrap().0;
            assert!(speed < last, "{chained}: {speed}, not below {last}");
            last = speed;
        }
    }
}
