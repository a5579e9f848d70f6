//! The pure decisions of a policy are the same in the kernel's program and in the simulated one: the header
//! that the program includes is compiled natively, and asked what the simulated one answered.

use coretwin_base::random::Stream;
use coretwin_base::simulation::core_queue::decide;
use coretwin_base::simulation::linux_2_4_19;
use coretwin_base::simulation::linux_2_5_32::{self, Preempts};
use coretwin_bpf::scheduler::Decision;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Reads a kind and six numbers a line, and prints the decision.
const DRIVER: &str = r#"
#include <stdbool.h>
#include <stdio.h>
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
#include "core_queue_decide.h"

int main(void)
{
	s64 n[9];
	char kind;

	while (scanf(" %c %lld %lld %lld %lld %lld %lld %lld %lld %lld", &kind, n, n + 1, n + 2, n + 3, n + 4, n + 5,
		     n + 6, n + 7, n + 8) == 10) {
		struct crowd home = { n[0], n[1], n[2] }, first = { n[3], n[4], n[5] }, second = { n[6], n[7], n[8] };

		printf("%lld\n", kind == 'w'   ? (s64)least_crowded(home, first, second)
				 : kind == 'o' ? (s64)owed_of(n[0], n[1], n[2], n[3])
				 : kind == 'l' ? lag_of(n[0], n[1], n[2])
				 : kind == 'k' ? (s64)word_of(n[0], n[1], n[2])
				 : kind == 'f' ? (s64)may_follow(n[0], n[1], n[2])
				 : kind == 'd' ? (s64)displaces_where(n[0], n[1], n[2])
				 : kind == 'b' ? (s64)best_partner(n[0], n[1], n[2], n[3])
				 : kind == 'h' ? (s64)hands_over(n[0], n[1])
				 : kind == 'p' ? (s64)woken_at(n[0], n[1], n[2], n[3], n[4])
				 : kind == 's' ? (s64)average_of(n[0], n[1])
				 : kind == 'v' ? (s64)least_of(n[0], n[1])
				 : kind == 'q' ? later_of(n[0], n[1], n[2])
				 : kind == 'r' ? (s64)rank_of(n[0], n[1])
				 : kind == 'a' ? ahead_of(n[0], n[1], n[2], n[3])
					       : (s64)is_overdue(n[0], n[1]));
	}
	return 0;
}
"#;
const CASES: u64 = 20_000;

/// Numbers that decide: small ones, those around a bound, and any.
fn number(stream: &mut Stream, most: u64) -> u64 {
    let any = stream.next_u64();
    let number = match any % 4 {
        0 => any / 4 % 5,
        1 => any / 4 % 80,
        2 => decide::GUARD_MAX_NS.min(most) + any / 4 % 3,
        _ => any / 4,
    };
    number % most.saturating_add(1)
}

/// Places in a queue about the bound, at the clock and beyond; clocks wrap around.
fn woken(stream: &mut Stream, index: u64) -> [i64; 9] {
    let mut below = |bound: u64| (stream.next_u64() % bound) as i64;
    let slice = below(1 << 58);
    let clock = below(u64::MAX);
    let last = clock.wrapping_add(below(3) - 1);
    let later = match index.is_multiple_of(4) {
        true => 2 * slice - 1 + below(3),
        false => below(1 << 60) - (1 << 58),
    };
    let waiting = i64::from(decide::FEW) - 2 + below(4);
    [clock, last.wrapping_sub(later), last, slice, waiting, 0, 0, 0, 0]
}

/// How often a word was kept, and how long after, about the bound or anywhere.
fn said(stream: &mut Stream, index: u64) -> [i64; 9] {
    let kept = (stream.next_u64() % 5) as i64;
    let waits = i64::from(!stream.next_u64().is_multiple_of(4));
    let after = match index.is_multiple_of(4) {
        true => decide::WORD_NS - 1 + stream.next_u64() % 3,
        false => number(stream, 1 << 60),
    };
    [kept, waits, after as i64, 0, 0, 0, 0, 0, 0]
}

/// Less CPU time about the bound, and woken tasks about what is few.
fn displacing(stream: &mut Stream, index: u64) -> [i64; 9] {
    let most = number(stream, 1 << 60) as i64;
    let less = if index.is_multiple_of(2) { most + 1 } else { number(stream, 1 << 60) as i64 };
    let woken = i64::from(decide::FEW) - 2 + (stream.next_u64() % 5) as i64;
    [less, most, woken, 0, 0, 0, 0, 0, 0]
}

/// Tasks that wait, none or about the bound, and time together about a quarter of a slice or any.
fn following(stream: &mut Stream, index: u64) -> [i64; 9] {
    let bound = [1, decide::PAST_MAX][usize::from(index.is_multiple_of(2))];
    let waiting = i64::from(bound - 1) + (stream.next_u64() % 3) as i64;
    let [slice, any] = [0, 1].map(|_| number(stream, 1 << 60) as i64);
    let together = if index.is_multiple_of(3) { any } else { slice / 4 - (index % 3 == 1) as i64 };
    [waiting, together.max(0), slice, 0, 0, 0, 0, 0, 0]
}

/// What was seen, and more about the bound or any.
fn least(stream: &mut Stream, index: u64) -> [i64; 9] {
    let [before, any] = [0, 1].map(|_| number(stream, 1 << 60) as i64);
    let about = before + before / 64 + (stream.next_u64() % 4) as i64 - 1;
    let one = if index.is_multiple_of(2) { about.max(0) } else { any };
    [before, one, 0, 0, 0, 0, 0, 0, 0]
}

/// Switches about the bound or any, and parts about a half.
fn later(stream: &mut Stream, index: u64) -> [i64; 9] {
    let slice = (stream.next_u64() % (1 << 40)) as i64;
    let mut below = |bound: u64| (stream.next_u64() % bound) as i64;
    let switch = match index % 4 {
        0 => below(u64::MAX),
        1 => below(1 << 40),
        _ => (slice / decide::SWITCHES as i64 + below(3) - 1).max(0),
    };
    let half = decide::CAME as i64 / 2;
    let woken = if below(2) == 0 { below(decide::CAME) } else { half + below(3) - 1 };
    [slice, switch, woken, 0, 0, 0, 0, 0, 0]
}

/// Whether a core is near, and how long nobody has come to it.
fn ranked(stream: &mut Stream, index: u64) -> [i64; 9] {
    let near = i64::from(stream.next_u64().is_multiple_of(2));
    let any = stream.next_u64() as i64;
    [near, if index.is_multiple_of(2) { any & ((1 << 60) - 1) } else { any }, 0, 0, 0, 0, 0, 0, 0]
}

/// What a core does with pairs, about equal or not, some not known.
fn partners(stream: &mut Stream) -> [i64; 9] {
    let first = (stream.next_u64() % 5000) as i64;
    let mut about = |least: i64| least.max(0) + (stream.next_u64() % 40) as i64;
    let near = first + first / 100 - 20;
    let n = [first, about(near), about(near), about(0), 0, 0, 0, 0, 0];
    if first % 7 == 0 { n.map(|value| if value == first { 0 } else { value }) } else { n }
}

/// A line of the driver's input, and the decision of the simulated policy. What is drawn within a kind goes by its own count.
fn case(stream: &mut Stream, index: u64) -> (String, i64) {
    let mut n = [0_i64; 9];
    let small = |stream: &mut Stream| number(stream, u64::from(u32::MAX)) as u32;
    let time = |stream: &mut Stream| number(stream, 1 << 60) as i64;
    let (kind, index) = (index % 15, index / 15);
    let (kind, n) = match kind {
        0 => {
            for three in n.chunks_mut(3) {
                let far = i64::from(stream.next_u64().is_multiple_of(2));
                let (load, cpus) = (small(stream), small(stream) % 9);
                three.copy_from_slice(&[i64::from(load), i64::from(cpus), far]);
            }
            ('w', n)
        }
        1 => {
            [0, 2, 3].into_iter().for_each(|at| n[at] = i64::from(small(stream)));
            n[1] = if index.is_multiple_of(2) { n[0] + 1 } else { small(stream).into() };
            ('o', n)
        }
        2 => {
            let apart = time(stream);
            n[0] = stream.next_u64() as i64;
            let way = if index.is_multiple_of(2) { -apart } else { apart };
            n[1] = n[0].wrapping_add(way);
            n[2] = time(stream);
            ('l', n)
        }
        3 => {
            (1..4).for_each(|at| n[at] = time(stream));
            n[0] = if index.is_multiple_of(2) { time(stream) } else { -time(stream) };
            ('a', n)
        }
        4 => ('k', said(stream, index)),
        5 => ('f', following(stream, index)),
        6 => {
            n[0] = (stream.next_u64() % 3) as i64;
            n[1] = (u64::from(decide::HANDED_MAX) - 1 + stream.next_u64() % 3) as i64;
            ('h', n)
        }
        7 => ('p', woken(stream, index)),
        8 => ('r', ranked(stream, index)),
        10 => ('b', partners(stream)),
        9 => ('d', displacing(stream, index)),
        11 => {
            (n[0], n[1]) = (time(stream) >> 8, time(stream));
            ('s', n)
        }
        12 => ('v', least(stream, index)),
        13 => ('q', later(stream, index)),
        _ => {
            (n[0], n[1]) = (time(stream), time(stream));
            ('g', n)
        }
    };
    let words = n.map(|number| number.to_string()).join(" ");
    let decision = Decision { kind, from: n, was: 0 };
    (format!("{kind} {words}"), decision.again().expect("a kind"))
}

#[test]
fn the_program_and_the_simulated_policy_decide_alike() {
    let mut stream = Stream::new(1, "decisions", 0);
    let cases: Vec<(String, i64)> = (0..CASES).map(|index| case(&mut stream, index)).collect();
    asked(DRIVER, &cases);
}

/// The same for linux-2.4.19: reads a kind and four numbers a line.
const LINUX_2_4_19: &str = r#"
#include <stdbool.h>
#include <stdio.h>
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
#include "linux_2_4_19_decide.h"

int main(void)
{
	s64 n[4];
	char kind;

	while (scanf(" %c %lld %lld %lld %lld", &kind, n, n + 1, n + 2, n + 3) == 5) {
		printf("%lld\n", kind == 's'	? slice_of(n[0])
				 : kind == 'g' ? goodness_of(n[0], n[1], n[2], n[3])
				 : kind == 'r' ? renewed(n[0], n[1], n[2])
				 : kind == 'l' ? left_by_fork(n[0])
				 : kind == 'c' ? got_by_fork(n[0])
				 : kind == 'b' ? given_back(n[0], n[1])
					       : ticked(n[0]));
	}
	return 0;
}
"#;

/// A line of that driver's input, and what the simulated policy calculates.
fn case_2_4_19(stream: &mut Stream, index: u64) -> (String, i64) {
    let mut below = |bound: u64| (stream.next_u64() % bound) as i64;
    let (counter, other, nice) = (below(41), below(41), below(40) - 20);
    let (same_cpu, same_memory) = (below(2), below(2));
    let epochs = if index.is_multiple_of(2) { below(12) } else { below(1 << 60) };
    let (kind, n, expected) = match index % 7 {
        0 => ('s', [nice, 0, 0, 0], linux_2_4_19::slice(nice)),
        1 => (
            'g',
            [counter, nice, same_cpu, same_memory],
            linux_2_4_19::goodness(counter, nice, same_cpu != 0, same_memory != 0),
        ),
        2 => {
            let renewed = linux_2_4_19::renewed(counter, nice, epochs.unsigned_abs());
            ('r', [counter, nice, epochs, 0], renewed)
        }
        3 => ('l', [counter, 0, 0, 0], linux_2_4_19::forked(counter).0),
        4 => ('c', [counter, 0, 0, 0], linux_2_4_19::forked(counter).1),
        5 => ('b', [counter, other, 0, 0], linux_2_4_19::given_back(counter, other)),
        _ => ('t', [counter, 0, 0, 0], linux_2_4_19::ticked(counter)),
    };
    (format!("{kind} {}", n.map(|number| number.to_string()).join(" ")), expected)
}

#[test]
fn linux_2_4_19_calculates_alike() {
    let mut stream = Stream::new(1, "linux-2.4.19", 0);
    let drawn: Vec<_> = (0..CASES).map(|index| case_2_4_19(&mut stream, index)).collect();
    asked(LINUX_2_4_19, &drawn);
    let worked = WORKED.iter().map(|(line, expected)| ((*line).to_owned(), *expected));
    asked(LINUX_2_4_19, &worked.collect::<Vec<_>>());
}

/// Sums of the simulated policy's golden cases, which were worked by hand.
const WORKED: &[(&str, i64)] = &[
    // `plain` at nice 0 and `better` at nice -10 on their last CPU, without and with their memory at hand.
    ("s 0 0 0 0", 6),
    ("s -10 0 0 0", 8),
    ("g 6 0 1 0", 41),
    ("g 6 0 1 1", 42),
    ("g 8 -10 1 0", 53),
    ("g 8 -10 1 1", 54),
    ("g 0 -10 1 1", 0),
    // On a CPU that is not their last.
    ("g 6 0 0 0", 26),
    ("g 8 -10 0 0", 38),
    // New slices for those who have used theirs up, and for one that sleeps.
    ("r 0 0 1 0", 6),
    ("r 0 -10 1 0", 8),
    ("r 6 0 1 0", 9),
    ("r 6 0 4 0", 11),
    // A fork and an exit.
    ("l 5 0 0 0", 2),
    ("c 5 0 0 0", 3),
    ("b 2 3 0 0", 5),
    ("b 15 11 0 0", 20),
];

/// The same for linux-2.5.32: reads a kind and five numbers a line.
const LINUX_2_5_32: &str = r#"
#include <stdbool.h>
#include <stdio.h>
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
#include "linux_2_5_32_decide.h"

int main(void)
{
	s64 n[5];
	char kind;

	while (scanf(" %c %lld %lld %lld %lld %lld", &kind, n, n + 1, n + 2, n + 3, n + 4) == 6) {
		printf("%lld\n", kind == 's'	? (s64)slice_of(n[0])
				 : kind == 'p' ? priority_of(n[0], n[1])
				 : kind == 'i' ? (s64)is_interactive(n[0], n[1])
				 : kind == 'w' ? (s64)woken(n[0], n[1])
				 : kind == 'l' ? (s64)left_by_fork(n[0])
				 : kind == 'c' ? (s64)got_by_fork(n[0])
				 : kind == 'h' ? (s64)child_average(n[0])
				 : kind == 'b' ? (s64)given_back(n[0], n[1])
				 : kind == 'a' ? (s64)parent_average(n[0], n[1])
				 : kind == 'v' ? (s64)is_starved(n[0], n[1])
				 : kind == 'd' ? (s64)is_cold(n[0], n[1])
				 : kind == 'e' ? (s64)preempts(n[0], n[1], n[2], n[3], n[4])
				 : kind == 't' ? (s64)lasting(n[0], n[1], n[2])
				 : kind == 'o' ? (s64)own_lasting(n[0], n[1], n[2])
				 : kind == 'k' ? (s64)(key_of(n[0], n[1]) < key_of(n[2], n[3]))
					       : (s64)pulled(n[0], n[1], n[2], n[3], n[4]));
	}
	return 0;
}
"#;

/// A line of that driver's input, and what the simulated policy calculates.
fn case_2_5_32(stream: &mut Stream, index: u64) -> (String, i64) {
    let mut below = |bound: u64| stream.next_u64() % bound;
    let nice = below(40) as i64 - 20;
    let (first, second) = (100 + below(41) as i64, 100 + below(41) as i64);
    let (slice, left, average, other) = (below(301), below(301), below(2001), below(2001));
    // Small ones, around which the rules turn, and any.
    let any = if (index / 16).is_multiple_of(2) { below(6000) } else { below(1 << 50) };
    let (lengths, flag) = ([below(9), below(9), below(9), below(9)], below(2) == 1);
    let [own, busiest, own_now, busiest_now] = lengths;
    let is = |decided: bool| i64::from(decided);
    let (kind, n, expected) = match index % 16 {
        0 => ('s', vec![nice], linux_2_5_32::slice(nice) as i64),
        1 => ('p', vec![nice, average as i64], linux_2_5_32::priority(nice, average)),
        2 => ('i', vec![first, nice], is(linux_2_5_32::is_interactive(first, nice))),
        3 => ('w', vec![average as i64, any as i64], linux_2_5_32::woken(average, any) as i64),
        4 => ('l', vec![slice as i64], linux_2_5_32::forked(slice).0 as i64),
        5 => ('c', vec![slice as i64], linux_2_5_32::forked(slice).1 as i64),
        6 => ('h', vec![average as i64], linux_2_5_32::child_average(average) as i64),
        7 => {
            let given = linux_2_5_32::given_back(slice, left);
            ('b', vec![slice as i64, left as i64], given as i64)
        }
        8 => {
            let parent = linux_2_5_32::parent_average(average, other);
            ('a', vec![average as i64, other as i64], parent as i64)
        }
        9 => ('v', vec![any as i64, own as i64], is(linux_2_5_32::is_starved(any, own))),
        10 => ('d', vec![own as i64, busiest as i64], is(linux_2_5_32::is_cold(own, busiest))),
        11 => {
            // Often of equal priority.
            let second = if flag { first } else { second };
            let is_mended = own % 2 == 1;
            let why = linux_2_5_32::preempts((first, slice), (second, left), is_mended);
            let why = match why {
                Preempts::No => 0,
                Preempts::Better => 1,
                Preempts::MoreLeft => 2,
            };
            ('e', vec![first, slice as i64, second, left as i64, is(is_mended)], why)
        }
        12 => {
            let load = linux_2_5_32::lasting(flag, own, own_now);
            ('t', vec![is(flag), own as i64, own_now as i64], load as i64)
        }
        13 => {
            let load = linux_2_5_32::own_lasting(flag, own, own_now);
            ('o', vec![is(flag), own as i64, own_now as i64], load as i64)
        }
        14 => {
            // By priority, then by arrival.
            let second = if flag { first } else { second };
            let earlier = (first, any) < (second, other);
            ('k', vec![first, any as i64, second, other as i64], is(earlier))
        }
        _ => {
            let pulled = linux_2_5_32::pulled(flag, own, busiest, own_now, busiest_now);
            let n = [own, busiest, own_now, busiest_now].map(|length| length as i64);
            ('n', [vec![is(flag)], n.to_vec()].concat(), pulled as i64)
        }
    };
    (line(kind, &n), expected)
}

/// A line of five numbers.
fn line(kind: char, n: &[i64]) -> String {
    let rest = std::iter::repeat_n(&0, 5 - n.len());
    let words: Vec<String> = n.iter().chain(rest).map(ToString::to_string).collect();
    format!("{kind} {}", words.join(" "))
}

#[test]
fn linux_2_5_32_calculates_alike() {
    let mut stream = Stream::new(1, "linux-2.5.32", 0);
    let drawn: Vec<_> = (0..CASES).map(|index| case_2_5_32(&mut stream, index)).collect();
    asked(LINUX_2_5_32, &drawn);
    let worked = WORKED_2_5_32.iter().map(|(kind, n, expected)| (line(*kind, n), *expected));
    asked(LINUX_2_5_32, &worked.collect::<Vec<_>>());
}

/// Sums of the simulated policy's golden cases, which were worked by hand.
const WORKED_2_5_32: &[(char, &[i64], i64)] = &[
    // Slices of nice 0, -2, 19 and -20, and priorities of those that have not slept.
    ('s', &[0], 151),
    ('s', &[-2], 166),
    ('s', &[19], 10),
    ('s', &[-20], 300),
    ('p', &[0, 0], 125),
    ('p', &[-5, 0], 120),
    ('p', &[-2, 0], 123),
    ('i', &[125, 0], 0),
    // `sleeper` wakes after 1600 ticks, and goes on after a slice of 151.
    ('w', &[0, 1600], 1600),
    ('p', &[0, 1600], 117),
    ('p', &[0, 1449], 118),
    ('i', &[118, 0], 1),
    // After 1500 it expires: what counts is the priority when the slice ends.
    ('p', &[0, 1500], 118),
    ('p', &[0, 1349], 119),
    ('i', &[119, 0], 0),
    // A hog loses its CPU to one that slept.
    ('e', &[117, 151, 125, 100, 0], 1),
    ('e', &[125, 151, 125, 151, 0], 0),
    // Molnar's order of a wake-up: `c` before `a`, `d` not before `c` but before `b`, `f` has 166 left to 160.
    ('e', &[120, 200, 125, 151, 1], 1),
    ('e', &[123, 166, 120, 200, 1], 0),
    ('e', &[123, 166, 125, 151, 1], 1),
    ('e', &[123, 166, 123, 160, 1], 2),
    ('e', &[123, 166, 123, 160, 0], 0),
    // Three on CPU 0: warm for 2 ticks, then one is taken; five against one, of which two are taken at the second look.
    ('d', &[2, 2], 0),
    ('d', &[3, 2], 1),
    ('n', &[1, 0, 3, 0, 3], 1),
    ('t', &[0, 5, 0], 0),
    ('n', &[0, 1, 1, 1, 5], 0),
    ('n', &[0, 1, 5, 1, 5], 2),
    // A fork and an exit.
    ('l', &[101], 50),
    ('c', &[101], 51),
    ('h', &[1000], 950),
    ('b', &[50, 51], 101),
    ('a', &[1000, 950], 987),
];

/// Compiles a driver, and holds its answers against those expected.
fn asked(source_text: &str, cases: &[(String, i64)]) {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("driver.c"), folder.path().join("driver"));
    std::fs::write(&source, source_text).expect("written");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    // The C compiler by which Rust links.
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-std=gnu11", "-I"]).arg(headers).arg(&source);
    assert!(compiler.arg("-o").arg(&program).status().expect("cc").success());

    let mut input = String::new();
    cases.iter().for_each(|(line, _)| writeln!(input, "{line}").expect("text"));
    let mut driver = Command::new(&program);
    let mut driver =
        driver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the driver");
    let mut stdin = driver.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = driver.wait_with_output().expect("an answer");
    writer.join().expect("no panic").expect("written");
    let answers = String::from_utf8(output.stdout).expect("numbers");
    assert_eq!(answers.lines().count(), cases.len());
    for ((line, expected), answer) in cases.iter().zip(answers.lines()) {
        assert_eq!(answer, expected.to_string(), "{line}");
    }
}
