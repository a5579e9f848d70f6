/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pure decisions of core-queue: no function of the kernel, no state, no types but u32, u64, s64 and bool, which
 * whoever includes it has. The simulated policy takes the same in crates/base/src/simulation/core_queue/decide.rs,
 * which says why; tests/decisions.rs compiles this file natively and holds one against the other.
 */
#ifndef CORETWIN_CORE_QUEUE_DECIDE_H
#define CORETWIN_CORE_QUEUE_DECIDE_H

#define OWED_MAX 32u
#define FEWER_NEAR 2u
#define FEWER_FAR 8u
#define FEWER_SHARE 8u
#define LEAVE_MAX 3u
#define GUARD_NS 100000000ull
#define GUARD_MAX_NS 10000000000ull
#define WORD_NS 50000ull
#define WORD_KEPT 2u
#define WORD_KEPT_MAX 3u
#define HANDED_MAX 16u
#define FEW 4u
#define PAST_MAX 64u
#define CROWD 8u
#define SWITCHES 1500u
#define LATER 4
#define CAME 4096u

/* A core where a task could wait: tasks there, CPUs online, whether it lies beyond the home's last-level cache. */
struct crowd {
	u32 load;
	u32 cpus;
	bool is_far;
};

/* Whether a woken task leaves its home for a core. */
static inline bool is_less_crowded(struct crowd home, struct crowd core)
{
	bool is_few = home.load <= (u64)LEAVE_MAX * home.cpus;
	u64 then = core.load;

	if (is_few && core.is_far)
		then += home.cpus < FEWER_FAR / FEWER_NEAR ? FEWER_NEAR * home.cpus : FEWER_FAR;
	else if (is_few)
		then += FEWER_NEAR;
	else if (core.is_far)
		then += FEWER_FAR + home.load / FEWER_SHARE;
	else
		return false;
	return core.cpus && then * home.cpus <= (u64)home.load * core.cpus;
}

/* Of two cores the number of the one for which it leaves; 2: none. */
static inline u32 least_crowded(struct crowd home, struct crowd first, struct crowd second)
{
	if (!is_less_crowded(home, second))
		return is_less_crowded(home, first) ? 0 : 2;
	if (!is_less_crowded(home, first))
		return 1;
	return (u64)second.load * first.cpus < (u64)first.load * second.cpus;
}

static inline u32 is_wide(u32 looks)
{
	return looks % 2;
}

static inline u32 owed_of(u32 here, u32 there, u32 core, u32 looks)
{
	u32 more = there > here ? there - here : 0, rounds = is_wide(looks) ? 32 : 4;

	if (more == 1)
		return (looks / 2 + core / 2 + core % 2 * rounds / 2) % rounds == 0;
	return more / 2 < OWED_MAX ? more / 2 : OWED_MAX;
}

static inline s64 within(s64 value, s64 least, s64 most)
{
	return value > most ? most : value < least ? least : value;
}

static inline s64 lag_of(u64 clock, u64 virtual_ns, s64 most)
{
	return within((s64)(clock - virtual_ns), -most, most);
}

/* Where a task that wakes stands in its queue: where few wait, not before the one that woke last and waits. */
static inline u64 woken_at(u64 clock, u64 virtual_ns, u64 last, s64 slice, u32 waiting)
{
	s64 later = last - virtual_ns;

	return waiting <= FEW && (s64)(last - clock) > 0 && later >= 0 && later <= 2 * slice ? last : virtual_ns;
}

static inline u64 average_of(u64 before, u64 one)
{
	return (before * 63 + one) / 64;
}

/* The least of what was seen, forgotten slowly. */
static inline u64 least_of(u64 before, u64 one)
{
	u64 most = before + before / 64 + 1;

	return !before || one < most ? one : most;
}

/* How much later than by its CPU time a woken task stands, by what a switch takes and what part of those that came woke among many. */
static inline s64 later_of(s64 slice, u64 switch_ns, u64 woken)
{
	return switch_ns >= ((u64)slice + SWITCHES - 1) / SWITCHES && woken >= CAME / 2 ? LATER * slice : 0;
}

static inline s64 ahead_of(s64 ahead, s64 slice_ns, s64 own_slice, s64 shared_slice)
{
	return within(ahead, -(slice_ns + shared_slice), slice_ns + own_slice);
}

/* How often in a row a waker waited as soon as it had said so, after one more time. */
static inline u32 word_of(u32 kept, bool waits, u64 after_ns)
{
	if (!waits || after_ns >= WORD_NS)
		return 0;
	return kept < WORD_KEPT_MAX ? kept + 1 : WORD_KEPT_MAX;
}

static inline bool may_follow(u32 waiting, u64 together_ns, u64 slice_ns)
{
	return !waiting || (waiting <= PAST_MAX && together_ns < slice_ns / 4);
}

/* Whether a task that follows its waker takes its place at once. */
static inline bool hands_over(u32 waiting, u32 handed)
{
	return !waiting && handed < HANDED_MAX;
}

/* The rank of a core from which a CPU without work may take a task. */
static inline u64 rank_of(bool is_near, u64 waited_ns)
{
	u64 most = ~0ull >> 1;

	return (u64)is_near << 63 | (waited_ns < most ? waited_ns : most);
}

/* Whether a task that woke takes the place of one that runs, and has woken so many since it began to. */
static inline bool displaces_where(s64 less_ns, s64 most_ns, u32 woken)
{
	return less_ns > most_ns && woken <= FEW;
}

/* Which of four heads of a queue goes best with what a sibling runs, by what a core does with each pair; 0: not known. */
static inline u32 best_partner(u64 first, u64 second, u64 third, u64 fourth)
{
	u64 most = first + first / 100;
	u32 best = 0;

	if (!first)
		return 0;
	if (second > most) {
		most = second;
		best = 1;
	}
	if (third > most) {
		most = third;
		best = 2;
	}
	return fourth > most ? 3 : best;
}

static inline bool is_overdue(u64 waited_ns, u64 by_weight)
{
	return waited_ns >= (by_weight < GUARD_MAX_NS ? by_weight : GUARD_MAX_NS);
}

#endif
