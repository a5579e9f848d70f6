//! Files of a machine that go bad while it is read, by a seed: vanished, unreadable, cut off, numbers
//! that no machine has. Every reader ends with what it could read or an error that names a path, and
//! says again what it said before once the files are mended.

use coretwin_base::machine::cpu_set::CpuSet;
use coretwin_base::machine::limits::{Limit, Need};
use coretwin_host::fake::crowd::Crowd;
use coretwin_host::fake::decay::Decay;
use coretwin_host::fake::{machine, sched_ext as fake_sched_ext};
use coretwin_host::root::Root;
use coretwin_host::sched_ext::{State, config, cookies, doctor, record};
use coretwin_host::smt::target::Target;
use coretwin_host::smt::{capture, preflight, security, ways};
use coretwin_host::tasks::Tasks;
use coretwin_host::{affinity, cgroup, cpuinfo, energy, environment, limits, observe, placement};
use coretwin_host::{pressure, process, topology, user};
use std::fmt::Debug;

/// Machines that differ in what files they have.
const MACHINES: [&str; 5] =
    ["vm-adjacent", "hybrid", "power-smt8", "cpuset-v1-taskset", "container-half-core"];
/// Limits that are read from files.
const LIMITS: [Limit; 6] = [
    Limit::OpenFiles,
    Limit::UserTasks,
    Limit::Threads,
    Limit::CgroupTasks,
    Limit::MemoryKib,
    Limit::SemaphoresTotal,
];

/// A reading as text; an error must name a path of the machine.
fn told<T: Debug>(root: &Root, read: Result<T, coretwin_host::Error>) -> String {
    match read {
        Ok(found) => format!("{found:?}"),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(&root.folder().display().to_string()), "no path: {text}");
            text
        }
    }
}

/// Everything that is read of a machine, as text.
fn everything(root: &Root) -> String {
    let mut all = Vec::new();
    let found = topology::read(root);
    if let Ok(topology) = &found {
        all.push(format!("{:?}", environment::facts(root, topology)));
        all.push(format!("{:?}", environment::moment(root, topology, "on", String::new())));
        for target in [Target::Off, Target::On, Target::Level(2)] {
            all.push(format!("{:?}", preflight::findings_for(root, topology, target)));
        }
        all.push(format!("{:?}", ways::read(root, topology, Ok(()))));
        let placement = coretwin_base::machine::placement::Placement::Siblings;
        all.push(format!("{:?}", placement::roles(topology, &topology.online, placement, 2)));
    }
    all.push(told(root, found));
    all.push(told(root, affinity::mask(root)));
    all.push(told(root, cpuinfo::read(root)));
    all.push(told(root, observe::cpu_times(root)));
    all.push(told(root, record::read(root)));
    // The moment of the capture is not the machine's.
    all.push(told(root, capture::capture(root).map(|state| (state.control, state.online))));
    all.push(format!("{:?}", (capture::machine(root), capture::holder(root, 1000))));
    all.push(format!("{:?}", (pressure::read(root), energy::read(root), security::read(root))));
    let needs = LIMITS.map(|limit| Need { limit, amount: 1 << 40 });
    all.push(format!("{:?}", limits::unmet(root, &needs)));
    all.push(format!("{:?}", (environment::session(root), user::effective_user(root))));
    all.push(format!("{:?}", (State::read(root), config::Config::read(root))));
    all.push(format!("{:?}", cookies::find(root, &|_| Ok(0))));
    let examiner = doctor::Examiner { cookie: &|_| Ok(0), cannot_load: None };
    all.push(format!("{:?}", doctor::examine(root, &examiner)));
    all.push(format!("{:?}", process::descendants(root, 1)));
    let folder = cgroup::folder(root, "/service-0");
    all.push(format!("{:?}", folder.map(|folder| cgroup::usage_s(root, &folder))));
    all.push(format!("{:?}", tasks(root)));
    all.join("\n")
}

/// What is read of tasks.
fn tasks(root: &Root) -> Vec<String> {
    let mut tasks = Tasks::new(root);
    let mut found = vec![format!("{:?} {}", tasks.newest(), tasks.has_run_times())];
    let mut processes = tasks.processes();
    processes.sort_unstable();
    for process in processes {
        found.push(format!("{:?} {:?}", tasks.process(process), tasks.cgroup(process)));
        let mut threads = tasks.threads(process);
        threads.sort_unstable();
        for thread in threads {
            let run = tasks.run_time(process, thread);
            let of = tasks.process_of(thread);
            let allowed = tasks.allowed_list(process, thread).map(CpuSet::parse);
            let seen = (tasks.thread(process, thread), allowed, run, of);
            found.push(format!("{seen:?}"));
        }
    }
    found
}

#[test]
fn under_any_faults_a_machine_is_read_as_far_as_it_goes() {
    let (mut made, mut changed, seeds) = (0, 0, Decay::seeds(10));
    for name in MACHINES {
        let folder = tempfile::tempdir().expect("folder");
        let root = machine(name).expect(name).write(folder.path()).expect("written");
        let online = topology::read(&root).expect(name).online;
        Crowd::new(&root, &online, 6).expect("tasks");
        fake_sched_ext::install(&root, "enabled", Some("x")).expect("sched_ext");
        let before = everything(&root);
        for seed in 0..seeds {
            let mut decay = Decay::new(&root, &["sys", "proc"], seed).expect("remembered");
            // A few files, and now and then most of them.
            decay.spoil(if seed % 8 == 7 { 200 } else { 6 }).expect("spoiled");
            changed += u64::from(everything(&root) != before);
            decay.mend().expect("mended");
            assert!(everything(&root) == before, "{name}, seed {seed}: it is not as before");
            made += decay.made;
        }
    }
    Decay::tell(made);
    assert!(changed > seeds, "{changed} readings differed");
}
