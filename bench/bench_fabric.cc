/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many flows on a fabric: 1,024 hosts, 32 leaves, 32 spines, one core, beside SimGrid 3.32 where it is there.
 *
 *     bench_fabric [SECONDS]      SimGrid's time limit for a case, default 120
 *
 * Random flows start together, with equal or random sizes, with full bisection and 4:1 oversubscribed; 1,000 and 10,000 of them
 * on both sides, whose completion times must agree to 1e-6; 100,000 and a ring allreduce of 1,024 ranks
 * (2,095,104 transfers) here alone. Our time is that of preparing and running the simulation, routes included; SimGrid's that from the first
 * start to the last end, its routes made before. Each SimGrid case is a process of its own. A disagreement is a failure, a missed
 * target of time is printed.
 */
#include <hopcast/hopcast.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <utility>
#include <unistd.h>
#include <vector>

#ifdef BENCH_HAVE_SIMGRID
#include <simgrid/s4u.hpp>
#include <xbt/log.h>
namespace s4u = simgrid::s4u;
#endif

namespace
{

constexpr unsigned Hosts = 1024;
constexpr double AgreeWithin = 1e-6;

double seconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_gigabytes()
{
    rusage use;
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_maxrss) * 1024 / 1e9;
}

void must(enum hop_status status, const hop_diag &diag)
{
    if (status == HOP_OK)
        return;
    std::fprintf(stderr, "bench_fabric: %s: %s (%s)\n", diag.place, diag.what, diag.expected);
    std::exit(2);
}

struct Flow {
    unsigned from, to;
    uint64_t bytes;
};

std::string host(unsigned number)
{
    return "node" + std::to_string(number);
}

std::vector<Flow> random_flows(unsigned count, bool equal)
{
    std::mt19937_64 random(count + equal);
    std::vector<Flow> flows;
    while (flows.size() < count) {
        unsigned from = static_cast<unsigned>(random() % Hosts), to = static_cast<unsigned>(random() % Hosts);
        if (from != to)
            flows.push_back({from, to, equal ? 10000000 : 1000000 + random() % 19000000});
    }
    return flows;
}

hop_topology *load(bool oversubscribed, double slack = 0)
{
    hop_diag diag;
    hop_topology *topology;
    std::string name = "fat-tree:leaves=32,spines=32,hosts=32";
    if (oversubscribed)
        name += ",oversubscription=4";
    must(hop_topology_load(name.c_str(), &topology, &diag), diag);
    if (slack > 0)
        must(hop_topology_set_parameter(topology, "fair_slack", slack, "bench_fabric", NAN, &diag), diag);
    return topology;
}

/* ---- ours ---- */

double predict(const hop_topology *topology, const hop_schedule *schedule, std::vector<double> &ends)
{
    hop_diag diag;
    hop_network *network;
    hop_simulation *simulation;
    hop_simulate_options options = {};
    double makespan_s;
    options.detail = HOP_DETAIL_ENDS;
    double start = seconds();
    must(hop_network_create(topology, "fair", &network, &diag), diag);
    must(hop_simulation_create(network, schedule, &options, &simulation, &diag), diag);
    must(hop_simulation_run(simulation, &makespan_s, &diag), diag);
    double took = seconds() - start;
    const hop_timeline *timeline = hop_simulation_timeline(simulation);
    ends.resize(hop_schedule_count(schedule));
    for (uint32_t i = 0; i < ends.size(); i++)
        ends[i] = hop_timeline_span(timeline, i).end_s;
    hop_simulation_destroy(simulation);
    hop_network_destroy(network);
    return took;
}

double predict_flows(const hop_topology *topology, const std::vector<Flow> &flows, std::vector<double> &ends)
{
    hop_diag diag;
    hop_schedule *schedule = hop_schedule_create("flows");
    for (const Flow &f : flows)
        hop_schedule_copy(schedule, host(f.from).c_str(), host(f.to).c_str(), f.bytes, nullptr, 0);
    must(hop_schedule_finish(schedule, &schedule, &diag), diag);
    double took = predict(topology, schedule, ends);
    hop_schedule_destroy(schedule);
    return took;
}

/* ---- SimGrid's ---- */

#ifdef BENCH_HAVE_SIMGRID
void run_simgrid(const hop_topology *topology, const std::vector<Flow> &flows, int out)
{
    int argc = 1;
    char name[] = "bench_fabric", *argv[] = {name, nullptr};
    xbt_log_control_set("xbt_cfg.threshold:warning");
    s4u::Engine engine(&argc, argv);
    for (const char *setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                                "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0"})
        s4u::Engine::set_config(setting);
    s4u::NetZone *zone = s4u::create_full_zone("fabric");
    std::vector<const s4u::Link *> links;
    for (uint32_t d = 0; d < 2 * hop_topology_link_count(topology); d++) {
        double capacity = hop_topology_link(topology, d / 2)->capacity_Bps[d % 2];
        links.push_back(zone->create_link("link" + std::to_string(d), capacity)->set_latency(0)->seal());
    }
    std::vector<s4u::Host *> hosts;
    for (unsigned h = 0; h < Hosts; h++)
        hosts.push_back(zone->create_host(host(h), 1e9)->seal());
    hop_diag diag;
    hop_router *router = hop_router_create(topology);
    std::map<std::pair<unsigned, unsigned>, bool> known;
    for (const Flow &f : flows) {
        uint32_t index;
        if (std::exchange(known[{f.from, f.to}], true))
            continue;
        must(hop_router_find(router, hop_topology_find(topology, host(f.from).c_str()),
                             hop_topology_find(topology, host(f.to).c_str()), &index, &diag),
             diag);
        const hop_route *route = hop_router_route(router, index);
        std::vector<s4u::LinkInRoute> way;
        for (uint32_t i = 0; i < route->link_count; i++)
            way.emplace_back(links[route->links[i]]);
        zone->add_route(hosts[f.from]->get_netpoint(), hosts[f.to]->get_netpoint(), nullptr, nullptr, way, false);
    }
    zone->seal();
    std::vector<double> answer(flows.size() + 1);
    s4u::Actor::create("all", hosts[0], [&]() {
        std::vector<s4u::CommPtr> comms;
        double start = seconds();
        for (const Flow &f : flows)
            comms.push_back(s4u::Comm::sendto_async(hosts[f.from], hosts[f.to], f.bytes));
        s4u::Comm::wait_all(comms);
        answer[0] = seconds() - start;
        for (size_t i = 0; i < flows.size(); i++)
            answer[i + 1] = comms[i]->get_finish_time();
    });
    engine.run();
    const char *bytes = reinterpret_cast<const char *>(answer.data());
    for (size_t left = answer.size() * sizeof(double); left > 0;) {
        ssize_t wrote = write(out, bytes, left);
        if (wrote <= 0)
            _exit(1);
        bytes += wrote;
        left -= static_cast<size_t>(wrote);
    }
}
#endif

/* Seconds, or a negative number when it did not end in time. */
double ask_simgrid(const hop_topology *topology, const std::vector<Flow> &flows, double limit, std::vector<double> &ends)
{
#ifdef BENCH_HAVE_SIMGRID
    int pipes[2];
    if (pipe(pipes) != 0)
        return -1;
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(pipes[0]);
        rlimit cpu = {static_cast<rlim_t>(limit) + 1, static_cast<rlim_t>(limit) + 2};
        setrlimit(RLIMIT_CPU, &cpu);
        run_simgrid(topology, flows, pipes[1]);
        _exit(0);
    }
    close(pipes[1]);
    std::vector<double> answer(flows.size() + 1);
    size_t got = 0, all = answer.size() * sizeof(double);
    for (ssize_t n; got < all; got += static_cast<size_t>(n)) {
        n = read(pipes[0], reinterpret_cast<char *>(answer.data()) + got, all - got);
        if (n <= 0)
            break;
    }
    close(pipes[0]);
    waitpid(child, nullptr, 0);
    if (got < all)
        return -1;
    ends.assign(answer.begin() + 1, answer.end());
    return answer[0];
#else
    (void)topology, (void)flows, (void)limit, (void)ends;
    return -1;
#endif
}

/* ---- cases ---- */

bool compare(bool oversubscribed, bool equal, unsigned count, double limit)
{
    hop_topology *topology = load(oversubscribed);
    std::vector<Flow> flows = random_flows(count, equal);
    std::vector<double> ours, theirs;
    double took = predict_flows(topology, flows, ours), beside = ask_simgrid(topology, flows, limit, theirs), worst = 0;
    for (size_t i = 0; beside >= 0 && i < flows.size(); i++)
        worst = std::max(worst, std::fabs(ours[i] - theirs[i]) / theirs[i]);
    bool agree = worst <= AgreeWithin;
    std::printf("  %-6s %-7s %8u %10.4f ", oversubscribed ? "4:1" : "1:1", equal ? "equal" : "random", count, took);
    if (beside >= 0) {
        std::printf("%10.3f %8.0fx  %8.1e%s", beside, beside / took, worst, agree ? "" : "  DISAGREE");
        if (count == 10000 && !equal)
            std::printf("  target 50x: %s", beside / took >= 50 ? "held" : "missed");
    } else {
        std::printf("%10s", "-");
    }
    std::printf("\n");
    std::fflush(stdout);
    hop_topology_destroy(topology);
    return agree;
}

void alone(bool oversubscribed, unsigned count)
{
    hop_topology *topology = load(oversubscribed);
    std::vector<double> ends;
    double took = predict_flows(topology, random_flows(count, false), ends);
    std::printf("  %-6s %-7s %8u %10.4f  target 60 s and 4 GB: %s (%.2f GB so far)\n", oversubscribed ? "4:1" : "1:1",
                "random", count, took, took < 60 && peak_gigabytes() < 4 ? "held" : "missed", peak_gigabytes());
    std::fflush(stdout);
    hop_topology_destroy(topology);
}

/* Where an event reaches nearly all flows, rates that would move by less than this share of them stay. */
constexpr double Slack = 3e-4;

/* What the slack costs where the exact answer is at hand. */
void slack_costs(unsigned count)
{
    hop_topology *exact = load(false), *slack = load(false, Slack);
    std::vector<Flow> flows = random_flows(count, false);
    std::vector<double> ends, others;
    double took = predict_flows(exact, flows, ends), quick = predict_flows(slack, flows, others), worst = 0, mean = 0;
    for (size_t i = 0; i < flows.size(); i++) {
        double error = std::fabs(others[i] - ends[i]) / ends[i];
        worst = std::max(worst, error);
        mean += error / static_cast<double>(flows.size());
    }
    std::printf("  fair_slack %g with %u random flows: %.1f times as fast as without, ends differ by %.1e at most, %.1e on "
                "average\n",
                Slack, count, took / quick, worst, mean);
    std::fflush(stdout);
    hop_topology_destroy(exact);
    hop_topology_destroy(slack);
}

/* Of a part that goes on round by round, to the next rank each: the last one waits for that which crosses leaves most often, from the
 * last host of a leaf on. */
double latencies(const hop_topology *topology, unsigned rounds)
{
    hop_diag diag;
    double sum_s = 0;
    hop_router *router = hop_router_create(topology);
    for (unsigned k = 0; k < rounds; k++) {
        uint32_t index, from = hop_topology_find(topology, host((31 + k) % Hosts).c_str()),
                        to = hop_topology_find(topology, host((32 + k) % Hosts).c_str());
        must(hop_router_find(router, from, to, &index, &diag), diag);
        sum_s += hop_router_route(router, index)->latency_s;
    }
    hop_router_destroy(router);
    return sum_s;
}

/* 2 (n - 1) rounds, every rank sends a part of the vector to the next and waits for what came in the round before. */
bool ring()
{
    hop_diag diag;
    hop_topology *topology = load(false);
    std::vector<std::string> names;
    std::vector<const char *> devices;
    for (unsigned h = 0; h < Hosts; h++)
        names.push_back(host(h));
    for (const std::string &name : names)
        devices.push_back(name.c_str());
    hop_ranks ranks = {devices.data(), Hosts};
    hop_schedule *schedule;
    const uint64_t part = 1 << 20;
    double start = seconds();
    must(hop_make_ring(&ranks, 2 * (Hosts - 1), part, &schedule, &diag), diag);
    double made = seconds() - start;
    std::vector<double> ends;
    double took = predict(topology, schedule, ends), capacity = hop_topology_link(topology, 0)->capacity_Bps[0];
    double expected = 2.0 * (Hosts - 1) * static_cast<double>(part) / capacity + latencies(topology, 2 * (Hosts - 1));
    double makespan = *std::max_element(ends.begin(), ends.end());
    bool right = std::fabs(makespan - expected) <= 1e-9 * expected;
    std::printf("  ring allreduce, %u ranks: %u transfers, made in %.2f s, predicted in %.2f s, %.2f GB; target 60 s and 4 GB: %s; "
                "closed form %s\n",
                Hosts, hop_schedule_count(schedule), made, took, peak_gigabytes(),
                made + took < 60 && peak_gigabytes() < 4 ? "held" : "missed", right ? "agrees" : "DISAGREES");
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    double limit = argc > 1 ? std::atof(argv[1]) : 120;
    bool fine = true;
    std::printf("flows on a fat tree of 1,024 hosts (32 leaves, 32 spines), model fair; seconds\n");
    std::printf("  %-6s %-7s %8s %10s %10s %9s  %s\n", "tree", "sizes", "flows", "hopcast", "SimGrid", "ratio", "disagreement");
    for (unsigned count : {1000u, 10000u}) {
        for (bool oversubscribed : {false, true}) {
            for (bool equal : {true, false})
                fine = compare(oversubscribed, equal, count, limit) && fine;
        }
    }
    slack_costs(20000);
    alone(false, 100000);
    alone(true, 100000);
    fine = ring() && fine;
    return fine ? 0 : 1;
}
