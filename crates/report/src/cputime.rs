//! The report of `cputime`: a table laid out like the note's, a figure, what they mean, and the
//! note's own figures beside them.

mod pairs;
mod rulers;

use crate::brief::Brief;
use crate::document::{Block, Column, ColumnOf, Document, Figure, Headline, Outline, Table};
use crate::format::{Format, document_formats};
use crate::plot::{Bar, BarGroup, Bars, Plot};
use crate::{number, words};
use coretwin_article::audit::note::note;
use coretwin_base::account::cputime::Place;
use coretwin_base::account::cputime::result::{
    ConditionResult, CputimeSummary, Estimate, SpinnerAlone,
};
use coretwin_base::machine::environment::Environment;
use coretwin_stats::confidence;

#[derive(Debug, Clone, Copy)]
pub struct Cputime<'a> {
    pub summary: &'a CputimeSummary,
    pub environment: &'a Environment,
}

pub type CputimeFormat = Format<fn(&Cputime<'_>) -> String>;

pub const CPUTIME_FORMATS: &[CputimeFormat] = document_formats![
    |cputime, _figures| document(cputime), "report", "", ", without the figure";
    Format::new("json", "the summary: slowdowns, intervals, factors", |cputime| {
        crate::format::pretty(cputime.summary)
    }),
];

/// The answer in a few lines. What to do next and where the report is are for the caller to add.
pub fn cputime_brief(cputime: &Cputime<'_>) -> Brief {
    let summary = cputime.summary;
    if let Some(pairs) = &summary.pairs {
        let brief = pairs::brief(summary, pairs);
        let predicted = summary.rulers.as_ref().and_then(rulers::better);
        return ended(brief.line("rulers", predicted), cputime);
    }
    if let Some(rulers) = &summary.rulers {
        return ended(rulers::brief(summary, rulers), cputime);
    }
    let one = summary.conditions.iter().filter(|condition| condition.spinners == 1);
    let apart = one.clone().find(|one| matches!(one.placement, Place::Pair | Place::Cores));
    let pair = (summary.cpus.work.0, summary.cpus.neighbour.0);
    let mark = summary.origin.mark();
    let (word, said) = match (summary.factors, apart.and_then(|condition| condition.slowdown)) {
        _ if summary.too_busy.is_some() => {
            let alone = match summary.cpus.relation.is_smt() {
                true => "",
                false => "; quiet, it would still not be about siblings, which are not shown here",
            };
            ("TOO BUSY", format!("others disturbed every block, so nothing was kept{alone}"))
        }
        (Some(factors), _) => (
            mark.unwrap_or("MEASURED"),
            format!(
                "a CPU second of this work beside a busy sibling is worth {:.2} s alone",
                1.0 / factors.slowdown.value
            ),
        ),
        (None, Some(slowdown)) => (
            "NOT SMT",
            format!(
                "CPUs {} and {} share no known core; this work takes {slowdown:.2} times as long beside \
                 a spinner",
                pair.0, pair.1
            ),
        ),
        (None, None) => ("NO RESULT", "no block of the work beside a spinner counts".to_owned()),
    };
    let factors = summary.factors.map(|factors| {
        let core_yield = format!("yield {}", estimate(factors.core_yield));
        [format!("slowdown {}", estimate(Some(factors.slowdown))), core_yield]
    });
    let places = one.map(|condition| {
        let real = real(condition).map(|real| estimate(Some(real)));
        real.map_or_else(String::new, |real| format!("{} {real}", condition.placement.name()))
    });
    let to_say = if word == "TOO BUSY" { " to say" } else { "" };
    let brief = Brief::new(word, format!("{word}{to_say}: {said}."))
        .line("interval", factors.into_iter().flatten().chain(places));
    ended(brief, cputime)
}

/// The same with how the experiment ended.
fn ended(brief: Brief, cputime: &Cputime<'_>) -> Brief {
    let summary = cputime.summary;
    let set_aside = format!("{} set aside", summary.blocks_set_aside);
    let blocks = number::count(summary.blocks.into(), "block");
    brief
        .line("ended", [words::stopped(summary.stopped_because).to_owned(), blocks, set_aside])
        .line("note", summary.too_busy.clone())
        .warnings(summary.warnings.iter().chain(&cputime.environment.warnings))
}

fn document(cputime: &Cputime<'_>) -> Document {
    let summary = cputime.summary;
    let mut outline = Outline::default();
    let meaning = summary.meaning.iter().map(|text| Block::Text(words::clean(text))).collect();
    outline.add("meaning", "What the CPUs are", meaning);
    if summary.pairs.is_some() || summary.rulers.is_some() {
        if let Some(pairs) = &summary.pairs {
            pairs::add_to(&mut outline, summary, pairs);
        }
        if let Some(rulers) = &summary.rulers {
            rulers::add_to(&mut outline, summary, rulers);
        }
        outline.add("times", "Times", vec![Block::Table(times(summary))]);
        outline.add("failed", "Failed conditions", failed(summary));
    } else {
        let drawn = vec![Block::Table(times(summary)), figure(summary)];
        outline.add("times", "Times of the work", drawn);
        outline.add("both", "Both sides", vec![Block::Table(both_sides(summary)), alone(summary)]);
        outline.add("failed", "Failed conditions", failed(summary));
        outline.add("note", "The note's machines", beside_the_note(summary));
    }
    outline.warnings(summary.warnings.iter().chain(&cputime.environment.warnings));
    let of_pairs = summary.pairs.iter().flat_map(|_| pairs::METHOD).map(str::to_owned);
    let of_rulers = summary.rulers.iter().flat_map(|_| rulers::METHOD).map(str::to_owned);
    let is_plain = summary.pairs.is_none() && summary.rulers.is_none();
    let method = method().into_iter().take(if is_plain { usize::MAX } else { 2 });
    let method = method.chain(of_pairs).chain(of_rulers).collect();
    outline.add("method", "Method", vec![Block::List(method)]);
    Document {
        kind: "Coretwin cputime",
        title: words::shorten(&words::clean(&title(summary)), 90),
        notice: (!summary.cpus.relation.is_smt()).then(|| {
            "These CPUs are not known to share a core: nothing below is about SMT.".to_owned()
        }),
        marks: vec![words::mark(summary.origin)],
        headline: headline(summary),
        sentences: sentences(summary),
        headlines: card(summary).into_iter().collect(),
        facts: facts(cputime),
        arms: PLACES.iter().map(|place| place.name().to_owned()).collect(),
        sections: outline.sections,
    }
}

fn title(summary: &CputimeSummary) -> String {
    let beside = match (&summary.pairs, &summary.rulers) {
        (Some(_), _) => "beside each other",
        (None, Some(_)) => "beside rulers",
        (None, None) => "beside spinners",
    };
    format!("{} {beside}", summary.work)
}

/// Placements in the order of their colours.
const PLACES: [Place; 6] =
    [Place::Alone, Place::Siblings, Place::Pair, Place::SameCpu, Place::Free, Place::Cores];

fn facts(cputime: &Cputime<'_>) -> String {
    let summary = cputime.summary;
    let fact = |name: &str| {
        let known = cputime.environment.facts.values().next();
        known.and_then(|facts| facts.get(name)).map(|value| words::clean(value))
    };
    let machine = fact("cpu.model").map(|model| format!("{model} · ")).unwrap_or_default();
    let load = cputime.environment.moments.values().map(|moment| moment.load_1min);
    let load = load.fold(f64::NEG_INFINITY, f64::max);
    let load = if load.is_finite() { format!(" · load up to {load:.1}") } else { String::new() };
    format!(
        "{machine}work on CPU {} · neighbour CPU {} · control {} · spinner: {} · {} · {} set aside{load}",
        summary.cpus.work.0,
        summary.cpus.neighbour.0,
        summary.control.map_or("none".to_owned(), |cpu| format!("CPU {}", cpu.0)),
        words::clean(&summary.spinner),
        number::count(u64::from(summary.blocks), "block"),
        summary.blocks_set_aside,
    )
}

/// What a CPU second is worth, or else what one spinner did.
fn headline(summary: &CputimeSummary) -> Option<String> {
    if let Some(pairs) = &summary.pairs {
        return pairs::headline(pairs);
    }
    if let Some(rulers) = &summary.rulers {
        return rulers::headline(rulers);
    }
    if let Some(factors) = &summary.factors {
        let worth = 1.0 / factors.slowdown.value;
        return Some(format!("A CPU second beside this neighbour is worth {worth:.2} s alone."));
    }
    let is_one = |it: &&ConditionResult| it.spinners == 1 && it.placement != Place::Free;
    let one = summary.conditions.iter().filter(is_one);
    let (place, slowdown) = one.filter_map(|one| Some((one.placement, one.slowdown?))).next()?;
    Some(format!("A spinner {}: {slowdown:.2} × the time alone.", place.about()))
}

fn card(summary: &CputimeSummary) -> Option<Headline> {
    let Estimate { value, low, high } = summary.factors.as_ref()?.slowdown;
    let ends = high.zip(low).map(|(high, low)| (1.0 / high, 1.0 / low));
    Some(Headline {
        against: "a CPU second beside this neighbour, against one alone".to_owned(),
        effect: format!("{:.2} s", 1.0 / value),
        interval: ends
            .map(|(low, high)| format!("{} {low:.2} to {high:.2} s", confidence::interval())),
        verdict: None,
        mark: None,
        basis: number::count(summary.blocks.into(), "block"),
    })
}

fn sentences(summary: &CputimeSummary) -> Vec<String> {
    let one = |condition: &&ConditionResult| condition.spinners == 1;
    let sentence = |condition: &ConditionResult| {
        let real = real(condition)?;
        let cpu = condition
            .cpu_slowdown
            .map(|cpu| format!(" and {} × the CPU time", estimate(Some(cpu))));
        let sure = if real.low.is_some() { "" } else { " (one block, no interval)" };
        Some(format!(
            "1 spinner {}: {} × the real time{} of the work alone{sure}.",
            condition.placement.about(),
            estimate(Some(real)),
            cpu.unwrap_or_default(),
        ))
    };
    if let Some(too_busy) = &summary.too_busy {
        return vec![words::clean(too_busy)];
    }
    if let Some(pairs) = &summary.pairs {
        return vec![pairs::answer(summary, pairs).1];
    }
    if let Some(rulers) = &summary.rulers {
        return vec![rulers::answer(summary, rulers).1];
    }
    let mut sentences: Vec<String> =
        summary.conditions.iter().filter(one).filter_map(sentence).collect();
    if let Some(factors) = &summary.factors {
        sentences.push(format!(
            "Slowdown r = {}, yield s = {}: a CPU second of this work beside this neighbour is worth \
             {:.2} s alone.",
            estimate(Some(factors.slowdown)),
            estimate(factors.core_yield),
            1.0 / factors.slowdown.value
        ));
    }
    sentences
}

/// `1.49 [1.47, 1.51]`, or a dash.
fn estimate(estimate: Option<Estimate>) -> String {
    let Some(Estimate { value, low, high }) = estimate else { return number::NONE.to_owned() };
    match low.zip(high) {
        Some((low, high)) => format!("{value:.3} [{low:.3}, {high:.3}]"),
        None => format!("{value:.3}"),
    }
}

/// The slowdown in real time.
fn real(condition: &ConditionResult) -> Option<Estimate> {
    let ConditionResult { slowdown, low, high, .. } = *condition;
    Some(Estimate { value: slowdown?, low, high })
}

fn seconds(value: Option<f64>) -> String {
    number::or_none(value.map(|value| format!("{value:.3}")))
}

fn condition_words(condition: &ConditionResult) -> String {
    match condition.spinners {
        0 if condition.name == Place::Alone.name() => "alone".to_owned(),
        // One of several commands, and what runs beside it.
        0 => words::clean(&format!("{} alone", condition.name)),
        _ if condition.name.contains("ruler:") || condition.name.contains(" beside ") => {
            words::clean(&condition.name)
        }
        count => format!(
            "{} {}",
            number::count(u64::from(count), "spinner"),
            condition.placement.about()
        ),
    }
}

fn cpus_words(condition: &ConditionResult) -> String {
    match condition.spinners {
        0 => condition.work_cpus.to_string(),
        _ => format!("{} / {}", condition.work_cpus, condition.spinner_cpus),
    }
}

/// Real, user and system time as the note prints them, and the slowdown.
fn times(summary: &CputimeSummary) -> Table {
    let over_alone = |it: &ConditionResult, slowdown: Option<Estimate>| match it.spinners {
        0 => "1".to_owned(),
        _ => estimate(slowdown),
    };
    let columns: [ColumnOf<'_, ConditionResult>; 7] = [
        (Column::words("Condition"), &condition_words),
        (Column::words("CPUs"), &cpus_words),
        (Column::number("real"), &|it| seconds(it.real_s)),
        (Column::number("user"), &|it| seconds(it.user_s)),
        (Column::number("system"), &|it| seconds(it.system_s)),
        (Column::number("real / alone"), &|it| over_alone(it, real(it))),
        (Column::number("CPU / alone"), &|it| over_alone(it, it.cpu_slowdown)),
    ];
    let caption = "Seconds of the work, and its slowdown against the same block's run alone";
    Table::of(caption, &summary.conditions, columns).note(format!(
        "CPUs: the work's, then the spinners'. In brackets: {} over blocks.",
        confidence::interval()
    ))
}

fn figure(summary: &CputimeSummary) -> Block {
    let arm = |place| PLACES.iter().position(|known| *known == place).unwrap_or(0);
    let bar = |condition: &ConditionResult| Bar {
        arm: arm(condition.placement),
        value: condition.slowdown,
        interval: condition.low.zip(condition.high),
        title: format!("{}: {}", condition_words(condition), seconds(condition.slowdown)),
    };
    let mut counts: Vec<u32> = summary.conditions.iter().map(|c| c.spinners).collect();
    counts.sort_unstable();
    counts.dedup();
    let groups = counts.into_iter().map(|count| BarGroup {
        label: count.to_string(),
        bars: summary.conditions.iter().filter(|c| c.spinners == count).map(bar).collect(),
    });
    let groups = groups.collect();
    let plot = Bars { unit: "× alone".to_owned(), group: "spinners".to_owned(), groups };
    let with = match plot.bars().any(|bar| bar.interval.is_some()) {
        true => format!(", with {}s", confidence::interval()),
        false => String::new(),
    };
    let caption = format!("By number of spinners and where they run{with}.");
    let title = "Real time of the work, over its real time alone".to_owned();
    Figure::block(title, caption, Plot::Bars(plot))
}

fn both_sides(summary: &CputimeSummary) -> Table {
    let beside = summary.conditions.iter().filter(|condition| condition.spinners > 0);
    let columns: [ColumnOf<'_, ConditionResult>; 4] = [
        (Column::words("Condition"), &condition_words),
        (Column::number("a spinner alone / here"), &|it| estimate(it.spinner_slowdown)),
        (Column::number("STP"), &|it| estimate(it.stp)),
        (Column::number("ANTT"), &|it| estimate(it.antt)),
    ];
    let note = "STP: progress of all, each over its own alone, summed; 1 is one CPU for one task. \
                ANTT: mean slowdown of all. Both sides counted their own progress.";
    Table::of("What the spinners got done, and both sides together", beside, columns).note(note)
}

fn alone(summary: &CputimeSummary) -> Block {
    let one = |alone: &SpinnerAlone| match alone.rate {
        Some(rate) => format!("{} {} on CPU {}", number::value(rate), alone.unit, alone.cpus),
        None => format!("not counted on CPU {}", alone.cpus),
    };
    let list: Vec<String> = summary.spinners_alone.iter().map(one).collect();
    Block::Text(format!("A spinner alone: {}.", words::clean(&list.join("; "))))
}

fn failed(summary: &CputimeSummary) -> Vec<Block> {
    let failed: Vec<String> = summary
        .conditions
        .iter()
        .filter(|condition| condition.failed > 0)
        .map(|condition| {
            let why = condition.failure.as_deref().unwrap_or("no cause given");
            words::clean(&format!(
                "{}: {} failed: {why}",
                condition_words(condition),
                number::count(u64::from(condition.failed), "run")
            ))
        })
        .collect();
    if failed.is_empty() { Vec::new() } else { vec![Block::List(failed)] }
}

/// The note's ratios, and what was found here on the placement that answers to each.
fn beside_the_note(summary: &CputimeSummary) -> Vec<Block> {
    let Ok(report) = note() else { return Vec::new() };
    let here = |condition: &str| {
        let spinners = if condition.starts_with('4') { 4 } else { 1 };
        let place = if condition.ends_with("sibling") { Place::Siblings } else { Place::Free };
        let found = summary
            .conditions
            .iter()
            .find(|found| found.placement == place && found.spinners == spinners);
        found.map_or([number::NONE.to_owned(), number::NONE.to_owned()], |found| {
            [estimate(found.cpu_slowdown), seconds(found.slowdown)]
        })
    };
    let beside = report.conditions.iter().filter(|condition| !condition.condition.contains("idle"));
    let rows = beside.map(|condition| {
        let [cpu, real] = here(&condition.condition);
        let mut user = format!("{:.2}", condition.user_slowdown);
        if !condition.differing_user_s.is_empty() {
            user.push_str(&format!(" (mean {:.2})", condition.user_slowdown_of_means));
        }
        let machine = condition.machine.split(" (").next().unwrap_or_default();
        vec![
            machine.to_owned(),
            condition.condition.clone(),
            user,
            format!("{:.2}", condition.slowdown),
            cpu,
            real,
        ]
    });
    let columns = ["Its machine", "Condition", "#user", "#real", "#CPU here", "#real here"];
    let caption = "The note's slowdowns (gzip -9 beside a loop of perl), and those measured here";
    let note = "Medians of the note's three runs. Where it leaves the placement to the kernel, this \
                machine's is `free` on the pair.";
    vec![Block::Table(Table::new(caption, Column::list(columns), rows.collect()).note(note))]
}

fn method() -> Vec<String> {
    [
        "Every block holds every condition once, in a random order drawn from the stored seed.",
        "A slowdown is the ratio to the run alone of the same block; its interval is Student's t \
         over the blocks' log ratios. The block is the unit.",
        "A spinner counts its own progress; its baseline is the same spinner without the work, on \
         the same CPUs, in the same block.",
        "A block is set aside, and run again, only if the hypervisor or other processes took more of \
         the CPUs' time than the limits given beforehand.",
        "STP and ANTT: Eyerman and Eeckhout, System-Level Performance Metrics for Multiprogram \
         Workloads, IEEE Micro 28 (2008).",
    ]
    .map(str::to_owned)
    .to_vec()
}
