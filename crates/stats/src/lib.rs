//! The statistics of a study, and the audit of a published table
