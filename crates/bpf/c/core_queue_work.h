/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU runs next: pickup, and passive balancing. */
#ifndef CORETWIN_CORE_QUEUE_WORK_H
#define CORETWIN_CORE_QUEUE_WORK_H

#include "core_queue_state.h"

/* The virtual time of the first task in a queue that a CPU may run; false if there is none. */
static bool first_in(u64 queue, u32 cpu, u64 *virtual_ns)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool found = false;
	int tries;

	if (scx_bpf_dsq_nr_queued(queue) <= 0)
		return false;
	bpf_iter_scx_dsq_new(&it, queue, 0);
	for (tries = 0; tries < 4 && !found; tries++) {
		p = bpf_iter_scx_dsq_next(&it);
		if (!p)
			break;
		if (allowed(p, cpu)) {
			*virtual_ns = p->scx.dsq_vtime;
			found = true;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return found;
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

/* The virtual time of a running task. */
static u64 virtual_of(struct task_struct *p)
{
	struct task *task = task_of(p);

	return task ? task->virtual_ns + by_weight(p->se.sum_exec_runtime - task->counted_ns, weight_of(p)) : 0;
}

/* Has a CPU go on with its task, or with the first of its queues; false if it has neither. */
static bool own_work(u32 cpu, struct task_struct *goes_on)
{
	u64 of_core = core_number(cpu), of_cpu = QUEUE_OF_CPU + cpu, chosen = NO_QUEUE;
	u64 least = 0, time = 0;

	if (options.pickup && first_in(of_core, cpu, &least))
		chosen = of_core;
	if (first_in(of_cpu, cpu, &time) && (chosen == NO_QUEUE || before(time, least))) {
		chosen = of_cpu;
		least = time;
	}
	if (goes_on && (chosen == NO_QUEUE || before(virtual_of(goes_on), least))) {
		count(goes_on, WENT_ON);
		set_slice(goes_on, options.slice_ns);
		return true;
	}
	if (chosen == NO_QUEUE)
		return false;
	if (take_first(chosen)) {
		cpu_of(cpu)->how = chosen == of_core ? PICKED : PICKED_OF_CPU;
		return true;
	}
	/* A sibling was faster; the task that ran goes on. */
	if (goes_on) {
		count(goes_on, WENT_ON);
		set_slice(goes_on, options.slice_ns);
	}
	return goes_on;
}

#endif
