/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux-2.4.19: one list of runnable tasks for all CPUs, and a goodness for each task, for sched_ext.
 *
 * Written from the facts of Linux 2.4's scheduler; the simulated kernel has the same policy in
 * crates/sim/src/policies/linux_2_4_19.rs, and what is decided there is decided here, from the same parameters.
 *
 *   list      every task that waits, in one queue; a woken one joins its head, a preempted one keeps its place
 *   goodness  a CPU that reschedules looks at every task in the list and takes the best
 *   renewal   when all that could run there have used up their slices, every task gets half of what it has left and
 *             a new slice: an epoch ends, and each task takes notice when it is next looked at
 *   search    a task that becomes runnable looks for a CPU: its last if idle, an idle core, the CPU that is idle
 *             longest, the running task that it beats by most
 *
 * What it cannot keep of its original is a table in docs/method/article-schedulers.md.
 */
#include "article.h"
#include "linux_2_4_19_decide.h"

/* In the order of the loader's table. */
enum counter {
	WOKE_LAST_IDLE,
	WOKE_IDLE_CORE,
	WOKE_LONGEST_IDLE,
	PREEMPTED,
	WOKE_WAITS,
	WOKE_SYNC,
	PAST_QUEUES,
	QUEUED,
	SWITCHES,
	LOOKED,
	LOOKED_MOST,
	LOOKS_CUT,
	LOST,
	TAKEN_UNSEEN,
	RENEWALS,
	PICKED,
	WENT_ON,
	OVERDUE,
	YIELDED,
	TICKS,
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

char LICENSE[] SEC("license") = "GPL";

/* The number of the only queue. */
#define LIST 0ull
/* The parameters, by their places in the table. */
#define HT_RULE (options.values[0])
#define WAKE_TAIL (options.values[1])
#define TICK_NS (1000000000ull / HZ)
/* No task loses its CPU by it: counters say when. */
#define SLICE_NS 1000000000ull
/* Tasks that a CPU looks at in one walk. */
#define LOOKED_MAX 8192
/* Walks of one switch: the best was lost to another CPU, or slices were renewed. */
#define WALKS_MAX 4
/* A task that waited so long goes next: the kernel's watchdog ends a scheduler after 30 s. */
#define OVERDUE_NS 15000000000ull
/* Beside the goodness of a task: none, a task that yielded, one that is overdue. */
#define NO_TASK -1000
#define GAVE_UP -1
#define NEXT 1000000

struct task {
	/* Ticks left of its slice, as of an epoch. */
	s64 counter;
	u64 epoch;
	/* Its place in the list, which it keeps until it sleeps. */
	u64 position;
	u64 waits_ns;
	/* Its address space, as a number; 0: a thread of the kernel. */
	u64 memory;
	/* Where it last ran; none: nowhere yet. */
	u32 ran_on;
	u8 listed;
	u8 yielded;
	/* Its waker is about to wait, and it may run there. */
	u8 sync;
	/* It was running, and goes on to wait. */
	u8 stopped;
};

/* A CPU, and the task that it runs, for others to compare theirs with. */
struct cpu {
	u64 scheduled_ns;
	/* The last of our ticks that it saw. */
	u64 tick;
	u64 memory;
	s64 counter;
	u64 epoch;
	s64 nice;
	/* Of this walk: the best goodness, the place of the task that runs, tasks looked at. Kept here, for the verifier
	 * follows every value of a local. */
	s64 most;
	u64 position;
	u32 looked;
	u8 runs;
	u8 yielded;
	u8 online;
	/* Programs of ours that the one that runs is called by. */
	u8 nested;
} __attribute__((aligned(64)));

#include "live.h"

/* Renewals so far, and the ends of the list. */
static u64 epoch;
static u64 head = 1ull << 62, tail = (1ull << 62) + 1;
/* Some tasks wait too long: until none does each runs for one tick of today's kernel, for whole slices take too long. */
static bool hurry;

static always_inline s64 nice_of(struct task_struct *p)
{
	return p->static_prio - 120;
}

/* Takes notice of the epochs that have ended. */
static void renew(struct task_struct *p, struct task *task)
{
	u64 now = READ_ONCE(epoch);

	if (task->epoch == now)
		return;
	task->counter = renewed(task->counter, nice_of(p), now - task->epoch);
	task->epoch = now;
}

static void learn_memory(struct task_struct *p, struct task *task)
{
	u64 memory = 0;

	bpf_probe_read_kernel(&memory, sizeof(memory), &p->mm);
	task->memory = memory;
}

/* Goodness of a task on a CPU that last ran this memory. */
static s64 goodness(struct task_struct *p, struct task *task, u32 cpu, u64 memory)
{
	if (task->yielded)
		return GAVE_UP;
	renew(p, task);
	return goodness_of(task->counter, nice_of(p), scx_bpf_task_cpu(p) == (s32)cpu,
			   !task->memory || task->memory == memory);
}

/* What a task is better by than the one that a CPU runs. */
static s64 gain(struct task_struct *p, struct task *task, u32 cpu)
{
	struct cpu *it = cpu_of(cpu);
	s64 counter = renewed(it->counter, it->nice, READ_ONCE(epoch) - it->epoch);
	s64 runs = it->yielded ? GAVE_UP : goodness_of(counter, it->nice, true, true);

	return goodness(p, task, cpu, it->memory) - runs;
}

/* Whether the CPU's core has two CPUs, and the other one is online and idle too. */
static bool is_core_idle(u32 cpu, const struct cpumask *idle)
{
	u32 core = core_number(cpu), other = member(core, 0);

	if (other == cpu)
		other = member(core, 1);
	return other != NONE && member(core, 2) == NONE && cpu_of(other)->online && idles(other, idle);
}

/* Finds a CPU for a task that is about to wait: the one to be told, and how. */
static u32 find_cpu(struct task_struct *p, struct task *task, u32 last, const struct cpumask *idle, u32 *how)
{
	u32 longest = NONE, weakest = NONE;
	s64 most = 0;

	*how = WOKE_LAST_IDLE;
	if (allowed(p, last) && idles(last, idle))
		return last;
	FOR_EACH(cpu, options.cpus) {
		struct cpu *it = cpu_of(cpu);

		if (!it->online || !allowed(p, cpu))
			continue;
		if (idles(cpu, idle)) {
			if (HT_RULE && is_core_idle(cpu, idle)) {
				*how = WOKE_IDLE_CORE;
				return cpu;
			}
			if (longest == NONE || before(it->scheduled_ns, cpu_of(longest)->scheduled_ns))
				longest = cpu;
		} else if (longest == NONE && it->runs) {
			s64 better = gain(p, task, cpu);

			if (better > most) {
				most = better;
				weakest = cpu;
			}
		}
	}
	*how = longest != NONE ? WOKE_LONGEST_IDLE : weakest != NONE ? PREEMPTED : WOKE_WAITS;
	return longest != NONE ? longest : weakest;
}

/* A task that waits looks for a CPU. */
static void look_for_cpu(struct task_struct *p, struct task *task)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 last = scx_bpf_task_cpu(p), how, cpu = find_cpu(p, task, last, idle, &how);

	scx_bpf_put_idle_cpumask(idle);
	count(p, how);
	/* Its last CPU may go idle just now: whether it is shows when the kick arrives. */
	if (cpu == NONE)
		kick(last, KICK_IDLE);
	else
		kick(cpu, how == PREEMPTED ? KICK_PREEMPT : KICK_IDLE);
}

SEC("struct_ops/select_cpu")
s32 on_select_cpu(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task *task = task_of(p);

	/* It stays where it was until a CPU takes it; that is not looked for here. */
	if (task)
		task->sync = HAS_WAKE_FLAG(context[2], SCX_WAKE_SYNC) && allowed(p, bpf_get_smp_processor_id());
	return context[1];
}

SEC("struct_ops/enqueue")
void on_enqueue(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u64 flags = context[1];
	struct task *task = task_of(p);
	bool is_new, yielded, sync;

	if (!task || !may_kick() || (is_of_cpu(p) && !HAS_FLAG(flags, SCX_ENQ_REENQ))) {
		count(p, PAST_QUEUES);
		insert(p, DSQ_LOCAL, SLICE_NS, flags);
		return;
	}
	is_new = !task->listed;
	yielded = task->yielded;
	sync = is_new && task->sync;
	task->yielded = task->sync = false;
	if (is_new) {
		task->position = WAKE_TAIL ? __sync_fetch_and_add(&tail, 1) : __sync_fetch_and_sub(&head, 1);
		task->listed = true;
	}
	if (!task->stopped)
		task->waits_ns = now_ns();
	task->stopped = false;
	learn_memory(p, task);
	count(p, QUEUED);
	insert_by_time(p, LIST, SLICE_NS, task->position, flags);
	if (sync)
		count(p, WOKE_SYNC);
	else if (!yielded)
		look_for_cpu(p, task);
}

enum walked { NOBODY, TOOK, GOES_ON, WAS_LOST, ALL_SPENT };

/* Looks at every task in the list, and takes the best that may run here. */
static enum walked walk(u32 cpu, struct task_struct *previous)
{
	struct cpu *here = cpu_of(cpu);
	struct task_struct *p, *best = NULL;
	struct bpf_iter_scx_dsq it;
	enum walked how = NOBODY;
	struct task *task;
	u64 now = now_ns();

	here->looked = 0;
	here->most = NO_TASK;
	here->position = 0;
	if (previous && (task = task_of(previous))) {
		here->looked = 1;
		here->most = goodness(previous, task, cpu, here->memory);
		here->position = task->position;
		how = GOES_ON;
	}
	bpf_iter_scx_dsq_new(&it, LIST, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		s64 good;

		if (++here->looked > LOOKED_MAX) {
			add_once(LOOKS_CUT, 1);
			break;
		}
		if (!allowed(p, cpu) || !(task = task_of(p)) ||
		    (is_held(p) && scx_bpf_task_cpu(p) != (s32)cpu))
			continue;
		good = goodness(p, task, cpu, here->memory);
		if (since(now, task->waits_ns) >= OVERDUE_NS)
			good = NEXT;
		/* Of equals the first in the list, where the one that runs has its place, too. */
		if (good > here->most ||
		    (good == here->most && how == GOES_ON && before(task->position, here->position))) {
			here->most = good;
			best = p;
			how = TOOK;
		}
		if (good == NEXT)
			break;
	}
	WRITE_ONCE(hurry, here->most == NEXT);
	if (how != NOBODY && !here->most)
		how = ALL_SPENT;
	else if (how == TOOK && best && !move_from(&it, best, DSQ_LOCAL))
		how = WAS_LOST;
	else if (how == TOOK && here->most == NEXT)
		add_once(OVERDUE, 1);
	bpf_iter_scx_dsq_destroy(&it);
	add_once(LOOKED, here->looked);
	raise_to(counter_here(LOOKED_MOST), here->looked);
	return how;
}

SEC("struct_ops/dispatch")
void on_dispatch(u64 *context)
{
	u32 cpu = context[0], tries;
	struct task_struct *previous = (void *)context[1];
	enum walked how = NOBODY;
	struct task *task;

	if (options.stuck)
		return;
	if (previous && !(previous->scx.flags & TASK_QUEUED))
		previous = NULL;
	add_once(SWITCHES, 1);
	for (tries = 0; tries < WALKS_MAX; tries++) {
		u64 seen = READ_ONCE(epoch);

		how = walk(cpu, previous);
		if (how == ALL_SPENT) {
			/* Of several CPUs that see it one ends the epoch. */
			if (__sync_val_compare_and_swap(&epoch, seen, seen + 1) == seen)
				add_once(RENEWALS, 1);
		} else if (how == WAS_LOST) {
			add_once(LOST, 1);
		} else {
			break;
		}
	}
	if (how == TOOK) {
		add_once(PICKED, 1);
		return;
	}
	if (previous && (task = task_of(previous))) {
		task->yielded = false;
		count(previous, WENT_ON);
		set_slice(previous, SLICE_NS);
	} else if (how != NOBODY && take_first(LIST)) {
		add_once(TAKEN_UNSEEN, 1);
	}
}

/* Shows others what a CPU runs. */
static void show(struct cpu *here, struct task_struct *p, struct task *task)
{
	renew(p, task);
	here->counter = task->counter;
	here->epoch = task->epoch;
	here->nice = nice_of(p);
	here->yielded = task->yielded;
}

SEC("struct_ops/running")
void on_running(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *task = task_of(p);
	u64 now = now_ns();

	if (!task)
		return;
	task->stopped = false;
	count_run(p, task, cpu, now);
	learn_memory(p, task);
	/* A thread of the kernel runs in the memory of the task before. */
	if (task->memory)
		here->memory = task->memory;
	here->scheduled_ns = now;
	show(here, p, task);
	if (!here->runs) {
		here->runs = true;
		__sync_fetch_and_add(&core_of(core_number(cpu))->running, 1);
	}
}

SEC("struct_ops/stopping")
void on_stopping(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	bool runnable = context[1];
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *task = task_of(p);

	here->scheduled_ns = now_ns();
	if (here->runs) {
		here->runs = false;
		__sync_fetch_and_sub(&core_of(core_number(cpu))->running, 1);
	}
	if (!task)
		return;
	task->stopped = runnable;
	/* Whoever displaces it may not be ours: its wait begins now. */
	if (runnable)
		task->waits_ns = here->scheduled_ns;
	else
		task->listed = false;
}

/* A task that runs when one of our ticks passes pays for it, however long it has run. */
SEC("struct_ops/tick")
void on_tick(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct cpu *here = cpu_of(scx_bpf_task_cpu(p));
	struct task *task = task_of(p);
	u64 tick = now_ns() / TICK_NS;

	if (READ_ONCE(hurry))
		set_slice(p, 0);
	if (!task || tick == here->tick)
		return;
	here->tick = tick;
	core_of(0)->queued = scx_bpf_dsq_nr_queued(LIST);
	renew(p, task);
	task->counter = ticked(task->counter);
	count(p, TICKS);
	if (!task->counter)
		set_slice(p, 0);
	show(here, p, task);
}

SEC("struct_ops/yield")
bool on_yield(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task *task = task_of(p);

	if (task) {
		task->yielded = true;
		cpu_of(scx_bpf_task_cpu(p))->yielded = true;
		count(p, YIELDED);
	}
	set_slice(p, 0);
	return false;
}

SEC("struct_ops.s/init_task")
s32 on_init_task(u64 *context)
{
	struct task_struct *p = (void *)context[0], *current = bpf_get_current_task_btf();
	struct scx_init_task_args *args = (void *)context[1];
	struct task *task = bpf_task_storage_get(&tasks, p, NULL, 1); /* BPF_LOCAL_STORAGE_GET_F_CREATE */
	struct task *parent;

	if (!task)
		return -12; /* ENOMEM */
	task->ran_on = NONE;
	task->epoch = READ_ONCE(epoch);
	task->counter = slice_of(nice_of(p));
	if (!args->fork || !(parent = task_of(current)))
		return 0;
	renew(current, parent);
	task->counter = got_by_fork(parent->counter);
	parent->counter = left_by_fork(parent->counter);
	/* Its child has the rest of its slice. */
	if (!parent->counter)
		kick(scx_bpf_task_cpu(current), KICK_PREEMPT);
	return 0;
}

/* What a child has left is its parent's, that of a thread its process'. */
SEC("struct_ops/exit_task")
void on_exit_task(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task_struct *heir = p->pid == p->tgid ? p->real_parent : p->group_leader;
	struct task *task = task_of(p), *parent;

	if (!task || !heir || !(parent = task_of(heir)))
		return;
	renew(p, task);
	renew(heir, parent);
	parent->counter = given_back(parent->counter, task->counter);
	task->counter = 0;
}

SEC("struct_ops/cpu_offline")
void on_cpu_offline(u64 *context)
{
	u32 cpu = context[0];

	goes_offline(cpu);
	evacuate(LIST, cpu);
}

SEC("struct_ops.s/init")
s32 on_init(u64 *context)
{
	(void)context;
	learn_online();
	return scx_bpf_create_dsq(LIST, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops linux_2_4_19 = {
	.name = "coretwin_linux_2_4_19",
	.select_cpu = (void *)on_select_cpu,
	.enqueue = (void *)on_enqueue,
	.dispatch = (void *)on_dispatch,
	.tick = (void *)on_tick,
	.running = (void *)on_running,
	.stopping = (void *)on_stopping,
	.yield = (void *)on_yield,
	.cpu_release = (void *)on_cpu_release,
	.cpu_online = (void *)on_cpu_online,
	.cpu_offline = (void *)on_cpu_offline,
	.init_task = (void *)on_init_task,
	.exit_task = (void *)on_exit_task,
	.init = (void *)on_init,
	.exit = (void *)on_exit,
};
