//! Table 3: what each number of chat rooms makes: as counted by a run, else as planned.

use super::{Filled, Line};
use crate::Study;
use crate::digest::Digest;
use crate::document::{Column, Table};
use crate::number;
use coretwin_base::param::ParamValue;
use coretwin_base::study::reading::{Reading, Status};

/// Users of a chat room where a row does not say (the article's default).
const USERS: i64 = 20;
/// Messages each user sends where a row does not say (the article's default).
const MESSAGES: i64 = 100;

/// What a number of rooms makes; none where it is too much to be counted.
pub(super) struct Rooms {
    pub(super) rooms: i64,
    pub(super) connections: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) sent: Option<u64>,
    pub(super) received: Option<u64>,
    pub(super) total: Option<u64>,
}

/// The table of a group of chat rows.
pub(super) fn table(study: &Study<'_>, digest: &Digest<'_>, filled: &Filled<'_>) -> Table {
    let line = |line: &Line<'_>| {
        let Rooms { rooms, connections, threads, sent, received, total } =
            rooms(study, digest, line);
        let mut cells = vec![rooms.to_string()];
        let counts = [connections, threads, sent, received, total];
        cells.extend(counts.map(|n| number::or_none(n.map(number::whole))));
        cells
    };
    let names = ["Chat rooms", "Connections", "Threads", "Sent", "Received", "Messages in all"];
    Table {
        caption: "Table 3. Chat: what a number of rooms makes".to_owned(),
        columns: names.map(Column::number).into(),
        rows: filled.lines.iter().map(line).collect(),
        ..Table::default()
    }
}

/// What one row makes.
pub(super) fn rooms(study: &Study<'_>, digest: &Digest<'_>, line: &Line<'_>) -> Rooms {
    let param = |name: &str, usual: i64| {
        line.row.params.get(name).and_then(ParamValue::as_int).unwrap_or(usual)
    };
    let (rooms, users) = (param("rooms", 0), param("users", USERS));
    let product = |factors: &[i64]| {
        let product = factors.iter().try_fold(1i64, |all, factor| all.checked_mul(*factor));
        product.and_then(|n| u64::try_from(n).ok())
    };
    let connections = product(&[rooms, users]);
    let sent = product(&[rooms, users, param("messages", MESSAGES)]);
    let times = |count: Option<u64>, factor: i64| {
        count.zip(u64::try_from(factor).ok()).and_then(|(n, m)| n.checked_mul(m))
    };
    let seen = first_reading(study, digest, &line.row.id);
    let counted = |name: &str| metric(seen?, name);
    let counted_total = counted("messages_sent")
        .zip(counted("messages_received"))
        .map(|(s, r)| s.saturating_add(r));
    let threads = seen.map(|seen| u64::from(seen.threads)).filter(|threads| *threads > 0);
    Rooms {
        rooms,
        connections: counted("connections").or(connections),
        threads: threads.or(times(connections, 4)),
        sent: counted("messages_sent").or(sent),
        received: counted("messages_received").or(times(sent, users.saturating_sub(1))),
        total: counted_total.or(times(sent, users)),
    }
}

fn first_reading<'a>(study: &Study<'a>, digest: &Digest<'_>, row: &str) -> Option<&'a Reading> {
    let row = digest.rows.iter().find(|candidate| candidate.row.id == row)?;
    let points = row.study.iter().flatten();
    let mut readings = points.map(|point| &study.readings[point.reading as usize]);
    readings.find(|reading| reading.status == Status::Ok)
}

/// What a reading says it counted.
fn metric(reading: &Reading, name: &str) -> Option<u64> {
    let value = reading.metrics.get(name)?.value;
    (0.0..9e15).contains(&value).then_some(value as u64)
}
