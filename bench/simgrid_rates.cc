/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What SimGrid 3.32 expects of measured transfers, on the topologies of the library.
 *
 *     simgrid_rates MEASUREMENTS TOPOLOGY [--set ASSIGNMENT] ... [--name NAME=DEVICE] ... [-o FILE]
 *     hopcast compare MEASUREMENTS FILE
 *
 * Groups, routes and capacities are those of `hopcast compare MEASUREMENTS --on TOPOLOGY`, given to SimGrid's network
 * model CM02 with its TCP corrections off: max-min over link directions, so that a lone copy gets what its narrowest
 * link carries. The output has the rows of the input; measured_s is what the printed value of each would stand for.
 *
 *     link        two SimGrid links, one a direction; a ceiling is a fat pipe on the route, it limits each copy alone
 *     copy        an actor: waits for its start, those before it and its source engine, then for latency and bytes
 *     engine      a GPU sends one copy at a time over PCIe, in the order of the rows; not in pulled groups or traces
 *     pulled      one copy after the other into each device
 *     in turn     the same, each row repeated
 *     staged      one flow over both ways, to host memory and from it
 *     value       own time, the mean rate of the group, or the rate of all bytes until the last end
 *
 * What SimGrid has no notion of is left out: losses at root complexes, two-way capacities, head-of-line blocking.
 * A SimGrid process has one engine: the groups run in it one after the other.
 */
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include <hopcast/compare.h>
#include <hopcast/measurements.h>
#include <hopcast/topology.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace s4u = simgrid::s4u;

namespace
{

constexpr uint32_t Turns = 4;                           /* of every row whose copies took turns */
constexpr size_t OptionsMax = 256;                      /* of each kind */
constexpr size_t DevicesMax = 4096;                     /* SimGrid's table of routes is their square */
constexpr double ReadableFrom = 1e-9, ReadableTo = 1e9; /* seconds that measurements may have; others are left empty */
constexpr uint32_t CopiesMax = 1u << 16;                /* of a group, an actor each */

[[noreturn]] void fail(const std::string &place, const std::string &what, const std::string &expected)
{
    std::fprintf(stderr, "simgrid_rates: %s%s%s%s%s%s\n", place.c_str(), place.empty() ? "" : ": ", what.c_str(),
                 expected.empty() ? "" : " (expected: ", expected.c_str(), expected.empty() ? "" : ")");
    std::exit(2);
}

void must(enum hop_status status, const hop_diag &diag, const std::string &place = "")
{
    if (status != HOP_OK)
        fail(place.empty() ? diag.place : place, diag.what, diag.expected);
}

/* ---- what to do ---- */

struct Request {
    std::vector<const char *> sources; /* measurements, topology */
    std::vector<const char *> sets;
    std::map<std::string, std::string> devices; /* by names in the measurements */
    const char *output = nullptr;
};

Request read_arguments(int argc, char **argv)
{
    Request request;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        if (argument != "-o" && argument != "--set" && argument != "--name") {
            request.sources.push_back(argv[i]);
            continue;
        }
        if (++i == argc)
            fail("", argument + " stands last", "its value");
        const char *equals = std::strchr(argv[i], '=');
        if (argument == "-o")
            request.output = argv[i];
        else if (argument == "--set")
            request.sets.push_back(argv[i]);
        else if (equals)
            request.devices[std::string(argv[i], (size_t)(equals - argv[i]))] = equals + 1;
        else
            fail("", "'" + std::string(argv[i]) + "' has no '='", "--name NAME=DEVICE");
    }
    if (request.sources.size() != 2)
        fail("", std::to_string(request.sources.size()) + " files", "MEASUREMENTS TOPOLOGY");
    if (request.sets.size() > OptionsMax || request.devices.size() > OptionsMax)
        fail("", "too many options", "at most " + std::to_string(OptionsMax) + " of a kind");
    return request;
}

struct Input {
    const Request &request;
    hop_measurements *measurements = nullptr;
    hop_topology *topology = nullptr;
    hop_router *router = nullptr;

    explicit Input(const Request &asked) : request(asked)
    {
        hop_diag diag;
        must(hop_measurements_load(asked.sources[0], &measurements, &diag), diag);
        must(hop_topology_load(asked.sources[1], &topology, &diag), diag);
        for (const char *set : asked.sets)
            must(hop_topology_set(topology, set, &diag), diag);
        router = hop_router_create(topology);
        if (!router)
            fail("", "out of memory", "");
    }
    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;
    ~Input()
    {
        hop_router_destroy(router);
        hop_topology_destroy(topology);
        hop_measurements_destroy(measurements);
    }

    const hop_measurement &row(uint32_t index) const
    {
        return *hop_measurements_at(measurements, index);
    }
    std::string place(const hop_measurement &of, uint32_t column) const
    {
        return std::string(hop_measurements_name(measurements)) + ":" + std::to_string(of.line) + ":" +
               std::to_string(column);
    }
};

uint64_t bytes_of(const hop_measurement &row)
{
    return row.bytes ? row.bytes : HOP_COMPARE_BYTES;
}

/* ---- devices and routes ---- */

uint32_t find_node(const Input &input, const std::string &name)
{
    auto renamed = input.request.devices.find(name);
    uint32_t node = hop_topology_find(input.topology,
                                      renamed == input.request.devices.end() ? name.c_str() : renamed->second.c_str());
    return node != HOP_NONE && hop_node_is_device(hop_topology_node(input.topology, node)->kind) ? node : HOP_NONE;
}

uint32_t nearest_host(const Input &input, const hop_measurement &row, uint32_t device)
{
    hop_diag diag = {};
    uint32_t host = HOP_NONE;
    if (hop_topology_nearest_host(input.topology, device, &host, &diag) != HOP_OK)
        fail(input.place(row, row.from_column), diag.what, diag.expected);
    return host;
}

/* Host memory of which it is not said where is that nearest to the other end. */
uint32_t find_device(const Input &input, const hop_measurement &row, const char *name, const char *other,
                     uint32_t column)
{
    const std::string device = name;
    uint32_t node = find_node(input, device);
    if (node == HOP_NONE && (device == "host" || device == "host-local" || device == "host-interleaved")) {
        uint32_t end = find_node(input, other);
        node = end == HOP_NONE ? HOP_NONE : nearest_host(input, row, end);
    }
    if (node == HOP_NONE)
        fail(input.place(row, column), "there is no device '" + device + "' in the topology",
             "--name " + device + "=DEVICE");
    return node;
}

const hop_route &find_route(const Input &input, const hop_measurement &row, uint32_t from, uint32_t to)
{
    hop_diag diag;
    uint32_t index;
    must(hop_router_find(input.router, from, to, &index, &diag), diag, input.place(row, row.to_column));
    return *hop_router_route(input.router, index);
}

/* Whether an accelerator link joins the two, by itself or through switches. */
bool joined(const Input &input, uint32_t from, uint32_t to)
{
    uint32_t index;
    if (hop_router_find(input.router, from, to, &index, nullptr) != HOP_OK)
        return false;
    const uint32_t first = hop_router_route(input.router, index)->links[0] / 2;
    const enum hop_link_kind kind = hop_topology_link(input.topology, first)->kind;
    return kind == HOP_LINK_NVLINK || kind == HOP_LINK_XGMI || kind == HOP_LINK_C2C;
}

/* One or two routes, as SimGrid knows them. */
struct Way {
    s4u::Host *from, *to;
    uint32_t source;
    double latency_s;
    bool over_pcie;
};

class Platform
{
  public:
    explicit Platform(const Input &given) : input(given), zone(s4u::create_full_zone("all"))
    {
        for (uint32_t d = 0; d < 2 * hop_topology_link_count(input.topology); d++) {
            double capacity = hop_topology_link(input.topology, d / 2)->capacity_Bps[d % 2];
            links.push_back(zone->create_link("link" + std::to_string(d), capacity)->set_latency(0)->seal());
        }
    }

    const Way *way_of(const hop_measurement &row)
    {
        const uint32_t from = find_device(input, row, row.from, row.to, row.from_column),
                       to = find_device(input, row, row.to, row.from, row.to_column);
        uint32_t middle = HOP_NONE;
        if (row.way == HOP_WAY_STAGED || (row.way == HOP_WAY_STAGED_UNLESS_JOINED && !joined(input, from, to)))
            middle = nearest_host(input, row, from);
        if (middle == from || middle == to)
            middle = HOP_NONE;
        auto [known, added] = ways.try_emplace({from, to, middle != HOP_NONE});
        if (added)
            known->second = make(row, from, to, middle);
        return &known->second;
    }

    void seal()
    {
        zone->seal();
    }

  private:
    /* Staged copies arrive at another SimGrid host, so that they have routes of their own. */
    s4u::Host *host_of(uint32_t node, bool staged)
    {
        auto [known, added] = hosts.try_emplace({node, staged});
        if (hosts.size() > DevicesMax)
            fail("", "too many devices", "at most " + std::to_string(DevicesMax));
        if (added)
            known->second =
                zone->create_host(hop_topology_node(input.topology, node)->name + std::string(staged ? ":staged" : ""),
                                  1e9)
                    ->seal();
        return known->second;
    }

    Way make(const hop_measurement &row, uint32_t from, uint32_t to, uint32_t middle)
    {
        const bool staged = middle != HOP_NONE;
        std::vector<s4u::LinkInRoute> along;
        double ceiling_Bps = INFINITY, latency_s = 0;
        bool over_pcie = false;
        auto add = [&](uint32_t start, uint32_t end) {
            const hop_route &route = find_route(input, row, start, end);
            for (uint32_t i = 0; i < route.link_count; i++)
                along.emplace_back(links[route.links[i]]);
            if (start == from)
                over_pcie = hop_topology_link(input.topology, route.links[0] / 2)->kind == HOP_LINK_PCIE;
            ceiling_Bps = std::min(ceiling_Bps, route.ceiling_Bps);
            latency_s += route.latency_s;
        };
        add(from, staged ? middle : to);
        if (staged)
            add(middle, to);
        if (std::isfinite(ceiling_Bps)) {
            along.emplace_back(zone->create_link("ceiling" + std::to_string(ways.size()), ceiling_Bps)
                                   ->set_latency(0)
                                   ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
                                   ->seal());
        }
        s4u::Host *sender = host_of(from, false), *receiver = host_of(to, staged);
        zone->add_route(sender->get_netpoint(), receiver->get_netpoint(), nullptr, nullptr, along, false);
        return {sender, receiver, from, latency_s, over_pcie};
    }

    const Input &input;
    s4u::NetZone *zone;
    std::vector<const s4u::Link *> links; /* by directed link */
    std::map<std::pair<uint32_t, bool>, s4u::Host *> hosts;
    std::map<std::tuple<uint32_t, uint32_t, bool>, Way> ways;
};

/* ---- a group of copies ---- */

struct Copy {
    const Way *way;
    uint64_t bytes;
    double start_s, end_s;            /* after the group's start */
    int64_t after, queued_behind;     /* copies, -1: none */
    s4u::SemaphorePtr engine;         /* NULL: no limit */
    s4u::SemaphorePtr started, ended; /* for the one that waits for it */
};

struct Group {
    hop_measurement_group rows;
    uint32_t repeats = 1;
    std::vector<Copy> copies; /* row by row, then again */
    std::vector<const Way *> ways;
    bool trace = true, pulled = false, in_turn = false;
};

Group read_group(const Input &input, Platform &platform, uint32_t index)
{
    Group group;
    group.rows = hop_measurements_group(input.measurements, index);
    for (uint32_t i = 0; i < group.rows.count; i++) {
        const hop_measurement &row = input.row(group.rows.rows[i]);
        group.trace = group.trace && !std::isnan(row.start_s);
        group.pulled = group.pulled || row.pulled;
        group.in_turn = group.in_turn || row.in_turn;
        group.ways.push_back(platform.way_of(row));
    }
    group.repeats = group.in_turn && !group.trace ? Turns : 1;
    if (group.rows.count > CopiesMax / group.repeats)
        fail(input.place(input.row(group.rows.rows[0]), 1),
             "a group of " + std::to_string(group.rows.count) + " copies", "at most " + std::to_string(CopiesMax));
    return group;
}

/* How many copies a source sends at once, 0: no limit. */
uint32_t engine_limit(const Input &input, const Way &way)
{
    const hop_node *node = hop_topology_node(input.topology, way.source);
    const int given = way.over_pcie ? node->engines : node->accelerator_engines;
    if (given != HOP_ENGINES_DEFAULT)
        return (uint32_t)given;
    return way.over_pcie && (node->kind == HOP_NODE_GPU || node->kind == HOP_NODE_NVME || node->kind == HOP_NODE_FPGA);
}

void plan(const Input &input, Group &group)
{
    std::map<std::string, int64_t> last_into;
    std::map<std::pair<uint32_t, bool>, int64_t> last_of;
    std::map<std::pair<uint32_t, bool>, s4u::SemaphorePtr> engines;
    double first_s = INFINITY;
    for (uint32_t i = 0; group.trace && i < group.rows.count; i++)
        first_s = std::min(first_s, input.row(group.rows.rows[i]).start_s);
    for (uint32_t i = 0; i < group.repeats * group.rows.count; i++) {
        const hop_measurement &row = input.row(group.rows.rows[i % group.rows.count]);
        const Way *way = group.ways[i % group.rows.count];
        Copy copy{way,
                  bytes_of(row),
                  group.trace ? row.start_s - first_s : 0,
                  0,
                  -1,
                  -1,
                  nullptr,
                  s4u::Semaphore::create(0),
                  s4u::Semaphore::create(0)};
        if ((group.in_turn || group.pulled) && !group.trace) {
            auto [last, added] = last_into.try_emplace(row.to, i);
            copy.after = added ? -1 : std::exchange(last->second, i);
        }
        const uint32_t limit = group.trace || group.pulled ? 0 : engine_limit(input, *way);
        if (limit) {
            auto [last, added] = last_of.try_emplace({way->source, way->over_pcie}, i);
            copy.queued_behind = added ? -1 : std::exchange(last->second, i);
            s4u::SemaphorePtr &engine = engines[{way->source, way->over_pcie}];
            if (added)
                engine = s4u::Semaphore::create(limit);
            copy.engine = engine;
        }
        group.copies.push_back(copy);
    }
}

void run_copy(Group &group, Copy &copy, double group_s)
{
    s4u::this_actor::sleep_until(group_s + copy.start_s);
    if (copy.queued_behind >= 0)
        group.copies[copy.queued_behind].started->acquire();
    if (copy.after >= 0)
        group.copies[copy.after].ended->acquire();
    if (copy.engine)
        copy.engine->acquire();
    copy.started->release();
    if (copy.way->latency_s > 0)
        s4u::this_actor::sleep_for(copy.way->latency_s);
    s4u::Comm::sendto(copy.way->from, copy.way->to, copy.bytes);
    copy.end_s = s4u::Engine::get_clock() - group_s;
    copy.ended->release();
    if (copy.engine)
        copy.engine->release();
}

/* The rows' own times become what a value for all of them stands for. */
void share_out(const Input &input, const Group &group, std::vector<double> &times_s)
{
    const enum hop_measured value = input.row(group.rows.rows[0]).value;
    double rates = 0, bytes = 0, last_s = 0;
    if (value == HOP_MEASURED_OWN || group.trace)
        return;
    for (uint32_t i = 0; i < group.rows.count; i++) {
        const double moved = (double)bytes_of(input.row(group.rows.rows[i]));
        rates += moved / times_s[i];
        bytes += moved;
        last_s = std::max(last_s, times_s[i]);
    }
    const double rate_Bps = (value == HOP_MEASURED_MEAN ? rates : bytes / last_s) / group.rows.count;
    for (uint32_t i = 0; i < group.rows.count; i++)
        times_s[i] = (double)bytes_of(input.row(group.rows.rows[i])) / rate_Bps;
}

/* One value a row. */
std::vector<double> run_group(const Input &input, Group &group)
{
    const double group_s = s4u::Engine::get_clock();
    std::vector<s4u::ActorPtr> actors;
    std::vector<double> times_s(group.rows.count, 0.0);
    plan(input, group);
    for (Copy &copy : group.copies)
        actors.push_back(
            s4u::Actor::create("copy", copy.way->from, [&group, &copy, group_s] { run_copy(group, copy, group_s); }));
    for (const s4u::ActorPtr &actor : actors)
        actor->join();
    for (size_t i = 0; i < group.copies.size(); i++) {
        double &time_s = times_s[i % group.rows.count];
        time_s = std::max(time_s, (group.copies[i].end_s - group.copies[i].start_s) / group.repeats);
    }
    share_out(input, group, times_s);
    group.copies.clear();
    return times_s;
}

/* ---- writing ---- */

std::string quoted(const std::string &field)
{
    if (field.find_first_of(",\"\r\n") == std::string::npos)
        return field;
    std::string text = "\"";
    for (char c : field)
        text += c == '"' ? "\"\"" : std::string(1, c);
    return text + "\"";
}

void write_csv(const Input &input, const std::vector<double> &times_s)
{
    const char *path = input.request.output;
    FILE *file = path ? std::fopen(path, "w") : stdout;
    if (!file)
        fail(path, "cannot be written", "");
    std::fprintf(file, "transfer,from,to,bytes,concurrent_group,measured_s\n");
    for (uint32_t i = 0; i < times_s.size(); i++) {
        const hop_measurement &row = input.row(i);
        std::fprintf(file, "%s,%s,%s,%llu,%s,", quoted(row.transfer).c_str(), quoted(row.from).c_str(),
                     quoted(row.to).c_str(), (unsigned long long)bytes_of(row), quoted(row.group).c_str());
        if (times_s[i] >= ReadableFrom && times_s[i] <= ReadableTo)
            std::fprintf(file, "%.12g", times_s[i]);
        std::fprintf(file, "\n");
    }
    const bool written = !std::ferror(file);
    if ((path ? std::fclose(file) : std::fflush(file)) != 0 || !written)
        fail(path ? path : "standard output", "cannot be written", "");
}

} // namespace

int main(int argc, char **argv)
{
    xbt_log_control_set("xbt_cfg.threshold:warning"); /* it reports every setting */
    s4u::Engine engine(&argc, argv);
    for (const char *setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0", "network/bandwidth-factor:1",
          "network/latency-factor:1", "network/weight-S:0", "contexts/stack-size:256"})
        s4u::Engine::set_config(setting);

    const Request request = read_arguments(argc, argv);
    const Input input(request);
    Platform platform(input);
    std::vector<Group> groups;
    for (uint32_t g = 0; g < hop_measurements_group_count(input.measurements); g++)
        groups.push_back(read_group(input, platform, g));
    platform.seal();

    std::vector<double> times_s(hop_measurements_count(input.measurements));
    s4u::Actor::create("all", groups[0].ways[0]->from, [&] {
        for (Group &group : groups) {
            const std::vector<double> of_group = run_group(input, group);
            for (uint32_t i = 0; i < group.rows.count; i++)
                times_s[group.rows.rows[i]] = of_group[i];
        }
    });
    engine.run();
    write_csv(input, times_s);
    return EXIT_SUCCESS;
}
