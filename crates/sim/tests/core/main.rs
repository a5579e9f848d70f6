//! The event-driven core, from outside: what a preset promises is what the core shows.

mod directions;
mod exchange;
mod fairness;
mod kernels;
mod ladders;
mod mechanisms;
mod modes;
mod windows;
