//! The engine of a study: plan, arms, blocks, events, machines
