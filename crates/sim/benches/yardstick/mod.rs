//! What a benchmark's speeds are measured against: CPU time, and how fast this host is.

use std::hint::black_box;

/// Millions of dependent multiplications per CPU second.
pub(crate) fn yardstick() -> f64 {
    const STEPS: u64 = 100_000_000;
    let start = cpu_seconds();
    let mut value = black_box(3u64);
    for _ in 0..STEPS {
        value = black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    black_box(value);
    STEPS as f64 / (cpu_seconds() - start) / 1e6
}

/// CPU time of this process.
pub(crate) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
