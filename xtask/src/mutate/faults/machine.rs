//! Topology, the switch, accounting, and what watches them.

use super::{ACCOUNT, BASE, CLI, Fault, HOST, OVERLAP, SMT, TOP, TOPOLOGY};

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "cpu-set-stride", file: "crates/base/src/machine/cpu_set.rs",
        find: "(cpu - low) % group < used",
        put: "(cpu - low) % group <= used",
        suite: BASE, test: "machine::cpu_set::tests::reads_what_the_kernel_writes",
    },
    Fault {
        name: "percentile-of-too-few", file: "crates/base/src/study/latency.rs",
        find: "samples as f64 + 1e-6 >= BEYOND_MIN as f64",
        put: "samples as f64 + 1.0 >= BEYOND_MIN as f64",
        suite: BASE, test: "study::latency::tests::a_percentile_needs_a_hundred_samples_beyond_it",
    },
    Fault {
        name: "replay-yield-from-the-middle", file: "crates/account/src/replay/demand.rs",
        find: "low_s: work.low,",
        put: "low_s: work.value,",
        suite: ACCOUNT, test: "replay::tests::the_truth_lies_within",
    },
    Fault {
        name: "replay-waits-forgotten", file: "crates/account/src/replay/demand.rs",
        find: "running.high.max(work.high) + waited_s",
        put: "running.high.max(work.high) + 0.0 * waited_s",
        suite: ACCOUNT, test: "replay::tests::a_day_with_one_full_hour_says_so_in_hours_minutes_and_bounds",
    },
    Fault {
        name: "replay-core-sched-as-if-on", file: "crates/account/src/replay/demand.rs",
        find: "capacity_s(least).min(cores_s)",
        put: "capacity_s(least)",
        suite: ACCOUNT, test: "replay::tests::the_truth_lies_within",
    },
    Fault {
        name: "busy-time-without-system", file: "crates/host/src/observe.rs",
        find: "seconds(now.user, then.user) + seconds(now.system, then.system)",
        put: "seconds(now.user, then.user)",
        suite: HOST, test: "observe::tests::only_the_asked_cpus_count_and_guest_time_counts_once",
    },
    Fault {
        name: "guard-lock-through-a-link", file: "crates/host/src/smt/guard/lock.rs",
        find: "OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC",
        put: "OFlags::RDWR | OFlags::CLOEXEC",
        suite: HOST, test: "smt::guard::lock::tests::links_are_not_followed",
    },
    Fault {
        name: "guard-record-too-short", file: "crates/host/src/smt/guard/lock.rs",
        find: "length.saturating_sub(1)",
        put: "0",
        suite: HOST, test: "smt::guard::lock::tests::there_is_a_record_at_every_moment",
    },
    Fault {
        name: "restore-word-last", file: "crates/host/src/smt/restore_order.rs",
        find: "[Self::Control, Self::Cpus, Self::Cpusets,",
        put: "[Self::Cpus, Self::Control, Self::Cpusets,",
        suite: SMT, test: "restoring::a_plan_lists_the_writes_in_their_order_and_writes_nothing",
    },
    Fault {
        name: "restore-forgets-what-is-left", file: "crates/host/src/smt/restore.rs",
        find: "    if restored.is_complete() {\n        saved::remove",
        put: "    if restored.is_complete() || true {\n        saved::remove",
        suite: SMT, test: "refusals::what_is_refused_for_good_is_reported_exactly_and_can_be_done_later",
    },
    Fault {
        name: "half-failed-off-believed", file: "crates/host/src/smt/restore.rs",
        find: "        let _ = kernel.write(path, \"on\");\n",
        put: "",
        suite: SMT, test: "refusals::off_after_somebody_elses_half_failed_off_is_really_off",
    },
    Fault {
        name: "affinity-of-others-overwritten", file: "crates/host/src/smt/gaps.rs",
        find: "group.is_subset(&now.cpus) ||",
        put: "!group.is_empty() ||",
        suite: SMT, test: "restoring::an_affinity_that_somebody_set_meanwhile_is_told_and_left_alone",
    },
    Fault {
        name: "guard-ends-anothers-scheduler", file: "crates/host/src/sched_ext/keeper.rs",
        find: "(holder.process, holder.started_ticks) == (study.process, study.started_ticks)",
        put: "holder.process == study.process",
        suite: HOST, test: "sched_ext::keeper::tests::what_a_dead_study_left_is_killed_and_what_others_loaded_is_not",
    },
    Fault {
        name: "process-without-descriptor-dead", file: "crates/host/src/smt/guard/identity.rs",
        find: "Err(_) => Self::Unwatched",
        put: "Err(_) => Self::Ended",
        suite: HOST, test: "sched_ext::keeper::tests::a_keeper_ends_also_where_no_descriptor_is_left",
    },
    Fault {
        name: "refusals-counted-as-tasks", file: "crates/bpf/c/overlap.bpf.c",
        find: "&is_followed, MAP_NEW_ONLY",
        put: "&is_followed, MAP_ANY",
        suite: OVERLAP, test: "limits::a_task_without_a_place_is_counted_once_however_often_it_runs",
    },
    Fault {
        name: "siblings-one-sided", file: "crates/host/src/topology/cores.rs",
        find: "|other| lists.get(other) != lists.get(cpu)",
        put: "|_| false",
        suite: TOPOLOGY, test: "contradictions_lower_the_trust",
    },
    Fault {
        name: "core-queue-displaces-who-wakes-many", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "&& woken <= FEW",
        put: "",
        suite: BASE, test: "simulation::core_queue::decide::tests::who_has_woken_many_is_not_displaced",
    },
    Fault {
        name: "core-queue-follows-past-hundreds", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "waiting <= PAST_MAX && ",
        put: "",
        suite: BASE, test: "simulation::core_queue::decide::tests::tasks_follow_past_few_that_wait_and_not_past_hundreds",
    },
    Fault {
        name: "capacity-of-a-whole-core", file: "crates/account/src/model.rs",
        find: "scaled(share, 1.0 / f64::from(k))",
        put: "scaled(share, 1.0_f64.powf(f64::from(k)))",
        suite: ACCOUNT, test: "model::tests::a_task_alone_and_beside_another",
    },
    Fault {
        name: "slowdown-range-turned", file: "crates/account/src/model.rs",
        find: "low: 1.0 / r.high, high: 1.0 / r.low",
        put: "low: 1.0 / r.low, high: 1.0 / r.high",
        suite: ACCOUNT, test: "model::tests::a_range_holds_whatever_the_truth_in_it_is",
    },
    Fault {
        name: "bound-of-overlap", file: "crates/account/src/bounds/arithmetic.rs",
        find: "(told_s + self.error_s).min(self.length_s)",
        put: "told_s.min(self.length_s)",
        suite: ACCOUNT, test: "bounds::arithmetic::tests::what_cannot_be_otherwise_is_known",
    },
    Fault {
        name: "silent-keep-their-places", file: "crates/top/src/openmetrics/endpoint.rs",
        find: "                    self.connections.remove(self.dispensable());\n",
        put: "                    return;\n",
        suite: TOP, test: "openmetrics::endpoint::tests::those_who_send_nothing_do_not_shut_out_others",
    },
    Fault {
        name: "ejection-not-noticed", file: "crates/cli/src/verb/sched/keep.rs",
        find: "record.ending = live.ending()?;",
        put: "record.ending = None;",
        suite: CLI, test: "verb::sched::keep::tests::an_ejection_is_noticed_written_and_told",
    },
];
