//! What SMT costs in security on a machine, and the ways there to go without it.

use serde::{Deserialize, Serialize};

/// One of the kernel's entries under `/sys/devices/system/cpu/vulnerabilities` that speaks of
/// siblings (Documentation/admin-guide/hw-vuln).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// The kernel's name of it: `mds`, `l1tf`, `spectre_v2`.
    pub name: String,
    /// The kernel's words.
    pub text: String,
    /// Whether going without SMT would change something about it here, now.
    pub smt_matters: bool,
    /// What they mean for siblings, in our words.
    pub meaning: String,
}

/// A way to go without SMT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Whether it can be gone here, now, by this user.
    pub available: bool,
    /// Why, or why not, in one sentence that says what to type or what would help.
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ways {
    /// The switch of the running kernel, `/sys/devices/system/cpu/smt/control`.
    pub switch: Way,
    /// The next boot, with `nosmt` on the kernel's command line.
    pub boot: Way,
    /// Core scheduling (`PR_SCHED_CORE`): SMT stays on, but siblings only ever run tasks that trust
    /// each other.
    pub core_scheduling: Way,
}

impl Ways {
    pub fn each(&self) -> [(&'static str, &Way); 3] {
        [("switch", &self.switch), ("boot", &self.boot), ("core scheduling", &self.core_scheduling)]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithoutSmt {
    pub ways: Ways,
    /// The vulnerabilities in which siblings have a part, in order of name.
    pub security: Vec<Exposure>,
}

impl WithoutSmt {
    pub fn cost(&self) -> String {
        let names = |wanted: &dyn Fn(&Exposure) -> bool| -> String {
            let named = self.security.iter().filter(|exposure| wanted(exposure));
            named.map(|exposure| exposure.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let vulnerable = names(&|exposure| exposure.text.contains("SMT vulnerable"));
        let unknown = names(&|exposure| exposure.text.contains("SMT Host state unknown"));
        let guarded = names(&|exposure| exposure.smt_matters);
        if self.security.is_empty() {
            "the kernel lists no vulnerability in which siblings have a part".to_owned()
        } else if !vulnerable.is_empty() {
            format!(
                "with SMT on, a program can spy on the one beside it on the core ({vulnerable}); \
                 without SMT it cannot"
            )
        } else if !unknown.is_empty() {
            format!("the kernel is a guest and cannot tell who runs on a sibling ({unknown})")
        } else if !guarded.is_empty() {
            format!(
                "siblings are kept apart at a cost in speed ({guarded}), which goes without SMT"
            )
        } else {
            "as the machine is now, no vulnerability that the kernel lists depends on SMT"
                .to_owned()
        }
    }

    pub fn choice(&self) -> String {
        let each = self.ways.each().map(|(name, way)| {
            format!("{name} {}", if way.available { "available" } else { "not available" })
        });
        format!("ways to go without SMT: {}", each.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(texts: &[(&str, &str, bool)]) -> WithoutSmt {
        let way = |available| Way { available, why: String::new() };
        let security = texts.iter().map(|(name, text, smt_matters)| Exposure {
            name: (*name).to_owned(),
            text: (*text).to_owned(),
            smt_matters: *smt_matters,
            meaning: String::new(),
        });
        let ways = Ways { switch: way(true), boot: way(true), core_scheduling: way(false) };
        WithoutSmt { ways, security: security.collect() }
    }

    #[test]
    fn the_cost_is_that_of_the_worst() {
        let vulnerable = ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable", true);
        let guest = ("taa", "Vulnerable; SMT Host state unknown", true);
        let apart = ("spectre_v2", "STIBP: always-on", true);
        let quiet = ("l1tf", "SMT disabled", false);
        for (texts, part) in [
            (&[apart, guest, vulnerable][..], "on the core (mds); without"),
            (&[apart, guest], "a guest"),
            (&[apart, quiet], "cost in speed (spectre_v2)"),
            (&[quiet], "no vulnerability that the kernel lists depends on SMT"),
            (&[], "lists no vulnerability"),
        ] {
            let cost = without(texts).cost();
            assert!(cost.contains(part), "{cost}");
        }
    }

    #[test]
    fn the_choice_names_all_three() {
        assert_eq!(
            without(&[]).choice(),
            "ways to go without SMT: switch available, boot available, core scheduling not \
             available"
        );
    }
}
