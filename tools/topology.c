/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast topology: show, convert, check. */
#include "topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SET_LIMIT = 256 };

static int list_machines(void)
{
    const char *name, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++)
        printf("%-18s %s\n", name, summary);
    printf("\ngenerated fabrics, all with link=RATE, latency=TIME and kind=infiniband or ethernet:\n"
           "star:HOSTS                              one switch\n"
           "fat-tree:leaves=L,spines=S,hosts=H      two levels, H hosts a leaf; also up=N or oversubscription=F\n"
           "fat-tree:radix=R,levels=2 or 3          of switches of R ports, half of them upwards\n"
           "dragonfly:groups=G,routers=A,hosts=P    P hosts a router, one link between two groups; also global=H\n"
           "torus:XxYxZ                             a host at every position\n");
    return TOOL_OK;
}

/* Links whose directions carry something else while both are full. */
static void print_two_way(const struct hop_topology *topology)
{
    bool header = false;
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        char name[160];
        if (link->duplex_Bps[0] == link->capacity_Bps[0] && link->duplex_Bps[1] == link->capacity_Bps[1])
            continue;
        if (!header)
            printf("\n%-32s %-10s %12s %12s\n", "both ways full (model server)", "kind", "-> GB/s", "<- GB/s");
        header = true;
        printf("%-32s %-10s %12.4f %12.4f\n", hop_topology_link_name(topology, 2 * i, name, sizeof name),
               hop_link_kind_name(link->kind), link->duplex_Bps[0] / 1e9, link->duplex_Bps[1] / 1e9);
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

static void print_parameters(const struct hop_topology *topology)
{
    printf("%-24s %-14s %-5s %s\n", "parameter", "value", "unit", "origin");
    const struct hop_parameter *p;
    for (size_t i = 0; (p = hop_topology_parameter_at(topology, i)); i++) {
        bool rate = strcmp(p->unit, "B/s") == 0;
        if (rate && p->value >= 1e18)
            printf("%-24s %-14s %-5s %s", p->name, "none", "", p->origin);
        else
            printf("%-24s %-14.10g %-5s %s", p->name, rate ? p->value / 1e9 : p->value, rate ? "GB/s" : p->unit,
                   p->origin);
        if (!isnan(p->uncertainty))
            printf(" (+- %g %s)", p->uncertainty, p->unit);
        printf("\n");
    }
    if (hop_topology_link_count(topology) > 0)
        printf("\n%-32s %-10s %12s %12s %12s  %s\n", "link", "kind", "-> GB/s", "<- GB/s", "latency us", "origin");
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i);
        char name[160];
        printf("%-32s %-10s %12.4f %12.4f %12.3f  %s\n", hop_topology_link_name(topology, 2 * i, name, sizeof name),
               hop_link_kind_name(link->kind), link->capacity_Bps[0] / 1e9, link->capacity_Bps[1] / 1e9,
               link->latency_s * 1e6, link->origin);
    }
    print_two_way(topology);
    print_nodes(topology);
    print_crossings(topology);
}

/* Without a source: what holds for every machine that does not say otherwise. */
static int print_defaults(char *const *sets, int set_count)
{
    if (set_count > 0)
        return tool_bad_usage(&tool_topology, "--set %.80s needs a source", sets[0]);
    struct hop_topology *defaults = hop_topology_create("defaults");
    if (!defaults)
        return tool_out_of_memory();
    print_parameters(defaults);
    hop_topology_destroy(defaults);
    return TOOL_OK;
}

static char *render(const struct hop_topology *topology, const char *format)
{
    if (strcmp(format, "tree") == 0)
        return hop_topology_to_tree(topology);
    if (strcmp(format, "json") == 0)
        return hop_topology_to_json(topology);
    if (strcmp(format, "dot") == 0)
        return hop_topology_to_dot(topology);
    return hop_topology_to_svg(topology);
}

static bool is_format(const char *format)
{
    static const char *const formats[] = {"tree", "json", "dot", "svg"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i], format) == 0)
            return true;
    }
    return false;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"list", no_argument, NULL, 'l'},      {"format", required_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},      {"parameters", no_argument, NULL, 'p'},
        {"set", required_argument, NULL, 's'}, {"output", required_argument, NULL, 'o'},
        {"routes", required_argument, NULL, 'R'}, {"route", no_argument, NULL, 'r'},
        {"lint", no_argument, NULL, 'L'},      {"measurements", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},      {NULL, 0, NULL, 0},
    };
    char *sets[SET_LIMIT];
    int set_count = 0;
    const char *format = NULL, *output = NULL, *routes = NULL, *measurements = NULL;
    bool parameters = false, route = false, lint = false;
    tool_options_begin();
    for (int option; (option = tool_option(&tool_topology, argc, argv, ":f:jps:o:R:rhl", options)) != -1;) {
        switch (option) {
        case 'l':
            return list_machines();
        case 'f':
            format = optarg;
            break;
        case 'j':
            format = "json";
            break;
        case 'p':
            parameters = true;
            break;
        case 's':
            if (set_count == SET_LIMIT)
                return tool_bad_usage(&tool_topology, "more than %d --set", SET_LIMIT);
            sets[set_count++] = optarg;
            break;
        case 'o':
            output = optarg;
            break;
        case 'R':
            routes = optarg;
            break;
        case 'r':
            route = true;
            break;
        case 'L':
            lint = true;
            break;
        case 'm':
            measurements = optarg;
            break;
        case 'h':
            return tool_help(&tool_topology);
        default:
            return TOOL_BAD;
        }
    }
    if (parameters && (format || output))
        return tool_bad_usage(&tool_topology,
                              "--parameters prints a table; --format, --json and --output are without it");
    bool json = format && strcmp(format, "json") == 0;
    if (route && (parameters || output || (format && !json)))
        return tool_bad_usage(&tool_topology, "--route prints a way, as text or with --json");
    if (lint && (route || parameters || output || (format && !json)))
        return tool_bad_usage(&tool_topology, "--lint prints findings, as text or with --json");
    if (measurements && !lint)
        return tool_bad_usage(&tool_topology, "--measurements goes with --lint");
    if (measurements && strcmp(measurements, "-") == 0 && optind < argc && strcmp(argv[optind], "-") == 0)
        return tool_bad_usage(&tool_topology, "standard input (-) is read once: the source or the measurements");
    if (!format)
        format = "tree";
    if (!is_format(format))
        return tool_bad_usage(&tool_topology, "there is no format '%s': tree, json, dot or svg is expected", format);
    if (parameters && argc == optind)
        return print_defaults(sets, set_count);
    if (route && argc - optind != 3)
        return tool_bad_usage(&tool_topology, "--route takes a source and two devices: SOURCE --route A B");
    if (!route && argc - optind != 1)
        return tool_bad_usage(&tool_topology, argc == optind
                                                  ? "a source is missing (a built-in name, a file, live or -)"
                                                  : "one source at a time");
    struct hop_topology *topology;
    int status = tool_load_routed(argv[optind], routes, sets, set_count, &topology);
    if (status != TOOL_OK)
        return status;
    if (route) {
        status = topology_print_route(topology, argv[optind + 1], argv[optind + 2], json);
    } else if (lint) {
        status = topology_print_lint(topology, measurements, json);
    } else if (parameters) {
        print_parameters(topology);
    } else {
        char *text = render(topology, format);
        status = text ? tool_write(output, text) : tool_out_of_memory();
        free(text);
    }
    hop_topology_destroy(topology);
    return status;
}

const struct tool_command tool_topology = {
    .name = "topology",
    .summary = "show a machine, or convert its description",
    .usage = "SOURCE [OPTION ...]",
    .help =
        "SOURCE is a built-in machine's name or a fabric such as star:16 (--list), `live` for this machine, - for standard\n"
        "input, or a file: topology JSON, a cluster file, NCCL or RCCL topology XML, hwloc XML, or the output of\n"
        "`nvidia-smi topo -m`, `rocm-smi --showtopo`, `ibnetdiscover` or p2pBandwidthLatencyTest.\n"
        "\n"
        "  -l, --list              the built-in machines and the generated fabrics\n"
        "  -f, --format FORMAT     tree (default), json, dot or svg\n"
        "  -j, --json              the same as --format json\n"
        "  -p, --parameters        every parameter and link with its value, unit and origin; without SOURCE the "
        "defaults\n"
        "  -s, --set NAME=VALUE    change a parameter, a link or a node; may be repeated:\n"
        "                          tau=0.2, gpu0--switch0.capacity=12GB/s, gpu0.engines=2, root0.tau=0.1,\n"
        "                          gpu0--switch0.duplex=10GB/s (both ways full), gpu0--switch0.latency=1us,\n"
        "                          gpu0.accelerator_engines=1 (over NVLink and the like), root0--root1.tau=0.1\n"
        "  -R, --routes FILE       forwarding tables of an ibnetdiscover fabric, as `dump_lfts` or `ibroute` print them\n"
        "  -r, --route A B         the way from device A to device B, link by link (with --json for machines)\n"
        "      --lint              what is likely wrong or slow, with evidence, effect and advice (docs/lint.md); "
        "exit status\n"
        "                          1 when a warning or an error is found\n"
        "      --measurements FILE with --lint: measured transfers as CSV, see hopcast compare\n"
        "  -o, --output FILE       write there instead of to standard output\n"
        "\n"
        "example: hopcast topology dgx-a100 --format svg -o dgx.svg\n"
        "         hopcast topology fabric.txt --routes fabric.lfts --route node00 node13\n"
        "         hopcast topology live --lint\n",
    .run = run,
};
