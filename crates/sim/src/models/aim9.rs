//! AIM9's rows. Table 2.

use super::load::{Family, Making, Row};
use super::rows::{one_child, one_task, shell};
use crate::kernel::Step;
use coretwin_base::study::reading::Better;

/// Rows by name: one task, or what builds the load of several. All of them are fitted.
macro_rules! rows {
    (@ $name:literal) => { Row { is_several: false, ..rows!(@ $name => one_task) } };
    (@ $name:literal => $build:expr) => {
        Row { is_fitted: true, ..Row::of(concat!("aim9/", $name), Better::Higher, $build) }
    };
    ($($name:literal $(=> $build:expr)?),* $(,)?) => { &[$(rows!(@ $name $(=> $build)?)),*] };
}

pub(super) static FAMILY: Family = Family {
    name: "aim9",
    profile: "syscall",
    keeps: &[
        "one process runs all rows; those on pipes and sockets talk to themselves",
        "fork_test makes one child after the other, exec_test and the shell rows start programs in it",
    ],
    drops: &[
        "what a row does: its service time is fitted to the printed figure, which is no prediction",
        "the disk: rows on files of 5 MB stay in the page cache",
    ],
    uses_files: false,
    rows: rows![
        "add_double", "add_float", "add_long", "add_int", "add_short", "creat-clo", "page_test",
        "brk_test", "jmp_test", "signal_test",
        "exec_test" => |row, _, values| {
            let service_ns = values.service()? as u64;
            let script = Making::default().step(Step::Exec);
            Ok(one_child(row, 0, script.exact_work(values.profile, service_ns)))
        },
        "fork_test" => |row, _, values| {
            Ok(one_child(row, values.service()? as u64, Making::default()))
        },
        "link_test", "disk_rr", "disk_rw", "disk_rd", "disk_wrt", "disk_cp", "disk_src",
        "div_double", "div_float", "div_long", "div_int", "div_short", "fun_cal", "fun_cal1",
        "fun_cal2", "fun_cal15", "mul_double", "mul_float", "mul_long", "mul_int", "mul_short",
        "num_rtns_1", "trig_rtns", "matrix_rtns", "array_rtns", "string_rtns", "mem_rtns_1",
        "mem_rtns_2", "sort_rtns_1", "misc_rtns_1", "dir_rtns_1",
        "shell_rtns_1" => shell, "shell_rtns_2" => shell, "shell_rtns_3" => shell,
        "series_1", "shared_memory", "tcp_test", "udp_test", "fifo_test", "stream_pipe",
        "dgram_pipe", "pipe_cpy", "ram_copy",
    ],
};
