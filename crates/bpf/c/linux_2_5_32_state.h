/* SPDX-License-Identifier: GPL-2.0-only */
/* What linux-2.5.32 keeps of tasks, CPUs and queues, and what it counts. */
#ifndef CORETWIN_LINUX_2_5_32_STATE_H
#define CORETWIN_LINUX_2_5_32_STATE_H

#include "article.h"
#include "linux_2_5_32_decide.h"

/* In the order of the loader's table. */
enum counter {
	WOKE_OWN_IDLE,
	WOKE_SIBLING,
	PREEMPTED,
	PREEMPTED_EQUAL,
	PREEMPTED_SIBLING,
	WOKE_WAITS,
	WOKE_BESIDE_WAKER,
	PAST_QUEUES,
	QUEUED,
	SWITCHES,
	LOOKED,
	LOOKED_MOST,
	LOOKS_CUT,
	LOST,
	PICKED,
	WENT_ON,
	SWAPPED,
	EXPIRED,
	STAYED,
	STARVED,
	YIELDED,
	TICKS,
	LATE_TICKS,
	PULLED_IDLE,
	PULLED_BUSY,
	PULL_LOOKED,
	PULLS_CUT,
	IDLE_TOLD,
	ACTIVE_ASKED,
	ACTIVE_MOVED,
	ACTIVE_IN_VAIN,
	OVERDUE,
	SWEPT,
	RAN_FIRST,
	RAN_SAME_CPU,
	RAN_SAME_CORE,
	RAN_OTHER_CORE,
	RAN_OTHER_PACKAGE,
	WAITS,
	WAITED_NS,
	WAITED_LONGEST_NS,
	PUSHED_OUT,
	EVACUATED,
	COUNTERS
};

/* The parameters, by their places in the table. */
#if PATCHED
#define ACTIVE (options.values[0])
#define AFFINITY (options.values[1])
#define CACHE_DECAY ((u64)options.values[2])
#define PASSIVE (options.values[3])
#define PICKUP (options.values[4])
#define WAKEUP (options.values[5])
#else
#define ACTIVE 0
#define AFFINITY 0
#define CACHE_DECAY ((u64)options.values[0])
#define PASSIVE 0
#define PICKUP 0
#define WAKEUP 0
#endif
/* Whether the CPUs of a core have one queue, and whether queues are balanced, not CPUs. */
#define SHARED (ACTIVE || AFFINITY || PASSIVE || PICKUP || WAKEUP)
#define BY_QUEUE (PASSIVE || !SHARED)

#define TICK_NS (1000000000ull / HZ)
/* Ticks between two looks of a busy CPU at the others. */
#define BUSY_REBALANCE (HZ / 4)
/* No task loses its CPU by it: counters say when. */
#define SLICE_NS 1000000000ull
/* Ticks between two looks for a CPU that is going offline. */
#define GOING_TICKS (HZ / 50)
/* Tasks that a CPU looks at in one walk: to choose, to take one from another queue, for those that wait too long. */
#define LOOKED_MAX 4096
#define PULL_LOOKED_MAX 1024
#define SWEPT_MAX 8192
/* The most tasks taken from another queue at one time. */
#define PULLED_MAX 32
/* A task that waited so long goes next: the kernel's watchdog ends a scheduler after 30 s. */
#define OVERDUE_NS 15000000000ull
#define SWEEP_NS 1000000000ull

struct task {
	/* Its place in its array. */
	u64 key;
	/* Ticks: of its slice left, slept of late, and when it left a CPU. */
	u64 slice;
	u64 sleep_average;
	u64 left_at;
	u64 waits_ns;
	s64 priority;
	s64 nice;
	/* Where it last ran, and where it belongs; none: nowhere yet. */
	u32 ran_on;
	u32 home;
	u32 queue;
	u8 array;
	/* It can run, whether or not it does. */
	u8 listed;
	/* It still runs on what its parent gave it. */
	u8 first_slice;
	/* It was running, and goes on to wait. */
	u8 stopped;
	/* It lost its CPU to go to an idle core. */
	u8 given;
	/* It counts among those that wait for its home. */
	u8 counted;
};

/* A CPU, and the task that it runs, for others to compare theirs with. */
struct cpu {
	/* The last tick that is paid for. */
	u64 tick;
	/* The quarter of a second in which it last looked, and what it is to take then, and from where. */
	u64 looked;
	u64 owed;
	u32 owed_from;
	u32 looks;
	u64 slice;
	s64 priority;
	/* Tasks that wait for it. */
	u32 waiting;
	u8 array;
	u8 runs;
	u8 asked;
	u8 online;
	/* Programs of ours that the one that runs is called by. */
	u8 nested;
} __attribute__((aligned(64)));

/* A queue of a CPU, or of the CPUs of a core. */
struct queue {
	/* Swaps so far: the lowest bit is the active array. */
	u64 swaps;
	/* The tick at which the first of the expired tasks expired; 0: there is none. */
	u64 expired_since;
	/* Since when tasks wait in it without a break, and when they were last gone through. */
	u64 since_ns;
	u64 swept_ns;
	/* Its length in the last two quarters of a second, by the lowest bit of their numbers. */
	u64 lasted_in[2];
	u32 lasted[2];
	/* A running task of it is wanted by an idle core. */
	u8 wanted;
	/* Some of its tasks wait too long. */
	u8 overdue;
} __attribute__((aligned(64)));

#include "live.h"

extern const struct rq runqueues KSYM;

/* By core where its CPUs share one, or by CPU. */
static struct queue queues[CPUS_MAX];
/* The last tick at which idle CPUs were told, and the last look for a CPU that is going offline. */
static u64 told, looked_for_going;

static always_inline struct queue *queue_at(u32 queue)
{
	return &queues[queue & (CPUS_MAX - 1)];
}

static always_inline u32 queue_of(u32 cpu)
{
	return SHARED ? core_number(cpu) : cpu & (CPUS_MAX - 1);
}

static always_inline u32 queue_count(void)
{
	return SHARED ? options.cores : options.cpus;
}

/* A CPU of a queue by its place; none if there are not so many. */
static always_inline u32 member_of(u32 queue, u32 index)
{
	return SHARED ? member(queue, index) : index ? NONE : queue;
}

static always_inline u8 active_of(u32 queue)
{
	return READ_ONCE(queue_at(queue)->swaps) & 1;
}

static always_inline u64 array_id(u32 queue, u8 array)
{
	return 2ull * queue + (array & 1);
}

static always_inline u32 waiting_in(u32 queue)
{
	s32 first = scx_bpf_dsq_nr_queued(array_id(queue, 0)), second = scx_bpf_dsq_nr_queued(array_id(queue, 1));

	return (first > 0 ? first : 0) + (second > 0 ? second : 0);
}

/* Real-time tasks of a CPU: the kernel's class has them today, in 2.5.32 they counted as any other. */
static u32 real_time_on(u32 cpu)
{
	const struct rq *its = bpf_per_cpu_ptr(&runqueues, cpu);

	return its ? its->rt.rt_nr_running : 0;
}

/* The same of a queue. A global function, which the kernel's verifier goes through once, not at each call. */
noinline u32 real_time_in(u32 queue)
{
	u32 index, sum = 0;

	for (index = 0; index < THREADS_MAX && member_of(queue, index) != NONE; index++)
		sum += real_time_on(member_of(queue, index));
	return sum;
}

/* Tasks of a queue, those that run included. */
static always_inline u32 length_of(u32 queue)
{
	return waiting_in(queue) + (SHARED ? READ_ONCE(core_of(queue)->running) : cpu_of(queue)->runs) +
	       real_time_in(queue);
}

/* What is balanced: queues, or CPUs. */
static always_inline u32 unit_of(u32 cpu)
{
	return BY_QUEUE ? queue_of(cpu) : cpu;
}

static always_inline u32 unit_length(u32 unit)
{
	return BY_QUEUE ? length_of(unit) : cpu_of(unit)->waiting + cpu_of(unit)->runs + real_time_on(unit);
}

static always_inline u64 ticks_now(void)
{
	return now_ns() / TICK_NS;
}

static always_inline s64 nice_of(struct task_struct *p)
{
	return p->static_prio - 120;
}

/* A task waits for a CPU, or for none. */
static void waits_for(struct task *task, u32 home)
{
	if (BY_QUEUE && (PICKUP || !SHARED))
		return;
	if (task->counted)
		__sync_fetch_and_sub(&cpu_of(task->home)->waiting, 1);
	task->counted = home != NONE;
	if (home != NONE) {
		task->home = home;
		__sync_fetch_and_add(&cpu_of(home)->waiting, 1);
	}
}

/* Puts a task at the end of a list of its queue. */
static void goes_last(struct task *task, u8 array)
{
	task->array = array;
	task->key = key_of(task->priority, now_ns());
}

/* Shows others what a CPU runs. */
static void show(struct cpu *here, struct task *task)
{
	here->slice = task->slice;
	here->priority = task->priority;
	here->array = task->array;
}

/* A slice has ended: a new one, and the end of a list of the active or the expired. */
static void expire(struct task_struct *p, struct task *task)
{
	u32 queue = task->queue;
	struct queue *it = queue_at(queue);
	u64 now = ticks_now(), since = READ_ONCE(it->expired_since);
	u8 active = active_of(queue);
	bool interactive, starved;

	task->nice = nice_of(p);
	task->slice = slice_of(task->nice);
	task->first_slice = false;
	/* Its new priority decides whether it is interactive. */
	task->priority = priority_of(task->nice, task->sleep_average);
	interactive = is_interactive(task->priority, task->nice);
	starved = since && is_starved(since < now ? now - since : 0, length_of(queue));
	if (!interactive || starved) {
		if (!since)
			it->expired_since = now;
		active ^= 1;
	}
	goes_last(task, active);
	count(p, !interactive ? EXPIRED : starved ? STARVED : STAYED);
}

/* The task that runs pays for every tick that has passed; whether its slice is over. */
static bool charge(struct task_struct *p, struct task *task, struct cpu *here)
{
	u64 now = ticks_now(), passed = now > here->tick ? now - here->tick : 0;

	if (!passed)
		return false;
	here->tick = now;
	add(p, TICKS, passed);
	task->sleep_average -= passed < task->sleep_average ? passed : task->sleep_average;
	if (passed < task->slice) {
		task->slice -= passed;
		show(here, task);
		return false;
	}
	add(p, LATE_TICKS, passed - task->slice);
	expire(p, task);
	show(here, task);
	return true;
}

#endif
