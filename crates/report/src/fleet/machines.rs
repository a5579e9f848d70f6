//! The table of processors that were measured, of contributed surveys, as Markdown.

use coretwin_base::fleet::{Effect, Fleet, Member};
use std::fmt::Write;

/// What was measured, and what is there and does not count.
pub fn machines(fleet: &Fleet) -> String {
    let (others, counted): (Vec<_>, Vec<_>) =
        fleet.members.iter().partition(|member| member.not_counted().is_some());
    let mut text = format!("*SMT processors measured*: **{}**", counted.len());
    if !others.is_empty() || !fleet.refused.is_empty() {
        let left = others.len() + fleet.refused.len();
        let _ = write!(text, "; bundles that do not count (guests, no siblings): {left}");
    }
    text.push('\n');
    if counted.is_empty() {
        return text;
    }
    text += "\n| processor | cores × threads | microcode | kernel | chat | tbench |\n\
             |---|---|---|---|---|---|\n";
    for member in counted {
        let fact = |name: &str| member.facts.get(&name.into()).map_or("unknown", |it| it);
        let _ = writeln!(
            text,
            "| {} | {} × {} | {} | {} | {} | {} |",
            cell(&member.cpu_model),
            member.cores,
            member.threads_per_core,
            cell(fact("cpu.microcode")),
            cell(&member.kernel),
            effect(member, "chat"),
            effect(member, "tbench"),
        );
    }
    text
}

/// A text of somebody's machine as a cell of a table.
fn cell(text: &str) -> String {
    coretwin_base::printable::printable(text).replace('|', "\\|").replace('\n', " ")
}

/// The mean effect of all CPUs over one of each core, in percent.
fn effect(member: &Member, workload: &str) -> String {
    let of: Vec<&Effect> =
        member.effects.iter().filter(|effect| effect.workload == workload).collect();
    match of.len() {
        0 => "–".to_owned(),
        count => {
            let mean = of.iter().map(|effect| effect.mean).sum::<f64>() / count as f64;
            format!("{:+.1} %", 100.0 * mean.exp_m1())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coretwin_base::fleet::MemberState;
    use coretwin_base::origin::Origin;
    use coretwin_base::study::plan::Comparison;

    fn member(origin: Origin, hypervisor: &str, threads_per_core: u32) -> Member {
        let facts = [("hypervisor".into(), hypervisor.into())];
        Member {
            schema: 1,
            machine: "0123456789abcdef".into(),
            name: "a".to_owned(),
            cpu_model: "Some | CPU".into(),
            cores: 4,
            threads_per_core,
            kernel: "6.1".into(),
            comparison: Comparison::StandIn,
            is_simulated: false,
            origin,
            bundle: "b".into(),
            plan: "p".into(),
            bundle_schema: 1,
            started_utc: String::new(),
            state: MemberState::Complete,
            margin: 0.02,
            facts: facts.into_iter().collect(),
            effects: Vec::new(),
            uncompared: Vec::new(),
            is_screening: false,
        }
    }

    #[test]
    fn only_siblings_of_bare_metal_count() {
        let of = |members: Vec<Member>| machines(&Fleet { members, refused: Vec::new() });
        assert_eq!(of(Vec::new()), "*SMT processors measured*: **0**\n");
        let guests = vec![
            member(Origin::Emulated, "tcg", 2),
            member(Origin::Measured, "kvm", 2),
            member(Origin::Measured, "none", 1),
        ];
        let marks: Vec<String> = guests.iter().filter_map(Member::not_counted).collect();
        assert!(marks[0].starts_with("EMULATED") && marks[1].starts_with("GUEST"), "{marks:?}");
        let text = of(guests);
        assert!(
            text.contains("**0**; bundles that do not count") && text.ends_with(": 3\n"),
            "{text}"
        );
        let text = of(vec![member(Origin::Measured, "none", 2)]);
        assert!(text.contains("**1**") && text.contains("| Some \\| CPU | 4 × 2 |"), "{text}");
    }
}
