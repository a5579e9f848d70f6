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

/* A CPU of a core that a task may run on; none. */
static u32 allowed_of(struct task_struct *p, u32 core)
{
	u32 index;

	for (index = 0; index < THREADS_MAX; index++) {
		u32 cpu = member(core, index);

		if (cpu == NONE)
			break;
		if (cpu_of(cpu)->online && allowed(p, cpu))
			return cpu;
	}
	return NONE;
}

/* The CPU allowed to a task whose core has least to do. */
static u32 shortest(struct task_struct *p, u32 fallback)
{
	u32 best = fallback, least = NONE;

	FOR_EACH(core, options.cores) {
		u32 there = load(core), cpu;

		if (there < least && (cpu = allowed_of(p, core)) != NONE) {
			best = cpu;
			least = there;
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

static bool is_any_idle(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	bool none = bpf_cpumask_empty(idle);

	scx_bpf_put_idle_cpumask(idle);
	return !none;
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

/* An idle core, or an idle CPU, of a CPU's last-level cache, now claimed; none. */
static u32 claim_near(struct task_struct *p, u32 near, bool whole)
{
	u32 cache = places[near & (CPUS_MAX - 1)].cache;
	const struct cpumask *idle = whole ? scx_bpf_get_idle_smtmask() : scx_bpf_get_idle_cpumask();
	u32 found = NONE;

	if (!bpf_cpumask_empty(idle)) {
		FOR_EACH(cpu, options.cpus) {
			if (places[cpu & (CPUS_MAX - 1)].cache == cache && bpf_cpumask_test_cpu(cpu, idle) &&
			    allowed(p, cpu)) {
				found = cpu;
				break;
			}
		}
	}
	scx_bpf_put_idle_cpumask(idle);
	return found != NONE && scx_bpf_test_and_clear_cpu_idle(found) ? found : NONE;
}

/* The same anywhere, near ones first. */
static u32 claim(struct task_struct *p, u32 near, bool whole)
{
	u32 cpu = options.caches > 1 ? claim_near(p, near, whole) : NONE;
	s32 far = -1;

	if (cpu == NONE)
		far = scx_bpf_pick_idle_cpu(p->cpus_ptr, whole ? PICK_IDLE_CORE : 0);
	return far < 0 ? cpu : (u32)far;
}

static struct crowd crowd_of(u32 core, u32 home)
{
	return (struct crowd){
		.load = load(core),
		.cpus = core_of(core)->online,
		.is_far = places[member(core, 0) & (CPUS_MAX - 1)].cache != places[home & (CPUS_MAX - 1)].cache,
	};
}

/* A CPU of the waker's core, or of the next that it probes, if there is enough less to do than at home; none. */
static u32 less_crowded(struct task_struct *p, u32 last)
{
	u32 waker = bpf_get_smp_processor_id();
	u32 probe = cpu_of(waker)->probe + 1, probed, best;
	struct crowd home = crowd_of(core_number(last), last), first = home, second = home;

	probe = probe < options.cores ? probe : 0;
	cpu_of(waker)->probe = probe;
	probed = allowed_of(p, probe);
	if (allowed(p, waker) && core_number(waker) != core_number(last))
		first = crowd_of(core_number(waker), last);
	if (probed != NONE && probe != core_number(last))
		second = crowd_of(probe, last);
	best = least_crowded(home, first, second);
	if (tells('w')) {
		struct decision it = { 'w', { home.load, home.cpus, home.is_far, first.load, first.cpus,
					      first.is_far, second.load, second.cpus, second.is_far }, best };

		tell(&it);
	}
	return best == 0 ? waker : best == 1 ? probed : NONE;
}

/* The idle CPU for a task that becomes runnable, now claimed; none. */
static u32 place_idle(struct task_struct *p, u32 last, bool core_first)
{
	bool here = allowed(p, last);
	u32 cpu;

	/* Of the kernel's functions each costs as much as the rest of this: the usual cases ask the fewest. */
	if (core_first && here && !core_of(core_number(last))->running && scx_bpf_test_and_clear_cpu_idle(last)) {
		count(p, WOKE_LAST_IDLE);
		return last;
	}
	if (!is_any_idle())
		return NONE;
	if (core_first && (cpu = claim(p, last, true)) != NONE) {
		count(p, WOKE_IDLE_CORE);
		return cpu;
	}
	if (here && scx_bpf_test_and_clear_cpu_idle(last)) {
		count(p, WOKE_LAST_IDLE);
		return last;
	}
	if (options.wakeup && (cpu = claim_sibling(p, last)) != NONE) {
		count(p, WOKE_SIBLING);
		return cpu;
	}
	if (!options.passive)
		return NONE;
	cpu = core_first ? NONE : claim(p, last, true);
	if (cpu != NONE || (cpu = claim(p, last, false)) != NONE)
		count(p, WOKE_OTHER_IDLE);
	return cpu;
}

/*
 * Whether a task goes next where its waker runs, which says that it is about to wait, and lately did so at once: to
 * start an idle CPU takes longer. If it does not this time, the next tick puts it out. Past tasks that wait, too, for
 * a quarter of a slice of all that follow each other. Not beside a busy sibling while a whole core is idle. Where
 * nobody waits it takes the waker's place at once.
 */
static bool follows(struct task_struct *p)
{
	u32 waker = bpf_get_smp_processor_id(), core = core_number(waker);
	struct cpu *here = cpu_of(waker);
	u64 together_ns;
	u32 waits;

	if (!here->runs)
		return false;
	if (!here->said_ns)
		here->said_ns = now_ns();
	if (!options.follow || here->word < WORD_KEPT || here->followed || !here->online || !allowed(p, waker) ||
	    (core_of(core)->running > 1 && is_any_core_idle()) ||
	    (bpf_get_current_task_btf()->flags & PF_EXITING))
		return false;
	together_ns = since(here->said_ns, here->together_ns);
	waits = waiting(core);
	if (!decided('f', waits, together_ns, options.slice_ns, 0, may_follow(waits, together_ns, options.slice_ns)))
		return false;
	here->followed = true;
	here->hands_over = decided('h', waits, here->handed, 0, 0, hands_over(waits, here->handed));
	count(p, WOKE_WITH_WAKER);
	return true;
}

/* The CPU for a task that becomes runnable, and whether it was idle and is claimed now. */
static u32 place(struct task_struct *p, u32 last, bool is_new, bool *idle)
{
	u32 cpu;

	if (!options.affinity)
		return place_anywhere(p, last, idle);
	is_new = is_new && options.passive;
	cpu = place_idle(p, last, options.idle_core_first || is_new);
	*idle = cpu != NONE;
	if (*idle)
		return cpu;
	if (options.passive) {
		cpu = is_new ? shortest(p, last) : less_crowded(p, last);
		if (cpu != NONE) {
			count(p, is_new ? WOKE_ELSEWHERE : WOKE_LESS_CROWDED);
			return cpu;
		}
	}
	if (allowed(p, last) && cpu_of(last)->online) {
		count(p, WOKE_LAST_BUSY);
		return last;
	}
	if ((cpu = allowed_of(p, core_number(last))) != NONE) {
		count(p, WOKE_CORE_BUSY);
		return cpu;
	}
	count(p, WOKE_ELSEWHERE);
	return shortest(p, last);
}

/* Whether a task that waits may displace the one that a CPU runs. */
static bool displaces(u32 cpu, struct candidate *waits, bool bound, u64 now)
{
	struct cpu *it = cpu_of(cpu);
	struct candidate runs = {
		.virtual_ns = it->virtual_ns + by_weight(since(now, it->started_ns), it->weight),
		.weight = it->weight,
	};
	s64 less_ns;

	/* On the clock of the core. */
	if (bound && !it->bound) {
		own_before(cpu, waits, &runs);
		runs.virtual_ns -= it->shift;
	} else if (!bound && it->bound) {
		own_before(cpu, &runs, waits);
		runs.virtual_ns += it->shift;
	}
	less_ns = runs.virtual_ns - waits->virtual_ns;
	return decided('d', less_ns, options.preempt_ns, it->wakes, 0,
		       displaces_where(less_ns, options.preempt_ns, it->wakes));
}

/* The CPU of a core whose task one that waits may displace; none. */
static u32 victim(struct task_struct *p, struct task *task, u32 cpu)
{
	struct candidate waits = { .virtual_ns = task->virtual_ns + task->later, .weight = task->weight };
	u32 core = core_number(cpu), index;
	u64 now = now_ns();

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

/* Has an idle CPU anywhere take a task that waits on a busy core. */
static bool tell_idle(struct task_struct *p, u32 cpu)
{
	u32 taker = NONE;

	if (options.passive && !is_held(p) && (taker = claim(p, cpu, true)) == NONE)
		taker = claim(p, cpu, false);
	if (taker == NONE)
		return false;
	count(p, TOLD_OTHER_CORE);
	kick(taker, KICK_IDLE);
	return true;
}

/* Has somebody take notice of a task that waits: whoever is idle or, if it woke, one that it displaces. */
static void announce(struct task_struct *p, struct task *task, u32 cpu, bool displaced, bool unplaced)
{
	bool idle = scx_bpf_test_and_clear_cpu_idle(cpu);
	u32 other;

	if (unplaced && options.affinity)
		count(p, idle ? WOKE_LAST_IDLE : WOKE_LAST_BUSY);
	else if (unplaced)
		count(p, idle ? WOKE_ANYWHERE_IDLE : WOKE_ANYWHERE);
	if (idle) {
		count(p, TOLD_OWN);
		kick(cpu, KICK_IDLE);
		return;
	}
	if (is_any_idle()) {
		if (!task->bound && options.wakeup && (other = claim_sibling(p, cpu)) != NONE) {
			count(p, TOLD_SIBLING);
			kick(other, KICK_IDLE);
			return;
		}
		if (tell_idle(p, cpu))
			return;
	}
	if (displaced)
		return;
	other = victim(p, task, cpu);
	if (other != NONE) {
		count(p, PREEMPTED);
		kick(other, KICK_PREEMPT);
	}
}

#endif
