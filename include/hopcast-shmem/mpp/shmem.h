/* SPDX-License-Identifier: BSD-3-Clause */
/* Where programs of before OpenSHMEM look for it. */
#include "../shmem.h"
