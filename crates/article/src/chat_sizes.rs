//! Table 3: what each number of chat rooms makes, as counted by a run, else as planned.

use coretwin_base::param::ParamValue;
use coretwin_base::study::plan::{Plan, PlanRow};
use coretwin_base::study::reading::{Phase, Reading, Status};
use serde::Serialize;

/// Users of a chat room where a row does not say (the article's default).
const USERS: i64 = 20;
/// Messages each user sends where a row does not say (the article's default).
const MESSAGES: i64 = 100;

/// What a number of rooms makes; `None` where it is too much to be counted.
#[derive(Debug, Serialize)]
pub struct ChatSize {
    /// Chat rooms.
    pub rooms: i64,
    /// Connections, one for each user.
    pub connections: Option<u64>,
    /// Threads of clients and server.
    pub threads: Option<u64>,
    /// Messages sent by users.
    pub sent: Option<u64>,
    /// Messages received by users.
    pub received: Option<u64>,
    /// Both.
    pub total: Option<u64>,
}

/// What one row makes.
#[must_use]
pub fn chat_size(plan: &Plan, readings: &[Reading], row: &PlanRow) -> ChatSize {
    let param =
        |name: &str, usual: i64| row.params.get(name).and_then(ParamValue::as_int).unwrap_or(usual);
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
    let seen = first_reading(plan, readings, &row.id);
    let counted = |name: &str| metric(seen?, name);
    let counted_total = counted("messages_sent")
        .zip(counted("messages_received"))
        .map(|(s, r)| s.saturating_add(r));
    let threads = seen.map(|seen| u64::from(seen.threads)).filter(|threads| *threads > 0);
    ChatSize {
        rooms,
        connections: counted("connections").or(connections),
        threads: threads.or(times(connections, 4)),
        sent: counted("messages_sent").or(sent),
        received: counted("messages_received").or(times(sent, users.saturating_sub(1))),
        total: counted_total.or(times(sent, users)),
    }
}

/// The first good run of a row, in the first arm that has one.
fn first_reading<'a>(plan: &Plan, readings: &'a [Reading], row: &str) -> Option<&'a Reading> {
    let good = |one: &&Reading| one.phase == Phase::Study && one.status == Status::Ok;
    let of_row = || readings.iter().filter(good).filter(|one| &*one.row == row);
    plan.arms.iter().find_map(|arm| of_row().find(|one| *one.arm == *arm.label))
}

/// What a reading says it counted.
fn metric(reading: &Reading, name: &str) -> Option<u64> {
    let value = reading.metrics.get(name)?.value;
    (0.0..9e15).contains(&value).then_some(value as u64)
}
