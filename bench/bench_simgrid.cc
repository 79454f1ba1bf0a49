/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Beside SimGrid 3.32: the same trees, the same transfers.
 *
 *     bench_simgrid [CASES]      default 1000
 *
 * 1. The model `fair` is max-min over link directions, which SimGrid's CM02 is too when its TCP corrections are off and
 * links have no latency. Random transfers on T1, T2, the CS-Storm and random trees: every completion time must agree to
 * 1e-6.
 * 2. Time of one evaluation of a schedule of 24 sends, repeated: SimGrid in its fastest form (one actor, asynchronous
 * sends, wait_any) against hop_simulation_run, with nothing remembered and with the rates of active sets remembered.
 * Short batches of the two alternate on one processor, and the ratio is the median over the pairs: what else the
 * machine does hurts both sides of a pair alike. A missed target of time is printed and no failure; a disagreement is.
 *
 * A SimGrid process has one engine, so every platform is built first, side by side, and one actor does all of the
 * above.
 */
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include <hopcast/hopcast.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <sched.h>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace
{

constexpr unsigned RandomTrees = 40;
constexpr double AgreeWithin = 1e-6;
constexpr unsigned Pairs = 201;
constexpr double BatchSeconds = 0.002;

void must(enum hop_status status, const hop_diag &diag)
{
    if (status == HOP_OK)
        return;
    std::fprintf(stderr, "bench_simgrid: %s: %s (%s)\n", diag.place, diag.what, diag.expected);
    std::exit(2);
}

struct Transfer {
    uint32_t from, to; /* nodes */
    uint64_t bytes;
};

/* A topology, and the hosts and links that stand for it in SimGrid. */
struct Platform {
    hop_topology *topology;
    std::vector<uint32_t> gpus;
    std::map<uint32_t, s4u::Host *> hosts;
};

/* ---- platforms ---- */

hop_topology *load(const char *name)
{
    hop_diag diag;
    hop_topology *topology;
    must(hop_topology_load(name, &topology, &diag), diag);
    return topology;
}

/* A root complex, 1 to 8 switches below it or each other, 2 to 12 GPUs, every link direction with a capacity of its
 * own. */
hop_topology *random_tree(unsigned number, std::mt19937_64 &random)
{
    hop_diag diag;
    std::uniform_real_distribution<double> rate(1e9, 25e9);
    hop_topology *topology = hop_topology_create(("tree" + std::to_string(number)).c_str());
    std::vector<uint32_t> inner(1);
    hop_node root = hop_node_default(HOP_NODE_ROOT, "root0");
    must(hop_topology_add_node(topology, &root, &inner[0], &diag), diag);

    auto add = [&](hop_node_kind kind, const std::string &name) {
        uint32_t index;
        hop_node node = hop_node_default(kind, name.c_str());
        must(hop_topology_add_node(topology, &node, &index, &diag), diag);
        hop_link link = hop_link_default(HOP_LINK_PCIE, index, inner[random() % inner.size()]);
        link.capacity_Bps[0] = rate(random);
        link.capacity_Bps[1] = rate(random);
        must(hop_topology_add_link(topology, &link, nullptr, &diag), diag);
        return index;
    };
    unsigned switches = 1 + random() % 8, gpus = 2 + random() % 11;
    for (unsigned i = 0; i < switches; i++)
        inner.push_back(add(HOP_NODE_SWITCH, "switch" + std::to_string(i)));
    for (unsigned i = 0; i < gpus; i++)
        add(HOP_NODE_GPU, "gpu" + std::to_string(i));
    must(hop_topology_finish(topology, &diag), diag);
    return topology;
}

/* One SimGrid link per link direction, one route per pair of GPUs: that of the library's router. */
Platform build(hop_topology *topology, s4u::NetZone *zone, unsigned number)
{
    hop_diag diag;
    Platform platform{topology, {}, {}};
    std::vector<const s4u::Link *> links;
    const std::string prefix = "p" + std::to_string(number) + ".";
    for (uint32_t d = 0; d < 2 * hop_topology_link_count(topology); d++) {
        double capacity = hop_topology_link(topology, d / 2)->capacity_Bps[d % 2];
        links.push_back(zone->create_link(prefix + "link" + std::to_string(d), capacity)->set_latency(0)->seal());
    }
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind != HOP_NODE_GPU)
            continue;
        platform.gpus.push_back(n);
        platform.hosts[n] = zone->create_host(prefix + hop_topology_node(topology, n)->name, 1e9)->seal();
    }
    hop_router *router = hop_router_create(topology);
    for (uint32_t from : platform.gpus) {
        for (uint32_t to : platform.gpus) {
            uint32_t index;
            if (from == to)
                continue;
            must(hop_router_find(router, from, to, &index, &diag), diag);
            const hop_route *route = hop_router_route(router, index);
            std::vector<s4u::LinkInRoute> way;
            for (uint32_t i = 0; i < route->link_count; i++)
                way.emplace_back(links[route->links[i]]);
            zone->add_route(platform.hosts[from]->get_netpoint(), platform.hosts[to]->get_netpoint(), nullptr, nullptr,
                            way, false);
        }
    }
    hop_router_destroy(router);
    return platform;
}

/* ---- the two executors ---- */

/* Each source sends one transfer at a time, in list order. ends: seconds after the start. */
void run_simgrid(const Platform &platform, const std::vector<Transfer> &transfers, std::vector<double> &ends)
{
    static std::vector<std::vector<size_t>> queue; /* by node, the transfers yet to start, last first */
    static std::vector<s4u::CommPtr> active;
    static std::vector<size_t> ids;
    queue.assign(hop_topology_node_count(platform.topology), {});
    active.clear();
    ids.clear();
    ends.resize(transfers.size());
    for (size_t i = transfers.size(); i-- > 0;)
        queue[transfers[i].from].push_back(i);

    const double start = s4u::Engine::get_clock();
    auto send = [&](uint32_t source) {
        if (queue[source].empty())
            return;
        const size_t i = queue[source].back();
        queue[source].pop_back();
        active.push_back(
            s4u::Comm::sendto_async(platform.hosts.at(source), platform.hosts.at(transfers[i].to), transfers[i].bytes));
        ids.push_back(i);
    };
    for (uint32_t gpu : platform.gpus)
        send(gpu);
    while (!active.empty()) {
        const ssize_t done = s4u::Comm::wait_any(active);
        const size_t i = ids[done];
        ends[i] = s4u::Engine::get_clock() - start;
        active[done] = active.back();
        active.pop_back();
        ids[done] = ids.back();
        ids.pop_back();
        send(transfers[i].from);
    }
}

hop_schedule *to_schedule(const Platform &platform, const std::vector<Transfer> &transfers)
{
    hop_diag diag;
    hop_schedule *schedule = hop_schedule_create("transfers");
    for (const Transfer &t : transfers)
        hop_schedule_copy(schedule, hop_topology_node(platform.topology, t.from)->name,
                          hop_topology_node(platform.topology, t.to)->name, t.bytes, nullptr, 0);
    must(hop_schedule_finish(schedule, &schedule, &diag), diag);
    return schedule;
}

void run_hopcast(const Platform &platform, const std::vector<Transfer> &transfers, std::vector<double> &ends)
{
    hop_diag diag;
    hop_network *network;
    hop_timeline *timeline;
    hop_simulate_options options = {};
    options.detail = HOP_DETAIL_ENDS;
    hop_schedule *schedule = to_schedule(platform, transfers);
    must(hop_network_create(platform.topology, "fair", &network, &diag), diag);
    must(hop_simulate(network, schedule, &options, &timeline, &diag), diag);
    ends.resize(transfers.size());
    for (size_t i = 0; i < transfers.size(); i++)
        ends[i] = hop_timeline_span(timeline, (uint32_t)i).end_s;
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
}

/* ---- 1: do they agree? ---- */

bool compare(const std::vector<Platform> &platforms, unsigned cases)
{
    std::mt19937_64 random(20160419);
    std::uniform_real_distribution<double> exponent(std::log(16e6), std::log(1e9));
    double worst[4] = {0, 0, 0, 0};
    unsigned count[4] = {0, 0, 0, 0}, times[4] = {0, 0, 0, 0};
    for (unsigned c = 0; c < cases; c++) {
        /* three of five cases on the named machines, the others on random trees */
        const unsigned which = c % 5 < 3 ? c % 5 : 3 + random() % RandomTrees, group = std::min(which, 3u);
        const Platform &platform = platforms[which];
        std::vector<Transfer> transfers(1 + random() % 30);
        for (Transfer &t : transfers) {
            t.from = platform.gpus[random() % platform.gpus.size()];
            do
                t.to = platform.gpus[random() % platform.gpus.size()];
            while (t.to == t.from);
            t.bytes = (uint64_t)std::exp(exponent(random));
        }
        std::vector<double> theirs, ours;
        run_simgrid(platform, transfers, theirs);
        run_hopcast(platform, transfers, ours);
        for (size_t i = 0; i < transfers.size(); i++)
            worst[group] = std::max(worst[group], std::fabs(ours[i] / theirs[i] - 1));
        times[group] += (unsigned)transfers.size();
        count[group]++;
    }
    static const char *const names[] = {"t1", "t2", "cs-storm", "random trees"};
    bool held = true;
    std::printf("fair against SimGrid: relative difference of completion times\n");
    std::printf("  %-14s %6s %12s %10s %10s\n", "topology", "cases", "completions", "worst", "target");
    for (unsigned g = 0; g < 4; g++) {
        const bool good = worst[g] <= AgreeWithin;
        std::printf("  %-14s %6u %12u %10.2g %10s  %s\n", names[g], count[g], times[g], worst[g], "<= 1e-6",
                    good ? "held" : "WRONG");
        held = held && good;
    }
    return held;
}

/* ---- 2: how long does it take? ---- */

/* Processor time: both sides only compute, and other load on the machine does not count. */
double now_s()
{
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds per call. */
template <class Call> double time_batch(Call call, unsigned repeats)
{
    const double start = now_s();
    for (unsigned i = 0; i < repeats; i++)
        call();
    return (now_s() - start) / repeats;
}

template <class Call> unsigned repeats_for(Call call)
{
    time_batch(call, 10); /* the first calls allocate and remember */
    const double once = time_batch(call, 10);
    return std::max(1u, (unsigned)(BatchSeconds / once));
}

double median(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

/* A process that moves between processors loses its caches now and then. */
void stay_on_one_processor()
{
    const int here = sched_getcpu();
    cpu_set_t set;
    CPU_ZERO(&set);
    if (here >= 0 && here < CPU_SETSIZE)
        CPU_SET(here, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        std::printf("  not pinned to one processor: the system does not allow it\n");
}

/* 2 x 2 x 2, neighbours i^1, i^2, i^4 in that order. */
std::vector<Transfer> halo(const Platform &platform)
{
    std::vector<Transfer> transfers;
    for (unsigned gpu = 0; gpu < 8; gpu++) {
        for (unsigned bit = 1; bit < 8; bit *= 2)
            transfers.push_back({platform.gpus[gpu], platform.gpus[gpu ^ bit], 300u << 20});
    }
    return transfers;
}

void race(const Platform &platform)
{
    hop_diag diag;
    const std::vector<Transfer> transfers = halo(platform);
    std::vector<double> ends;
    hop_schedule *schedule = to_schedule(platform, transfers);
    hop_simulate_options options = {};
    options.detail = HOP_DETAIL_ENDS;
    std::printf(
        "\none evaluation of the 24 sends of a 2 x 2 x 2 halo exchange on t2: medians over %u pairs of batches\n",
        Pairs);
    stay_on_one_processor();
    std::printf("  %-8s %-22s %12s %12s %9s %9s\n", "model", "rates", "SimGrid us", "hopcast us", "ratio", "target");
    for (const char *model : {"pcie", "credit", "fair"}) {
        for (bool remember : {false, true}) {
            hop_network *network;
            hop_simulation *simulation;
            double makespan_s;
            must(hop_network_create(platform.topology, model, &network, &diag), diag);
            if (!remember)
                hop_network_remember(network, 0);
            must(hop_simulation_create(network, schedule, &options, &simulation, &diag), diag);
            auto ours = [&] { must(hop_simulation_run(simulation, &makespan_s, &diag), diag); };
            auto theirs = [&] { run_simgrid(platform, transfers, ends); };
            const unsigned our_repeats = repeats_for(ours), their_repeats = repeats_for(theirs);
            std::vector<double> our_times, their_times, ratios;
            for (unsigned pair = 0; pair < Pairs; pair++) {
                if (pair % 2) /* each side goes first in turn */
                    our_times.push_back(time_batch(ours, our_repeats));
                their_times.push_back(time_batch(theirs, their_repeats));
                if (pair % 2 == 0)
                    our_times.push_back(time_batch(ours, our_repeats));
                ratios.push_back(their_times.back() / our_times.back());
            }
            const double ratio = median(ratios), target = remember ? 100 : 5;
            std::printf("  %-8s %-22s %12.2f %12.3f %8.1fx %8.0fx  %s\n", model,
                        remember ? "remembered" : "nothing remembered", 1e6 * median(their_times),
                        1e6 * median(our_times), ratio, target, ratio >= target ? "held" : "missed");
            hop_simulation_destroy(simulation);
            hop_network_destroy(network);
        }
    }
    hop_schedule_destroy(schedule);
}

} // namespace

int main(int argc, char **argv)
{
    xbt_log_control_set("xbt_cfg.threshold:warning"); /* it reports every setting */
    s4u::Engine engine(&argc, argv);
    for (const char *setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                                "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0"})
        s4u::Engine::set_config(setting);
    const unsigned cases = argc > 1 ? (unsigned)std::strtoul(argv[1], nullptr, 10) : 1000;

    std::mt19937_64 random(2016);
    s4u::NetZone *zone = s4u::create_full_zone("all");
    std::vector<Platform> platforms;
    for (const char *name : {"t1", "t2", "cs-storm"})
        platforms.push_back(build(load(name), zone, (unsigned)platforms.size()));
    for (unsigned i = 0; i < RandomTrees; i++)
        platforms.push_back(build(random_tree(i, random), zone, (unsigned)platforms.size()));
    zone->seal();

    bool agreed = false;
    s4u::Actor::create("bench", platforms[1].hosts.begin()->second, [&] {
        agreed = compare(platforms, cases);
        race(platforms[1]);
    });
    engine.run();
    for (Platform &platform : platforms)
        hop_topology_destroy(platform.topology);
    return agreed ? EXIT_SUCCESS : EXIT_FAILURE;
}
