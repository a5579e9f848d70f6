//! Built-in presets are sound, and bad presets are refused with file, line, key and a way out.

use coretwin_sim::core::Preset;
use coretwin_sim::core::preset::{Confidence, Policy, table};

const WESTMERE: &str = include_str!("../presets/westmere.toml");
const FOSTER: &str = include_str!("../presets/xeon-mp-foster.toml");

/// What the reader says of a text in which `from` was replaced by `to`.
fn refusal(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the test is out of date: no {from}");
    let bad = text.replacen(from, to, 1);
    Preset::read("mine.toml", &bad).expect_err("a bad preset").to_string()
}

#[test]
fn every_built_in_preset_is_sound_and_says_where_it_is_from() {
    for entry in table::ALL {
        let preset = Preset::read(entry.name, entry.text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(preset.name, entry.name);
        assert!(!preset.title.contains(&preset.name), "a title is for people");
        assert!(preset.provenance.len() > 40, "{}: {}", preset.name, preset.provenance.len());
        for item in &preset.provenance {
            let unverified =
                item.source.starts_with("general knowledge") || item.source.starts_with("estimate");
            assert!(
                !(unverified && item.confidence == Confidence::High),
                "{}: {} is general knowledge and cannot be sure",
                preset.name,
                item.key
            );
        }
    }

    assert!(Preset::named("westmere").is_some() && Preset::named("no-such").is_none());
}

#[test]
fn facts_of_the_article_and_the_note_are_read() {
    let foster = Preset::named("xeon-mp-foster").unwrap();
    assert_eq!((foster.clock_mhz, foster.ways, foster.rename.width), (1600, 2, 3));
    assert_eq!(
        (foster.reorder_buffer.entries, foster.reorder_buffer.policy),
        (126, Policy::Static)
    );
    assert_eq!(foster.execution[1].latency_half_cycles, 1, "half a cycle");
    assert_eq!(foster.memory.alias_bits, 16);
    assert_eq!(foster.memory.outer.len(), 2);
    let cove = Preset::named("golden-cove").unwrap();
    let load = cove.schedulers.iter().find(|scheduler| scheduler.name == "load").unwrap();
    assert_eq!(load.resource.policy, Policy::Watermark { reserve: 17 });
    assert_eq!(Preset::named("power9-smt4").unwrap().ways, 4);
}

#[test]
fn a_typing_error_is_named_with_its_line_and_the_nearest_key() {
    let said = refusal(WESTMERE, "[back_end]", "[back_edn]");
    assert!(said.contains("back_end") && said.contains("did you mean"), "{said}");
    let said = refusal(WESTMERE, "reorder_buffer =", "reorder_bufer =");
    let line = 1 + WESTMERE.lines().position(|line| line.starts_with("reorder_buffer")).unwrap();
    assert!(said.starts_with(&format!("mine.toml:{line}: back_end.reorder_bufer:")), "{said}");
    assert!(said.contains("did you mean 'reorder_buffer'?"), "{said}");
    let said = refusal(WESTMERE, "policy = \"competitive\"", "policy = \"competitve\"");
    assert!(said.contains("did you mean 'competitive'?"), "{said}");
}

#[test]
fn absurd_values_are_refused_with_the_allowed_range() {
    for (from, to, wanted) in [
        (
            "mhz = 2670",
            "mhz = 0",
            "core.clock.mhz: is 0; it must be a whole number from 1 to 20000",
        ),
        ("mhz = 2670", "mhz = -5", "is -5"),
        ("mhz = 2670", "mhz = 99999999999999999999999", "from 1 to 20000"),
        ("mhz = 2670", "mhz = \"fast\"", "not a text"),
        ("mhz = 2670", "mhz = 2.67", "not a number with a fraction"),
        ("ways = 2,", "ways = 3,", "it must be 1, 2 or 4"),
        (
            "entries = 128, policy = \"static\"",
            "entries = 100000, policy = \"static\"",
            "from 2 to 512",
        ),
        (
            "entries = 128, policy = \"static\"",
            "entries = 128, policy = \"watermark\", reserve = 128",
            "from 0 to 127",
        ),
        (
            "entries = 128, policy = \"static\"",
            "entries = 128, policy = \"capped\", cap = 129",
            "from 1 to 128",
        ),
        ("latency = 3", "latency = 2.5", "it must be whole cycles"),
        ("ports = [0, 1, 5]", "ports = [0, 0]", "at most once"),
        ("ports = [0, 1, 5]", "ports = [16]", "from 0 to 15"),
        ("confidence = \"high\"", "confidence = \"certain\"", "one of low, medium, high"),
        ("source = \"RealWorldTech, Inside Nehalem, p. 6\"", "source = \" \"", "is empty"),
    ] {
        let said = refusal(WESTMERE, from, to);
        assert!(said.contains(wanted), "{to}: {said}");
    }
}

#[test]
fn sizes_beyond_what_the_core_holds_are_refused() {
    for (key, item, most) in [
        ("uop_queue", "entries", 256),
        ("reorder_buffer", "entries", 512),
        ("store_buffer", "entries", 256),
        ("miss_buffers", "entries", 64),
        ("walk", "walkers", 8),
        ("prefetcher", "degree", 8),
        ("prefetcher", "trackers", 32),
    ] {
        let line = WESTMERE.lines().find(|line| line.starts_with(&format!("{key} ="))).unwrap();
        let (before, after) = line.split_once(&format!("{item} = ")).unwrap();
        let end = after.find([',', ' ']).unwrap();
        let with = |number| format!("{before}{item} = {number}{}", &after[end..]);
        let largest = WESTMERE.replacen(line, &with(most), 1);
        assert!(Preset::read("mine.toml", &largest).is_ok(), "{key}.{item} = {most}");
        let said = refusal(WESTMERE, line, &with(most + 1));
        assert!(said.contains(&format!("{key}.{item}: is {}", most + 1)), "{said}");
    }
}

#[test]
fn more_schedulers_than_the_core_holds_are_refused() {
    let start = WESTMERE.find("[schedulers]").unwrap();
    let end = start + WESTMERE[start..].find("[execution]").unwrap();
    let classes = [
        "int_alu",
        "int_shift",
        "int_mul",
        "int_div",
        "fp_add",
        "fp_mul",
        "fp_div",
        "vector",
        "load",
        "store",
        "branch",
        "atomic",
    ];
    let with = |count: usize| {
        let mut text = "[schedulers]\n".to_owned();
        for (number, class) in classes.iter().enumerate().take(count) {
            let last = if number + 1 == count { &classes[number..] } else { &[*class][..] };
            text += &format!(
                "s{number} = {{ entries = 8, policy = \"competitive\", classes = {last:?}, \
                 source = \"test\", confidence = \"low\" }}\n"
            );
        }
        format!("{}{text}{}", &WESTMERE[..start], &WESTMERE[end..])
    };
    assert_eq!(Preset::read("mine.toml", &with(9)).unwrap().schedulers.len(), 9);
    let said = Preset::read("mine.toml", &with(10)).unwrap_err().to_string();
    assert!(said.contains("schedulers: are 10; at most 9"), "{said}");
}

#[test]
fn missing_and_unknown_items_are_refused() {
    let said = refusal(WESTMERE, ", confidence = \"high\"", "");
    assert!(said.contains("has no 'confidence'"), "{said}");
    let said = refusal(WESTMERE, "mhz = 2670", "mhz = 2670, megahertz = 7");
    assert!(said.contains("core.clock.megahertz: is unknown; known here are mhz"), "{said}");
    let said = refusal(WESTMERE, "title =", "colour = \"blue\"\ntitle =");
    assert!(said.starts_with("mine.toml:") && said.contains("colour: is unknown"), "{said}");
    let said = Preset::read("mine.toml", "").unwrap_err().to_string();
    assert_eq!(said, "mine.toml:1: the file: has no 'name'");
    let said = Preset::read("mine.toml", "name = ").unwrap_err().to_string();
    assert!(said.starts_with("mine.toml: line 1: is not TOML"), "{said}");
    let said = Preset::read("mine.toml", &"#".repeat(2_000_000)).unwrap_err().to_string();
    assert!(said.contains("more than 1 MiB"), "{said}");
}

#[test]
fn contradictions_are_refused() {
    for (text, from, to, wanted) in [
        (
            WESTMERE,
            "load_cycles = 10,",
            "load_cycles = 3,",
            "memory.second: answers in 3 cycles, the level within it in 4",
        ),
        (
            WESTMERE,
            "load_cycles = 175,",
            "load_cycles = 30,",
            "memory.main: answers in 30 cycles, the last cache in 40",
        ),
        (WESTMERE, "bytes = 32_768, ways = 8", "bytes = 32_768, ways = 7", "power of two"),
        (WESTMERE, "line = { bytes = 64", "line = { bytes = 32", "from 64 to 512"),
        (
            WESTMERE,
            "entries = 64, ways = 4",
            "entries = 60, ways = 4",
            "translation.data: has 60 entries",
        ),
        (WESTMERE, "\"load\", \"store\"", "\"store\"", "no scheduler holds 'load'"),
        (
            FOSTER,
            "classes = [\"load\", \"store\"",
            "classes = [\"load\", \"vector\", \"store\"",
            "'vector' is in another scheduler too",
        ),
        (FOSTER, "double_pumped = true", "double_pumped = false", "latency"),
        (FOSTER, "fast_ports = [0, 1]", "fast_ports = []", "go together"),
        (
            WESTMERE,
            "select = \"alternate\", threads_per_cycle = 1",
            "select = \"first_thread\", threads_per_cycle = 1",
            "starve",
        ),
        (
            WESTMERE,
            "select = \"alternate\", threads_per_cycle = 1",
            "select = \"alternate\", threads_per_cycle = 4",
            "the core has 2",
        ),
        (WESTMERE, "code_cache = {", "x = {", "code_cache"),
    ] {
        let said = refusal(text, from, to);
        assert!(said.contains(wanted), "{to}: {said}");
    }
}
