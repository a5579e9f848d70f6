//! `cargo xtask fuzz` and `cargo xtask seeds`: the fuzz targets, one for each parser of outside
//! text, and the small texts they start from.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// A target, with its seeds by name.
struct Target {
    name: &'static str,
    seeds: &'static [(&'static str, &'static str)],
    /// A folder of more seeds, from the root.
    also: Option<&'static str>,
}

/// One for each file in `fuzz/fuzz_targets`.
const TARGETS: &[Target] = &[
    Target {
        name: "btf",
        seeds: &[
            (
                "malformed",
                "N\0\0\0\0\u{1}\0\0\u{d}\0\0\0\0\u{14}\0\0\0\u{3}\0\0\0\u{1}\0\0\0\0\0\0\u{c}\
                 \u{1}\0\0\0\0\0\0\0\0\0\0\u{2}\u{4}\0\0\0\u{18}\0\0\0\0\0\0\u{4}\0\0\0\0\0sc\
                 x_bpf_create_dsq\0aux\0bpf_prog_aux\0",
            ),
            (
                "good",
                "3\0\0\0\0\0\0\0\u{d}\0\0\0\0\u{1}\0\0\0\0\0\0\u{c}\u{1}\0\0\0\0scx_bpf_creat\
                 e_dsq\0aux\0bpf_prog_aux\0",
            ),
        ],
        also: None,
    },
    Target {
        name: "cpulist",
        seeds: &[
            ("range", "0-3,8,10-11\n"),
            ("stride", "0-31:2/4"),
            ("one", "0"),
            ("backwards", "3-1"),
            ("far", "65535,65536"),
        ],
        also: None,
    },
    Target {
        name: "cpuinfo",
        seeds: &[
            (
                "x86",
                "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\n\
                 cpu MHz\t\t: 1600.382\nphysical id\t: 0\nsiblings\t: 2\ncore id\t\t: 0\n\
                 cpu cores\t: 1\nmicrocode\t: 0x23\nflags\t\t: fpu vme ht\n   tm\n\n\
                 processor\t: 1\nphysical id\t: 0\ncore id\t\t: 0\n",
            ),
            ("power", "processor\t: 8\ncpu\t\t: POWER9\nclock\t\t: 3800.000000MHz\n\n"),
            ("arm", "processor\t: 0\nCPU part\t: 0xd0c\n"),
            ("s390", "processor 0: version = FF, identification = 0A, machine = 3906\n"),
        ],
        also: None,
    },
    Target {
        name: "journal",
        seeds: &[
            (
                "reading",
                r#"{"schema":1,"seq":0,"phase":"study","block":0,"switch":0,"attempt":0,"arm":"on","row":"chat rooms=10","workload":"chat","params":{"rooms":10},"placement_asked":"free","cpus_ran":[0,1],"status":"ok","value":144167.0,"unit":"messages/s","better":"higher","metrics":{"p":{"value":1.5,"unit":"s","better":"lower"}},"operations":400000,"elapsed_s":2.8,"user_s":1.1,"system_s":3.9,"steal_s":0.0,"threads":800,"copies":1,"checks":{"totals":true},"env":"0"}"#,
            ),
            (
                "failed",
                r#"{"schema":1,"seq":7,"block":2,"switch":5,"attempt":1,"arm":"cpus:0","row":"command","workload":"command","placement_asked":"free","status":"failed","cause":"exit status 3","value":null,"unit":"s","better":"lower","elapsed_s":0.1,"user_s":0,"system_s":0,"threads":1,"output":"no","env":"0"}"#,
            ),
            ("newer", r#"{"schema":99,"seq":0}"#),
            ("torn", r#"{"schema":1,"seq":3,"block"#),
        ],
        also: None,
    },
    Target {
        name: "table",
        seeds: &[
            (
                "times",
                "n,ms_a,ms_b,speedup_pct\nx,10.0,5.0,100\ny,9.0,6.0,5\ngeomean,9.49,5.48,73\n",
            ),
            ("ratio", "n,a,b,ratio\nx,\"1,000\",2000,2.0\n\ny,3,-1,0.3\n"),
            ("sums", "rooms,connections,x_a,x_b,x_total\n1,20,3,4,7\n2,40,3,4,8\n3,60,1,1,2\n"),
            ("cpu", "run,real_s,user_s,system_s\n1,10.28,10.05,0.24\n2,9.9,10.05,0.2\n3,8,7,0\n"),
        ],
        also: Some("data/article"),
    },
    Target {
        name: "load",
        seeds: &[
            (
                "file",
                "# one file\nDeltree \"\\clients\\client1\" NT_STATUS_OK\n\
                 Mkdir \"\\clients\" 0x0\n\
                 NTCreateX \"\\clients\\client1\\a b\" 0x40 0x2 9938 NT_STATUS_OK\n\
                 WriteX 9938 65534 1 1 NT_STATUS_OK\nReadX 9938 0 512 512 NT_STATUS_OK\n\
                 LockX 9938 2147483538 1 NT_STATUS_OK\nFlush 9938 *\nClose 9938 SUCCESS\n",
            ),
            (
                "names",
                "0.5 Rename \"/a\" \"/b\" 0xC0000034\nUnlink \"/a\" 0x6 NT_STATUS_OK\n\
                 FIND_FIRST \"/*\" 260 1366 0 NT_STATUS_NO_SUCH_FILE\n\
                 QUERY_PATH_INFORMATION \"/a\" 1004 NT_STATUS_OK\nSleep 10 0x0\n",
            ),
            ("old", "SMBopenX REQUEST 0 0 0 NAME\n"),
            ("outside", "Unlink \"/a/../../b\" 0 0x0\n"),
        ],
        also: None,
    },
    Target {
        name: "perf_stat",
        seeds: &[
            (
                "table",
                " Performance counter stats for 'x':\n\n  9,000,000 instructions:u  # 2.25 insn per cycle\n  \
                 4,000,000 cycles:u\n  1,800,000 branches:u\n  54,000 branch-misses:u\n  \
                 <not supported> LLC-load-misses:u\n\n  1.07 seconds time elapsed\n",
            ),
            (
                "commas",
                "9000000,,instructions:u,1069410000,100.00,2.25,insn per cycle\n\
                 1900000,,L1-dcache-loads:u,1069410000,100.00,,\n\
                 190000,,L1-dcache-load-misses:u,1069410000,100.00,,\n",
            ),
            (
                "json",
                "{\"counter-value\" : \"9000000\", \"unit\" : \"\", \"event\" : \"instructions:u\"}\n\
                 {\"counter-value\" : \"<not counted>\", \"event\" : \"branches:u\"}\n",
            ),
        ],
        also: None,
    },
    Target {
        name: "preset",
        seeds: &[("short", "name = \"x\"\ntitle = \"y\"\n[core]\nclock = { mhz = -1 }\n")],
        also: Some("crates/sim/presets"),
    },
    Target {
        name: "profile",
        seeds: &[("short", "name = \"x\"\ntitle = \"y\"\n[mix]\nload = 2.0\n")],
        also: Some("crates/sim/profiles"),
    },
    Target {
        name: "rt_app",
        seeds: &[
            (
                "file",
                "{\"global\": {\"duration\": 2, \"default_policy\": \"SCHED_OTHER\"},\n \"tasks\": {\"a\": \
                 {\"instance\": 2, \"loop\": -1, \"phases\": {\"p\": {\"loop\": 3, \"run\": 1000, \
                 \"sleep\": 500, \"lock\": \"m\", \"unlock\": \"m\"}}}}}\n",
            ),
            ("empty", "{\"tasks\": {}}"),
        ],
        also: None,
    },
    Target {
        name: "scenario",
        seeds: &[(
            "short",
            "name = \"x\"\ntitle = \"y\"\nabout = \"z\"\ntopology = \"2x2\"\nslowdown = 1.6\nuntil_ms = \
             10\n[[program]]\nname = \"p\"\nsteps = [{ compute_us = 5 }, { repeat = 3, steps = [] }]\n",
        )],
        also: Some("crates/sim/scenarios"),
    },
    Target {
        name: "tbench",
        seeds: &[
            ("first", "\0\0\0\u{4}\0\0\0\u{4}"),
            ("second", "\0\0\0\u{4}\0\0\0\u{4}\0\0\0\u{9}\0\0\u{10}7abcde"),
            ("stranger", "GET / HTTP/1.1\r\n\r\n"),
        ],
        also: None,
    },
    Target {
        name: "fit",
        seeds: &[(
            "short",
            "machine = \"x\"\npreset = \"0\"\nversion = 1\nfitted_to = \"y\"\nfree_parameters = \
                 0\n[costs]\n[work]\n[service]\n[[residual]]\ncell = \"chat:rooms=1\"\npublished = \
                 1.0\nsimulated = -1\n",
        )],
        also: Some("crates/sim/fits"),
    },
    Target {
        name: "fleet_bundle",
        seeds: &[
            (
                "study",
                "{\"schema\":1,\"coretwin\":\"0\",\"fleet\":\"0\",\"task\":0,\"machine\":\"0123456789abcdef\"\
                 ,\"name\":\"a\",\"holds\":\"study\",\"state\":\"complete\",\"files\":{}}\0\0journal.jsonl\0\
                 \0{\"schema\":1,\"seq\":0,\"block\":0,\"switch\":0,\"attempt\":0,\"arm\":\"on\",\"row\":\"x\
                 \",\"workload\":\"x\",\"placement_asked\":\"free\",\"status\":\"ok\",\"value\":1.5,\"unit\":\
                 \"s\",\"better\":\"lower\",\"elapsed_s\":1.5,\"user_s\":1,\"system_s\":0,\"threads\":1,\"env\
                 \":\"0\"}\n",
            ),
            (
                "outside",
                "{\"schema\":1,\"coretwin\":\"0\",\"fleet\":\"0\",\"task\":0,\"machine\":\"0123456789abcdef\"\
                 ,\"name\":\"a\",\"holds\":\"study\",\"state\":\"complete\",\"files\":{}}\0\0../a\0\0x",
            ),
            ("file", "f"),
            (
                "archive",
                "tmanifest.json\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
                 \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
                 \x000000644\0",
            ),
        ],
        also: None,
    },
    Target {
        name: "fleet_plan",
        seeds: &[
            (
                "ssh",
                "{\"schema\":1,\"digest\":\"0000000000000000000000000000000000000000000000000000000000000000\
                 \",\"coretwin\":\"0\",\"engine\":{\"name\":\"ssh\",\"hosts\":[{\"destination\":\"a\",\"optio\
                 ns\":[\"-p\",\"22\"]}],\"side_by_side\":1,\"options\":[],\"install\":false},\"program\":\"co\
                 retwin\",\"subject\":{\"study\":[\"chat\"]},\"seed\":1,\"tasks\":[{\"number\":0,\"name\":\"a\
                 \",\"seed\":2}]}",
            ),
            (
                "slurm",
                "{\"schema\":1,\"digest\":\"0000000000000000000000000000000000000000000000000000000000000000\
                 \",\"coretwin\":\"0\",\"engine\":{\"name\":\"slurm\",\"places\":[\"any\"],\"warn_s\":60,\"op\
                 tions\":[]},\"program\":\"coretwin\",\"subject\":{\"study\":[\"chat\"]},\"seed\":1,\"tasks\"\
                 :[{\"number\":0,\"name\":\"a\",\"seed\":2}]}",
            ),
        ],
        also: None,
    },
    Target {
        name: "hosts",
        seeds: &[
            ("ssh", "# mine\nroot@a:2222 -i key\nfe80::1\n"),
            ("nodes", "a,n[08-10,2]x, b[1-2]c[1-2]"),
            ("features", "zen4=2,icx"),
            ("option", "-oProxyCommand=x"),
        ],
        also: None,
    },
    Target {
        name: "import",
        seeds: &[
            (
                "hyperfine",
                "{\"results\":[{\"command\":\"make\",\"mean\":2.0,\"user\":1.5,\"system\":0.3,\"times\":[1.9,\
                 2.1],\"parameters\":{\"jobs\":\"8\"}},{\"command\":\"a\",\"times\":[1.0]}]}",
            ),
            (
                "phoronix",
                "<PhoronixTestSuite><Result><Title>a &amp; \
                 b</Title><Description/><Scale>MIPS</Scale><Proportion>HIB</Proportion><Data><Entry><Identif\
                 ier>on</Identifier><Value>5</Value><RawString>4:5:6</RawString></Entry><Entry><Identifier>of\
                 f</Identifier><Value>4</Value></Entry></Data></Result></PhoronixTestSuite>",
            ),
        ],
        also: None,
    },
    Target {
        name: "machine",
        seeds: &[("short", "name = \"x\"\ntitle = \"y\"\nprocessor = \"zen4\"\npackages = -1\n")],
        also: Some("crates/sim/machines"),
    },
    Target {
        name: "proc",
        seeds: &[
            (
                "looks",
                "cpu  9 0 9 9\ncpu0 100 0 50 1000 5 1 2 0 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 0\n1 (a) b) R \
                 1 1 1 0 -1 4194304 0 0 0 0 7 3 0 0 20 0 2 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 \
                 0\nTgid:\t1\nCpus_allowed_list:\t0-1\n0::/a/b\nsome avg10=1.50 avg60=0 total=1\n5000000 0 \
                 3\n\0cpu  9 0 9 9\ncpu0 190 0 50 1900 5 1 2 0 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 0\n1 \
                 (a) b) R 1 1 1 0 -1 4194304 0 0 0 0 9 4 0 0 20 0 2 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 \
                 1 0 0 0 0 0\nTgid:\t1\nCpus_allowed_list:\t0-1\n0::/a/b\nsome avg10=1.50 avg60=0 \
                 total=1\n9000000 0 3\n",
            ),
            (
                "thread",
                "1 (a) b) R 1 1 1 0 -1 4194304 0 0 0 0 7 3 0 0 20 0 2 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 \
                 1 0 0 0 0 0\n\x001 (a) b) R 1 1 1 0 -1 4194304 0 0 0 0 7 3 0 0 20 0 2 0 100 0 0 0 0 0 0 0 0 \
                 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n",
            ),
            (
                "most",
                "0.1 0.2 0.3 1/2 4294967295\ncpu0 18446744073709551615 1 1\n18446744073709551615 0 0\n",
            ),
        ],
        also: None,
    },
    Target {
        name: "siblings",
        seeds: &[
            ("two", "0+1,2+3"),
            ("ranges", "2+0, 4+5-6"),
            ("twice", "0+1,1+2"),
            ("absent", "0+99"),
        ],
        also: None,
    },
    Target {
        name: "sweep",
        seeds: &[(
            "short",
            "name = \"x\"\ntitle = \"y\"\nreference = \"fair\"\npolicies = [\"fair\"]\ntopologies = \
                 [\"1x2\"]\nscenarios = [\"make-j2\"]\nseeds = 0\nmeasures = []\n",
        )],
        also: Some("crates/sim/sweeps"),
    },
];

/// Minutes for a target where none are given.
const MINUTES: u64 = 10;
/// Gives another number of minutes.
const VARIABLE: &str = "CORETWIN_FUZZ_MINUTES";

/// Writes the seeds.
pub(crate) fn seeds(root: &Path) -> Result<bool> {
    for target in TARGETS {
        let folder = root.join("fuzz/seeds").join(target.name);
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        for (name, text) in target.seeds {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
    }
    Ok(true)
}

/// Fuzzes one target or all, one after the other; whether none crashed.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let (seconds, names): (Vec<&String>, Vec<&String>) =
        arguments.iter().partition(|argument| argument.parse::<u32>().is_ok());
    let seconds = match seconds.first() {
        Some(text) => (*text).clone(),
        None => crate::minutes(VARIABLE, MINUTES)?.as_secs().to_string(),
    };
    for name in &names {
        if !TARGETS.iter().any(|target| target.name == *name) {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            bail!("there is no fuzz target '{name}'; known are: {}", known.join(", "));
        }
    }
    let wanted = |target: &&Target| names.is_empty() || names.iter().any(|n| *n == target.name);
    PROGRAMS.iter().try_for_each(present)?;
    let waiting = Mutex::new(TARGETS.iter().filter(wanted));
    // A fuzzer keeps one CPU busy: as many side by side as there are.
    let lane = || -> Result<bool> {
        let mut sound = true;
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(target) = next() {
            sound &= fuzz(root, target, &seconds)?;
        }
        Ok(sound)
    };
    std::thread::scope(|scope| {
        let lanes = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().try_fold(true, |sound, lane| {
            Ok(lane.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault))? && sound)
        })
    })
}

/// What fuzzing needs beside what tests need: what shows that it is there, and what installs it.
const PROGRAMS: &[[&[&str]; 2]] = &[
    [&["c++", "--version"], &["apt-get", "-qq", "install", "-y", "--no-install-recommends", "g++"]],
    [
        &["cargo", "+nightly", "--version"],
        &["rustup", "toolchain", "install", "nightly", "--profile", "minimal"],
    ],
    [&["cargo", "fuzz", "--version"], &["cargo", "install", "--quiet", "--locked", "cargo-fuzz"]],
];

/// Installs a program that is missing, and says so.
fn present([shown, installed]: &[&[&str]; 2]) -> Result<()> {
    let runs = |words: &[&str], quiet: bool| {
        let output = || if quiet { Stdio::null() } else { Stdio::inherit() };
        let mut command = Command::new(words[0]);
        let status = command.args(&words[1..]).stdout(output()).stderr(output()).status();
        status.is_ok_and(|status| status.success())
    };
    if runs(shown, true) {
        return Ok(());
    }
    let how = installed.join(" ");
    crate::print(&format!("fuzz: {} does not run; {how}\n", shown.join(" ")));
    if !runs(installed, false) {
        bail!(
            "that failed, its reason is above; fuzzing needs a C++ compiler, Rust's nightly toolchain and cargo-fuzz"
        );
    }
    Ok(())
}

fn fuzz(root: &Path, target: &Target, seconds: &str) -> Result<bool> {
    let corpus = format!("fuzz/corpus/{}", target.name);
    std::fs::create_dir_all(root.join(&corpus)).with_context(|| format!("making {corpus}"))?;
    let seeds = format!("fuzz/seeds/{}", target.name);
    let mut child = Command::new("cargo")
        .args(["+nightly", "fuzz", "run", target.name, &corpus, &seeds])
        .args(target.also)
        .args(["--", &format!("-max_total_time={seconds}"), "-timeout=20", "-print_final_stats=1"])
        .current_dir(root)
        .stderr(Stdio::piped())
        .spawn()
        .context("starting cargo")?;
    let said = BufReader::new(child.stderr.take().context("no output to read")?);
    for line in said.split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        crate::print(&format!("{}: {line}\n", target.name));
        if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            crate::print(&format!("did: {} fuzz inputs\n", count.trim()));
        }
    }
    let status = child.wait()?;
    if !status.success() {
        crate::print(&format!(
            "{}: the run ended badly. If it did not start, its reason is above; if it crashed, the \
             input is in fuzz/artifacts.\n",
            target.name
        ));
    }
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_target_and_its_seeds_are_those_on_disk() {
        let root = crate::root();
        let mut files: Vec<String> = std::fs::read_dir(root.join("fuzz/fuzz_targets"))
            .expect("targets")
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let mut named: Vec<String> =
            TARGETS.iter().map(|target| format!("{}.rs", target.name)).collect();
        named.sort();
        assert_eq!(files, named);
        for target in TARGETS {
            for (name, text) in target.seeds {
                let path = root.join("fuzz/seeds").join(target.name).join(name);
                let found = std::fs::read_to_string(&path).expect("run cargo xtask seeds");
                assert_eq!(found, *text, "{}: run cargo xtask seeds", path.display());
            }
        }
    }

    #[test]
    fn an_unknown_target_is_refused_by_name() {
        let error = run(Path::new("/"), &["tabel".to_owned()]).expect_err("unknown").to_string();
        assert!(error.contains("'tabel'") && error.contains("table"), "{error}");
    }
}
