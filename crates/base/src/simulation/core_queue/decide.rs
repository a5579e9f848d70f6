//! The pure decisions of `core-queue`, as the simulated policy takes them. The live program has the same in
//! `crates/bpf/c/core_queue_decide.h`; a test of that crate holds one against the other.
//!
//! Virtual times are in nanoseconds on the clock of a queue and wrap around.

/// Tasks that a core may owe itself at most.
pub const OWED_MAX: u32 = 32;
/// Up to so many tasks for each CPU of its home, which is few, a woken task leaves for another core of its last-level cache.
/// Among more it stays: it then finds more to do at its turn, and a core's looks even out the rest. A choice: of 2, 3 and 4
/// it loses least in chat and in wake-ups together.
pub const LEAVE_MAX: u32 = 3;
/// How many fewer the other core must have. Of few: two, and beyond the cache two for each CPU of its home, at most eight.
/// Of many, beyond the cache only: eight and a part of those at home, for a task's data costs more there than eight fewer
/// of hundreds gain. Choices.
pub const FEWER: [u32; 2] = [2, 8];
pub const FEWER_SHARE: u32 = 8;
/// How long the head of a queue waits until it goes next, at nice 0.
pub const GUARD_NS: u64 = 100_000_000;
/// The same at most, whatever its weight: a third of what the kernel's watchdog allows.
pub const GUARD_MAX_NS: u64 = 10_000_000_000;
/// A waker that says it is about to wait keeps its word if it waits within this time; and so often in a row,
/// until a task that it wakes follows it. A choice: what an idle CPU takes to start is of this size.
pub const WORD_NS: u64 = 50_000;
pub const WORD_KEPT: u32 = 2;
/// No more often is counted.
const WORD_KEPT_MAX: u32 = 3;

/// Tasks that wait on a core, or that one has woken, are few up to this number. A choice.
pub const FEW: u32 = 4;

/// A core is crowded by those that sleep where most that come to its queues wake among so many that wait. A choice.
pub const CROWD: u32 = 8;
/// A slice should be worth so many switches; where it is not, tasks that wake stand so many slices later. Choices: on
/// processors of these decades it is, in an emulated guest it is not.
pub const SWITCHES: u64 = 1500;
pub const LATER: i64 = 4;
/// All that came to the queues of a core, as a number to count in.
pub const CAME: u64 = 4096;

/// Past more tasks that wait none follows its waker. A choice: tbench of 20 clients on two cores has fewer.
pub const PAST_MAX: u32 = 64;

/// How often a task that wakes another takes its waker's place before the waker's word is tried again. A choice.
pub const HANDED_MAX: u32 = 16;

/// A core where a task could wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// Tasks that run or wait there.
    pub load: u32,
    /// Its CPUs that are online.
    pub cpus: u32,
    /// Whether it lies beyond the home's last-level cache.
    pub is_far: bool,
}

/// Whether a woken task leaves its home for a core.
fn is_less_crowded(home: Crowd, core: Crowd) -> bool {
    let is_few = u64::from(home.load) <= u64::from(LEAVE_MAX) * u64::from(home.cpus);
    let fewer = match (is_few, core.is_far) {
        (true, false) => FEWER[0],
        (true, true) => FEWER[1].min(FEWER[0].saturating_mul(home.cpus)),
        (false, false) => return false,
        (false, true) => FEWER[1] + home.load / FEWER_SHARE,
    };
    let then = u64::from(core.load) + u64::from(fewer);
    core.cpus > 0 && then * u64::from(home.cpus) <= u64::from(home.load) * u64::from(core.cpus)
}

/// For which of two cores a task leaves its home where no CPU is idle: the one with the least load for each
/// CPU of those that have enough less, the first of equals.
pub fn least_crowded(home: Crowd, cores: [Crowd; 2]) -> Option<usize> {
    let per_cpu =
        |own: usize, other: usize| u64::from(cores[own].load) * u64::from(cores[other].cpus);
    match cores.map(|core| is_less_crowded(home, core)) {
        [false, false] => None,
        [true, false] => Some(0),
        [false, true] => Some(1),
        [true, true] => Some(usize::from(per_cpu(1, 0) < per_cpu(0, 1))),
    }
}

/// Whether a core's look goes beyond its last-level cache: every second. With every fourth, 99 of 100 wake-ups of two
/// workers a CPU on two cores that share no cache took 6 % longer than under `fair`; the rooms of a chat lost nothing by two.
pub fn is_wide(looks: u32) -> bool {
    looks % 2 == 1
}

/// How many waiting tasks a core takes at a look from one that has more: half of the difference. Of a difference of one
/// it takes a task only now and then, cores in turns: otherwise of three that compute on two cores one had a core to
/// itself. Beyond the cache that is rarer.
pub fn owed(here: u32, there: u32, core: u32, looks: u32) -> u32 {
    let more = there.saturating_sub(here);
    let rounds = if is_wide(looks) { 32 } else { 4 };
    // Two cores are half of the rounds apart.
    let round = (looks / 2 + core / 2).wrapping_add(core % 2 * rounds / 2);
    let is_turn = round.is_multiple_of(rounds);
    if more == 1 { u32::from(is_turn) } else { (more / 2).min(OWED_MAX) }
}

/// How far a task is behind the clock of the queue that it leaves: by `most` at most, either way, which is a
/// slice by its weight. It is as far behind the clock of the queue to which it comes.
pub fn lag(clock: i64, virtual_ns: i64, most: i64) -> i64 {
    clock.wrapping_sub(virtual_ns).clamp(-most, most)
}

/// Where a task of the usual weight that wakes stands in its queue: at its virtual time, or with the one that woke `last` and still waits, if
/// that is later by two of its `slice`s at most; of equals the first that came is first. In the order of CPU time alone
/// tasks that compute and sleep in turns overtake one that waits again and again: with two workers a CPU on one core the
/// 99th percentile of their wake-ups was a quarter longer. But only where few wait: of hundreds those that wait longest
/// find most to do, and the rooms of a chat lost 5 %.
pub fn woken(clock: i64, virtual_ns: i64, last: i64, slice: i64, waiting: u32) -> i64 {
    let waits = last.wrapping_sub(clock) > 0 && waiting <= FEW;
    let later = last.wrapping_sub(virtual_ns);
    if waits && (0..=2 * slice).contains(&later) { last } else { virtual_ns }
}

/// An average over about the last 64, after one more.
pub fn average(before: u64, one: u64) -> u64 {
    (before * 63 + one) / 64
}

/// The least of what was seen, which is forgotten slowly, after one more; 0: nothing was seen.
pub fn least(before: u64, one: u64) -> u64 {
    let most = before + before / 64 + 1;
    if before == 0 { one } else { one.min(most) }
}

/// How much later than by its CPU time a task of the usual weight that wakes stands, and displaces, where switches take so
/// long that slices end in the midst of what tasks do between two waits: those that were stopped go on before it. Else
/// whoever sleeps early has had less CPU time and overtakes them; then each finds one message, and each message is a
/// segment, where senders that come to their ends have theirs go together (Nagle). In a guest with Linux 6.12 a message of
/// ten rooms took 0.94 segments without this, and 0.64 under the kernel's own. Where a slice holds all that most tasks do
/// it is the other way round: simulated Xeons lost up to a fifth of the messages, for those that run on and on should
/// wait. Only where most that come (`woken`, of [`CAME`]) wake among many: those that compute may be overtaken.
pub fn later(slice: i64, switch_ns: u64, woken: u64) -> i64 {
    let is_short = switch_ns.saturating_mul(SWITCHES) >= slice.unsigned_abs();
    if is_short && woken >= CAME / 2 { LATER * slice } else { 0 }
}

/// How far the task of a CPU's queue is ahead of that of its core's. The queues have clocks of their own, for
/// neither can make up for what the other has on CPUs that it may not use: they are apart by no more than
/// what each may be ahead by its last slice, so that none is left behind.
pub fn ahead(ahead: i64, slice_ns: i64, own_slice: i64, shared_slice: i64) -> i64 {
    ahead.clamp(-(slice_ns + shared_slice), slice_ns + own_slice)
}

/// Whether a task that woke takes the place of one that runs: where it has had less CPU time by more than `most_ns`, and
/// the other has woken few since it began to run. Whoever sends to many would be displaced by the first that wakes, which
/// finds one message. What interrupts on its CPU wake counts, too. It is not the number of those that wait: among many
/// that only compute, one that sleeps nearly always would then wait for all.
pub fn displaces(less_ns: i64, most_ns: i64, woken: u32) -> bool {
    less_ns > most_ns && woken <= FEW
}

/// Whether the head of a queue has waited so long that it goes next; `by_weight` is what
/// [`GUARD_NS`] is by its weight.
pub fn is_overdue(waited_ns: u64, by_weight: u64) -> bool {
    waited_ns >= by_weight.min(GUARD_MAX_NS)
}

/// Whether a task may follow a waker that is about to wait: past tasks that wait on the core, too, while those that
/// have followed each other on the CPU have had less than a quarter of a slice together. A pair that takes turns finds
/// its data in the cache. With a whole slice pairs that are apart, and wait behind them at every turn, are left behind.
/// Not past hundreds: those that find one message at once find many later. Where receivers of 40 rooms followed, a message
/// of chat took 1.3 times as many segments as under `fair`, and a twentieth fewer came through than where none did.
pub fn may_follow(waiting: u32, together_ns: u64, slice_ns: u64) -> bool {
    waiting == 0 || (waiting <= PAST_MAX && together_ns < slice_ns / 4)
}

/// How often in a row a waker waited as soon as it had said so, after one more time.
pub fn word(kept: u32, waits: bool, after_ns: u64) -> u32 {
    if waits && after_ns < WORD_NS { (kept + 1).min(WORD_KEPT_MAX) } else { 0 }
}

/// Whether a task that follows its waker takes its place at once, not when that waits: what the waker is about to wait
/// for may be there when it comes back, so that nobody need wake it. Its word is not seen kept then, and so is tried
/// again after [`HANDED_MAX`] times. Not past tasks that wait: with hundreds of them the waker's data leaves the cache.
pub fn hands_over(waiting: u32, handed: u32) -> bool {
    waiting == 0 && handed < HANDED_MAX
}

/// The rank of a core from which a CPU without work may take a task: those in its last-level cache first, and of these the
/// one to which none has come for longest. The busiest first would leave tasks waiting where few do: of one and a half
/// workers a CPU the 99th percentile of their wake-ups was twice as long.
pub fn rank(is_near: bool, waited_ns: u64) -> u64 {
    (u64::from(is_near) << 63) | waited_ns.min(u64::MAX >> 1)
}

/// Which of up to four heads of a queue goes best with what a sibling runs, by what a core does with each pair (0: not
/// known): the first, unless another is worth a hundredth more.
pub fn best_partner(together: [u64; 4]) -> usize {
    let mut best = (0, together[0] + together[0] / 100);
    for (index, value) in together.into_iter().enumerate().skip(1) {
        if together[0] > 0 && value > best.1 {
            best = (index, value);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wakes_among_many_stays_or_leaves_the_cache() {
        let near = |load| Crowd { load, cpus: 2, is_far: false };
        let far = |load| Crowd { is_far: true, ..near(load) };
        let (few, many) = (2 * LEAVE_MAX, 2 * LEAVE_MAX + 9);
        let cases = [
            (few, near(few - 2), true),
            (few, near(few - 1), false),
            (few, far(few - 4), true),
            (few, far(few - 3), false),
            (few + 1, near(0), false),
            (many, near(0), false),
            (many, far(many - 9), true),
            (many, far(many - 8), false),
        ];
        for (load, core, leaves) in cases {
            assert_eq!(least_crowded(near(load), [core; 2]).is_some(), leaves, "{load} {core:?}");
        }
    }

    #[test]
    fn tasks_follow_past_few_that_wait_and_not_past_hundreds() {
        let cases =
            [(0, 99, true), (PAST_MAX, 0, true), (PAST_MAX, 1, false), (PAST_MAX + 1, 0, false)];
        for (waiting, together_ns, may) in cases {
            assert_eq!(may_follow(waiting, together_ns, 4), may, "{waiting} {together_ns}");
        }
    }

    #[test]
    fn who_wakes_among_many_stands_later_where_switches_are_long() {
        let most = (0..64).fold(0, |before, _| average(before, CAME));
        let less = (0..64).fold(CAME, |before, _| average(before, 0));
        let cases = [
            (1999, most, 0),
            (2000, most, 4),
            (u64::MAX, most, 4),
            (2000, less, 0),
            (2000, CAME / 2, 4),
        ];
        for (switch_ns, woken, slices) in cases {
            let slice = 2000 * SWITCHES as i64;
            assert_eq!(later(slice, switch_ns, woken), slice * slices, "{switch_ns} {woken}");
        }
    }

    #[test]
    fn what_was_least_is_forgotten_slowly() {
        assert_eq!((least(0, 7), least(7, 5), least(640, 9000), least(640, 645)), (7, 5, 651, 645));
    }

    #[test]
    fn who_has_woken_many_is_not_displaced() {
        for (less_ns, woken, displaced) in [(3, FEW, true), (3, FEW + 1, false), (2, 0, false)] {
            assert_eq!(displaces(less_ns, 2, woken), displaced, "{less_ns} {woken}");
        }
    }
}
