//! The forms in which a record can be reported. Each kind of record has its table of them, and lists,
//! help and tests are made from the tables.

/// A form in which a record can be reported, by a function of type `Render`.
#[derive(Debug, Clone, Copy)]
pub struct Format<Render> {
    /// The name people type.
    pub name: &'static str,
    /// What it is, in half a line.
    pub about: &'static str,
    /// Writes it.
    pub render: Render,
    /// Whether it shows all there is of every reading. The others show no metrics, CPUs and
    /// environment of a run that went well, except of the first of each row and arm.
    pub in_full: bool,
}

impl<Render> Format<Render> {
    pub(crate) const fn new(name: &'static str, about: &'static str, render: Render) -> Self {
        Self { name, about, render, in_full: false }
    }
}
