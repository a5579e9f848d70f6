//! `/proc/cpuinfo`: what the article's Listing 1 reads, in the forms of x86, POWER, Arm and s390.

use crate::{Error, root::Root};
use coretwin_base::machine::cpu_set::{CPU_MAX, CpuId, CpuSet};
use coretwin_base::machine::topology::{CpuInfo, SiblingsAgree};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Processor {
    pub cpu: CpuId,
    /// `physical id`: package.
    pub package: Option<u32>,
    /// `core id`, which repeats in every package.
    pub core_id: Option<i64>,
    /// `siblings`: CPUs of the package.
    pub siblings: Option<u32>,
    /// `cpu cores`: cores of the package.
    pub cpu_cores: Option<u32>,
    /// `cpu MHz`, or `clock` on POWER.
    pub mhz: Option<f64>,
    pub microcode: Option<String>,
    /// `flags` on x86, `Features` on Arm: words in the kernel's order.
    pub flags: Option<String>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub struct Parsed {
    /// The entries, in the order of the file. Only online CPUs have one.
    pub processors: Vec<Processor>,
    /// The first text of each key, whichever entry it stands in; keys in lower case.
    pub first: BTreeMap<String, String>,
}

const FLAGS: [&str; 2] = ["flags", "features"];

/// Reads the text. Total: what is not understood is left out. Lines that continue a long value
/// (as the article prints the flags) are joined to it.
pub fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut key_last = String::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            let is_first = parsed.processors.len() <= 1;
            let own = parsed.processors.last_mut().and_then(|own| own.flags.as_mut());
            let values = [
                parsed.first.get_mut(&key_last).filter(|_| is_first),
                own.filter(|_| FLAGS.contains(&key_last.as_str())),
            ];
            for value in values.into_iter().flatten().filter(|_| !line.trim().is_empty()) {
                value.push(' ');
                value.push_str(line.trim());
            }
            continue;
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        match key_of_processor(&key, value) {
            Some(cpu) => parsed.processors.push(Processor { cpu, ..Processor::default() }),
            None => {
                if let Some(processor) = parsed.processors.last_mut() {
                    note(processor, &key, value);
                }
            }
        }
        if !key.is_empty() {
            parsed.first.entry(key.clone()).or_insert_with(|| value.to_owned());
        }
        key_last = key;
    }
    parsed
}

/// `processor : 3` everywhere but on s390, whose lines read `processor 3: version = …`. Old Arm
/// kernels write the processor's name under `Processor`; its value is no number.
fn key_of_processor(key: &str, value: &str) -> Option<CpuId> {
    let rest = key.strip_prefix("processor")?.trim();
    let number = if rest.is_empty() { value } else { rest };
    number.parse().ok().filter(|number| *number <= CPU_MAX).map(CpuId)
}

fn note(processor: &mut Processor, key: &str, value: &str) {
    match key {
        "physical id" => processor.package = value.parse().ok(),
        "core id" => processor.core_id = value.parse().ok(),
        "siblings" => processor.siblings = value.parse().ok(),
        "cpu cores" => processor.cpu_cores = value.parse().ok(),
        "microcode" => processor.microcode = Some(value.to_owned()),
        key if FLAGS.contains(&key) => processor.flags = Some(value.to_owned()),
        "cpu mhz" | "clock" | "cpu mhz dynamic" => {
            let number = value.trim_end_matches("MHz").trim().parse();
            processor.mhz = number.ok().filter(|mhz: &f64| mhz.is_finite() && *mhz > 0.0);
        }
        _ => {}
    }
}

impl Parsed {
    /// Whether a word is among the flags (`flags` on x86, `Features` on Arm).
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        FLAGS.iter().any(|key| {
            self.first.get(*key).is_some_and(|flags| flags.split_whitespace().any(|f| f == flag))
        })
    }

    pub fn summary(&self) -> CpuInfo {
        let text = |keys: &[&str]| {
            let value = keys.iter().find_map(|key| self.first.get(*key))?;
            (!value.is_empty()).then(|| value.clone())
        };
        let processors = u32::try_from(self.processors.len()).unwrap_or(u32::MAX);
        CpuInfo {
            // "cpu" is POWER's key ("POWER9, altivec supported"); 64-bit Arm has a number only.
            model_name: text(&["model name", "cpu", "hardware"])
                .or_else(|| Some(format!("CPU part {}", text(&["cpu part"])?))),
            processors,
            ht_flag: self.has_flag("ht"),
            siblings: self.processors.first().and_then(|first| first.siblings),
            cpu_cores: self.processors.first().and_then(|first| first.cpu_cores),
            microcode: text(&["microcode"]),
            siblings_agree: None,
        }
    }

    /// Whether the CPUs of each group say the same of microcode and flags; `None` if no group has two
    /// CPUs.
    pub(crate) fn agreement(&self, groups: &[CpuSet]) -> Option<SiblingsAgree> {
        let groups: Vec<Vec<&Processor>> = groups
            .iter()
            .map(|group| self.processors.iter().filter(|own| group.contains(own.cpu)).collect())
            .filter(|group: &Vec<_>| group.len() > 1)
            .collect();
        if groups.is_empty() {
            return None;
        }
        let mut differences = Vec::new();
        let mut agree = |what: &str, of: &dyn Fn(&Processor) -> Option<BTreeSet<&str>>| {
            let told = groups.iter().flatten().all(|own| of(own).is_some());
            let mut all = true;
            for group in &groups {
                for other in &group[1..] {
                    let [a, b] = [group[0], other].map(|own| of(own).unwrap_or_default());
                    if told && a != b {
                        all = false;
                        let only = |a: &BTreeSet<&str>, b| {
                            let words: Vec<&str> = a.difference(b).copied().collect();
                            if words.is_empty() { "no more".to_owned() } else { words.join(" ") }
                        };
                        differences.push(format!(
                            "CPUs {} and {} differ in {what}: {} against {}",
                            group[0].cpu,
                            other.cpu,
                            only(&a, &b),
                            only(&b, &a)
                        ));
                    }
                }
            }
            told.then_some(all)
        };
        let microcode =
            agree("microcode", &|own| Some(BTreeSet::from([own.microcode.as_deref()?])));
        let flags = agree("flags", &|own| Some(own.flags.as_deref()?.split_whitespace().collect()));
        Some(SiblingsAgree { microcode, flags, differences })
    }
}

pub fn read(root: &Root) -> Result<Parsed, Error> {
    Ok(parse(&root.text("proc/cpuinfo")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn listing_1_of_the_article() {
        let parsed = parse(crate::fake::LISTING_1);
        let summary = parsed.summary();
        assert_eq!(summary.processors, 2);
        assert!(summary.ht_flag, "the flags run over three lines: {:?}", parsed.first["flags"]);
        assert!(parsed.has_flag("tm") && parsed.has_flag("fpu"));
        assert_eq!(summary.model_name.as_deref(), Some("Intel(R) Genuine CPU 1.60GHz"));
        assert_eq!(parsed.processors[1].mhz, Some(1600.382));
        assert_eq!((summary.siblings, summary.cpu_cores), (None, None));
    }

    #[test]
    fn power_arm_and_s390() {
        let power = parse(
            "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3783.000000MHz\n\n\
             processor\t: 8\ncpu\t\t: POWER9\n\nplatform\t: PowerNV\n",
        );
        assert_eq!(power.processors[1].cpu, CpuId(8));
        assert_eq!(power.processors[0].mhz, Some(3783.0));
        assert_eq!(power.summary().model_name.as_deref(), Some("POWER9, altivec supported"));
        let arm = parse(
            "Processor\t: ARMv7 rev 2\nprocessor\t: 0\nFeatures\t: fp asimd\n\nprocessor\t: 1\n",
        );
        assert_eq!((arm.processors.len(), arm.has_flag("asimd")), (2, true));
        let s390 = parse("vendor_id : IBM/S390\nprocessor 0: version = FF\nprocessor 1: v\n");
        assert_eq!(s390.processors[1].cpu, CpuId(1));
    }

    proptest! {
        #[test]
        fn never_panics(text in "(processor|flags|cpu MHz|core id|\\PC{0,6}|[\\t :\\n0-9])*") {
            let _ = parse(&text).summary();
        }
    }
}
