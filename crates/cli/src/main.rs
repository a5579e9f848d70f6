//! `coretwin`: the command line.
fn main() {}
