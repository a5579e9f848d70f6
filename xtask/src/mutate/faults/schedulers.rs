//! The simulated kernels and what schedules live.

use super::{BASE, DECISIONS, FLOORS, Fault, KERNEL, SIM};

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "woken-later-on-every-machine", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "if is_short && woken >= CAME / 2",
        put: "if woken >= CAME / 2",
        suite: BASE, test: "simulation::core_queue::decide::tests::who_wakes_among_many_stands_later_where_switches_are_long",
    },
    Fault {
        name: "sim-load-is-not-cut", file: "crates/sim/src/policies/fair/load.rs",
        find: "u64::from((left as u32).max(least as u32))",
        put: "left.max(least)",
        suite: SIM, test: "policies::fair::load::tests::a_queue_of_more_than_88_tasks_looks_nearly_idle_at_times",
    },
    Fault {
        name: "sim-capacity-not-shared", file: "crates/sim/src/kernel/accounting.rs",
        find: "/ most / (index + 1) as f64",
        put: "/ most",
        suite: SIM, test: "kernel::accounting::tests::the_formulas_of_two_siblings",
    },
    Fault {
        name: "sim-2.4-no-same-cpu-bonus", file: "crates/base/src/simulation/linux_2_4_19.rs",
        find: "{ SAME_CPU_BONUS }",
        put: "{ 0 }",
        suite: SIM, test: "policies::linux_2_4_19::tests::goodness_is_the_sum_of_its_parts",
    },
    Fault {
        name: "sim-2.4-sleepers-get-nothing", file: "crates/base/src/simulation/linux_2_4_19.rs",
        find: "(counter >> 1) + slice(nice))",
        put: "(counter >> 8) + slice(nice))",
        suite: SIM, test: "policies::linux_2_4_19::tests::spent_slices_are_renewed_for_sleepers_too",
    },
    Fault {
        name: "live-2.4-memory-weighs-as-the-cpu", file: "crates/bpf/c/linux_2_4_19_decide.h",
        find: "same_memory ? SAME_MEMORY_BONUS : 0",
        put: "same_memory ? SAME_CPU_BONUS : 0",
        suite: DECISIONS, test: "linux_2_4_19_calculates_alike",
    },
    Fault {
        name: "live-2.4-one-epoch-at-most", file: "crates/bpf/c/linux_2_4_19_decide.h",
        find: "if (epoch < epochs)",
        put: "if (epoch < 1 && epochs)",
        suite: DECISIONS, test: "linux_2_4_19_calculates_alike",
    },
    Fault {
        name: "live-2.5-interactive-by-nice-alone", file: "crates/bpf/c/linux_2_5_32_decide.h",
        find: "- of_nice - 2",
        put: "- of_nice - 3",
        suite: DECISIONS, test: "linux_2_5_32_calculates_alike",
    },
    Fault {
        name: "live-2.5-a-queue-that-just-came-counts", file: "crates/bpf/c/linux_2_5_32_decide.h",
        find: "is_idle || now < earlier ? now : earlier",
        put: "is_idle || now > earlier ? now : earlier",
        suite: DECISIONS, test: "linux_2_5_32_calculates_alike",
    },
    Fault {
        name: "live-2.5-equal-priority-without-the-patch", file: "crates/bpf/c/linux_2_5_32_decide.h",
        find: "is_mended && priority == current",
        put: "priority == current",
        suite: DECISIONS, test: "linux_2_5_32_calculates_alike",
    },
    Fault {
        name: "live-2.5-sequence-before-priority", file: "crates/bpf/c/linux_2_5_32_decide.h",
        find: "((u64)priority << SEQUENCE_BITS)",
        put: "((u64)priority << (SEQUENCE_BITS - 50))",
        suite: DECISIONS, test: "linux_2_5_32_calculates_alike",
    },
    Fault {
        name: "sim-semaphore-lost-wake", file: "crates/sim/src/kernel/synchronisation.rs",
        find: "self.waiters.iter().position(enough)",
        put: "Some(0).filter(|_| self.waiters.front().is_some_and(enough))",
        suite: SIM, test: "kernel::synchronisation::tests::those_who_need_less_pass_those_who_need_more",
    },
    Fault {
        name: "core-queue-no-kick", file: "crates/sim/src/policies/core_queue/mod.rs",
        find: "return answer.resched_idle(cpu, task);",
        put: "return;",
        suite: KERNEL, test: "core_queue::wakeup_takes_the_idle_sibling",
    },
    Fault {
        name: "core-queue-no-pull", file: "crates/sim/src/policies/core_queue/mod.rs",
        find: "None if self.rules.passive =>",
        put: "None if self.rules.slice_ns == 0 =>",
        suite: KERNEL, test: "core_queue::passive_a_core_takes_half_of_what_another_has_more",
    },
    Fault {
        name: "core-queue-foreign-clock", file: "crates/sim/src/policies/core_queue/queues.rs",
        find: "own.virtual_ns = self.queues[queue].now - lag;",
        put: "own.virtual_ns -= 0 * lag;",
        suite: KERNEL, test: "core_queue::a_task_that_is_taken_waits_no_longer_for_the_clock_it_comes_from",
    },
    Fault {
        name: "core-queue-follows-without-end", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "together_ns < slice_ns / 4",
        put: "together_ns < slice_ns * 4",
        suite: KERNEL, test: "core_queue::a_pair_follows_each_other_past_others_for_a_quarter_of_a_slice",
    },
    Fault {
        name: "core-queue-never-hands-over", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "waiting == 0 && handed < HANDED_MAX",
        put: "waiting == 0 && handed > HANDED_MAX",
        suite: KERNEL, test: "core_queue::a_task_that_follows_takes_the_place_of_its_waker_where_nobody_waits",
    },
    Fault {
        name: "core-queue-forgets-who-waits", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "| waited_ns.min(u64::MAX >> 1)",
        put: "| waited_ns.min(0)",
        suite: KERNEL, test: "core_queue::passive_an_idle_cpu_takes_what_has_waited_longest",
    },
    Fault {
        name: "core-queue-forgets-whom-it-woke", file: "crates/sim/src/policies/core_queue/mod.rs",
        find: "wakes += 1",
        put: "wakes += 0",
        suite: KERNEL, test: "core_queue::who_has_woken_many_is_not_displaced",
    },
    Fault {
        name: "core-queue-lost-load", file: "crates/sim/src/policies/core_queue/place.rs",
        find: "view.running_on_core(cpu) + self.queues.waiting(core)",
        put: "view.running_on_core(cpu) + 0 * self.queues.waiting(core)",
        suite: KERNEL, test: "core_queue::passive_a_core_takes_half_of_what_another_has_more",
    },
    Fault {
        name: "live-partner-for-nothing", file: "crates/bpf/c/core_queue_decide.h",
        find: "u64 most = first + first / 100;",
        put: "u64 most = first;",
        suite: DECISIONS, test: "the_program_and_the_simulated_policy_decide_alike",
    },
    Fault {
        name: "live-no-kick", file: "crates/bpf/c/core_queue_wake.h",
        find: "bool idle = scx_bpf_test_and_clear_cpu_idle(cpu);\n\tu32 other;\n",
        put: "bool idle = !displaced && scx_bpf_test_and_clear_cpu_idle(cpu);\n\tu32 other;\n\n\tif (displaced)\n\t\treturn;\n",
        suite: FLOORS, test: "kick: who is displaced",
    },
    Fault {
        name: "live-no-pull", file: "crates/bpf/c/core_queue_work.h",
        find: "if (options.pickup && take_first(core))",
        put: "if (core != NONE)\n\t\treturn false;\n\tif (options.pickup && take_first(core))",
        suite: FLOORS, test: "pull: tasks leave a crowded core",
    },
    Fault {
        name: "live-foreign-clock", file: "crates/bpf/c/core_queue_state.h",
        find: "task->virtual_ns = clock_of(cpu, bound) - behind;",
        put: "task->virtual_ns -= 0 * behind;",
        suite: FLOORS, test: "clock: who changes cores",
    },
    Fault {
        name: "live-lost-load", file: "crates/bpf/c/core_queue_state.h",
        find: "core_of(core)->running + waiting(core)",
        put: "core_of(core)->running + 0 * waiting(core)",
        suite: FLOORS, test: "load: who waits counts",
    },
    Fault {
        name: "sim-weight-one-step-off", file: "crates/sim/src/policies/weight.rs",
        find: "5_u64.pow(steps), 4_u64.pow(steps)",
        put: "5_u64.pow(steps), 3_u64.pow(steps)",
        suite: KERNEL, test: "fair::cpu_time_goes_by_weight",
    },
];
