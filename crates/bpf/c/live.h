/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of all schedulers share with each other and with their loader
 * (crates/bpf/src/scheduler/loader.rs): topology, counters, CPUs that come and go, how it ended. The loader reads and
 * writes these by position. A program defines before it includes this:
 *
 *   enum counter     ends with COUNTERS; has PUSHED_OUT, EVACUATED, WAITS and so on, RAN_FIRST and so on
 *   struct options   cpus, cores, watch, stuck, counts
 *   struct cpu       online, nested, runs
 *   struct core      running, queued and online, where the loader looks for them
 *   struct task      ran_on, waits_ns
 */
#ifndef CORETWIN_LIVE_H
#define CORETWIN_LIVE_H

#include "sched_ext.h"

/* The most CPUs, a power of two; CPUs of one core. */
#define CPUS_MAX 1024
#define THREADS_MAX 8
#define NONE 0xffffffffu

/* Where a CPU is. Of one that is unknown the core is only a number that no other has. */
struct place {
	u32 core;
	u32 package;
	/* A number of our own for the last-level cache. */
	u32 cache;
	u32 unknown;
};

/* Why the kernel ended it; the kind is 0 while it runs. */
struct end {
	u64 kind;
	s64 code;
	char reason[128];
	char message[1024];
};

struct counters {
	u64 values[COUNTERS];
};

const volatile struct options options SEC(".rodata.options") = {};
const volatile struct place places[CPUS_MAX] SEC(".rodata.places") = {};
/* The CPUs of each core. */
const volatile u32 members[CPUS_MAX][THREADS_MAX] SEC(".rodata.members") = {};
static struct cpu cpus[CPUS_MAX];
struct core cores[CPUS_MAX] SEC(".bss.cores") = {};
struct end end SEC(".bss.end") = {};
/* What ran and what waited then, in the kernel's words; as much as it writes by default. */
char dump[32768] SEC(".bss.dump") = {};
/* What a program of BPF adds to migration_disabled of the task it interrupts. */
static u32 own_disabling = 1;

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

/* A counter of this CPU; none where nothing is counted. */
static always_inline u64 *counter_here(u32 counter)
{
	u32 zero = 0;
	struct counters *own = options.counts ? bpf_map_lookup_elem(&counters, &zero) : NULL;

	return own && counter < COUNTERS ? &own->values[counter] : NULL;
}

/* The same; none for a task that is not to be counted. */
static always_inline u64 *counter_for(struct task_struct *p, u32 counter)
{
	return options.watch && (u32)p->tgid != options.watch ? NULL : counter_here(counter);
}

static always_inline void raise(u64 *value, u64 amount)
{
	if (value)
		*value += amount;
}

static always_inline void raise_to(u64 *value, u64 amount)
{
	if (value && *value < amount)
		*value = amount;
}

static always_inline void add(struct task_struct *p, u32 counter, u64 amount)
{
	raise(counter_for(p, counter), amount);
}

static always_inline void count(struct task_struct *p, u32 counter)
{
	add(p, counter, 1);
}

static always_inline void at_least(struct task_struct *p, u32 counter, u64 amount)
{
	raise_to(counter_for(p, counter), amount);
}

/* Counts what belongs to no task. */
static always_inline void add_once(u32 counter, u64 amount)
{
	raise(counter_here(counter), amount);
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

/* Clocks of two CPUs may differ by a little. */
static always_inline u64 since(u64 now, u64 then)
{
	return before(then, now) ? now - then : 0;
}

/* A thread of the kernel that belongs to one CPU: it goes past all queues. */
static always_inline bool is_of_cpu(struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1;
}

/*
 * Whether a CPU has nothing to run. When a scheduler is loaded, the kernel's mask has every CPU in it, and one that
 * is busy from then on stays there until it has been idle once (seen on 6.12).
 */
static always_inline bool idles(u32 cpu, const struct cpumask *idle)
{
	struct task_struct *current = bpf_get_current_task_btf();

	return bpf_cpumask_test_cpu(cpu, idle) && !cpu_of(cpu)->runs &&
	       (cpu != bpf_get_smp_processor_id() || !current->pid);
}

/* Whether a task may not leave its CPU for now, whatever its mask says. */
static bool is_held(struct task_struct *p)
{
	struct task_struct *current;
	u32 programs;

	if (!p->migration_disabled)
		return false;
	current = bpf_get_current_task_btf();
	programs = 1 + cpu_of(bpf_get_smp_processor_id())->nested;
	if (current->migration_disabled < own_disabling)
		own_disabling = current->migration_disabled;
	return p->migration_disabled > (p->pid == current->pid ? own_disabling * programs : 0);
}

/*
 * A CPU that goes offline must kick no other: the kick could stay with it, and the kernel would wait for it
 * for ever when the scheduler is unloaded (irq_work_sync in free_kick_syncs, seen with 7.3).
 */
static bool may_kick(void)
{
	return cpu_of(bpf_get_smp_processor_id())->online;
}

/* A task begins to run: counts its wait, and by how far it moves. */
static void count_run(struct task_struct *p, struct task *task, u32 cpu, u64 now)
{
	u32 from = task->ran_on;

	if (task->waits_ns) {
		count(p, WAITS);
		add(p, WAITED_NS, since(now, task->waits_ns));
		at_least(p, WAITED_LONGEST_NS, since(now, task->waits_ns));
		task->waits_ns = 0;
	}
	task->ran_on = cpu;
	if (from == NONE)
		count(p, RAN_FIRST);
	else if (from == cpu)
		count(p, RAN_SAME_CPU);
	else if (core_number(from) == core_number(cpu))
		count(p, RAN_SAME_CORE);
	else if (places[from & (CPUS_MAX - 1)].package == places[cpu & (CPUS_MAX - 1)].package)
		count(p, RAN_OTHER_CORE);
	else
		count(p, RAN_OTHER_PACKAGE);
}

/* A better class takes the CPU: what was meant for it goes to a queue, where others see it. */
SEC("struct_ops/cpu_release")
void on_cpu_release(u64 *context)
{
	struct cpu *here = cpu_of(context[0]);

	if (!scx_bpf_reenqueue_local)
		return;
	here->nested = 1;
	add_once(PUSHED_OUT, scx_bpf_reenqueue_local());
	here->nested = 0;
}

static void comes_online(u32 cpu)
{
	cpu_of(cpu)->online = true;
	__sync_fetch_and_add(&core_of(core_number(cpu))->online, 1);
}

static void goes_offline(u32 cpu)
{
	cpu_of(cpu)->online = false;
	__sync_fetch_and_sub(&core_of(core_number(cpu))->online, 1);
}

/* Ends the scheduler, to be started anew, where the CPU's siblings were not known. */
SEC("struct_ops/cpu_online")
void on_cpu_online(u64 *context)
{
	u32 cpu = context[0];
	static char why[] = "CPU %d came online, whose siblings were not known";
	unsigned long long words[] = { cpu };

	if (places[cpu & (CPUS_MAX - 1)].unknown)
		scx_bpf_exit_bstr(EXIT_RESTART, why, words, sizeof(words));
	else
		comes_online(cpu);
}

/* The kernel's mask of CPUs that still take tasks from queues; a kernel without CONFIG_KALLSYMS_ALL hides it. */
extern const void __cpu_active_mask KSYM WEAK;

/*
 * Whether a CPU is going offline. From then on it takes nothing from queues, but the kernel calls cpu_offline only
 * after a grace period of RCU. If RCU's own thread waits in the queue of that CPU, neither ever ends: on 6.12 the
 * watchdog ejected a scheduler after 43 s.
 */
static always_inline bool is_going(u32 cpu)
{
	u64 active = 0;

	if (!&__cpu_active_mask || !cpu_of(cpu)->online ||
	    bpf_probe_read_kernel(&active, sizeof(active), (const u64 *)&__cpu_active_mask + cpu / 64))
		return false;
	return !(active >> cpu % 64 & 1);
}

/* Whether a CPU takes nothing from queues, because it goes or comes or is offline. */
static always_inline bool takes_nothing(u32 cpu)
{
	return !cpu_of(cpu)->online || is_going(cpu);
}

/* For a task that runs alone where nobody else can. */
#define ALONE_NS 100000000ull

/*
 * Whether a CPU takes nothing from queues; then what it runs alone goes on. Were its slice to end, it would wait in the
 * CPU's own queue of the kernel's while the CPU becomes idle: with OPS_ENQ_LAST the kernel puts it there while it still
 * is what runs, and so asks for nothing. On 6.12 the thread that takes a CPU offline waited there for 43 s. For the same
 * reason nobody is displaced there.
 */
static always_inline bool goes_on_alone(struct task_struct *p, u32 cpu)
{
	if (!takes_nothing(cpu))
		return false;
	set_slice(p, scx_bpf_dsq_nr_queued(DSQ_LOCAL) > 0 ? 0 : ALONE_NS);
	return true;
}

static void kick(s32 cpu, u64 flags)
{
	if (may_kick() && (!(flags & KICK_PREEMPT) || !takes_nothing(cpu)))
		scx_bpf_kick_cpu(cpu, flags);
}

/* What waits for a CPU that goes waits in its own queue of the kernel's, which is emptied as CPUs go. */
static void evacuate(u64 queue, u32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		if (scx_bpf_task_cpu(p) == (s32)cpu && move_from(&it, p, DSQ_LOCAL_ON | cpu))
			count(p, EVACUATED);
	}
	bpf_iter_scx_dsq_destroy(&it);
}

static void learn_online(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();

	FOR_EACH(cpu, options.cpus) {
		if (bpf_cpumask_test_cpu(cpu, online))
			comes_online(cpu);
	}
	scx_bpf_put_cpumask(online);
}

SEC("struct_ops/exit")
void on_exit(u64 *context)
{
	struct scx_exit_info *info = (void *)context[0];

	bpf_probe_read_kernel_str(end.reason, sizeof(end.reason), info->reason);
	bpf_probe_read_kernel_str(end.message, sizeof(end.message), info->msg);
	bpf_probe_read_kernel_str(dump, sizeof(dump), info->dump);
	end.code = info->exit_code;
	end.kind = info->kind;
}

#endif
