//! Text that many records have in common.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A text of which copies share one allocation. A record has room for a pointer only, because a
/// journal of a million readings knows a handful of arms and rows. Behaves like a `str`, and is
/// written as one.
#[derive(Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SharedText(Arc<String>);

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for SharedText {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}

impl PartialEq<str> for SharedText {
    fn eq(&self, text: &str) -> bool {
        **self == *text
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, text: &&str) -> bool {
        **self == **text
    }
}

impl PartialEq<String> for SharedText {
    fn eq(&self, text: &String) -> bool {
        **self == **text
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
