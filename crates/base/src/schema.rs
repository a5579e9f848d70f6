//! The version of every record on disk, and what to do with a newer one.
//!
//! Rules for changing a record: adding an optional field keeps the version; renaming, removing or
//! changing the meaning of a field raises it. Readers accept their version and all older ones and
//! ignore unknown fields; a newer version is refused, because its known fields may mean something
//! else.

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
