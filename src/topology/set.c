/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignments to a finished topology: NAME=VALUE for parameters, links and nodes. */
#include "topology/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

/* The node of a name that is not terminated. */
static uint32_t find_node(const struct hop_topology *topology, const char *name, size_t length)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.*s", (int)length, name);
    return length < sizeof text ? hop_topology_find(topology, text) : HOP_NONE;
}

unsigned hop_topology_find_links(const struct hop_topology *topology, const char *name, size_t length, uint32_t *link,
                                 unsigned *directions)
{
    const char *end = memchr(name, ':', length), *separator = name;
    size_t kind_length = end ? length - (size_t)(end - name) - 1 : 0;
    const char *kind = end ? end + 1 : NULL;
    end = end ? end : name + length;
    while (separator + 1 < end && !(separator[0] == '-' && (separator[1] == '-' || separator[1] == '>')))
        separator++;
    uint32_t from = find_node(topology, name, (size_t)(separator - name));
    uint32_t to = separator + 1 < end ? find_node(topology, separator + 2, (size_t)(end - separator) - 2) : HOP_NONE;
    if (from == HOP_NONE || to == HOP_NONE)
        return 0;
    const uint32_t *first = topology->first_link_of;
    uint32_t fewer = first[from + 1] - first[from] < first[to + 1] - first[to] ? from : to;
    unsigned found = 0;
    for (uint32_t i = first[fewer]; i < first[fewer + 1]; i++) {
        const struct hop_link *candidate = &topology->links[topology->links_of[i]];
        const char *its_kind = hop_link_kind_name(candidate->kind);
        bool forward = candidate->ends[0] == from;
        if (candidate->ends[!forward] != from || candidate->ends[forward] != to ||
            (kind && (strlen(its_kind) != kind_length || memcmp(its_kind, kind, kind_length) != 0)))
            continue;
        *link = topology->links_of[i];
        *directions = separator[1] == '-' ? 3 : forward ? 1 : 2;
        found++;
    }
    return found;
}

static enum hop_status read_tau(const char *value, double *tau, struct hop_diag *diag)
{
    char *end;
    double number = hop_text_number(value, &end);
    if (*value && !*end && number >= 0 && number < 1) {
        *tau = number;
        return HOP_OK;
    }
    return hop_fail(diag, HOP_ERR_INVALID, "tau cannot be '%.40s'\n0 <= tau < 1", value);
}

static enum hop_status set_node(struct hop_node *node, const char *field, const char *value, struct hop_diag *diag)
{
    char *end;
    if (strcmp(field, "tau") != 0) {
        long engines = strcmp(value, "unlimited") == 0 ? HOP_ENGINES_UNLIMITED : strtol(value, &end, 10);
        if (strcmp(value, "unlimited") != 0 &&
            (!isdigit((unsigned char)value[0]) || *end || engines < 1 || engines > 1 << 20)) {
            return hop_fail(diag, HOP_ERR_INVALID, "'%.40s' is no number of engines\na number from 1, or unlimited",
                            value);
        }
        *(strcmp(field, "engines") == 0 ? &node->engines : &node->accelerator_engines) = (int)engines;
        return HOP_OK;
    }
    return read_tau(value, &node->tau, diag);
}

static enum hop_status set_link(struct hop_topology *topology, uint32_t index, unsigned directions, const char *field,
                                const char *value, struct hop_diag *diag)
{
    double number;
    struct hop_link *link = &topology->links[index];
    if (strcmp(field, "latency") == 0) {
        enum hop_status status = hop_parse_seconds(value, strlen(value), &number, diag);
        if (status != HOP_OK)
            return status;
        if (number > 1e9)
            return hop_fail(diag, HOP_ERR_INVALID, "a latency cannot be %g s\n0 to 1e9 seconds", number);
        link->latency_s = number;
        topology->follows[index].latency = false;
        return HOP_OK;
    }
    if (strcmp(field, "duplex") == 0 && strcmp(value, "none") == 0) {
        for (unsigned d = 0; d < 2; d++)
            topology->follows[index].duplex[d] |= directions >> d & 1;
        return hop_topology_derive(topology, diag);
    }
    enum hop_status status = hop_parse_rate(value, strlen(value), &number, diag);
    if (status != HOP_OK)
        return status;
    if (!(number >= HOP_CAPACITY_LEAST))
        return hop_fail(diag, HOP_ERR_INVALID, "a capacity cannot be %g bytes/s\n1 byte/s or more, such as 12.4GB/s",
                        number);
    bool duplex = strcmp(field, "duplex") == 0;
    for (unsigned d = 0; d < 2; d++) {
        if (directions >> d & 1) {
            *(duplex ? &link->duplex_Bps[d] : &link->capacity_Bps[d]) = number;
            (duplex ? topology->follows[index].duplex : topology->follows[index].capacity)[d] = false;
            link->low_Bps[d] = duplex ? link->low_Bps[d] : 0;
            link->high_Bps[d] = duplex ? link->high_Bps[d] : 0;
            link->inherited[d] = false;
            link->duplex_low_Bps[d] = 0;
        }
    }
    if (duplex)
        return HOP_OK;
    link->origin = "set";
    return hop_topology_derive(topology, diag);
}

/* ROOT--ROOT.tau */
static enum hop_status set_crossing(struct hop_topology *topology, char *first, char *separator, const char *value,
                                    struct hop_diag *diag)
{
    double tau;
    *separator = '\0';
    const char *names[2] = {first, separator + 2};
    uint32_t roots[2];
    for (unsigned i = 0; i < 2; i++) {
        roots[i] = hop_topology_find(topology, names[i]);
        if (roots[i] == HOP_NONE || topology->nodes[roots[i]].kind != HOP_NODE_ROOT)
            return hop_fail(
                diag, HOP_ERR_NOT_FOUND,
                "there is no root complex '%.80s'\nROOT--ROOT.tau: the loss of transfers between two root complexes",
                names[i]);
    }
    enum hop_status status = read_tau(value, &tau, diag);
    return status == HOP_OK ? hop_topology_add_crossing(topology, roots[0], roots[1], tau, diag) : status;
}

/* By its unit; bytes and what counts for each byte may be plain numbers, too. */
static enum hop_status read_parameter(const struct hop_parameter *parameter, const char *value, double *number,
                                      struct hop_diag *diag)
{
    const char *unit = parameter->unit;
    size_t length = strlen(value);
    bool per_byte = strcmp(unit, "s/B") == 0, size = strcmp(unit, "B") == 0;
    char *end;
    if (strcmp(unit, "B/s") == 0)
        return hop_parse_rate(value, length, number, diag);
    if (strcmp(unit, "s") == 0)
        return hop_parse_seconds(value, length, number, diag);
    *number = hop_text_number(value, &end);
    if (*value && !*end && isfinite(*number))
        return HOP_OK;
    if (size) {
        uint64_t bytes = 0;
        HOP_CHECK(hop_parse_bytes(value, length, &bytes, diag));
        *number = (double)bytes;
        return HOP_OK;
    }
    if (per_byte && length > 2 && strcmp(value + length - 2, "/B") == 0 &&
        hop_parse_seconds(value, length - 2, number, NULL) == HOP_OK)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_SYNTAX, "parameter %s cannot be '%.40s'\n%s", parameter->name, value,
                    per_byte ? "a time for each byte, such as 6ns/B or 6e-9" : "a number");
}

/* Every root complex has a loss of its own, as calibrated ones may. */
static enum hop_status check_roots(const struct hop_topology *topology, struct hop_diag *diag)
{
    const char *root = NULL;
    for (uint32_t n = 0; n < topology->node_count; n++) {
        if (topology->nodes[n].kind == HOP_NODE_ROOT && isnan(topology->nodes[n].tau))
            return HOP_OK;
        if (topology->nodes[n].kind == HOP_NODE_ROOT)
            root = topology->nodes[n].name;
    }
    return root ? hop_fail(
                      diag, HOP_ERR_INVALID,
                      "parameter tau would change nothing: every root complex has a tau of its own\n%s.tau=0.1, and "
                      "so for each of them",
                      root)
                : HOP_OK;
}

/* An error where it would change nothing. */
static enum hop_status set_parameter(struct hop_topology *topology, const char *name, const char *value,
                                     struct hop_diag *diag)
{
    const struct hop_parameter *parameter = hop_topology_parameter(topology, name);
    double number = 0;
    if (parameter)
        HOP_CHECK(read_parameter(parameter, value, &number, diag));
    if (strcmp(name, "tau") == 0)
        HOP_CHECK(check_roots(topology, diag));
    if (parameter && hop_parameter_is_of_links(topology, (size_t)(parameter - topology->parameters)))
        HOP_CHECK(hop_parameter_check_taken(topology, name, diag));
    return hop_topology_set_parameter(topology, name, number, "set", NAN, diag);
}

/* Neither a link's field nor one that the node has. */
static enum hop_status fail_field(const struct hop_topology *topology, const char *name, const char *field,
                                  struct hop_diag *diag)
{
    static const char expected[] = "PARAMETER, LINK.capacity, LINK.duplex, LINK.latency, DEVICE.engines, "
                                   "DEVICE.accelerator_engines, ROOT.tau or ROOT--ROOT.tau";
    uint32_t node = hop_topology_find(topology, name), link;
    unsigned directions;
    if (node == HOP_NONE && hop_topology_find_links(topology, name, strlen(name), &link, &directions) == 0)
        return hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no node '%.80s'\n%s", name, expected);
    return hop_fail(diag, HOP_ERR_NOT_FOUND, "a %s has no '%.40s' to set\n%s",
                    node == HOP_NONE ? "link" : hop_node_kind_name(topology->nodes[node].kind), field, expected);
}

enum hop_status hop_topology_set(struct hop_topology *topology, const char *assignment, struct hop_diag *diag)
{
    char name[192];
    const char *equals = strchr(assignment, '='), *value = equals ? equals + 1 : NULL;
    uint32_t link;
    unsigned directions;
    if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof name)
        return hop_fail(diag, HOP_ERR_SYNTAX,
                        "'%.80s' is no assignment\nNAME=VALUE, such as tau=0.2, gpu0.engines=2 or "
                        "gpu0--switch0.capacity=12GB/s",
                        assignment);
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    char *field = strrchr(name, '.');
    if (strcmp(name, "models") == 0)
        return hop_topology_set_models(topology, value, diag);
    if (!field)
        return set_parameter(topology, name, value, diag);
    *field++ = '\0';
    if (strcmp(field, "capacity") == 0 || strcmp(field, "duplex") == 0 || strcmp(field, "latency") == 0) {
        unsigned found = hop_topology_find_links(topology, name, strlen(name), &link, &directions);
        if (found == 1)
            return set_link(topology, link, directions, field, value, diag);
        return found
                   ? hop_fail(diag, HOP_ERR_NOT_FOUND,
                              "several kinds of links are '%s'\nthe kind behind it, as in A--B:nvlink", name)
                   : hop_fail(diag, HOP_ERR_NOT_FOUND,
                              "there is no link '%s'\ntwo joined nodes: A--B for both directions, A->B for one", name);
    }
    char *pair = strstr(name, "--");
    bool tau = strcmp(field, "tau") == 0,
         engines = strcmp(field, "engines") == 0 || strcmp(field, "accelerator_engines") == 0;
    if (tau && pair)
        return set_crossing(topology, name, pair, value, diag);
    uint32_t node = hop_topology_find(topology, name);
    if (node == HOP_NONE || (!engines && (!tau || topology->nodes[node].kind != HOP_NODE_ROOT)))
        return fail_field(topology, name, field, diag);
    return set_node(&topology->nodes[node], field, value, diag);
}
