/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pure arithmetic of linux-2.4.19: no function of the kernel, no state, no types but u64, s64 and bool, which
 * whoever includes it has. The simulated policy takes the same in crates/base/src/simulation/linux_2_4_19.rs, which
 * says why; tests/decisions.rs compiles this file natively and holds one against the other.
 */
#ifndef CORETWIN_LINUX_2_4_19_DECIDE_H
#define CORETWIN_LINUX_2_4_19_DECIDE_H

#define HZ 100ll
#define SAME_CPU_BONUS 15
#define SAME_MEMORY_BONUS 1
#define COUNTER_MAX (20 * HZ / 100)
#define EPOCHS_MAX 8

static inline s64 slice_of(s64 nice)
{
	return ((20 - nice) >> 2) + 1;
}

static inline s64 goodness_of(s64 counter, s64 nice, bool same_cpu, bool same_memory)
{
	if (!counter)
		return 0;
	return counter + (same_cpu ? SAME_CPU_BONUS : 0) + (same_memory ? SAME_MEMORY_BONUS : 0) + 20 - nice;
}

static inline s64 renewed(s64 counter, s64 nice, u64 epochs)
{
	u64 epoch;

	for (epoch = 0; epoch < EPOCHS_MAX; epoch++) {
		if (epoch < epochs)
			counter = (counter >> 1) + slice_of(nice);
	}
	return counter;
}

static inline s64 left_by_fork(s64 counter)
{
	return counter >> 1;
}

static inline s64 got_by_fork(s64 counter)
{
	return (counter + 1) >> 1;
}

static inline s64 given_back(s64 parent, s64 child)
{
	return parent + child < COUNTER_MAX ? parent + child : COUNTER_MAX;
}

static inline s64 ticked(s64 counter)
{
	return counter > 1 ? counter - 1 : 0;
}

#endif
