/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawings of loads: a small machine's as it must read; then, for machines of all kinds and random loads, that every
 * loaded link is there once with its numbers, that widths are kept, that what is left out is told and adds up, and that
 * drawings are well-formed.
 */
#include "base/base.h"
#include "hopcast/report.h"
#include "test.h"

#include <math.h>

#define CLUSTERS TEST_SOURCE_DIR "/data/clusters/"

static const char *const machines[] = {"t1",       "t2",       "helios",          "dgx-1",
                                       "dgx-a100", "ib-9node", "pcie-8gpu-2root", CLUSTERS "two-dgx-a100.json"};

/* ---- what the tests share ---- */

/* Random loads on some share of the directed links, of eight; whole microseconds, so that numbers are exact. */
static struct hop_link_load *random_loads(const struct hop_topology *topology, uint32_t share)
{
    uint32_t directed = 2 * hop_topology_link_count(topology);
    struct hop_link_load *loads = calloc((size_t)directed + 1, sizeof *loads);
    assert_non_null(loads);
    for (uint32_t d = 0; d < directed; d++) {
        if (random_below(8) < share)
            loads[d].before_s = 1e-6 * random_below(2000);
        if (random_below(8) < share)
            loads[d].after_s = 1e-6 * random_below(1000);
    }
    return loads;
}

static struct hop_link_load of_link(const struct hop_link_load *loads, uint32_t link)
{
    return (struct hop_link_load){fmax(loads[2 * link].before_s, loads[2 * link + 1].before_s),
                                  fmax(loads[2 * link].after_s, loads[2 * link + 1].after_s)};
}

static struct hop_link_load most_of(const struct hop_topology *topology, const struct hop_link_load *loads)
{
    struct hop_link_load most = {0, 0};
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        most.before_s = fmax(most.before_s, of_link(loads, l).before_s);
        most.after_s = fmax(most.after_s, of_link(loads, l).after_s);
    }
    return most;
}

static bool is_loaded(const struct hop_link_load *loads, uint32_t link)
{
    struct hop_link_load load = of_link(loads, link);
    return load.before_s > 0 || load.after_s > 0;
}

static bool in_tree(const struct hop_link *link)
{
    return link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY;
}

/* "4.000 ms*->  666.7 us ", as the two numbers of a line read. */
static void numbers_text(struct hop_link_load load, struct hop_link_load most, char *text, size_t size)
{
    char before[32], after[32];
    (void)snprintf(text, size, "%9s%s-> %9s%s", load.before_s > 0 ? hop_show_seconds(load.before_s, before, 32) : "-",
                   load.before_s > 0 && load.before_s >= most.before_s * (1 - 1e-9) ? "*" : " ",
                   load.after_s > 0 ? hop_show_seconds(load.after_s, after, 32) : "-",
                   load.after_s > 0 && load.after_s >= most.after_s * (1 - 1e-9) ? "*" : " ");
}

static unsigned occurrences(const char *text, const char *piece)
{
    unsigned count = 0;
    for (; (text = strstr(text, piece)); text += strlen(piece))
        count++;
    return count;
}

/* Code points between ESC and 'm' do not count. */
static unsigned columns_of(const char *line, size_t length)
{
    unsigned columns = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\033') {
            while (line[i] != 'm')
                i++;
            continue;
        }
        columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    }
    return columns;
}

static unsigned widest(const char *text)
{
    unsigned widest = 0;
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        unsigned columns = columns_of(text, (size_t)(end - text));
        widest = columns > widest ? columns : widest;
    }
    assert_int_equal(*text, '\0'); /* the last line ends, too */
    return widest;
}

/* The line of a text on which a name stands as a word of its own, the first after `from`; NULL: none. */
static const char *line_of(const char *from, const char *name, size_t *length)
{
    for (const char *end; (end = strchr(from, '\n')); from = end + 1) {
        const char *at = from;
        while ((at = strstr(at, name)) && at < end) {
            const char *behind = at + strlen(name);
            if ((at == from || at[-1] == ' ') && (*behind == ' ' || *behind == '\n')) {
                *length = (size_t)(end - from);
                return from;
            }
            at = behind;
        }
    }
    return NULL;
}

static const char *no_note(uint32_t node, void *context)
{
    (void)node;
    (void)context;
    return NULL;
}

static const char *device_note(uint32_t node, void *context)
{
    const struct hop_topology *topology = context;
    return hop_topology_node(topology, node)->kind == HOP_NODE_GPU ? "ranks 0 -> 5 <&>" : NULL;
}

/* ---- text ---- */

static void a_small_machine_reads_as_it_should(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("small");
    static const struct {
        enum hop_node_kind kind;
        const char *name;
    } nodes[] = {{HOP_NODE_ROOT, "root0"},
                 {HOP_NODE_ROOT, "root1"},
                 {HOP_NODE_GPU, "gpu0"},
                 {HOP_NODE_GPU, "gpu1"},
                 {HOP_NODE_NIC, "nic0"}};
    static const uint32_t ends[][2] = {{2, 0}, {3, 1}, {4, 1}, {0, 1}};
    for (unsigned n = 0; n < HOP_COUNT(nodes); n++) {
        struct hop_node node = hop_node_default(nodes[n].kind, nodes[n].name);
        CHECK(hop_topology_add_node(topology, &node, NULL, D));
    }
    for (unsigned l = 0; l < HOP_COUNT(ends); l++) {
        struct hop_link link = hop_link_default(l == 3 ? HOP_LINK_SOCKET : HOP_LINK_PCIE, ends[l][0], ends[l][1]);
        link.capacity_Bps[0] = link.capacity_Bps[1] = 1e9;
        CHECK(hop_topology_add_link(topology, &link, NULL, D));
    }
    CHECK(hop_topology_finish(topology, D));
    struct hop_link_load loads[8] = {{0.001, 0.001}, {0.0005, 0.001}, {0.001, 0.0015}, {0, 0},
                                     {0, 0},         {0, 0},          {0.003, 0.001},  {0.002, 0}};
    struct hop_loads_options options = {.width = 66, .note = device_note, .context = topology};
    char *text = hop_topology_to_loads(topology, loads, &options);
    assert_string_equal(text, "small: fullest link 3.000 ms before, 1.500 ms after\n"
                              "\n"
                              "                             before        after\n"
                              "root0\n"
                              "└─ gpu0  ranks 0 -> 5 <&>  1.000 ms ->  1.000 ms  ██████\n"
                              "root1\n"
                              "├─ gpu1  ranks 0 -> 5 <&>  1.000 ms ->  1.500 ms* ██████▓▓\n"
                              "└─ 1 more node without load\n"
                              "\n"
                              "socket links:\n"
                              "  root0 -- root1           3.000 ms*->  1.000 ms  ██████▒▒▒▒▒▒▒▒▒▒\n"
                              "\n"
                              "█ before and after  ▒ before only  ▓ after only  * fullest\n"
                              "a bar of 16 columns is 3.000 ms\n");
    free(text);
    loads[6] = loads[7] = (struct hop_link_load){0, 0};
    text = hop_topology_to_loads(topology, loads, &options);
    assert_non_null(strstr(text, "\nsocket links: 1 without load\n\n"));
    free(text);
    hop_topology_destroy(topology);
}

/* Each of the tree on the line of its lower end, each other one on a line of its own. */
static void every_loaded_link_is_there_with_its_numbers(void **state)
{
    (void)state;
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        struct hop_link_load *loads = random_loads(topology, 4), most = most_of(topology, loads);
        struct hop_loads_options options = {.width = 140, .note = no_note};
        char *text = hop_topology_to_loads(topology, loads, &options), want[80], name[300];
        uint32_t off[HOP_LINK_KIND_COUNT] = {0};
        assert_non_null(text);
        for (uint32_t l = 0; l < hop_topology_link_count(topology); l++)
            off[hop_topology_link(topology, l)->kind] += is_loaded(loads, l);
        for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
            const struct hop_link *link = hop_topology_link(topology, l);
            size_t length;
            if (!is_loaded(loads, l) || (!in_tree(link) && off[link->kind] > 16))
                continue;
            (void)snprintf(name, sizeof name, "%s -- %s", hop_topology_node(topology, link->ends[0])->name,
                           hop_topology_node(topology, link->ends[1])->name);
            numbers_text(of_link(loads, l), most, want, sizeof want);
            const char *from = in_tree(link) ? strstr(text, "    after\n") : text;
            const char *line =
                line_of(from, in_tree(link) ? hop_topology_node(topology, link->ends[0])->name : name, &length);
            const char *found = line ? strstr(line, want) : NULL;
            if (!found || found > line + length)
                fail_msg("%s of %s has no \"%s\" in\n%s", name, machines[m], want, text);
        }
        free(text);
        free(loads);
        hop_topology_destroy(topology);
    }
}

/* Falling in each kind, and the rest told. */
static void links_off_the_tree_are_sorted(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("dgx-1");
    struct hop_link_load *loads = calloc(2 * (size_t)hop_topology_link_count(topology), sizeof *loads);
    uint32_t meshed = 0;
    assert_non_null(loads);
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        if (hop_topology_link(topology, l)->kind == HOP_LINK_NVLINK)
            loads[2 * l + l % 2].after_s = 1e-3 * ++meshed;
    }
    char *text = hop_topology_to_loads(topology, loads, NULL), first[32], rest[100];
    const char *at = strstr(text, "nvlink links:\n");
    assert_non_null(at);
    for (uint32_t k = 0; k < 16; k++) {
        (void)hop_show_seconds(1e-3 * (meshed - k), first, sizeof first);
        at = strchr(at, '\n') + 1;
        assert_non_null(strstr(at, first));
        assert_true(strstr(at, first) < strchr(at, '\n'));
    }
    if (meshed > 16) {
        (void)snprintf(rest, sizeof rest, "and %u more: at most 0 s -> %s", meshed - 16,
                       hop_show_seconds(1e-3 * (meshed - 16), first, sizeof first));
        assert_non_null(strstr(text, rest));
    }
    free(text);
    free(loads);
    hop_topology_destroy(topology);
}

static void widths_are_kept_in_all_variants(void **state)
{
    (void)state;
    static const unsigned widths[] = {60, 61, 72, 100, 200};
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        struct hop_link_load *loads = random_loads(topology, 3);
        for (unsigned w = 0; w < HOP_COUNT(widths); w++) {
            struct hop_loads_options options = {.width = widths[w], .note = device_note, .context = topology};
            char *plain = hop_topology_to_loads(topology, loads, &options);
            options.colour = true;
            char *coloured = hop_topology_to_loads(topology, loads, &options);
            options.ascii = true;
            options.colour = false;
            char *ascii = hop_topology_to_loads(topology, loads, &options);
            assert_true(widest(plain) <= widths[w] && widest(coloured) <= widths[w] && widest(ascii) <= widths[w]);
            for (const char *c = ascii; *c; c++)
                assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
            assert_true(strstr(coloured, "\033[") && !strstr(plain, "\033"));
            /* Colours aside, the same. */
            char *to = coloured;
            for (const char *c = coloured; *c; c++) {
                if (*c == '\033')
                    c = strchr(c, 'm');
                else
                    *to++ = *c;
            }
            *to = '\0';
            assert_string_equal(coloured, plain);
            free(plain);
            free(coloured);
            free(ascii);
        }
        free(loads);
        hop_topology_destroy(topology);
    }
}

/* Where names are too long for the width, those of a machine's parts go without its own. */
static void long_names_lose_what_is_said_above(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology(CLUSTERS "two-dgx-a100.json");
    struct hop_link_load *loads = random_loads(topology, 8);
    struct hop_loads_options options = {.width = 140, .note = device_note, .context = topology};
    char *wide = hop_topology_to_loads(topology, loads, &options);
    options.width = 64;
    char *narrow = hop_topology_to_loads(topology, loads, &options);
    assert_non_null(strstr(wide, "─ node0.gpu3 "));
    assert_null(strstr(narrow, "─ node0.gpu3 "));
    assert_non_null(strstr(narrow, "─ gpu3 "));
    assert_non_null(strstr(narrow, "\nnode0.root0\n"));
    free(wide);
    free(narrow);
    free(loads);
    hop_topology_destroy(topology);
}

/* A bar's columns are its load's share of the largest one's, rounded up. */
static void bars_are_to_scale(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct hop_loads_options options = {.ascii = true, .width = 100};
    struct hop_link_load *loads = calloc(2 * (size_t)hop_topology_link_count(topology), sizeof *loads);
    assert_non_null(loads);
    for (uint32_t n = 0, k = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            loads[2 * hop_topology_upstream(topology, n)] = (struct hop_link_load){1e-3 * ++k, 5e-4 * k};
    }
    char *text = hop_topology_to_loads(topology, loads, &options);
    unsigned full;
    const char *scale = strstr(text, "a bar of ");
    assert_non_null(scale);
    assert_int_equal(sscanf(scale, "a bar of %u columns is 8.000 ms", &full), 1);
    uint32_t k = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        size_t length;
        if (hop_topology_node(topology, n)->kind != HOP_NODE_GPU)
            continue;
        k++;
        const char *line = line_of(text, hop_topology_node(topology, n)->name, &length);
        assert_non_null(line);
        unsigned both = 0, gone = 0;
        for (size_t i = length; i-- > 0 && (line[i] == '#' || line[i] == '-');) {
            both += line[i] == '#';
            gone += line[i] == '-';
        }
        assert_int_equal(both, (k * full + 15) / 16);
        assert_int_equal(both + gone, (k * full + 7) / 8);
    }
    free(text);
    free(loads);
    hop_topology_destroy(topology);
}

/* ---- large machines ---- */

static struct hop_topology *large_cluster(void)
{
    return parse_topology("c.json", "{\"cluster\": \"large\", \"nodes\": [{\"machine\": \"dgx-a100\", \"count\": 64}], "
                                    "\"fabric\": \"fat-tree:leaves=32,spines=8,hosts=16\"}");
}

/* The number behind a text, 0 where that is not there. */
static unsigned number_after(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    return at ? (unsigned)strtoul(at + strlen(before), NULL, 10) : 0;
}

static void what_is_left_out_adds_up(void **state)
{
    (void)state;
    struct hop_topology *topology = large_cluster();
    struct hop_link_load *loads = random_loads(topology, 1);
    uint32_t nodes = hop_topology_node_count(topology), rows = 0, more = 0, placed = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) { /* some machines have nothing to do */
        const char *name = hop_topology_node(topology, hop_topology_link(topology, l)->ends[0])->name;
        if (strncmp(name, "node3", 5) == 0)
            loads[2 * l] = loads[2 * l + 1] = (struct hop_link_load){0, 0};
    }
    struct hop_loads_options options = {.width = 120, .note = no_note};
    char *text = hop_topology_to_loads(topology, loads, &options);
    const char *line = strstr(text, "    after\n") + 10, *end = strstr(text, "\nand ");
    assert_non_null(end);
    assert_true(occurrences(text, "\n") < 250);
    for (; line < end; line = strchr(line, '\n') + 1) {
        const char *count = strstr(line, " more node");
        if (count && count < strchr(line, '\n')) {
            while (count[-1] >= '0' && count[-1] <= '9')
                count--;
            more += (uint32_t)strtoul(count, NULL, 10);
        } else {
            rows++;
        }
    }
    for (uint32_t n = 0; n < nodes; n++) /* what is in no tree and no device has no row */
        placed += hop_topology_node(topology, n)->kind != HOP_NODE_FABRIC &&
                  strncmp(strchr(hop_topology_node(topology, n)->name, '.')
                              ? strchr(hop_topology_node(topology, n)->name, '.')
                              : "",
                          ".nvswitch", 9) != 0;
    unsigned left_out = number_after(end, " trees ("), idle = number_after(end, "without load (");
    assert_true(left_out > 0 && idle > 0 && more > 0);
    assert_int_equal(rows + more + left_out + idle, placed);
    free(text);
    free(loads);
    hop_topology_destroy(topology);
}

/* The trees shown have the fullest links, and what is said of the others is their fullest. */
static void the_fullest_trees_are_shown(void **state)
{
    (void)state;
    struct hop_topology *topology = large_cluster();
    struct hop_link_load *loads = calloc(2 * (size_t)hop_topology_link_count(topology), sizeof *loads);
    assert_non_null(loads);
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU)
            loads[2 * hop_topology_upstream(topology, n)] = (struct hop_link_load){1e-3, 1e-3};
    }
    loads[2 * hop_topology_upstream(topology, find_node(topology, "node40.gpu1"))].before_s = 3e-3;
    loads[2 * hop_topology_upstream(topology, find_node(topology, "node50.gpu7"))].after_s = 2e-3;
    char *text = hop_topology_to_loads(topology, loads, NULL);
    size_t length;
    assert_non_null(line_of(text, "node40.gpu1", &length));
    assert_non_null(line_of(text, "node50.gpu7", &length));
    assert_null(line_of(text, "node63.gpu7", &length));
    assert_non_null(strstr(text, "at most 1.000 ms -> 1.000 ms\n"));
    free(text);
    free(loads);
    hop_topology_destroy(topology);
}

/* ---- drawings ---- */

/* Well-formed as far as our own writers can go wrong: every element closes in its turn, texts have no control
 * characters and only entities that are known, attributes are quoted. */
static void check_xml(const char *text)
{
    enum { DEPTH = 16 };
    char open[DEPTH][16];
    unsigned depth = 0, elements = 0;
    assert_non_null(text);
    for (const char *at = text; *at;) {
        unsigned length = hop_text_utf8(at);
        assert_true(length > 0 && ((unsigned char)*at >= 0x20 || *at == '\n') && *at != '>');
        if (*at == '&')
            assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0);
        if (*at != '<') {
            at += length;
            continue;
        }
        bool closes = at[1] == '/', quoted = false;
        const char *name = at + 1 + closes;
        size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz");
        assert_true(size > 0 && size < sizeof open[0]);
        for (at = name + size; *at && (*at != '>' || quoted); at++) {
            quoted ^= *at == '"';
            assert_int_not_equal(*at, '<');
        }
        assert_int_equal(*at, '>');
        if (closes) {
            assert_true(depth-- > 0 && strlen(open[depth]) == size && strncmp(open[depth], name, size) == 0);
        } else if (at[-1] != '/') {
            assert_true(depth < DEPTH && (depth > 0 || elements == 0));
            (void)snprintf(open[depth++], sizeof open[0], "%.*s", (int)size, name);
        }
        elements++;
        at++;
    }
    assert_true(depth == 0 && strncmp(text, "<svg ", 5) == 0);
}

static void drawings_have_every_loaded_link_before_and_after(void **state)
{
    (void)state;
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        struct hop_link_load *loads = random_loads(topology, 4);
        struct hop_loads_options options = {.note = device_note, .context = topology};
        char *svg = hop_topology_to_loads_svg(topology, loads, &options), start[300], title[400];
        check_xml(svg);
        assert_int_equal(occurrences(svg, ">before: "), 1);
        assert_int_equal(occurrences(svg, ">after: "), 1);
        assert_int_equal(occurrences(svg, "<path") - occurrences(svg, "</path>"),
                         most_of(topology, loads).before_s > 0 ? 7 : 0);
        for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
            const struct hop_link *link = hop_topology_link(topology, l);
            char forth[32], back[32];
            (void)snprintf(start, sizeof start, "<title>%s -- %s: ", hop_topology_node(topology, link->ends[0])->name,
                           hop_topology_node(topology, link->ends[1])->name);
            if (!is_loaded(loads, l))
                continue;
            if (occurrences(svg, start) % 2 != 0 || occurrences(svg, start) == 0)
                fail_msg("%s is %u times in the drawing of %s", start, occurrences(svg, start), machines[m]);
            for (unsigned after = 0; after < 2; after++) {
                double s[2];
                for (unsigned d = 0; d < 2; d++)
                    s[d] = after ? loads[2 * l + d].after_s : loads[2 * l + d].before_s;
                (void)snprintf(title, sizeof title, "%s%s %s, %s %s</title>", start,
                               hop_show_seconds(s[0], forth, sizeof forth), in_tree(link) ? "up" : "forth",
                               hop_show_seconds(s[1], back, sizeof back), in_tree(link) ? "down" : "back");
                assert_non_null(strstr(svg, title));
            }
        }
        free(svg);
        free(loads);
        hop_topology_destroy(topology);
    }
}

static const char *side_note(uint32_t node, bool after, void *context)
{
    const struct hop_topology *topology = context;
    if (hop_topology_node(topology, node)->kind != HOP_NODE_GPU)
        return NULL;
    return after ? "rank <after>" : "rank <before>";
}

/* Before and after have notes of their own, and what is not drawn is counted. */
static void each_drawing_has_its_notes_and_the_rest_is_counted(void **state)
{
    (void)state;
    static const char *const sources[] = {"t2", "helios", "dgx-1"};
    for (unsigned s = 0; s < HOP_COUNT(sources); s++) {
        struct hop_topology *topology = load_topology(sources[s]);
        struct hop_link_load *loads = calloc(2 * (size_t)hop_topology_link_count(topology), sizeof *loads);
        uint32_t gpus = count_kind(topology, HOP_NODE_GPU), missing = 0;
        loads[0] = (struct hop_link_load){0.001, 0.002};
        struct hop_loads_options options = {.note = device_note, .note_of = side_note, .context = topology};
        char *svg = hop_topology_to_loads_svg(topology, loads, &options), text[300], said[80];
        char *after = strstr(svg, ">after: ");
        check_xml(svg);
        assert_int_equal(occurrences(svg, ">rank &lt;before&gt;<"), gpus);
        assert_int_equal(occurrences(svg, ">rank &lt;after&gt;<"), gpus);
        assert_int_equal(occurrences(after, ">rank &lt;after&gt;<"), gpus);
        for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
            (void)snprintf(text, sizeof text, ">%s<", hop_topology_node(topology, n)->name);
            missing += !strstr(svg, text);
        }
        (void)snprintf(said, sizeof said, "; %u node%s without load ", missing, missing == 1 ? "" : "s");
        if (missing > 0)
            assert_non_null(strstr(svg, said));
        else
            assert_null(strstr(svg, "without load"));
        free(svg);
        free(loads);
        hop_topology_destroy(topology);
    }
}

static void drawings_of_large_clusters_stay_small(void **state)
{
    (void)state;
    struct hop_topology *topology = large_cluster();
    struct hop_link_load *loads = random_loads(topology, 8);
    uint32_t loaded = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++)
        loaded += is_loaded(loads, l);
    char *svg = hop_topology_to_loads_svg(topology, loads, NULL);
    check_xml(svg);
    assert_true(strlen(svg) < 600000);
    const char *left_out = strstr(svg, " links with load are not drawn");
    assert_non_null(left_out);
    while (left_out[-1] >= '0' && left_out[-1] <= '9')
        left_out--;
    unsigned missing = (unsigned)strtoul(left_out, NULL, 10);
    unsigned shown = 0;
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        char start[300];
        (void)snprintf(start, sizeof start, "<title>%s -- %s: ", hop_topology_node(topology, link->ends[0])->name,
                       hop_topology_node(topology, link->ends[1])->name);
        shown += is_loaded(loads, l) && strstr(svg, start);
    }
    assert_int_equal(shown + missing, loaded);
    assert_non_null(strstr(svg, " more trees ("));
    free(svg);
    free(loads);
    hop_topology_destroy(topology);
}

/* ---- odd input ---- */

static void nothing_to_carry_is_no_trouble(void **state)
{
    (void)state;
    for (unsigned m = 0; m < HOP_COUNT(machines); m++) {
        struct hop_topology *topology = load_topology(machines[m]);
        struct hop_link_load *loads = calloc(2 * (size_t)hop_topology_link_count(topology), sizeof *loads);
        assert_non_null(loads);
        struct hop_loads_options options = {.note = device_note, .context = topology};
        for (unsigned noted = 0; noted < 2; noted++) {
            char *text = hop_topology_to_loads(topology, loads, noted ? &options : NULL);
            char *svg = hop_topology_to_loads_svg(topology, loads, noted ? &options : NULL);
            assert_non_null(text);
            assert_null(strstr(text, "->  "));
            assert_null(strstr(text, "█"));
            check_xml(svg);
            assert_null(strstr(svg, "nan"));
            assert_null(strstr(svg, "inf\""));
            free(text);
            free(svg);
        }
        free(loads);
        hop_topology_destroy(topology);
    }
}

TEST_GROUP(loads)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_machine_reads_as_it_should),
        cmocka_unit_test(every_loaded_link_is_there_with_its_numbers),
        cmocka_unit_test(links_off_the_tree_are_sorted),
        cmocka_unit_test(widths_are_kept_in_all_variants),
        cmocka_unit_test(long_names_lose_what_is_said_above),
        cmocka_unit_test(bars_are_to_scale),
        cmocka_unit_test(what_is_left_out_adds_up),
        cmocka_unit_test(the_fullest_trees_are_shown),
        cmocka_unit_test(drawings_have_every_loaded_link_before_and_after),
        cmocka_unit_test(each_drawing_has_its_notes_and_the_rest_is_counted),
        cmocka_unit_test(drawings_of_large_clusters_stay_small),
        cmocka_unit_test(nothing_to_carry_is_no_trouble),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
