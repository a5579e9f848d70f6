//! Hosts of a list, by `ssh`.
//!
//! Of each host one folder below its home is used, `.coretwin-fleet/…`: the plan goes there, the study
//! runs there apart from the connection, the bundle is fetched from there, and then it is taken away.
//! So a connection that dies ends nothing: the study goes on, puts its machine back as it always does,
//! and the next call finds it running or fetches what it left.

use super::child::{Said, is_plain_name, last_words, listen, quoted};
use super::engine::{Call, Engine, Known};
use super::hosts::{SshHost, ssh_hosts, ssh_options};
use super::status::Bundles;
use super::task::unwritable;
use crate::error::Error;
use crate::parallel;
use coretwin_base::caps;
use coretwin_base::fleet::MemberState;
use coretwin_store::Extent;
use coretwin_store::fleet_bundle::FleetBundle;
use coretwin_store::fleet_folder::{BUNDLES, FLEET, bundles_in};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Says that there is no connection, in `ssh`.
const NO_CONNECTION: i32 = 255;
/// Says that there is no such program, in a shell.
const NO_PROGRAM: i32 = 127;
/// What every call is made with, behind the user's own options (the first word counts).
const OPTIONS: [&str; 4] = [
    "-oBatchMode=yes",
    "-oConnectTimeout=15",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
];

const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(clap::Args, Serialize, Deserialize)]
pub(super) struct Ssh {
    /// File with a host a line
    #[serde(skip)]
    #[arg(long = "hosts", value_name = "FILE", help_heading = "ssh")]
    list: Option<PathBuf>,
    /// One a task, in their order.
    #[arg(skip)]
    hosts: Vec<SshHost>,
    /// Hosts side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "ssh")]
    side_by_side: u32,
    /// An option for ssh, repeatable, like --ssh-option=-oUser=bench
    // For every call, before those of the host.
    #[arg(
        id = "ssh_options",
        long = "ssh-option",
        value_name = "OPTION",
        allow_hyphen_values = true,
        help_heading = "ssh"
    )]
    options: Vec<String>,
    /// Copy this machine's program to the hosts, and take it away when they are done
    #[arg(long, conflicts_with = "program", help_heading = "ssh")]
    install: bool,
}

impl Engine for Ssh {
    /// Hosts of a list. More tasks than hosts are shared out in turn.
    fn draw(&mut self, wanted: Option<usize>) -> Result<Vec<String>, String> {
        let file = self.list.as_ref();
        let file = file.ok_or("say which hosts: --hosts FILE, with a host a line")?;
        let text = File::open(file)
            .and_then(|file| caps::HOSTS.text(file))
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let listed = ssh_hosts(&text).map_err(|why| format!("{}: {why}", file.display()))?;
        let count = wanted.unwrap_or(listed.len());
        self.hosts = listed.iter().cycle().take(count).cloned().collect();
        ssh_options(&self.options).map_err(|why| format!("--ssh-option: {why}"))?;
        Ok(self.hosts.iter().map(SshHost::name).collect())
    }

    fn places(&self) -> Option<usize> {
        Some(self.hosts.len())
    }

    fn run(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let ended = AtomicBool::new(false);
        let running: Mutex<BTreeMap<u32, Remote<'_>>> = Mutex::new(BTreeMap::new());
        let one = |&task: &u32| {
            if call.stop.raised() {
                return None;
            }
            let remote = self.remote(call, task);
            let name = remote.host().name();
            held(&running).insert(task, remote);
            let found = remote.run(|what| (call.say)(&format!("{name}: {what}")));
            held(&running).remove(&task);
            let (text, known) = match found {
                Ok(Ended::Done) => ("done".to_owned(), None),
                Ok(Ended::Partial(why)) => {
                    (format!("broken off ({why}); the bundle is partial"), None)
                }
                Err(why) => (why.clone(), Some((task, Known::Failed(why)))),
            };
            (call.say)(&format!("{name}: {text}"));
            known
        };
        std::thread::scope(|scope| {
            // The stop is passed on to the hosts, whose studies then keep what they have and end.
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    if call.stop.raised() {
                        (call.say)("telling the hosts to stop; what they measured is kept");
                        let hosts: Vec<Remote<'_>> = held(&running).values().copied().collect();
                        hosts.iter().for_each(Remote::stop);
                        return;
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            });
            let known = parallel::map_by(self.side_by_side as usize, tasks, one, |_| ());
            ended.store(true, Ordering::Relaxed);
            Ok(known.into_iter().flatten().collect())
        })
    }

    fn look(&self, call: &Call<'_>, tasks: &[u32]) -> Result<BTreeMap<u32, Known>, Error> {
        let bundles = Bundles::of(call.fleet, call.plan).map_err(unwritable)?;
        let one = |&task: &u32| {
            let had = bundles.by_task.contains_key(&task);
            Some((task, self.remote(call, task).look(had)?))
        };
        let known = parallel::map_by(self.side_by_side as usize, tasks, one, |_| ());
        Ok(known.into_iter().flatten().collect())
    }
}

impl Ssh {
    fn remote<'a>(&'a self, call: &'a Call<'a>, task: u32) -> Remote<'a> {
        Remote { ssh: self, call, task }
    }
}

fn held<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A host, and the task that is for it.
#[derive(Clone, Copy)]
struct Remote<'a> {
    ssh: &'a Ssh,
    call: &'a Call<'a>,
    task: u32,
}

enum Ended {
    Done,
    Partial(String),
}

impl Remote<'_> {
    fn host(&self) -> &SshHost {
        &self.ssh.hosts[self.task as usize]
    }

    /// The folder on the host, below the home of the user there.
    fn folder(&self) -> String {
        format!(".coretwin-fleet/{}-{}", self.call.plan.short(), self.task)
    }

    fn coretwin(&self) -> String {
        if self.ssh.install {
            // A path, so that the program finds its worker beside itself.
            return format!("./{}/coretwin", self.folder());
        }
        quoted(&self.call.plan.program)
    }

    fn run(&self, say: impl Fn(&str)) -> Result<Ended, String> {
        let folder = self.folder();
        self.put(&self.call.fleet.path(FLEET), FLEET, "644")?;
        if self.ssh.install {
            say("copying the programs");
            let programs = ["coretwin", "coretwin-worker"]
                .map(|name| (name, self.call.program.with_file_name(name)));
            if let Some((_, missing)) = programs.iter().find(|(_, path)| !path.is_file()) {
                return Err(format!("--install copies {}, which is not there", missing.display()));
            }
            for (name, path) in &programs {
                self.put(path, name, "755")?;
            }
        }
        say("running");
        let run =
            format!("{} fleet run {folder} --here --task {} --apart", self.coretwin(), self.task);
        let answer = self.ask(&run, &[])?;
        let line = answer.out.lines().last().map(str::to_owned);
        match line.as_deref().and_then(|line| line.strip_prefix("bundle: ")) {
            Some(path) => self.fetch(path),
            None => {
                if answer.status.code() == Some(NO_PROGRAM) {
                    // Nothing was run, so nothing there is of use.
                    let _ = self.ask(&format!("rm -rf {folder}"), &[]);
                }
                Err(self.complaint(&answer))
            }
        }
    }

    fn put(&self, path: &Path, name: &str, mode: &str) -> Result<(), String> {
        let bytes = File::open(path).and_then(|file| caps::BUNDLE.read(file));
        let bytes = bytes.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let folder = self.folder();
        let script = format!(
            "umask 077; mkdir -p {folder}/{BUNDLES} && cat > {folder}/.{name}.$$ && \
             chmod {mode} {folder}/.{name}.$$ && mv {folder}/.{name}.$$ {folder}/{name}"
        );
        let answer = self.ask(&script, &bytes)?;
        if answer.status.success() { Ok(()) } else { Err(self.complaint(&answer)) }
    }

    /// Fetches a bundle, reads it whole, and only then takes the folder there away.
    fn fetch(&self, path: &str) -> Result<Ended, String> {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !is_plain_name(&name) {
            return Err(format!("it calls its bundle '{path}', which is no file name"));
        }
        let home = self.call.fleet.path(BUNDLES);
        // In a folder of its own until it is known to be whole; its name is part of what is checked.
        let part = home.join(format!(".part-{}", self.task));
        let kept = self.copy(&part, &name).and_then(|copy| keep(&home, &copy, &name, self));
        let _ = fs::remove_dir_all(&part);
        let state = kept?;
        if state == MemberState::Complete {
            let _ = self.ask(&format!("rm -rf {}", self.folder()), &[]);
        }
        Ok(match state {
            MemberState::Complete => Ended::Done,
            MemberState::Partial(why) => Ended::Partial(why),
        })
    }

    fn copy(&self, part: &Path, name: &str) -> Result<PathBuf, String> {
        let problem = |error: io::Error| format!("cannot write {}: {error}", part.display());
        let path = part.join(name);
        let made = fs::create_dir_all(part).and_then(|()| File::create(&path));
        let mut file = made.map_err(problem)?;
        let script = format!("cat {}/{BUNDLES}/{name}", self.folder());
        let answer = self.hear(&script, &[], |out| {
            let count = io::copy(&mut out.take(caps::BUNDLE.bytes + 1), &mut file)?;
            if count > caps::BUNDLE.bytes { Err(caps::BUNDLE.exceeded()) } else { Ok(()) }
        })?;
        if answer.status.success() { Ok(path) } else { Err(self.complaint(&answer)) }
    }

    fn stop(&self) {
        let Self { task, .. } = self;
        let stop =
            format!("{} fleet run {} --here --task {task} --stop", self.coretwin(), self.folder());
        // If it cannot be told, the study ends by itself and the next look finds it.
        let _ = self.ask(&stop, &[]);
    }

    /// Looks what became of the task; brings home a complete bundle, and one of a task that has none
    /// here yet.
    fn look(&self, had: bool) -> Option<Known> {
        let folder = self.folder();
        let script = format!(
            "test -e {folder}/{FLEET} || exit 0; {} fleet run {folder} --here --task {} --look",
            self.coretwin(),
            self.task
        );
        let answer = match self.ask(&script, &[]) {
            Ok(answer) if answer.status.success() => answer,
            Ok(answer) => return Some(Known::Failed(self.complaint(&answer))),
            Err(why) => return Some(Known::Failed(why)),
        };
        let said = |word: &str| answer.out.lines().find_map(|line| line.strip_prefix(word));
        let bundle = said("bundle: ").filter(|_| !had || said("complete").is_some());
        if let Some(Err(why)) = bundle.map(|path| self.fetch(path)) {
            return Some(Known::Failed(why));
        }
        said("running: ").map(|_| Known::Running(format!("on {}", self.host().name())))
    }

    fn ask(&self, script: &str, input: &[u8]) -> Result<Said<String>, String> {
        let text = |out: &mut ChildStdout| caps::ANSWER.read(out);
        let Said { status, out, err } = self.hear(script, input, text)?;
        Ok(Said { status, out: String::from_utf8_lossy(&out).into_owned(), err })
    }

    /// The same, with its standard output taken as it comes.
    fn hear<T>(
        &self,
        script: &str,
        input: &[u8],
        take: impl FnOnce(&mut ChildStdout) -> io::Result<T>,
    ) -> Result<Said<T>, String> {
        let mut command = Command::new("ssh");
        command
            .args(&self.ssh.options)
            .args(&self.host().options)
            .args(OPTIONS)
            .arg(&self.host().destination)
            // Whatever shell the user has there, it starts this one.
            .arg(format!("exec sh -c {}", quoted(script)))
            .process_group(0);
        let answer = listen(&mut command, input, take).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("cannot run ssh: {error}; install openssh-client"),
            _ => format!("cannot hear ssh: {error}"),
        })?;
        if answer.status.code() == Some(NO_CONNECTION) {
            let said = last_words(&answer.err).unwrap_or_else(|| "ssh said nothing".to_owned());
            return Err(format!(
                "cannot be reached, or the connection died: {said}; the next run goes on with it"
            ));
        }
        Ok(answer)
    }

    fn complaint<T>(&self, answer: &Said<T>) -> String {
        let said = last_words(&answer.err).unwrap_or_else(|| "it said nothing".to_owned());
        match answer.status.code().unwrap_or(-1) {
            NO_PROGRAM => format!(
                "has no {} ({said}); draw the fleet with --program PATH, or with --install",
                self.call.plan.program
            ),
            status => format!("failed with status {status}: {said}"),
        }
    }
}

fn keep(
    home: &Path,
    fetched: &Path,
    name: &str,
    remote: &Remote<'_>,
) -> Result<MemberState, String> {
    let problem = |error: io::Error| format!("cannot move {}: {error}", fetched.display());
    let bundle = FleetBundle::read(fetched, Extent::Report)
        .map_err(|error| format!("its bundle: {error}"))?;
    if (bundle.manifest.fleet.as_str(), bundle.manifest.task)
        != (remote.call.plan.digest.as_str(), remote.task)
    {
        return Err("its bundle is of another fleet or task".to_owned());
    }
    let begin = format!("{}-", bundle.manifest.machine);
    let earlier = bundles_in(home).unwrap_or_default();
    fs::rename(fetched, home.join(name)).map_err(problem)?;
    for other in earlier {
        let of_machine = other.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&begin));
        if !of_machine || other == home.join(name) {
            continue;
        }
        // The partial one of an earlier try of this task; whatever else there is, a merge names.
        if FleetBundle::manifest_of(&other).is_ok_and(|m| m.task == remote.task) {
            let _ = fs::remove_file(other);
        }
    }
    Ok(bundle.manifest.state)
}
