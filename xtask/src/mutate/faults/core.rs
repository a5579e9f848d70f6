//! The simulated core.

use super::{CORE, Fault};

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "core-alias-of-any-space", file: "crates/sim/src/core/engine/page_map.rs",
        find: "first(space).unwrap_or(0) as u32",
        put: "first(space).unwrap_or(0).min(0) as u32",
        suite: CORE, test: "mechanisms::lines_64_kib_apart_clash_within_an_address_space_only_where_lines_carry_its_number",
    },
    Fault {
        name: "core-recovery-for-nobody", file: "crates/sim/src/core/engine/squash.rs",
        find: "self.recovered_at.max(recovered)",
        put: "self.recovered_at.max(recovered.min(self.cycle))",
        suite: CORE, test: "mechanisms::a_mispredicted_branch_keeps_a_sibling_from_rename_for_so_many_cycles",
    },
    Fault {
        name: "core-rounds-take-no-port", file: "crates/sim/src/core/engine/replay.rs",
        find: "true => self.replay_until(tick, ports),",
        put: "true => self.replay_until(tick, ports) | ports,",
        suite: CORE, test: "mechanisms::what_goes_round_takes_the_load_port",
    },
    Fault {
        name: "core-reserve-for-nobody", file: "crates/sim/src/core/engine/pool.rs",
        find: "claimed[pool] += used[pool].max(reserve[pool]);",
        put: "claimed[pool] += used[pool].max(reserve[pool].min(1));",
        suite: CORE, test: "fairness::more_reserve_in_golden_cove_never_slows_what_a_chain_clogs",
    },
    Fault {
        name: "core-jumps-past-a-rename", file: "crates/sim/src/core/engine/rest.rs",
        find: "at(state.rename_at);",
        put: "at(state.rename_at + 1);",
        suite: CORE, test: "fairness::jumping_over_idle_cycles_changes_nothing",
    },
    Fault {
        name: "core-turns-always-to-one", file: "crates/sim/src/core/engine/mod.rs",
        find: "ThreadSelect::Alternate => self.turn[stage] + 1,",
        put: "ThreadSelect::Alternate => self.turn[stage] / 8,",
        suite: CORE, test: "fairness::equal_threads_are_served_equally",
    },
];
