/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From pairwise relations to the smallest symmetric tree that explains them: devices that are PIX to each other form
 * groups, these lie inside PXB groups, those inside PHB groups, and so on, and every group becomes a node.
 *
 *     socket0 --socket-- root2           SYS   links between the tops, every one with every other
 *     /     \               |            NODE  a socket node over the root complexes of one NUMA node
 *   root0   root1         gpu4           PHB   a root complex
 *    |        |                          PXB   an upper switch over a switch per PIX group
 * switch0  gpu3                         PIX   a switch
 *
 * Cells are trusted, and refused where they contradict each other. What an accelerator link hides is guessed from a
 * third device or from affinity, and never overrides a cell; of two PXB devices neither is put deeper.
 */
#include "import/infer.h"
#include "import/facts.h"

#include <math.h>
#include <stdio.h>

/* The most links that one GPU has had so far (H100, B200): pairs that would need more meet in an NVSwitch. */
#define NVLINKS_OF_A_GPU 18u

struct inference {
    const struct hop_relations *table;
    struct hop_build *build;
    uint8_t *guess;                    /* count x count, upper half: relation of a pair that the table hides */
    uint8_t *farthest;                 /* count x count, by group: the farthest cell between two groups, 0: none */
    uint32_t *group[HOP_RELATION_SYS]; /* per level and device: the lowest device of its group */
    uint32_t *node;                    /* per device: its node */
    const struct hop_gpu_facts **gpus; /* per device: what its name tells, or NULL */
    const struct hop_cpu_facts *cpu;   /* the same of the processor */
    unsigned generation;               /* of PCIe, by the names; 0: they do not tell */
    uint32_t *tops;                    /* per NUMA node: its highest node */
    uint32_t numa_nodes, roots, switches;
    uint32_t hidden, from_devices, from_affinity; /* pairs */
    char nic_switches[160];                       /* names of switches that only cells of NICs show */
};

static const struct hop_pair *cell(const struct inference *in, uint32_t i, uint32_t j)
{
    return &in->table->pairs[(size_t)i * in->table->count + j];
}

static enum hop_relation known(const struct inference *in, uint32_t i, uint32_t j)
{
    return (enum hop_relation)cell(in, i, j)->relation;
}

static const char *title(const struct inference *in, uint32_t i)
{
    return in->table->devices[i].title;
}

/* The cell's text in the dialect's words. */
static const char *cell_text(const struct inference *in, const struct hop_pair *pair, char *buffer, size_t size)
{
    if (pair->links > 0 && in->table->link_kind == HOP_LINK_NVLINK)
        (void)snprintf(buffer, size, "NV%u", pair->links);
    else
        (void)snprintf(buffer, size, "%s", in->table->relation_names[pair->relation]);
    return buffer;
}

static void place(const struct inference *in, const struct hop_pair *pair)
{
    hop_failure_place(&in->build->failure, "%.180s:%u:%u", in->table->file, pair->line, pair->column);
}

static void check_symmetry(struct inference *in)
{
    for (uint32_t i = 0; i < in->table->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct hop_pair *here = cell(in, i, j), *there = cell(in, j, i);
            if (here->relation == there->relation && here->links == there->links)
                continue;
            char a[48], b[48];
            hop_build_fail(in->build, HOP_ERR_INVALID,
                           "%s to %s is %s, but %s to %s is %s (line %u)\nthe same in both directions", title(in, i),
                           title(in, j), cell_text(in, here, a, sizeof a), title(in, j), title(in, i),
                           cell_text(in, there, b, sizeof b), there->line);
            place(in, here);
            return;
        }
    }
}

/* ---- relations that the table hides ---- */

static enum hop_relation guess_pair(struct inference *in, uint32_t i, uint32_t j)
{
    enum hop_relation exact = HOP_RELATION_UNKNOWN, bound = HOP_RELATION_COUNT;
    for (uint32_t k = 0; k < in->table->count; k++) {
        enum hop_relation a = known(in, i, k), b = known(in, j, k);
        if (k == i || k == j || a == HOP_RELATION_UNKNOWN || b == HOP_RELATION_UNKNOWN)
            continue;
        enum hop_relation farther = a > b ? a : b;
        if (a != b && farther > exact)
            exact = farther;
        if (farther < bound)
            bound = farther;
    }
    in->hidden++;
    if (exact != HOP_RELATION_UNKNOWN || bound <= HOP_RELATION_PXB) {
        in->from_devices++;
        return exact != HOP_RELATION_UNKNOWN ? exact : bound;
    }
    const char *mine = in->table->devices[i].affinity, *other = in->table->devices[j].affinity;
    if (!mine || !other)
        return HOP_RELATION_PHB;
    in->from_affinity++;
    if (strcmp(mine, other) == 0)
        return HOP_RELATION_PHB;
    return bound < HOP_RELATION_SYS ? bound : HOP_RELATION_SYS;
}

static void guess_hidden(struct inference *in)
{
    uint32_t n = in->table->count;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            if (known(in, i, j) == HOP_RELATION_UNKNOWN)
                in->guess[(size_t)i * n + j] = (uint8_t)guess_pair(in, i, j);
        }
    }
}

/* ---- groups ---- */

static void join(struct inference *in, uint32_t *group, uint32_t a, uint32_t b)
{
    uint32_t n = in->table->count, keep = a < b ? a : b, gone = a < b ? b : a;
    for (uint32_t k = 0; k < n; k++) {
        if (group[k] == gone)
            group[k] = keep;
        uint8_t *far = &in->farthest[(size_t)keep * n + k];
        if (in->farthest[(size_t)gone * n + k] > *far)
            *far = in->farthest[(size_t)gone * n + k];
        in->farthest[(size_t)k * n + keep] = *far;
    }
}

/* Joins by what the table says; false and the cell at fault when that contradicts itself. */
static bool join_known(struct inference *in, enum hop_relation level, uint32_t *fault_i, uint32_t *fault_j)
{
    uint32_t n = in->table->count, *group = in->group[level];
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            if (known(in, i, j) != HOP_RELATION_UNKNOWN && known(in, i, j) <= level && group[i] != group[j])
                join(in, group, group[i], group[j]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            if (known(in, i, j) > level && group[i] == group[j]) {
                *fault_i = i;
                *fault_j = j;
                return false;
            }
        }
    }
    return true;
}

/* Joins by what was guessed, where no cell speaks against it. */
static void join_guessed(struct inference *in, enum hop_relation level)
{
    uint32_t n = in->table->count, *group = in->group[level];
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            uint8_t guess = in->guess[(size_t)i * n + j];
            if (guess != 0 && guess <= level && group[i] != group[j] &&
                in->farthest[(size_t)group[i] * n + group[j]] == 0)
                join(in, group, group[i], group[j]);
        }
    }
}

static bool find_groups(struct inference *in, bool guess, uint32_t *fault_i, uint32_t *fault_j)
{
    uint32_t n = in->table->count;
    for (uint32_t i = 0; i < n; i++) {
        in->group[0][i] = i;
        for (uint32_t j = 0; j < n; j++)
            in->farthest[(size_t)i * n + j] = i == j ? 0 : (uint8_t)known(in, i, j);
    }
    for (enum hop_relation level = HOP_RELATION_PIX; level < HOP_RELATION_SYS; level++) {
        memcpy(in->group[level], in->group[level - 1], n * sizeof *in->group[level]);
        if (!join_known(in, level, fault_i, fault_j))
            return false;
        if (guess)
            join_guessed(in, level);
    }
    return true;
}

static void fail_transitivity(const struct inference *in, uint32_t i, uint32_t j)
{
    char text[3][48];
    const struct hop_pair *far = cell(in, i, j);
    cell_text(in, far, text[0], sizeof text[0]);
    uint32_t between = HOP_NONE;
    for (uint32_t k = 0; k < in->table->count && between == HOP_NONE; k++) {
        if (k != i && k != j && known(in, i, k) != HOP_RELATION_UNKNOWN && known(in, k, j) != HOP_RELATION_UNKNOWN &&
            known(in, i, k) < known(in, i, j) && known(in, k, j) < known(in, i, j))
            between = k;
    }
    if (between == HOP_NONE)
        hop_build_fail(
            in->build, HOP_ERR_INVALID,
            "%s to %s is %s, but other cells put the two nearer to each other\nrelations of a tree: of three "
            "devices the two farthest relations are equal",
            title(in, i), title(in, j), text[0]);
    else
        hop_build_fail(in->build, HOP_ERR_INVALID,
                       "%s to %s is %s, but %s to %s is %s and %s to %s is %s\nrelations of a tree: of three devices "
                       "the two farthest relations are equal",
                       title(in, i), title(in, j), text[0], title(in, i), title(in, between),
                       cell_text(in, cell(in, i, between), text[1], sizeof text[1]), title(in, between), title(in, j),
                       cell_text(in, cell(in, between, j), text[2], sizeof text[2]));
    place(in, far);
}

static void group_devices(struct inference *in)
{
    uint32_t i, j;
    guess_hidden(in);
    /* A guess at one level can make cells of a higher one contradict; the cells count. */
    if (!find_groups(in, true, &i, &j) && !find_groups(in, false, &i, &j))
        fail_transitivity(in, i, j);
}

/* ---- building ---- */

/* What the names of the processor and of the GPUs tell. */
static void find_facts(struct inference *in)
{
    const struct hop_relations *table = in->table;
    const char *before = NULL;
    in->cpu = hop_cpu_facts(in->build->cpu ? in->build->cpu : table->cpu);
    for (uint32_t i = 0; i < table->count; i++) {
        const char *name = in->build->gpu ? in->build->gpu : table->devices[i].label;
        if (table->devices[i].kind != HOP_NODE_GPU || !name)
            continue;
        in->gpus[i] = before && strcmp(before, name) == 0 ? in->gpus[i - 1] : hop_gpu_facts(name);
        before = i + 1 < table->count && table->devices[i + 1].kind == HOP_NODE_GPU ? name : NULL;
        unsigned generation = hop_facts_generation(in->gpus[i], in->cpu);
        if (in->gpus[i] && generation > in->generation)
            in->generation = generation;
    }
}

static struct hop_link plain_link(const struct inference *in, enum hop_link_kind kind, uint32_t from, uint32_t to)
{
    struct hop_link link = hop_link_default(kind, from, to);
    if (kind == HOP_LINK_PCIE) {
        link.parameter = "pcie_link";
        link.generation = in->table->knows_speeds ? 0 : in->generation;
        link.width = link.generation ? 16 : 0;
    }
    return link;
}

/* A node below parent (HOP_NONE: a top). */
static uint32_t put(struct inference *in, const struct hop_node *node, uint32_t parent)
{
    enum hop_link_kind kind = node->kind == HOP_NODE_HOST ? HOP_LINK_MEMORY : HOP_LINK_PCIE;
    struct hop_link link = plain_link(in, kind, 0, parent);
    return parent == HOP_NONE ? hop_build_node(in->build, node) : hop_build_child(in->build, node, &link);
}

static uint32_t put_numbered(struct inference *in, enum hop_node_kind kind, uint32_t number, uint32_t parent, int numa)
{
    struct hop_node node = hop_node_default(kind, hop_build_text(in->build, "%s%u", hop_node_kind_name(kind), number));
    node.numa = numa;
    node.label = kind == HOP_NODE_ROOT ? in->build->cpu ? in->build->cpu : in->table->cpu : NULL;
    return put(in, &node, parent);
}

static void put_device(struct inference *in, uint32_t device, uint32_t parent, int numa)
{
    const struct hop_related *related = &in->table->devices[device];
    struct hop_node node = hop_node_default(related->kind, related->name);
    struct hop_link link = plain_link(in, HOP_LINK_PCIE, 0, parent);
    const struct hop_gpu_facts *facts = in->gpus[device];
    node.label = related->kind == HOP_NODE_GPU && in->build->gpu ? in->build->gpu : related->label;
    node.numa = related->numa >= 0 ? related->numa : numa;
    if (facts && !in->table->knows_speeds &&
        (facts->pcie < in->generation || facts->width < 16)) { /* slower than others */
        link.parameter = NULL;
        link.generation = hop_facts_generation(facts, in->cpu);
        link.width = facts->width;
    }
    in->node[device] = hop_build_child(in->build, &node, &link);
}

/* Remembers a switch when no cell of two GPUs shows it. */
static void remember_nic_switch(struct inference *in, enum hop_relation level, uint32_t lowest, uint32_t number)
{
    const uint32_t *group = in->group[level];
    for (uint32_t i = lowest; i < in->table->count; i++) {
        for (uint32_t j = i + 1; j < in->table->count && group[i] == lowest; j++) {
            if (group[j] == lowest && known(in, i, j) == level && in->table->devices[i].kind == HOP_NODE_GPU &&
                in->table->devices[j].kind == HOP_NODE_GPU)
                return;
        }
    }
    size_t used = strlen(in->nic_switches);
    if (used < sizeof in->nic_switches - 24)
        (void)snprintf(in->nic_switches + used, sizeof in->nic_switches - used, "%sswitch%u", used ? ", " : "", number);
    else if (in->nic_switches[used - 1] != '.')
        memcpy(in->nic_switches + used, ", ...", sizeof ", ...");
}

static uint32_t put_switch(struct inference *in, enum hop_relation level, uint32_t lowest, uint32_t parent, int numa)
{
    uint32_t number = in->switches++;
    remember_nic_switch(in, level, lowest, number);
    return put_numbered(in, HOP_NODE_SWITCH, number, parent, numa);
}

/* How many groups of a level, or devices at level 0, lie in one group of a higher level. */
static uint32_t count_inside(const struct inference *in, enum hop_relation level, enum hop_relation above,
                             uint32_t lowest)
{
    uint32_t count = 0;
    for (uint32_t i = lowest; i < in->table->count; i++)
        count += in->group[above][i] == lowest && in->group[level][i] == i;
    return count;
}

/* Everything below one root port. */
static void put_port(struct inference *in, uint32_t lowest, uint32_t root, int numa)
{
    uint32_t parent = root;
    if (count_inside(in, 0, HOP_RELATION_PXB, lowest) == 1) {
        put_device(in, lowest, root, numa);
        return;
    }
    bool nested = count_inside(in, HOP_RELATION_PIX, HOP_RELATION_PXB, lowest) > 1;
    if (nested)
        parent = put_switch(in, HOP_RELATION_PXB, lowest, root, numa);
    for (uint32_t s = lowest; s < in->table->count; s++) {
        if (in->group[HOP_RELATION_PXB][s] != lowest || in->group[HOP_RELATION_PIX][s] != s)
            continue;
        /* A switch over one device is our own addition, see above: no NIC shows it. */
        bool alone = count_inside(in, 0, HOP_RELATION_PIX, s) == 1;
        uint32_t leaf = alone ? put_numbered(in, HOP_NODE_SWITCH, in->switches++, parent, numa)
                              : put_switch(in, HOP_RELATION_PIX, s, parent, numa);
        for (uint32_t i = s; i < in->table->count; i++) {
            if (in->group[HOP_RELATION_PIX][i] == s)
                put_device(in, i, leaf, numa);
        }
    }
}

/* The NUMA node of a group's devices, -1 when none or several are named. */
static int numa_of(const struct inference *in, uint32_t lowest)
{
    int numa = -1;
    for (uint32_t i = lowest; i < in->table->count; i++) {
        int mine = in->table->devices[i].numa;
        if (in->group[HOP_RELATION_NODE][i] != lowest || mine < 0 || mine == numa)
            continue;
        if (numa >= 0)
            return -1;
        numa = mine;
    }
    return numa;
}

/* A NUMA node: its root complexes, joined in a socket node when there are several, and its memory. */
static uint32_t put_numa_node(struct inference *in, uint32_t lowest)
{
    uint32_t number = in->numa_nodes++, top = HOP_NONE;
    int numa = numa_of(in, lowest);
    bool several = count_inside(in, HOP_RELATION_PHB, HOP_RELATION_NODE, lowest) > 1;
    if (several)
        top = put_numbered(in, HOP_NODE_SOCKET, number, HOP_NONE, numa);
    for (uint32_t r = lowest; r < in->table->count; r++) {
        if (in->group[HOP_RELATION_NODE][r] != lowest || in->group[HOP_RELATION_PHB][r] != r)
            continue;
        uint32_t root = put_numbered(in, HOP_NODE_ROOT, in->roots++, HOP_NONE, numa);
        if (several) {
            struct hop_link link = plain_link(in, HOP_LINK_SOCKET, root, top);
            link.parameter = "on_die";
            hop_build_link(in->build, &link);
        } else {
            top = root;
        }
        for (uint32_t p = r; p < in->table->count; p++) {
            if (in->group[HOP_RELATION_PHB][p] == r && in->group[HOP_RELATION_PXB][p] == p)
                put_port(in, p, root, numa);
        }
    }
    put_numbered(in, HOP_NODE_HOST, number, top, numa);
    return top;
}

static void put_tree(struct inference *in)
{
    for (uint32_t i = 0; i < in->table->count; i++) {
        if (in->group[HOP_RELATION_NODE][i] == i) {
            uint32_t top = put_numa_node(in, i);
            in->tops[in->numa_nodes - 1] = top;
        }
    }
    for (uint32_t a = 0; a < in->numa_nodes; a++) {
        for (uint32_t b = a + 1; b < in->numa_nodes; b++) {
            struct hop_link link = plain_link(in, HOP_LINK_SOCKET, in->tops[a], in->tops[b]);
            link.parameter = in->table->one_socket ? "on_die" : in->cpu ? in->cpu->socket : "socket";
            hop_build_link(in->build, &link);
        }
    }
}

/* ---- accelerator links ---- */

/* That of the GPU's name; else 12 links are A100's, 18 those of H100 and after; smaller counts are shares of any. */
static unsigned nvlink_generation(const struct hop_gpu_facts *gpu, unsigned links)
{
    return gpu && gpu->nvlink ? gpu->nvlink : links == 12 ? 3 : links == 18 ? 4 : 0;
}

/* From a device to another's node or to an NVSwitch. */
static struct hop_link accelerator_link(const struct inference *in, uint32_t device, uint32_t to, unsigned links)
{
    struct hop_link link = hop_link_default(in->table->link_kind, in->node[device], to);
    const struct hop_gpu_facts *gpu = in->gpus[device];
    link.count = links;
    link.parameter = gpu ? gpu->link : NULL;
    if (link.kind == HOP_LINK_NVLINK)
        link.generation = nvlink_generation(gpu, links);
    return link;
}

/* Links per device when everyone in the set that `first` belongs to is joined to everyone with the same count, too
 * often for direct wiring; else 0. */
static unsigned switched_links(const struct inference *in, uint32_t first, uint32_t *members)
{
    uint32_t n = in->table->count, count = 1;
    unsigned links = 0;
    members[0] = first;
    for (uint32_t i = 0; i < n; i++) {
        if (i != first && cell(in, first, i)->links > 0)
            members[count++] = i;
    }
    for (uint32_t a = 0; a < count; a++) {
        uint32_t partners = 0;
        for (uint32_t i = 0; i < n; i++)
            partners += i != members[a] && cell(in, members[a], i)->links > 0;
        if (partners != count - 1)
            return 0;
        for (uint32_t b = 0; b < count; b++) {
            if (a == b)
                continue;
            unsigned here = cell(in, members[a], members[b])->links;
            if (links == 0)
                links = here;
            if (here == 0 || here != links)
                return 0;
        }
    }
    members[count] = HOP_NONE;
    return (count - 1) * links > NVLINKS_OF_A_GPU ? links : 0;
}

static void put_nvswitch(struct inference *in, uint32_t number, const uint32_t *members, unsigned links, bool *done)
{
    uint32_t count = 0, plane = hop_build_nvswitch(in->build, number, "NVSwitch, all planes as one");
    for (; members[count] != HOP_NONE; count++) {
        struct hop_link link = accelerator_link(in, members[count], plane, links);
        done[members[count]] = true;
        hop_build_link(in->build, &link);
    }
    hop_build_note(
        in->build,
        "NV%u between all %u GPUs would take %u links each when wired directly: taken as NVSwitch (nvswitch%u)%s",
        links, count, (count - 1) * links, number,
        links == 18 && !in->gpus[members[0]] ? "; NVLink generation 4 or 5 is not said, 4 assumed" : "");
}

static void put_accelerator_links(struct inference *in)
{
    uint32_t n = in->table->count, nvswitches = 0;
    uint32_t *members = hop_build_alloc(in->build, ((size_t)n + 1) * sizeof *members);
    bool *done = hop_build_alloc(in->build, n);
    if (!done)
        return;
    for (uint32_t i = 0; i < n; i++) {
        unsigned links = in->table->link_kind == HOP_LINK_NVLINK && !done[i] ? switched_links(in, i, members) : 0;
        if (links > 0)
            put_nvswitch(in, nvswitches++, members, links, done);
        for (uint32_t j = i + 1; j < n && !done[i]; j++) {
            if (cell(in, i, j)->links == 0)
                continue;
            struct hop_link link = accelerator_link(in, i, in->node[j], cell(in, i, j)->links);
            hop_build_link(in->build, &link);
        }
    }
}

/* ---- what people should know ---- */

static void add_notes(struct inference *in)
{
    uint32_t doubtful = 0, n = in->table->count;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            const char *mine = in->table->devices[i].affinity, *other = in->table->devices[j].affinity;
            doubtful += known(in, i, j) == HOP_RELATION_SYS && mine && other && strcmp(mine, other) == 0;
        }
    }
    hop_build_note(in->build,
                   "inferred from a table of pairs: the smallest symmetric tree that explains it (NUMA nodes: %u, root "
                   "complexes: %u, "
                   "PCIe switches: %u); the machine may have more switches",
                   in->numa_nodes, in->roots, in->switches);
    if (in->generation && !in->table->knows_speeds)
        hop_build_note(
            in->build,
            "PCIe generation %u x16 is taken from the names of GPUs and processor, for every PCIe link but those of "
            "older or narrower GPUs: %.4g GB/s assumed (pcie_link)",
            in->generation, hop_parameter_value(in->build->topology, "pcie_link") / 1e9);
    else if (!in->table->knows_speeds)
        hop_build_note(
            in->build,
            "the table says nothing about PCIe speeds: generation %u x16 is assumed for every link; --set "
            "pcie_link=RATE says better for all of them (57.6GB/s is generation 5 x16), --set LINK.capacity=RATE for "
            "one, --gpu NAME for what a GPU has",
            in->table->pcie_generation);
    if (in->numa_nodes > 1 && !in->table->knows_speeds && !in->cpu && !in->table->one_socket)
        hop_build_note(
            in->build,
            "nor about the links between sockets: peer traffic at 10 GB/s is assumed; --set socket=RATE says better");
    if (in->hidden > 0)
        hop_build_note(
            in->build,
            "the table hides the PCIe relation of %u pairs: %u follow from other devices, %u from the affinity "
            "columns, for "
            "%u nothing is known%s",
            in->hidden, in->from_devices, in->from_affinity, in->hidden - in->from_devices - in->from_affinity,
            in->hidden == in->from_devices
                ? ""
                : "; devices of one NUMA node are then taken to have root ports of their own at "
                  "one root complex");
    if (in->nic_switches[0])
        hop_build_note(
            in->build,
            "seen only through NICs: %s; below one that holds NICs alone there may be one card with several ports",
            in->nic_switches);
    if (in->numa_nodes > 2)
        hop_build_note(in->build,
                       "%u NUMA nodes are joined each to each, as NCCL assumes; the table says only that they differ",
                       in->numa_nodes);
    if (doubtful > 0)
        hop_build_note(
            in->build,
            "%u pairs are in different NUMA nodes (%s) and have the same affinity: doubtful, as in a virtual machine",
            doubtful, in->table->relation_names[HOP_RELATION_SYS]);
}

static void reserve(struct inference *in)
{
    uint32_t n = in->table->count;
    in->guess = hop_build_alloc(in->build, (size_t)n * n);
    in->farthest = hop_build_alloc(in->build, (size_t)n * n);
    for (unsigned level = 0; level < HOP_RELATION_SYS; level++)
        in->group[level] = hop_build_alloc(in->build, n * sizeof **in->group);
    in->node = hop_build_alloc(in->build, n * sizeof *in->node);
    in->gpus = hop_build_alloc(in->build, n * sizeof *in->gpus);
    in->tops = hop_build_alloc(in->build, n * sizeof *in->tops);
}

#define GEN3_LEAST_BPS 11.5e9 /* 16 lanes of what is still in use, facts.c */
#define GEN5_MOST_BPS 57.6e9

/* Links of unknown speed follow the parameter pcie_link; what is assumed for it depends on the table's age. */
static void assume_pcie(struct inference *in)
{
    const struct hop_topology *topology = in->build->topology;
    unsigned generation = in->table->pcie_generation;
    if (in->generation && !in->table->knows_speeds) {
        hop_facts_pcie(in->build, in->generation, "generation by the names of GPUs and processor");
        return;
    }
    double rate = hop_pcie_rate_Bps(generation, 16, hop_parameter_value(topology, "pcie_payload"),
                                    hop_parameter_value(topology, "pcie_header"));
    const char *origin =
        hop_build_text(in->build, "gen%u x16 by TLP arithmetic, assumed for a table without speeds", generation);
    if (in->table->knows_speeds)
        hop_build_parameter(in->build, "pcie_link", rate, origin);
    else
        hop_build_assume(in->build, "pcie_link", rate, GEN3_LEAST_BPS, GEN5_MOST_BPS, origin);
}

void hop_relations_infer(const struct hop_relations *relations, struct hop_build *build)
{
    static void (*const steps[])(struct inference *) = {reserve,       find_facts, assume_pcie, check_symmetry,
                                                        group_devices, put_tree,   add_notes,   put_accelerator_links};
    struct inference in = {.table = relations, .build = build};
    for (size_t i = 0; i < HOP_COUNT(steps) && hop_build_ok(build); i++)
        steps[i](&in);
}
