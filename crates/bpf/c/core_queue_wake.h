/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a task that becomes runnable goes, and who is told: affinity and wakeup. */
#ifndef CORETWIN_CORE_QUEUE_WAKE_H
#define CORETWIN_CORE_QUEUE_WAKE_H

#include "core_queue_state.h"

/* An idle sibling that a task may run on, now claimed; none. */
static u32 claim_sibling(struct task_struct *p, u32 cpu)
{
	u32 core = core_number(cpu), index;

	for (index = 0; index < THREADS_MAX; index++) {
		u32 sibling = member(core, index);

		if (sibling == NONE)
			break;
		if (sibling != cpu && allowed(p, sibling) && scx_bpf_test_and_clear_cpu_idle(sibling))
			return sibling;
	}
	return NONE;
}

/* The CPU allowed to a task whose core has least to do. */
static u32 shortest(struct task_struct *p, u32 fallback)
{
	u32 best = fallback, least = NONE;

	FOR_EACH(core, options.cores) {
		u32 index;

		if (load(core) >= least)
			continue;
		for (index = 0; index < THREADS_MAX; index++) {
			u32 cpu = member(core, index);

			if (cpu == NONE)
				break;
			if (cpu_of(cpu)->online && allowed(p, cpu)) {
				best = cpu;
				least = load(core);
				break;
			}
		}
	}
	return best;
}

/* The idle CPU of the least number that a task may run on, now claimed; none. */
static u32 claim_first(struct task_struct *p)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	u32 cpu = bpf_cpumask_first_and(idle, p->cpus_ptr);

	scx_bpf_put_idle_cpumask(idle);
	return cpu < options.cpus && scx_bpf_test_and_clear_cpu_idle(cpu) ? cpu : NONE;
}

/* Whether every CPU of a CPU's core is idle. */
static bool is_core_idle(u32 cpu)
{
	const struct cpumask *idle = scx_bpf_get_idle_smtmask();
	bool is = bpf_cpumask_test_cpu(cpu, idle);

	scx_bpf_put_idle_cpumask(idle);
	return is;
}

static bool is_any_core_idle(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_smtmask();
	bool none = bpf_cpumask_empty(idle);

	scx_bpf_put_idle_cpumask(idle);
	return !none;
}

/* The CPU for a task that becomes runnable without regard to where it ran. */
static u32 place_anywhere(struct task_struct *p, u32 last, bool *idle)
{
	u32 cpu = claim_first(p);

	*idle = cpu != NONE;
	count(p, *idle ? WOKE_ANYWHERE_IDLE : WOKE_ANYWHERE);
	return *idle ? cpu : shortest(p, last);
}

/* The CPU for a task that becomes runnable, and whether it was idle and is claimed now. */
static u32 place(struct task_struct *p, u32 last, bool *idle)
{
	bool here = allowed(p, last);
	u32 cpu, core = core_number(last), index;

	if (!options.affinity)
		return place_anywhere(p, last, idle);
	*idle = true;
	if (options.idle_core_first) {
		s32 found;

		if (here && is_core_idle(last) && scx_bpf_test_and_clear_cpu_idle(last)) {
			count(p, WOKE_LAST_IDLE);
			return last;
		}
		found = scx_bpf_pick_idle_cpu(p->cpus_ptr, PICK_IDLE_CORE);
		if (found >= 0) {
			count(p, WOKE_IDLE_CORE);
			return found;
		}
	}
	if (here && scx_bpf_test_and_clear_cpu_idle(last)) {
		count(p, WOKE_LAST_IDLE);
		return last;
	}
	if (options.wakeup && (cpu = claim_sibling(p, last)) != NONE) {
		count(p, WOKE_SIBLING);
		return cpu;
	}
	*idle = false;
	if (here && cpu_of(last)->online) {
		count(p, WOKE_LAST_BUSY);
		return last;
	}
	for (index = 0; index < THREADS_MAX; index++) {
		cpu = member(core, index);
		if (cpu == NONE)
			break;
		if (cpu_of(cpu)->online && allowed(p, cpu)) {
			count(p, WOKE_CORE_BUSY);
			return cpu;
		}
	}
	count(p, WOKE_ELSEWHERE);
	return shortest(p, last);
}

/* Whether a task that waits may displace the one that a CPU runs. */
static bool displaces(u32 cpu, struct candidate *waits, bool bound, u64 now)
{
	struct cpu *it = cpu_of(cpu);
	struct candidate runs = {
		.virtual_ns = it->virtual_ns + by_weight(now - it->started_ns, it->weight),
		.weight = it->weight,
	};

	/* On the clock of the core. */
	if (bound && !it->bound) {
		own_before(cpu, waits, &runs);
		runs.virtual_ns -= it->shift;
	} else if (!bound && it->bound) {
		own_before(cpu, &runs, waits);
		runs.virtual_ns += it->shift;
	}
	return before(waits->virtual_ns + options.preempt_ns, runs.virtual_ns);
}

/* The CPU of a core whose task one that waits may displace; none. */
static u32 victim(struct task_struct *p, struct task *task, u32 cpu)
{
	struct candidate waits = { .virtual_ns = task->virtual_ns, .weight = weight_of(p) };
	u32 core = core_number(cpu), index;
	u64 now = bpf_ktime_get_ns();

	for (index = 0; index < THREADS_MAX; index++) {
		/* Its own CPU first, and alone if none else takes from the queue. */
		u32 other = index ? member(core, index - 1) : cpu;

		if (other == NONE || (index && task->bound))
			break;
		if (cpu_of(other)->runs && allowed(p, other) && displaces(other, &waits, task->bound, now))
			return other;
	}
	return NONE;
}

/* Has somebody take notice of a task that waits. */
static void announce(struct task_struct *p, struct task *task, u32 cpu)
{
	bool idle = scx_bpf_test_and_clear_cpu_idle(cpu);
	s32 taker;
	u32 other;

	/* The kernel asks nobody for the CPU of a task that has but one. */
	if (p->nr_cpus_allowed == 1)
		count(p, idle ? WOKE_LAST_IDLE : WOKE_LAST_BUSY);
	if (idle) {
		count(p, TOLD_OWN);
		kick(cpu, KICK_IDLE);
		return;
	}
	if (!task->bound && options.wakeup && (other = claim_sibling(p, cpu)) != NONE) {
		count(p, TOLD_SIBLING);
		kick(other, KICK_IDLE);
		return;
	}
	other = victim(p, task, cpu);
	if (other != NONE) {
		count(p, PREEMPTED);
		kick(other, KICK_PREEMPT);
		return;
	}
	if (!options.passive || is_held(p))
		return;
	taker = scx_bpf_pick_idle_cpu(p->cpus_ptr, PICK_IDLE_CORE);
	if (taker < 0)
		taker = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (taker >= 0) {
		count(p, TOLD_OTHER_CORE);
		kick(taker, KICK_IDLE);
	}
}

#endif
