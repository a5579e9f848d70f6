// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes every nanosecond of every task's run time to the number of busy siblings of its core.
 *
 * A CPU is busy while its task is not the idle task. So an interrupt taken while idle, and an idle loop
 * that polls, are idle; an interrupt or a hypervisor's theft in the middle of a task is busy.
 *
 * How a slice is divided. A core has a clock for each k: the time it has spent with k siblings busy. A
 * task that runs from a to b has spent clock_k(b) - clock_k(a) with k busy, whatever its siblings did
 * in between: a sibling that wakes up has nothing to close on our CPU. The clocks change their pace only
 * when a sibling goes from idle to busy or back. Whoever does so writes a *record*, the clocks at that
 * moment and the new number of busy siblings, and makes it the newest by one compare-and-exchange on
 * the core's head; who loses the race begins anew from the winner's record. So:
 *
 *  - No lock. A CPU that is stopped at any point (a hypervisor may) holds up nobody: what it has written
 *    is not yet the newest.
 *  - Nothing lost, nothing counted twice: the clocks of a record add up to its moment exactly, so those
 *    of any two moments differ by the time between. Every CPU cuts its own time at the same moments at
 *    which it reads the clocks; the parts of a slice add up to the slice in whole nanoseconds.
 *  - A record is not changed while it is the newest: a CPU has two slots and writes the one it did not
 *    publish last. A reader that was overtaken sees that the head has changed, and reads again.
 *  - If the head is the one of the last look, the whole slice had one k, and no record is read. Between
 *    two tasks not even the time is: the task that goes is charged with what the scheduler counted, and
 *    the next one joins the slice. When it ends at last and has to be divided, its end is the last task's,
 *    as long as what that was charged. (What a hypervisor stole from the last one is then taken for
 *    earlier: it moves the division of that task's run time, not the run time.)
 *
 * How far off. A CPU reads the time, then exchanges the head: tens of nanoseconds, with interrupts off.
 * Two siblings that switch within that time may be put in the wrong order; then the later record is not
 * dated before the earlier (`at` never goes back), and the k of those nanoseconds, not their sum, is
 * that of a neighbour. Where a hypervisor stops the CPU just there, it is as long as the stop. Such
 * errors do not add up: the next look begins from the clocks themselves.
 *
 * The order of loads and stores: a record is written before the exchange that publishes it, a full
 * barrier; its address depends on the head that was loaded; the check that the head has not changed
 * is an exchange or an atomic addition, full barriers too.
 */
#include "overlap.h"

#define TASK_DEAD 0x80
/* Keys that are no address. */
#define KEY_FREE 0
#define KEY_TAKEN 1
/* A task that finds no free place in so many lines has none. */
#define LINES_TRIED 4
#define TRIES 16
#define SLOTS (2 * SIBLINGS_MAX)
/* A fraction has 20 bits: exact to a millionth, and no overflow for slices below 4 hours. */
#define FRACTION_BITS 20
#define SLICE_MAX (1ULL << 44)
/* Two ticks of the slowest clock: what the scheduler may not have charged yet while a task runs. */
#define OPEN_MAX_NS 20000000
/* The loader reads every few milliseconds, unasked. */
#define RING_NO_WAKE 1

enum cpuhp_state {
	CPUHP_TEARDOWN_CPU = 0,
};

/* The loader says how many entries there are. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct cpu);
} cpus SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct core);
} cores SEC(".maps");

/*
 * The table of tasks. A task is found by the address of its task_struct, which exec does not change,
 * unlike the number: the address says with which line of keys to begin, its place there is its place
 * among the tasks. Arrays, since their elements are found without a call; the kernel's own hash table
 * takes longer at a switch than all the rest of what we do there.
 */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct keys);
} keys SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct task);
} tasks SEC(".maps");

/* Living tasks that found no place, by address, so that each is counted once. Beyond so many at a time
 * some are not counted; their time is. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 4096);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u32);
} refused SEC(".maps");

/* Tasks that have ended. */
struct {
	MAP_NUMBER(type, MAP_RINGBUF);
	MAP_NUMBER(max_entries, 4096);
} ended SEC(".maps");

/* Processes whose children are followed, with all that descend from them. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 64);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} followed SEC(".maps");

/* The number of the window that is open; set by the loader before it has the CPUs close one. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} windows SEC(".maps");

static always_inline struct cpu *cpu_of(u32 number)
{
	return bpf_map_lookup_elem(&cpus, &number);
}

/* A number of busy siblings that the verifier can see to be one. */
static always_inline u64 count(u64 busy)
{
	asm volatile("" : "+r"(busy));
	return busy <= SIBLINGS_MAX ? busy : SIBLINGS_MAX;
}

/* The same for a slot of a core. */
static always_inline u64 slot(u64 number)
{
	asm volatile("" : "+r"(number));
	return number % SLOTS;
}

static always_inline u64 open_window(void)
{
	u32 first = 0;
	u64 *window = bpf_map_lookup_elem(&windows, &first);

	return window ? READ_ONCE(*window) : 0;
}

static always_inline void name_task(struct task *task, struct task_struct *p)
{
	task->tid = p->pid;
	task->tgid = p->tgid;
	task->cgroup = p->cgroups->dfl_cgrp->kn->id;
	__builtin_memcpy(task->comm, p->comm, sizeof(task->comm));
}

/* A task's address as a number, with which the verifier allows to calculate; by way of the stack, which
 * no interrupt shares. */
static always_inline u64 address_of(struct task_struct *p)
{
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &p);
	return address;
}

static always_inline u32 first_line(struct cpu *cpu, u64 address)
{
	/* Addresses are multiples of the size of a task_struct: the upper bits of a product spread them. */
	return (address * 0x9e3779b97f4a7c15ULL >> 32) & cpu->lines_mask;
}

/* The task with this address, if it is in this line. */
static always_inline struct task *in_line(u32 line, u64 address)
{
	struct keys *there = bpf_map_lookup_elem(&keys, &line);

	if (!there)
		return NULL;
	for (u32 way = 0; way < WAYS; way++) {
		if (READ_ONCE(there->address[way]) == address) {
			u32 place = line * WAYS + way;

			return bpf_map_lookup_elem(&tasks, &place);
		}
	}
	return NULL;
}

/* In a line after its first: that was full once. */
static noinline struct task *find_further(struct cpu *cpu, u64 address)
{
	u32 first = first_line(cpu, address);

	for (u32 next = 1; next < LINES_TRIED; next++) {
		struct task *task = in_line((first + next) & cpu->lines_mask, address);

		if (task)
			return task;
	}
	return NULL;
}

static always_inline struct task *find(struct cpu *cpu, u64 address)
{
	struct task *task = in_line(first_line(cpu, address), address);

	return likely(task) ? task : find_further(cpu, address);
}

/* A free place, marked as taken, for a task with this address; none if all it may have are taken. */
static noinline struct task *take_place(struct cpu *cpu, u64 address)
{
	u32 first = first_line(cpu, address);

	for (u32 next = 0; next < LINES_TRIED; next++) {
		u32 line = (first + next) & cpu->lines_mask;
		struct keys *there = bpf_map_lookup_elem(&keys, &line);

		if (!there)
			return NULL;
		for (u32 way = 0; way < WAYS; way++) {
			u32 place = line * WAYS + way;
			struct task *task;

			if (__sync_val_compare_and_swap(&there->address[way], KEY_FREE, KEY_TAKEN) != KEY_FREE)
				continue;
			task = bpf_map_lookup_elem(&tasks, &place);
			if (task)
				task->place = place;
			return task;
		}
	}
	return NULL;
}

/* Gives back a task's place, or shows that it is filled. */
static always_inline void set_key(u32 place, u64 key)
{
	u32 line = place / WAYS;
	struct keys *there = bpf_map_lookup_elem(&keys, &line);

	/* Whoever sees the key sees the task as it is now: an exchange is a full barrier. */
	if (there)
		__sync_lock_test_and_set(&there->address[place % WAYS], key);
}

/* Gives a task its place in the table; none if it is full. */
static noinline struct task *list_task(struct cpu *cpu, struct task_struct *p, u64 charged_to,
				       u32 is_followed)
{
	u64 address = address_of(p);
	struct task *task = take_place(cpu, address);

	if (!task) {
		/* The interrupt that closes windows may come between. */
		if (!bpf_map_update_elem(&refused, &address, &is_followed, MAP_NEW_ONLY))
			__sync_fetch_and_add(&cpu->unlisted_tasks, 1);
		return NULL;
	}
	for (int at = 0; at < PLACES; at++) {
		task->run_ns[at] = 0;
		task->settled_ns[at] = 0;
	}
	task->address = address;
	/* Not again: a thread that starts a program takes its leader's number and start, but is still the
	 * task whose run time this is. */
	task->started = p->start_boottime;
	task->window = cpu->window;
	task->charged_to = charged_to;
	task->cpu = bpf_get_smp_processor_id();
	task->followed = is_followed;
	task->parent = p->real_parent->tgid;
	name_task(task, p);
	set_key(task->place, address);
	return task;
}

/*
 * Reads the core's clocks at `now`, and changes the number of busy siblings by `change`. Leaves in
 * cpu->slice how the time since cpu->since divides; the moment to which it was divided, which is not
 * before `now`. 0 if the siblings changed the head again and again.
 */
static always_inline u64 look_at(struct cpu *cpu, struct core *core, u64 now, s32 change, u32 clocks)
{
	u32 own = slot(cpu->place * 2 + (cpu->turn & 1));
	struct record *mine = &core->slots[own];

	for (int try = 0; try < TRIES; try++) {
		u64 head = READ_ONCE(core->head);
		struct record *newest = &core->slots[head % SLOTS];
		u64 at = READ_ONCE(newest->at);
		u64 busy = count(READ_ONCE(newest->busy));
		u64 moment = now > at ? now : at;

		for (u32 k = 0; k < clocks; k++)
			cpu->slice[k] = READ_ONCE(newest->time[k]);
		cpu->slice[busy] += moment - at;
		if (change) {
			u64 next = (head / SLOTS + 1) * SLOTS + own;

			busy = count(busy + change);
			mine->at = moment;
			mine->busy = busy;
			for (u32 k = 0; k < clocks; k++)
				mine->time[k] = cpu->slice[k];
			if (__sync_val_compare_and_swap(&core->head, head, next) != head)
				continue;
			cpu->changed = cpu->head != head;
			cpu->turn++;
			cpu->shown += change;
			cpu->head = next;
		} else {
			if (__sync_fetch_and_add(&core->head, 0) != head)
				continue;
			cpu->changed = cpu->head != head;
			cpu->head = head;
		}
		cpu->busy = busy;
		for (u32 k = 0; k < clocks; k++) {
			u64 clock = cpu->slice[k];

			cpu->slice[k] = clock - cpu->start[k];
			cpu->start[k] = clock;
		}
		return moment;
	}
	cpu->contended++;
	return 0;
}

/* Most cores have two siblings: three clocks, the fewer lines of the cache to read and write. */
static noinline u64 look(struct cpu *cpu, struct core *core, u64 now, s32 change)
{
	return cpu->siblings == 2 ? look_at(cpu, core, now, change, 3)
				  : look_at(cpu, core, now, change, SIBLINGS_MAX + 1);
}

/*
 * The parts of a slice that a sibling, a few nanoseconds late with its record, took back from an
 * earlier one are negative: they go to the part that is largest.
 */
static always_inline void mend(struct cpu *cpu, u32 clocks)
{
	u64 debt = 0, most = 0;
	u32 largest = 1;

	for (u32 k = 0; k < clocks; k++) {
		if ((s64)cpu->slice[k] < 0 || k == 0) {
			debt += cpu->slice[k];
			cpu->slice[k] = 0;
		} else if (cpu->slice[k] > most) {
			most = cpu->slice[k];
			largest = k;
		}
	}
	cpu->slice[count(largest)] += debt;
}

/* Adds to a task's run time with k busy; to what it was at the last window too, if that is later. */
static always_inline void add(struct cpu *cpu, struct task *task, u32 k, u64 ns)
{
	u32 at = (cpu->kind + k - 1) % PLACES;

	task->run_ns[at] += ns;
	if (unlikely(task->window > cpu->window))
		task->settled_ns[at] += ns;
}

/*
 * Leaves in cpu->slice the part of a slice in which its last task had the CPU, and says how long that
 * was. Of a slice that tasks joined it is the last `ns`; what was before had as many busy as when they
 * joined. Not what the earlier ones were charged is taken off: they may have been robbed of more than
 * all the last one's stay.
 */
static always_inline u64 own_part(struct cpu *cpu, u64 ns, u32 clocks)
{
	u64 wall = 0, earlier;
	u64 *before;

	mend(cpu, clocks);
	for (u32 k = 0; k < clocks; k++)
		wall += cpu->slice[k];
	if (!cpu->joined_ns || wall < ns)
		return wall;
	before = &cpu->slice[count(cpu->joined_busy)];
	earlier = wall - ns < *before ? wall - ns : *before;
	*before -= earlier;
	return wall - earlier;
}

/* Charges a task for a slice that was divided. */
static noinline void divide(struct cpu *cpu, struct task *task, u64 ns)
{
	u64 wall = cpu->siblings == 2 ? own_part(cpu, ns, 3) : own_part(cpu, ns, SIBLINGS_MAX + 1);
	u32 coarse = wall < SLICE_MAX ? 0 : FRACTION_BITS;
	u64 left = ns;

	wall >>= coarse;
	for (u32 k = 2; k <= SIBLINGS_MAX && k <= cpu->siblings; k++) {
		u64 part = ((cpu->slice[k] >> coarse) << FRACTION_BITS) / (wall ? wall : 1);

		part = ns < SLICE_MAX ? (ns * part) >> FRACTION_BITS : (ns >> FRACTION_BITS) * part;
		if (part > left)
			part = left;
		left -= part;
		add(cpu, task, k, part);
	}
	add(cpu, task, 1, left);
}

/* The first charge in a window: what it was at the window's beginning is kept. */
static noinline void settle(struct cpu *cpu, struct task *task, struct task_struct *p)
{
	for (int at = 0; at < PLACES; at++)
		task->settled_ns[at] = task->run_ns[at];
	task->window = cpu->window;
	name_task(task, p);
}

/*
 * What the scheduler has charged a task for since we last did. It charges at every switch and tick, so
 * while a slice is open the last few milliseconds are missing: they are taken for run, if they are that
 * few, and set off when the slice ends if they were not.
 */
static always_inline u64 ran(struct cpu *cpu, struct task *task, struct task_struct *p, u64 wall,
			     bool open)
{
	u64 now = p->se.sum_exec_runtime;
	s64 ns = now - task->charged_to;

	if (unlikely(open)) {
		if ((s64)wall - ns < OPEN_MAX_NS)
			ns = wall;
		if (ns < 0)
			ns = 0;
		task->charged_to += ns;
		return ns;
	}
	if (unlikely(ns < 0))
		return 0;
	task->charged_to = now;
	/* What it ran before we looked is not ours. */
	if (unlikely(cpu->first)) {
		cpu->first = 0;
		if (ns > (s64)wall)
			ns = wall;
	}
	return ns;
}

/* A task's last slice has ended: it leaves the table for the loader's ring. */
static noinline void bury(struct cpu *cpu, struct task *task, struct task_struct *p)
{
	name_task(task, p);
	if (bpf_ringbuf_output(&ended, task, sizeof(*task), RING_NO_WAKE)) {
		cpu->lost_tasks++;
		for (int at = 0; at < PLACES; at++)
			cpu->lost_ns += task->run_ns[at];
	}
	set_key(task->place, KEY_FREE);
}

/* The entry of a task that has the CPU; none if the table is full. */
static always_inline struct task *entry(struct cpu *cpu, struct task_struct *p, u64 charged_to)
{
	/* Read anew, lest the compiler calculate with the pointer, which the verifier forbids. */
	struct task *task = find(cpu, READ_ONCE(cpu->task));
	u64 ns;

	if (likely(task))
		return task;
	task = list_task(cpu, p, charged_to, 0);
	if (!task) {
		ns = p->se.sum_exec_runtime - charged_to;
		cpu->charged_to += ns;
		cpu->run_ns += ns;
		cpu->unlisted_ns += ns;
	}
	return task;
}

/* Charges a task for a slice in which `alike` were busy; 0 if the slice was divided. What it ran. */
static always_inline u64 charge(struct cpu *cpu, struct task *task, struct task_struct *p, u64 wall,
				u32 alike, bool open)
{
	u64 ns = ran(cpu, task, p, wall, open);

	cpu->run_ns += ns;
	if (unlikely(task->window < cpu->window))
		settle(cpu, task, p);
	task->cpu = bpf_get_smp_processor_id();
	if (likely(alike))
		add(cpu, task, alike, ns);
	else
		divide(cpu, task, ns);
	return ns;
}

/* The slice that has ended was a task's. */
static always_inline struct task *account(struct cpu *cpu, struct task_struct *p, u64 wall,
					  u32 alike, bool open)
{
	u64 charged_to = cpu->charged_to;
	bool stranger = cpu->task != (u64)p;
	struct task *task;
	u64 ns;

	cpu->tasks_ns += wall;
	wall -= cpu->joined_ns < wall ? cpu->joined_ns : wall;
	if (unlikely(stranger)) {
		/* What is not charged to p below was somebody else's. */
		cpu->strangers++;
		cpu->strangers_ns += wall;
		if (p->pid == 0)
			return NULL;
		charged_to = p->se.sum_exec_runtime;
		cpu->task = (u64)p;
	}
	task = entry(cpu, p, charged_to);
	if (unlikely(!task))
		return NULL;
	ns = charge(cpu, task, p, wall, alike, open);
	if (unlikely(stranger))
		cpu->strangers_ns -= ns < wall ? ns : wall;
	return task;
}

/*
 * Ends the slice that is open; `busy` is whether the next one is a task's, `open` that it is the
 * same task's. The entry of the task whose slice has ended.
 */
static always_inline struct task *cut(struct cpu *cpu, struct task_struct *p, u64 now, bool busy,
				      bool open)
{
	u32 alike = 1;
	u64 moment = 0;
	u64 wall;

	if (cpu->siblings > 1) {
		u32 number = cpu->core;
		struct core *core = bpf_map_lookup_elem(&cores, &number);
		s32 change = (s32)busy - (s32)cpu->shown;
		u64 head = cpu->head;

		/* Our own place in the count, should it have been given up as contended. */
		alike = cpu->busy + !cpu->shown;
		if (core && (change || READ_ONCE(core->head) != head)) {
			moment = look(cpu, core, now, change);
			if (moment && cpu->changed)
				alike = 0;
		}
	}
	if (!moment) {
		moment = now > cpu->since ? now : cpu->since;
		cpu->start[count(cpu->busy)] += moment - cpu->since;
	}
	wall = moment - cpu->since;
	cpu->since = moment;
	if (likely(cpu->state == CPU_ONLINE)) {
		struct task *task = NULL;

		if (cpu->task || p->pid)
			task = account(cpu, p, wall, alike, open);
		else
			cpu->idle_ns += wall;
		cpu->joined_ns = 0;
		return task;
	}
	if (cpu->state == CPU_OFFLINE)
		cpu->offline_ns += wall;
	else
		cpu->unseen_ns += wall;
	cpu->state = CPU_ONLINE;
	cpu->window = open_window();
	return NULL;
}

/* Whether the open slice is a known task's, and its siblings are as they were when it began. */
static always_inline bool goes_on(struct cpu *cpu, struct task_struct *p)
{
	u32 number = cpu->core;
	struct core *core;

	if (unlikely(cpu->task != (u64)p || cpu->state != CPU_ONLINE || cpu->first))
		return false;
	if (cpu->siblings == 1)
		return true;
	core = bpf_map_lookup_elem(&cores, &number);
	return core && cpu->shown && READ_ONCE(core->head) == cpu->head;
}

/* The next task joins the slice that is open. The entry of the one that goes. */
static always_inline struct task *join(struct cpu *cpu, struct task_struct *p)
{
	u32 alike = cpu->siblings == 1 ? 1 : cpu->busy;
	u64 before = cpu->run_ns;
	struct task *task = entry(cpu, p, cpu->charged_to);

	if (likely(task))
		charge(cpu, task, p, 0, alike, false);
	cpu->joined_ns += cpu->run_ns - before;
	cpu->joined_busy = cpu->busy;
	return task;
}

SEC("tp_btf/sched_switch")
int overlap_switch(u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct cpu *cpu = cpu_of(bpf_get_smp_processor_id());
	bool busy = next->pid != 0;
	struct task *task;

	if (!cpu)
		return 0;
	cpu->switches++;
	if (busy && goes_on(cpu, prev))
		task = join(cpu, prev);
	else
		task = cut(cpu, prev, bpf_ktime_get_ns(), busy, false);
	cpu->previous = cpu->task;
	cpu->task = busy ? (u64)next : 0;
	cpu->charged_to = next->se.sum_exec_runtime;
	if (unlikely(prev->__state & TASK_DEAD)) {
		u64 address = address_of(prev);

		bpf_map_delete_elem(&refused, &address);
		if (task)
			bury(cpu, task, prev);
	}
	return 0;
}

/*
 * Run by the loader on every CPU, in an interrupt that no switch can come between: ends the window
 * that is open, and begins the next.
 */
SEC("raw_tp/close")
int overlap_close(void)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct cpu *cpu = cpu_of(bpf_get_smp_processor_id());
	bool busy = p->pid != 0;
	struct closed *closed;

	if (!cpu)
		return 0;
	if (cpu->state != CPU_ONLINE) {
		cpu->first = 1;
		cpu->task = busy ? (u64)p : 0;
		cpu->charged_to = p->se.sum_exec_runtime;
	}
	cut(cpu, p, bpf_ktime_get_ns(), busy, true);
	closed = &cpu->closed;
	closed->at = cpu->since;
	closed->window = cpu->window;
	closed->tasks_ns = cpu->tasks_ns;
	closed->idle_ns = cpu->idle_ns;
	closed->offline_ns = cpu->offline_ns;
	closed->unseen_ns = cpu->unseen_ns;
	closed->run_ns = cpu->run_ns;
	closed->unlisted_ns = cpu->unlisted_ns;
	for (int k = 0; k <= SIBLINGS_MAX; k++)
		closed->core_ns[k] = cpu->start[k];
	cpu->window = open_window();
	return 0;
}

/* A new task, process or thread, before it runs: is it of those that are followed? */
SEC("tp_btf/task_newtask")
int overlap_newtask(u64 *ctx)
{
	struct task_struct *child = (struct task_struct *)ctx[0];
	struct task_struct *parent = bpf_get_current_task_btf();
	struct cpu *cpu = cpu_of(bpf_get_smp_processor_id());
	u32 process = parent->tgid;
	struct task *task = cpu ? find(cpu, address_of(parent)) : NULL;
	u32 is_followed = task ? task->followed : 0;

	if (!is_followed && (int)process != child->tgid && bpf_map_lookup_elem(&followed, &process))
		is_followed = child->tgid;
	if (cpu)
		list_task(cpu, child, 0, is_followed);
	return 0;
}

/* It may have another name and, if it was not its process's first task, another number. */
SEC("tp_btf/sched_process_exec")
int overlap_exec(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct cpu *cpu = cpu_of(bpf_get_smp_processor_id());
	struct task *task = cpu ? find(cpu, address_of(p)) : NULL;

	if (task)
		name_task(task, p);
	return 0;
}

/*
 * A CPU that has gone. Its last switch, from the task that stopped it to its idle task, is not shown,
 * for it is offline by then; so what it has open is offline time, and its core has it busy still. Run
 * by another CPU, when the dead one can do nothing. It comes back by its first switch.
 */
SEC("tp_btf/cpuhp_exit")
int overlap_hotplug(u64 *ctx)
{
	s32 gone = __builtin_preserve_enum_value(*(enum cpuhp_state *)CPUHP_TEARDOWN_CPU, 1);
	u64 now = bpf_ktime_get_ns();
	struct cpu *cpu = cpu_of(ctx[0]);
	struct core *core;
	u32 number;

	if ((s32)ctx[2] != gone || (s32)ctx[3] != 0 || !cpu || cpu->state != CPU_ONLINE)
		return 0;
	number = cpu->core;
	core = bpf_map_lookup_elem(&cores, &number);
	if (core && cpu->siblings > 1 && cpu->shown) {
		u64 moment = look(cpu, core, now, -1);

		now = moment > now ? moment : now;
	}
	if (now > cpu->since) {
		u64 wall = now - cpu->since;
		u64 joined = cpu->joined_ns < wall ? cpu->joined_ns : wall;

		cpu->tasks_ns += joined;
		cpu->offline_ns += wall - joined;
		cpu->since = now;
	}
	cpu->joined_ns = 0;
	cpu->task = 0;
	cpu->state = CPU_OFFLINE;
	/* So that the first look reads the clocks again. */
	cpu->head = ~0ULL;
	return 0;
}

char programs_license[] SEC("license") = "GPL";
