//! Built-in profiles are sound, streams have the statistics that profiles state, bad ones are
//! refused with file, line, key and a way out.

use coretwin_sim::core::preset::Confidence;
use coretwin_sim::core::profile::{Access, Branches, Phase, Profile, Sieve, Work, table};
use coretwin_sim::core::uop::{KERNEL_CODE, KERNEL_DATA};
use coretwin_sim::core::{Class, Effect, Preset, Stream, Uop};

const GZIP: &str = include_str!("../profiles/gzip-source.toml");
const SPIN: &str = include_str!("../profiles/spin.toml");

fn netburst() -> Preset {
    Preset::named("xeon-mp-foster").expect("a built-in preset")
}

fn westmere() -> Preset {
    Preset::named("westmere").expect("a built-in preset")
}

fn take(mut stream: Box<dyn Stream>, uops: usize) -> Vec<Uop> {
    let mut batch = vec![Uop::new(Class::Nop, 0); uops];
    stream.fill(&mut batch);
    batch
}

fn count(uops: &[Uop], class: Class) -> usize {
    uops.iter().filter(|uop| uop.class == class).count()
}

#[test]
fn every_built_in_profile_is_sound_and_says_where_it_is_from() {
    for entry in table::ALL {
        let profile = Profile::read(entry.name, entry.text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(profile.name, entry.name);
        assert!(!profile.provenance.is_empty());
        for item in &profile.provenance {
            let guessed = item.source.starts_with("estimate") || item.source.starts_with("general");
            assert!(
                !guessed || item.confidence == Confidence::Low,
                "{}: {}",
                profile.name,
                item.key
            );
        }
    }
    assert!(Profile::named("gzip").is_some() && Profile::named("no-such").is_none());
}

#[test]
fn a_body_walks_from_where_it_is_told_in_a_phase_as_by_itself() {
    let text = |head: &str| {
        format!(
            "name = \"walk\"\ntitle = \"a walk\"\nkind = \"{head}\nsource = \"estimate\"\n\
             confidence = \"low\"\ntext = '''\nload @0x1008+64/128\nload @+8/16\n'''\n"
        )
    };
    let length = "length = { uops = 16, source = \"estimate\", confidence = \"low\" }";
    let phase = format!("statistical\"\n\n[[phase]]\nname = \"all\"\n{length}\n\n[phase.body]");
    for head in ["body\"\n\n[body]", &phase] {
        let profile = Profile::read("walk", &text(head)).unwrap_or_else(|error| panic!("{error}"));
        let uops = take(profile.stream(&westmere(), 1, 0), 40);
        let start = uops[1].address;
        for (round, pair) in uops.chunks(2).enumerate() {
            let round = round as u64;
            assert_eq!(pair[0].address - start, 0x1008 + round * 64 % 128);
            assert_eq!(pair[1].address - start, round * 8 % 16);
        }
    }
}

#[test]
fn streams_depend_on_seed_and_thread_and_on_nothing_else() {
    for profile in Profile::all() {
        for preset in [netburst(), westmere()] {
            let whole = take(profile.stream(&preset, 3, 1), 20_000);
            assert_eq!(whole, take(profile.stream(&preset, 3, 1), 20_000), "{}", profile.name);
            let mut pieces = vec![Uop::new(Class::Nop, 0); 20_000];
            let mut stream = profile.stream(&preset, 3, 1);
            let (mut done, mut size) = (0, 1);
            while done < pieces.len() {
                let end = (done + size).min(pieces.len());
                stream.fill(&mut pieces[done..end]);
                (done, size) = (end, size % 97 + 1);
            }
            assert_eq!(whole, pieces, "{}: batches of other sizes", profile.name);
        }
    }
    let gzip = Profile::named("gzip").unwrap();
    let one = take(gzip.stream(&westmere(), 1, 0), 5000);
    assert_ne!(one, take(gzip.stream(&westmere(), 2, 0), 5000), "seed");
    assert_ne!(one, take(gzip.stream(&westmere(), 1, 1), 5000), "copy");
}

fn phases(profile: &Profile) -> &[Phase] {
    match &profile.work {
        Work::Statistical(phases) => phases,
        _ => &[],
    }
}

#[test]
fn the_mix_is_the_stated_one() {
    for profile in Profile::all() {
        let phases = phases(&profile);
        let round: u64 = phases.iter().map(|phase| phase.uops).sum();
        if phases.is_empty() || round > 2_000_000 {
            continue;
        }
        let uops = take(
            profile.stream(&netburst(), 1, 0),
            round as usize * (400_000 / round as usize + 1),
        );
        for class in Class::ALL {
            let stated: f64 = phases
                .iter()
                .map(|phase| phase.mix.of(class) * phase.uops as f64 / round as f64)
                .sum();
            let realised = count(&uops, class) as f64 / uops.len() as f64;
            // A layout of n slots holds whole slots of a class; events add a few.
            let least: u64 = phases.iter().map(|phase| phase.code.hot_bytes / 4).min().unwrap();
            let tolerance = 0.01 + 1.5 / least as f64;
            assert!(
                (stated - realised).abs() < tolerance,
                "{} {}: stated {stated:.4}, realised {realised:.4}",
                profile.name,
                class.name()
            );
        }
    }
}

#[test]
fn compares_fuse_where_the_preset_fuses() {
    let gzip = Profile::named("gzip-source").unwrap();
    let share = 1.0 / gzip.unfused(&westmere());
    let apart = take(gzip.stream(&netburst(), 1, 0), 200_000);
    let fused = take(gzip.stream(&westmere(), 1, 0), 200_000);
    let per_branch = |uops: &[Uop]| uops.len() as f64 / count(uops, Class::Branch) as f64;
    let measured = per_branch(&fused) / per_branch(&apart);
    assert!((measured - share).abs() < 0.01, "{measured} {share}");
    let perl = Profile::named("perl-loop").unwrap();
    let Work::Body(body) = &perl.work else { panic!("perl-loop is a body") };
    assert_eq!((body.uops(false), body.uops(true)), (64, 64 - 7));
}

#[test]
fn sources_are_results() {
    for profile in Profile::all() {
        let statistical = !phases(&profile).is_empty();
        for preset in [netburst(), westmere()] {
            let uops = take(profile.stream(&preset, 1, 0), 60_000);
            let mut dangling = 0;
            for (place, uop) in uops.iter().enumerate() {
                for source in uop.sources.into_iter().filter(|source| *source > 0) {
                    assert!(usize::from(source) <= place, "{}: before the beginning", profile.name);
                    let producer = uops[place - usize::from(source)];
                    let compare = uop.class == Class::Branch;
                    dangling +=
                        usize::from(producer.class.writes_float_register().is_none() && !compare);
                }
            }
            // Phases and excursions change what lies before them (one source in twelve where phases
            // have 40 uops); bodies are exact.
            let allowed = if statistical { 7000 } else { 0 };
            assert!(dangling <= allowed, "{}: {dangling} sources without a result", profile.name);
        }
    }
}

#[test]
fn branches_go_their_usual_way_as_often_as_stated() {
    let profile = Profile::named("gzip-words").unwrap();
    let phases = phases(&profile);
    let sum = |of: &dyn Fn(&Phase) -> f64| phases.iter().map(of).sum::<f64>();
    // Branches that go the unusual way, by what is said of their classes.
    let unusual = |branches: &Branches| -> f64 {
        branches.bias.iter().zip(&branches.share).map(|(bias, share)| share * (1.0 - bias)).sum()
    };
    let executed = |phase: &Phase| phase.uops as f64 * phase.mix.of(Class::Branch);
    let stated = sum(&|phase| executed(phase) * unusual(&phase.branches)) / sum(&executed);
    let uops = take(profile.stream(&westmere(), 5, 0), 900_000);
    let mut sites = std::collections::BTreeMap::new();
    for uop in uops.iter().filter(|uop| uop.class == Class::Branch) {
        let site = sites.entry(uop.code).or_insert((0u32, 0u32));
        site.0 += 1;
        site.1 += u32::from(uop.effect == Effect::Taken);
    }
    let executed: u32 = sites.values().map(|site| site.0).sum();
    let unusual: u32 = sites.values().map(|(all, taken)| (*taken).min(all - taken)).sum();
    let realised = f64::from(unusual) / f64::from(executed);
    assert!((realised - stated).abs() < 0.01, "{realised} {stated}");
}

/// Both loads of the loop hang on the link before: the next link, and the byte that the branch waits for.
#[test]
fn the_chain_of_gzip_is_a_chain() {
    let profile = Profile::named("gzip-binary").unwrap();
    let uops = take(profile.stream(&westmere(), 1, 0), 100_000);
    let search = phases(&profile)[0].body.as_ref().expect("the search is a loop");
    let round = search.uops(true);
    assert_eq!((search.uops(false), round), (12, 9));
    // Within a search a load's sources lead to the link of the round before.
    let link = |place: usize| {
        let mut place = place - usize::from(uops[place].sources[0]);
        while uops[place].class != Class::Load {
            place -= usize::from(uops[place].sources[0]);
        }
        place
    };
    let code = uops[0].code & !0x3f;
    let loads: Vec<usize> = (round..1200)
        .filter(|at| uops[*at].class == Class::Load && uops[*at].code & !0x3f == code)
        .collect();
    for round in loads.windows(4).step_by(2) {
        assert_eq!(link(round[0]), link(round[1]), "{round:?}: the window and the next link");
        assert_eq!((link(round[2]), link(round[3])), (round[1], round[1]), "{round:?}");
    }
    let waits = uops[4 - 1];
    assert!(waits.class == Class::Branch && waits.sources[0] == 1, "{waits:?}");
}

#[test]
fn kernel_phases_are_entered_and_left() {
    let profile = Profile::named("tbench").unwrap();
    let uops = take(profile.stream(&westmere(), 1, 0), 100_000);
    let (mut kernel, mut entries) = (false, 0);
    for uop in &uops {
        match uop.effect {
            Effect::EnterKernel => (kernel, entries) = (true, entries + 1),
            Effect::LeaveKernel => kernel = false,
            _ => {
                assert_eq!(uop.code & KERNEL_CODE != 0, kernel, "code");
                if uop.address != 0 {
                    assert_eq!(uop.address & KERNEL_DATA != 0, kernel, "data");
                }
            }
        }
    }
    assert!((5..20).contains(&entries), "{entries}");
}

#[test]
fn locks_are_taken_and_given_back_in_turn() {
    for name in ["lock-handoff", "lock-handoff-pause", "chat", "dbench"] {
        let uops = take(Profile::named(name).unwrap().stream(&netburst(), 1, 0), 200_000);
        let mut held = None;
        for uop in &uops {
            match uop.effect {
                Effect::Acquire | Effect::AcquirePausing => {
                    assert_eq!(held.replace((uop.argument, uop.address)), None, "{name}");
                }
                Effect::Release => {
                    assert_eq!(held.take(), Some((uop.argument, uop.address)), "{name}");
                }
                _ => {}
            }
        }
        assert!(uops.iter().any(|uop| uop.effect == Effect::Release), "{name}");
    }
}

/// Lines of a set-associative cache with the least recently used one replaced; counts misses.
struct Lru {
    sets: Vec<Vec<u32>>,
    ways: usize,
    shift: u32,
    misses: u64,
}

impl Lru {
    fn new(sets: usize, ways: usize, shift: u32) -> Self {
        Self { sets: vec![Vec::new(); sets], ways, shift, misses: 0 }
    }

    fn access(&mut self, address: u32) {
        let line = address >> self.shift;
        let sets = self.sets.len();
        let set = &mut self.sets[line as usize % sets];
        match set.iter().rposition(|known| *known == line) {
            Some(place) => {
                set.remove(place);
            }
            None => {
                self.misses += 1;
                if set.len() == self.ways {
                    set.remove(0);
                }
            }
        }
        set.push(line);
    }
}

#[test]
fn the_sieve_is_the_true_one() {
    let sieve = Sieve { table_bytes: 1_000_000 };
    let (mut second_level, mut translations) = (Lru::new(512, 8, 6), Lru::new(1, 64, 12));
    let (mut fills, mut strikes, mut primes, mut struck) = (0u64, 0u64, 0, vec![false; 1_000_000]);
    for access in sieve.accesses() {
        match access {
            Access::Fill(_) => fills += 1,
            Access::Strike(at) => {
                strikes += 1;
                struck[at as usize] = true;
            }
            Access::Count(at) => primes += u32::from(!struck[at as usize]),
            Access::Look(_) => {}
        }
        second_level.access(access.offset());
        translations.access(access.offset());
    }
    // 78,498 primes below a million, and 0 and 1, which nobody strikes out.
    assert_eq!((fills, strikes, primes), (1_000_000, 2_775_208, 78_500));
    let near = |misses: u64, known: f64| (misses as f64 / known - 1.0).abs() < 0.05;
    assert!(near(second_level.misses, 1.164e6), "{}", second_level.misses);
    assert!(near(translations.misses, 0.289e6), "{}", translations.misses);
    let uops = take(Profile::named("sieve").unwrap().stream(&netburst(), 1, 0), 30_000_000);
    let address = |uop: &&Uop| matches!(uop.class, Class::Load | Class::Store);
    let streamed = uops.iter().filter(address).map(|uop| (uop.address - 0x1000_0000) as u32);
    assert!(
        streamed.eq(sieve
            .accesses()
            .chain(sieve.accesses())
            .map(Access::offset)
            .take(uops.iter().filter(address).count()))
    );
}

/// Looking for a result in a program that has next to none must not look everywhere for each uop.
#[test]
fn large_programs_without_results_or_loads_are_laid_out_too() {
    let chat = include_str!("../profiles/chat.toml");
    let mix = chat.lines().find(|line| line.starts_with("mix =")).unwrap();
    let only = "mix = { branch = 0.5, store = 0.5, compared = 0.0, source = \"test\", \
                confidence = \"low\" }";
    let code = chat.lines().find(|line| line.starts_with("code =")).unwrap();
    let large = "code = { bytes = 1_048_576, source = \"test\", confidence = \"low\" }";
    let text = chat.replacen(mix, only, 1).replacen(code, large, 1);
    let profile = Profile::read("mine.toml", &text).unwrap();
    let uops = take(profile.stream(&netburst(), 1, 0), 1000);
    assert!(uops.iter().all(|uop| uop.sources == [0, 0]), "there is nothing to wait for");
}

/// What the reader says of a text in which `from` was replaced by `to`.
fn refusal(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the test is out of date: no {from}");
    let bad = text.replacen(from, to, 1);
    Profile::read("mine.toml", &bad).expect_err("a bad profile").to_string()
}

#[test]
fn bad_statistics_are_refused() {
    for (from, to, wanted) in [
        (
            "int_alu = 0.461",
            "int_alu = 0.5",
            "phase[1].mix: the classes sum to 1.0390; they must sum to 1",
        ),
        ("int_alu = 0.461", "int_alu = 1.5", "it must be a number from 0 to 1"),
        ("int_alu = 0.461", "int_alu = nan", "must be a number"),
        ("int_alu = 0.461", "int_aul = 0.461", "did you mean 'int_alu'?"),
        ("bytes = 65_536", "bytes = 1_000_000_000_000", "from 64 to 134217728"),
        ("bytes = 65_536", "bytes = 134_217_728", "a phase's address space has 134217728"),
        ("share = 0.975", "share = 0.775", "phase[1].regions: their shares sum to 0.8000"),
        ("up_to = [1, 2,", "up_to = [2, 1,", "must be whole numbers that ascend"),
        ("up_to = [1, 2,", "up_to = [1, 1.5, 2,", "ascend"),
        ("bias = [1.0, 0.995,", "bias = [0.995,", "'bias' has 5"),
        ("bias = [1.0,", "bias = [0.4,", "from 0.5 to 1"),
        (
            "pattern = \"random\"",
            "pattern = \"random\", chase = true, follows = true",
            "exclude each other",
        ),
        ("compare  ", "nop pause #", "a phase is user code without locks"),
        ("kind = \"statistical\"", "kind = \"static\"", "did you mean 'statistical'?"),
        ("kind = \"statistical\"", "kind = \"body\"", "has no 'body'"),
        ("uops = 1726", "uops = 1", "from 16 to"),
        ("[[phase]]\nname = \"rest\"", "[[phases]]\nname = \"rest\"", "phase"),
        ("none = 0.191, two = 0.231", "none = 0.9, two = 0.231", "sum to more than 1"),
    ] {
        let said = refusal(GZIP, from, to);
        assert!(said.starts_with("mine.toml:") && said.contains(wanted), "{to}: {said}");
    }
}

#[test]
fn bad_bodies_are_refused_with_their_line() {
    for (to, wanted) in [
        ("lod @0x0", "line 1 of it: there is no micro-operation 'lod'; did you mean 'load'?"),
        ("load", "'load' needs an address"),
        ("int_alu @0x40", "'int_alu' takes no address"),
        ("load @zero", "'zero' must be a whole number"),
        ("load <0 @0", "'0' must be a whole number from 1 to 65535"),
        ("int_alu <1 <2 <3", "more than two sources"),
        ("int_alu\nint_alu takn", "line 2 of it: there is no effect 'takn'; did you mean 'taken'?"),
        ("int_alu taken", "only branches are"),
        ("load release 0 @0", "'release' belongs to 'store'"),
        ("nop halt", "needs a number"),
        ("nop halt 0", "'0' must be a whole number from 1"),
        ("load halt 5 @0", "'load' cannot halt"),
        ("atomic acquire 16 @0", "'16' must be a whole number from 0 to 15"),
        ("int_alu x100000", "from 1 to 10000"),
        ("# nothing", "has no micro-operation"),
        ("int_alu\ncompare\nint_alu", "line 2 of it: 'compare' must stand before a branch"),
        ("branch 3/2", "from 0 to 2"),
    ] {
        let start = SPIN.find("'''").unwrap() + 4;
        let bad = format!("{}{to}\n'''\n", &SPIN[..start]);
        let said = Profile::read("mine.toml", &bad).expect_err("a bad body").to_string();
        assert!(said.contains("body.text") && said.contains(wanted), "{to}: {said}");
    }
}
