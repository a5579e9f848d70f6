//! The folder of a study: plan, append-only journal, environment, derived files
