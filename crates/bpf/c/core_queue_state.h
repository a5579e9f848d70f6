/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler knows of CPUs, cores and tasks, and what it counts. */
#ifndef CORETWIN_CORE_QUEUE_STATE_H
#define CORETWIN_CORE_QUEUE_STATE_H

#include "core_queue.h"

/* A CPU, written by itself alone but for `asked` and the clock of its queue. */
struct cpu {
	/* Of its own queue: the clock, as of a core's; and what stands on the core's clock when this shows 0. */
	u64 now;
	u64 shift;
	/* What it runs began with so much virtual time, at that moment, with that weight. */
	u64 virtual_ns;
	u64 started_ns;
	u64 ticked_ns;
	u32 weight;
	/* The core that its next wake-up looks at besides those of the task and the waker. */
	u32 probe;
	/* Whether it runs a task of ours, whether that could run elsewhere, and whether by the CPU's own clock. */
	u8 runs;
	u8 movable;
	u8 bound;
	u8 online;
	/* Its task is wanted by an idle core. */
	u8 asked;
	/* How it came by what it runs next: a counter, never the first. */
	u8 how;
	/* Programs of ours that the one that runs is called by. */
	u8 nested;
	/* Its task's `word` and `handed`, and whether a task follows it: one that this woke, or whose place this took. */
	u8 word;
	u8 handed;
	u8 followed;
	/* Whether the one that follows takes its place at once; whether it has, and the task that ran follows in turn. */
	u8 hands_over;
	u8 waker_follows;
	/* How many tasks what it runs has woken, up to one more than few. */
	u8 wakes;
	/* Tasks that left it to sleep. */
	u8 sleepers;
	/* The program it runs, of those that are told apart: its number from 1. */
	u8 kind;
	/* When its task first said that it is about to wait; 0: not since it began to run. */
	u64 said_ns;
	/* When a task left it to sleep, of every sixteenth; 0: of others, and when the next has begun. */
	u64 left_ns;
	/* When the first of the tasks began that have followed each other since. */
	u64 together_ns;
	/* Where the task of its own queue stood that woke last. */
	u64 woken;
} __attribute__((aligned(64)));

/* A core. */
struct core {
	/* The most virtual time a task of its queue that ran here began with. */
	u64 now;
	/* When a running task was last asked of it. */
	u64 asked_ns;
	/* Its CPUs that run a task; tasks that waited when it last looked, for those who watch; its CPUs that are online. */
	u32 running;
	u32 queued;
	u32 online;
	u32 owed_from;
	u64 looked_ns;
	/* When a task last came to its queues; those are only looked at from elsewhere while they may hold one. */
	u64 came_ns;
	/* Where the task of its queue stood that woke last. */
	u64 woken;
	u32 may_wait;
	/* Tasks that it shall take from `owed_from`; how often it has looked at others. */
	u8 owed;
	u8 looks;
	/* Whether the next task is one that is owed; whether any task ever waited for one of its CPUs. */
	u8 turn;
	u8 of_cpus;
} __attribute__((aligned(64)));

/* A core, beyond what the loader knows of it. */
struct crowding {
	/* Of what came to its queues of late, the part that woke among many. What a switch takes: the least of late. */
	u64 came;
	u64 switch_ns;
} __attribute__((aligned(64)));

/* A task. */
struct task {
	/* CPU time by weight, on the clock of its queue, and the CPU time already in it. */
	u64 virtual_ns;
	u64 counted_ns;
	/* Since when it waits. */
	u64 waits_ns;
	/* The CPU it belongs to; `bound`: to the queue of that CPU, not to that of its core. */
	u32 home;
	/* Where it last ran; none: nowhere yet. */
	u32 ran_on;
	/* When it last began to run. */
	u32 weight;
	u8 sleeps;
	/* It was running, and an idle core has asked for it. */
	u8 give_away;
	/* It was running, and goes on to wait. */
	u8 stopped;
	u8 bound;
	/* How often in a row it waited as soon as it had said so. */
	u8 word;
	/* How often since then one that it woke took its place. */
	u8 handed;
	/* Its program as it last ran; how often in a row a better partner went before it. */
	u8 kind;
	u8 passed;
	/* While it sleeps: how far it was behind the clock of its queue. While it waits: how much later it stands. */
	s64 lag;
	s64 later;
};

#include "live.h"

const volatile struct partners partners SEC(".rodata.partners") = {};

static struct crowding crowdings[CPUS_MAX];

static always_inline struct crowding *crowding_of(u32 core)
{
	return &crowdings[core & (CPUS_MAX - 1)];
}

/* Cores that run several tasks; cores on which tasks may wait. */
static u32 crowded, may_waits;

/* That of nice 0 in groups of the usual weight. */
#define WEIGHT 100u

/* CPU time by weight. */
static always_inline u64 by_weight(u64 ns, u32 weight)
{
	return ns * WEIGHT / (weight ?: 1);
}

/* Levels of groups that are looked at. */
#define GROUPS_MAX 4
/* The kernel's shares of a group with cpu.weight 100. */
#define SHARES_SHIFT 20
/* BPF_FIELD_EXISTS */
#define HAS(member) __builtin_preserve_field_info(member, 2)

/* The weight of a task, times that of its groups; 100 is that of nice 0 in groups of the usual weight. */
static u32 weight_of(struct task_struct *p)
{
	u64 weight = p->scx.weight;
	struct task_group *group = NULL;
	int level;

	if (!HAS(p->sched_task_group) || !HAS(group->shares))
		return weight;
	group = p->sched_task_group;
	for (level = 0; level < GROUPS_MAX && group; level++) {
		weight = weight * group->shares >> SHARES_SHIFT;
		group = group->parent;
	}
	return weight < 1 ? 1 : weight > 1000000 ? 1000000 : weight;
}

/* Counts the CPU time of a task since it was last counted. */
static void count_time(struct task_struct *p, struct task *task)
{
	u64 ran_ns = p->se.sum_exec_runtime;

	task->virtual_ns += by_weight(ran_ns - task->counted_ns, task->weight);
	task->counted_ns = ran_ns;
}

/* The clock of a CPU's queue, or of its core's. */
static u64 clock_of(u32 cpu, bool bound)
{
	return bound ? cpu_of(cpu)->now : core_of(core_number(cpu))->now;
}

/* Decisions of each kind that are told. */
#define TOLD_MAX 2000u

struct {
	MAP_NUMBER(type, MAP_RINGBUF);
	/* The loader makes room where they are told. */
	MAP_NUMBER(max_entries, 4096);
} decisions SEC(".maps");

u32 told[128] SEC(".bss.told") = {};

static always_inline bool tells(char kind)
{
	return options.tells && told[kind & 127]++ < TOLD_MAX;
}

static void tell(struct decision *it)
{
	bpf_ringbuf_output(&decisions, it, sizeof(*it), 1 /* BPF_RB_NO_WAKEUP */);
}

/* Tells a decision that was taken from up to four numbers. */
static always_inline s64 decided(char kind, s64 first, s64 second, s64 third, s64 fourth, s64 was)
{
	if (tells(kind)) {
		struct decision it = { kind, { first, second, third, fourth }, was };

		tell(&it);
	}
	return was;
}

/* How far a task is behind the clock of its queue, by a slice of its weight at most. */
static s64 lag(struct task *task)
{
	u64 clock = clock_of(task->home, task->bound), virtual_ns = task->virtual_ns;
	s64 most = by_weight(options.slice_ns, task->weight);

	return decided('l', clock, virtual_ns, most, 0, lag_of(clock, virtual_ns, most));
}

/* Makes a task one of a queue. Clocks differ: what counts is its lag, which stands still while it sleeps. */
static void move_home(struct task *task, u32 cpu, bool bound)
{
	bool moves = bound != task->bound ||
		     (bound ? cpu != task->home : core_number(cpu) != core_number(task->home));

	if (task->sleeps || moves) {
		s64 behind = task->sleeps ? task->lag : lag(task);

		task->virtual_ns = clock_of(cpu, bound) - behind;
		task->sleeps = false;
	}
	task->home = cpu;
	task->bound = bound;
}

/* A task comes to a queue. */
static void arrive(struct task *task, u32 cpu, bool bound)
{
	move_home(task, cpu, bound);
	task->waits_ns = now_ns();
}

/* A task that could run: how far it is on the clock of its queue, and its weight. */
struct candidate {
	u64 virtual_ns;
	u32 weight;
	bool is;
	/* It runs already; it has waited so long that it goes next. */
	bool goes_on;
	bool overdue;
};

/* Whether a task in the queue of a CPU comes before one in that of its core. */
static bool own_before(u32 cpu, struct candidate *own, struct candidate *shared)
{
	struct cpu *here = cpu_of(cpu);
	s64 ahead = own->virtual_ns + here->shift - shared->virtual_ns;
	s64 slice_ns = options.slice_ns, of_own = by_weight(slice_ns, own->weight);
	s64 of_shared = by_weight(slice_ns, shared->weight);
	s64 kept = ahead_of(ahead, slice_ns, of_own, of_shared);

	decided('a', ahead, slice_ns, of_own, of_shared, kept);
	here->shift += kept - ahead;
	return kept < 0;
}

/* Tasks in the queues of a core. */
static u32 queued(u32 core)
{
	s32 count = scx_bpf_dsq_nr_queued(core);
	u32 index;

	for (index = 0; index < THREADS_MAX && core_of(core)->of_cpus; index++) {
		u32 cpu = member(core, index);

		if (cpu == NONE)
			break;
		count += scx_bpf_dsq_nr_queued(QUEUE_OF_CPU + cpu);
	}
	return count;
}

/* The same, where none may be there without looking. */
static always_inline u32 waiting(u32 core)
{
	return core_of(core)->may_wait ? queued(core) : 0;
}

/* Tasks that run or wait on a core. */
static always_inline u32 load(u32 core)
{
	return core_of(core)->running + waiting(core);
}

/* A task is about to come to a queue: the kernel puts it there after we have said so. */
#define COMES_NS 10000000ull

static void set_may_wait(struct core *core, bool may)
{
	if (core->may_wait != may && __sync_lock_test_and_set(&core->may_wait, may) != may)
		__sync_fetch_and_add(&may_waits, may ? 1 : -1);
}

/* Where a task that comes to its queue stands there. One of another weight than the usual has its share to catch up. */
static u64 stands(struct task *task, bool wakes)
{
	u32 core = core_number(task->home), waits = wakes ? waiting(core) : 0;
	struct crowding *crowding = crowding_of(core);
	u64 *last = task->bound ? &cpu_of(task->home)->woken : &core_of(core)->woken;
	u64 clock = clock_of(task->home, task->bound), virtual_ns = task->virtual_ns, before_ns = *last, at;
	s64 slice = by_weight(options.slice_ns, task->weight);
	u64 came = crowding->came, one = waits >= CROWD ? CAME : 0;

	/* A sibling may do the same at once: then one of the two is not counted, or stands where it would without this. */
	crowding->came = decided('s', came, one, 0, 0, average_of(came, one));
	task->later = 0;
	if (!wakes || task->weight != WEIGHT)
		return virtual_ns;
	came = crowding->came;
	one = crowding->switch_ns;
	task->later = decided('q', slice, one, came, 0, later_of(slice, one, came));
	at = woken_at(clock, virtual_ns, before_ns, slice, waits);
	*last = at + task->later;
	if (tells('p')) {
		struct decision it = { 'p', { clock, virtual_ns, before_ns, slice, waits }, at };

		tell(&it);
	}
	return at + task->later;
}

/* Whether tasks may wait on a core. What is seen empty long after the last one came is not looked at again. */
static bool may_wait(u32 core)
{
	struct core *it = core_of(core);

	if (!it->may_wait)
		return false;
	if (queued(core))
		return true;
	if (since(now_ns(), it->came_ns) > COMES_NS) {
		set_may_wait(it, false);
		if (queued(core))
			set_may_wait(it, true);
	}
	return false;
}

/* Whether every CPU of a core may run a task. */
static bool fits(struct task_struct *p, u32 core)
{
	u32 index;

	if (p->nr_cpus_allowed >= (int)options.cpus)
		return true;
	for (index = 0; index < THREADS_MAX; index++) {
		u32 cpu = member(core, index);

		if (cpu == NONE)
			break;
		if (!allowed(p, cpu))
			return false;
	}
	return true;
}

/* Whether a task waits in the queue of a CPU, not in that of its core. */
static bool is_bound(struct task_struct *p, u32 cpu)
{
	return !options.pickup || !fits(p, core_number(cpu)) || is_held(p);
}

#endif
