/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of linux-2.4.19 and its like share with each other and with their loader
 * (crates/bpf/src/core_queue/loader.rs): options, topology, counters, cores, how it ended. The loader reads and writes
 * these by position. A program defines `enum counter`, which ends with COUNTERS, before it includes this.
 */
#ifndef CORETWIN_LIVE_H
#define CORETWIN_LIVE_H

#include "sched_ext.h"

/* The most CPUs, a power of two; CPUs of one core; parameters of a policy. */
#define CPUS_MAX 1024
#define THREADS_MAX 8
#define VALUES_MAX 24
#define NONE 0xffffffffu

struct options {
	/* Of the policy's parameters, in the order of their table. */
	s64 values[VALUES_MAX];
	/* CPUs there can be, and cores. */
	u32 cpus;
	u32 cores;
	/* Only tasks of this process are counted; 0: all. */
	u32 watch;
	/* For trials of the watchdog: no task is ever taken out of a queue. */
	u8 stuck;
	/* Whether anything is counted. */
	u8 counts;
	u8 unused[2];
};

/* Where a CPU is. Of one that is unknown the core is only a number that no other has. */
struct place {
	u32 core;
	u32 package;
	u32 cache;
	u32 unknown;
};

/* A core, for those who watch: its CPUs that run a task, tasks that wait there, its CPUs that are online. */
struct core {
	u64 unused[2];
	u32 running;
	u32 queued;
	u32 online;
} __attribute__((aligned(64)));

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
struct core cores[CPUS_MAX] SEC(".bss.cores") = {};
struct end end SEC(".bss.end") = {};

struct {
	MAP_NUMBER(type, MAP_ARRAY_PER_CPU);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct counters);
} counters SEC(".maps");

/* Counts what belongs to no task. */
static always_inline void add_once(u32 counter, u64 amount)
{
	u32 zero = 0;
	struct counters *own = options.counts ? bpf_map_lookup_elem(&counters, &zero) : NULL;

	if (own && counter < COUNTERS)
		own->values[counter] += amount;
}

static always_inline void at_least(u32 counter, u64 amount)
{
	u32 zero = 0;
	struct counters *own = options.counts ? bpf_map_lookup_elem(&counters, &zero) : NULL;

	if (own && counter < COUNTERS && own->values[counter] < amount)
		own->values[counter] = amount;
}

static always_inline bool is_watched(struct task_struct *p)
{
	return options.counts && (!options.watch || (u32)p->tgid == options.watch);
}

static always_inline void count(struct task_struct *p, u32 counter)
{
	if (is_watched(p))
		add_once(counter, 1);
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

static always_inline s64 nice_of(struct task_struct *p)
{
	return p->static_prio - 120;
}

/* A thread of the kernel that belongs to one CPU: it goes past all queues. */
static always_inline bool is_of_cpu(struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1;
}

/* What a program of BPF adds to migration_disabled of the task it interrupts. */
static u32 own_disabling = 1;

/* Whether a task may not leave its CPU for now, whatever its mask says; `programs` of ours call one another here. */
static bool is_held(struct task_struct *p, u32 programs)
{
	struct task_struct *current;

	if (!p->migration_disabled)
		return false;
	current = bpf_get_current_task_btf();
	if (current->migration_disabled < own_disabling)
		own_disabling = current->migration_disabled;
	return p->migration_disabled > (p->pid == current->pid ? own_disabling * programs : 0);
}

/* What waits for a CPU that goes waits in its own queue of the kernel's, which is emptied as CPUs go. */
static u32 evacuate(u64 queue, u32 cpu)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u32 moved = 0;

	bpf_iter_scx_dsq_new(&it, queue, 0);
	while ((p = bpf_iter_scx_dsq_next(&it))) {
		if (scx_bpf_task_cpu(p) == (s32)cpu && move_from(&it, p, DSQ_LOCAL_ON | cpu))
			moved++;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return moved;
}

/* Ends the scheduler, to be started anew, where a CPU came online whose siblings were not known. */
static bool is_unknown(u32 cpu)
{
	static char why[] = "CPU %d came online, whose siblings were not known";
	unsigned long long words[] = { cpu };

	if (!places[cpu & (CPUS_MAX - 1)].unknown)
		return false;
	scx_bpf_exit_bstr(EXIT_RESTART, why, words, sizeof(words));
	return true;
}

static always_inline void tell_end(struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(end.reason, sizeof(end.reason), info->reason);
	bpf_probe_read_kernel_str(end.message, sizeof(end.message), info->msg);
	end.code = info->exit_code;
	end.kind = info->kind;
}

#endif
