/* SPDX-License-Identifier: GPL-2.0-only */
/* linux-2.5.32: the article's newer kernel, with queues for each logical CPU. */
#define OPERATIONS linux_2_5_32
#define OPERATIONS_NAME "coretwin_linux_2_5_32"
#define PATCHED 0
#include "linux_2_5_32.h"
