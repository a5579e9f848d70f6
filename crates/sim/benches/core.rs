//! Scratch.
#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used, clippy::allow_attributes)]
use coretwin_base::random::Stream as Random;
use coretwin_sim::core::*;
fn cpu() -> f64 {
    if std::env::var("VG").is_ok() {
        return 0.0;
    }
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

struct Table {
    body: Vec<Uop>,
    next: usize,
}
impl Stream for Table {
    fn fill(&mut self, batch: &mut [Uop]) {
        for place in batch {
            *place = self.body[self.next];
            self.next += 1;
            if self.next == self.body.len() {
                self.next = 0;
            }
        }
    }
}
fn mix(seed: u64, footprint: u64) -> Table {
    let mut random = Random::new(seed, "mix", 0);
    let mut body = Vec::new();
    let mut code = 0x400000u32;
    for _ in 0..65536 {
        let draw = random.below(100);
        let class = match draw {
            0..22 => Class::Load,
            22..32 => Class::Store,
            32..47 => Class::Branch,
            47..52 => Class::IntShift,
            _ => Class::IntAlu,
        };
        let mut uop = Uop::new(class, code);
        code += 4;
        let d = |r: &mut Random| {
            if r.below(3) == 0 { 1 + r.below(3) as u16 } else { 4 + r.below(60) as u16 }
        };
        uop.sources[0] = d(&mut random);
        if random.below(2) == 0 {
            uop.sources[1] = d(&mut random);
        }
        if matches!(class, Class::Load | Class::Store) {
            uop.address = 0x10_0000_0000 + random.below(footprint / 8) * 8;
        }
        if class == Class::Branch {
            if (code >> 4) % 10 != 0 {
                uop.effect = Effect::Taken
            }
            if random.below(100) < 4 {
                uop.effect = if random.below(2) == 0 { Effect::Taken } else { Effect::None };
            }
        }
        if code > 0x404000 {
            code = 0x400000;
        }
        body.push(uop);
    }
    Table { body, next: 0 }
}
fn main() {
    for name in
        std::env::args().nth(1).filter(|a| a != "--bench").map_or(
            vec!["p4-northwood".to_string(), "westmere".into(), "golden-cove".into()],
            |a| vec![a],
        )
    {
        let preset = Preset::named(&name).unwrap();
        for footprint in
            std::env::var("FP").map_or(vec![16 << 10, 4 << 20], |f| vec![f.parse().unwrap()])
        {
            for n in std::env::var("N").map_or(1, |n| n.parse().unwrap())..=2 {
                let threads =
                    (0..n).map(|t| ThreadInput::new(mix(t, footprint), t as u16 + 1)).collect();
                let options = Options {
                    warmup_uops: 100_000,
                    measure_uops: std::env::var("UOPS").map_or(2_000_000, |u| u.parse().unwrap()),
                    ..Options::default()
                };
                let start = cpu();
                let outcome = simulate(&preset, threads, &options).unwrap();
                let s = cpu() - start;
                println!(
                    "{name} {footprint} x{n}: {:.1} M uops/s, {:.1} Mcycles/s upc {:.2} mpki {:.1}",
                    outcome.total_uops as f64 / s / 1e6,
                    outcome.total_cycles as f64 / s / 1e6,
                    outcome.uops_per_cycle(0),
                    outcome.threads[0].counts.mispredicts as f64 * 1000.0
                        / outcome.threads[0].uops as f64
                );
            }
        }
    }
}
