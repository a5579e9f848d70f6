//! `coretwin fleet` on a real Slurm: a controller and two nodes on this machine, one of which is killed
//! in the middle of its study and put back into the queue.

#![expect(clippy::print_stdout, reason = "what is skipped is said")]

mod common;

use common::{Ran, coretwin};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for what must come; far more than it takes.
const PATIENCE: Duration = Duration::from_secs(400);

/// A cluster in a folder.
struct Cluster {
    folder: PathBuf,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for name in ["slurmd-n1", "slurmd-n2", "slurmctld", "munged"] {
            self.kill(name, "-TERM");
        }
    }
}

fn made(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|end| end.success())
}

impl Cluster {
    /// Starts it; none, with a word, where there is no Slurm.
    fn start(folder: &Path) -> Option<Self> {
        for program in ["slurmctld", "slurmd", "munged", "sbatch"] {
            if !made(Command::new("sh").args(["-c", &format!("command -v {program}")])) {
                println!(
                    "skipped: there is no {program}; Slurm is in the packages slurmctld, slurmd, \
                     slurm-client and munge"
                );
                return None;
            }
        }
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root starts slurmd");
            return None;
        }
        let munge = folder.join("munge");
        fs::create_dir_all(folder.join("state")).expect("state");
        fs::create_dir(&munge).expect("munge");
        fs::write(munge.join("key"), [7; 1024]).expect("key");
        for (path, mode) in [(&munge, "700"), (&munge.join("key"), "600")] {
            assert!(made(Command::new("chmod").arg(mode).arg(path)), "chmod");
        }
        let file = |option: &str, name: &str| format!("--{option}={}", munge.join(name).display());
        let cluster = Self { folder: folder.to_owned() };
        let mut munged = Command::new("munged");
        munged.args(["--force", &file("key-file", "key"), &file("socket", "socket")]);
        munged.args([&file("log-file", "log"), &file("seed-file", "seed")]);
        munged.arg(format!("--pid-file={}", folder.join("munged.pid").display()));
        assert!(made(&mut munged), "munged: {}", cluster.log("munge/log"));
        cluster.configure();
        assert!(made(cluster.slurm("slurmctld").args(["-i", "-c"])), "slurmctld");
        ["n1", "n2"].iter().for_each(|node| cluster.start_node(node));
        cluster.until("both nodes are idle", |cluster| cluster.nodes("idle") == 2);
        Some(cluster)
    }

    fn configure(&self) {
        let held = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [controller, n1, n2] =
            [0, 1, 2].map(|index: usize| held[index].local_addr().expect("address").port());
        let at = self.folder.display();
        // A requeued job waits until its old credential is no longer valid: two minutes as a rule.
        let text = format!(
            "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={controller}\n\
             SlurmUser=root\nAuthType=auth/munge\nCredType=cred/munge\n\
             AuthInfo=socket={at}/munge/socket,cred_expire=5\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool-%n\nSlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmdPidFile={at}/slurmd-%n.pid\nSlurmctldLogFile={at}/slurmctld.log\n\
             SlurmdLogFile={at}/slurmd-%n.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nSlurmdTimeout=300\nKillWait=30\n\
             MailProg=/bin/true\nSwitchType=switch/none\nMpiDefault=none\n\
             NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={n1}\n\
             NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={n2}\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(self.folder.join("slurm.conf"), text).expect("slurm.conf");
    }

    fn slurm(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    fn start_node(&self, node: &str) {
        assert!(made(self.slurm("slurmd").args(["-N", node])), "{}", self.log("slurmd-n1.log"));
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    fn said(&self, program: &str, args: &[&str]) -> String {
        let output = self.slurm(program).args(args).output().expect(program);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn nodes(&self, state: &str) -> usize {
        self.said("sinfo", &["-h", "-N", "-t", state, "-o", "%N"]).lines().count()
    }

    fn kill(&self, name: &str, signal: &str) {
        let pid = self.log(&format!("{name}.pid"));
        if let Ok(pid) = pid.trim().parse::<u32>() {
            made(Command::new("kill").args([signal, &pid.to_string()]));
        }
    }

    /// Runs the program as a user of the cluster.
    fn coretwin(&self, args: &[&str]) -> Ran {
        let output = self
            .slurm(common::CORETWIN)
            .args(args)
            .current_dir(&self.folder)
            .output()
            .expect("starts");
        Ran {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn until(&self, what: &str, fits: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !fits(self) {
            let late = began.elapsed() > PATIENCE;
            assert!(
                !late,
                "waited for '{what}' in vain\n{}\n{}\n{}\n{}",
                self.said("squeue", &["--states=all"]),
                self.said("sinfo", &[]),
                self.log("f/log/task-0.log"),
                self.log("f/log/task-1.log"),
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Folder of the task on its node, once it is there.
    fn task(&self, number: u32) -> Option<PathBuf> {
        let begin = format!("task-{number:04}-");
        let all = fs::read_dir(self.folder.join("f/work")).ok()?;
        let mut all = all.flatten().map(|entry| entry.path());
        all.find(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&begin)))
    }

    fn journal(&self, task: u32) -> String {
        let path = self.task(task).map(|folder| folder.join("study/journal.jsonl"));
        path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    }

    /// Kills a node with all that runs on it, as a power failure does.
    fn kill_node(&self, node: &str, task: u32) {
        self.kill(&format!("slurmd-{node}"), "-KILL");
        let lock = self.task(task).expect("folder").join("lock");
        let study = fs::read_to_string(lock).expect("lock");
        let study = study.trim();
        let status = fs::read_to_string(format!("/proc/{study}/status")).expect("the study runs");
        let step =
            status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("parent").trim();
        for id in [step, study] {
            made(Command::new("kill").args(["-KILL", id]));
        }
    }
}

const STUDY: [&str; 6] =
    ["study", "--no-warmup", "--blocks=6", "--others-limit=100%", "--steal-limit=100%", "--"];

#[test]
fn a_node_is_killed_in_the_middle_of_its_study_and_nothing_is_lost_or_doubled() {
    let scratch = tempfile::tempdir().expect("folder");
    // Slurm's daemons refuse folders that others cannot pass.
    assert!(made(Command::new("chmod").arg("755").arg(scratch.path())), "chmod");
    let Some(cluster) = Cluster::start(scratch.path()) else { return };
    // The study goes on once the test has killed its node, so that it cannot be too late.
    let go = scratch.path().join("go");
    let line = format!("until test -e {}; do sleep 0.05; done", go.display());
    let head = ["fleet", "plan", "f", "--engine=slurm", "--nodes=n[1-2]", "--time=60", "--"];
    let guarded = format!(
        "test $(grep -c . {}/f/work/task-*/study/journal.jsonl | cut -d: -f2 | sort -n | tail -n 1) \
         -lt 3 || {{ {line}; }}",
        scratch.path().display()
    );
    let ran = cluster.coretwin(&[&head[..], &STUDY, &["sh", "-c", &guarded]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = cluster.coretwin(&["fleet", "run", "f"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains("2 waiting"), "{ran:?}");
    // Submitted twice is submitted once.
    let again = cluster.coretwin(&["fleet", "run", "f"]);
    assert!(!again.err.contains(": job "), "{again:?}");

    let lines = |task: u32| cluster.journal(task).lines().count();
    cluster.until("a study is under way", |_| lines(0).max(lines(1)) >= 3);
    let killed = u32::from(lines(1) > lines(0));
    let node = ["n1", "n2"][killed as usize];
    let before = cluster.journal(killed);
    cluster.kill_node(node, killed);
    let set = format!("nodename={node}");
    cluster.said("scontrol", &["update", &set, "state=down", "reason=killed"]);
    fs::write(&go, "").expect("go");
    cluster.start_node(node);
    cluster.said("scontrol", &["update", &set, "state=resume"]);
    cluster.until("every task is done", |cluster| {
        cluster.coretwin(&["fleet", "status", "f"]).status == 0
    });

    let after = cluster.journal(killed);
    let whole: String = before.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    assert!(after.starts_with(&whole) && after.len() > whole.len(), "what was measured is kept");
    let environment = cluster.task(killed).expect("folder").join("study/environment.json");
    let environment: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(environment).expect("text")).expect("JSON");
    assert_eq!(environment["sessions"].as_array().map(Vec::len), Some(2), "it was gone on with");

    let ran = cluster.coretwin(&["fleet", "merge", "f"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let members = fs::read_to_string(scratch.path().join("f/merged/members.jsonl")).expect("text");
    let members: Vec<serde_json::Value> =
        members.lines().map(|line| serde_json::from_str(line).expect("member")).collect();
    let names: Vec<&str> = members.iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.len() == 2 && names.contains(&"n1") && names.contains(&"n2"), "{names:?}");
    for member in &members {
        assert_eq!(member["state"], "complete");
        assert_eq!(member["effects"][0]["blocks"], 6, "every block once");
    }
    let ran = cluster.coretwin(&["fleet", "report", "f"]);
    assert_eq!(ran.status, 0, "{ran:?}");
}

#[test]
fn a_job_that_slurm_refuses_is_told_and_the_others_go_on() {
    let scratch = tempfile::tempdir().expect("folder");
    assert!(made(Command::new("chmod").arg("755").arg(scratch.path())), "chmod");
    let Some(cluster) = Cluster::start(scratch.path()) else { return };
    let head = ["fleet", "plan", "f", "--engine=slurm", "--nodes=n1,n9", "--"];
    let study = ["study", "--no-warmup", "--blocks=1", "--others-limit=100%", "--", "true"];
    assert_eq!(cluster.coretwin(&[&head[..], &study].concat()).status, 0);
    let ran = cluster.coretwin(&["fleet", "run", "f"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.contains("1 waiting, 1 failed"), "{ran:?}");
    assert!(ran.out.contains("Slurm refused it"), "{ran:?}");
    cluster.until("the other is done", |cluster| {
        cluster.coretwin(&["fleet", "status", "f", "--offline"]).out.contains("1 done")
    });
    // Without its cluster a fleet can still be looked at, and not run.
    let alone = coretwin(scratch.path(), &["fleet", "status", "f"]);
    assert!(alone.status == 1 && alone.out.contains("1 done"), "{alone:?}");
}
