/* SPDX-License-Identifier: GPL-2.0-only */
/* Active balancing: a running task for an idle core. */
#ifndef CORETWIN_CORE_QUEUE_ACTIVE_H
#define CORETWIN_CORE_QUEUE_ACTIVE_H

#include "core_queue_state.h"

/* Has a CPU stop its task for an idle core. */
static void ask(u32 core, u32 cpu)
{
	if (!may_kick())
		return;
	core_of(core)->asked_ns = now_ns();
	cpu_of(cpu)->asked = true;
	add_once(ACTIVE_ASKED, 1);
	kick(cpu, KICK_PREEMPT);
}

/* Whether a core runs several tasks and was not asked of late. */
static bool may_give(u32 core)
{
	return core_of(core)->running > 1 &&
	       since(now_ns(), core_of(core)->asked_ns) >= options.active_interval_ns;
}

/* Of a core without work, which is about to be idle: asks the core that runs most for one of its tasks. */
static void ask_for_running(u32 here)
{
	u32 most = 1, busiest = NONE, index;

	if (!options.active || !crowded || load(here))
		return;
	FOR_EACH(core, options.cores) {
		if (may_give(core) && core_of(core)->running > most) {
			most = core_of(core)->running;
			busiest = core;
		}
	}
	if (busiest == NONE)
		return;
	for (index = 0; index < THREADS_MAX; index++) {
		u32 cpu = member(busiest, index);

		if (cpu == NONE)
			break;
		if (cpu_of(cpu)->runs && cpu_of(cpu)->movable) {
			ask(busiest, cpu);
			break;
		}
	}
}

/* A task that was stopped for it goes to an idle core, if there still is one. */
static bool give_away(struct task_struct *p, struct task *task, u32 cpu)
{
	s32 idle = -1;

	if (core_of(core_number(cpu))->running && !is_held(p))
		idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, PICK_IDLE_CORE);
	if (idle < 0) {
		count(p, ACTIVE_IN_VAIN);
		return false;
	}
	count(p, ACTIVE_MOVED);
	arrive(task, idle, is_bound(p, idle));
	insert(p, DSQ_LOCAL_ON | idle, options.slice_ns, 0);
	return true;
}

#endif
