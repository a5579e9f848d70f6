//! Refuses impossible machines and work, before anything runs.

use super::{
    Amount, Class, Costs, CpuId, CpuSet, Failure, Machine, MachineEvent, Options, Program, Start,
    Step, Work,
};

/// The most of any amount; as uops it keeps work within 2^62.
const AMOUNT_MAX: u64 = 1 << 42;

const PROGRAMS_MAX: usize = 10_000;
const OBJECTS_MAX: usize = 1_000_000;
const OPERATIONS_MAX: u32 = 256;
const STEPS_MAX: usize = 100_000;

/// The most simulated time: a week.
const TIME_MAX_NS: u64 = 7 * 86_400 * 1_000_000_000;

type Checked = Result<(), String>;

pub(crate) fn check(machine: &Machine, work: &Work, options: &Options) -> Result<(), Box<Failure>> {
    check_machine(machine)
        .and_then(|()| check_options(options))
        .and_then(|()| check_objects(machine, work))
        .and_then(|()| {
            work.programs.iter().try_for_each(|program| check_program(machine, work, program))
        })
        .and_then(|()| work.starts.iter().try_for_each(|start| check_start(machine, work, start)))
        .and_then(|()| check_script(machine, work))
        .map_err(Failure::bad)
}

fn need(holds: bool, problem: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(problem()) }
}

fn check_machine(machine: &Machine) -> Checked {
    check_cpu(machine, machine.interrupts)?;
    let (cache, disk) = (&machine.cache, &machine.disk);
    let allowed = u64::from(cache.pages) * u64::from(cache.dirty_percent) / 100;
    need((16..=1 << 24).contains(&cache.pages) && allowed > 0, || {
        "the page cache has 16 to 16,777,216 pages, of which at least one may be dirty".to_owned()
    })?;
    need(cache.dirty_percent <= 100 && cache.dirty_background_percent <= 100, || {
        "at most 100 percent of the page cache can be dirty".to_owned()
    })?;
    need(cache.dirty_writeback_ns > 0, || "dirty_writeback_ns is above 0".to_owned())?;
    need((1..=1 << 40).contains(&disk.blocks) && disk.queue > 0 && disk.merge_blocks > 0, || {
        "a disk has blocks, room in its queue, and requests of at least one block".to_owned()
    })?;
    let times = [disk.seek_least_ns, disk.seek_most_ns, disk.turn_ns, disk.block_ns];
    need(times.iter().all(|ns| *ns <= 1_000_000_000), || {
        "times of the disk are at most 1 s each".to_owned()
    })?;
    need(disk.seek_least_ns <= disk.seek_most_ns && disk.block_ns > 0, || {
        "a disk's longest seek is not shorter than its shortest, and a block takes time".to_owned()
    })?;
    need(machine.costs.displace_ns > 0 && machine.costs.stopper_ns > 0, || {
        "displace_ns and stopper_ns are above 0".to_owned()
    })?;
    let mut costs = machine.costs;
    let more = [
        costs.policy_step_ns,
        costs.policy_far_step_ns,
        costs.socket_ns,
        costs.copy_kib_ns,
        costs.semaphore_ns,
        costs.page_tables_ns,
        costs.shared_page_ns,
        costs.page_ns,
        costs.stopper_ns,
    ];
    let times = costs.times().map(|(_, ns)| *ns).into_iter().chain(more).chain(costs.refill_ns);
    need(times.max() <= Some(1_000_000_000), || "costs are at most 1 s each".to_owned())
}

fn check_options(options: &Options) -> Checked {
    need((1..=TIME_MAX_NS).contains(&options.until_ns), || {
        "a run is between 1 ns and a week of simulated time long".to_owned()
    })?;
    need(options.warmup_ns < options.until_ns, || "the warm-up ends before the run".to_owned())?;
    need((1..=1 << 24).contains(&options.tasks_max), || {
        "1 to 16,777,216 tasks may be allowed".to_owned()
    })
}

fn check_objects(machine: &Machine, work: &Work) -> Checked {
    let counts =
        [work.sockets.len(), work.semaphores.len(), work.locks as usize, work.barriers.len()];
    need(work.programs.len() <= PROGRAMS_MAX && counts.iter().all(|n| *n <= OBJECTS_MAX), || {
        format!("at most {PROGRAMS_MAX} programs and {OBJECTS_MAX} objects of a kind")
    })?;
    for (number, socket) in work.sockets.iter().enumerate() {
        need((1..=1 << 40).contains(&socket.buffer_bytes), || {
            format!("socket {number} holds {} bytes; 1 to 2^40", socket.buffer_bytes)
        })?;
    }
    for (number, tasks) in work.barriers.iter().enumerate() {
        need(*tasks > 0, || format!("barrier {number} waits for no task; at least 1"))?;
    }
    let mut blocks = 0u64;
    for (number, bytes) in work.files.iter().enumerate() {
        need(*bytes > 0, || format!("file {number} is empty; at least 1 byte"))?;
        blocks = blocks.saturating_add(bytes.div_ceil(4096));
    }
    need(blocks <= machine.disk.blocks, || {
        format!("the files have {blocks} blocks, the disk {}", machine.disk.blocks)
    })?;
    need(work.starts.iter().any(|start| !start.server && start.count > 0), || {
        "no task starts that the run could wait for".to_owned()
    })
}

fn check_cpu(machine: &Machine, cpu: CpuId) -> Checked {
    let cpus = machine.layout.cpus();
    need((cpu.0 as usize) < cpus, || format!("there is no CPU {cpu}; the machine has {cpus}"))
}

fn check_mask(machine: &Machine, mask: Option<&CpuSet>) -> Checked {
    let Some(mask) = mask else { return Ok(()) };
    need(!mask.is_empty(), || "an empty CPU mask: no task can run there".to_owned())?;
    mask.iter().try_for_each(|cpu| check_cpu(machine, cpu))
}

fn check_nice(nice: i8) -> Checked {
    need((-20..=19).contains(&nice), || format!("a nice value is -20 to 19, not {nice}"))
}

fn check_start(machine: &Machine, work: &Work, start: &Start) -> Checked {
    let Some(program) = work.programs.get(start.program as usize) else {
        return Err(format!("a task starts program {}, which is not there", start.program));
    };
    let checked = check_nice(start.nice)
        .and_then(|()| check_mask(machine, start.mask.as_ref()))
        .and_then(|()| {
            let weight = start.group_weight.unwrap_or(100);
            need((1..=10_000).contains(&weight), || {
                format!("a group's weight is 1 to 10000, not {weight}")
            })
        })
        .and_then(|()| start.on.map_or(Ok(()), |cpu| check_cpu(machine, cpu)))
        .and_then(|()| match start.class {
            Class::Normal | Class::Idle | Class::RoundRobin(1..=99) | Class::Fifo(1..=99) => Ok(()),
            _ => Err("a real-time priority is 1 to 99".to_owned()),
        });
    checked.map_err(|problem| format!("tasks of {}: {problem}", program.name))
}

fn check_script(machine: &Machine, work: &Work) -> Checked {
    for line in &work.script {
        let checked = match &line.event {
            MachineEvent::Offline(cpu) | MachineEvent::Online(cpu) => check_cpu(machine, *cpu),
            MachineEvent::SmtOff | MachineEvent::SmtOn => Ok(()),
            MachineEvent::SetMask { program, mask } => {
                check_program_number(work, *program)?;
                check_mask(machine, mask.as_ref())
            }
            MachineEvent::SetNice { program, nice } => {
                check_program_number(work, *program)?;
                check_nice(*nice)
            }
        };
        checked.map_err(|problem| format!("the script at {} ns: {problem}", line.at_ns))?;
    }
    Ok(())
}

fn check_program_number(work: &Work, program: u32) -> Checked {
    need((program as usize) < work.programs.len(), || format!("there is no program {program}"))
}

fn check_program(machine: &Machine, work: &Work, program: &Program) -> Checked {
    need(program.steps.len() <= STEPS_MAX, || {
        format!("{} has more than {STEPS_MAX} steps", program.name)
    })?;
    for (at, step) in program.steps.iter().enumerate() {
        check_step(machine, work, step)
            .and_then(|()| check_loop(&machine.costs, program, at))
            .map_err(|problem| format!("{}, step {at}: {problem}", program.name))?;
    }
    Ok(())
}

fn check_amount(amount: Amount) -> Checked {
    if let Amount::Between(low, high) = amount {
        need(low <= high, || format!("a range from {low} down to {high}"))?;
    }
    need(amount.most() <= AMOUNT_MAX, || format!("an amount of {}; at most 2^42", amount.most()))
}

fn check_step(machine: &Machine, work: &Work, step: &Step) -> Checked {
    let amount = step.amount();
    check_amount(amount)?;
    match step {
        Step::Compute { profile, .. } | Step::ComputeFor { profile, .. } => {
            let known = machine.speeds.profiles().len();
            need((profile.0 as usize) < known, || {
                format!("there is no profile {}; the table has {known}", profile.0)
            })?;
            let ns_max = (1 << 62) / machine.speeds.profile(*profile).alone;
            let is_time = matches!(step, Step::ComputeFor { .. });
            need(!is_time || amount.most() <= ns_max, || {
                format!("computes for {} ns at once; at most {ns_max}", amount.most())
            })
        }
        Step::Fork { program, .. } => check_program_number(work, *program),
        Step::Make { start } => need((*start as usize) < work.starts.len(), || {
            format!("there is no start {start}; the list has {}", work.starts.len())
        }),
        Step::SetMask(mask) => check_mask(machine, mask.as_ref()),
        Step::SetNice(nice) => check_nice(*nice),
        Step::Done(kind) => need(*kind < OPERATIONS_MAX, || {
            format!("operation {kind}; there are at most {OPERATIONS_MAX} kinds")
        }),
        _ => Ok(()),
    }
}

/// A loop must hold something that takes time, or may wait.
fn check_loop(costs: &Costs, program: &Program, at: usize) -> Checked {
    let (Step::Repeat { from, .. } | Step::Forever { from }) = &program.steps[at] else {
        return Ok(());
    };
    need(*from as usize <= at, || format!("goes on at step {from}, which is not before it"))?;
    let body = &program.steps[*from as usize..at];
    need(body.iter().any(|step| takes_time(costs, step)), || {
        format!("a loop of zero length: nothing from step {from} on takes time")
    })
}

fn takes_time(costs: &Costs, step: &Step) -> bool {
    step.takes_time()
        || match step {
            Step::SystemCall { .. }
            | Step::Sleep { .. }
            | Step::Period { .. }
            | Step::Yield
            | Step::SetMask(_)
            | Step::SetNice(_)
            | Step::Forget(_) => costs.system_call_ns > 0,
            Step::Up { .. } | Step::Fork { .. } | Step::Make { .. } | Step::Exec => true,
            _ => false,
        }
}
