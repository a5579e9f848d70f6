//! Names of a scenario file and the numbers they stand for.

use crate::Result;
use crate::document::Table;
use coretwin_base::suggest;

/// Names of one kind of thing, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kernel::scenario) struct Names {
    kind: &'static str,
    names: Vec<String>,
}

impl Names {
    pub(in crate::kernel::scenario) fn new(kind: &'static str) -> Self {
        Self { kind, names: Vec::new() }
    }

    /// Adds a name that is not there yet.
    pub(in crate::kernel::scenario) fn declare(
        &mut self,
        table: &Table<'_>,
        key: &str,
        name: &str,
    ) -> Result<()> {
        if self.names.iter().any(|known| known == name) {
            return Err(table.refuse(key, format!("there are two of the {} '{name}'", self.kind)));
        }
        self.names.push(name.to_owned());
        Ok(())
    }

    /// The number of a name; a new name gets the next.
    pub(in crate::kernel::scenario) fn number_or_new(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }) as u32
    }

    /// The number of the name at a key.
    pub(super) fn number(&self, table: &mut Table<'_>, key: &str) -> Result<u32> {
        let name = table.words(key)?;
        let number = self.names.iter().position(|known| known == name);
        number.map(|number| number as u32).ok_or_else(|| {
            let known: Vec<&str> = self.names.iter().map(String::as_str).collect();
            match known.is_empty() {
                true => table.refuse(key, format!("there is no {} '{name}', nor any", self.kind)),
                false => table.refuse(key, suggest::unknown(self.kind, name, &known)),
            }
        })
    }

    pub(in crate::kernel::scenario) fn count(&self) -> usize {
        self.names.len()
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }
}
