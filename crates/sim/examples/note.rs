//! The note's four machines, predicted beside measured, and what the predictions hang on.
#![expect(clippy::print_stdout, reason = "an example prints")]

use coretwin_sim::core::experiments::note::{CHANGES, DATA, MACHINES, beside_spinner};
use coretwin_sim::core::profile::Profile;
use coretwin_sim::core::{Options, Preset};

fn main() {
    let Some(spinner) = Profile::named("perl-loop") else { return };
    for machine in MACHINES {
        let Some(preset) = Preset::named(machine.preset) else { continue };
        println!("{}: measured {:.3}", machine.preset, machine.measured);
        for name in DATA {
            let Some(work) = Profile::named(name) else { continue };
            for change in CHANGES {
                if name != "gzip" && change.name != CHANGES[0].name {
                    continue;
                }
                let mut changed = preset.clone();
                (change.apply)(&mut changed);
                let options =
                    Options { warmup_uops: 100_000, measure_uops: 400_000, ..Options::default() };
                match beside_spinner(&changed, &work, &spinner, &options) {
                    Ok(found) => println!(
                        "  {name:12} {:40} {:.3} ({:+.3}); {:.2} uops a cycle alone, spinner {:.3}",
                        change.name,
                        found.slowdown(0),
                        found.slowdown(0) - machine.measured,
                        found.alone[0].uops_per_cycle(0),
                        found.slowdown(1),
                    ),
                    Err(stuck) => println!("  {name}: {stuck}"),
                }
            }
        }
    }
}
