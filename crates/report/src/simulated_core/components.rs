//! The components of a stack of cycles: their order, what each means, its colour.

use coretwin_base::simulation::core_run::CoreSide;

/// A component that has a place of its own in a stack.
pub(super) struct Component {
    /// The record's name.
    pub(super) name: &'static str,
    /// What it means, in a few words.
    pub(super) about: &'static str,
    /// Its colour on light paper; families share a hue.
    pub(super) colour: &'static str,
}

const fn component(name: &'static str, about: &'static str, colour: &'static str) -> Component {
    Component { name, about, colour }
}

/// Every component, from the bottom of a stack to its top: work, front end, windows and memory,
/// waiting on purpose, and last what the sibling took.
pub(super) const COMPONENTS: &[Component] = &[
    component("base", "uops renamed: the work itself", "#8d9aa8"),
    component("fetch", "fetch delivered too little", "#d9c46c"),
    component("code_miss", "code was missing", "#c2a433"),
    component("mispredict", "mispredicted branches and refill", "#9a7d12"),
    component("execution", "window full behind execution", "#9cc4ea"),
    component("first_level", "window full behind first-level loads", "#6ba5dc"),
    component("outer_level", "window full behind outer caches", "#3c82c4"),
    component("memory", "window full behind memory", "#175d9e"),
    component("stores", "store buffer full", "#0b3d6e"),
    component("machine_clear", "machine clears", "#8a3aa0"),
    component("lock", "locks", "#b573c6"),
    component("kernel", "entering and leaving the kernel", "#7fb89f"),
    component("pause", "PAUSE", "#4d9a78"),
    component("halt", "halted, or dividing the core", "#0b7d5b"),
    component("sibling_ports", "the sibling took the port", "#f7bb8f"),
    component("sibling_slots", "the sibling was served instead", "#f0955a"),
    component("sibling_entries", "entries the sibling holds", "#c4520a"),
];

/// Cycles of a component.
pub(super) fn cycles(side: &CoreSide, name: &str) -> f64 {
    side.cpi.get(name).copied().unwrap_or(0.0)
}

/// Cycles per uop of a component.
pub(super) fn per_uop(side: &CoreSide, name: &str) -> f64 {
    cycles(side, name) / side.uops.max(1) as f64
}

/// Names of the components that have a place, in their order.
pub fn core_components() -> impl Iterator<Item = &'static str> {
    COMPONENTS.iter().map(|component| component.name)
}
