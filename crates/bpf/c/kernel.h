/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What our BPF programs need of the kernel: types, a few helpers, and the members of its structures
 * that we read. Nothing here is copied from the kernel's headers: a structure names the members we use,
 * and CO-RE finds where they lie in the kernel that runs.
 *
 * A helper is called by its number, which is part of the kernel's stable interface (include/uapi/linux/bpf.h).
 */
#ifndef CORETWIN_KERNEL_H
#define CORETWIN_KERNEL_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

#define SEC(name) __attribute__((section(name), used))
#define always_inline inline __attribute__((always_inline))
#define noinline __attribute__((noinline))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* One load or store, neither repeated nor left out by the compiler. */
#define READ_ONCE(place) (*(const volatile __typeof__(place) *)&(place))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))

/* The members of a map's definition, which libbpf reads from BTF. */
#define MAP_NUMBER(name, number) int (*name)[number]
#define MAP_TYPE(name, kind) __typeof__(kind) *name

enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_ARRAY_PER_CPU = 6,
	MAP_RINGBUF = 27,
	MAP_TASK_STORAGE = 29,
};

/* For the update of a map. */
enum {
	MAP_ANY = 0,
	MAP_NEW_ONLY = 1,
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*const bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static u64 (*const bpf_ringbuf_query)(void *ring, u64 what) = (void *)134;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

/* A task under sched_ext; from 6.12 on. */
struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};

/* Complete, since kernels from 6.12 on do not take a mere declaration for their own. */
struct cpumask {
	unsigned long bits[1];
};

struct rt_rq {
	unsigned int rt_nr_running;
};

struct rq {
	struct rt_rq rt;
};

struct task_group {
	unsigned long shares;
	struct task_group *parent;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	u64 start_boottime;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	void *mm;
	int static_prio;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	struct sched_entity se;
	struct sched_ext_entity scx;
	struct task_group *sched_task_group;
	struct css_set *cgroups;
	char comm[16];
};

#pragma clang attribute pop

static void *(*const bpf_per_cpu_ptr)(const void *variable, u32 cpu) = (void *)153;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;

#endif
