/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two ways to order, all orders and the search, share. */
#ifndef HOP_ORDER_H
#define HOP_ORDER_H

#include "order/problem.h"

/* Refuses limits that are none. */
enum hop_status hop_order_check(const struct hop_order_options *options, struct hop_diag *diag);
/* Of everything that a result depends on: schedule, machine, options; two runs with the same one do the same. */
enum hop_status hop_order_fingerprint(const struct hop_problem *problem, const struct hop_order_options *options,
                                      const char *mode, uint64_t *fingerprint, struct hop_diag *diag);

#endif
