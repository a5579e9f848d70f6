//! dbench and tbench beside those of the Debian package `dbench`, on this machine: the same load
//! file, files in memory, loopback, interleaved pairs in alternating order; the ratio of what was
//! moved, with its interval.
//!
//! Both sides are placed alike. Left to the scheduler, client and server of tbench meet on one CPU or
//! do not, from one run to the next, and its results are of two kinds; so it runs on one CPU, and
//! with the server on the first and all clients on the second.
//!
//! Both warm up alike, a fifth of the time in whole seconds, as theirs does. Below five seconds that
//! is none, and the first second, in which all clients are at the same place of the load, moves a
//! third more than those after it.
//!
//! `cargo bench -p coretwin-workloads --bench dbench [-- NAME=VALUE …]` with `seconds=6`, `pairs=5`,
//! `clients=1,2,4,8`, `load=/usr/share/dbench/client.txt` (or `netbench`), `only=dbench` or `tbench`,
//! `placement=free`, `same-cpu` or `cores` (several with `+`; default: dbench free, tbench the
//! others). That takes fifteen minutes.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

#[path = "../tests/common/load_text.rs"]
mod load_text;
mod support;

use coretwin_base::machine::placement::Placement;
use coretwin_workloads::dbench::load;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use support::{Options, Trouble, mean, ratio};

fn main() -> ExitCode {
    support::main(compare)
}

fn compare(options: &Options) -> Result<(), Trouble> {
    let option = |name: &str, default: &str| options.get(name, default);
    let seconds: u32 = option("seconds", "6").parse()?;
    if seconds < 5 {
        return Err("below seconds=5 theirs does not warm up".into());
    }
    let pairs: usize = option("pairs", "5").parse()?;
    let only = option("only", "both");
    let place = tempfile::Builder::new().prefix("bench-dbench-").tempdir_in("/dev/shm")?;
    let mut load = option("load", "/usr/share/dbench/client.txt");
    if !load.starts_with('/') {
        let path = place.path().join("load.txt");
        let text =
            load_text::text_of(&load::find(&load, 1)?).ok_or("Debian's cannot read this load")?;
        std::fs::write(&path, text)?;
        load = path.to_string_lossy().into_owned();
    }
    println!("load {load}, {seconds} s, {pairs} pairs, files on tmpfs");
    println!(
        "{:<8} {:<9} {:>7}  {:>10} {:>10}  ratio (95 %)",
        "", "placement", "clients", "ours MB/s", "theirs"
    );
    for (program, placements) in [("dbench", "free"), ("tbench", "same-cpu+cores")] {
        if only != "both" && only != program {
            continue;
        }
        for name in option("placement", placements).split('+') {
            let placement = Placement::ALL
                .into_iter()
                .find(|placement| placement.name() == name)
                .ok_or("there is no such placement")?;
            for clients in option("clients", "1,2,4,8").split(',') {
                let (load, place) = (load.as_str(), place.path());
                let run = Run { program, placement, clients, seconds, load, place };
                println!("{program:<8} {name:<9} {}", run.compare(pairs)?);
            }
        }
    }
    Ok(())
}

struct Run<'a> {
    program: &'static str,
    placement: Placement,
    clients: &'a str,
    seconds: u32,
    load: &'a str,
    place: &'a Path,
}

impl Run<'_> {
    /// Runs so many pairs; the rest of a line of the table.
    fn compare(&self, pairs: usize) -> Result<String, Trouble> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            if pair % 2 == 0 {
                ours.push(self.ours()?);
                theirs.push(self.theirs()?);
            } else {
                theirs.push(self.theirs()?);
                ours.push(self.ours()?);
            }
        }
        let (ratio, low, high) = ratio(&ours, &theirs);
        Ok(format!(
            "{:>7}  {:>10.1} {:>10.1}  {ratio:.3} ({low:.3} to {high:.3})",
            self.clients,
            mean(&ours),
            mean(&theirs)
        ))
    }

    /// The CPU of the server (or of all) and that of the clients; none: free.
    fn cpus(&self) -> Option<[u32; 2]> {
        match self.placement {
            Placement::Free => None,
            Placement::SameCpu => Some([0, 0]),
            _ => Some([0, 1]),
        }
    }

    /// A program of theirs where it belongs.
    fn their(&self, program: &str, role: usize) -> Command {
        match self.cpus() {
            None => Command::new(program),
            Some(cpus) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &cpus[role].to_string(), program]);
                command
            }
        }
    }

    fn ours(&self) -> Result<f64, Trouble> {
        let Self { program, placement, clients, seconds, load, .. } = self;
        let folder = tempfile::tempdir_in(self.place)?;
        let dir = match *program {
            "dbench" => format!(",dir={}", folder.path().display()),
            _ => String::new(),
        };
        let warmup = seconds / 5;
        let row = format!(
            "{program}:clients={clients},mode=timed,seconds={seconds},warmup={warmup},loadfile={load}{dir}"
        );
        let cpus: Vec<u32> = (0..std::thread::available_parallelism()?.get() as u32).collect();
        let roles = self.cpus();
        let roles = roles.as_ref().map_or(&[][..], |roles| roles);
        support::run(&row, &cpus, *placement, roles)?.value.ok_or_else(|| "no value".into())
    }

    fn theirs(&self) -> Result<f64, Trouble> {
        let folder = tempfile::tempdir_in(self.place)?;
        let server = (self.program == "tbench").then(|| self.their_server()).transpose()?;
        let mut command = self.their(self.program, 1);
        command.args(["-t", &self.seconds.to_string(), "-c", self.load]);
        match server {
            Some(_) => command.args([self.clients, "127.0.0.1"]),
            None => command.arg("-D").arg(folder.path()).arg(self.clients),
        };
        let output = command.output().map_err(|error| {
            format!("{}: {error}; is the Debian package dbench installed?", self.program)
        });
        if let Some(mut server) = server {
            server.kill()?;
            server.wait()?;
        }
        let said = String::from_utf8(output?.stdout)?;
        let line = said.lines().find_map(|line| line.strip_prefix("Throughput "));
        let rate = line.and_then(|line| line.split(' ').next()).ok_or("no throughput")?;
        Ok(rate.parse()?)
    }

    fn their_server(&self) -> Result<Child, Trouble> {
        let address = "127.0.0.1:7003";
        // The processes of connections of the server before have the port until they have ended.
        let until = Instant::now() + Duration::from_secs(10);
        while let Err(error) = std::net::TcpListener::bind(address) {
            if Instant::now() >= until {
                return Err(format!("their server needs {address}: {error}").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut server = self.their("tbench_srv", 0).stdout(Stdio::null()).spawn()?;
        while std::net::TcpStream::connect(address).is_err() {
            if let Some(status) = server.try_wait()? {
                return Err(format!("their server has ended: {status}").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}
