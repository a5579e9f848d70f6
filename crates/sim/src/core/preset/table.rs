//! The built-in presets, files in `presets/`: the article's machine, the note's four, then by maker and age.

use super::Preset;
use crate::built_in::built_in;

built_in! { Preset in "../../../presets/":
    "xeon-mp-foster", "p4-northwood", "westmere", "sandybridge", "ivybridge", "haswell-ep",
    "skylake-sp", "ice-lake-sp", "golden-cove", "zen1", "zen3", "zen4", "zen5", "power9-smt4",
}
