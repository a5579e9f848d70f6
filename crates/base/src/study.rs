//! A study: what is planned, asked, read and concluded, and the comparison of two.

pub mod arm;
pub mod boot;
pub mod command;
pub mod comparison;
pub mod consistency;
pub mod decision;
pub mod disturbance;
pub mod job;
pub mod latency;
pub mod load;
pub mod plan;
pub mod reading;
pub mod summary;
