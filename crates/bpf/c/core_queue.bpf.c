/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * core-queue: one queue for each physical core, for sched_ext.
 *
 * Molnar's design of 2002: what waits on a core waits in one queue, in order of CPU time divided by
 * weight, and all siblings draw from it. The simulated kernel has the same policy in
 * crates/sim/src/policies/core_queue/mod.rs; what is decided there is decided here, from the same parameters.
 *
 *   wakeup    a task that wakes on a busy CPU gets an idle sibling           (core_queue_wake.h)
 *   pickup    a CPU runs whatever waits on its core                          (core_queue_work.h)
 *   affinity  a task goes back to its core                                   (core_queue_wake.h)
 *   passive   tasks that start or wait leave their core for a less busy one   (core_queue_wake.h, core_queue_work.h)
 *   active    a core without work takes a running task of a core with two    (core_queue_active.h)
 *   partners  of the first that wait, the one that goes best with what a sibling runs  (core_queue_work.h)
 *   follow    a task whose waker is about to wait runs next on its CPU       (core_queue_wake.h)
 *
 * Tasks change cores when they wake or start, or when a CPU of another core takes them to run: never from queue to
 * queue, so that what waits for a CPU that goes is in queues of that CPU's core.
 *
 * Beside the queue of its core each CPU has one of its own, in the same order by a clock of its own, for tasks
 * that may not run on every CPU of the core, and for all tasks if pickup is off: no task waits where nobody
 * allowed would take it, and those bound to a busy CPU share it by weight, however far others are by then.
 * Threads of the kernel that belong to one CPU go past all queues.
 *
 * Cores have dense numbers of our own, given by the loader for every CPU there can be, so that no
 * CPU that comes or goes changes the number of a queue.
 */
#include "core_queue_active.h"
#include "core_queue_wake.h"
#include "core_queue_work.h"

char LICENSE[] SEC("license") = "GPL";

SEC("struct_ops/select_cpu")
s32 on_select_cpu(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	s32 last = context[1];
	struct cpu *waker = cpu_of(bpf_get_smp_processor_id());
	bool follower = HAS_WAKE_FLAG(context[2], SCX_WAKE_SYNC) && follows(p);
	bool idle = follower;
	struct task *task;
	u64 flags = 0;
	u32 cpu;

	if (waker->wakes <= FEW)
		waker->wakes++;
	if (follower)
		cpu = bpf_get_smp_processor_id();
	else
		cpu = place(p, last, HAS_WAKE_FLAG(context[2], SCX_WAKE_FORK), &idle);
	if (idle) {
		/* Nobody waits there: past the queue. Whose it is shows when it runs. */
		if (options.counts && (task = task_of(p)))
			task->waits_ns = now_ns();
		if (follower && cpu_of(cpu)->hands_over)
			flags = FLAG_OF(SCX_ENQ_PREEMPT);
		insert(p, DSQ_LOCAL, options.slice_ns, flags);
	}
	return cpu;
}

SEC("struct_ops/enqueue")
void on_enqueue(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u64 flags = context[1];
	struct task *task = task_of(p);
	u32 cpu = scx_bpf_task_cpu(p), core = core_number(cpu), ahead;
	bool again = HAS_FLAG(flags, SCX_ENQ_REENQ), stopped, asked, unplaced;

	/* One that a better class pushed out would come back again and again: the kernel ends that after a while. */
	if (!task || !may_kick() || (is_of_cpu(p) && !again)) {
		count(p, PAST_QUEUES);
		insert(p, DSQ_LOCAL, options.slice_ns, flags);
		return;
	}
	stopped = task->stopped;
	asked = task->give_away;
	if (stopped && cpu_of(cpu)->hands_over) {
		/* Behind the task that it woke, which has taken its place. */
		cpu_of(cpu)->hands_over = false;
		cpu_of(cpu)->waker_follows = true;
		task->stopped = task->give_away = false;
		insert(p, DSQ_LOCAL, options.slice_ns, flags);
		return;
	}
	task->stopped = task->give_away = false;
	if (asked && give_away(p, task, cpu))
		return;
	if (HAS_FLAG(flags, SCX_ENQ_LAST)) {
		/* It could not go where it was asked to, and nobody else wants its CPU. */
		insert(p, DSQ_LOCAL, options.slice_ns, flags);
		kick(cpu, 0);
		return;
	}
	arrive(task, cpu, is_bound(p, cpu));
	if (options.counts) {
		ahead = waiting(core);
		count(p, task->bound ? QUEUED_FOR_CPU : QUEUED);
		add(p, QUEUE_AHEAD, ahead);
		at_least(p, QUEUE_LONGEST, ahead + 1);
	}
	if (task->bound)
		core_of(core)->of_cpus = true;
	core_of(core)->came_ns = task->waits_ns;
	set_may_wait(core_of(core), true);
	insert_by_time(p, task->bound ? QUEUE_OF_CPU + cpu : core, options.slice_ns,
		       stands(task, HAS_FLAG(flags, SCX_ENQ_WAKEUP)), flags);
	/* The kernel asks nobody for the CPU of a task that has but one, or that wakes while its CPU still leaves it. */
	unplaced = KNOWS_FLAG(SCX_ENQ_CPU_SELECTED) ?
			   HAS_FLAG(flags, SCX_ENQ_WAKEUP) && !HAS_FLAG(flags, SCX_ENQ_CPU_SELECTED) :
			   p->nr_cpus_allowed == 1 && !stopped;
	announce(p, task, cpu, stopped, unplaced);
}

SEC("struct_ops/dispatch")
void on_dispatch(u64 *context)
{
	u32 cpu = context[0], core = core_number(cpu);
	struct task_struct *previous = (void *)context[1];
	struct cpu *here = cpu_of(cpu);
	struct task_struct *goes_on = NULL;
	u32 from;

	if (options.stuck)
		return;
	if (someone_goes)
		empty_going();
	if (previous && (previous->scx.flags & TASK_QUEUED) && !here->asked)
		goes_on = previous;
	if (own_work(cpu, goes_on))
		return;
	if (options.counts && options.pickup && scx_bpf_dsq_nr_queued(core) > 0)
		add_once(LEFT_OWN, 1);
	from = take_any(core);
	if (from != NONE) {
		here->how = STOLEN;
		tell_next(from);
	} else if (!goes_on) {
		ask_for_running(core);
	}
}

SEC("struct_ops/running")
void on_running(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p);
	struct cpu *here = cpu_of(cpu);
	struct core *core = core_of(core_number(cpu));
	struct task *task = task_of(p);
	u64 now = now_ns(), before_ns, switch_ns;
	struct crowding *crowding;

	if (!task)
		return;
	if (here->left_ns) {
		crowding = crowding_of(core_number(cpu));
		before_ns = crowding->switch_ns;
		switch_ns = since(bpf_ktime_get_ns(), here->left_ns);
		crowding->switch_ns = decided('v', before_ns, switch_ns, 0, 0, least_of(before_ns, switch_ns));
		here->left_ns = 0;
	}
	count_run(p, task, cpu, now);
	if (here->how)
		count(p, here->how);
	here->how = 0;
	task->weight = weight_of(p);
	move_home(task, cpu, is_bound(p, cpu));
	if (before(clock_of(cpu, task->bound), task->virtual_ns))
		*(task->bound ? &here->now : &core->now) = task->virtual_ns;
	task->stopped = false;
	if (options.kinds) {
		here->kind = task->kind = kind_of(p);
		task->passed = 0;
	}
	here->bound = task->bound;
	here->wakes = 0;
	here->virtual_ns = task->virtual_ns;
	here->started_ns = now;
	here->weight = task->weight;
	here->movable = p->nr_cpus_allowed > 1;
	here->asked = false;
	here->word = task->word;
	here->handed = task->handed;
	if (!here->followed)
		here->together_ns = now;
	here->followed = here->waker_follows;
	here->hands_over = here->waker_follows = false;
	here->said_ns = 0;
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
	if (here->hands_over && runnable) {
		task->handed++;
	} else if (here->said_ns) {
		u64 after_ns = since(now_ns(), here->said_ns);

		task->word = decided('k', here->word, !runnable, after_ns, 0, word_of(here->word, !runnable, after_ns));
		task->handed = 0;
	}
	/* A new process has its parent's name until it starts a program. */
	if (options.kinds)
		task->kind = kind_of(p);
	task->stopped = runnable;
	task->give_away = runnable && here->asked;
	here->asked = false;
	/* Whoever displaces it may not be ours: its wait begins now. */
	if (runnable) {
		task->waits_ns = now_ns();
	} else {
		task->lag = lag(task);
		task->sleeps = true;
		if (!(here->sleepers++ % 16))
			here->left_ns = bpf_ktime_get_ns();
	}
}

SEC("struct_ops/tick")
void on_tick(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	u32 cpu = scx_bpf_task_cpu(p), core = core_number(cpu);
	struct cpu *here = cpu_of(cpu);
	u64 now = now_ns(), from;

	look_for_going(now);
	if (goes_on_alone(p, cpu))
		return;
	look(core, now);
	if (options.kinds)
		here->kind = kind_of(p);
	if (here->followed)
		kick(cpu, KICK_PREEMPT);
	from = before(here->ticked_ns, here->started_ns) ? here->started_ns : here->ticked_ns;
	here->ticked_ns = now;
	if (core_of(core)->running < 2 || !is_any_core_idle())
		return;
	add(p, CLASH_NS, since(now, from) / core_of(core)->running);
	/* Tasks that never wait never come by a wake-up: they are looked at here. */
	if (options.active && since(now, here->started_ns) >= options.slice_ns && !core_of(core)->queued &&
	    here->movable && may_give(core))
		ask(core, cpu);
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
	task->weight = weight_of(p);
	task->virtual_ns = clock_of(task->home, false);
	task->counted_ns = p->se.sum_exec_runtime;
	/* It begins where its parent is, so that having children gains nothing. */
	if (args->fork && (parent = task_of(bpf_get_current_task_btf())) &&
	    before(clock_of(parent->home, parent->bound), parent->virtual_ns))
		task->virtual_ns += parent->virtual_ns - clock_of(parent->home, parent->bound);
	return 0;
}

/* What a task used under another class is not counted; it comes back where the others are. */
SEC("struct_ops/enable")
void on_enable(u64 *context)
{
	struct task_struct *p = (void *)context[0];
	struct task *task = task_of(p);

	if (!task)
		return;
	task->counted_ns = p->se.sum_exec_runtime;
	if (task->ran_on != NONE) {
		task->lag = 0;
		task->sleeps = true;
	}
}

SEC("struct_ops/cpu_offline")
void on_cpu_offline(u64 *context)
{
	u32 cpu = context[0];

	goes_offline(cpu);
	evacuate(core_number(cpu), cpu);
	evacuate(QUEUE_OF_CPU + cpu, cpu);
}

SEC("struct_ops.s/init")
s32 on_init(u64 *context)
{
	s32 error = 0;

	(void)context;
	learn_online();
	FOR_EACH(core, options.cores) {
		/* Far from 0, so that a slice before it is not before all time. */
		core_of(core)->now = 1ull << 40;
		error = error ?: scx_bpf_create_dsq(core, -1);
	}
	FOR_EACH(cpu, options.cpus) {
		cpu_of(cpu)->now = 1ull << 40;
		error = error ?: scx_bpf_create_dsq(QUEUE_OF_CPU + cpu, -1);
	}
	return error;
}

SEC(".struct_ops.link")
struct sched_ext_ops core_queue = {
	.flags = OPS_ENQ_LAST,
	.name = "coretwin_core_queue",
	.select_cpu = (void *)on_select_cpu,
	.enqueue = (void *)on_enqueue,
	.dispatch = (void *)on_dispatch,
	.tick = (void *)on_tick,
	.running = (void *)on_running,
	.stopping = (void *)on_stopping,
	.cpu_release = (void *)on_cpu_release,
	.cpu_online = (void *)on_cpu_online,
	.cpu_offline = (void *)on_cpu_offline,
	.init_task = (void *)on_init_task,
	.enable = (void *)on_enable,
	.init = (void *)on_init,
	.exit = (void *)on_exit,
};
