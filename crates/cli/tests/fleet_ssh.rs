//! `coretwin fleet` over ssh, against a server of its own on this machine: several hosts, one that is
//! not there, a connection that dies, a program that is missing.

#![expect(clippy::print_stdout, reason = "what is skipped is said")]

mod common;

use common::{CORETWIN, Ran, coretwin};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for what must come; far more than it takes.
const PATIENCE: Duration = Duration::from_secs(300);

const SSHD: &str = "/usr/sbin/sshd";

/// A server with two "hosts": two ports, each with a home and a name of its own.
struct Server {
    child: Child,
    folder: PathBuf,
    ports: [u16; 2],
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_ports() -> [u16; 2] {
    let held = [0; 2].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    [0, 1].map(|index| held[index].local_addr().expect("address").port())
}

fn made(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|end| end.success())
}

impl Server {
    /// Starts it; none, with a word, where there is no server to start.
    fn start(folder: &Path) -> Option<Self> {
        if !Path::new(SSHD).exists() {
            println!("skipped: there is no {SSHD}; it is in the package openssh-server");
            return None;
        }
        // The server wants it; only root can make it, and only root's server needs it.
        let _ = fs::create_dir_all("/run/sshd");
        for key in ["host", "user"] {
            let file = folder.join(key);
            let keygen = ["-q", "-t", "ed25519", "-N", "", "-f"];
            assert!(made(Command::new("ssh-keygen").args(keygen).arg(&file)), "a key");
        }
        fs::copy(folder.join("user.pub"), folder.join("authorized")).expect("authorized");
        // Ports may be taken between finding and using them: then others are tried.
        (0..20)
            .find_map(|_| Self::try_start(folder))
            .or_else(|| panic!("the server does not start"))
    }

    fn try_start(folder: &Path) -> Option<Self> {
        let ports = free_ports();
        let at = folder.display();
        let mut config = format!(
            "ListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
             PidFile none\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nUsePAM no\nMaxStartups 100\n"
        );
        config += &ports.map(|port| format!("Port {port}\n")).concat();
        for (name, port) in ["left", "right"].iter().zip(ports) {
            let home = folder.join(name);
            fs::create_dir_all(&home).expect("home");
            let program = Path::new(CORETWIN).parent().expect("folder").display();
            config += &format!(
                "Match LocalPort {port}\nForceCommand cd {} && CORETWIN_NODE={name} \
                 PATH={program}:$PATH && export CORETWIN_NODE PATH && eval \"$SSH_ORIGINAL_COMMAND\"\n",
                home.display()
            );
        }
        fs::write(folder.join("config"), config).expect("config");
        let log = fs::File::create(folder.join("sshd.log")).expect("log");
        let child = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("config"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("sshd");
        let mut server = Self { child, folder: folder.to_owned(), ports };
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if server.child.try_wait().expect("wait").is_some() {
                return None;
            }
            let heard = fs::read_to_string(folder.join("sshd.log")).unwrap_or_default();
            if heard.matches("Server listening").count() >= 2 {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the server says nothing");
    }

    /// A line of a host list.
    fn host(&self, port: u16) -> String {
        format!(
            "127.0.0.1:{port} -i {0}/user -oStrictHostKeyChecking=no -oUserKnownHostsFile={0}/known \
             -oIdentitiesOnly=yes -oIdentityAgent=none\n",
            self.folder.display()
        )
    }

    /// Ends every connection, as a network that fails does.
    fn cut(&self) {
        let of = |parent: u32| -> Vec<u32> {
            let path = format!("/proc/{parent}/task/{parent}/children");
            let text = fs::read_to_string(path).unwrap_or_default();
            text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
        };
        // The sessions are children of the server; what they started lives on.
        for session in of(self.child.id()) {
            let deeper = of(session);
            let is_server = |id: &u32| {
                fs::read_to_string(format!("/proc/{id}/comm"))
                    .is_ok_and(|name| name.contains("sshd"))
            };
            for id in deeper.into_iter().filter(is_server).chain([session]) {
                made(Command::new("kill").args(["-KILL", &id.to_string()]));
            }
        }
    }
}

/// A study of a second or two.
const STUDY: [&str; 7] = [
    "study",
    "--no-warmup",
    "--blocks=2",
    "--others-limit=100%",
    "--steal-limit=100%",
    "--",
    "true",
];

fn plan(folder: &Path, hosts: &str, study: &[&str]) -> Ran {
    fs::write(folder.join("hosts.txt"), hosts).expect("hosts");
    let head = ["fleet", "plan", "f", "--engine", "ssh", "--hosts", "hosts.txt", "--"];
    let ran = coretwin(folder, &[&head[..], study].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

fn merged(folder: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join("f/merged/members.jsonl")).expect("members");
    text.lines().map(|line| serde_json::from_str(line).expect("member")).collect()
}

fn until_done(folder: &Path) -> Ran {
    let began = Instant::now();
    loop {
        let ran = coretwin(folder, &["fleet", "status", "f"]);
        if ran.status == 0 {
            return ran;
        }
        assert!(began.elapsed() < PATIENCE, "it is never done: {ran:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn hosts_side_by_side_one_that_is_not_there_and_a_merge_that_does_not_change() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let Some(server) = Server::start(folder) else { return };
    let [_, closed] = free_ports();
    let hosts: String =
        [server.ports[0], closed, server.ports[1]].map(|port| server.host(port)).concat();
    plan(folder, &hosts, &STUDY);

    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert_eq!(ran.status, 1, "one host is not there: {ran:?}");
    assert!(ran.out.contains("2 done, 1 failed"), "{ran:?}");
    assert!(ran.out.contains("cannot be reached") && ran.out.contains("coretwin fleet run f"));
    for name in ["left", "right"] {
        let rest = folder.join(name).join(".coretwin-fleet");
        let left = fs::read_dir(rest).map_or(0, Iterator::count);
        assert_eq!(left, 0, "nothing stays on {name}");
    }

    let ran = coretwin(folder, &["fleet", "merge", "f"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let members = merged(folder);
    let names: Vec<&str> = members.iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"left") && names.contains(&"right"), "{names:?}");
    assert!(members.iter().all(|one| one["state"] == "complete"), "{members:?}");
    assert_ne!(members[0]["machine"], members[1]["machine"]);
    assert!(members.iter().all(|one| one["effects"][0]["blocks"] == 2), "{members:?}");

    // Whatever comes twice, and in whatever order, the fleet stays what it is.
    let before = fs::read(folder.join("f/merged/members.jsonl")).expect("members");
    fs::create_dir(folder.join("again")).expect("folder");
    for (number, entry) in fs::read_dir(folder.join("f/bundles")).expect("bundles").enumerate() {
        let copy = folder.join("again").join(format!("copy {number}.tar.gz"));
        fs::copy(entry.expect("entry").path(), copy).expect("copy");
    }
    let ran = coretwin(folder, &["fleet", "merge", "f", "again"]);
    assert_eq!(ran.status, 1, "copies do not count, and that is said: {ran:?}");
    assert!(ran.err.matches("is a copy of").count() == 2, "{ran:?}");
    assert_eq!(fs::read(folder.join("f/merged/members.jsonl")).expect("members"), before);

    // What is done is not done again.
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert!(!ran.err.contains(&format!("{}: running", "left")), "{ran:?}");
    assert_eq!(fs::read_dir(folder.join("f/bundles")).expect("bundles").count(), 2);
}

/// A fleet of one host whose command goes on until a file is there, from its third run on; it runs.
fn begun(folder: &Path, server: &Server, go: &Path) -> Child {
    let go = go.display();
    // It ends, too, when the test is gone.
    let line = format!(
        "echo >>{go}.runs; test $(wc -l <{go}.runs) -lt 3 || \
         until test -e {go} || ! test -e {go}.runs; do sleep 0.05; done"
    );
    let study = [&STUDY[..6], &["sh", "-c", &line]].concat();
    plan(folder, &server.host(server.ports[0]), &study);
    let run = Command::new(CORETWIN)
        .args(["fleet", "run", "f"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let runs = || fs::read(folder.join("go.runs")).map_or(0, |lines| lines.len());
    until(folder, |said| said.contains("running") && runs() == 3, "it begins");
    run
}

fn until(folder: &Path, is_so: impl Fn(&str) -> bool, what: &str) {
    let began = Instant::now();
    while !is_so(&coretwin(folder, &["fleet", "status", "f"]).out) {
        assert!(began.elapsed() < PATIENCE, "{what}: it never does");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_connection_that_dies_loses_nothing() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let Some(server) = Server::start(folder) else { return };
    let go = folder.join("go");
    let mut run = begun(folder, &server, &go);
    server.cut();
    let ended = run.wait().expect("ends");
    assert_eq!(ended.code(), Some(1), "the connection died");
    let ran = coretwin(folder, &["fleet", "status", "f"]);
    assert!(ran.out.contains("running"), "it goes on without: {ran:?}");
    fs::write(&go, "").expect("go");
    let ran = until_done(folder);
    assert!(ran.out.contains("1 done"), "{ran:?}");
    assert_eq!(coretwin(folder, &["fleet", "merge", "f"]).status, 0);
    assert_eq!(merged(folder)[0]["state"], "complete");
}

#[test]
fn an_interrupt_stops_what_runs_on_the_hosts_and_the_next_run_goes_on() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let Some(server) = Server::start(folder) else { return };
    let go = folder.join("go");
    let mut run = begun(folder, &server, &go);
    assert!(made(Command::new("kill").args(["-INT", &run.id().to_string()])));
    until(folder, |said| !said.contains("running"), "the host stops");
    assert_eq!(run.wait().expect("ends").code(), Some(130));
    let said = coretwin(folder, &["fleet", "status", "f"]).out;
    assert!(said.contains("1 partial"), "what it has is here: {said}");
    fs::write(&go, "").expect("go");
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert!(ran.status == 0 && ran.out.contains("1 done"), "{ran:?}");
}

#[test]
fn a_host_without_the_program_says_what_to_do_and_gets_it_by_install() {
    let scratch = tempfile::tempdir().expect("folder");
    let folder = scratch.path();
    let Some(server) = Server::start(folder) else { return };
    fs::write(folder.join("hosts.txt"), server.host(server.ports[1])).expect("hosts");
    let head = ["fleet", "plan", "f", "--engine=ssh", "--hosts=hosts.txt"];
    let with = |more: &[&str]| coretwin(folder, &[&head[..], more, &["--"], &STUDY].concat());
    assert_eq!(with(&["--program=/nowhere/coretwin"]).status, 0);
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("--install"), "{ran:?}");
    fs::remove_dir_all(folder.join("f")).expect("removed");
    assert_eq!(with(&["--install"]).status, 0);
    let ran = coretwin(folder, &["fleet", "run", "f"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        !folder.join("right/.coretwin-fleet").read_dir().is_ok_and(|mut all| all.next().is_some())
    );
}
