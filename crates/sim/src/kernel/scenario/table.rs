//! The built-in scenarios, files in `scenarios/`: the patch's own questions first.

use super::Scenario;
use crate::built_in::built_in;

built_in! { Scenario in "../../../scenarios/":
    "two-on-siblings", "passive-balancing", "make-j1", "make-j2", "make-j3", "make-j4",
    "wakeup-beside-idle", "affinity-in-core", "priority-in-core", "article-machine",
    "half-loaded", "mixed-load",
}
