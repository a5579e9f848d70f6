//! Options and places as the bytes that the program reads; the order is that of `c/core_queue.h`.

use super::places::{CPUS_MAX, Places, THREADS_MAX};
use super::{End, Options, Trial};

/// No CPU, in a core's list.
const NONE: u32 = u32::MAX;
const REASON_BYTES: usize = 128;
const MESSAGE_BYTES: usize = 1024;

/// `struct options`.
pub(super) fn options(options: &Options, trial: &Trial, places: &Places) -> Vec<u8> {
    let number = |name: &str| options.number(name).unwrap_or_default().unsigned_abs();
    let mut bytes = Vec::new();
    for ns in [
        number("active_interval_ms") * 1_000_000,
        number("balance_ms") * 1_000_000,
        number("preempt_us") * 1000,
        number("slice_us") * 1000,
    ] {
        bytes.extend(ns.to_ne_bytes());
    }
    bytes.extend((places.places.len() as u32).to_ne_bytes());
    bytes.extend((places.cores.len() as u32).to_ne_bytes());
    bytes.extend(trial.watch.unwrap_or(0).to_ne_bytes());
    let switches = ["active", "affinity", "idle_core_first", "passive", "pickup", "wakeup"];
    bytes.extend(switches.map(|name| u8::from(options.is_on(name))));
    bytes.extend([u8::from(trial.stuck), 0, 0, 0, 0, 0]);
    bytes
}

/// `struct place` of every CPU.
pub(super) fn places(places: &Places) -> Vec<u8> {
    let of_cpu = |cpu: usize| {
        let place = places.places.get(cpu);
        place.map_or([0, 0, 1], |place| [place.core, place.package, u32::from(place.unknown)])
    };
    (0..CPUS_MAX).flat_map(of_cpu).flat_map(u32::to_ne_bytes).collect()
}

/// The CPUs of every core.
pub(super) fn members(places: &Places) -> Vec<u8> {
    let of_core = |core: usize| {
        let cpus = places.cores.get(core).map_or(&[][..], Vec::as_slice);
        let mut row = [NONE; THREADS_MAX];
        for (slot, cpu) in row.iter_mut().zip(cpus) {
            *slot = *cpu;
        }
        row
    };
    (0..CPUS_MAX).flat_map(of_core).flat_map(u32::to_ne_bytes).collect()
}

/// Reads `struct end`; `None` while the scheduler runs.
pub(super) fn end(bytes: &[u8]) -> Option<End> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let (code, rest) = rest.split_first_chunk()?;
    let (reason, rest) = rest.split_first_chunk::<REASON_BYTES>()?;
    let message = rest.first_chunk::<MESSAGE_BYTES>()?;
    let text = |bytes: &[u8]| {
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let kind = u64::from_ne_bytes(*kind);
    let code = i64::from_ne_bytes(*code);
    (kind != 0).then(|| End { kind, code, reason: text(reason), message: text(message) })
}
