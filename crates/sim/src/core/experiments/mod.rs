//! Questions of the article that the core answers: where AIM9's sieve finds its pages, and what
//! each change that Linux 2.4 made for Hyper-Threading is good for.

pub mod enhancements;
pub mod note;
pub mod published;
pub mod sieve_pages;

pub use enhancements::Enhancement;
