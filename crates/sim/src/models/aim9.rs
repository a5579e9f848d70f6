//! AIM9's rows. Table 2.

use super::load::{Family, Load, Making, Row, Sizes, Values};
use super::rows::{one_child, one_task, shell};
use crate::Result;
use crate::kernel::program::Step;
use coretwin_base::study::reading::Better;

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
    rows: &[
        single("aim9/add_double"),
        single("aim9/add_float"),
        single("aim9/add_long"),
        single("aim9/add_int"),
        single("aim9/add_short"),
        single("aim9/creat-clo"),
        single("aim9/page_test"),
        single("aim9/brk_test"),
        single("aim9/jmp_test"),
        single("aim9/signal_test"),
        several("aim9/exec_test", |row, _, values| {
            let service_ns = values.service()? as u64;
            let script = Making::default().step(Step::Exec);
            Ok(one_child(row, 0, script.exact_work(values.profile, service_ns)))
        }),
        several("aim9/fork_test", |row, _, values| {
            let more_ns = values.service()? as u64;
            Ok(one_child(row, more_ns, Making::default()))
        }),
        single("aim9/link_test"),
        single("aim9/disk_rr"),
        single("aim9/disk_rw"),
        single("aim9/disk_rd"),
        single("aim9/disk_wrt"),
        single("aim9/disk_cp"),
        single("aim9/disk_src"),
        single("aim9/div_double"),
        single("aim9/div_float"),
        single("aim9/div_long"),
        single("aim9/div_int"),
        single("aim9/div_short"),
        single("aim9/fun_cal"),
        single("aim9/fun_cal1"),
        single("aim9/fun_cal2"),
        single("aim9/fun_cal15"),
        single("aim9/mul_double"),
        single("aim9/mul_float"),
        single("aim9/mul_long"),
        single("aim9/mul_int"),
        single("aim9/mul_short"),
        single("aim9/num_rtns_1"),
        single("aim9/trig_rtns"),
        single("aim9/matrix_rtns"),
        single("aim9/array_rtns"),
        single("aim9/string_rtns"),
        single("aim9/mem_rtns_1"),
        single("aim9/mem_rtns_2"),
        single("aim9/sort_rtns_1"),
        single("aim9/misc_rtns_1"),
        single("aim9/dir_rtns_1"),
        several("aim9/shell_rtns_1", |row, _, values| shell(row, values)),
        several("aim9/shell_rtns_2", |row, _, values| shell(row, values)),
        several("aim9/shell_rtns_3", |row, _, values| shell(row, values)),
        single("aim9/series_1"),
        single("aim9/shared_memory"),
        single("aim9/tcp_test"),
        single("aim9/udp_test"),
        single("aim9/fifo_test"),
        single("aim9/stream_pipe"),
        single("aim9/dgram_pipe"),
        single("aim9/pipe_cpy"),
        single("aim9/ram_copy"),
    ],
};

const fn several(
    workload: &'static str,
    build: fn(&Row, &Sizes<'_>, &Values<'_>) -> Result<Load>,
) -> Row {
    Row { is_fitted: true, ..Row::of(workload, Better::Higher, build) }
}

const fn single(workload: &'static str) -> Row {
    Row { is_several: false, ..several(workload, one_task) }
}
