/* SPDX-License-Identifier: GPL-2.0-only */
/* linux-2.5.32-a9: the same with Molnar's patch, a queue for each core. */
#define OPERATIONS linux_2_5_32_a9
#define OPERATIONS_NAME "coretwin_linux_2_5_32_a9"
#define PATCHED 1
#include "linux_2_5_32.h"
