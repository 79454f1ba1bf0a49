/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast topology: show, convert, check. */
#include <math.h>
#include <string.h>

#include "options_shared.h"
#include "topology.h"

static void list_machines(void)
{
    const char *name, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++)
        printf("%-18s %s\n", name, summary);
    printf("\ngenerated fabrics, all with link=RATE, latency=TIME and kind=infiniband or ethernet:\n"
           "star:HOSTS                              one switch\n"
           "fat-tree:leaves=L,spines=S,hosts=H      two levels, H hosts a leaf; also up=N or oversubscription=F\n"
           "fat-tree:radix=R,levels=2 or 3          of switches of R ports, half of them upwards\n"
           "dragonfly:groups=G,routers=A,hosts=P    P hosts a router, one link between two groups; also global=H\n"
           "torus:XxYxZ                             a host at every position; also twist=K, host=RATE\n"
           "apenet:XxYxZ                            a torus of APEnet+ cards: version=1|2|3, window=SIZE, "
           "gpu=fermi|kepler,\n"
           "                                        access=p2p|bar1, read=RATE, buffers=N, test=flush|loopback\n");
}

/* Links whose directions carry something else while both are full. */
static void print_two_way(const struct hop_topology *topology)
{
    bool header = false;
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        if (link->duplex_Bps[0] == link->capacity_Bps[0] && link->duplex_Bps[1] == link->capacity_Bps[1])
            continue;
        if (!header)
            printf("\n%-32s %-10s %12s %12s\n", "both ways full (model server)", "kind", "-> GB/s", "<- GB/s");
        header = true;
        printf("%-32s %-10s %12.4f %12.4f\n", LINK(topology, 2 * i), hop_link_kind_name(link->kind),
               link->duplex_Bps[0] / 1e9, link->duplex_Bps[1] / 1e9);
    }
}

static void print_engines(const char *what, int engines)
{
    if (engines == HOP_ENGINES_UNLIMITED)
        printf(" %s unlimited", what);
    else if (engines != HOP_ENGINES_DEFAULT)
        printf(" %s %d", what, engines);
}

static void print_nodes(const struct hop_topology *topology)
{
    bool header = false;
    for (uint32_t i = 0; i < hop_topology_node_count(topology); i++) {
        const struct hop_node *node = hop_topology_node(topology, i);
        if (node->engines == HOP_ENGINES_DEFAULT && node->accelerator_engines == HOP_ENGINES_DEFAULT &&
            isnan(node->tau))
            continue;
        if (!header)
            printf("\n%-32s %s\n", "node", "set");
        header = true;
        printf("%-32s", node->name);
        print_engines("engines", node->engines);
        print_engines("accelerator_engines", node->accelerator_engines);
        if (!isnan(node->tau))
            printf(" tau %g", node->tau);
        printf("\n");
    }
}

/* Pairs of root complexes with a loss of their own. */
static void print_crossings(const struct hop_topology *topology)
{
    uint32_t roots[2];
    double tau;
    for (uint32_t i = 0; hop_topology_crossing(topology, i, roots, &tau); i++) {
        char name[160];
        if (i == 0)
            printf("\n%-32s %s\n", "between root complexes", "tau");
        (void)snprintf(name, sizeof name, "%s--%s", hop_topology_node(topology, roots[0])->name,
                       hop_topology_node(topology, roots[1])->name);
        printf("%-32s %g\n", name, tau);
    }
}

static void print_links(const struct hop_topology *topology)
{
    static const struct tool_column columns[] = {{"link", -31, 0},   {"kind", -10, 4},      {"-> GB/s", 12, 0},
                                                 {"<- GB/s", 12, 0}, {"latency us", 12, 3}, {"origin", 0, 2}};
    struct tool_table table;
    if (hop_topology_link_count(topology) == 0)
        return;
    printf("\n");
    tool_table_begin(&table, stdout, columns, HOP_COUNT(columns));
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        tool_table_row(&table, "%s\t%s\t%.4f\t%.4f\t%.3f\t%s", LINK(topology, 2 * i), hop_link_kind_name(link->kind),
                       link->capacity_Bps[0] / 1e9, link->capacity_Bps[1] / 1e9, link->latency_s * 1e6, link->origin);
    }
    tool_table_end(&table);
}

static void print_parameters(const struct hop_topology *topology)
{
    static const struct tool_column columns[] = {
        {"parameter", -23, 0}, {"value", -13, 0}, {"unit", -4, 0}, {"origin", 0, 1}};
    struct tool_table table;
    tool_table_begin(&table, stdout, columns, HOP_COUNT(columns));
    const struct hop_parameter *p;
    for (size_t i = 0; (p = hop_topology_parameter_at(topology, i)); i++) {
        bool rate = strcmp(p->unit, "B/s") == 0;
        bool none = rate && p->value >= 1e18, bare = strcmp(p->unit, "1") == 0;
        const char *unit = rate ? "GB/s" : p->unit, *spread = "", *range = "";
        if (!isnan(p->uncertainty))
            spread = tool_text(" (+- %g %s)", p->uncertainty, p->unit);
        if (p->low < p->high)
            range = tool_text(" (%.4g to %.4g%s%s)", rate ? p->low / 1e9 : p->low, rate ? p->high / 1e9 : p->high,
                              bare ? "" : " ", bare ? "" : unit);
        tool_table_row(&table, "%s\t%s\t%s\t%s%s%s", p->name,
                       none ? "none" : tool_text("%.10g", rate ? p->value / 1e9 : p->value), none ? "" : unit,
                       p->origin, spread, range);
    }
    tool_table_end(&table);
    print_links(topology);
    print_two_way(topology);
    print_nodes(topology);
    print_crossings(topology);
}

/* ---- the command ---- */

enum format { TREE, JSON, DOT, SVG };

struct request {
    struct tool_given given;
    struct tool_words sources, sets; /* a source, and with --route two devices */
    const char *output, *routes, *measurements;
    enum format format;
    bool list, json, parameters, route, lint;
    enum deadlock { DEADLOCK_UNASKED, DEADLOCK_DATELINE, DEADLOCK_BUBBLE, DEADLOCK_NONE } deadlock;
};

static const struct tool_option table[] = {
    {.kind = OPTION_LIST, .use = USE_INPUT, .argument = "SOURCE", AT(request, sources)},
    FLAG("list", 'l', AT(request, list), "the built-in machines and the generated fabrics",
         .excludes = "format json parameters route lint deadlock output"),
    OPTION("format", 'f', CHOICE, AT(request, format), NULL, "how it is shown (tree)", .choices = "tree json dot svg"),
    SHARED(json, AT(request, json), .help = "the same as --format json"),
    FLAG("parameters", 'p', AT(request, parameters),
         "every parameter and link with its value, unit and origin; without SOURCE the defaults",
         .excludes = "format json output"),
    SHARED(set, AT(request, sets),
           .help = "change a parameter, a link or a node: tau=0.2, gpu0--switch0.capacity=12GB/s, gpu0.engines=2, "
                   "root0.tau=0.1, gpu0--switch0.duplex=10GB/s (both ways full), gpu0--switch0.latency=1us, "
                   "gpu0.accelerator_engines=1 (over NVLink and the like), root0--root1.tau=0.1"),
    OPTION("routes", 'R', TEXT, AT(request, routes), "FILE",
           "forwarding tables of an ibnetdiscover fabric, as `dump_lfts` or `ibroute` print them"),
    FLAG("route", 'r', AT(request, route),
         "the way between two devices that follow SOURCE (SOURCE --route A B), link by link (with --json for "
         "machines)",
         .excludes = "parameters output"),
    FLAG("lint", 0, AT(request, lint),
         "what is likely wrong or slow, with evidence, effect and advice (docs/lint.md); exit status 1 when a "
         "warning or an error is found",
         .excludes = "route parameters output"),
    OPTION(
        "deadlock", 0, CHOICE, AT(request, deadlock), NULL,
        "whether the packets of its networks can wait for each other's buffers in a circle, where rings of links are "
        "protected by two channels and a dateline, by a bubble, or by nothing (docs/fabrics.md); exit status 1 when "
        "they can",
        .choices = "no dateline bubble none", .excludes = "format json output parameters route lint"),
    OPTION("measurements", 0, TEXT, AT(request, measurements), "FILE",
           "with --lint: measured transfers as CSV, see hopcast compare", .use = USE_INPUT, .needs = "lint"),
    SHARED(gpu, AT(request, given)),
    SHARED(cpu, AT(request, given)),
    SHARED(output, AT(request, output)),
    END_OF_OPTIONS,
};

/* A generated fabric may have more routes than a file. */
static char *to_json(const struct hop_topology *topology)
{
    char *text = hop_topology_to_json(topology);
    uint64_t hosts = 0, switches = 0, most = UINT64_C(1) << 26;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        hosts += hop_topology_node(topology, n)->kind == HOP_NODE_NIC;
        switches += hop_topology_node(topology, n)->kind == HOP_NODE_FABRIC;
    }
    if (!text && hosts * switches > most) {
        hop_fail(&tool_diag, HOP_ERR_LIMIT,
                 "%s has %llu switches and %llu hosts: too many routes for a file\n"
                 "at most %llu, switches times hosts; its name stands for it wherever a topology does",
                 hop_topology_name(topology), (unsigned long long)switches, (unsigned long long)hosts,
                 (unsigned long long)most);
        tool_fail(&tool_diag);
    }
    return text;
}

static char *render(const struct hop_topology *topology, enum format format)
{
    switch (format) {
    case JSON:
        return to_json(topology);
    case DOT:
        return hop_topology_to_dot(topology);
    default:
        return hop_topology_to_svg(topology);
    }
}

static void check(const struct request *r)
{
    uint32_t words = r->sources.count;
    if ((r->route || r->lint) && r->format != TREE && r->format != JSON)
        tool_bad_usage(&tool_topology, "%s, as text or with --json",
                       r->route ? "--route prints a way" : "--lint prints findings");
    if (r->route && words != 3)
        tool_bad_usage(&tool_topology, "--route takes a source and two devices: SOURCE --route A B");
    if (!r->route && words > 1)
        tool_bad_usage(&tool_topology, "one source at a time");
    if (words && r->list)
        tool_bad_usage(&tool_topology, "'%.80s' is too much: --list lists what there is", r->sources.at[0]);
    if (!words && !r->parameters && !r->list)
        tool_bad_usage(&tool_topology, "a source is missing (a built-in name, a file, live or -)");
    if (!words && r->sets.count > 0)
        tool_bad_usage(&tool_topology, "--set %.80s needs a source", r->sets.at[0]);
    if (!words && (r->routes || tool_beside.gpu || tool_beside.cpu))
        tool_bad_usage(&tool_topology, "%s needs a source",
                       r->routes         ? "--routes"
                       : tool_beside.gpu ? "--gpu"
                                         : "--cpu");
}

static int run(int argc, char **argv)
{
    static struct request r;
    tool_read(&tool_topology, argc, argv, &r);
    if (r.json)
        r.format = JSON;
    check(&r);
    if (r.list) {
        list_machines();
        return TOOL_OK;
    }
    const struct hop_topology *topology =
        r.sources.count ? tool_load_routed(r.sources.at[0], r.routes, &r.sets)
                        : tool_have(hop_topology_create("defaults")); /* what holds unless a machine says otherwise */
    if (hop_topology_models(topology))
        (void)tool_network(topology, NULL); /* whether there are such models */
    if (r.route)
        return topology_print_route(topology, r.sources.at[1], r.sources.at[2], r.format == JSON);
    if (r.lint)
        return topology_print_lint(topology, r.measurements, r.format == JSON);
    if (r.deadlock)
        return topology_print_circle(topology, (enum hop_ring_protection)(r.deadlock - DEADLOCK_DATELINE));
    if (r.parameters)
        print_parameters(topology);
    else if (r.format == TREE)
        tool_show_text(r.output, hop_topology_to_tree(topology));
    else
        tool_write_text(r.output, render(topology, r.format));
    return TOOL_OK;
}

const struct tool_command tool_topology = {
    .name = "topology",
    .summary = "show a machine, or convert its description",
    .usage = "SOURCE [OPTION ...]",
    .about = "SOURCE is a built-in machine's name or a fabric such as star:16 (--list), `live` for this machine, - for "
             "standard\n"
             "input, or a file: topology JSON, a cluster file, NCCL or RCCL topology XML, hwloc XML, or the output of\n"
             "`nvidia-smi topo -m`, `rocm-smi --showtopo`, `ibnetdiscover` or p2pBandwidthLatencyTest.\n"
             "\n",
    .options = table,
    .notes = "example: hopcast topology dgx-a100 --format svg -o dgx.svg\n"
             "         hopcast topology fabric.txt --routes fabric.lfts --route node00 node13\n"
             "         hopcast topology live --lint\n",
    .run = run,
};
