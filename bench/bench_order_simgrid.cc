/* SPDX-License-Identifier: BSD-3-Clause */
/* SimGrid playing orders in its fastest form: one actor, asynchronous sends, wait_any; max-min without TCP corrections or latencies. */
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include "bench_order.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace
{

std::vector<s4u::Host *> hosts; /* by node, nullptr: no GPU */

/* One SimGrid link per link direction, one route per pair of GPUs: that of the library's router. */
void build(const hop_topology *topology, s4u::NetZone *zone)
{
    std::vector<const s4u::Link *> links;
    for (uint32_t d = 0; d < 2 * hop_topology_link_count(topology); d++) {
        double capacity = hop_topology_link(topology, d / 2)->capacity_Bps[d % 2];
        links.push_back(zone->create_link("link" + std::to_string(d), capacity)->set_latency(0)->seal());
    }
    hosts.assign(hop_topology_node_count(topology), nullptr);
    for (uint32_t n = 0; n < hosts.size(); n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            hosts[n] = zone->create_host(hop_topology_node(topology, n)->name, 1e9)->seal();
    }
    hop_router *router = hop_router_create(topology);
    for (uint32_t from = 0; from < hosts.size(); from++) {
        for (uint32_t to = 0; to < hosts.size(); to++) {
            uint32_t index;
            hop_diag diag;
            if (from == to || !hosts[from] || !hosts[to])
                continue;
            if (hop_router_find(router, from, to, &index, &diag) != HOP_OK) {
                std::fprintf(stderr, "bench_order: %s\n", diag.what);
                std::exit(2);
            }
            const hop_route *route = hop_router_route(router, index);
            std::vector<s4u::LinkInRoute> way;
            for (uint32_t i = 0; i < route->link_count; i++)
                way.emplace_back(links[route->links[i]]);
            zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, way, false);
        }
    }
    hop_router_destroy(router);
}

} // namespace

void bench_within_simgrid(int argc, char **argv, const hop_topology *topology, void (*body)(void *), void *context)
{
    xbt_log_control_set("xbt_cfg.threshold:warning"); /* it reports every setting */
    s4u::Engine engine(&argc, argv);
    for (const char *setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                                "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0"})
        s4u::Engine::set_config(setting);
    s4u::NetZone *zone = s4u::create_full_zone("all");
    build(topology, zone);
    zone->seal();
    s4u::Host *first = nullptr;
    for (s4u::Host *host : hosts)
        first = first ? first : host;
    s4u::Actor::create("bench", first, [&] { body(context); });
    engine.run();
}

double bench_simgrid_play(const bench_send *sends, uint32_t count)
{
    static std::vector<std::vector<uint32_t>> queue; /* by node, the sends yet to start, last first */
    static std::vector<s4u::CommPtr> active;
    static std::vector<uint32_t> ids;
    queue.assign(hosts.size(), {});
    active.clear();
    ids.clear();
    for (uint32_t i = count; i-- > 0;)
        queue[sends[i].from].push_back(i);

    const double start = s4u::Engine::get_clock();
    auto send = [&](uint32_t source) {
        if (queue[source].empty())
            return;
        const uint32_t i = queue[source].back();
        queue[source].pop_back();
        active.push_back(s4u::Comm::sendto_async(hosts[source], hosts[sends[i].to], sends[i].bytes));
        ids.push_back(i);
    };
    for (uint32_t node = 0; node < hosts.size(); node++)
        send(node);
    while (!active.empty()) {
        const ssize_t done = s4u::Comm::wait_any(active);
        const uint32_t source = sends[ids[done]].from;
        active[done] = active.back();
        active.pop_back();
        ids[done] = ids.back();
        ids.pop_back();
        send(source);
    }
    return s4u::Engine::get_clock() - start;
}
