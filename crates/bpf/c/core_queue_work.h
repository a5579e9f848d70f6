/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU runs next: pickup, and passive balancing. */
#ifndef CORETWIN_CORE_QUEUE_WORK_H
#define CORETWIN_CORE_QUEUE_WORK_H

#include "core_queue_wake.h"

/* The first task in a queue that a CPU may run. */
static void first_in(u64 queue, u32 cpu, struct candidate *first)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct task *task;
	u64 waited_ns, most_ns;
	int tries;

	if (scx_bpf_dsq_nr_queued(queue) <= 0)
		return;
	bpf_iter_scx_dsq_new(&it, queue, 0);
	for (tries = 0; tries < 4 && !first->is; tries++) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if (allowed(p, cpu) && (task = task_of(p))) {
			/* Not where it stands: that says only who of its queue woke first. */
			first->virtual_ns = task->virtual_ns;
			first->weight = task->weight;
			first->is = true;
			waited_ns = task->waits_ns ? since(now_ns(), task->waits_ns) : 0;
			most_ns = by_weight(GUARD_NS, first->weight);
			first->overdue = is_overdue(waited_ns, most_ns);
			decided('g', waited_ns, most_ns, 0, 0, first->overdue);
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
}

/* Takes a task of another core's queues. */
static bool take_from(u32 core)
{
	u32 index;

	if (options.pickup && take_first(core))
		return true;
	for (index = 0; index < THREADS_MAX; index++) {
		u32 cpu = member(core, index);

		if (cpu == NONE)
			break;
		if (scx_bpf_dsq_nr_queued(QUEUE_OF_CPU + cpu) > 0 && take_first(QUEUE_OF_CPU + cpu))
			return true;
	}
	return false;
}

/* The program that a task runs, of those that are told apart: its number from 1. */
static u32 kind_of(struct task_struct *p)
{
	u64 name[2] = {};

	if (bpf_probe_read_kernel_str(name, sizeof(name), p->comm) < 0)
		return 0;
	FOR_EACH(kind, KINDS_MAX) {
		if (kind < options.kinds && partners.names[kind & (KINDS_MAX - 1)][0] == name[0] &&
		    partners.names[kind & (KINDS_MAX - 1)][1] == name[1])
			return kind + 1;
	}
	return 0;
}

/* Heads of a queue that are looked at for a partner, and how often in a row one is passed over. */
#define HEADS 4
#define PASSED_MAX 2
/* A slice ends at a tick, which is up to so long after it. */
#define TICK_MAX_NS 10000000ull

/* What the first sibling of a CPU that runs a task runs: a program that is told apart, else 0. */
static u32 kind_beside(u32 cpu)
{
	u32 core = core_number(cpu), index;

	for (index = 0; index < THREADS_MAX; index++) {
		u32 sibling = member(core, index);

		if (sibling == NONE)
			break;
		if (sibling != cpu && cpu_of(sibling)->runs)
			return cpu_of(sibling)->kind;
	}
	return 0;
}

/* What a core does with a task beside a program. */
static u64 together(struct task *task, u32 beside)
{
	return task->kind ? partners.together[(task->kind - 1) & (KINDS_MAX - 1)][(beside - 1) & (KINDS_MAX - 1)] : 0;
}

/*
 * Which of the first tasks goes best with what a sibling runs: of the one that could go on, if it is the first, and of
 * those in a queue; all within a turn of the first, which stands at `from`.
 */
static u32 partner_in(u64 queue, u32 cpu, u32 beside, u64 from, struct task *goes_on)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct task *task;
	u64 values[HEADS] = {};
	u32 index = 0;

	if (goes_on)
		values[index++] = together(goes_on, beside);
	bpf_iter_scx_dsq_new(&it, queue, 0);
	for (; index < HEADS; index++) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p || !(task = task_of(p)) ||
		    (s64)(task->virtual_ns - from) > (s64)(options.slice_ns + TICK_MAX_NS))
			break;
		if (allowed(p, cpu))
			values[index & (HEADS - 1)] = together(task, beside);
		if (task->passed >= PASSED_MAX)
			break;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return decided('b', values[0], values[1], values[2], values[3],
		       best_partner(values[0], values[1], values[2], values[3]));
}

/* Takes the task of a core's queue that goes better with what a sibling runs than the first does; false: none does. */
static bool take_partner(u64 queue, u32 cpu, u64 from, struct task *goes_on)
{
	u32 beside = kind_beside(cpu);
	u32 best = beside ? partner_in(queue, cpu, beside, from, goes_on) : 0, index = goes_on ? 1 : 0;
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	struct task *task;
	bool took = false;

	if (!best)
		return false;
	bpf_iter_scx_dsq_new(&it, queue, 0);
	/* A sibling may have changed the queue since: then it is another, and yet nobody is passed over too often. */
	for (; index < HEADS; index++) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p || !(task = task_of(p)))
			break;
		if (index == best) {
			took = allowed(p, cpu) && move_from(&it, p, DSQ_LOCAL);
			break;
		}
		if (task->passed >= PASSED_MAX)
			break;
		task->passed++;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return took;
}

/* Whether a core lies in the last-level cache of another. */
static bool is_near(u32 core, u32 other)
{
	return places[member(core, 0) & (CPUS_MAX - 1)].cache == places[member(other, 0) & (CPUS_MAX - 1)].cache;
}

/*
 * Takes a waiting task of the core to which none has come for longest, near ones first; of a core that lost its CPUs
 * whatever is switched off. For a CPU without work.
 */
static u32 take_any(u32 here)
{
	u32 longest = NONE;
	u64 now = now_ns(), most = 0;

	if (!may_waits)
		return NONE;
	FOR_EACH(core, options.cores) {
		u64 waited_ns, rank;
		bool near;

		if (!may_wait(core) || (!options.passive && core_of(core)->online))
			continue;
		near = is_near(core, here);
		waited_ns = since(now, core_of(core)->came_ns);
		rank = decided('r', near, waited_ns, 0, 0, rank_of(near, waited_ns));
		if (longest == NONE || rank > most) {
			most = rank;
			longest = core;
		}
	}
	if (longest == NONE || take_from(longest))
		return longest;
	/* What waits there may not run here: whoever else has some. */
	FOR_EACH(core, options.cores) {
		if (options.passive && may_wait(core) && take_from(core))
			return core;
	}
	return NONE;
}

/* How often a busy CPU looks for CPUs that go offline while tasks wait on their cores; whether one was seen. */
#define GOING_NS 10000000ull
static u64 looked_for_going;
static bool someone_goes;

static void look_for_going(u64 now)
{
	u64 turn = now / GOING_NS, earlier = READ_ONCE(looked_for_going);

	if (earlier == turn || __sync_val_compare_and_swap(&looked_for_going, earlier, turn) != earlier)
		return;
	FOR_EACH(cpu, options.cpus) {
		if (may_wait(core_number(cpu)) && is_going(cpu))
			someone_goes = true;
	}
}

/*
 * A CPU that goes takes nothing from queues, and a busy core takes only from one that has more tasks. But RCU may wait
 * for a task that waits there, its own thread among them, and the CPU waits for RCU: what waits for it is handed to it now.
 */
noinline u32 empty_going(void)
{
	someone_goes = false;
	FOR_EACH(cpu, options.cpus) {
		if (is_going(cpu)) {
			evacuate(core_number(cpu), cpu);
			evacuate(QUEUE_OF_CPU + cpu, cpu);
		}
	}
	return 0;
}

/* The core of which a task is taken that this one owes itself, if it is the turn of one; none. */
static u32 take_owed(u32 here, bool has_own)
{
	struct core *core = core_of(here);
	u32 from = core->owed_from;

	if (!core->owed)
		return NONE;
	core->turn = !core->turn;
	if (has_own && !core->turn)
		return NONE;
	if (load(from) <= load(here) || !take_from(from)) {
		core->owed = 0;
		return NONE;
	}
	core->owed--;
	return from;
}

/* A core looks now and then whether another has more than it, and what it owes itself then. */
static void look(u32 here, u64 now)
{
	struct core *core = core_of(here);
	bool wide = is_wide(core->looks);
	u32 most = 0, busiest = here, own;

	core->queued = waiting(here);
	if (!options.passive || since(now, core->looked_ns) < options.balance_ns)
		return;
	core->looked_ns = now;
	FOR_EACH(other, options.cores) {
		if ((u32)other != here && (wide || is_near(other, here)) && may_wait(other) && load(other) > most) {
			most = load(other);
			busiest = other;
		}
	}
	core->owed_from = busiest;
	own = load(here);
	core->owed = owed_of(own, most, here, core->looks);
	decided('o', own, most, here, core->looks, core->owed);
	core->looks++;
}

/* One more idle CPU is told if more tasks wait on a core of which one was just taken. */
static void tell_next(u32 core)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	if (scx_bpf_dsq_nr_queued(core) <= 0 || !is_any_idle())
		return;
	bpf_iter_scx_dsq_new(&it, core, 0);
	p = bpf_iter_scx_dsq_next(&it);
	if (p)
		tell_idle(p, member(core, 0));
	bpf_iter_scx_dsq_destroy(&it);
}

/* The task that runs takes the place of the first of its queue, if it had less CPU time. */
static void consider(struct task_struct *p, struct candidate *first)
{
	struct task *task = task_of(p);
	u32 weight = task ? task->weight : 0;
	u64 virtual_ns = 0;

	if (task)
		virtual_ns = task->virtual_ns + by_weight(p->se.sum_exec_runtime - task->counted_ns, weight);
	if (!first->is || (!first->overdue && before(virtual_ns, first->virtual_ns))) {
		first->virtual_ns = virtual_ns;
		first->weight = weight;
		first->is = first->goes_on = true;
		first->overdue = false;
	}
}

/*
 * Has a CPU go on with its task, or with the first of its queues, or with one that its core owes itself; false if
 * there is none of these.
 */
static bool own_work(u32 cpu, struct task_struct *goes_on)
{
	u64 of_core = core_number(cpu), of_cpu = QUEUE_OF_CPU + cpu;
	struct candidate own = {}, shared = {};
	bool is_own = core_of(of_core)->of_cpus && scx_bpf_dsq_nr_queued(of_cpu) > 0;
	u32 from = NONE;

	/* Nothing to choose from. */
	if (!goes_on && !core_of(of_core)->owed && !options.kinds && is_own != options.pickup) {
		if ((!is_own && scx_bpf_dsq_nr_queued(of_core) <= 0) || !take_first(is_own ? of_cpu : of_core))
			return false;
		cpu_of(cpu)->how = is_own ? PICKED_OF_CPU : PICKED;
		tell_next(of_core);
		return true;
	}
	if (options.pickup)
		first_in(of_core, cpu, &shared);
	first_in(of_cpu, cpu, &own);
	if (goes_on)
		consider(goes_on, cpu_of(cpu)->bound ? &own : &shared);
	if (!own.overdue && !shared.overdue)
		from = take_owed(of_core, own.is || shared.is);
	if (from != NONE) {
		cpu_of(cpu)->how = EVENED_OUT;
		tell_next(from);
		return true;
	}
	if (!own.is && !shared.is)
		return false;
	if (own.is && shared.is && own.overdue != shared.overdue)
		is_own = own.overdue;
	else
		is_own = own.is && (!shared.is || own_before(cpu, &own, &shared));
	if (options.kinds && !is_own && !shared.overdue &&
	    take_partner(of_core, cpu, shared.virtual_ns, shared.goes_on ? task_of(goes_on) : NULL)) {
		cpu_of(cpu)->how = PARTNERED;
		tell_next(of_core);
		return true;
	}
	if (!(is_own ? own.goes_on : shared.goes_on) && take_first(is_own ? of_cpu : of_core)) {
		cpu_of(cpu)->how = is_own ? PICKED_OF_CPU : PICKED;
		tell_next(of_core);
		return true;
	}
	/* Or a sibling was faster; the task that ran goes on. */
	if (goes_on) {
		count(goes_on, WENT_ON);
		set_slice(goes_on, options.slice_ns);
	}
	return goes_on;
}

#endif
