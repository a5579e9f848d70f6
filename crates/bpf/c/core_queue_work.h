/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU runs next: pickup, and passive balancing. */
#ifndef CORETWIN_CORE_QUEUE_WORK_H
#define CORETWIN_CORE_QUEUE_WORK_H

#include "core_queue_state.h"

/* The first task in a queue that a CPU may run. */
static void first_in(u64 queue, u32 cpu, struct candidate *first)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	int tries;

	if (scx_bpf_dsq_nr_queued(queue) <= 0)
		return;
	bpf_iter_scx_dsq_new(&it, queue, 0);
	for (tries = 0; tries < 4 && !first->is; tries++) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if (allowed(p, cpu)) {
			first->virtual_ns = p->scx.dsq_vtime;
			first->weight = weight_of(p);
			first->is = true;
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

/* Takes a waiting task of the busiest other core that has two more than this one, or that lost its CPUs. */
static bool steal(u32 here)
{
	u32 own = load(here), most = 0, busiest = NONE;

	FOR_EACH(core, options.cores) {
		u32 there = load(core);
		bool lost = !core_of(core)->online;

		if ((u32)core == here || !core_of(core)->queued)
			continue;
		if ((lost || (options.passive && there > own + 1)) && there > most) {
			most = there;
			busiest = core;
		}
	}
	if (busiest == NONE)
		return false;
	if (take_from(busiest))
		return true;
	/* What waits there may not run here: whoever else has enough. */
	FOR_EACH(core, options.cores) {
		if ((u32)core == here || (u32)core == busiest || !core_of(core)->queued)
			continue;
		if (options.passive && load(core) > own + 1 && take_from(core))
			return true;
	}
	return false;
}

/* The task that runs takes the place of the first of its queue, if it had less CPU time. */
static void consider(struct task_struct *p, struct candidate *first)
{
	struct task *task = task_of(p);
	u32 weight = weight_of(p);
	u64 virtual_ns = 0;

	if (task)
		virtual_ns = task->virtual_ns + by_weight(p->se.sum_exec_runtime - task->counted_ns, weight);
	if (!first->is || before(virtual_ns, first->virtual_ns)) {
		first->virtual_ns = virtual_ns;
		first->weight = weight;
		first->is = first->goes_on = true;
	}
}

/* Has a CPU go on with its task, or with the first of its queues; false if it has neither. */
static bool own_work(u32 cpu, struct task_struct *goes_on)
{
	u64 of_core = core_number(cpu), of_cpu = QUEUE_OF_CPU + cpu;
	struct candidate own = {}, shared = {};
	bool is_own;

	if (options.pickup)
		first_in(of_core, cpu, &shared);
	first_in(of_cpu, cpu, &own);
	if (goes_on)
		consider(goes_on, cpu_of(cpu)->bound ? &own : &shared);
	is_own = own.is && (!shared.is || own_before(cpu, &own, &shared));
	if (!own.is && !shared.is)
		return false;
	if (!(is_own ? own.goes_on : shared.goes_on) && take_first(is_own ? of_cpu : of_core)) {
		cpu_of(cpu)->how = is_own ? PICKED_OF_CPU : PICKED;
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
