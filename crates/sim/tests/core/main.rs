//! The event-driven core, from outside: what its presets promise is what it shows.

mod kernels;
mod ladders;
