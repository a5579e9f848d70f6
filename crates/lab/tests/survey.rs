//! What a survey copies of a study, and what it leaves out.

#![cfg(feature = "fleet")]

mod support;

use coretwin_base::machine::environment::{Environment, Session};
use coretwin_base::machine::topology::Topology;
use coretwin_base::schema::SCHEMA;
use coretwin_base::study::reading::Reading;
use coretwin_base::warning::Warning;
use coretwin_host::root::Root;
use coretwin_lab::fleet::survey::Private;
use coretwin_lab::host_machine::HOST;
use coretwin_lab::planning;
use coretwin_lab::request::Counts;
use coretwin_store::{Bundle, ENVIRONMENT, Extent};
use std::path::Path;

fn file(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
    std::fs::write(path, text).expect("file");
}

#[test]
fn a_study_is_copied_whole_but_for_names() {
    let folder = tempfile::tempdir().expect("folder");
    let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
    // Names that are words of the records, too.
    file(folder.path(), "proc/sys/kernel/hostname", "on\n");
    file(folder.path(), "proc/self/status", "Uid:\t1\t1\t1\t1\n");
    let private = Private::of(&Root::at(folder.path()), &|_| Some("one-per-core".to_owned()));
    let request = support::request(Counts::Default);
    let drawn = planning::draw(&request, HOST, &Topology::regular(1, 2, 2));
    let mut plan = drawn.expect("plan");
    plan.warnings.push(Warning::new("steal", "on, of /home/x", "ask one-per-core"));
    let study = Bundle::create(&from, &plan, None).expect("study");
    let (mut journal, _) = study.journal(&plan).expect("journal");
    let reading = Reading {
        schema: SCHEMA,
        arm: "one-per-core".into(),
        row: plan.rows[0].id.as_str().into(),
        workload: "command".into(),
        unit: plan.rows[0].unit.as_str().into(),
        better: plan.rows[0].better,
        cause: Some("on: /home/x".into()),
        output: Some("secret".into()),
        env: "e0".into(),
        ..Reading::default()
    };
    journal.append(&reading).expect("reading");
    let mut environment = Environment::default();
    environment.sessions.push(Session {
        started_utc: "2026-01-01T00:00:00Z".to_owned(),
        coretwin: "0".to_owned(),
        argv: vec!["/home/x/coretwin".to_owned()],
        boot_id: "1-2".to_owned(),
        host: "on".to_owned(),
    });
    environment.facts.insert(
        "f0".to_owned(),
        [("kernel.command_line".to_owned(), "ip=on".to_owned())].into_iter().collect(),
    );
    study.write_json(ENVIRONMENT, &environment).expect("environment");
    private.copy_study(&from, &to).expect("copied");
    let (copy, copied) = Bundle::open(&to, None).expect("study");
    assert_eq!((&copied.rows, &copied.arms), (&plan.rows, &plan.arms));
    assert_eq!(copied.warnings[0], Warning::new("steal", "…, of …", "ask …"));
    let read = copy.readings(&copied, Extent::Whole).expect("readings").readings;
    assert_eq!((&*read[0].arm, read[0].cause.as_deref()), ("one-per-core", Some("…: …")));
    assert!(read[0].output.is_none());
    let environment = copy.environment().expect("environment");
    let session = &environment.sessions[0];
    assert_eq!((&*session.host, &*session.boot_id, session.argv.len()), ("", "", 0));
    assert!(environment.facts["f0"].is_empty());
}
