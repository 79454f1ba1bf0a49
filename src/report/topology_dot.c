/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology for Graphviz: roots on top, devices in one rank, links off the tree without influence on the ranks except
 * those to switches that have no PCIe (NVSwitch, network fabrics), which go below the devices.
 */
#include "report/picture.h"

/* Inside a quoted string of the dot language; backslashes would start its own escapes. */
static void add_escaped(struct hop_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            hop_buffer_puts(out, "\\");
        hop_buffer_add(out, text, 1);
    }
}

static void add_node(struct hop_buffer *out, const struct hop_node *node)
{
    hop_buffer_printf(out, "  \"%s\" [label=\"%s", node->name, node->name);
    if (node->label) {
        hop_buffer_puts(out, "\\n");
        add_escaped(out, node->label);
    }
    hop_buffer_printf(out, "\", fillcolor=\"%s\", tooltip=\"%s", hop_node_fill(node->kind),
                      hop_node_kind_name(node->kind));
    if (node->numa >= 0)
        hop_buffer_printf(out, ", numa %d", node->numa);
    if (node->bus_id) {
        hop_buffer_puts(out, ", ");
        add_escaped(out, node->bus_id);
    }
    hop_buffer_puts(out, "\"];\n");
}

static void add_link(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_link *link)
{
    const struct hop_node *a = hop_topology_node(topology, link->ends[0]),
                          *b = hop_topology_node(topology, link->ends[1]);
    bool device_a = hop_node_is_device(a->kind), device_b = hop_node_is_device(b->kind);
    bool hangs = !hop_in_tree(link) && device_a != device_b;
    /* Graphviz puts the first end above the second: the parent in the tree, the device over its fabric. */
    if (hop_in_tree(link) || (hangs && device_b)) {
        const struct hop_node *swap = a;
        a = b;
        b = swap;
    }
    /* Labels between nodes of one rank are more than the router of dot can take: xlabel is placed after routing, and
     * meshes of devices are too dense for any. */
    bool flat = !hop_in_tree(link) && !hangs;
    struct hop_link_text words = hop_describe_link(topology, link);
    hop_buffer_printf(out, "  \"%s\" -- \"%s\" [%s=\"%s\\n%s\", penwidth=%.1f", a->name, b->name,
                      !flat      ? "label"
                      : device_a ? "tooltip"
                                 : "xlabel",
                      words.what, words.rate, hop_link_stroke(link));
    if (!hop_in_tree(link))
        hop_buffer_printf(out, ", color=\"%s\"%s", hop_link_colour(link->kind), hangs ? "" : ", constraint=false");
    hop_buffer_puts(out, "];\n");
}

char *hop_topology_to_dot(const struct hop_topology *topology)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "graph \"");
    add_escaped(&out, hop_topology_name(topology));
    hop_buffer_puts(&out, "\" {\n  label=\"");
    add_escaped(&out, hop_topology_name(topology));
    hop_buffer_puts(&out, "\";\n  labelloc=t;\n  fontname=\"sans-serif\";\n"
                          "  node [shape=box, style=\"filled,rounded\", color=\"#55606e\", fontname=\"sans-serif\", "
                          "fontsize=11];\n"
                          "  edge [color=\"#64748b\", fontname=\"sans-serif\", fontsize=9];\n");
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++)
        add_node(&out, hop_topology_node(topology, n));
    hop_buffer_puts(&out, "  { rank=same;");
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_node_is_device(hop_topology_node(topology, n)->kind))
            hop_buffer_printf(&out, " \"%s\";", hop_topology_node(topology, n)->name);
    }
    hop_buffer_puts(&out, " }\n");
    for (uint32_t i = 0; i < hop_topology_link_count(topology); i++)
        add_link(&out, topology, hop_topology_link(topology, i));
    hop_buffer_puts(&out, "}\n");
    return hop_buffer_take(&out);
}
