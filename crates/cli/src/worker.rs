//! `coretwin-worker`: the small process in which measured work runs.
fn main() {}
