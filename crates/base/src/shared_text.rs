//! Text that many records have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A text of which copies share one allocation. A record has room for a pointer only, because a
/// journal of a million readings knows a handful of arms and rows. Behaves like a `str`, and is
/// written as one.
#[derive(Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SharedText(Arc<String>);

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for SharedText {
    fn from(text: T) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for SharedText {
    fn eq(&self, text: &T) -> bool {
        **self == *text.as_ref()
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
