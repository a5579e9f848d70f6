//! The faults, as data: each is a plausible mistake in a place where it would give wrong results
//! or do harm without a word.

/// Where a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suite {
    /// Beside the code of this package.
    Unit(&'static str),
    /// In this file of the package's tests.
    Tests(&'static str, &'static str),
    /// The same with the programs for the kernel, which not every machine takes.
    Live(&'static str, &'static str),
    /// In this boot of `cargo xtask vm sched`; a test is the beginning of a check's name.
    Guest(&'static str),
}

/// A fault, and the test that must notice it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    /// Text that is in the file exactly once.
    pub(super) find: &'static str,
    /// What stands there instead.
    pub(super) put: &'static str,
    pub(super) suite: Suite,
    /// The test's whole name.
    pub(super) test: &'static str,
}

const BASE: Suite = Suite::Unit("coretwin-base");
const STATS: Suite = Suite::Unit("coretwin-stats");
const DECISION: Suite = Suite::Tests("coretwin-stats", "decision");
const SIMULATION: Suite = Suite::Tests("coretwin-stats", "simulation");
const STUDY: Suite = Suite::Tests("coretwin-stats", "study");
const STORE: Suite = Suite::Unit("coretwin-store");
const HOST: Suite = Suite::Unit("coretwin-host");
const SMT: Suite = Suite::Tests("coretwin-host", "smt");
const TOPOLOGY: Suite = Suite::Tests("coretwin-host", "topology");
const SIM: Suite = Suite::Unit("coretwin-sim");
const KERNEL: Suite = Suite::Tests("coretwin-sim", "kernel");
const WORKLOADS: Suite = Suite::Unit("coretwin-workloads");
const CHAT: Suite = Suite::Tests("coretwin-workloads", "chat");
const SERVICE: Suite = Suite::Tests("coretwin-workloads", "service");
const ACCOUNT: Suite = Suite::Unit("coretwin-account");
const LAB: Suite = Suite::Unit("coretwin-lab");
const ENGINE: Suite = Suite::Tests("coretwin-lab", "study");
const PAIRS: Suite = Suite::Tests("coretwin-lab", "pairs");
const REPLAY: Suite = Suite::Tests("coretwin-lab", "replay");
const RULERS: Suite = Suite::Tests("coretwin-lab", "rulers");
const SWITCHING: Suite = Suite::Tests("coretwin-lab", "switching");
const DECISIONS: Suite = Suite::Tests("coretwin-bpf", "decisions");
const FLOORS: Suite = Suite::Guest("floors");
const OVERLAP: Suite = Suite::Live("coretwin-bpf", "overlap");
const LOAD_REPORT: Suite = Suite::Tests("coretwin-report", "load");
const TOP: Suite = Suite::Unit("coretwin-top");
const CLI: Suite = Suite::Unit("coretwin");

/// Faults of one package stand together, so that little is built.
#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "cpu-set-stride", file: "crates/base/src/machine/cpu_set.rs",
        find: "(cpu - low) % group < used",
        put: "(cpu - low) % group <= used",
        suite: BASE, test: "machine::cpu_set::tests::reads_what_the_kernel_writes",
    },
    Fault {
        name: "paired-degrees-of-freedom", file: "crates/stats/src/paired.rs",
        find: "let degrees = f64::from(blocks - 1);",
        put: "let degrees = f64::from(blocks);",
        suite: STATS, test: "paired::tests::a_worked_example",
    },
    Fault {
        name: "paired-deviation-divisor", file: "crates/stats/src/paired.rs",
        find: "f64::from((blocks - 1).max(1))",
        put: "f64::from(blocks)",
        suite: STATS, test: "paired::tests::a_worked_example",
    },
    Fault {
        name: "interval-not-widened", file: "crates/stats/src/paired.rs",
        find: "Some(widening * critical * self.standard_error())",
        put: "Some(critical * self.standard_error())",
        suite: STATS, test: "paired::tests::p_is_below_the_level_exactly_if_the_interval_excludes_no_effect",
    },
    Fault {
        name: "hodges-lehmann-rank", file: "crates/stats/src/paired.rs",
        find: "from_ordered_bits(middle)) > rank",
        put: "from_ordered_bits(middle)) >= rank",
        suite: STATS, test: "paired::tests::hodges_lehmann_is_the_median_of_all_averages",
    },
    Fault {
        name: "welch-degrees-of-freedom", file: "crates/stats/src/welch.rs",
        find: "vb * vb / b.degrees",
        put: "vb * vb / a.degrees",
        suite: STATS, test: "welch::tests::each_side_weighs_with_its_own_degrees",
    },
    Fault {
        name: "holm-is-bonferroni", file: "crates/stats/src/holm.rs",
        find: "(p_values.len() - rank) as f64",
        put: "p_values.len() as f64",
        suite: STATS, test: "holm::tests::a_worked_example",
    },
    Fault {
        name: "holm-order-not-kept", file: "crates/stats/src/holm.rs",
        find: "largest = largest.max((factor * known(p_values[index])).min(1.0));",
        put: "largest = (factor * known(p_values[index])).min(1.0);",
        suite: STATS, test: "holm::tests::a_worked_example",
    },
    Fault {
        name: "orders-mirrored", file: "crates/stats/src/orders.rs",
        find: "const SET_MIN: usize = 4;",
        put: "const SET_MIN: usize = 2;",
        suite: STATS, test: "orders::tests::two_arms_are_balanced_after_every_fourth_block",
    },
    Fault {
        name: "verdict-by-one-side", file: "crates/stats/src/verdict.rs",
        find: "-margin < inner.0 && inner.1 < margin",
        put: "inner.1 < margin",
        suite: STATS, test: "verdict::tests::each_verdict",
    },
    Fault {
        name: "capacity-at-what-was-offered", file: "crates/stats/src/load/capacity.rs",
        find: "{ self.carried / best } else { self.offered }",
        put: "{ self.offered } else { self.offered }",
        suite: STATS, test: "load::capacity::tests::beyond_saturation_the_rate_is_what_was_carried",
    },
    Fault {
        name: "bound-turned-round", file: "crates/stats/src/load/mod.rs",
        find: "Self::AtLeast => Self::AtMost,",
        put: "Self::AtLeast => Self::AtLeast,",
        suite: SIMULATION,
        test: "load::rates_that_all_keep_the_objective_or_none_give_a_bound_and_no_number",
    },
    Fault {
        name: "saturation-of-the-flood", file: "crates/stats/src/load/saturation.rs",
        find: "let first = keeps_up && self.found.is_empty();",
        put: "let first = keeps_up || self.found.is_empty();",
        suite: STATS,
        test: "load::saturation::tests::a_server_that_carries_less_when_it_is_flooded_is_approached_from_below",
    },
    Fault {
        name: "percentile-of-too-few", file: "crates/base/src/study/latency.rs",
        find: "samples as f64 + 1e-6 >= BEYOND_MIN as f64",
        put: "samples as f64 + 1.0 >= BEYOND_MIN as f64",
        suite: BASE, test: "study::latency::tests::a_percentile_needs_a_hundred_samples_beyond_it",
    },
    Fault {
        name: "arrivals-not-poisson", file: "crates/workloads/src/service/arrivals.rs",
        find: "-libm::log(1.0 - stream.unit())",
        put: "2.0 * stream.unit()",
        suite: WORKLOADS,
        test: "service::arrivals::tests::every_pattern_keeps_its_rate_and_differs_in_its_dispersion",
    },
    Fault {
        name: "coordinated-omission", file: "crates/workloads/src/service/generator.rs",
        find: "self.send(client, this)?;",
        put: "self.send(client, now)?;",
        suite: SERVICE,
        test: "a_generator_that_stalls_is_late_and_its_requests_count_from_when_they_were_due",
    },
    Fault {
        name: "sleeps-by-milliseconds", file: "crates/workloads/src/service/generator.rs",
        find: "Some(&timespec(ns))",
        put: "Some(&timespec(ns.next_multiple_of(1_000_000)))",
        suite: SERVICE, test: "a_generator_that_sleeps_wakes_when_a_request_is_due",
    },
    Fault {
        name: "core-time-for-cpu-time", file: "crates/lab/src/capacity_meter.rs",
        find: "f64::from(k) * time.value",
        put: "f64::from(k.min(1)) * time.value",
        suite: LAB,
        test: "capacity_meter::tests::time_beside_a_busy_sibling_takes_half_of_the_core_and_time_alone_more",
    },
    Fault {
        name: "share-of-one-core", file: "crates/stats/src/load/curve.rs",
        find: "end(per_cpu_s) / f64::from(*cores)",
        put: "end(per_cpu_s)",
        suite: LOAD_REPORT, test: "text_answer_and_tables_say_it_too",
    },
    Fault {
        name: "unanswered-forgotten", file: "crates/workloads/src/service/generator.rs",
        find: "std::mem::take(&mut self.waiting).into_iter().flatten()",
        put: "std::iter::empty::<u64>()",
        suite: SERVICE, test: "what_is_offered_beyond_capacity_is_a_result",
    },
    Fault {
        name: "late-generator-kept", file: "crates/base/src/study/latency.rs",
        find: "self.own_cpu && self.is_late()",
        put: "false",
        suite: LAB,
        test: "set_aside::tests::a_generator_that_was_late_on_a_cpu_of_its_own_sets_a_run_aside",
    },
    Fault {
        name: "histogram-merge", file: "crates/workloads/src/times.rs",
        find: "        self.count += other.count;\n",
        put: "",
        suite: WORKLOADS, test: "times::tests::what_is_written_is_read_and_sums_are_sums",
    },
    Fault {
        name: "suite-degrees-of-freedom", file: "crates/stats/src/study/suites.rs",
        find: "(whole / by_degrees).clamp(least, most)",
        put: "most",
        suite: STATS, test: "study::suites::tests::a_noisy_row_of_few_blocks_decides_the_degrees",
    },
    Fault {
        name: "looks-without-widening", file: "crates/stats/src/stopping.rs",
        find: "if looks.len() < 2 {",
        put: "if looks.len() < 200 {",
        suite: STUDY, test: "effects::a_fixed_number_of_blocks_needs_no_wider_interval",
    },
    Fault {
        name: "sequence-is-students-interval", file: "crates/stats/src/sequence.rs",
        find: "libm::sqrt((n - 1.0) * (reach - 1.0) / (1.0 - reach * k))",
        put: "student::critical(1.0 - level, n - 1.0)",
        suite: SIMULATION, test: "sequence::verdicts_are_rarely_wrong_at_any_stop_and_come_early",
    },
    Fault {
        name: "sequence-verdict-below-the-margin", file: "crates/stats/src/sequence.rs",
        find: "if low > margin {",
        put: "if low > 0.0 {",
        suite: STATS, test: "sequence::tests::each_verdict_lies_beyond_the_margin_or_inside",
    },
    Fault {
        name: "ticks-declare-by-chance", file: "crates/stats/src/study/rows.rs",
        find: "rounding: rounding + hidden",
        put: "rounding: rounding + 0.0 * hidden",
        suite: STUDY, test: "looks::ticks_that_agree_by_chance_declare_nothing",
    },
    Fault {
        name: "split-interaction-is-a-product", file: "crates/stats/src/study/split.rs",
        find: "with(siblings, -1.0)",
        put: "with(siblings, 1.0)",
        suite: STUDY, test: "split::parts_are_those_that_were_planted_and_make_up_the_whole",
    },
    Fault {
        name: "split-by-equal-threads-alone", file: "crates/stats/src/study/split.rs",
        find: "[together?, more?]",
        put: "[more?, more?]",
        suite: STUDY, test: "split::it_is_said_which_part_of_what_smt_seems_to_bring_is_more_threads",
    },
    Fault {
        name: "control-that-differs-is-passed-over", file: "crates/stats/src/study/analyse.rs",
        find: "(row.verdict, row.blocks_needed) = (None, None);",
        put: "row.blocks_needed = None;",
        suite: STUDY, test: "variants::a_reference_that_differs_from_itself_takes_every_verdict_back",
    },
    Fault {
        name: "command-compared-with-the-reference", file: "crates/base/src/study/plan.rs",
        find: "let against = arm.against.as_deref().and_then(|label| self.arm(label));",
        put: "let against = arm.against.as_deref().and_then(|_| None::<&PlanArm>);",
        suite: STUDY, test: "variants::each_command_is_compared_with_the_first_of_its_own_arm",
    },
    Fault {
        name: "block-mean-not-divided", file: "crates/stats/src/study/blocks.rs",
        find: "Cell::Value(sum / readings.len() as f64)",
        put: "Cell::Value(sum)",
        suite: STUDY, test: "attempts::readings_of_one_block_arm_and_row_are_averaged_first",
    },
    Fault {
        name: "set-aside-block-counts", file: "crates/stats/src/study/blocks.rs",
        find: "blocks.analysed.extend(last.filter(|attempt| !attempt.set_aside));",
        put: "blocks.analysed.extend(last);",
        suite: STUDY, test: "attempts::a_block_whose_every_attempt_was_set_aside_is_lost",
    },
    Fault {
        name: "first-attempt-counts", file: "crates/stats/src/study/blocks.rs",
        find: "attempts.into_iter().rfind(Attempt::is_complete)",
        put: "attempts.into_iter().find(Attempt::is_complete)",
        suite: STUDY, test: "attempts::the_last_complete_attempt_of_a_block_counts",
    },
    Fault {
        name: "suite-counts-imputed-blocks", file: "crates/stats/src/study/suites.rs",
        find: "libm::sqrt(f64::from(paired.blocks) * paired.degrees)",
        put: "libm::sqrt(f64::from(blocks) * f64::from(blocks - 1))",
        suite: STATS, test: "study::suites::tests::rows_add_the_variances_of_the_blocks_they_have",
    },
    Fault {
        name: "coarse-values-without-error", file: "crates/stats/src/study/resolution.rs",
        find: "Resolution { step, error: error(values, step), unit }",
        put: "Resolution { step, error: 0.0 * error(values, step), unit }",
        suite: STATS, test: "study::resolution::tests::ticks_are_found_and_all_of_them_counts_where_nothing_varies",
    },
    Fault {
        name: "diagnosis-of-rows-not-blocks", file: "crates/stats/src/study/diagnosis.rs",
        find: "next[at - size] += chances[at] / 2.0;",
        put: "next[at + size] += chances[at] / 2.0;",
        suite: STATS, test: "study::diagnosis::tests::the_sign_test_is_the_binomial_where_all_numbers_are_one",
    },
    Fault {
        name: "diagnosis-blames-the-other-arm", file: "crates/stats/src/study/diagnosis.rs",
        find: "far[usize::from(off > 0.0)] += 1;",
        put: "far[usize::from(off < 0.0)] += 1;",
        suite: STUDY, test: "warnings::slow_runs_of_one_arm",
    },
    Fault {
        name: "carry-over-of-the-wrong-arm", file: "crates/stats/src/study/diagnosis.rs",
        find: "usize::from(last) == arm",
        put: "usize::from(last) != arm",
        suite: STUDY, test: "warnings::what_an_arm_leaves_to_the_next",
    },
    Fault {
        name: "row-verdict-by-raw-p", file: "crates/stats/src/study/analyse.rs",
        find: "comparison.verdict(plan, &plan.rows[index], p, open)",
        put: "comparison.verdict(plan, &plan.rows[index], row.p.unwrap_or(p), open)",
        suite: STUDY, test: "effects::a_verdict_on_one_of_many_rows_follows_its_adjusted_p",
    },
    Fault {
        name: "prediction-gets-a-verdict", file: "crates/stats/src/study/rows.rs",
        find: "decides(plan) && plan.origin() == Origin::Measured",
        put: "decides(plan)",
        suite: STUDY, test: "sentences::a_prediction_is_never_worded_as_a_measurement",
    },
    Fault {
        name: "interim-gets-a-verdict", file: "crates/stats/src/study/analyse.rs",
        find: "(*verdict, *blocks_needed) = (None, None);",
        put: "(_, *blocks_needed) = (verdict, None);",
        suite: STUDY, test: "sentences::a_study_that_was_stopped_is_interim_unless_its_rule_was_met",
    },
    Fault {
        name: "licence-of-an-interim-study", file: "crates/stats/src/decision/mod.rs",
        find: "suite.verdict.filter(|_| !summary.interim)",
        put: "suite.verdict",
        suite: DECISION, test: "a_study_that_was_stopped_sets_nothing",
    },
    Fault {
        name: "journal-torn-line-stays", file: "crates/store/src/appended.rs",
        find: "length.saturating_sub(torn_bytes)",
        put: "length",
        suite: STORE, test: "journal::tests::a_journal_cut_at_every_byte_of_its_last_two_lines_reads_and_goes_on",
    },
    Fault {
        name: "journal-through-a-link", file: "crates/store/src/appended.rs",
        find: ".custom_flags(OFlags::NOFOLLOW.bits().cast_signed())",
        put: ".custom_flags(0)",
        suite: STORE, test: "journal::tests::a_journal_that_is_a_link_is_not_written",
    },
    Fault {
        name: "recording-of-any-file", file: "crates/store/src/recording.rs",
        find: "if number == 1 && !line.starts_with(",
        put: "if number == 0 && !line.starts_with(",
        suite: STORE, test: "recording::tests::what_is_no_recording_is_refused_and_left_as_it_is",
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
        suite: Suite::Unit("coretwin-account"), test: "replay::tests::the_truth_lies_within",
    },
    Fault {
        name: "replay-siblings-never-idle", file: "crates/account/src/replay/demand.rs",
        find: "yields.iter().fold(1.0, |best, it|",
        put: "yields.last().iter().fold(0.0, |best, it|",
        suite: REPLAY, test: "where_siblings_cost_more_than_they_bring_what_does_not_fit_them_is_found",
    },
    Fault {
        name: "placement-takes-the-last", file: "crates/stats/src/placement.rs",
        find: "joined < cost)",
        put: "joined > cost)",
        suite: STATS, test: "placement::tests::it_is_the_best_of_all_ways_in_200_drawn_matrices",
    },
    Fault {
        name: "placement-judged-on-its-own-blocks", file: "crates/stats/src/cputime/pairs.rs",
        find: "blocks[..at].iter()",
        put: "blocks.iter()",
        suite: PAIRS, test: "where_all_are_alike_no_gain_is_claimed",
    },
    Fault {
        name: "pair-predicted-from-itself", file: "crates/stats/src/cputime/rulers.rs",
        find: "pair(it) != pair(side)",
        put: "pair(it) != (0, 0)",
        suite: RULERS, test: "a_pair_is_predicted_from_the_others_alone",
    },
    Fault {
        name: "ruler-of-another-kind-as-baseline", file: "crates/stats/src/cputime.rs",
        find: "it.spinner_cpus == of.spinner_cpus && it.ruler == of.ruler",
        put: "it.spinner_cpus == of.spinner_cpus",
        suite: RULERS, test: "a_ruler_is_compared_with_itself_alone",
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
        name: "core-queue-displaces-who-wakes-many", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "&& woken <= FEW",
        put: "",
        suite: BASE, test: "simulation::core_queue::decide::tests::who_has_woken_many_is_not_displaced",
    },
    Fault {
        name: "core-queue-forgets-whom-it-woke", file: "crates/sim/src/policies/core_queue/mod.rs",
        find: "wakes += 1",
        put: "wakes += 0",
        suite: KERNEL, test: "core_queue::who_has_woken_many_is_not_displaced",
    },
    Fault {
        name: "core-queue-follows-past-hundreds", file: "crates/base/src/simulation/core_queue/decide.rs",
        find: "waiting <= PAST_MAX && ",
        put: "",
        suite: BASE, test: "simulation::core_queue::decide::tests::tasks_follow_past_few_that_wait_and_not_past_hundreds",
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
    Fault {
        name: "clock-without-seconds", file: "crates/workloads/src/times.rs",
        find: "now.tv_sec.cast_unsigned() * 1_000_000_000",
        put: "now.tv_sec.cast_unsigned() * 1_000_000",
        suite: WORKLOADS, test: "times::tests::a_second_has_a_thousand_million_nanoseconds",
    },
    Fault {
        name: "percentile-one-too-low", file: "crates/workloads/src/times.rs",
        find: "let wanted = share * self.count as f64;",
        put: "let wanted = 0.9 * share * self.count as f64;",
        suite: WORKLOADS, test: "times::tests::quantiles_are_those_of_the_times_and_only_where_there_are_enough",
    },
    Fault {
        name: "message-in-parts-overlaps", file: "crates/workloads/src/socket.rs",
        find: "Ok(count) => done += count.min(length - done),",
        put: "Ok(count) => done = count.min(length),",
        suite: WORKLOADS, test: "socket::tests::under_any_faults_a_message_is_whole_or_ends_with_its_reason",
    },
    Fault {
        name: "tbench-server-miscounts", file: "crates/workloads/src/tbench/protocol.rs",
        find: "traffic.replies_bytes += 4 + wanted as u64;",
        put: "traffic.replies_bytes += wanted as u64;",
        suite: WORKLOADS, test: "tbench::protocol::tests::requests_get_replies_of_the_size_they_want",
    },
    Fault {
        name: "door-open-to-all", file: "crates/workloads/src/door.rs",
        find: "(Ok((stream, peer)), Some(guests)) => guests.hold(stream, peer),",
        put: "(Ok((stream, _)), Some(_)) => return Ok(Some(stream)),",
        suite: WORKLOADS, test: "door::tests::a_stranger_waits_outside_and_the_guest_comes_in",
    },
    Fault {
        name: "dbench-bytes-lost", file: "crates/workloads/src/dbench/run.rs",
        find: "&& within(one.read_bytes, load.read_bytes)",
        put: "",
        suite: WORKLOADS, test: "dbench::run::tests::a_client_that_lost_bytes_or_calls_is_not_right",
    },
    Fault {
        name: "chat-message-lost", file: "crates/workloads/src/chat/client.rs",
        find: "for number in 0..count {",
        put: "for number in 1..count {",
        suite: CHAT, test: "totals_are_those_of_the_protocol_in_every_variant",
    },
    Fault {
        name: "chat-message-never-sent", file: "crates/workloads/src/chat/server.rs",
        find: "                sent += 1;\n",
        put: "",
        suite: CHAT, test: "totals_are_those_of_the_protocol_in_every_variant",
    },
    Fault {
        name: "chat-message-of-another", file: "crates/workloads/src/chat/server.rs",
        find: "let message = message_of(user, session.config.size);",
        put: "let message = message_of(0, session.config.size);",
        suite: CHAT, test: "totals_are_those_of_the_protocol_in_every_variant",
    },
    Fault {
        name: "chat-hears-one-client", file: "crates/workloads/src/chat/serve.rs",
        find: "self.waiting.iter_mut().enumerate().find_map",
        put: "self.waiting.iter_mut().enumerate().take(1).find_map",
        suite: CHAT, test: "a_thousand_silent_clients_hold_up_nobody",
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
        name: "set-aside-limit-doubled", file: "crates/lab/src/set_aside.rs",
        find: "share(seconds) > limit;",
        put: "share(seconds) > 2.0 * limit;",
        suite: LAB, test: "set_aside::tests::only_what_lies_outside_the_work_sets_a_run_aside",
    },
    Fault {
        name: "set-aside-by-a-tick", file: "crates/lab/src/set_aside.rs",
        find: "seconds > TICKS_S && ",
        put: "",
        suite: LAB, test: "set_aside::tests::a_few_ticks_are_not_a_cause_however_short_the_run",
    },
    Fault {
        name: "quiet-after-any-looks", file: "crates/lab/src/quiet.rs",
        find: "if found.is_none() { quiet + 1 } else { 0 }",
        put: "if found.is_none() { quiet + 1 } else { quiet }",
        suite: LAB, test: "quiet::tests::a_wait_ends_when_it_is_quiet_for_a_while_or_when_its_time_is_over",
    },
    Fault {
        name: "busy-though-blocks-are-kept", file: "crates/lab/src/too_busy.rs",
        find: "is_late && !self.has_kept && is_hopeless",
        put: "is_late && is_hopeless",
        suite: ENGINE, test: "one_block_that_is_kept_is_enough_to_go_on_and_what_is_left_follows_from_what_is_kept",
    },
    Fault {
        name: "busy-is-never-said", file: "crates/lab/src/too_busy.rs",
        find: "const PATIENCE_S: f64 = 45.0;",
        put: "const PATIENCE_S: f64 = 4500.0;",
        suite: ENGINE, test: "a_study_of_which_others_leave_nothing_ends_within_a_minute_and_says_so",
    },
    Fault {
        name: "journal-with-a-block-too-many", file: "crates/base/src/study/consistency.rs",
        find: "*block as usize >= blocks",
        put: "*block as usize > blocks",
        suite: ENGINE, test: "a_journal_that_its_plan_contradicts_is_refused_by_line_and_field",
    },
    Fault {
        name: "journal-with-a-cell-twice", file: "crates/base/src/study/consistency.rs",
        find: "cell.get(planned).map",
        put: "cell.get(planned + 1).map",
        suite: ENGINE, test: "a_journal_that_its_plan_contradicts_is_refused_by_line_and_field",
    },
    Fault {
        name: "told-though-not-kept", file: "crates/lab/src/engine/visits.rs",
        find: "self.tell(&Event::ReadingTaken(&reading))?;",
        put: "let _ = self.tell(&Event::ReadingTaken(&reading));",
        suite: ENGINE, test: "a_reading_that_cannot_be_kept_ends_the_study_at_once",
    },
    Fault {
        name: "no-discarded-run", file: "crates/lab/src/run_order.rs",
        find: "take(usize::from(changes))",
        put: "take(0 * usize::from(changes))",
        suite: SWITCHING, test: "every_visit_is_a_switch_and_starts_with_a_discarded_run",
    },
    Fault {
        name: "off-keeps-the-wrong-cpu", file: "crates/lab/src/arms.rs",
        find: "cpu.cpu < s)",
        put: "cpu.cpu > s)",
        suite: SWITCHING, test: "off_keeps_the_first_cpu_of_each_core_and_threads_follow",
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
