// SPDX-License-Identifier: GPL-2.0-only
/* Does nothing at every switch: what any program there costs, for the benchmark of the others. */
#include "kernel.h"

SEC("tp_btf/sched_switch")
int empty_switch(void)
{
	return 0;
}

char programs_license[] SEC("license") = "GPL";
