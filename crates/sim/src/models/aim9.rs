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
        single("aim9/add_double", "thousand additions/s"),
        single("aim9/add_float", "thousand additions/s"),
        single("aim9/add_long", "thousand additions/s"),
        single("aim9/add_int", "thousand additions/s"),
        single("aim9/add_short", "thousand additions/s"),
        single("aim9/creat-clo", "creations/s"),
        single("aim9/page_test", "allocations and pages/s"),
        single("aim9/brk_test", "allocations/s"),
        single("aim9/jmp_test", "jumps/s"),
        single("aim9/signal_test", "signals/s"),
        several("aim9/exec_test", "program loads/s", |row, _, values| {
            let service_ns = values.service()? as u64;
            let script = Making::default().step(Step::Exec);
            Ok(one_child(row, 0, script.exact_work(values.profile, service_ns)))
        }),
        several("aim9/fork_test", "task creations/s", |row, _, values| {
            let more_ns = values.service()? as u64;
            Ok(one_child(row, more_ns, Making::default()))
        }),
        single("aim9/link_test", "link pairs/s"),
        single("aim9/disk_rr", "K/s"),
        single("aim9/disk_rw", "K/s"),
        single("aim9/disk_rd", "K/s"),
        single("aim9/disk_wrt", "K/s"),
        single("aim9/disk_cp", "K/s"),
        single("aim9/disk_src", "searches/s"),
        single("aim9/div_double", "thousand divides/s"),
        single("aim9/div_float", "thousand divides/s"),
        single("aim9/div_long", "thousand divides/s"),
        single("aim9/div_int", "thousand divides/s"),
        single("aim9/div_short", "thousand divides/s"),
        single("aim9/fun_cal", "calls/s"),
        single("aim9/fun_cal1", "calls/s"),
        single("aim9/fun_cal2", "calls/s"),
        single("aim9/fun_cal15", "calls/s"),
        single("aim9/mul_double", "thousand multiplies/s"),
        single("aim9/mul_float", "thousand multiplies/s"),
        single("aim9/mul_long", "thousand multiplies/s"),
        single("aim9/mul_int", "thousand multiplies/s"),
        single("aim9/mul_short", "thousand multiplies/s"),
        single("aim9/num_rtns_1", "rounds of functions/s"),
        single("aim9/trig_rtns", "rounds of functions/s"),
        single("aim9/matrix_rtns", "transformations/s"),
        single("aim9/array_rtns", "systems/s"),
        single("aim9/string_rtns", "manipulations/s"),
        single("aim9/mem_rtns_1", "memory operations/s"),
        single("aim9/mem_rtns_2", "block operations/s"),
        single("aim9/sort_rtns_1", "sort operations/s"),
        single("aim9/misc_rtns_1", "loops/s"),
        single("aim9/dir_rtns_1", "directory operations/s"),
        several("aim9/shell_rtns_1", "scripts/s", |row, _, values| shell(row, values)),
        several("aim9/shell_rtns_2", "scripts/s", |row, _, values| shell(row, values)),
        several("aim9/shell_rtns_3", "scripts/s", |row, _, values| shell(row, values)),
        single("aim9/series_1", "series/s"),
        single("aim9/shared_memory", "operations/s"),
        single("aim9/tcp_test", "messages/s"),
        single("aim9/udp_test", "datagrams/s"),
        single("aim9/fifo_test", "messages/s"),
        single("aim9/stream_pipe", "messages/s"),
        single("aim9/dgram_pipe", "messages/s"),
        single("aim9/pipe_cpy", "messages/s"),
        single("aim9/ram_copy", "bytes/s"),
    ],
};

const fn several(
    workload: &'static str,
    unit: &'static str,
    build: fn(&Row, &Sizes<'_>, &Values<'_>) -> Result<Load>,
) -> Row {
    Row { is_fitted: true, ..Row::of(workload, unit, Better::Higher, build) }
}

const fn single(workload: &'static str, unit: &'static str) -> Row {
    Row { is_several: false, ..several(workload, unit, one_task) }
}
