//! What a study compares, in words: its first line, and all of it for `--dry-run`.

use crate::out;
use coretwin_base::study::arm::ArmState;
use coretwin_base::study::command::{CommandSpec, FILLED_IN};
use coretwin_base::study::plan::{
    Comparison, CopyRule, LoadPlan, Plan, PlanArm, PlanRow, Protocol, Rule,
};
use coretwin_base::suggest::nearest;
use coretwin_base::units::human_seconds;
use coretwin_lab::estimate;
use coretwin_stats::confidence;
use std::collections::BTreeSet;

const BLOCKS_LISTED: usize = 8;
/// What taking one CPU offline or online costs, about, in seconds.
const SWITCH_S_PER_CPU: f64 = 0.1;

/// What is compared, in one line; on a machine without visible siblings that comes first.
pub(super) fn headline(plan: &Plan) -> String {
    let arms: Vec<String> =
        plan.arms.iter().map(|arm| format!("{} ({})", arm.label, arm.about)).collect();
    let arms = arms.join(" with ");
    if let Some(simulation) = &plan.simulation {
        let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
        let labels = labels.join(", ");
        return format!("On a simulated machine ({}), comparing {labels}.", simulation.title);
    }
    let compared = match plan.comparison {
        Comparison::None if plan.reboots() => {
            format!("Comparing {arms}. Every visit to an arm is a boot of its own.")
        }
        Comparison::None if plan.compares_commands_only() => format!("Comparing {arms}."),
        Comparison::Smt => format!("Comparing {arms}."),
        Comparison::StandIn => {
            format!("Comparing {arms}. SMT stays on; one CPU per core stands in for SMT off.")
        }
        Comparison::None if !plan.topology.has_usable_siblings() => format!(
            "No SMT siblings are visible here, so this says nothing about SMT: comparing {arms} instead.\n\
             What a hypervisor may hide: coretwin probe."
        ),
        Comparison::None => format!("Comparing {arms}. This says nothing about SMT."),
    };
    let equal = plan.warnings.iter().filter(|warning| warning.kind == "same-arms");
    equal.fold(compared, |said, warning| {
        format!("{said}\nBut {}: any difference is chance.", warning.text)
    })
}

/// What is compared. What is left out stands among the warnings; `is_full` says it now.
pub(super) fn foretell(plan: &Plan, is_full: bool) {
    out::news(&headline(plan));
    let left_out = plan.warnings.iter().filter(|warning| warning.kind == "left-out");
    for warning in left_out.filter(|_| is_full) {
        out::news(&format!("{}; {}", warning.text, warning.remedy));
    }
    for (typed, meant) in misspelt(plan) {
        out::news(&format!("Note: {{{typed}}} is passed on as it is; did you mean {{{meant}}}?"));
    }
}

/// Words in braces in the command that are not filled in, but look like one that would be.
fn misspelt(plan: &Plan) -> Vec<(&str, &'static str)> {
    let variants = plan.arms.iter().filter_map(|arm| arm.variant.as_ref());
    let own = plan.rows.iter().flat_map(|row| row.params.keys());
    let own: BTreeSet<&str> =
        own.chain(variants.clone().flat_map(|one| one.params.keys())).map(String::as_str).collect();
    let commands = plan.command.iter().map(|command| &command.argv);
    let words = commands.chain(variants.map(|one| &one.argv)).flatten();
    let in_braces = words.flat_map(|word| {
        word.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(inside, _)| inside))
    });
    let is_slip = |word: &&str| {
        word.len() > 2
            && word.bytes().all(|b| b.is_ascii_alphabetic())
            && !FILLED_IN.contains(word)
            && !own.contains(*word)
    };
    let in_braces: BTreeSet<&str> = in_braces.collect();
    let known = FILLED_IN.into_iter().filter(|name| plan.has_variants() || *name != "variant");
    let near = |word| Some((word, nearest(word, known.clone())?));
    in_braces.into_iter().filter(is_slip).filter_map(near).collect()
}

/// How long it will take, as far as that is known before the first run.
pub(super) fn duration(plan: &Plan) -> Option<String> {
    let foretold_s = estimate::foretold_s(plan)?;
    let text = human_seconds(foretold_s);
    let rows = plan.rows.len();
    Some(match plan.rules.protocol {
        Protocol::Article2003 => format!("about {text}: {rows} rows by the protocol of 2003"),
        _ => {
            let blocks = plan.blocks_min();
            let least = if plan.rules.looks.len() > 1 { "at least " } else { "" };
            let short = match plan.rules.budget_s {
                Some(budget_s) if plan.rules.looks.len() > 1 && foretold_s > budget_s => format!(
                    ", longer than the budget of {}: give it --budget {:.0}m, or fewer rows, or \
                     screen with --quick",
                    human_seconds(budget_s),
                    (foretold_s / 60.0 * 1.25).ceil()
                ),
                _ => String::new(),
            };
            format!("about {text} for {least}{blocks} blocks of {rows} rows{short}")
        }
    })
}

pub(super) fn describe(plan: &Plan) -> String {
    let mut text = headline(plan) + "\n\nArms (the first is the reference)\n";
    text.extend(plan.arms.iter().map(arm_line));
    text += "\nRows\n";
    text.extend(plan.rows.iter().map(row_line));
    if let Some(command) = &plan.command {
        text += &describe_command(command, &plan.arms);
    }
    if let Some(screening) = &plan.screening {
        text += &format!("Screening    {} blocks; thread counts tried:", screening.blocks);
        for (arm, counts) in plan.arms.iter().zip(&screening.candidates) {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            text += &format!(" {} {};", arm.label, counts.join(" "));
        }
        text.push('\n');
    }
    if let Some(load) = &plan.load {
        text += &load_curve(plan, load);
    }
    for warning in plan.warnings.iter().filter(|warning| warning.kind == "left-out") {
        text += &format!("\nNot run      {}; {}\n", warning.text, warning.remedy);
    }
    text += &rules(plan);
    if let Some(duration) = duration(plan) {
        text += &format!("Takes        {duration}\n");
    }
    text += &if plan.simulation.is_some() {
        "Machine      simulated; nothing on this one is changed\n".to_owned()
    } else if plan.switches_smt() {
        switches(plan)
    } else if plan.reboots() {
        boots(plan)
    } else if plan.changes_scheduler() {
        "Machine      nothing on it is changed but the scheduler; affinity\n".to_owned()
    } else {
        "Machine      nothing on it is changed; affinity only\n".to_owned()
    };
    text
}

fn load_curve(plan: &Plan, load: &LoadPlan) -> String {
    let mut text = String::new();
    if let Some(row) = &load.saturation {
        let reference = &plan.reference_arm;
        let how = match load.raised {
            true => "the rate is raised in each arm until it is too much".to_owned(),
            false => format!("{} runs of {} in each arm", load.blocks, row.workload),
        };
        text += &format!("Saturation   first {how}; shares are of what {reference} carries\n");
    }
    match load.slo {
        Some(slo) => {
            text + &format!(
                "Objective    {}: the highest rate that keeps it is compared\n",
                slo.words()
            )
        }
        None => text + "Objective    none: latencies are compared, rate by rate\n",
    }
}

fn arm_line(arm: &PlanArm) -> String {
    if matches!(arm.state, ArmState::Boot(_)) {
        return format!("  {:<16} CPUs and threads are those of its boot\n", arm.label);
    }
    let many = |count: u32| if count == 1 { "" } else { "s" };
    let cores = match arm.cores {
        0 => "unknown cores".to_owned(),
        cores => format!("{cores} core{}", many(cores)),
    };
    format!(
        "  {:<16} CPU{} {} on {cores}, {} thread{}\n",
        arm.label,
        many(arm.cpus.len() as u32),
        arm.cpus,
        arm.threads,
        many(arm.threads)
    )
}

fn row_line(row: &PlanRow) -> String {
    let copies = match row.copies {
        CopyRule::PerCpu => ", one copy per CPU of the arm".to_owned(),
        CopyRule::Fixed(1) => String::new(),
        CopyRule::Fixed(copies) => format!(", {copies} copies"),
    };
    let arms = match row.arms.is_empty() {
        true => String::new(),
        false => format!(", in {}", row.arms.join(", ")),
    };
    format!("  {} ({}{copies}{arms})\n", row.id, row.unit)
}

fn rules(plan: &Plan) -> String {
    let looks: Vec<String> = plan.rules.looks.iter().map(u32::to_string).collect();
    let runs = match plan.rules.repeats {
        1 => "one run".to_owned(),
        repeats => format!("{repeats} runs"),
    };
    let block = format!("{runs} of every row in every arm");
    let mut text = match (looks.as_slice(), plan.rules.budget_s) {
        ([only], _) => format!("\nBlocks       {only}, each {block}\n"),
        (looks, budget_s) if plan.rules.until == Rule::Verdict => format!(
            "\nBlocks       looked at after every {} (a block is {block}), at most {}\n\
             Stops        as soon as the {} lies beyond the margin or inside{}\n",
            plan.blocks_min(),
            looks.last().map_or("", String::as_str),
            confidence::sequence(),
            budget_s.map(|s| format!(", or after {}", human_seconds(s))).unwrap_or_default()
        ),
        (_, budget_s) => format!(
            "\nBlocks       looked at after {} (a block is {block})\n\
             Stops        when every {} is within ±{:.1} %{}\n",
            looks.join(", "),
            confidence::interval(),
            plan.rules.target * 100.0,
            budget_s.map(|s| format!(", or after {}", human_seconds(s))).unwrap_or_default()
        ),
    };
    text +=
        &format!("Margin       {:.1} %\nSeed         {}\n", plan.rules.margin * 100.0, plan.seed);
    text
}

fn switches(plan: &Plan) -> String {
    let is_off = |arm: &PlanArm| arm.state == ArmState::Off;
    let all = plan.arms.iter().map(|arm| arm.cpus.len()).max().unwrap_or(0);
    let stay = plan.arms.iter().find(|arm| is_off(arm)).map_or(0, |arm| arm.cpus.len());
    let switch_s = all.saturating_sub(stay) as f64 * SWITCH_S_PER_CPU;
    let mut text = format!(
        "Switches     each about {} for {} CPUs that go or come (about 0.1 s per CPU), then {} of \
         rest{}\n\
         \u{20}            off writes 'off' to /sys/devices/system/cpu/smt/control; other arms have the machine as\n\
         \u{20}            it is found; two visits in one state are kept apart by going there and back\n",
        human_seconds(switch_s),
        all.saturating_sub(stay),
        human_seconds(plan.rules.settle_s),
        if plan.rules.warmup { " and one discarded run" } else { "" },
    );
    let mut off_now = false;
    for (block, order) in plan.orders.iter().take(BLOCKS_LISTED).enumerate() {
        let visit = |arm: &u16| {
            let arm = &plan.arms[usize::from(*arm)];
            let same = is_off(arm) == off_now;
            off_now = is_off(arm);
            let word = |off: bool| if off { "off" } else { "on" };
            let way = if same { format!("{}, ", word(!off_now)) } else { String::new() };
            format!("{} ({way}{})", arm.label, word(off_now))
        };
        let visits: Vec<String> = order.iter().map(visit).collect();
        text += &format!("  block {:<6} {}\n", block + 1, visits.join(" → "));
    }
    if plan.orders.len() > BLOCKS_LISTED {
        text += &format!("  …            and so on, for up to {} blocks\n", plan.orders.len());
    }
    text + "  at the end   the machine as it was found\n"
}

fn boots(plan: &Plan) -> String {
    let mut text = format!(
        "Boots        {}, one for every arm in every block; the study waits for each\n",
        plan.orders.len() * plan.arms.len()
    );
    for (block, order) in plan.orders.iter().enumerate() {
        let labels: Vec<&str> =
            order.iter().map(|arm| plan.arms[usize::from(*arm)].label.as_str()).collect();
        text += &format!("  block {:<6} {}\n", block + 1, labels.join(" → "));
    }
    text
}

fn describe_command(command: &CommandSpec, arms: &[PlanArm]) -> String {
    let of_arm = |arm: &PlanArm| {
        let variant = arm.variant.as_ref()?;
        Some(format!("Command      {}: {}\n", arm.label, variant.argv.join(" ")))
    };
    let mut text = "\n".to_owned();
    text.extend(arms.iter().filter_map(of_arm));
    if text.len() == 1 {
        text += &format!("Command      {}\n", command.argv.join(" "));
    }
    for metric in &command.metrics {
        let compared = if metric.primary { ", compared" } else { "" };
        text += &format!("Metric       {} {}{compared}\n", metric.name, metric.unit);
    }
    if let Some(server) = &command.server {
        text += &format!("Server       {}\n", server.command);
    }
    text += &format!("Time-out     {} a run\n", human_seconds(command.timeout_s));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::study::args::Args;
    use clap::Parser;
    use coretwin_base::machine::topology::{SmtControl, Topology};

    #[derive(Parser)]
    struct Study {
        #[command(flatten)]
        args: Args,
    }

    fn described(words: &[&str]) -> (Plan, String) {
        described_of(2, words)
    }

    fn described_of(threads: u32, words: &[&str]) -> (Plan, String) {
        let mut topology = Topology::regular(1, 4, threads);
        topology.smt.control = Some(SmtControl::On);
        topology.smt.switchable = true;
        let words = ["study"].iter().chain(words).chain(&["--seed", "5", "--", "true"]);
        let request = Study::parse_from(words).args.request().expect("request");
        let plan = coretwin_lab::planning::draw(&request, "host", &topology).expect("plan");
        let text = describe(&plan);
        (plan, text)
    }

    #[test]
    fn arms_of_the_same_cpus_are_told_before_anything_runs() {
        let arms = ["--arm", "one-per-core", "--arm", "on"];
        let told = "one-per-core and on have the same CPUs (0-3) here: any difference is chance";
        assert!(headline(&described_of(1, &arms).0).contains(told));
        assert!(!headline(&described_of(2, &arms).0).contains("chance"));
        let schedulers = ["--arm", "one-per-core@kernel", "--arm", "on@core-queue"];
        assert!(!headline(&described_of(1, &schedulers).0).contains("chance"));
    }

    #[test]
    fn every_switch_is_foretold_with_what_it_takes() {
        let (plan, text) = described(&["--switch", "--blocks", "4", "--settle", "3s"]);
        assert!(text.contains("about 400 ms for 4 CPUs that go or come"), "{text}");
        assert!(text.contains("then 3.0 s of rest and one discarded run"), "{text}");
        // The machine is on at first; what the arm needs comes last in every visit.
        let mut off = false;
        for (block, order) in plan.orders.iter().enumerate() {
            let line = text.lines().find(|line| line.contains(&format!("block {}", block + 1)));
            let visits: Vec<&str> = line.expect("a line").split(" → ").collect();
            for (visit, arm) in visits.iter().zip(order) {
                let wanted = plan.arms[usize::from(*arm)].state == ArmState::Off;
                let there_and_back = visit.contains(", ");
                assert_eq!(there_and_back, wanted == off, "{text}");
                assert!(visit.ends_with(if wanted { "off)" } else { "on)" }), "{text}");
                off = wanted;
            }
        }
        assert!(text.contains("at the end   the machine as it was found"), "{text}");
        assert!(!text.contains("nothing on it is changed"), "{text}");
    }

    #[test]
    fn what_is_left_out_and_how_long_it_takes_is_foretold() {
        let described = |words: &[&str]| {
            let words = ["study"].iter().chain(words).chain(&["--seed", "5"]);
            let request = Study::parse_from(words).args.request().expect("request");
            let topology = Topology::regular(1, 2, 1);
            describe(&coretwin_lab::planning::draw(&request, "host", &topology).expect("plan"))
        };
        let text = described(&["article", "--quick"]);
        assert!(text.contains("Not run      left out of this screening"), "{text}");
        assert!(text.contains("coretwin study aim9/sync_disk_cp"), "{text}");
        assert!(text.contains("  lmbench/pipe-latency@same-cpu (µs)\n"), "{text}");
        assert!(text.contains("  lmbench/pipe-latency@cores (µs, in cpus:0-1)\n"), "{text}");
        let takes = text.lines().find(|line| line.starts_with("Takes")).expect("an estimate");
        assert!(takes.contains(" min ") && takes.contains(" for 3 blocks of "), "{takes}");
        let text = described(&["chat", "dbench", "--protocol", "2003"]);
        assert!(text.contains("9 rows by the protocol of 2003"), "{text}");
        assert!(!text.contains("Not run"), "{text}");
    }

    #[test]
    fn every_boot_is_foretold() {
        let (_, text) = described(&["--arm", "boot:nosmt", "--arm", "boot:smt"]);
        assert!(text.contains("Boots        6, one for every arm in every block"), "{text}");
        assert!(text.contains("Blocks       3, each 3 runs of every row in every arm"), "{text}");
        assert_eq!(text.matches(" → ").count(), 3, "{text}");
    }
}
