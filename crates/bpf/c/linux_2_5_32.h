/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * linux-2.5.32 and linux-2.5.32-a9: two arrays of lists by priority for each logical CPU, or for each core, for
 * sched_ext. A program defines PATCHED, OPERATIONS and OPERATIONS_NAME before it includes this.
 *
 * Written from the facts of Linux 2.5's scheduler and of Molnar's patch; the simulated kernel has the same policies in
 * crates/sim/src/policies/linux_2_5, and what is decided there is decided here, from the same parameters.
 *
 *   array     tasks in order of priority, then of arrival: a queue of the kernel's in order of a number of both
 *   slice     who has used it up gets a new one, and waits in the expired array unless it slept much of late
 *   swap      when nothing is active, the expired array becomes the active one
 *   home      a task wakes where it ran last, or beside a waker that is about to wait
 *   balance   an idle CPU takes one waiting task of the longest queue, a busy one half of what lasted
 *
 * The patch gives the CPUs of a core one queue, and five switches: passive, active, pickup, affinity, wakeup. What it
 * cannot keep of its original is a table in docs/method/article-schedulers.md.
 */
#ifndef CORETWIN_LINUX_2_5_32_H
#define CORETWIN_LINUX_2_5_32_H

#include "linux_2_5_32_balance.h"

char LICENSE[] SEC("license") = "GPL";

/* Priority of what a CPU runs; nothing is better than what another class runs, or than being offline. */
static s64 current_priority(u32 cpu, const struct cpumask *idle)
{
	if (!cpu_of(cpu)->online)
		return 0;
	if (idles(cpu, idle))
		return IDLE_PRIORITY;
	return cpu_of(cpu)->runs ? cpu_of(cpu)->priority : 0;
}

/* A sibling of a task's home that is idle, or runs a task of worse priority. */
static u32 find_sibling(struct task_struct *p, struct task *task, u32 home, bool is_idle, const struct cpumask *idle)
{
	u32 index;

	for (index = 0; WAKEUP && index < THREADS_MAX; index++) {
		u32 cpu = member_of(queue_of(home), index);
		s64 runs;

		if (cpu == NONE)
			break;
		if (cpu == home || !allowed(p, cpu))
			continue;
		runs = current_priority(cpu, idle);
		if (is_idle ? runs == IDLE_PRIORITY : task->priority < runs)
			return cpu;
	}
	return NONE;
}

/* The CPU of its queue that is told of a waiting task, and why; none: it waits its turn. */
static u32 find_cpu(struct task_struct *p, struct task *task, u32 home, const struct cpumask *idle, u32 *how)
{
	s64 current = current_priority(home, idle);
	u32 sibling;
	u64 why;

	*how = WOKE_OWN_IDLE;
	if (allowed(p, home) && current == IDLE_PRIORITY)
		return home;
	*how = WOKE_SIBLING;
	sibling = find_sibling(p, task, home, true, idle);
	if (sibling != NONE)
		return sibling;
	why = preempts(task->priority, task->slice, current, cpu_of(home)->slice, WAKEUP && cpu_of(home)->runs);
	*how = why == 2 ? PREEMPTED_EQUAL : PREEMPTED;
	if (allowed(p, home) && why)
		return home;
	sibling = find_sibling(p, task, home, false, idle);
	*how = sibling == NONE ? WOKE_WAITS : PREEMPTED_SIBLING;
	return sibling;
}

SEC("struct_ops/select_cpu")
s32 on_select_cpu(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 here = bpf_get_smp_processor_id();

	if (!HAS_WAKE_FLAG(context[2], SCX_WAKE_SYNC) || HAS_WAKE_FLAG(context[2], SCX_WAKE_FORK) || !allowed(p, here))
		return context[1];
	count(p, WOKE_BESIDE_WAKER);
	return here;
}

/* A task that can run gets its place in a queue. */
static void arrive(struct task_struct *p, struct task *task, u32 cpu, bool wakes)
{
	u64 now = ticks_now();
	u32 queue = queue_of(cpu);
	s64 nice = nice_of(p);

	if (wakes)
		task->sleep_average = woken(task->sleep_average, since(now, task->left_at));
	if (wakes || nice != task->nice) {
		task->nice = nice;
		task->priority = priority_of(nice, task->sleep_average);
		if (task->listed && task->queue == queue)
			goes_last(task, task->array);
	}
	if (!task->slice)
		task->slice = 1;
	if (!task->listed || task->queue != queue) {
		task->queue = queue;
		goes_last(task, active_of(queue));
	}
	task->listed = true;
}

SEC("struct_ops/enqueue")
void on_enqueue(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u64 flags = context[1];
	struct task *task = task_of(p);
	u32 cpu = scx_bpf_task_cpu(p), tell = NONE, how = NONE;
	bool again = HAS_FLAG(flags, SCX_ENQ_REENQ), is_new, stopped, given;
	const struct cpumask *idle;

	if (!task) {
		insert(p, DSQ_LOCAL, SLICE_NS, flags);
		return;
	}
	is_new = !task->listed;
	stopped = task->stopped;
	given = task->given;
	task->stopped = task->given = false;
	arrive(p, task, cpu, is_new && HAS_FLAG(flags, SCX_ENQ_WAKEUP));
	if (!stopped)
		task->waits_ns = now_ns();
	if (!may_kick() || (is_of_cpu(p) && !again)) {
		count(p, PAST_QUEUES);
		insert(p, DSQ_LOCAL, SLICE_NS, flags);
		return;
	}
	if (given && give_away(p, cpu))
		return;
	if (HAS_FLAG(flags, SCX_ENQ_LAST)) {
		/* It could not go where it was asked to, and nobody else wants its CPU. */
		insert(p, DSQ_LOCAL, SLICE_NS, flags);
		kick(cpu, 0);
		return;
	}
	if (is_new) {
		idle = scx_bpf_get_idle_cpumask();
		tell = find_cpu(p, task, cpu, idle, &how);
		scx_bpf_put_idle_cpumask(idle);
		count(p, how);
	}
	waits_for(task, how == WOKE_SIBLING || how == PREEMPTED_SIBLING ? tell : cpu);
	if (!waiting_in(task->queue))
		queue_at(task->queue)->since_ns = task->waits_ns;
	count(p, QUEUED);
	insert_by_time(p, array_id(task->queue, task->array), SLICE_NS, task->key, flags);
	if (tell != NONE)
		kick(tell, how == WOKE_OWN_IDLE || how == WOKE_SIBLING ? KICK_IDLE : KICK_PREEMPT);
	/* Its CPU may go idle just now: whether it is shows when the kick arrives. */
	if (tell != cpu)
		kick(cpu, KICK_IDLE);
	if (again)
		tell_idle();
}

/* The expired array becomes the active one where nothing is active. */
static void swap_if_spent(u32 queue, bool goes_on)
{
	struct queue *it = queue_at(queue);
	u64 seen = READ_ONCE(it->swaps);
	u8 active = seen & 1;
	u32 index;

	if (scx_bpf_dsq_nr_queued(array_id(queue, active)) > 0 ||
	    (!goes_on && scx_bpf_dsq_nr_queued(array_id(queue, active ^ 1)) <= 0))
		return;
	for (index = 0; index < THREADS_MAX; index++) {
		u32 cpu = member_of(queue, index);

		if (cpu == NONE)
			break;
		if (cpu_of(cpu)->runs && cpu_of(cpu)->array == active)
			return;
	}
	if (__sync_val_compare_and_swap(&it->swaps, seen, seen + 1) == seen) {
		it->expired_since = 0;
		add_once(SWAPPED, 1);
	}
}

/* Whether a CPU may run a task of its queue. */
static bool fits(struct task_struct *p, struct task *task, u32 cpu, u64 now)
{
	bool own = task->home == cpu;

	return allowed(p, cpu) && (!is_held(p) || scx_bpf_task_cpu(p) == (s32)cpu) && (own || PICKUP || !SHARED) &&
	       (own || AFFINITY || !SHARED || is_cold(since(now, task->left_at), CACHE_DECAY));
}

enum chosen { NOBODY, TOOK, GOES_ON };

/* Has a CPU run the first task of an array that it may run, or go on with its own. */
static enum chosen choose_of(u64 array, u32 cpu, struct task *previous)
{
	struct cpu *here = cpu_of(cpu);
	enum chosen how = NOBODY;
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct task *task;
	u64 now = ticks_now();

	bpf_iter_scx_dsq_new(&it, array, 0);
	while (how == NOBODY && (p = bpf_iter_scx_dsq_next(&it))) {
		if (++here->looks > LOOKED_MAX) {
			add_once(LOOKS_CUT, 1);
			break;
		}
		if (previous && !before(p->scx.dsq_vtime, previous->key))
			break;
		if (!(task = task_of(p)) || !fits(p, task, cpu, now))
			continue;
		/* Another CPU may be faster. */
		if (move_from(&it, p, DSQ_LOCAL))
			how = TOOK;
		else
			add_once(LOST, 1);
	}
	bpf_iter_scx_dsq_destroy(&it);
	return how == NOBODY && previous ? GOES_ON : how;
}

static enum chosen choose(u32 cpu, struct task *previous)
{
	u32 queue = queue_of(cpu);
	u8 active = active_of(queue);
	enum chosen how;

	cpu_of(cpu)->looks = previous != NULL;
	how = choose_of(array_id(queue, active), cpu, previous && previous->array == active ? previous : NULL);
	/* Of a core whose active tasks run on the siblings the expired ones are taken. */
	if (how == NOBODY)
		how = choose_of(array_id(queue, active ^ 1), cpu, previous);
	add_once(LOOKED, cpu_of(cpu)->looks);
	raise_to(counter_here(LOOKED_MOST), cpu_of(cpu)->looks);
	return how;
}

/* Has a CPU run the first task of an array that has waited too long. */
static bool take_overdue_of(u64 array, u32 cpu)
{
	struct cpu *here = cpu_of(cpu);
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct task *task;
	u64 now = now_ns();
	bool took = false;

	bpf_iter_scx_dsq_new(&it, array, 0);
	while (!took && (p = bpf_iter_scx_dsq_next(&it)) && ++here->looks <= SWEPT_MAX) {
		if ((task = task_of(p)) && since(now, task->waits_ns) >= OVERDUE_NS && allowed(p, cpu) &&
		    (!is_held(p) || scx_bpf_task_cpu(p) == (s32)cpu))
			took = move_from(&it, p, DSQ_LOCAL);
	}
	bpf_iter_scx_dsq_destroy(&it);
	return took;
}

/* The same of a queue that has not been empty for so long, once a second. */
static bool take_overdue(u32 cpu)
{
	u32 queue = queue_of(cpu);
	struct queue *it = queue_at(queue);
	u64 now = now_ns();
	bool took;

	if (!it->overdue && (since(now, it->since_ns) < OVERDUE_NS || since(now, it->swept_ns) < SWEEP_NS))
		return false;
	it->swept_ns = now;
	cpu_of(cpu)->looks = 0;
	took = take_overdue_of(array_id(queue, 0), cpu) || take_overdue_of(array_id(queue, 1), cpu);
	it->overdue = took;
	add_once(SWEPT, cpu_of(cpu)->looks);
	add_once(OVERDUE, took);
	return took;
}

SEC("struct_ops/dispatch")
void on_dispatch(u64 *context)
{
	u32 cpu = context[0], queue = queue_of(cpu);
	struct task_struct *previous = (void *)context[1];
	struct cpu *here = cpu_of(cpu);
	struct task *task = NULL;
	bool asked = here->asked;
	enum chosen how;

	if (options.stuck)
		return;
	here->asked = false;
	if (asked)
		queue_at(queue)->wanted = false;
	if (previous && (previous->scx.flags & TASK_QUEUED) && (task = task_of(previous))) {
		charge(previous, task, here);
		task->given = asked;
		if (asked)
			task = NULL;
	}
	add_once(SWITCHES, 1);
	if (here->owed)
		pull_owed(cpu);
	if (take_overdue(cpu))
		return;
	swap_if_spent(queue, task != NULL);
	how = choose(cpu, task);
	if (how == TOOK) {
		add_once(PICKED, 1);
	} else if (how == GOES_ON && previous) {
		count(previous, WENT_ON);
		set_slice(previous, SLICE_NS);
	} else if (!asked && !pull_idle(cpu)) {
		if (!length_of(queue))
			queue_at(queue)->expired_since = 0;
		ask_for_running(cpu);
	}
}

SEC("struct_ops/running")
void on_running(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct task *task = task_of(p);

	if (!task)
		return;
	task->stopped = task->given = false;
	count_run(p, task, cpu, now_ns());
	waits_for(task, NONE);
	task->home = cpu;
	arrive(p, task, cpu, false);
	here->tick = ticks_now();
	show(here, task);
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

	if (task)
		charge(p, task, here);
	if (here->runs) {
		here->runs = false;
		__sync_fetch_and_sub(&core_of(core_number(cpu))->running, 1);
	}
	if (!task)
		return;
	task->left_at = ticks_now();
	task->stopped = runnable;
	/* Whoever displaces it may not be ours: its wait begins now. */
	if (runnable)
		task->waits_ns = now_ns();
	else
		task->listed = false;
}

/* It waits no more, or will do so elsewhere. */
SEC("struct_ops/quiescent")
void on_quiescent(u64 *context)
{
	struct task *task = task_of((void *)context[0]);

	if (task)
		waits_for(task, NONE);
}

/* Tasks that wait where a CPU shows what does. */
static u32 waiting_for_core(u32 core)
{
	u32 index, sum = 0;

	if (SHARED)
		return waiting_in(core);
	for (index = 0; index < THREADS_MAX && member(core, index) != NONE; index++)
		sum += waiting_in(member(core, index));
	return sum;
}

SEC("struct_ops/tick")
void on_tick(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p), queue = queue_of(cpu);
	struct task *task = task_of(p);
	bool is_over;

	if (!task || goes_on_alone(p, cpu))
		return;
	core_of(core_number(cpu))->queued = waiting_for_core(core_number(cpu));
	is_over = charge(p, task, cpu_of(cpu));
	/* Or a sibling has swapped the arrays, others wait too long, or there is something to be taken. */
	if (look(cpu) || look_for_going(cpu) || is_over || task->array != active_of(queue) || queue_at(queue)->overdue)
		set_slice(p, 0);
	if (waiting_in(queue))
		tell_idle();
}

SEC("struct_ops/yield")
bool on_yield(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task *task = task_of(p);
	struct queue *it;

	if (task) {
		it = queue_at(task->queue);
		if (!it->expired_since)
			it->expired_since = ticks_now();
		goes_last(task, active_of(task->queue) ^ 1);
		show(cpu_of(scx_bpf_task_cpu(p)), task);
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
	struct task *parent = args->fork ? task_of(current) : NULL;

	if (!task)
		return -12; /* ENOMEM */
	task->ran_on = task->home = NONE;
	task->nice = nice_of(p);
	task->left_at = ticks_now();
	task->slice = parent ? got_by_fork(parent->slice) : slice_of(task->nice);
	task->sleep_average = parent ? child_average(parent->sleep_average) : 0;
	task->priority = priority_of(task->nice, task->sleep_average);
	if (!parent)
		return 0;
	task->first_slice = true;
	parent->slice = left_by_fork(parent->slice);
	/* Its child has the rest of its slice, and its own ends. */
	if (!parent->slice) {
		expire(current, parent);
		kick(scx_bpf_task_cpu(current), KICK_PREEMPT);
	}
	return 0;
}

/* What a child did not use of its first slice is its parent's again, that of a thread its process'. */
SEC("struct_ops/exit_task")
void on_exit_task(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task_struct *heir = p->pid == p->tgid ? p->real_parent : p->group_leader;
	struct task *task = task_of(p), *parent;

	if (!task || !heir || !(parent = task_of(heir)))
		return;
	if (task->first_slice)
		parent->slice = given_back(parent->slice, task->slice);
	task->first_slice = false;
	parent->sleep_average = parent_average(parent->sleep_average, task->sleep_average);
}

/* What is left in the queue of a CPU that went came from others, and goes back there. */
static void send_back(u64 array)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, array, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		if (move_from(&it, p, DSQ_LOCAL_ON | scx_bpf_task_cpu(p)))
			count(p, EVACUATED);
	}
	bpf_iter_scx_dsq_destroy(&it);
}

/* Tasks that were taken over wait in queues of other CPUs than the kernel believes. */
SEC("struct_ops/cpu_offline")
void on_cpu_offline(u64 *context)
{
	u32 cpu = context[0], own = queue_of(cpu), index;

	goes_offline(cpu);
	cpu_of(cpu)->owed = 0;
	cpu_of(cpu)->asked = queue_at(own)->wanted = false;
	FOR_EACH(queue, queue_count()) {
		evacuate(array_id(queue, 0), cpu);
		evacuate(array_id(queue, 1), cpu);
	}
	for (index = 0; index < THREADS_MAX; index++) {
		u32 other = member_of(own, index);

		if (other == NONE)
			break;
		if (cpu_of(other)->online)
			return;
	}
	send_back(array_id(own, 0));
	send_back(array_id(own, 1));
}

SEC("struct_ops.s/init")
s32 on_init(u64 *context)
{
	s32 error = 0;

	(void)context;
	learn_online();
	FOR_EACH(queue, queue_count()) {
		error = error ?: scx_bpf_create_dsq(array_id(queue, 0), -1);
		error = error ?: scx_bpf_create_dsq(array_id(queue, 1), -1);
	}
	return error;
}

SEC(".struct_ops.link")
struct sched_ext_ops OPERATIONS = {
	.flags = OPS_ENQ_LAST,
	.name = OPERATIONS_NAME,
	.select_cpu = (void *)on_select_cpu,
	.enqueue = (void *)on_enqueue,
	.dispatch = (void *)on_dispatch,
	.tick = (void *)on_tick,
	.running = (void *)on_running,
	.stopping = (void *)on_stopping,
	.quiescent = (void *)on_quiescent,
	.yield = (void *)on_yield,
	.cpu_release = (void *)on_cpu_release,
	.cpu_online = (void *)on_cpu_online,
	.cpu_offline = (void *)on_cpu_offline,
	.init_task = (void *)on_init_task,
	.exit_task = (void *)on_exit_task,
	.init = (void *)on_init,
	.exit = (void *)on_exit,
};

#endif
