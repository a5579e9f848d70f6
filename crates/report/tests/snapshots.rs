//! What people read, word for word. `UPDATE_EXPECT=1 cargo test` writes the files anew.

mod support;

use coretwin_report::{markdown, run_text, text};
use expect_test::{expect, expect_file};
use std::sync::Arc;

#[test]
fn chat_in_a_terminal() {
    expect_file!["snapshots/chat.txt"].assert_eq(&text(&support::chat().study()));
}

#[test]
fn chat_as_markdown() {
    expect_file!["snapshots/chat.md"].assert_eq(&markdown(&support::chat().study()));
}

#[test]
fn a_machine_without_siblings_in_a_terminal() {
    expect_file!["snapshots/no-siblings.txt"].assert_eq(&text(&support::no_siblings().study()));
}

#[test]
fn a_command_in_a_terminal() {
    expect_file!["snapshots/command.txt"].assert_eq(&text(&support::command().study()));
}

#[test]
fn one_reading() {
    let mut reading = support::chat().readings[0].clone();
    reading.checks = Arc::new([("totals".to_owned(), true)].into());
    expect![[r#"
        workload           chat:rooms=20
        value              164,289 messages/s (higher is better)
        status             ok
        elapsed            1.0 s
        CPU time           2.5 s user, 1.2 s system
        arm                off
        placement          free
        ran on CPUs        0,2,4,6
        threads            1,600
        messages_received  760,000
        messages_sent      40,000
        check totals       held
    "#]]
    .assert_eq(&run_text(&reading));
}

#[test]
fn one_failed_reading() {
    let mut reading = support::chat().readings[0].clone();
    reading.status = coretwin_base::study::reading::Status::Failed;
    reading.value = None;
    reading.metrics = Arc::default();
    reading.checks = Arc::new([("totals".to_owned(), false)].into());
    reading.cause = Some("the server ended with status 1".into());
    reading.output = Some("line one\n\u{1b}[31mline two\n".into());
    expect![[r#"
        workload      chat:rooms=20
        value         none
        status        FAILED: the server ended with status 1
        elapsed       1.0 s
        CPU time      2.5 s user, 1.2 s system
        arm           off
        placement     free
        ran on CPUs   0,2,4,6
        threads       1,600
        check totals  DID NOT HOLD

        end of its output:
          line one
           [31mline two
    "#]]
    .assert_eq(&run_text(&reading));
}
