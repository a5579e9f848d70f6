/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pure arithmetic of linux-2.5.32: no function of the kernel, no state, no types but u64, s64 and bool, which
 * whoever includes it has. The simulated policy takes the same in crates/base/src/simulation/linux_2_5_32.rs, which
 * says why; tests/decisions.rs compiles this file natively and holds one against the other.
 */
#ifndef CORETWIN_LINUX_2_5_32_DECIDE_H
#define CORETWIN_LINUX_2_5_32_DECIDE_H

#define HZ 1000ull
#define HIGHEST 100
#define IDLE_PRIORITY 140
#define SLEEP_AVERAGE_MAX (2 * HZ)
#define BONUS_RANGE 10
#define SLICE_MAX 300ull
/* The place of a task in its array: its priority above a sequence of so many bits. */
#define SEQUENCE_BITS 55

static inline u64 slice_of(s64 nice)
{
	return 10 + 290 * (u64)(19 - nice) / 39;
}

static inline s64 priority_of(s64 nice, u64 sleep_average)
{
	s64 priority = 120 + nice + BONUS_RANGE / 2 - (s64)(BONUS_RANGE * sleep_average / SLEEP_AVERAGE_MAX);

	return priority < HIGHEST ? HIGHEST : priority >= IDLE_PRIORITY ? IDLE_PRIORITY - 1 : priority;
}

static inline bool is_interactive(s64 priority, s64 nice)
{
	/* BPF divides no negative numbers. */
	s64 of_nice = nice < 0 ? -(s64)((u64)-nice / 4) : (s64)((u64)nice / 4);

	return priority <= 120 + nice - of_nice - 2;
}

static inline u64 woken(u64 sleep_average, u64 slept)
{
	return slept < SLEEP_AVERAGE_MAX - sleep_average ? sleep_average + slept : SLEEP_AVERAGE_MAX;
}

static inline u64 left_by_fork(u64 slice)
{
	return slice / 2;
}

static inline u64 got_by_fork(u64 slice)
{
	return (slice + 1) / 2;
}

static inline u64 child_average(u64 sleep_average)
{
	return sleep_average * 95 / 100;
}

static inline u64 given_back(u64 parent, u64 child)
{
	return parent + child < SLICE_MAX ? parent + child : SLICE_MAX;
}

static inline u64 parent_average(u64 parent, u64 child)
{
	return child < parent ? (parent * 3 + child) / 4 : parent;
}

static inline bool is_starved(u64 waited, u64 tasks)
{
	return waited > 2 * HZ * tasks;
}

static inline bool is_cold(u64 since, u64 cache_decay)
{
	return since > cache_decay;
}

/* 0: no; 1: by its priority; 2: by what is left of its slice. */
static inline u64 preempts(s64 priority, u64 slice, s64 current, u64 left, bool is_mended)
{
	return priority < current ? 1 : is_mended && priority == current && slice > left ? 2 : 0;
}

static inline u64 pulled(bool is_idle, u64 own, u64 busiest, u64 own_now, u64 busiest_now)
{
	u64 imbalance = busiest > own ? (busiest - own) / 2 : 0;

	if (busiest <= 1 || busiest_now <= own_now + 1)
		return 0;
	return is_idle ? 1 : imbalance < (busiest + 3) / 4 ? 0 : imbalance;
}

static inline u64 lasting(bool is_idle, u64 now, u64 earlier)
{
	return is_idle || now < earlier ? now : earlier;
}

static inline u64 own_lasting(bool is_idle, u64 now, u64 earlier)
{
	return is_idle || now > earlier ? now : earlier;
}

static inline u64 key_of(s64 priority, u64 sequence)
{
	return ((u64)priority << SEQUENCE_BITS) | (sequence & ((1ull << SEQUENCE_BITS) - 1));
}

#endif
