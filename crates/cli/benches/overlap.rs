//! What it costs to have the kernel count overlap at every switch, each figure beside the same without
//! it, in blocks of all arms in drawn orders.
//!
//! * switch: two threads on one CPU pass a byte to and fro: with nothing at the switch, with an empty
//!   program there, with ours (aim: ours at most 12 %; an empty one costs 7 to 9 %);
//! * tbench: with and without `account --all` (aim: at most 1 %), and with an empty program;
//! * record: tbench beside `account --all` and beside `account --record` with a block a second, each a
//!   process of its own (aim: recording costs what `--all` costs).
//!
//! Wall time is what counts on a quiet machine. CPU time per turn stands beside it: what others do
//! moves it less, and the kernel charges the program's time to the tasks that switch.
//!
//! `cargo bench -p coretwin --features bpf --bench overlap`, as root; with the word `switch`, `tbench` or
//! `record` one of them, with `blocks=N` other than 20 blocks.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

type Any = Box<dyn std::error::Error>;

fn main() -> Result<(), Any> {
    // Cargo says so to those it runs as benchmarks; else this is a test run, which is not timed.
    if std::env::args().all(|argument| argument != "--bench") {
        return Ok(());
    }
    #[cfg(feature = "bpf")]
    return measure::all();
    #[cfg(not(feature = "bpf"))]
    {
        println!("built without the feature bpf: nothing to measure");
        Ok(())
    }
}

#[cfg(feature = "bpf")]
mod measure {
    use super::Any;
    use coretwin_base::machine::cpu_set::CpuSet;
    use coretwin_base::random::Stream;
    use coretwin_bpf::empty::Empty;
    use coretwin_bpf::overlap::{Overlap, Room, SiblingMap};
    use coretwin_stats::student;
    use rustix::pipe::pipe;
    use rustix::process::{Pid, Signal, kill_process};
    use rustix::thread::{CpuSet as Affinity, sched_setaffinity};
    use rustix::time::{ClockId, clock_gettime};
    use std::process::{Command, Stdio};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::{Duration, Instant};

    /// Turns of the byte in one run.
    const TURNS: u32 = 60_000;

    /// What a run gave, the less the better.
    #[derive(Clone, Copy)]
    struct Cost {
        wall: f64,
        cpu: f64,
    }

    pub(super) fn all() -> Result<(), Any> {
        let words: Vec<String> =
            std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
        let blocks = words.iter().find_map(|word| word.strip_prefix("blocks=")?.parse().ok());
        let blocks: usize = blocks.unwrap_or(20);
        let named: Vec<&String> = words.iter().filter(|word| !word.contains('=')).collect();
        let wanted = |name: &str| named.is_empty() || named.iter().any(|word| *word == name);
        if wanted("switch") {
            println!(
                "switch: {TURNS} turns of a byte between two threads on CPU 0, {blocks} blocks"
            );
            let arms: [(&str, Arm<'_>); 3] =
                [("nothing", Arm::Nothing), ("empty", Arm::Empty), ("ours", Arm::Ours)];
            compare(&arms, blocks, ping_pong)?;
        }
        if wanted("tbench") {
            println!("tbench, {blocks} blocks");
            let arms: [(&str, Arm<'_>); 3] =
                [("without", Arm::Nothing), ("empty", Arm::Empty), ("account", Arm::Ours)];
            compare(&arms, blocks, tbench)?;
        }
        if wanted("record") {
            println!("record, {blocks} blocks");
            let file = std::env::temp_dir().join(format!("overlap-{}.rec", std::process::id()));
            let file = file.to_string_lossy().into_owned();
            let record: &[&str] = &["--record", &file, "--every", "1s"];
            let arms = [
                ("without", Arm::Nothing),
                ("all", Arm::Account(&["--all"])),
                ("record", Arm::Account(record)),
            ];
            let compared = compare(&arms, blocks, tbench);
            let kept = std::fs::metadata(&file).map_or(0, |about| about.len());
            let _ = std::fs::remove_file(&file);
            println!("  the recording has {kept} bytes");
            compared?;
        }
        Ok(())
    }

    /// What is in the kernel during a run.
    #[derive(Clone, Copy)]
    enum Arm<'a> {
        Nothing,
        Empty,
        Ours,
        /// `coretwin account` with these words.
        Account(&'a [&'a str]),
    }

    /// How long `account` may take until its program is in the kernel.
    const LOADED: Duration = Duration::from_millis(1500);

    /// Runs something while an arm is in place; ours is asked every second, as accounting does.
    fn beside(arm: Arm<'_>, run: fn() -> Result<Cost, Any>) -> Result<Cost, Any> {
        match arm {
            Arm::Nothing => run(),
            Arm::Empty => {
                let _empty = Empty::start()?;
                run()
            }
            Arm::Ours => {
                let mut overlap = Overlap::start(&map()?, Room::default())?;
                let (stop, stopped) = channel::<()>();
                let asking = std::thread::spawn(move || {
                    let second = Duration::from_secs(1);
                    while stopped.recv_timeout(second) == Err(RecvTimeoutError::Timeout) {
                        overlap.window()?;
                    }
                    Ok::<(), coretwin_bpf::Error>(())
                });
                let cost = run();
                drop(stop);
                asking.join().map_err(|_| "the thread that asks ended badly")??;
                cost
            }
            Arm::Account(words) => {
                let mut account = Command::new(env!("CARGO_BIN_EXE_coretwin"))
                    .args([&["account", "--method", "ebpf", "--for", "1h"], words].concat())
                    .args(siblings())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()?;
                std::thread::sleep(LOADED);
                let cost = run();
                let ran = account.try_wait()?;
                kill_process(Pid::from_child(&account), Signal::INT)?;
                account.wait()?;
                match ran {
                    Some(status) => Err(format!("account {words:?} ended: {status}").into()),
                    None => cost,
                }
            }
        }
    }

    /// The first two CPUs are declared siblings where the kernel shows none.
    fn siblings() -> Option<&'static str> {
        let first = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
        let alone = std::fs::read_to_string(first).is_ok_and(|list| list.trim() == "0");
        alone.then_some("--siblings=0+1")
    }

    /// The kernel's siblings; where there are none, the first two CPUs declared to be.
    fn map() -> Result<SiblingMap, Any> {
        let list = |path: &str| -> Result<CpuSet, Any> {
            let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{path}"))?;
            Ok(CpuSet::parse(text.trim())?)
        };
        let online = list("online")?;
        let mut cores: Vec<CpuSet> = Vec::new();
        for cpu in online.iter() {
            let core = list(&format!("cpu{}/topology/thread_siblings_list", cpu.0))?;
            if !cores.contains(&core) {
                cores.push(core);
            }
        }
        if cores.iter().all(|core| core.len() == 1) {
            cores = vec![online.iter().take(2).collect()];
        }
        Ok(SiblingMap::new(&list("possible")?, &online, &cores)?)
    }

    fn ping_pong() -> Result<Cost, Any> {
        let (there, back) = (pipe()?, pipe()?);
        let before_s = cpu_s();
        let started = Instant::now();
        std::thread::scope(|scope| -> Result<(), Any> {
            let answer = scope.spawn(|| -> Result<(), rustix::io::Errno> {
                on_first_cpu()?;
                let mut byte = [0];
                for _ in 0..TURNS {
                    rustix::io::read(&there.0, &mut byte)?;
                    rustix::io::write(&back.1, &byte)?;
                }
                Ok(())
            });
            let ask = scope.spawn(|| -> Result<(), rustix::io::Errno> {
                on_first_cpu()?;
                let mut byte = [1];
                for _ in 0..TURNS {
                    rustix::io::write(&there.1, &byte)?;
                    rustix::io::read(&back.0, &mut byte)?;
                }
                Ok(())
            });
            for thread in [answer, ask] {
                thread.join().map_err(|_| "a thread ended badly")??;
            }
            Ok(())
        })?;
        let cost = Cost { wall: started.elapsed().as_secs_f64(), cpu: cpu_s() - before_s };
        Ok(cost)
    }

    fn on_first_cpu() -> Result<(), rustix::io::Errno> {
        let mut first = Affinity::new();
        first.set(0);
        sched_setaffinity(None, &first)
    }

    fn cpu_s() -> f64 {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    }

    fn tbench() -> Result<Cost, Any> {
        let output = Command::new(env!("CARGO_BIN_EXE_coretwin"))
            .args(["run", "tbench:seconds=2,warmup=0.2", "--json"])
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let reading: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let number = |name: &str| reading[name].as_f64().ok_or(format!("no {name} in {reading}"));
        let operations = number("operations")?;
        Ok(Cost {
            wall: 1.0 / number("value")?,
            cpu: (number("user_s")? + number("system_s")?) / operations,
        })
    }

    /// Every arm in every block; the geometric mean of the ratios to the first, with intervals.
    fn compare(
        arms: &[(&str, Arm<'_>)],
        blocks: usize,
        run: fn() -> Result<Cost, Any>,
    ) -> Result<(), Any> {
        beside(Arm::Nothing, run)?;
        let mut orders = Stream::new(1, "orders", 0);
        let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); arms.len()];
        for _ in 0..blocks {
            let mut order: Vec<usize> = (0..arms.len()).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, (orders.unit() * (last + 1) as f64) as usize);
            }
            for at in order {
                costs[at].push(beside(arms[at].1, run)?);
            }
        }
        for (at, (name, _)) in arms.iter().enumerate().skip(1) {
            for base in 0..at {
                let of = |value: fn(&Cost) -> f64| {
                    let logs: Vec<f64> = costs[at]
                        .iter()
                        .zip(&costs[base])
                        .map(|(ours, theirs)| (value(ours) / value(theirs)).ln())
                        .collect();
                    let count = logs.len() as f64;
                    let mean = logs.iter().sum::<f64>() / count;
                    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
                    let half = student::quantile(0.975, count - 1.0)
                        * (squares / (count - 1.0) / count).sqrt();
                    let percent = |log: f64| (log.exp() - 1.0) * 100.0;
                    format!(
                        "{:+.2} % ({:+.2} to {:+.2})",
                        percent(mean),
                        percent(mean - half),
                        percent(mean + half)
                    )
                };
                println!(
                    "  {name:>8} against {:<8} wall {}, CPU {}",
                    arms[base].0,
                    of(|cost| cost.wall),
                    of(|cost| cost.cpu)
                );
            }
        }
        Ok(())
    }
}
