/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Breadth-first search, level by level, on R-MAT graphs as Graph500 has them, the second application of the APEnet+
 * paper (Ammendola et al. 2013). Ranks have vertices in a row, with their edges. In each level a rank looks at the
 * edges of the vertices that are new to it and tells the owners of what it finds, each vertex once in a search.
 *
 *     hopcast launch -n 4 bfs_apenet --scale 14 [--roots 64] [--torus 2x2x1] [--check]
 *     hopcast-shmemrun -n 4 bfs_shmem  ...
 *     bfs_apenet --scale 14 --edges FILE --from FILE --to FILE
 *     bfs_apenet --scale 20 --sampled --record FILE
 *
 * Traversed edges a second (TEPS) count the edges of the graph, doubles and loops too, in the part that was reached;
 * their mean is the harmonic one, as Graph500 asks. --check: each rank searches the whole graph alone, too; levels
 * must be the same, and a vertex' parent a neighbour one level before it. The third form reads another's edges (pairs
 * of 32 bits) and roots (64 bits) and writes, for each root, the root and the parents of all vertices, -1 for none,
 * as 64 bits (tests/apenet/graph500.py). The last one makes no edge: degrees are sampled, and what would be sent is recorded (rmat.h).
 *
 * A rank tells another one of at most --pairs vertices in a message. --place: messages lie in the host's memory or in a
 * GPU's (link.h).
 */
#include "link.h"
#include "rmat.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS_MOST = 1 << 20, ROOTS_MOST = 4096, SCALE_MOST = 30 };
#define NONE UINT32_MAX

/* "Your vertex can be reached from this one." */
struct pair {
    uint32_t vertex, parent;
};
/* A message; of a level and rank there are as many as some rank has to send. */
struct box {
    uint32_t count, more; /* more: this rank has not told all */
    struct pair pairs[];  /* options.pairs */
};
/* Of the vertices first to first + count - 1. */
struct part {
    uint32_t first, count;
    uint64_t *begin;     /* [count + 1]: their edges */
    uint32_t *to, *ends; /* ends: of edges, loops and doubles too, at each */
};
struct outbox {
    struct pair *pairs;
    size_t count, capacity, told;
};

static struct {
    uint32_t scale, degree, roots, pairs;
    uint64_t seed;
    const char *torus, *place, *edges, *from, *to, *record, *p2p;
    double edge_s; /* that a GPU takes for an edge, in what is recorded */
    int check, sampled;
} options = {.scale = 14, .degree = 16, .roots = 64, .pairs = 4096, .seed = 1, .p2p = "on", .edge_s = 1e-9};

static struct {
    uint32_t vertices, chunk; /* chunk: of a rank */
    uint64_t edge_count;
    struct rmat_edge *edges;
    struct part part;
    uint32_t *parent, *level; /* of own vertices; NONE */
    uint32_t *frontier, *next, frontier_count, next_count;
    uint8_t *told; /* a bit a vertex: its owner has heard of it */
    struct outbox *outboxes;
    struct box *box; /* one, here */
    unsigned turn;
} s;

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        link_fail("out of memory", "");
    return memory;
}

/* ---- the graph ---- */

static struct rmat graph(void)
{
    return (struct rmat){.scale = options.scale, .degree = options.degree, .seed = options.seed};
}

static void read_all(const char *path, void *to, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fread(to, 1, bytes, file) != bytes)
        link_fail(path, "cannot be read, or is too short");
    (void)fclose(file);
}

static uint64_t items_of(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        link_fail(path, "cannot be read");
    uint64_t items = (uint64_t)ftell(file) / size;
    (void)fclose(file);
    return items;
}

static void make_edges(void)
{
    const struct rmat drawn = graph();
    s.edge_count = options.edges ? items_of(options.edges, sizeof *s.edges) : (uint64_t)options.degree << options.scale;
    s.edges = room(s.edge_count, sizeof *s.edges);
    if (options.edges)
        read_all(options.edges, s.edges, s.edge_count * sizeof *s.edges);
    for (uint64_t e = 0; e < s.edge_count; e++) {
        if (!options.edges)
            s.edges[e] = rmat_draw(&drawn, e);
        if (s.edges[e].ends[0] >= s.vertices || s.edges[e].ends[1] >= s.vertices)
            link_fail(options.edges, "has vertices beyond the scale");
    }
}

/* Both directions of each edge but loops, at the vertex where they begin. */
static void make_part(struct part *part, uint32_t first, uint32_t count)
{
    *part = (struct part){.first = first, .count = count};
    part->begin = room((size_t)count + 2, sizeof *part->begin);
    part->ends = room(count, sizeof *part->ends);
    for (uint64_t e = 0; e < s.edge_count; e++) {
        const struct rmat_edge *edge = &s.edges[e];
        for (int i = 0; i < 2; i++) {
            const uint32_t v = edge->ends[i] - first;
            if (v >= count)
                continue;
            part->ends[v]++;
            part->begin[v + 2] += edge->ends[0] != edge->ends[1];
        }
    }
    for (uint32_t v = 0; v < count; v++)
        part->begin[v + 2] += part->begin[v + 1];
    part->to = room(part->begin[count + 1], sizeof *part->to);
    for (uint64_t e = 0; e < s.edge_count; e++) {
        const struct rmat_edge *edge = &s.edges[e];
        for (int i = 0; i < 2 && edge->ends[0] != edge->ends[1]; i++) {
            if (edge->ends[i] - first < count)
                part->to[part->begin[edge->ends[i] - first + 1]++] = edge->ends[!i];
        }
    }
}

/* ---- a search ---- */

static void reach(uint32_t vertex, uint32_t parent, uint32_t level)
{
    const uint32_t v = vertex - s.part.first;
    if (s.level[v] != NONE)
        return;
    s.level[v] = level;
    s.parent[v] = parent;
    s.next[s.next_count++] = vertex;
}

static void tell(uint32_t vertex, uint32_t parent)
{
    struct outbox *out = &s.outboxes[vertex / s.chunk];
    if (s.told[vertex / 8] & 1u << vertex % 8)
        return;
    s.told[vertex / 8] |= (uint8_t)(1u << vertex % 8);
    if (out->count == out->capacity) {
        out->capacity = out->capacity ? 2 * out->capacity : 1024;
        out->pairs = realloc(out->pairs, out->capacity * sizeof *out->pairs);
        if (!out->pairs)
            link_fail("out of memory", "");
    }
    out->pairs[out->count++] = (struct pair){vertex, parent};
}

static void scan_frontier(uint32_t level)
{
    uint64_t edges = 0;
    for (uint32_t f = 0; f < s.frontier_count; f++) {
        const uint32_t from = s.frontier[f], v = from - s.part.first;
        edges += s.part.begin[v + 1] - s.part.begin[v];
        for (uint64_t e = s.part.begin[v]; e < s.part.begin[v + 1]; e++) {
            const uint32_t to = s.part.to[e];
            if (to - s.part.first < s.part.count)
                reach(to, from, level);
            else
                tell(to, from);
        }
    }
    link_record_work((double)edges * options.edge_s);
}

static size_t box_bytes(void)
{
    return offsetof(struct box, pairs) + options.pairs * sizeof(struct pair);
}

static void send_box(int to, size_t at, struct outbox *out, uint32_t more)
{
    struct box *box = s.box;
    const size_t left = out->count - out->told, mine = at + (size_t)link_rank(), theirs = at + (size_t)to;
    box->more = more;
    box->count = (uint32_t)(left < options.pairs ? left : options.pairs);
    if (box->count > 0)
        memcpy(box->pairs, out->pairs + out->told, box->count * sizeof *box->pairs);
    out->told += box->count;
    const size_t bytes = offsetof(struct box, pairs) + box->count * sizeof *box->pairs;
    link_write(theirs * box_bytes(), box, bytes);
    link_put(to, mine * box_bytes(), theirs * box_bytes(), bytes);
}

static uint32_t take_box(size_t at, uint32_t level)
{
    struct box *box = s.box;
    const size_t head = offsetof(struct box, pairs);
    link_read(box, at * box_bytes(), head);
    if (box->count > 0)
        link_read(box->pairs, at * box_bytes() + head, box->count * sizeof *box->pairs);
    for (uint32_t p = 0; p < box->count; p++)
        reach(box->pairs[p].vertex, box->pairs[p].parent, level);
    return box->more;
}

/* One message to each other rank, and one from each. Whether some rank has more to tell. */
static int exchange(uint32_t level)
{
    const int size = link_size(), me = link_rank();
    const size_t at = s.turn++ % 2 * (size_t)size;
    uint32_t more = 0;
    for (int r = 0; r < size; r++)
        more |= s.outboxes[r].count - s.outboxes[r].told > options.pairs;
    for (int i = 1; i < size; i++)
        send_box((me + i) % size, at, &s.outboxes[(me + i) % size], more);
    for (int i = 1; i < size; i++) {
        const int from = (me + size - i) % size;
        link_wait(from);
        more |= take_box(at + (size_t)from, level);
    }
    return more != 0;
}

static uint64_t sum(uint64_t mine)
{
    uint64_t total = 0, *all = room((size_t)link_size(), sizeof *all);
    link_gather(&mine, sizeof mine, all);
    for (int r = 0; r < link_size(); r++)
        total += all[r];
    free(all);
    return total;
}

static void search(uint32_t root)
{
    s.frontier_count = s.next_count = 0;
    memset(s.level, 0xff, s.part.count * sizeof *s.level);
    memset(s.parent, 0xff, s.part.count * sizeof *s.parent);
    memset(s.told, 0, s.vertices / 8 + 1);
    if (root - s.part.first < s.part.count)
        reach(root, root, 0);
    for (uint32_t level = 1; sum(s.next_count) > 0; level++) {
        uint32_t *empty = s.frontier;
        s.frontier = s.next;
        s.next = empty;
        s.frontier_count = s.next_count;
        s.next_count = 0;
        for (int r = 0; r < link_size(); r++)
            s.outboxes[r].count = s.outboxes[r].told = 0;
        scan_frontier(level);
        while (exchange(level))
            ;
    }
}

static double edges_reached(void)
{
    uint64_t ends = 0;
    for (uint32_t v = 0; v < s.part.count; v++)
        ends += s.level[v] == NONE ? 0 : s.part.ends[v];
    return (double)sum(ends) / 2;
}

/* ---- checking ---- */

/* By a queue, over the whole graph. */
static void search_alone(const struct part *all, uint32_t root, uint32_t *level, uint32_t *queue)
{
    uint32_t first = 0, end = 1;
    memset(level, 0xff, all->count * sizeof *level);
    queue[0] = root;
    level[root] = 0;
    while (first < end) {
        const uint32_t v = queue[first++];
        for (uint64_t e = all->begin[v]; e < all->begin[v + 1]; e++) {
            const uint32_t to = all->to[e];
            if (level[to] == NONE)
                queue[end++] = to;
            level[to] = level[to] == NONE ? level[v] + 1 : level[to];
        }
    }
}

static int is_neighbour(const struct part *all, uint32_t v, uint32_t of)
{
    for (uint64_t e = all->begin[v]; e < all->begin[v + 1]; e++) {
        if (all->to[e] == of)
            return 1;
    }
    return 0;
}

static int is_right(const struct part *all, uint32_t root, const uint32_t *level)
{
    for (uint32_t i = 0; i < s.part.count; i++) {
        const uint32_t v = s.part.first + i, parent = s.parent[i];
        if (s.level[i] != level[v] || (parent == NONE) != (level[v] == NONE))
            return 0;
        if (parent == NONE || (v == root && parent == root))
            continue;
        if (parent >= all->count || level[parent] + 1 != level[v] || !is_neighbour(all, v, parent))
            return 0;
    }
    return 1;
}

/* ---- the program ---- */

static uint32_t *make_roots(void)
{
    const struct part *p = &s.part;
    uint32_t *roots = room(ROOTS_MOST, sizeof *roots), count = 0;
    if (options.from) {
        uint64_t *given = room(options.roots, sizeof *given);
        read_all(options.from, given, options.roots * sizeof *given);
        for (; count < options.roots; count++)
            roots[count] = (uint32_t)given[count];
        free(given);
        return roots;
    }
    for (uint64_t tried = 0; count < options.roots && tried < 100 * (uint64_t)options.roots; tried++) {
        const uint32_t v = (uint32_t)(rmat_mix(options.seed ^ rmat_mix(tried)) & (s.vertices - 1)), own = v - p->first;
        if (sum(own < p->count && p->begin[own + 1] > p->begin[own]) > 0) /* it has a neighbour */
            roots[count++] = v;
    }
    options.roots = count;
    return roots;
}

static void write_parents(int file, uint32_t number, uint32_t root)
{
    const off_t at = (off_t)number * (off_t)(s.vertices + 1) * (off_t)sizeof(int64_t);
    int64_t *parents = room(s.part.count, sizeof *parents), own = root;
    for (uint32_t v = 0; v < s.part.count; v++)
        parents[v] = s.parent[v] == NONE ? -1 : (int64_t)s.parent[v];
    const size_t bytes = s.part.count * sizeof *parents;
    if ((link_rank() == 0 && pwrite(file, &own, sizeof own, at) != (ssize_t)sizeof own) ||
        pwrite(file, parents, bytes, at + (off_t)((s.part.first + 1) * sizeof own)) != (ssize_t)bytes)
        link_fail(options.to, "cannot be written");
    free(parents);
}

static void create(void)
{
    const size_t size = (size_t)link_size();
    make_edges();
    const uint64_t first = (uint64_t)s.chunk * (uint64_t)link_rank(),
                   left = first < s.vertices ? s.vertices - first : 0;
    make_part(&s.part, (uint32_t)first, (uint32_t)(left < s.chunk ? left : s.chunk));
    s.parent = room(s.part.count, sizeof *s.parent);
    s.level = room(s.part.count, sizeof *s.level);
    s.frontier = room(s.part.count, sizeof *s.frontier);
    s.next = room(s.part.count, sizeof *s.next);
    s.told = room(s.vertices / 8 + 1, 1);
    s.outboxes = room(size, sizeof *s.outboxes);
    s.box = room(1, box_bytes());
}

static void destroy_part(struct part *part)
{
    free(part->begin);
    free(part->to);
    free(part->ends);
}

static void destroy(void)
{
    destroy_part(&s.part);
    free(s.edges);
    free(s.parent);
    free(s.level);
    free(s.frontier);
    free(s.next);
    free(s.told);
    for (int r = 0; r < link_size(); r++)
        free(s.outboxes[r].pairs);
    free(s.outboxes);
    free(s.box);
}

/* ---- a search without its graph ---- */

static void record_level(const double *edges, const uint64_t *told, void *context)
{
    const uint64_t size = (uint64_t)link_size(), me = (uint64_t)link_rank();
    uint64_t most = 1;
    (void)context;
    link_record_gather(sizeof(uint64_t));
    link_record_work(edges[me] * options.edge_s);
    for (uint64_t pair = 0; pair < size * size; pair++)
        most = told[pair] > most ? told[pair] : most;
    for (uint64_t first = 0; first < most; first += options.pairs) {
        for (uint64_t i = 1; i < size; i++) {
            const uint64_t to = (me + i) % size, all = told[me * size + to], left = all > first ? all - first : 0;
            const uint64_t pairs = left < options.pairs ? left : options.pairs;
            link_record_put((int)to, offsetof(struct box, pairs) + pairs * sizeof(struct pair), 0);
        }
        for (uint64_t i = 1; i < size; i++)
            link_record_wait((int)((me + size - i) % size));
    }
}

static int run_sampled(void)
{
    const struct rmat drawn = graph();
    double edges = 0;
    link_record_begin(options.record, options.p2p);
    for (uint64_t tried = 0; edges == 0; tried++) {
        const uint32_t root = (uint32_t)(rmat_mix(options.seed ^ rmat_mix(tried)) & (s.vertices - 1));
        edges = rmat_search(&drawn, (uint32_t)link_size(), s.chunk, root, record_level, NULL);
    }
    if (edges < 0)
        link_fail("out of memory", "");
    link_record_gather(sizeof(uint64_t));
    link_record_end();
    if (link_rank() == 0)
        (void)printf("a search of 2^%u vertices on %d ranks, whose degrees are sampled: %.0f edges reached (mean)\n",
                     options.scale, link_size(), edges);
    return 0;
}

static int run(void)
{
    create();
    struct part all = {0};
    uint32_t *roots = make_roots(), *level = room(s.vertices, sizeof *level), *queue = room(s.vertices, sizeof *queue);
    const int file = options.to ? open(options.to, O_WRONLY | O_CREAT, 0666) : -1;
    double inverse = 0, edges = 0;
    uint64_t wrong = 0;
    if (options.check)
        make_part(&all, 0, s.vertices);
    if (options.to && file < 0)
        link_fail(options.to, "cannot be written");
    for (uint32_t r = 0; r < options.roots; r++) {
        link_barrier();
        if (options.record && r == 0)
            link_record_begin(options.record, options.p2p);
        const double begun_s = link_now_s();
        search(roots[r]);
        const double took_s = link_now_s() - begun_s;
        if (options.record && r == 0)
            link_record_end();
        const double reached = edges_reached();
        inverse += took_s / reached;
        edges += reached;
        if (options.check)
            search_alone(&all, roots[r], level, queue);
        wrong += sum(options.check && !is_right(&all, roots[r], level));
        if (file >= 0)
            write_parents(file, r, roots[r]);
    }
    if (file >= 0)
        (void)close(file);
    if (link_rank() == 0) {
        (void)printf("%u searches of 2^%u vertices and %.0f edges on %d ranks, by %s\n", options.roots, options.scale,
                     (double)s.edge_count, link_size(), link_name());
        (void)printf("%.3g edges a second (harmonic mean), %.0f edges reached (mean)\n", options.roots / inverse,
                     edges / options.roots);
        if (options.check)
            (void)printf("levels and parents are %s\n", wrong ? "WRONG" : "right");
    }
    free(roots);
    free(level);
    free(queue);
    destroy_part(&all);
    destroy();
    return wrong > 0;
}

static int usage(void)
{
    (void)fprintf(
        stderr,
        "bfs [--scale N] [--degree N] [--roots N] [--seed N] [--pairs N] [--torus XxYxZ] [--place host|gpu|cuda|hip]\n"
        "    [--check] [--edges FILE --from FILE --to FILE]\n"
        "    [--record FILE [--sampled]] [--p2p on|rx|off|copies] [--edge-time SECONDS]\n");
    return 2;
}

static int read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"scale", required_argument, NULL, 'n'},       {"degree", required_argument, NULL, 'd'},
        {"roots", required_argument, NULL, 'r'},       {"pairs", required_argument, NULL, 'm'},
        {"seed", required_argument, NULL, 's'},        {"torus", required_argument, NULL, 't'},
        {"place", required_argument, NULL, 'l'},       {"edges", required_argument, NULL, 'e'},
        {"from", required_argument, NULL, 'f'},        {"to", required_argument, NULL, 'o'},
        {"record", required_argument, NULL, 'w'},      {"p2p", required_argument, NULL, 'p'},
        {"edge-time", required_argument, NULL, 'g'},   {"check", no_argument, &options.check, 1},
        {"sampled", no_argument, &options.sampled, 1}, {NULL, 0, NULL, 0}};
    static const char number_of[] = "ndrm", text_of[] = "tlefowp";
    uint32_t *const numbers[] = {&options.scale, &options.degree, &options.roots, &options.pairs};
    const char **const texts[] = {&options.torus, &options.place,  &options.edges, &options.from,
                                  &options.to,    &options.record, &options.p2p};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        const char *number = option ? strchr(number_of, option) : NULL, *text = option ? strchr(text_of, option) : NULL;
        if (option == '?')
            return 0;
        if (option == 's')
            options.seed = strtoull(optarg, NULL, 10);
        if (option == 'g')
            options.edge_s = strtod(optarg, NULL);
        if (number)
            *numbers[number - number_of] = (uint32_t)strtoul(optarg, NULL, 10);
        if (text)
            *texts[text - text_of] = optarg;
    }
    return optind == argc && options.scale >= 1 && options.scale <= SCALE_MOST && options.degree >= 1 &&
           options.roots >= 1 && options.roots <= ROOTS_MOST && !options.edges == !options.from && options.pairs >= 1 &&
           options.pairs <= PAIRS_MOST && (!options.sampled || options.record);
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv))
        return usage();
    const size_t boxes = options.sampled ? 0 : 2 * box_bytes();
    link_begin(
        &(struct link_needs){.in_a_rank = boxes, .out_a_rank = boxes, .torus = options.torus, .place = options.place});
    s.vertices = UINT32_C(1) << options.scale;
    s.chunk = (uint32_t)((s.vertices + (uint32_t)link_size() - 1) / (uint32_t)link_size());
    int status = options.sampled ? run_sampled() : run();
    link_end();
    return status;
}
