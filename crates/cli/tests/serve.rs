//! `coretwin serve tbench` beside `coretwin run`: served, told, and refused where it must be.

mod common;

use common::{CORETWIN, coretwin, host};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A server at any port, and its lines. It is killed with the test, however that ends.
struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(workload: &str) -> Self {
        let mut child = Command::new(CORETWIN)
            .args(["serve", workload, "--port", "0", "--json"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout"));
        let mut server = Self { child, lines, address: String::new() };
        let listening = server.next();
        assert_eq!(listening["event"], "listening");
        server.address = listening["address"].as_str().expect("address").to_owned();
        server
    }

    fn next(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        let event: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(event["schema"], 1);
        event
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn tbench_is_served_and_both_sides_tell_the_same() {
    let _host = host();
    let folder = tempfile::tempdir().expect("folder");
    for workload in ["tbench", "tbench-threads"] {
        let mut server = Server::start(workload);
        let spec = format!("tbench:clients=1,loadfile=netbench,server={}", server.address);
        let ran = coretwin(folder.path(), &["run", &spec, "--json"]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        let reading: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        let told = server.next();
        assert_eq!(told["event"], "exchanged");
        for (metric, field) in [
            ("exchanges", "exchanges"),
            ("requests_bytes", "received_bytes"),
            ("replies_bytes", "sent_bytes"),
        ] {
            let counted = reading["metrics"][metric]["value"].as_f64();
            assert_eq!(counted, told[field].as_f64(), "{workload}: {metric}");
        }
    }
}

#[test]
fn what_cannot_be_served_is_said_and_serving_goes_on() {
    let folder = tempfile::tempdir().expect("folder");
    let mut server = Server::start("tbench");
    let (_, port) = server.address.rsplit_once(':').expect("port");
    for (args, status, part) in [
        (&["serve", "tbench", "--port", port][..], 3, "another program has the port"),
        (&["serve", "tbench", "--address", "192.0.2.1"], 3, "no such address"),
        (&["serve", "tbnch"], 2, "tbench"),
        (&["serve", "tbench", "--port", "65536"], 2, "--port"),
        (&["serve", "tbench", "--patience", "0"], 2, "--patience"),
    ] {
        let ran = coretwin(folder.path(), args);
        assert_eq!(ran.status, status, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
    let mut garbage = TcpStream::connect(&server.address).expect("connected");
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let failed = server.next();
    assert_eq!(failed["event"], "failed");
    assert!(failed["why"].as_str().expect("text").contains("no tbench client"), "{failed}");
    let mut right = TcpStream::connect(&server.address).expect("connected");
    right.write_all(&[0, 0, 0, 4, 0, 0, 0, 4]).expect("sent");
    let mut reply = [0; 8];
    right.read_exact(&mut reply).expect("reply");
    drop(right);
    assert_eq!(server.next()["exchanges"], 1);
}
