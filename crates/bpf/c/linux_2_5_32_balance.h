/* SPDX-License-Identifier: GPL-2.0-only */
/* How tasks of linux-2.5.32 come from one queue to another: taken by an idle CPU, by a busy one, given to an idle core. */
#ifndef CORETWIN_LINUX_2_5_32_BALANCE_H
#define CORETWIN_LINUX_2_5_32_BALANCE_H

#include "linux_2_5_32_state.h"

/* A length that lasted: that of the quarter of a second before this one; 0 of one in which its CPUs were idle. */
static u32 lasted_of(u32 unit, u64 quarter)
{
	struct queue *it = queue_at(unit);

	return it->lasted_in[quarter & 1] == quarter ? it->lasted[quarter & 1] : 0;
}

static void remember(u32 unit, u64 quarter)
{
	struct queue *it = queue_at(unit);

	if (it->lasted_in[quarter & 1] == quarter)
		return;
	it->lasted[quarter & 1] = unit_length(unit);
	it->lasted_in[quarter & 1] = quarter;
}

/* How many tasks a CPU takes, and from where. */
static u64 find_busiest(u32 own, bool is_idle, u64 quarter, u32 *from)
{
	u32 busiest = NONE, own_now;
	u64 most = 1;

	FOR_EACH(unit, BY_QUEUE ? queue_count() : options.cpus) {
		u64 load;

		if ((u32)unit == own)
			continue;
		load = lasting(is_idle, unit_length(unit), is_idle ? 0 : lasted_of(unit, quarter - 1));
		if (load > most) {
			most = load;
			busiest = unit;
		}
	}
	*from = busiest;
	if (busiest == NONE)
		return 0;
	own_now = unit_length(own);
	return pulled(is_idle, own_lasting(is_idle, own_now, lasted_of(own, quarter - 1)), most, own_now,
		      unit_length(busiest));
}

/* Of an array, of the best priority that has a task to be taken, the one that came last; to run, or to wait. */
static bool pull_from(u64 array, u32 unit, u32 cpu, bool warm_too, bool runs_next)
{
	struct cpu *here = cpu_of(cpu);
	struct task_struct *p, *best = NULL;
	struct bpf_iter_scx_dsq it;
	struct task *task;
	u64 now = ticks_now(), priority = 0, key;
	bool took = false;
	u32 queue;

	bpf_iter_scx_dsq_new(&it, array, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		u64 its = p->scx.dsq_vtime >> SEQUENCE_BITS;

		if (best && its != priority)
			break;
		if (++here->looks > PULL_LOOKED_MAX) {
			add_once(PULLS_CUT, 1);
			break;
		}
		if (!allowed(p, cpu) || is_held(p) || !(task = task_of(p)) || (!BY_QUEUE && task->home != unit))
			continue;
		if (!warm_too && !is_cold(since(now, task->left_at), CACHE_DECAY))
			continue;
		best = p;
		priority = its;
	}
	if (best && runs_next) {
		took = move_from(&it, best, DSQ_LOCAL);
	} else if (best && (task = task_of(best))) {
		queue = queue_of(cpu);
		key = key_of(priority, now_ns());
		took = move_by_time(&it, best, array_id(queue, active_of(queue)), key);
		if (took) {
			task->queue = queue;
			task->array = active_of(queue);
			task->key = key;
			waits_for(task, cpu);
			if (before(task->waits_ns, queue_at(queue)->since_ns))
				queue_at(queue)->since_ns = task->waits_ns;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return took;
}

/* Takes one task of another unit: of the expired before the active. */
static bool pull(u32 unit, u32 cpu, bool warm_too, bool runs_next)
{
	u32 queue = BY_QUEUE ? unit : queue_of(unit);
	u8 active = active_of(queue);
	bool took;

	cpu_of(cpu)->looks = 0;
	took = pull_from(array_id(queue, active ^ 1), unit, cpu, warm_too, runs_next) ||
	       pull_from(array_id(queue, active), unit, cpu, warm_too, runs_next);
	add_once(PULL_LOOKED, cpu_of(cpu)->looks);
	return took;
}

/* A CPU without work takes one task to run it. */
static bool pull_idle(u32 cpu)
{
	u32 from;

	if (!find_busiest(unit_of(cpu), true, 0, &from) || !pull(from, cpu, PASSIVE, true))
		return false;
	add_once(PULLED_IDLE, 1);
	return true;
}

/* A busy CPU takes what it found that it owes itself. */
static void pull_owed(u32 cpu)
{
	struct cpu *here = cpu_of(cpu);

	FOR_EACH(turn, PULLED_MAX) {
		if (turn >= (int)here->owed || !pull(here->owed_from, cpu, false, false))
			break;
		add_once(PULLED_BUSY, 1);
	}
	here->owed = 0;
}

/* A busy CPU looks at the others once in a quarter of a second; whether there is something to be taken. */
static bool look(u32 cpu)
{
	struct cpu *here = cpu_of(cpu);
	u64 quarter = ticks_now() / BUSY_REBALANCE;
	u32 from;

	if (here->looked == quarter)
		return false;
	here->looked = quarter;
	remember(unit_of(cpu), quarter);
	here->owed = find_busiest(unit_of(cpu), false, quarter, &from);
	here->owed_from = from;
	return here->owed;
}

/* The unit of a CPU that is going offline while tasks wait there and no other CPU serves its queue; NONE without one. */
noinline u32 going_unit(void)
{
	u32 index;

	FOR_EACH(cpu, options.cpus) {
		u32 queue = queue_of(cpu);

		if (!is_going(cpu) || !waiting_in(queue))
			continue;
		for (index = 0; index < THREADS_MAX && member_of(queue, index) != NONE; index++) {
			if (cpu_of(member_of(queue, index))->online && !is_going(member_of(queue, index)))
				break;
		}
		if (index == THREADS_MAX || member_of(queue, index) == NONE)
			return unit_of(cpu);
	}
	return NONE;
}

/* Now and then a busy CPU looks for such a unit, and owes itself the tasks that wait there. */
static bool look_for_going(u32 cpu)
{
	u64 now = ticks_now() / GOING_TICKS, earlier = READ_ONCE(looked_for_going);
	u32 from;

	if (earlier == now || !may_kick() ||
	    __sync_val_compare_and_swap(&looked_for_going, earlier, now) != earlier)
		return false;
	from = going_unit();
	if (from == NONE || from == unit_of(cpu))
		return false;
	cpu_of(cpu)->owed = PULLED_MAX;
	cpu_of(cpu)->owed_from = from;
	return true;
}

/* Idle CPUs have no ticks today: the tick of a busy one where tasks wait is theirs. */
static void tell_idle(void)
{
	u64 now = ticks_now(), earlier = READ_ONCE(told);
	const struct cpumask *idle;

	if (earlier == now || __sync_val_compare_and_swap(&told, earlier, now) != earlier)
		return;
	idle = scx_bpf_get_idle_cpumask();
	if (!bpf_cpumask_empty(idle)) {
		FOR_EACH(cpu, options.cpus) {
			if (idles(cpu, idle)) {
				kick(cpu, KICK_IDLE);
				add_once(IDLE_TOLD, 1);
			}
		}
	}
	scx_bpf_put_idle_cpumask(idle);
}

/* The first CPU of a queue of which several are online and all are busy; none of another. */
static u32 first_of_busy(u32 queue)
{
	u32 first = NONE, online = 0, index;

	for (index = 0; index < THREADS_MAX; index++) {
		u32 cpu = member_of(queue, index);

		if (cpu == NONE)
			break;
		if (!cpu_of(cpu)->online)
			continue;
		if (!cpu_of(cpu)->runs)
			return NONE;
		if (first == NONE)
			first = cpu;
		online++;
	}
	return online > 1 ? first : NONE;
}

/* A CPU whose core has nothing at all to do asks busy cores for one of their running tasks. */
static void ask_for_running(u32 cpu)
{
	u32 own = queue_of(cpu);

	if (!ACTIVE || !may_kick() || length_of(own))
		return;
	FOR_EACH(queue, queue_count()) {
		u32 first;

		if ((u32)queue == own || queue_at(queue)->wanted)
			continue;
		first = first_of_busy(queue);
		if (first == NONE)
			continue;
		queue_at(queue)->wanted = true;
		cpu_of(first)->asked = true;
		add_once(ACTIVE_ASKED, 1);
		kick(first, KICK_PREEMPT);
	}
}

/* An idle CPU of a core without tasks for one that was asked for; none if a sibling is idle by now. */
static u32 idle_core_for(struct task_struct *p, u32 cpu)
{
	u32 own = queue_of(cpu), index;

	for (index = 0; index < THREADS_MAX; index++) {
		u32 sibling = member_of(own, index);

		if (sibling == NONE)
			break;
		if (sibling != cpu && cpu_of(sibling)->online && !cpu_of(sibling)->runs)
			return NONE;
	}
	FOR_EACH(queue, queue_count()) {
		if ((u32)queue == own || length_of(queue))
			continue;
		for (index = 0; index < THREADS_MAX; index++) {
			u32 idle = member_of(queue, index);

			if (idle == NONE)
				break;
			if (cpu_of(idle)->online && allowed(p, idle) && scx_bpf_test_and_clear_cpu_idle(idle))
				return idle;
		}
	}
	return NONE;
}

/* A task that was stopped for it goes to an idle core, if there still is one. */
static bool give_away(struct task_struct *p, u32 cpu)
{
	u32 idle = is_held(p) ? NONE : idle_core_for(p, cpu);

	count(p, idle == NONE ? ACTIVE_IN_VAIN : ACTIVE_MOVED);
	if (idle != NONE)
		insert(p, DSQ_LOCAL_ON | idle, SLICE_NS, 0);
	return idle != NONE;
}

#endif
