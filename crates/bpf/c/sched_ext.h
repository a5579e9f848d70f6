/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a scheduler needs of sched_ext (include/linux/sched/ext.h, kernel/sched/ext.c): types of the
 * kernel with the members used here, found by name at load (CO-RE), its functions for BPF, and the
 * one name that each of these has in every kernel from 6.12 on.
 *
 * A function that a kernel lacks is weak, and stays without an address there; libbpf ignores what
 * follows a triple underscore in its name.
 */
#ifndef CORETWIN_SCHED_EXT_H
#define CORETWIN_SCHED_EXT_H

#include "kernel.h"

#define KSYM __attribute__((section(".ksyms")))
#define WEAK __attribute__((weak))

#define TASK_QUEUED 1u /* SCX_TASK_QUEUED: runnable under sched_ext */
#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

#define DSQ_LOCAL ((1ull << 63) | 2)
#define DSQ_LOCAL_ON ((1ull << 63) | (1ull << 62))
#define KICK_IDLE 1ull
#define KICK_PREEMPT 2ull
#define PICK_IDLE_CORE 1ull
#define EXIT_RESTART (1ull << 48) /* SCX_ECODE_ACT_RESTART */
#define OPS_ENQ_LAST 2ull

/* Their values moved between versions: taken from the kernel that runs. */
enum scx_enq_flags {
	SCX_ENQ_WAKEUP = 1ull,
	SCX_ENQ_CPU_SELECTED = 1ull << 10,
	SCX_ENQ_PREEMPT = 1ull << 32,
	SCX_ENQ_REENQ = 1ull << 40,
	SCX_ENQ_LAST = 1ull << 41
};
enum scx_wake_flags { SCX_WAKE_FORK = 4, SCX_WAKE_SYNC = 16 };
#define HAS_WAKE_FLAG(flags, flag) ((flags) & __builtin_preserve_enum_value(*(enum scx_wake_flags *)flag, 1))
#define FLAG_OF(flag) __builtin_preserve_enum_value(*(enum scx_enq_flags *)flag, 1)
#define HAS_FLAG(flags, flag) ((flags) & FLAG_OF(flag))
#define KNOWS_FLAG(flag) __builtin_preserve_enum_value(*(enum scx_enq_flags *)flag, 0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
	char *dump;
};

struct scx_init_task_args {
	bool fork;
};

#pragma clang attribute pop

struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));

struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

/* The members in use; which come first is ours to choose, for the loader sets the first two. */
struct sched_ext_ops {
	u64 hotplug_seq;
	u32 timeout_ms;
	u64 flags;
	char name[128];
	s32 (*select_cpu)(struct task_struct *, s32, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dispatch)(s32, struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*cpu_release)(s32, void *);
	void (*cpu_online)(s32);
	void (*cpu_offline)(s32);
	s32 (*init_task)(struct task_struct *, struct scx_init_task_args *);
	void (*enable)(struct task_struct *);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	bool (*yield)(struct task_struct *, struct task_struct *);
	void (*exit_task)(struct task_struct *, void *);
	void (*quiescent)(struct task_struct *, u64);
};

extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) KSYM;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) KSYM;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) KSYM;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) KSYM;
extern bool bpf_cpumask_empty(const struct cpumask *cpumask) KSYM;
extern u32 bpf_cpumask_first_and(const struct cpumask *src1, const struct cpumask *src2) KSYM;

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) KSYM;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) KSYM;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) KSYM;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) KSYM;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) KSYM;
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) KSYM;
extern const struct cpumask *scx_bpf_get_idle_cpumask(void) KSYM;
extern const struct cpumask *scx_bpf_get_idle_smtmask(void) KSYM;
extern void scx_bpf_put_idle_cpumask(const struct cpumask *idle_mask) KSYM;
extern const struct cpumask *scx_bpf_get_online_cpumask(void) KSYM;
extern void scx_bpf_put_cpumask(const struct cpumask *cpumask) KSYM;
extern u32 scx_bpf_reenqueue_local(void) KSYM WEAK;
/* 6.14: the clock of the CPU's run queue, which the kernel has read already. */
extern u64 scx_bpf_now(void) KSYM WEAK;
extern void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz) KSYM;

extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) KSYM;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) KSYM;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) KSYM;

/* 6.12 "dispatches", 6.13 "inserts", 6.19 says whether it did, and takes the many numbers as one. */
extern void scx_bpf_dispatch___v612(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) KSYM WEAK;
extern void scx_bpf_dsq_insert___v613(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) KSYM WEAK;
extern bool scx_bpf_dsq_insert___v2___v619(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) KSYM WEAK;
extern void scx_bpf_dispatch_vtime___v612(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
					  u64 enq_flags) KSYM WEAK;
extern void scx_bpf_dsq_insert_vtime___v613(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
					    u64 enq_flags) KSYM WEAK;
extern bool __scx_bpf_dsq_insert_vtime(struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args) KSYM WEAK;
/* 6.12 "consumes", 6.13 "moves", 7.1 with flags. */
extern bool scx_bpf_consume___v612(u64 dsq_id) KSYM WEAK;
extern bool scx_bpf_dsq_move_to_local___v613(u64 dsq_id) KSYM WEAK;
extern bool scx_bpf_dsq_move_to_local___v2___v71(u64 dsq_id, u64 enq_flags) KSYM WEAK;
extern bool scx_bpf_dispatch_from_dsq___v612(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
					     u64 enq_flags) KSYM WEAK;
extern bool scx_bpf_dsq_move___v613(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
				    u64 enq_flags) KSYM WEAK;
extern void scx_bpf_dispatch_from_dsq_set_vtime___v612(struct bpf_iter_scx_dsq *it__iter, u64 vtime) KSYM WEAK;
extern void scx_bpf_dsq_move_set_vtime___v613(struct bpf_iter_scx_dsq *it__iter, u64 vtime) KSYM WEAK;
extern bool scx_bpf_dispatch_vtime_from_dsq___v612(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
						   u64 enq_flags) KSYM WEAK;
extern bool scx_bpf_dsq_move_vtime___v613(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
					  u64 enq_flags) KSYM WEAK;
/* 6.19; before it a scheduler writes the member itself. */
extern bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) KSYM WEAK;

static inline u64 now_ns(void)
{
	return scx_bpf_now ? scx_bpf_now() : bpf_ktime_get_ns();
}

/* Puts a task at the end of a queue of the kernel's. */
static inline void insert(struct task_struct *p, u64 queue, u64 slice_ns, u64 flags)
{
	if (scx_bpf_dsq_insert___v2___v619)
		scx_bpf_dsq_insert___v2___v619(p, queue, slice_ns, flags);
	else if (scx_bpf_dsq_insert___v613)
		scx_bpf_dsq_insert___v613(p, queue, slice_ns, flags);
	else
		scx_bpf_dispatch___v612(p, queue, slice_ns, flags);
}

/* Puts a task into a queue in order of virtual time. */
static inline void insert_by_time(struct task_struct *p, u64 queue, u64 slice_ns, u64 virtual_ns, u64 flags)
{
	if (__scx_bpf_dsq_insert_vtime) {
		struct scx_bpf_dsq_insert_vtime_args args = { queue, slice_ns, virtual_ns, flags };

		__scx_bpf_dsq_insert_vtime(p, &args);
	} else if (scx_bpf_dsq_insert_vtime___v613) {
		scx_bpf_dsq_insert_vtime___v613(p, queue, slice_ns, virtual_ns, flags);
	} else {
		scx_bpf_dispatch_vtime___v612(p, queue, slice_ns, virtual_ns, flags);
	}
}

/* Has this CPU run the first task of a queue that it may run; false if there is none. */
static inline bool take_first(u64 queue)
{
	if (scx_bpf_dsq_move_to_local___v2___v71)
		return scx_bpf_dsq_move_to_local___v2___v71(queue, 0);
	if (scx_bpf_dsq_move_to_local___v613)
		return scx_bpf_dsq_move_to_local___v613(queue);
	return scx_bpf_consume___v612(queue);
}

/* Moves a task that waits in the queue that is gone through. */
static inline bool move_from(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 queue)
{
	if (scx_bpf_dsq_move___v613)
		return scx_bpf_dsq_move___v613(it, p, queue, 0);
	if (scx_bpf_dispatch_from_dsq___v612)
		return scx_bpf_dispatch_from_dsq___v612(it, p, queue, 0);
	return false;
}

/* The same into a queue in order of virtual time. */
static inline bool move_by_time(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 queue, u64 virtual_ns)
{
	if (scx_bpf_dsq_move_vtime___v613) {
		scx_bpf_dsq_move_set_vtime___v613(it, virtual_ns);
		return scx_bpf_dsq_move_vtime___v613(it, p, queue, 0);
	}
	if (scx_bpf_dispatch_vtime_from_dsq___v612) {
		scx_bpf_dispatch_from_dsq_set_vtime___v612(it, virtual_ns);
		return scx_bpf_dispatch_vtime_from_dsq___v612(it, p, queue, 0);
	}
	return false;
}

static inline void set_slice(struct task_struct *p, u64 slice_ns)
{
	if (scx_bpf_task_set_slice)
		scx_bpf_task_set_slice(p, slice_ns);
	else
		p->scx.slice = slice_ns;
}

/* For each number from 0 up to a bound that need not be known to the verifier. */
#define FOR_EACH(index, bound)                                                                                   \
	for (struct bpf_iter_num it __attribute__((cleanup(bpf_iter_num_destroy))),                               \
	     *once = (bpf_iter_num_new(&it, 0, (bound)), (void *)0);                                              \
	     !once; once = &it)                                                                                   \
		for (int *next, index; (next = bpf_iter_num_next(&it)) && (index = *next, true);)

#endif
