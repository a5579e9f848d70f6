/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shapes of the maps of overlap.bpf.c; src/overlap/shapes.rs reads the same.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, run times nanoseconds as the scheduler counts them.
 */
#ifndef CORETWIN_OVERLAP_H
#define CORETWIN_OVERLAP_H

#include "kernel.h"

/* The most siblings of a core. */
#define SIBLINGS_MAX 8
/* A task's run times: for each kind of core, of n CPUs, n places, for 1 to n of them busy. */
#define PLACES 16
/* The keys of the table of tasks stand in lines of so many. */
#define WAYS 8

enum cpu_state {
	/* Its first switch has not been seen, and it has not been asked to begin. */
	CPU_UNSEEN = 0,
	CPU_ONLINE = 1,
	CPU_OFFLINE = 2,
};

/* What stands when a CPU has closed a window: all since the beginning. */
struct closed {
	u64 at;
	u64 window;
	/* What each nanosecond since the beginning was: of tasks, idle, offline, or from before the CPU
	 * was first seen. They add up to `at` less the moment of loading. */
	u64 tasks_ns;
	u64 idle_ns;
	u64 offline_ns;
	u64 unseen_ns;
	/* What of tasks_ns the scheduler charged to tasks; the rest is steal, and interrupts where the
	 * kernel tells them apart. */
	u64 run_ns;
	/* What of run_ns went to tasks that have no place in the table. */
	u64 unlisted_ns;
	/* The core's time with k siblings busy, as seen from here. */
	u64 core_ns[SIBLINGS_MAX + 1];
};

/* A CPU. Written by itself alone, but for the end of its last slice when it has gone offline. What every
 * switch touches comes first, in two lines of the cache. */
struct cpu {
	/* Given by the loader. */
	u32 core;
	/* Its place among its siblings, and how many they are, itself included. */
	u32 place;
	u32 siblings;
	u32 state;
	/* Where the places of its kind of core begin. */
	u32 kind;
	/* The lines of keys, a power of two, less one. */
	u32 lines_mask;

	/* The slice that is open: its task (0 for the idle task), and its beginning, or that of the first
	 * task that the others joined. */
	u64 task;
	u64 since;
	/* The task's sum_exec_runtime when the slice began: from there a task is charged that is new here. */
	u64 charged_to;
	/* The core's newest record when last looked at, and how many siblings it has busy. */
	u64 head;
	u64 busy;
	/* Whether the newest record that we wrote has us busy, and which of our two slots is next. */
	u32 shown;
	u32 turn;
	/* The first slice began before we looked. */
	u32 first;
	/* Whether a sibling came or went between the last two looks. */
	u32 changed;
	/* The task before the one of the slice that is open, for whoever looks at us from here. */
	u64 previous;

	u64 tasks_ns;
	u64 idle_ns;
	u64 offline_ns;
	u64 unseen_ns;
	u64 run_ns;
	u64 unlisted_ns;
	u64 window;
	u64 switches;
	/* What the tasks were charged that had the CPU in the open slice before its task, and how many
	 * siblings were busy. */
	u64 joined_ns;
	u64 joined_busy;

	/* What should not be: slices that another task ended than began, for a switch was not shown to
	 * us, and what of them is not known to be anybody's; looks and changes given up because of the
	 * siblings' own; ended tasks that found no room. */
	u64 strangers;
	u64 strangers_ns;
	u64 contended;
	u64 lost_tasks;
	u64 lost_ns;
	u64 unlisted_tasks;

	/* The core's times at `since`. */
	u64 start[SIBLINGS_MAX + 1];
	/* How the slice that has just ended divides. */
	u64 slice[SIBLINGS_MAX + 1];
	struct closed closed;
	/* To whole lines of the cache. */
	u64 pad_end[2];
};

/* A core's past, whole, at one moment. Never changed while it is the newest. */
struct record {
	u64 at;
	u64 busy;
	u64 time[SIBLINGS_MAX + 1];
	u64 pad[5];
};

/* A core: its newest record is slots[head % 16]; the other bits count the changes. */
struct core {
	u64 head;
	u64 pad[15];
	struct record slots[2 * SIBLINGS_MAX];
};

/* A line of the cache of keys of the table of tasks: the addresses of its tasks. */
struct keys {
	u64 address[WAYS];
};

/* A task. Written only by the CPU on which it runs. */
struct task {
	/* What every switch touches: the window in which it was last charged, its sum_exec_runtime up to
	 * which its time is charged, where it last ran. */
	u64 window;
	u64 charged_to;
	u32 cpu;
	/* Its place in the table. */
	u32 place;
	/* Its run time on a kind of core with k siblings busy, itself included, at kind + k - 1: now, and
	 * when the window was closed before the one whose number is `window`. */
	u64 run_ns[PLACES];
	u64 settled_ns[PLACES];
	u64 address;
	/* CLOCK_BOOTTIME, as in /proc/PID/stat when it was listed. */
	u64 started;
	u64 cgroup;
	u32 tid;
	u32 tgid;
	u32 parent;
	/* The process that a followed one started and that this task descends from. */
	u32 followed;
	char comm[16];
};

#endif
