//! Timelines in the format of Chrome's trace viewer, which Perfetto opens: a process a run, a thread a
//! CPU, a slice a task's stay on a CPU, an instant a decision.
//!
//! Format: "Trace Event Format", Google, the JSON object form.

use coretwin_base::simulation::kernel_run::SchedRun;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace {
    display_time_unit: &'static str,
    trace_events: Vec<Value>,
}

pub fn sched_perfetto(runs: &[SchedRun]) -> String {
    let trace_events = runs.iter().enumerate().flat_map(|(index, run)| events(index + 1, run));
    let trace = Trace { display_time_unit: "ns", trace_events: trace_events.collect() };
    serde_json::to_string(&trace).expect("a trace has only text keys, so it is always JSON") + "\n"
}

fn events(process: usize, run: &SchedRun) -> Vec<Value> {
    let named = |what: &str, thread: u32, name: String| json!({"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": name}});
    let title = format!("{}, {}, seed {}", run.policy, run.workload, run.seed);
    let mut events = vec![named("process_name", 0, title)];
    for cpu in &run.cpus {
        let name = format!("CPU {} (core {})", cpu.cpu, cpu.core);
        events.push(named("thread_name", cpu.cpu.0 + 1, name));
    }
    for span in &run.spans {
        let program = run.programs.get(span.program as usize);
        let program = program.map_or("?", |program| program.name.as_str());
        events.push(json!({
            "ph": "X",
            "pid": process,
            "tid": span.cpu.0 + 1,
            "ts": microseconds(span.from_ns),
            "dur": microseconds(span.to_ns.saturating_sub(span.from_ns)),
            "name": format!("{program}#{}", span.task),
            "cat": "task",
        }));
    }
    for decision in &run.decisions {
        events.push(json!({
            "ph": "i",
            "s": "t",
            "pid": process,
            "tid": decision.cpu.0 + 1,
            "ts": microseconds(decision.at_ns),
            "name": decision.verb,
            "cat": "decision",
            "args": {"task": decision.task, "reason": decision.reason},
        }));
    }
    events
}

/// The format counts in µs; fractions of one are allowed.
fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}
