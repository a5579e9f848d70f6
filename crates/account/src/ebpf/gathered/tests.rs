//! Sums of windows, worked out by hand.

use super::*;
use coretwin_base::account::SiblingsOrigin;
use coretwin_bpf::overlap::{CoreTime, PairTime};

fn siblings(cores: &[&str]) -> Siblings {
    let cores = cores.iter().map(|list| CpuSet::parse(list).expect("a list")).collect();
    Siblings { origin: SiblingsOrigin::Kernel, cores }
}

fn task(tid: u32, alone_ns: u64, shared_ns: u64) -> TaskTime {
    TaskTime {
        tid,
        tgid: tid,
        parent: 1,
        started_ns: u64::from(tid) * 1_000_000_000,
        comm: format!("task-{tid}"),
        cgroup: 7,
        cpu: CpuId(0),
        followed: None,
        ended: false,
        runs: vec![overlap::Run { siblings: 2, busy_ns: vec![alone_ns, shared_ns] }],
    }
}

fn cpu(cpu: u32, from_ns: u64, until_ns: u64, tasks_ns: u64) -> CpuTime {
    let idle_ns = until_ns - from_ns - tasks_ns;
    let cpu = CpuId(cpu);
    CpuTime { cpu, from_ns, until_ns, tasks_ns, idle_ns, offline_ns: 0, run_ns: tasks_ns }
}

fn of(gathered: Gathered, siblings: &Siblings) -> Window {
    let told = |cpu| CpuUse { cpu, busy_s: 9.0, interrupts_s: 0.0, steal_s: 0.5 };
    let cgroup = |task: &TaskTime| (task.cgroup == 7).then(|| "/seven".to_owned());
    gathered.window(siblings, StatTimes::default(), told, cgroup)
}

#[test]
fn windows_one_after_the_other_are_added_up() {
    let mut gathered = Gathered::default();
    for at in 0..3 {
        let (from_ns, until_ns) = (at * 1_000_000_000, (at + 1) * 1_000_000_000);
        gathered.add(overlap::Window {
            tasks: vec![
                task(5, 300_000_000, 100_000_000),
                TaskTime { ended: at == 2, ..task(6, 1, 2) },
            ],
            cpus: vec![cpu(0, from_ns, until_ns, 400_000_000), cpu(1, from_ns, until_ns, 0)],
            cores: vec![CoreTime {
                cpus: CpuSet::parse("0-1").expect("a list"),
                busy_ns: vec![600_000_000, 300_000_000, 100_000_000],
            }],
            pairs: vec![PairTime { a: 5, b: 6, together_ns: 50_000_000 }],
            clash_ns: (at > 0).then_some(10_000_000),
            glimpses: 20,
            switches: 4,
            ..overlap::Window::default()
        });
    }
    let window = of(gathered, &siblings(&["0-1"]));
    assert!((window.elapsed_s - 3.0).abs() < 1e-12 && window.looks == 12);
    let [first, second] = &window.tasks[..] else { panic!("{:?}", window.tasks) };
    assert!(
        (first.raw_s - 1.2).abs() < 1e-12 && (first.runs[0].alone_s().value - 0.9).abs() < 1e-12
    );
    assert_eq!((first.cgroup.as_deref(), first.ended, second.ended), (Some("/seven"), false, true));
    let core = &window.cores[0];
    assert_eq!(core.by_busy_s.iter().map(|span| (span.value * 10.0).round()).sum::<f64>(), 30.0);
    // Busy is what the program says, steal what the kernel does.
    assert!((core.by_cpu[0].busy_s - 1.2).abs() < 1e-12 && core.by_cpu[0].steal_s > 0.4);
    let [PairUse { a: 5, b: 6, together_s }] = window.pairs[..] else { panic!("{window:?}") };
    // 3 of 60 glimpses: Clopper and Pearson, 95 %.
    let off = (together_s.value - 0.15).abs() + (together_s.low - 3.0 * 0.01044).abs();
    assert!(off + (together_s.high - 3.0 * 0.13922).abs() < 1e-3, "{together_s:?}");
    assert!((window.clash_s.expect("glimpsed") - 0.02).abs() < 1e-12);
    assert_eq!(window.unseen, Unseen::default());
}

#[test]
fn ended_tasks_beyond_a_number_are_put_together_and_no_time_is_lost() {
    let mut gathered = Gathered::default();
    let count = 3 * u32::try_from(ENDED_MAX).expect("small");
    for tid in 0..count {
        let followed = (tid % 2 == 0).then_some(77);
        let ended =
            TaskTime { ended: true, comm: "short".to_owned(), followed, ..task(tid + 10, 3, 1) };
        let tasks = vec![ended, task(5, 1, 0)];
        gathered.add(overlap::Window { tasks, ..overlap::Window::default() });
        assert!(gathered.tasks.len() <= ENDED_MAX + 4, "{}", gathered.tasks.len());
    }
    let window = of(gathered, &siblings(&["0-1"]));
    let total_ns = |pid: u32| {
        let of_it =
            window.tasks.iter().filter(|task| task.pid == pid || (pid == 0 && task.pid != 5));
        (of_it.map(|task| task.raw_s).sum::<f64>() * 1e9).round()
    };
    assert_eq!((total_ns(0), total_ns(5)), (f64::from(4 * count), f64::from(count)));
    // What descends from a command that is followed stays its own.
    let (folded, parent): (f64, f64) = (total_ns(77), total_ns(1));
    assert!(folded > 0.0 && parent > 0.0 && (folded - parent).abs() <= 4.0, "{folded} {parent}");
}

#[test]
fn ended_tasks_of_ever_new_parents_and_names_do_not_grow_without_end() {
    let count = 3 * u32::try_from(ENDED_MAX).expect("small");
    for names in [1, count] {
        let mut gathered = Gathered::default();
        for tid in 0..count {
            let comm = format!("name {}", tid % names);
            let parent = tid + 100_000;
            let ended = TaskTime { ended: true, comm, parent, ..task(tid + 10, 3, 1) };
            gathered.add(overlap::Window { tasks: vec![ended], ..overlap::Window::default() });
            assert!(gathered.tasks.len() <= ENDED_MAX, "{}", gathered.tasks.len());
        }
        let window = of(gathered, &siblings(&["0-1"]));
        let total_ns = window.tasks.iter().map(|task| task.raw_s).sum::<f64>() * 1e9;
        assert_eq!(total_ns.round(), f64::from(4 * count), "{names} names");
    }
}

#[test]
fn what_was_missed_is_said_and_counted() {
    let mut gathered = Gathered::default();
    let missing = Missing {
        unlisted_ns: 1_000_000_000,
        unlisted: 3,
        lost: 2,
        lost_ns: 500_000_000,
        strangers: 1,
        strangers_ns: 250_000_000,
        contended: 4,
    };
    let cpus = vec![cpu(0, 0, 10, 0), cpu(3, 0, 10, 0)];
    gathered.add(overlap::Window { missing, cpus, switches: 9, ..overlap::Window::default() });
    let unseen = of(gathered, &siblings(&["0-1"])).unseen;
    assert!((unseen.busy_s - 1.75).abs() < 1e-12 && unseen.lost == 5);
    let notes = unseen.notes.join("\n");
    for words in [
        "did not show 1 of 10 switches",
        "3 tasks had no place in the table: 1.000 s",
        "2 tasks ended and were not read in time: 0.500 s",
        "4 times the siblings",
        "cores of their own: 3",
    ] {
        assert!(notes.contains(words), "{words} in {notes}");
    }
}

#[test]
fn the_time_of_all_cpus_adds_up_over_windows_in_which_one_was_away() {
    let mut gathered = Gathered::default();
    const SECOND_NS: u64 = 1_000_000_000;
    for at in 0..4 {
        let (from_ns, until_ns) = (at * SECOND_NS, (at + 1) * SECOND_NS);
        let mut cpus = vec![cpu(0, from_ns, until_ns, 400_000_000)];
        // Steal: a tenth of what tasks had was charged to nobody.
        cpus[0].run_ns = 360_000_000;
        // Offline for the whole of the third window, which does not name it then.
        if at != 2 {
            cpus.push(cpu(1, from_ns, until_ns, 0));
        }
        let tasks = vec![task(5, 300_000_000, 60_000_000)];
        gathered.add(overlap::Window { cpus, tasks, ..overlap::Window::default() });
    }
    let balance = of(gathered, &siblings(&["0-1"])).balance;
    let parts = [balance.tasks_s, balance.idle_s, balance.offline_s, balance.uncharged_s];
    let expected = [1.44, 0.6 * 4.0 + 3.0, 1.0, 0.16];
    assert!(parts.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{balance:?}");
    assert!((balance.sum_s() - balance.cpus_s).abs() < 1e-9 && balance.cpus == 2, "{balance:?}");
}

#[test]
fn a_core_that_was_not_heard_of_has_no_time() {
    let window = of(Gathered::default(), &siblings(&["0-1", "2-5"]));
    assert_eq!(window.cores[1].by_busy_s, vec![Span::default(); 5]);
    assert!(window.tasks.is_empty() && window.pairs.is_empty() && window.clash_s.is_none());
    assert!(window.elapsed_s.abs() < 1e-12);
}

#[test]
fn pairs_without_end_keep_the_longest() {
    let mut gathered = Gathered::default();
    for a in 0..10_000 {
        let pair = |a, together_ns| PairTime { a, b: 50_000, together_ns };
        let pairs = vec![pair(a, 1000 + u64::from(a)), pair(49_999, 100_000)];
        gathered.add(overlap::Window { pairs, ..overlap::Window::default() });
    }
    assert!(gathered.pairs_ns.len() <= PAIRS_MAX);
    let pairs = of(gathered, &siblings(&["0-1"])).pairs;
    assert_eq!((pairs.len(), pairs[0].a, pairs[1].a), (PAIRS, 49_999, 9_999));
}
