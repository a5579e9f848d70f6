//! `coretwin fleet` on a queue that has not room for every task, or is mistaken for another: a stand-in
//! for Slurm's programs, as accounts with limits take a database that test machines have not.

mod common;

use common::{CORETWIN, Ran};
use coretwin_host::fake;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Takes arrays of so many tasks as `room` says, and refuses the rest with the words of `refusal`.
const SBATCH: &str = r#"#!/bin/sh
tasks=0
for word; do case "$word" in --array=*)
    for range in $(echo "${word#--array=}" | tr , ' '); do
        tasks=$((tasks + ${range#*-} - ${range%-*} + 1))
    done ;;
esac; done
echo "$tasks" >> asked
room=$(cat room)
if [ "$tasks" -gt "$room" ]; then cat refusal >&2; exit 1; fi
echo $((room - tasks)) > room
wc -l < asked
"#;

fn coretwin(folder: &Path, args: &[&str]) -> Ran {
    let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").expect("PATH"));
    let output = Command::new(CORETWIN).args(args).current_dir(folder).env("PATH", path).output();
    let output = output.expect("starts");
    Ran {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A fleet of eight tasks on a cluster with room for so many, that refuses more with these words.
fn cluster(folder: &Path, room: u32, refusal: &str) {
    let bin = folder.join("bin");
    fs::create_dir(&bin).expect("bin");
    for (name, script) in [("sbatch", SBATCH), ("squeue", "#!/bin/sh\n"), ("sacct", "#!/bin/sh\n")]
    {
        fake::program(&bin.join(name), script).expect(name);
    }
    fs::write(folder.join("room"), room.to_string()).expect("room");
    fs::write(folder.join("refusal"), refusal).expect("refusal");
    let plan = ["fleet", "plan", "f", "--engine=slurm", "--tasks=8", "--", "study", "chat"];
    assert_eq!(coretwin(folder, &plan).status, 0);
}

fn asked(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("asked")).expect("asked");
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

#[test]
fn as_many_tasks_are_submitted_as_a_limit_leaves_room_for() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let words = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy \
                 (job submit limit, user's size and/or time limits)\n";
    cluster(folder, 5, words);
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert!(ran.status == 1 && ran.out.contains("5 waiting, 3 failed"), "{ran:?}");
    assert!(ran.out.contains("the queue is full; run it again when there is room"), "{ran:?}");
    assert_eq!(asked(folder), [8, 4, 4, 2, 1, 1], "halved until it fits");
    // Later nobody waits any more, and the refusal is still known.
    let ran = coretwin(folder, &["fleet", "status", "f"]);
    assert!(ran.status == 1 && ran.out.contains("8 missing"), "{ran:?}");
    assert!(ran.out.contains("log/task-7.log ends: Slurm refused it"), "{ran:?}");
    assert!(ran.out.contains("to finish: coretwin fleet run f"), "{ran:?}");
}

#[test]
fn a_queue_that_takes_nothing_is_asked_once() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let words = "sbatch: error: Batch job submission failed: Resource temporarily unavailable\n";
    cluster(folder, 0, words);
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert!(ran.status == 1 && ran.out.contains("8 failed"), "{ran:?}");
    assert_eq!(asked(folder), [8], "sbatch itself has tried for minutes");
    // A mistake is no full queue: where it is mended is told.
    fs::write(folder.join("refusal"), "sbatch: error: invalid partition specified: none\n")
        .expect("refusal");
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert!(ran.out.contains("mend its options in f/fleet.sbatch"), "{ran:?}");
}
