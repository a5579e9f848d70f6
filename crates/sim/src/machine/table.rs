//! The built-in machines, files in `machines/`: the article's first.

use super::MachinePreset;
use crate::built_in::built_in;

built_in! { MachinePreset in "../../machines/":
    "xeon-mp-foster", "xeon-mp-2-socket", "golden-cove-server", "zen4-2x96", "vm-1",
}
