//! What SMT costs in security here: the kernel's own words on each vulnerability that siblings have
//! a part in, and what those words mean.
//!
//! The words are those of `arch/x86/kernel/cpu/bugs.c`: `SMT vulnerable`, `SMT mitigated`, `SMT
//! disabled`, `SMT Host state unknown`, `SMT enabled with STIBP protection`, `STIBP: …`
//! (Documentation/admin-guide/hw-vuln, mds.rst, l1tf.rst, spectre.rst).

use crate::root::Root;
use coretwin_base::machine::ways::Exposure;

const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";

/// What a phrase of the kernel says of siblings; the first that is found in a text counts.
const PHRASES: [(&[&str], bool, &str); 9] = [
    (
        &["SMT vulnerable"],
        true,
        "a program on one CPU of a core can spy on the program on its sibling; without SMT it \
         cannot",
    ),
    (
        &["SMT Host state unknown"],
        true,
        "only the host knows whether somebody else's program runs on the sibling of one of these \
         CPUs",
    ),
    (
        &["SMT enabled with STIBP protection", "STIBP: always-on"],
        true,
        "STIBP keeps siblings apart and costs speed that would come back without SMT",
    ),
    (
        &["STIBP: forced"],
        true,
        "STIBP keeps siblings apart for every program and costs speed that would come back without \
         SMT",
    ),
    (
        &["STIBP: conditional"],
        true,
        "programs that ask for it are kept apart from their sibling by STIBP, the others are not; \
         without SMT nobody needs it",
    ),
    (&["SMT mitigated"], false, "siblings are guarded as well; SMT changes nothing"),
    (&["SMT disabled"], false, "no sibling runs, so none can spy; with SMT on this may change"),
    (&["STIBP: disabled"], false, "STIBP is not in force"),
    (&["SMT"], true, "the kernel's words speak of SMT; read them"),
];

/// The vulnerabilities whose text speaks of siblings, in order of name.
pub fn read(root: &Root) -> Vec<Exposure> {
    let texts = root.names(FOLDER).into_iter().filter_map(|name| {
        let text = root.fact(&format!("{FOLDER}/{name}"))?;
        exposure(name, text)
    });
    texts.collect()
}

fn exposure(name: String, text: String) -> Option<Exposure> {
    let is_said = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let (_, smt_matters, meaning) = PHRASES.iter().find(|(phrases, ..)| is_said(phrases))?;
    Some(Exposure { name, text, smt_matters: *smt_matters, meaning: (*meaning).to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(bool, String)> {
        exposure("x".to_owned(), text.to_owned()).map(|it| (it.smt_matters, it.meaning))
    }

    #[test]
    fn the_kernels_words_are_understood() {
        for (text, matters, part) in [
            ("Mitigation: Clear CPU buffers; SMT vulnerable", true, "spy"),
            (
                "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable",
                true,
                "spy",
            ),
            (
                "Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown",
                true,
                "host",
            ),
            (
                "Mitigation: untrained return thunk; SMT enabled with STIBP protection",
                true,
                "speed",
            ),
            (
                "Mitigation: Retpolines; IBPB: conditional; STIBP: always-on; RSB filling",
                true,
                "speed",
            ),
            ("Mitigation: Retpolines; STIBP: conditional; RSB filling", true, "ask for it"),
            ("Mitigation: Clear CPU buffers; SMT mitigated", false, "guarded"),
            ("Mitigation: Clear CPU buffers; SMT disabled", false, "no sibling runs"),
            ("Mitigation: SMT disabled", false, "no sibling runs"),
            ("Mitigation: Retpolines; STIBP: disabled; RSB filling", false, "not in force"),
            ("Something new about SMT", true, "read them"),
        ] {
            let (found, meaning) = of(text).expect(text);
            assert_eq!(found, matters, "{text}");
            assert!(meaning.contains(part), "{text}: {meaning}");
        }
        for text in ["Not affected", "Mitigation: PTI", "Mitigation: IBPB before exit to userspace"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_speaks_of_siblings_is_read() {
        let (_folder, root) = crate::fake::written("server-halves");
        let names: Vec<String> = read(&root).into_iter().map(|exposure| exposure.name).collect();
        assert_eq!(names, ["mds", "spectre_v2"]);
        let (_folder, root) = crate::fake::written("arm-big-little");
        assert_eq!(read(&root), []);
    }
}
