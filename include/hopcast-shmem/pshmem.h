/* SPDX-License-Identifier: BSD-3-Clause */
/* The names for profilers stand in shmem.h, too. */
#include "shmem.h"
