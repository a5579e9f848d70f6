//! The tasks of a fake machine: any number asleep, some of which a test lets run.
//!
//! Writes what proc(5) says of `/proc/PID/task/TID/{stat,schedstat,status}`, `/proc/PID/{stat,cgroup}`,
//! `/proc/loadavg` and `/proc/stat`, as far as it is read. Files change one after the other, as if
//! the machine was looked at while time passes. Run times change in place, for whoever keeps their files
//! open.

use crate::root::Root;
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::time::Duration;

const FIRST: u32 = 1000;
const THREADS: u32 = 4;
/// Length of a tick of `/proc/stat` (USER_HZ is 100 on every machine there is).
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Crowd {
    root: Root,
    cpus: CpuSet,
    /// Run time of each task, and the CPU it was on last.
    tasks: Vec<(Duration, CpuId)>,
    times: BTreeMap<CpuId, (Duration, Duration)>,
    running: Vec<(u32, CpuId)>,
}

impl Crowd {
    /// Puts that many sleeping tasks on a machine below a root, four threads a process.
    pub fn new(root: &Root, cpus: &CpuSet, tasks: u32) -> io::Result<Self> {
        let first = cpus.first().unwrap_or(CpuId(0));
        let crowd = Self {
            root: root.clone(),
            cpus: cpus.clone(),
            tasks: vec![(Duration::ZERO, first); tasks as usize],
            times: cpus.iter().map(|cpu| (cpu, Default::default())).collect(),
            running: Vec::new(),
        };
        for task in 0..tasks {
            let status = format!("Tgid:\t{}\nCpus_allowed_list:\t{cpus}\n", process(task));
            crowd.replace(&format!("{}/status", folder(task)), &status)?;
            crowd.write_task(task, 'S')?;
            if task.is_multiple_of(THREADS) {
                let cgroup = format!("0::/service-{}\n", task / THREADS % 50);
                crowd.replace(&format!("proc/{}/cgroup", process(task)), &cgroup)?;
            }
        }
        // Whoever asks whether run times are kept looks here.
        crowd.replace("proc/self/schedstat", "0 0 0\n")?;
        let newest = FIRST + tasks.saturating_sub(1);
        crowd.replace("proc/loadavg", &format!("0.10 0.20 0.30 1/{tasks} {newest}\n"))?;
        crowd.write_stat()?;
        Ok(crowd)
    }

    pub fn thread(task: u32) -> u32 {
        FIRST + task
    }

    /// Lets tasks, by their index, run on CPUs for a while, in which all other CPUs idle.
    pub fn run(&mut self, length: Duration, running: &[(u32, CpuId)]) -> io::Result<()> {
        let stopped: Vec<u32> = self.running.iter().map(|(task, _)| *task).collect();
        self.running = running.to_vec();
        for (cpu, (busy, idle)) in &mut self.times {
            match running.iter().any(|(_, on)| on == cpu) {
                true => *busy += length,
                false => *idle += length,
            }
        }
        for (task, cpu) in running {
            if let Some(known) = self.tasks.get_mut(*task as usize) {
                *known = (known.0 + length, *cpu);
            }
        }
        self.write_stat()?;
        for task in stopped.into_iter().filter(|task| !running.iter().any(|(on, _)| on == task)) {
            self.write_task(task, 'S')?;
        }
        for (task, _) in running {
            self.write_task(*task, 'R')?;
        }
        Ok(())
    }

    fn write_task(&self, task: u32, state: char) -> io::Result<()> {
        let Some((run, cpu)) = self.tasks.get(task as usize).copied() else { return Ok(()) };
        let thread = Self::thread(task);
        let ticks = run.as_millis() / TICK.as_millis();
        let stat = format!(
            "{thread} (worker-{task}) {state} 1 {} 1 0 -1 4194304 0 0 0 0 {ticks} 0 0 0 20 0 \
             {THREADS} 0 {} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0\n",
            process(task),
            100 + task
        );
        self.replace(&format!("{}/stat", folder(task)), &stat)?;
        if task.is_multiple_of(THREADS) {
            self.replace(&format!("proc/{}/stat", process(task)), &stat)?;
        }
        // As long every time, so that one write changes it.
        let schedstat = format!("{:<20} 0 {ticks:<10}\n", run.as_nanos());
        let path = self.root.path(&format!("{}/schedstat", folder(task)));
        fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).and_then(
            |file| std::os::unix::fs::FileExt::write_all_at(&file, schedstat.as_bytes(), 0),
        )
    }

    fn write_stat(&self) -> io::Result<()> {
        let ticks = |time: Duration| time.as_millis() / TICK.as_millis();
        let mut text = "cpu  0 0 0 0 0 0 0 0 0 0\n".to_owned();
        for cpu in self.cpus.iter() {
            let (busy, idle) = self.times[&cpu];
            let _ = writeln!(text, "cpu{cpu} {} 0 0 {} 0 0 0 0 0 0", ticks(busy), ticks(idle));
        }
        text.push_str("intr 0\nctxt 0\nbtime 1700000000\nprocesses 1\n");
        self.replace("proc/stat", &text)
    }

    /// Whoever reads sees the old text or the new one, as of the kernel's files.
    fn replace(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.root.path(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        if !path.exists() {
            return fs::write(path, text);
        }
        crate::root::replace(&path, text)
    }
}

fn process(task: u32) -> u32 {
    FIRST + task / THREADS * THREADS
}

fn folder(task: u32) -> String {
    format!("proc/{}/task/{}", process(task), Crowd::thread(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::cpu_times;

    #[test]
    fn tasks_run_where_they_are_let_and_time_is_conserved() {
        let (_folder, root) = crate::fake::written("vm-adjacent");
        let cpus = CpuSet::parse("0-7").expect("list");
        let mut crowd = Crowd::new(&root, &cpus, 10).expect("crowd");
        let before = cpu_times(&root).expect("stat");
        crowd.run(Duration::from_secs(1), &[(5, CpuId(3)), (6, CpuId(2))]).expect("run");
        crowd.run(Duration::from_secs(2), &[(5, CpuId(4))]).expect("run");
        let used = cpu_times(&root).expect("stat").since(&before, &cpus);
        assert!((used.busy_s - 4.0).abs() < 1e-9 && (used.idle_s - 20.0).abs() < 1e-9, "{used:?}");
        let stat = root.text("proc/1004/task/1005/stat").expect("stat");
        assert!(stat.starts_with("1005 (worker-5) R 1 ") && stat.contains(" 17 4 "), "{stat}");
        assert!(root.text("proc/1004/task/1006/stat").expect("stat").contains(") S 1"));
        let run = root.text("proc/1004/task/1005/schedstat").expect("run time");
        assert!(run.starts_with("3000000000 "), "{run}");
    }
}
