//! Ladders.
use crate::kernels::*;
use coretwin_sim::core::Class;

#[test]
fn two_spins_share_the_width() {
    let preset = preset("westmere");
    let spin = || chain(Class::IntAlu, 0, 7);
    let one = alone(&preset, spin(), 100_000);
    let two = pair(&preset, spin(), spin(), 100_000);
    println!("{one:#?} {two:#?}");
    println!("{}", one.uops_per_cycle(0) / two.uops_per_cycle(0));
}
