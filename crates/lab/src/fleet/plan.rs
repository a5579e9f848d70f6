//! Draws a fleet's plan.

use coretwin_base::fleet::plan::{EngineOptions, FleetPlan, FleetSubject, Task};
use coretwin_base::random::Stream;
use coretwin_base::schema::SCHEMA;

fn strings(record: &serde_json::Value) -> Vec<String> {
    match record {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(list) => list.iter().flat_map(strings).collect(),
        serde_json::Value::Object(map) => map.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// Draws the plan; its digest is filled in when it is stored. `machines` are simulated ones to study
/// instead of those the tasks run on, shared out in turn. Errors: if there is no task, or a text has a
/// control character in it: in a script for Slurm a line end would begin a line of its own.
pub fn draw(
    engine: EngineOptions,
    names: Vec<String>,
    machines: &[String],
    program: String,
    subject: FleetSubject,
    seed: u64,
) -> Result<FleetPlan, String> {
    if names.is_empty() {
        return Err("there is no machine in it".to_owned());
    }
    let told = serde_json::to_value(&engine).map_err(|error| error.to_string())?;
    let texts = names.iter().chain(machines).chain([&program]);
    if let Some(text) =
        texts.cloned().chain(strings(&told)).find(|text| text.contains(char::is_control))
    {
        return Err(format!("{text:?} has a control character in it, like the end of a line"));
    }
    let machine = |number: u32| -> Option<String> {
        (!machines.is_empty()).then(|| machines[number as usize % machines.len()].clone())
    };
    let task = |(number, name): (u32, String)| Task {
        number,
        // 32 bits, for people type seeds.
        seed: Stream::new(seed, "fleet", u64::from(number)).next_u64() >> 32,
        machine: machine(number),
        name,
    };
    Ok(FleetPlan {
        schema: SCHEMA,
        digest: String::new(),
        coretwin: env!("CARGO_PKG_VERSION").to_owned(),
        engine,
        program,
        subject,
        seed,
        tasks: (0..).zip(names).map(task).collect(),
    })
}
