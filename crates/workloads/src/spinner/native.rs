//! The spinners that are loops of our own. Each runs a stretch of a fraction of a millisecond to a
//! few, then counts.

use super::rulers;
use crate::contention::Walk;
use crate::{Context, Error, role};
use coretwin_base::account::cputime::SpinnerKind;
use std::fs::{File, OpenOptions};
use std::hint::{black_box, spin_loop};
use std::io::Write;
use std::process::ExitCode;

const ROUNDS: u32 = 1 << 17;
/// PAUSEs of one stretch; one takes from about 10 cycles to about 140, by processor.
const PAUSES: u32 = 1 << 14;
/// Memory of the ring of loads, in KiB.
const RING_KIB: usize = 8 << 10;
/// Words of the memory that is streamed through: 32 MiB.
const STREAM_WORDS: usize = (32 << 20) / size_of::<u64>();
/// Words of one stretch: 1 MiB.
const STRETCH_WORDS: usize = (1 << 20) / size_of::<u64>();

/// The role: sets the loop up, waits for its release, and spins until it is killed.
pub(crate) fn main(entered: Result<(), Error>, args: &[String]) -> ExitCode {
    let Err(error) = entered.and_then(|()| spin(args));
    // It is shown only if this spinner is missed.
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::FAILURE
}

fn spin(args: &[String]) -> Result<std::convert::Infallible, Error> {
    let (name, size, counter) = match args {
        [name, counter] => (name, None, counter),
        [name, size, counter] => (name, size.parse().ok(), counter),
        _ => return Err(Error::failed("a spinner was misconfigured")),
    };
    let mut stretch = stretch(name, size)?;
    // Opened anew: no value in this process owns the inherited descriptor.
    let mut counter: File = OpenOptions::new()
        .append(true)
        .open(format!("/proc/self/fd/{counter}"))
        .context("cannot open the counter")?;
    let mut gate = role::gate()?;
    role::wait_for_release(&mut gate)?;
    drop(gate);
    loop {
        stretch();
        counter.write_all(b".").context("cannot count")?;
    }
}

/// The loop of that name; of a cache, whose size is in KiB.
fn stretch(name: &str, size: Option<usize>) -> Result<Box<dyn FnMut()>, Error> {
    let kind =
        SpinnerKind::NAMED.iter().find(|(known, ..)| *known == name).map(|(_, kind, _)| kind);
    Ok(match kind {
        Some(SpinnerKind::Native) => Box::new(shift),
        Some(SpinnerKind::Pause) => Box::new(|| (0..PAUSES).for_each(|_| spin_loop())),
        Some(SpinnerKind::Chase) => rulers::walk(Walk::lines(16 * RING_KIB)),
        Some(SpinnerKind::Stream) => stream(),
        Some(kind) if let Some(ruler) = rulers::stretch(*kind, size)? => ruler,
        _ => return Err(Error::failed(format!("there is no spinner '{name}'"))),
    })
}

/// Four chains of shifts that do not wait for each other (Marsaglia, *Xorshift RNGs*, 2003): no
/// compiler finds the end of them without going there.
fn shift() {
    let mut words = black_box([1_u64, 2, 3, 4]);
    for _ in 0..ROUNDS {
        for word in &mut words {
            *word ^= *word << 13;
            *word ^= *word >> 7;
            *word ^= *word << 17;
        }
    }
    black_box(words);
}

fn stream() -> Box<dyn FnMut()> {
    let mut words = vec![1_u64; STREAM_WORDS];
    let mut at = 0;
    Box::new(move || {
        for word in &mut words[at..at + STRETCH_WORDS] {
            *word = word.wrapping_mul(3);
        }
        black_box(&mut words);
        at = (at + STRETCH_WORDS) % STREAM_WORDS;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_kind_but_the_interpreted_has_a_loop() {
        for (name, kind, _) in SpinnerKind::NAMED {
            let stretch = stretch(name, None);
            assert_eq!(stretch.is_ok(), kind != SpinnerKind::Interpreted, "{name}");
            if let Ok(mut stretch) = stretch {
                // Twice round the streamed memory, so that its ends meet.
                (0..2 * STREAM_WORDS / STRETCH_WORDS + 1).for_each(|_| stretch());
            }
        }
    }
}
