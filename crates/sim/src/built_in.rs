//! Texts that are built in, one file each, and listed once by whoever reads them.

/// A built-in text before it is read.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its id, and the name of its file.
    pub name: &'static str,
    /// The text of its file, also a template for one's own.
    pub text: &'static str,
}

/// The files of these names in a folder, given from the file in which the list stands.
macro_rules! built_in {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$($crate::built_in::BuiltIn {
            name: $name,
            text: include_str!(concat!($folder, $name, ".toml")),
        }),*]
    };
}
pub(crate) use built_in;

impl BuiltIn {
    /// What the text says, by the reader of its kind.
    ///
    /// # Panics
    /// If the built-in text is bad, which a test of each kind rules out.
    pub(crate) fn read<T, E: std::fmt::Display>(
        &self,
        read: impl Fn(&str, &str) -> Result<T, E>,
    ) -> T {
        read(self.name, self.text).unwrap_or_else(|error| panic!("{error}"))
    }
}
