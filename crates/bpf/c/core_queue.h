/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core_queue.bpf.c and its loader (crates/bpf/src/scheduler) share besides live.h: options, decisions, counters.
 * The loader reads and writes these by position, so that a change here is one there.
 */
#ifndef CORETWIN_CORE_QUEUE_H
#define CORETWIN_CORE_QUEUE_H

#include "kernel.h"
#include "core_queue_decide.h"

/* Queues of cores have the core's number, those of CPUs begin here. */
#define QUEUE_OF_CPU 0x10000ull
#define NO_QUEUE (~0ull)

struct options {
	u64 active_interval_ns;
	u64 balance_ns;
	u64 preempt_ns;
	u64 slice_ns;
	/* CPUs there can be, cores, and last-level caches. */
	u32 cpus;
	u32 cores;
	u32 caches;
	/* Only tasks of this process are counted; 0: all. */
	u32 watch;
	u8 active;
	u8 affinity;
	u8 follow;
	u8 idle_core_first;
	u8 passive;
	u8 pickup;
	u8 wakeup;
	/* For trials of the watchdog: no task is ever taken out of a queue. */
	u8 stuck;
	/* Whether anything is counted; and whether decisions are told with what they were taken from. */
	u8 counts;
	u8 tells;
	/* Programs that are told apart. */
	u8 kinds;
	u8 unused[5];
};

/* Programs that are told apart, by name, and what a core does with two of them; 0: not known. */
#define KINDS_MAX 16

struct partners {
	u64 names[KINDS_MAX][2];
	u32 together[KINDS_MAX][KINDS_MAX];
};

/* A decision of core_queue_decide.h: a letter, what it was taken from, what it was. */
struct decision {
	u64 kind;
	s64 from[9];
	s64 was;
};

/* In the order of the loader's table. */
enum counter {
	WOKE_LAST_IDLE,
	WOKE_SIBLING,
	WOKE_IDLE_CORE,
	WOKE_OTHER_IDLE,
	WOKE_WITH_WAKER,
	WOKE_LESS_CROWDED,
	WOKE_LAST_BUSY,
	WOKE_CORE_BUSY,
	WOKE_ELSEWHERE,
	WOKE_ANYWHERE_IDLE,
	WOKE_ANYWHERE,
	PAST_QUEUES,
	QUEUED,
	QUEUED_FOR_CPU,
	QUEUE_AHEAD,
	QUEUE_LONGEST,
	TOLD_OWN,
	TOLD_SIBLING,
	TOLD_OTHER_CORE,
	PREEMPTED,
	PICKED,
	PICKED_OF_CPU,
	PARTNERED,
	WENT_ON,
	STOLEN,
	EVENED_OUT,
	LEFT_OWN,
	ACTIVE_ASKED,
	ACTIVE_MOVED,
	ACTIVE_IN_VAIN,
	RAN_FIRST,
	RAN_SAME_CPU,
	RAN_SAME_CORE,
	RAN_OTHER_CORE,
	RAN_OTHER_PACKAGE,
	WAITS,
	WAITED_NS,
	WAITED_LONGEST_NS,
	CLASH_NS,
	PUSHED_OUT,
	EVACUATED,
	COUNTERS
};

#endif
