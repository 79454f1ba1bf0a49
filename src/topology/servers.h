/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers, as finish finds them and as names alone say. */
#ifndef HOP_TOPOLOGY_SERVERS_H
#define HOP_TOPOLOGY_SERVERS_H

#include "base/base.h"
#include "hopcast/topology.h"

/* A part of finish, after the links are indexed. */
enum hop_status hop_servers_build(struct hop_topology *topology, struct hop_diag *diag);
/* Where no topology is known: how much of a device's name is that of its server, up to the first point; 0: it has none. */
size_t hop_server_length(const char *device);

#endif
