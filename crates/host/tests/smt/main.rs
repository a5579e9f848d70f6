//! The SMT switch on fake machines with a fake kernel: every way in which a change can end leaves
//! the machine as it was, or a report that says exactly what is left to do.

mod bad_input;
mod hand;
mod kills;
mod machine;
mod machines;
mod refusals;
mod restoring;
mod switching;
