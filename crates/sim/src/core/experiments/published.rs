//! Published figures of pairs on a core, which profile stands for each, and the score of the model on
//! them beside that of a constant.
//!
//! A row that no profile stands for is known to the constant only. No number of the model is fitted to
//! a row.

/// A published yield: the work of a pair over that of one thread alone.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What was run.
    pub what: &'static str,
    /// The preset nearest to its processor.
    pub preset: &'static str,
    /// Pairs of profiles that stand for it; the prediction is the mean of their yields. Empty: none does.
    pub pairs: &'static [[&'static str; 2]],
    /// The yield that was measured.
    pub measured: f64,
}

/// Throughput of 4 cores without SMT over that of 2 cores with it, each service beside itself, on an Intel
/// Xeon of 28 cores (Emerald Rapids): `jaylenwang7/smt-oversub-model` on GitHub, 2026.
const fn service(what: &'static str, slowdown: f64, pairs: &'static [[&'static str; 2]]) -> Row {
    Row { what, preset: "golden-cove", pairs, measured: 2.0 / slowdown }
}

/// In no order that matters.
pub const ROWS: [Row; 15] = [
    // Tuck and Tullsen 2003; Bulpin and Pratt 2004: both 1.20, over pairs of the suite's programs.
    Row {
        what: "SPEC CPU2000, mean of pairs",
        preset: "p4-northwood",
        pairs: &[
            ["gzip-words", "gzip-words"],
            ["gzip-words", "gzip-source"],
            ["gzip-words", "gzip-binary"],
            ["gzip-words", "perl-loop"],
            ["gzip-words", "sieve"],
            ["gzip-source", "gzip-source"],
            ["gzip-source", "gzip-binary"],
            ["gzip-source", "perl-loop"],
            ["gzip-source", "sieve"],
            ["gzip-binary", "gzip-binary"],
            ["gzip-binary", "perl-loop"],
            ["gzip-binary", "sieve"],
            ["perl-loop", "perl-loop"],
            ["perl-loop", "sieve"],
            ["sieve", "sieve"],
        ],
        measured: 1.20,
    },
    service("Neo4j", 1.495, &[]),
    service("Keycloak", 1.434, &[]),
    service("Go, processor", 1.431, &[["gzip", "gzip"]]),
    service("MediaWiki", 1.417, &[]),
    service("Imgproxy", 1.361, &[]),
    service("MinIO", 1.360, &[["dbench", "dbench"]]),
    service("Postgres", 1.357, &[["dbench", "dbench"]]),
    service("TensorFlow serving", 1.320, &[]),
    service("Elasticsearch", 1.293, &[]),
    service("KeyDB", 1.258, &[["tbench", "tbench"]]),
    service("InfluxDB", 1.165, &[]),
    service("Go, pointer chase", 1.068, &[["pointer-chase", "pointer-chase"]]),
    service("Memcached", 1.021, &[["tbench", "tbench"]]),
    // Measured on a Xeon of four cores that is not named.
    Row {
        what: "a dependent chain of imul",
        preset: "skylake-sp",
        pairs: &[["imul-chain", "imul-chain"]],
        measured: 2.0,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Preset;
    use crate::core::profile::Profile;

    #[test]
    fn every_preset_and_profile_is_built_in() {
        for row in &ROWS {
            assert!(Preset::named(row.preset).is_some(), "{}", row.what);
            for name in row.pairs.iter().flatten() {
                assert!(Profile::named(name).is_some(), "{name}");
            }
        }
    }
}
