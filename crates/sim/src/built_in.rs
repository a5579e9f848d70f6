//! Built-in texts: presets, profiles, machines, scenarios, fits. Each is a file and one line of the table
//! of its kind; the lists, the look-up by name and the tests derive from that table.

#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    pub name: &'static str,
    /// The text of its file, also a template for a user's own.
    pub text: &'static str,
}

/// The files of these names, in this order; with a type, the table of its kind: `ALL`, and `all` and `named`
/// of the type. The folder is relative to the file in which the table stands.
macro_rules! built_in {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$($crate::built_in::BuiltIn {
            name: $name,
            text: include_str!(concat!($folder, $name, ".toml")),
        }),*]
    };
    ($type:ident in $folder:literal: $($name:literal),* $(,)?) => {
        /// Every built-in one before it is read, in the order of lists.
        pub const ALL: &[$crate::built_in::BuiltIn] = built_in![$folder: $($name),*];

        impl $type {
            pub fn all() -> Vec<Self> {
                ALL.iter().map(|entry| entry.read(Self::read)).collect()
            }

            pub fn named(name: &str) -> Option<Self> {
                ALL.iter().find(|entry| entry.name == name).map(|entry| entry.read(Self::read))
            }
        }
    };
}
pub(crate) use built_in;

impl BuiltIn {
    /// The entry of this name; an error has the nearest one, and `kind` says what it is a name of.
    pub(crate) fn find(
        all: &'static [Self],
        kind: &str,
        name: &str,
    ) -> Result<&'static Self, String> {
        all.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|entry| entry.name).collect();
            coretwin_base::suggest::unknown(kind, name, &known)
        })
    }

    /// What the text says, by the reader of its kind. Panics if the built-in text is bad, which a test
    /// of each kind rules out.
    pub(crate) fn read<T, E: std::fmt::Display>(
        &self,
        read: impl Fn(&str, &str) -> Result<T, E>,
    ) -> T {
        read(self.name, self.text).unwrap_or_else(|error| panic!("{error}"))
    }
}
