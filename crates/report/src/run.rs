//! One reading, for `coretwin run`.

use crate::brief::Brief;
use crate::number;
use crate::words;
use coretwin_base::study::reading::{Reading, Status};
use coretwin_base::units::human_seconds;

pub fn run_brief(reading: &Reading) -> Brief {
    let better = reading.better.name();
    let word = if reading.status == Status::Failed { "FAILED" } else { "" };
    let answer = match reading.value {
        Some(value) => format!(
            "{}: {} {} ({better} is better) in arm {}.",
            reading.row,
            number::value(value),
            reading.unit,
            reading.arm
        ),
        None => format!("{word}: {} gave no value in arm {}.", reading.row, reading.arm),
    };
    let [user, system] = [reading.user_s, reading.system_s].map(human_seconds);
    let elapsed = human_seconds(reading.elapsed_s);
    let metrics = reading
        .metrics
        .iter()
        .map(|(name, metric)| format!("{name} {} {}", number::value(metric.value), metric.unit));
    let broken = reading.checks.iter().filter(|(_, held)| !**held);
    Brief::new(word, answer)
        .line("time", [format!("{elapsed} elapsed, {user} user, {system} system")])
        .line("metrics", metrics)
        .line("cause", reading.cause.as_deref().map(str::to_owned))
        .line("checks", broken.map(|(name, _)| format!("{name} DID NOT HOLD")))
}

/// A reading as lines of `name  value`, ending in a line break.
pub fn run_text(reading: &Reading) -> String {
    let mut lines: Vec<(String, String)> =
        vec![("workload".to_owned(), words::clean(&reading.row))];
    let mut line = |name: &str, text: String| lines.push((words::clean(name), text));
    let better = reading.better.name();
    match reading.value {
        Some(value) => {
            let unit = words::clean(&reading.unit);
            line("value", format!("{} {unit} ({better} is better)", number::value(value)));
        }
        None => line("value", "none".to_owned()),
    }
    let status = match reading.status {
        Status::Ok => "ok",
        Status::Failed => "FAILED",
        Status::SetAside => "set aside",
    };
    match &reading.cause {
        Some(cause) => line("status", format!("{status}: {}", words::clean(cause))),
        None => line("status", status.to_owned()),
    }
    line("elapsed", human_seconds(reading.elapsed_s));
    let (user, system) = (human_seconds(reading.user_s), human_seconds(reading.system_s));
    line("CPU time", format!("{user} user, {system} system"));
    if reading.steal_s > 0.0 {
        line("steal", human_seconds(reading.steal_s));
    }
    line("arm", words::clean(&reading.arm));
    line("placement", reading.placement_asked.to_string());
    if !reading.cpus_ran.is_empty() {
        line("ran on CPUs", reading.cpus_ran.to_string());
    }
    line("threads", number::whole(reading.threads.into()));
    if reading.copies > 1 {
        line("copies", number::whole(reading.copies.into()));
    }
    if reading.operations > 0 {
        line("operations", number::whole(reading.operations));
    }
    for (name, metric) in reading.metrics.iter() {
        line(name, format!("{} {}", number::value(metric.value), words::clean(&metric.unit)));
    }
    for (name, note) in reading.notes.iter() {
        line(name, words::clean(note));
    }
    for (name, held) in reading.checks.iter() {
        line(&format!("check {name}"), if *held { "held" } else { "DID NOT HOLD" }.to_owned());
    }
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut text: String =
        lines.iter().map(|(name, text)| format!("{name:width$}  {}\n", text.trim_end())).collect();
    if let Some(output) = &reading.output {
        text.push_str("\nend of its output:\n");
        for line in output.lines() {
            text.push_str(&format!("  {}\n", words::clean(line)));
        }
    }
    text
}
