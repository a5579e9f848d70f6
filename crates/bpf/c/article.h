/* SPDX-License-Identifier: GPL-2.0-only */
/* What the schedulers of the 2003 article share: options by their places in the policy's table, and a core. */
#ifndef CORETWIN_ARTICLE_H
#define CORETWIN_ARTICLE_H

#include "kernel.h"

/* The most parameters of a policy. */
#define VALUES_MAX 24

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

/* A core, for those who watch: its CPUs that run a task, tasks that wait there, its CPUs that are online. */
struct core {
	u64 unused[2];
	u32 running;
	u32 queued;
	u32 online;
} __attribute__((aligned(64)));

#endif
