/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core-queue: one queue for each physical core, for sched_ext.
 *
 * Molnar's design of 2002: what waits on a core waits in one queue, in order of CPU time divided by
 * weight, and all siblings draw from it. The simulated kernel has the same policy in
 * crates/sim/src/policies/core_queue.rs; what is decided there is decided here, from the same parameters.
 *
 *   wakeup    a task that wakes on a busy CPU gets an idle sibling           (place, announce)
 *   pickup    a CPU runs whatever waits on its core                          (queue_of, on_dispatch)
 *   affinity  a task goes back to its core                                   (place)
 *   passive   a CPU without work takes a waiting task of a busier core       (steal)
 *   active    a core without work takes a running task of a core with two    (ask, give_away)
 *
 * Beside the queue of its core each CPU has one of its own, in the same order, for tasks that may not run on
 * every CPU of the core, and for all tasks if pickup is off: no task waits where nobody allowed would take it.
 * Threads of the kernel that belong to one CPU go past all queues.
 *
 * Cores have dense numbers of our own, given by the loader for every CPU there can be, so that no
 * CPU that comes or goes changes the number of a queue.
 */
#include "core_queue.h"
#include "sched_ext.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct options options SEC(".rodata.options") = {};
const volatile struct place places[CPUS_MAX] SEC(".rodata.places") = {};
/* The CPUs of each core. */
const volatile u32 members[CPUS_MAX][THREADS_MAX] SEC(".rodata.members") = {};

/* A CPU, written by itself alone but for `asked`. */
struct cpu {
	/* What it runs began with so much virtual time, at that moment, with that weight. */
	u64 virtual_ns;
	u64 started_ns;
	u64 ticked_ns;
	u64 balanced_ns;
	u32 weight;
	/* Whether it runs a task of ours, and whether that could run elsewhere. */
	u8 runs;
	u8 movable;
	u8 online;
	/* Its task is wanted by an idle core. */
	u8 asked;
	/* It shall look at other cores, though it has work. */
	u8 look;
} __attribute__((aligned(64)));

/* A core. */
struct core {
	/* The most virtual time a task that ran here began with. */
	u64 now;
	/* When a running task was last asked of it. */
	u64 asked_ns;
	/* Its CPUs that run a task, tasks that wait for it, and its CPUs that are online. */
	u32 running;
	u32 queued;
	u32 online;
} __attribute__((aligned(64)));

/* A task. */
struct task {
	/* CPU time by weight, on the clock of its core, and the CPU time already in it. */
	u64 virtual_ns;
	u64 counted_ns;
	/* Since when it waits. */
	u64 waits_ns;
	/* The CPU it belongs to. */
	u32 home;
	/* Where it last ran; none: nowhere yet. */
	u32 ran_on;
	/* The core in whose queue it waits, plus one. */
	u32 queue;
	/* It was running, and an idle core has asked for it. */
	u8 give_away;
	/* It was running, and goes on to wait. */
	u8 stopped;
};

static struct cpu cpus[CPUS_MAX];
struct core cores[CPUS_MAX] SEC(".bss.cores") = {};
/* Cores that run several tasks. */
static u32 crowded;
/* What a program of BPF adds to migration_disabled of the task it interrupts. */
static u32 own_disabling = 1;

struct end end SEC(".bss.end") = {};

struct {
	MAP_NUMBER(type, MAP_ARRAY_PER_CPU);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct counters);
} counters SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_TASK_STORAGE);
	MAP_NUMBER(map_flags, 1); /* BPF_F_NO_PREALLOC */
	MAP_TYPE(key, int);
	MAP_TYPE(value, struct task);
} tasks SEC(".maps");

static always_inline void add(u32 counter, u64 amount)
{
	u32 zero = 0;
	struct counters *own = bpf_map_lookup_elem(&counters, &zero);

	if (own && counter < COUNTERS)
		own->values[counter] += amount;
}

static always_inline void at_least(u32 counter, u64 value)
{
	u32 zero = 0;
	struct counters *own = bpf_map_lookup_elem(&counters, &zero);

	if (own && counter < COUNTERS && own->values[counter] < value)
		own->values[counter] = value;
}

static always_inline struct cpu *cpu_of(u32 cpu)
{
	return &cpus[cpu & (CPUS_MAX - 1)];
}

static always_inline u32 core_number(u32 cpu)
{
	return places[cpu & (CPUS_MAX - 1)].core & (CPUS_MAX - 1);
}

static always_inline struct core *core_of(u32 core)
{
	return &cores[core & (CPUS_MAX - 1)];
}

/* A CPU of a core by its place in it; none if there are not so many. */
static always_inline u32 member(u32 core, u32 index)
{
	return members[core & (CPUS_MAX - 1)][index & (THREADS_MAX - 1)];
}

static always_inline struct task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, NULL, 0);
}

static always_inline bool allowed(struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

static always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* CPU time by weight: 100 is that of nice 0. */
static always_inline u64 by_weight(u64 ns, u32 weight)
{
	return ns * 100 / (weight ?: 1);
}

/* Counts the CPU time of a task since it was last counted. */
static void count_time(struct task_struct *p, struct task *task)
{
	u64 ran_ns = p->se.sum_exec_runtime;

	task->virtual_ns += by_weight(ran_ns - task->counted_ns, p->scx.weight);
	task->counted_ns = ran_ns;
}

/* Makes a task one of a CPU's core. Clocks of cores differ: what counts is how far before its core it was. */
static void move_home(struct task *task, u32 cpu)
{
	u32 from = core_number(task->home), to = core_number(cpu);

	if (from != to)
		task->virtual_ns += core_of(to)->now - core_of(from)->now;
	task->home = cpu;
}

/* A task comes to a CPU's core. One that slept long is a slice before the others, and no more. */
static void arrive(struct task *task, u32 cpu)
{
	u64 earliest;

	move_home(task, cpu);
	earliest = core_of(core_number(cpu))->now - options.slice_ns;
	if (before(task->virtual_ns, earliest))
		task->virtual_ns = earliest;
	task->waits_ns = bpf_ktime_get_ns();
}

/* The task waits no longer in the queue in which it was counted. */
static void leave_queue(struct task *task)
{
	if (task->queue) {
		__sync_fetch_and_sub(&core_of(task->queue - 1)->queued, 1);
		task->queue = 0;
	}
}

/* Tasks that run or wait on a core. */
static always_inline u32 load(u32 core)
{
	return core_of(core)->running + core_of(core)->queued;
}

/* Whether a task may not leave its CPU for now, whatever its mask says. */
static bool is_held(struct task_struct *p)
{
	struct task_struct *current = bpf_get_current_task_btf();

	if (current->migration_disabled < own_disabling)
		own_disabling = current->migration_disabled;
	return p->migration_disabled > (p->pid == current->pid ? own_disabling : 0);
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

/* The queue in which a task waits for a CPU or its core. */
static u64 queue_of(struct task_struct *p, u32 cpu)
{
	u32 core = core_number(cpu);

	return options.pickup && fits(p, core) && !is_held(p) ? core : QUEUE_OF_CPU + cpu;
}

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
	return cpu < CPUS_MAX && scx_bpf_test_and_clear_cpu_idle(cpu) ? cpu : NONE;
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
	add(*idle ? WOKE_ANYWHERE_IDLE : WOKE_ANYWHERE, 1);
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
			add(WOKE_LAST_IDLE, 1);
			return last;
		}
		found = scx_bpf_pick_idle_cpu(p->cpus_ptr, PICK_IDLE_CORE);
		if (found >= 0) {
			add(WOKE_IDLE_CORE, 1);
			return found;
		}
	}
	if (here && scx_bpf_test_and_clear_cpu_idle(last)) {
		add(WOKE_LAST_IDLE, 1);
		return last;
	}
	if (options.wakeup && (cpu = claim_sibling(p, last)) != NONE) {
		add(WOKE_SIBLING, 1);
		return cpu;
	}
	*idle = false;
	if (here && cpu_of(last)->online) {
		add(WOKE_LAST_BUSY, 1);
		return last;
	}
	for (index = 0; index < THREADS_MAX; index++) {
		cpu = member(core, index);
		if (cpu == NONE)
			break;
		if (cpu_of(cpu)->online && allowed(p, cpu)) {
			add(WOKE_CORE_BUSY, 1);
			return cpu;
		}
	}
	add(WOKE_ELSEWHERE, 1);
	return shortest(p, last);
}

SEC("struct_ops/select_cpu")
s32 on_select_cpu(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	s32 last = context[1];
	struct task *task = task_of(p);
	bool idle = false;
	u32 cpu;

	if (!task)
		return last;
	cpu = place(p, last, &idle);
	if (idle) {
		/* Nobody waits there: past the queue. */
		leave_queue(task);
		arrive(task, cpu);
		insert(p, DSQ_LOCAL, options.slice_ns, 0);
	}
	return cpu;
}

/* The CPU of a core whose task one that waits may displace; none. */
static u32 victim(struct task_struct *p, struct task *task, u32 cpu)
{
	u32 core = core_number(cpu), index;
	u64 now = bpf_ktime_get_ns();

	for (index = 0; index < THREADS_MAX; index++) {
		/* Its own CPU first. */
		u32 other = index ? member(core, index - 1) : cpu;
		struct cpu *it = cpu_of(other);
		u64 theirs;

		if (other == NONE || (index && !options.pickup))
			break;
		if (!it->runs || !allowed(p, other))
			continue;
		theirs = it->virtual_ns + by_weight(now - it->started_ns, it->weight);
		if (before(task->virtual_ns + options.preempt_ns, theirs))
			return other;
	}
	return NONE;
}

/* Has somebody take notice of a task that waits. */
static void announce(struct task_struct *p, struct task *task, u32 cpu, bool shared)
{
	s32 taker;
	u32 other;

	if (scx_bpf_test_and_clear_cpu_idle(cpu)) {
		add(TOLD_OWN, 1);
		scx_bpf_kick_cpu(cpu, KICK_IDLE);
		return;
	}
	if (shared && options.wakeup && (other = claim_sibling(p, cpu)) != NONE) {
		add(TOLD_SIBLING, 1);
		scx_bpf_kick_cpu(other, KICK_IDLE);
		return;
	}
	other = victim(p, task, cpu);
	if (other != NONE) {
		add(PREEMPTED, 1);
		scx_bpf_kick_cpu(other, KICK_PREEMPT);
		return;
	}
	if (!options.passive || is_held(p))
		return;
	taker = scx_bpf_pick_idle_cpu(p->cpus_ptr, PICK_IDLE_CORE);
	if (taker < 0)
		taker = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (taker >= 0) {
		add(TOLD_OTHER_CORE, 1);
		scx_bpf_kick_cpu(taker, KICK_IDLE);
	}
}

/* A task that was stopped for it goes to an idle core, if there still is one. */
static bool give_away(struct task_struct *p, struct task *task, u32 cpu)
{
	s32 idle = -1;

	if (core_of(core_number(cpu))->running && !is_held(p))
		idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, PICK_IDLE_CORE);
	if (idle < 0) {
		add(ACTIVE_IN_VAIN, 1);
		return false;
	}
	add(ACTIVE_MOVED, 1);
	arrive(task, idle);
	insert(p, DSQ_LOCAL_ON | idle, options.slice_ns, 0);
	return true;
}

SEC("struct_ops/enqueue")
void on_enqueue(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u64 flags = context[1];
	struct task *task = task_of(p);
	u32 cpu = scx_bpf_task_cpu(p), core = core_number(cpu);
	bool stopped, asked;
	u64 queue;

	if (!task || ((p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1)) {
		add(PAST_QUEUES, 1);
		insert(p, DSQ_LOCAL, options.slice_ns, flags);
		return;
	}
	leave_queue(task);
	stopped = task->stopped;
	asked = task->give_away;
	task->stopped = task->give_away = false;
	if (asked && give_away(p, task, cpu))
		return;
	if (flags & __builtin_preserve_enum_value(*(enum scx_enq_flags *)SCX_ENQ_LAST, 1)) {
		/* It could not go where it was asked to, and nobody else wants its CPU. */
		insert(p, DSQ_LOCAL, options.slice_ns, flags);
		scx_bpf_kick_cpu(cpu, 0);
		return;
	}
	arrive(task, cpu);
	queue = queue_of(p, cpu);
	add(queue < QUEUE_OF_CPU ? QUEUED : QUEUED_FOR_CPU, 1);
	add(QUEUE_AHEAD, core_of(core)->queued);
	task->queue = core + 1;
	at_least(QUEUE_LONGEST, __sync_fetch_and_add(&core_of(core)->queued, 1) + 1);
	insert_by_time(p, queue, options.slice_ns, task->virtual_ns, flags);
	if (!stopped)
		announce(p, task, cpu, queue < QUEUE_OF_CPU);
}

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

	return task ? task->virtual_ns + by_weight(p->se.sum_exec_runtime - task->counted_ns, p->scx.weight) : 0;
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
		add(WENT_ON, 1);
		set_slice(goes_on, options.slice_ns);
		return true;
	}
	if (chosen == NO_QUEUE)
		return false;
	if (take_first(chosen)) {
		add(chosen == of_core ? PICKED : PICKED_OF_CPU, 1);
		return true;
	}
	/* A sibling was faster; the task that ran goes on. */
	if (goes_on) {
		add(WENT_ON, 1);
		set_slice(goes_on, options.slice_ns);
	}
	return goes_on;
}

SEC("struct_ops/dispatch")
void on_dispatch(u64 *context)
{
	u32 cpu = context[0], core = core_number(cpu);
	struct task_struct *previous = (void *)context[1];
	struct cpu *here = cpu_of(cpu);
	struct task_struct *goes_on = NULL;

	if (options.stuck)
		return;
	if (previous && (previous->scx.flags & TASK_QUEUED) && !here->asked)
		goes_on = previous;
	if (here->look) {
		here->look = false;
		if (steal(core)) {
			add(EVENED_OUT, 1);
			return;
		}
	}
	if (own_work(cpu, goes_on))
		return;
	if (options.pickup && scx_bpf_dsq_nr_queued(core) > 0)
		add(LEFT_OWN, 1);
	else if (steal(core))
		add(STOLEN, 1);
}

/* Counts by how far a task moves to run. */
static void count_move(struct task *task, u32 cpu)
{
	u32 from = task->ran_on;

	task->ran_on = cpu;
	if (from == NONE)
		add(RAN_FIRST, 1);
	else if (from == cpu)
		add(RAN_SAME_CPU, 1);
	else if (core_number(from) == core_number(cpu))
		add(RAN_SAME_CORE, 1);
	else if (places[from & (CPUS_MAX - 1)].package == places[cpu & (CPUS_MAX - 1)].package)
		add(RAN_OTHER_CORE, 1);
	else
		add(RAN_OTHER_PACKAGE, 1);
}

SEC("struct_ops/running")
void on_running(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct core *core = core_of(core_number(cpu));
	struct task *task = task_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!task)
		return;
	leave_queue(task);
	if (task->waits_ns) {
		add(WAITS, 1);
		add(WAITED_NS, now - task->waits_ns);
		at_least(WAITED_LONGEST_NS, now - task->waits_ns);
		task->waits_ns = 0;
	}
	count_move(task, cpu);
	move_home(task, cpu);
	if (before(core->now, task->virtual_ns))
		core->now = task->virtual_ns;
	task->stopped = false;
	here->virtual_ns = task->virtual_ns;
	here->started_ns = now;
	here->weight = p->scx.weight;
	here->movable = p->nr_cpus_allowed > 1;
	here->asked = false;
	if (!here->runs) {
		here->runs = true;
		if (__sync_fetch_and_add(&core->running, 1) == 1)
			__sync_fetch_and_add(&crowded, 1);
	}
}

SEC("struct_ops/stopping")
void on_stopping(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	bool runnable = context[1];
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct core *core = core_of(core_number(cpu));
	struct task *task = task_of(p);

	if (here->runs) {
		here->runs = false;
		if (__sync_fetch_and_sub(&core->running, 1) == 2)
			__sync_fetch_and_sub(&crowded, 1);
	}
	if (!task)
		return;
	count_time(p, task);
	task->stopped = runnable;
	task->give_away = runnable && here->asked;
	here->asked = false;
	/* Whoever displaces it may not be ours: its wait begins now. */
	if (runnable)
		task->waits_ns = bpf_ktime_get_ns();
}

/* Has a CPU stop its task for an idle core. */
static void ask(u32 core, u32 cpu)
{
	core_of(core)->asked_ns = bpf_ktime_get_ns();
	cpu_of(cpu)->asked = true;
	add(ACTIVE_ASKED, 1);
	scx_bpf_kick_cpu(cpu, KICK_PREEMPT);
}

/* Whether a core runs several tasks and was not asked of late. */
static bool may_give(u32 core)
{
	return core_of(core)->running > 1 &&
	       bpf_ktime_get_ns() - core_of(core)->asked_ns >= options.active_interval_ns;
}

SEC("struct_ops/tick")
void on_tick(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p), core = core_number(cpu);
	struct cpu *here = cpu_of(cpu);
	u64 now = bpf_ktime_get_ns(), since;

	if (options.passive && now - here->balanced_ns >= options.balance_ns) {
		here->balanced_ns = now;
		here->look = true;
	}
	since = before(here->ticked_ns, here->started_ns) ? here->started_ns : here->ticked_ns;
	here->ticked_ns = now;
	if (core_of(core)->running < 2 || !is_any_core_idle())
		return;
	add(CLASH_NS, (now - since) / core_of(core)->running);
	/* Tasks that never wait never come by a wake-up: they are looked at here. */
	if (options.active && now - here->started_ns >= options.slice_ns && !core_of(core)->queued &&
	    here->movable && may_give(core))
		ask(core, cpu);
}

SEC("struct_ops/update_idle")
void on_update_idle(u64 *context)
{
	u32 here = core_number(context[0]), most = 1, busiest = NONE, index;
	bool idle = context[1];

	if (!idle || !options.active || !crowded || load(here))
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

/* A better class takes the CPU: what was meant for it goes to the queue, where others see it. */
SEC("struct_ops/cpu_release")
void on_cpu_release(u64 *context)
{
	(void)context;
	if (scx_bpf_reenqueue_local)
		add(PUSHED_OUT, scx_bpf_reenqueue_local());
}

SEC("struct_ops.s/init_task")
s32 on_init_task(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct scx_init_task_args *args = (void *)context[1];
	struct task *task = bpf_task_storage_get(&tasks, p, NULL, 1); /* BPF_LOCAL_STORAGE_GET_F_CREATE */
	struct task *parent;

	if (!task)
		return -12; /* ENOMEM */
	task->home = scx_bpf_task_cpu(p);
	task->ran_on = NONE;
	task->virtual_ns = core_of(core_number(task->home))->now;
	task->counted_ns = p->se.sum_exec_runtime;
	/* It begins where its parent is, so that having children gains nothing. */
	if (args->fork) {
		parent = task_of(bpf_get_current_task_btf());
		if (parent && core_number(parent->home) == core_number(task->home) &&
		    before(task->virtual_ns, parent->virtual_ns))
			task->virtual_ns = parent->virtual_ns;
	}
	return 0;
}

/* What a task used under another class is not counted. */
SEC("struct_ops/enable")
void on_enable(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task *task = task_of(p);

	if (task)
		task->counted_ns = p->se.sum_exec_runtime;
}

SEC("struct_ops.s/cpu_online")
void on_cpu_online(u64 *context)
{
	u32 cpu = context[0];
	static char why[] = "a CPU came online whose core was not known";

	if (places[cpu & (CPUS_MAX - 1)].unknown) {
		scx_bpf_exit_bstr(EXIT_RESTART, why, NULL, 0);
		return;
	}
	cpu_of(cpu)->online = true;
	__sync_fetch_and_add(&core_of(core_number(cpu))->online, 1);
}

/* What waits for a CPU that goes waits in its own queue of the kernel's, which is emptied as CPUs go. */
static void evacuate(u64 queue, u32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		if (scx_bpf_task_cpu(p) == (s32)cpu && move_from(&it, p, DSQ_LOCAL_ON | cpu))
			add(EVACUATED, 1);
	}
	bpf_iter_scx_dsq_destroy(&it);
}

SEC("struct_ops.s/cpu_offline")
void on_cpu_offline(u64 *context)
{
	u32 cpu = context[0];

	cpu_of(cpu)->online = false;
	__sync_fetch_and_sub(&core_of(core_number(cpu))->online, 1);
	evacuate(core_number(cpu), cpu);
	evacuate(QUEUE_OF_CPU + cpu, cpu);
}

SEC("struct_ops.s/init")
s32 on_init(u64 *context)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 error = 0;

	(void)context;
	FOR_EACH(cpu, options.cpus) {
		if (bpf_cpumask_test_cpu(cpu, online)) {
			cpu_of(cpu)->online = true;
			__sync_fetch_and_add(&core_of(core_number(cpu))->online, 1);
		}
	}
	scx_bpf_put_cpumask(online);
	FOR_EACH(core, options.cores) {
		/* Far from 0, so that a slice before it is not before all time. */
		core_of(core)->now = 1ull << 40;
		error = error ?: scx_bpf_create_dsq(core, -1);
	}
	FOR_EACH(cpu, options.cpus)
		error = error ?: scx_bpf_create_dsq(QUEUE_OF_CPU + cpu, -1);
	return error;
}

SEC("struct_ops/exit")
void on_exit(u64 *context)
{
	struct scx_exit_info *info = (void *)context[0];

	bpf_probe_read_kernel_str(end.reason, sizeof(end.reason), info->reason);
	bpf_probe_read_kernel_str(end.message, sizeof(end.message), info->msg);
	end.code = info->exit_code;
	end.kind = info->kind;
}

SEC(".struct_ops.link")
struct sched_ext_ops core_queue = {
	.flags = OPS_KEEP_BUILTIN_IDLE | OPS_ENQ_LAST,
	.name = "coretwin_core_queue",
	.select_cpu = (void *)on_select_cpu,
	.enqueue = (void *)on_enqueue,
	.dispatch = (void *)on_dispatch,
	.tick = (void *)on_tick,
	.running = (void *)on_running,
	.stopping = (void *)on_stopping,
	.update_idle = (void *)on_update_idle,
	.cpu_release = (void *)on_cpu_release,
	.cpu_online = (void *)on_cpu_online,
	.cpu_offline = (void *)on_cpu_offline,
	.init_task = (void *)on_init_task,
	.enable = (void *)on_enable,
	.init = (void *)on_init,
	.exit = (void *)on_exit,
};
