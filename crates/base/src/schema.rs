//! The version of every record on disk. FORMAT.md says what raises it; a newer one is refused, because its
//! known fields may mean something else.

/// The schema version this build writes.
pub const SCHEMA: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it has schema {found}, but this coretwin reads schemas up to {SCHEMA}; use a newer coretwin"
)]
pub struct NewerSchema {
    pub found: u32,
}

/// Errors: [`NewerSchema`] if the record is from a newer version.
pub fn check(found: u32) -> Result<(), NewerSchema> {
    if found > SCHEMA { Err(NewerSchema { found }) } else { Ok(()) }
}
