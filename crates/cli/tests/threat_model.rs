//! The page that names the tests of docs/threat-model.md: each test that it names is there.

use std::fs;
use std::path::Path;

/// What the threat model says, and which tests of which file hold it.
const HELD: &[(&str, &str, &[&str])] = &[
    (
        "nothing writable by everybody",
        "crates/cli/tests/security.rs",
        &[
            "nothing_is_writable_by_everybody_even_without_a_umask",
            "what_a_run_makes_is_its_owners_alone_and_goes_with_it",
        ],
    ),
    (
        "saved states are root's alone",
        "crates/host/src/smt/saved.rs",
        &["states_are_for_their_owner_alone", "what_others_could_have_written_is_not_believed"],
    ),
    (
        "no link followed: study",
        "crates/store/src/disk.rs",
        &["a_link_in_the_way_is_not_followed", "only_what_is_ours_and_has_one_name_is_given_away"],
    ),
    (
        "no link followed: journal, recording",
        "crates/store/src/journal.rs",
        &[
            "a_journal_that_is_a_link_is_not_written",
            "a_journal_with_a_second_name_is_neither_cut_nor_written",
        ],
    ),
    (
        "no link followed: `--out`",
        "crates/cli/src/out.rs",
        &["a_file_with_a_second_name_is_not_written"],
    ),
    ("no link followed: saved state", "crates/host/src/smt/saved.rs", &["links_are_not_followed"]),
    (
        "no link followed: lock",
        "crates/host/src/lock.rs",
        &[
            "death_releases_it_and_links_are_not_followed",
            "a_file_that_has_another_name_is_left_alone",
        ],
    ),
    (
        "nothing of others removed",
        "crates/cli/tests/security.rs",
        &["notes_of_others_lead_to_the_removal_of_nothing"],
    ),
    (
        "folders of others",
        "crates/workloads/src/scratch.rs",
        &["a_note_leads_to_the_removal_of_its_owners_folder_alone"],
    ),
    (
        "kernel objects of others",
        "crates/workloads/src/semaphores.rs",
        &["what_another_user_claims_is_not_removed"],
    ),
    ("no shell", "crates/cli/tests/security.rs", &["words_of_a_command_are_no_shell_lines"]),
    (
        "words for a host are quoted",
        "crates/lab/src/fleet/child.rs",
        &["a_shell_gives_back_what_was_quoted"],
    ),
    (
        "the environment",
        "crates/cli/tests/security.rs",
        &["work_gets_the_callers_environment_and_nothing_else"],
    ),
    ("work is not root's", "crates/workloads/tests/command.rs", &["another_user_runs_it"]),
    (
        "no input without end",
        "crates/cli/tests/endless.rs",
        &[
            "files_without_end_are_refused",
            "what_is_small_when_it_is_compressed_is_refused",
            "programs_that_talk_without_end_are_heard_no_longer",
        ],
    ),
    (
        "a changed journal",
        "crates/store/src/journal.rs",
        &["a_changed_digit_is_noticed_and_a_journal_without_checksums_stays_one"],
    ),
    (
        "no control characters",
        "crates/cli/tests/security.rs",
        &["what_a_command_prints_controls_no_terminal", "no_verb_prints_what_steers_a_terminal"],
    ),
    ("no formulas", "crates/report/src/csv.rs", &["texts_are_no_formulas_and_steer_no_terminal"]),
    (
        "descriptors",
        "crates/cli/tests/security.rs",
        &["descriptors_of_the_caller_do_not_reach_the_work"],
    ),
    (
        "listeners on loopback, patience",
        "crates/cli/tests/security.rs",
        &[
            "servers_listen_on_loopback_and_give_up_clients_that_hold_them",
            "servers_within_a_run_listen_on_loopback_alone",
        ],
    ),
    ("strangers in a run", "crates/workloads/tests/strangers.rs", &["a_stranger_fails_no_row"]),
    (
        "silent clients of `serve chat`",
        "crates/workloads/tests/chat.rs",
        &["a_thousand_silent_clients_hold_up_nobody"],
    ),
    (
        "`top` on loopback",
        "crates/cli/tests/security.rs",
        &["a_monitor_is_not_shown_to_the_network_by_accident"],
    ),
    (
        "limits of `top`'s endpoint",
        "crates/top/src/openmetrics/endpoint/tests.rs",
        &[
            "a_request_without_end_is_cut",
            "those_who_send_nothing_do_not_shut_out_others",
            "an_address_with_few_connections_keeps_them",
            "who_reads_nothing_is_dropped_and_an_end_of_sending_is_no_trouble",
        ],
    ),
    (
        "limits of messages",
        "crates/workloads/src/tbench/protocol.rs",
        &["what_is_no_message_ends_the_connection"],
    ),
    (
        "answers of a server of yours",
        "crates/workloads/src/service/wire.rs",
        &["memcached_is_understood_in_any_pieces_and_others_are_not"],
    ),
    (
        "a server of another protocol",
        "crates/workloads/tests/service.rs",
        &["a_server_of_another_protocol_is_told"],
    ),
    (
        "a file of latencies",
        "crates/workloads/src/service/latencies.rs",
        &["a_wrong_line_is_named"],
    ),
    (
        "trickling clients",
        "crates/workloads/src/socket.rs",
        &["who_trickles_or_does_not_read_is_given_up"],
    ),
    (
        "reports ask nobody",
        "crates/report/tests/browser.rs",
        &["the_page_loads_without_an_error_or_a_request"],
    ),
    (
        "the unit",
        "crates/cli/tests/top.rs",
        &["the_unit_is_sound_and_its_command_line_is_accepted"],
    ),
];

/// The page is as good as its tests: each that it names is there.
#[test]
fn every_test_that_the_page_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut page = "# Which test holds the threat model\n\nFor those who doubt the [threat model](../threat-model.md). \
                    Written by `cargo xtask docs`.\n\n| what | in | tests |\n|---|---|---|\n"
        .to_owned();
    for (what, file, tests) in HELD {
        let text = fs::read_to_string(root.join(file)).expect(file);
        for test in *tests {
            assert!(text.contains(&format!("fn {test}()")), "{file} has no test {test}");
        }
        page += &format!("| {what} | `{file}` | `{}` |\n", tests.join("`, `"));
    }
    expect_test::expect_file!["../../../docs/reference/threat-tests.md"].assert_eq(&page);
}
