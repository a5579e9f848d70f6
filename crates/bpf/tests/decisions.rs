//! The pure decisions of core-queue are the same in the kernel's program and in the simulated policy: the header
//! that the program includes is compiled natively, and asked what the simulated one answered.

use coretwin_base::random::Stream;
use coretwin_base::simulation::core_queue::decide;
use coretwin_bpf::core_queue::Decision;
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
				 : kind == 'o' ? (s64)owed_of(n[0], n[1])
				 : kind == 'l' ? lag_of(n[0], n[1], n[2])
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

/// A line of the driver's input, and the decision of the simulated policy.
fn case(stream: &mut Stream, index: u64) -> (String, i64) {
    let mut n = [0_i64; 9];
    let small = |stream: &mut Stream| number(stream, u64::from(u32::MAX)) as u32;
    let time = |stream: &mut Stream| number(stream, 1 << 60) as i64;
    let kind = match index % 5 {
        0 => {
            for three in n.chunks_mut(3) {
                let far = i64::from(stream.next_u64().is_multiple_of(2));
                let (load, cpus) = (small(stream), small(stream) % 9);
                three.copy_from_slice(&[i64::from(load), i64::from(cpus), far]);
            }
            'w'
        }
        1 => {
            (n[0], n[1]) = (i64::from(small(stream)), i64::from(small(stream)));
            'o'
        }
        2 => {
            // Clocks wrap around.
            let apart = time(stream);
            n[0] = stream.next_u64() as i64;
            n[1] = match index.is_multiple_of(2) {
                true => n[0].wrapping_sub(apart),
                false => n[0].wrapping_add(apart),
            };
            n[2] = time(stream);
            'l'
        }
        3 => {
            (1..4).for_each(|at| n[at] = time(stream));
            n[0] = if index.is_multiple_of(2) { time(stream) } else { -time(stream) };
            'a'
        }
        _ => {
            (n[0], n[1]) = (time(stream), time(stream));
            'g'
        }
    };
    let words = n.map(|number| number.to_string()).join(" ");
    let decision = Decision { kind, from: n, was: 0 };
    (format!("{kind} {words}"), decision.again().expect("a kind"))
}

#[test]
fn the_program_and_the_simulated_policy_decide_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("driver.c"), folder.path().join("driver"));
    std::fs::write(&source, DRIVER).expect("written");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    // The C compiler by which Rust links.
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-std=gnu11", "-I"]).arg(headers).arg(&source);
    assert!(compiler.arg("-o").arg(&program).status().expect("cc").success());

    let mut stream = Stream::new(1, "decisions", 0);
    let cases: Vec<(String, i64)> = (0..CASES).map(|index| case(&mut stream, index)).collect();
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
    for ((line, decision), answer) in cases.iter().zip(answers.lines()) {
        assert_eq!(answer, decision.to_string(), "{line}");
    }
}
