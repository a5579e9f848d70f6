//! A parameter of a scheduling policy, as data: lists, help, checks and the loader of a live scheduler
//! are made from it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    /// What it is, and where its default comes from.
    pub about: &'static str,
    pub default: i64,
    pub low: i64,
    /// The most it may be. A switch is a parameter of 0 to 1, also written `off` and `on`.
    pub high: i64,
}

impl Parameter {
    pub const fn switch(name: &'static str, default: bool, about: &'static str) -> Self {
        Self { name, about, default: default as i64, low: 0, high: 1 }
    }

    pub const fn number(
        name: &'static str,
        default: i64,
        (low, high): (i64, i64),
        about: &'static str,
    ) -> Self {
        Self { name, about, default, low, high }
    }

    pub fn is_switch(&self) -> bool {
        (self.low, self.high) == (0, 1)
    }

    /// Its value as typed: a number within the limits; `on` and `off` for a switch. Errors: a sentence
    /// that begins with its name and says what it may be.
    pub fn read(&self, text: &str) -> Result<i64, String> {
        let name = self.name;
        let number = match text {
            "on" if self.is_switch() => Some(1),
            "off" if self.is_switch() => Some(0),
            text => text.parse().ok(),
        };
        number.filter(|number| (self.low..=self.high).contains(number)).ok_or_else(|| {
            match self.is_switch() {
                true => format!("{name} is on or off, not '{text}'"),
                false => format!("{name} is {} to {}, not '{text}'", self.low, self.high),
            }
        })
    }

    /// A value of it, as it would be typed.
    pub fn word(&self, value: i64) -> String {
        match (self.is_switch(), value) {
            (true, 0) => "off".to_owned(),
            (true, _) => "on".to_owned(),
            (false, value) => value.to_string(),
        }
    }
}
