/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clusters against the oracle: random servers on random fabrics, random schedules across them, and the whole evolution
 * in time once more from the definitions in docs/models.md.
 *
 *     gpu gpu nic   gpu nic          Servers have one root complex, up to two switches below it, GPUs, NICs, host
 *       \  |  /       | /            memory, and sometimes NVLink between all GPUs. A fabric is one switch, or leaves
 *       switch     switch  host      and spines. What is taken from the library are the routes alone.
 *           \        /     /
 *             root --------          Domains, max-min, penalties, how domains agree, engines, queues, latency and the
 *                                    event loop are the oracle's own; the model pcie is that of tests/oracle.
 *
 * With `fair` in every domain the rates are max-min over all links at once, which is the definition, not the way there.
 * Every case follows from its printed number. Many cases have more than 64 routes, many have fewer: the library has a way
 * of its own for either. Set HOP_CASES to run more of them.
 */
#include "hopcast/hopcast.h"
#include "oracle/oracle.h"
#include "test.h"

#include <math.h>

enum {
    MAX_NODES = 128,
    MAX_LINKS = 512, /* directed */
    MAX_JOBS = 192,
    MAX_LENGTH = 12,
    MAX_PARTS = 5,
    MAX_SERVERS = 6,
    MAX_DEPENDENCIES = 3,
    PER_SERVER = 31 /* jobs that touch a server, within what the oracle of pcie can do at once */
};

enum model { FAIR, PCIE, PENALTY, PENALTY_FULL, MODELS };
static const char *const model_names[] = {"fair", "pcie", "infiniband", "infiniband-full"};

/* ---- random numbers ---- */

static uint64_t next_random(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int pick(uint64_t *seed, int count)
{
    return (int)(next_random(seed) % (uint64_t)count);
}

static double fraction(uint64_t *seed)
{
    return (double)(next_random(seed) >> 11) * 0x1p-53;
}

/* ---- clusters ---- */

struct server {
    int root;
    struct oracle_tree tree; /* its PCIe, for the oracle's model pcie */
};

struct cluster {
    struct hop_topology *topology;
    int servers, switches; /* switches of the fabric */
    struct server server[MAX_SERVERS];
    int server_of[MAX_NODES], tree_node[MAX_NODES];
    int ends[MAX_NODES], end_count; /* nodes where transfers start and end */
    bool engine[MAX_NODES];         /* sends one transfer at a time over PCIe */
    int links;                      /* directed */
    double capacity[MAX_LINKS];
    int domain[MAX_LINKS], domain_count;
    bool is_pcie[MAX_LINKS], is_fabric[MAX_LINKS]; /* by domain */
    int tail[MAX_LINKS], head[MAX_LINKS];
};

enum capacities { EQUAL, STEPS, ANY, CAPACITY_KINDS };

static double random_capacity(uint64_t *seed, enum capacities kind)
{
    static const double steps[] = {0.25, 0.5, 1, 2};
    return 1e9 * (kind == EQUAL ? 1 : kind == STEPS ? steps[pick(seed, 4)] : 0.2 + 2 * fraction(seed));
}

static int add_node(struct cluster *c, enum hop_node_kind kind, int server, const char *name, int number)
{
    char full[48];
    uint32_t index;
    if (server >= 0)
        (void)snprintf(full, sizeof full, "n%d.%s%d", server, name, number);
    else
        (void)snprintf(full, sizeof full, "%s%d", name, number);
    struct hop_node node = hop_node_default(kind, full);
    CHECK(hop_topology_add_node(c->topology, &node, &index, D));
    assert_true(index < MAX_NODES);
    c->server_of[index] = server;
    if (hop_node_is_device(kind) && server >= 0)
        c->ends[c->end_count++] = (int)index;
    c->engine[index] = kind == HOP_NODE_GPU;
    return (int)index;
}

static void add_link(struct cluster *c, enum hop_link_kind kind, int from, int to, double there, double back,
                     double latency_s)
{
    struct hop_link link = hop_link_default(kind, (uint32_t)from, (uint32_t)to);
    link.capacity_Bps[0] = there;
    link.capacity_Bps[1] = back;
    link.latency_s = latency_s;
    CHECK(hop_topology_add_link(c->topology, &link, NULL, D));
}

struct style {
    enum capacities inside, outside;
    double latency_s;
    bool nvlink;
};

/* A node below another of the same server, in the topology and in the oracle's tree. */
static int add_below(struct cluster *c, uint64_t *seed, const struct style *style, int server, int above,
                     enum hop_node_kind kind, const char *name, int number)
{
    enum oracle_kind other = kind == HOP_NODE_SWITCH ? ORACLE_SWITCH
                             : kind == HOP_NODE_HOST ? ORACLE_MEMORY
                                                     : ORACLE_DEVICE;
    int node = add_node(c, kind, server, name, number);
    double up = random_capacity(seed, style->inside), down = style->inside == ANY ? random_capacity(seed, ANY) : up;
    add_link(c, kind == HOP_NODE_HOST ? HOP_LINK_MEMORY : HOP_LINK_PCIE, node, above, up, down, style->latency_s);
    c->tree_node[node] = oracle_tree_add(&c->server[server].tree, c->tree_node[above], other, up, down);
    return node;
}

/* Fills nics[] from *count on. */
static void add_server(struct cluster *c, uint64_t *seed, const struct style *style, int server, int *nics, int *count)
{
    int gpu[8], gpus = 0, own = 0, root = add_node(c, HOP_NODE_ROOT, server, "root", 0), below = 1 + pick(seed, 2);
    struct oracle_tree *tree = &c->server[server].tree;
    oracle_tree_clear(tree, 0.2);
    c->server[server].root = root;
    c->tree_node[root] = oracle_tree_add(tree, -1, ORACLE_ROOT, 0, 0);
    (void)add_below(c, seed, style, server, root, HOP_NODE_HOST, "host", 0);
    for (int s = 0; s < below; s++) {
        int middle = add_below(c, seed, style, server, root, HOP_NODE_SWITCH, "switch", s);
        for (int g = 1 + pick(seed, 3); g > 0; g--, gpus++)
            gpu[gpus] = add_below(c, seed, style, server, middle, HOP_NODE_GPU, "gpu", gpus);
        if (s == 0 || pick(seed, 2))
            nics[(*count)++] = add_below(c, seed, style, server, middle, HOP_NODE_NIC, "nic", own++);
    }
    for (int a = 0; style->nvlink && a < gpus; a++) {
        for (int b = 0; b < a; b++)
            add_link(c, HOP_LINK_NVLINK, gpu[a], gpu[b], 2e9, 2e9, style->latency_s);
    }
}

static void add_fabric(struct cluster *c, uint64_t *seed, const struct style *style, const int *nics, int count)
{
    int leaves = pick(seed, 3) ? 2 + pick(seed, 3) : 1, spines = leaves > 1 ? 1 + pick(seed, 3) : 0, leaf[4];
    enum hop_link_kind kind = pick(seed, 2) ? HOP_LINK_INFINIBAND : HOP_LINK_ETHERNET;
    c->switches = leaves + spines;
    for (int l = 0; l < leaves; l++)
        leaf[l] = add_node(c, HOP_NODE_FABRIC, -1, "leaf", l);
    for (int s = 0; s < spines; s++) {
        int spine = add_node(c, HOP_NODE_FABRIC, -1, "spine", s);
        for (int l = 0; l < leaves; l++) {
            double capacity = random_capacity(seed, style->outside);
            add_link(c, kind, leaf[l], spine, capacity, capacity, style->latency_s);
        }
    }
    for (int n = 0; n < count; n++) {
        double capacity = random_capacity(seed, style->outside);
        add_link(c, kind, nics[n], leaf[n < leaves ? n : pick(seed, leaves)], capacity, capacity, style->latency_s);
    }
}

static int family(enum hop_link_kind kind)
{
    return kind == HOP_LINK_PCIE || kind == HOP_LINK_MEMORY || kind == HOP_LINK_SOCKET ? HOP_LINK_PCIE : (int)kind;
}

/* Domains by spreading the lowest link number over neighbours of one family. */
static void find_domains(struct cluster *c)
{
    int kind[MAX_LINKS];
    c->links = 2 * (int)hop_topology_link_count(c->topology);
    assert_true(c->links <= MAX_LINKS);
    for (int l = 0; l < c->links; l++) {
        const struct hop_link *link = hop_topology_link(c->topology, (uint32_t)l / 2);
        kind[l] = family(link->kind);
        c->capacity[l] = link->capacity_Bps[l % 2];
        c->tail[l] = (int)link->ends[l % 2];
        c->head[l] = (int)link->ends[1 - l % 2];
        c->domain[l] = l;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int a = 0; a < c->links; a++) {
            for (int b = 0; b < c->links; b++) {
                bool touch = c->tail[a] == c->tail[b] || c->tail[a] == c->head[b];
                if (kind[a] == kind[b] && touch && c->domain[b] < c->domain[a]) {
                    c->domain[a] = c->domain[b];
                    changed = true;
                }
            }
        }
    }
    for (int l = 0; l < c->links; l++) {
        c->is_pcie[c->domain[l]] = kind[l] == HOP_LINK_PCIE;
        c->is_fabric[c->domain[l]] = kind[l] == HOP_LINK_INFINIBAND || kind[l] == HOP_LINK_ETHERNET;
    }
}

static void cluster_make(struct cluster *c, uint64_t *seed)
{
    static const double latencies_s[] = {0, 0, 1e-3};
    struct style style = {(enum capacities)pick(seed, CAPACITY_KINDS), (enum capacities)pick(seed, CAPACITY_KINDS),
                          latencies_s[pick(seed, 3)], pick(seed, 3) == 0};
    int nics[2 * MAX_SERVERS], count = 0;
    memset(c, 0, sizeof *c);
    c->topology = hop_topology_create("random");
    c->servers = 2 + pick(seed, MAX_SERVERS - 1);
    for (int s = 0; s < c->servers; s++)
        add_server(c, seed, &style, s, nics, &count);
    add_fabric(c, seed, &style, nics, count);
    CHECK(hop_topology_finish(c->topology, D));
    CHECK(hop_topology_set_parameter(c->topology, "tau", 0.2, "test", NAN, D));
    find_domains(c);
}

/* ---- jobs ---- */

struct part {
    int domain, first, count; /* links of the path */
};

struct job {
    bool is_work;
    int from, to, length, link[MAX_LENGTH], parts;
    struct part part[MAX_PARTS + 1]; /* behind the last one: all of it */
    double bytes, at_s, latency_s, duration_s;
    int after[MAX_DEPENDENCIES], after_count;
    int after_start[MAX_DEPENDENCIES], after_start_count;
};

struct program {
    int count;
    bool queue_ready;
    bool whole; /* the library takes all active transfers together */
    struct job job[MAX_JOBS];
};

/* The library's route, cut where the domain changes. */
static void take_route(const struct cluster *c, struct hop_router *router, struct job *job)
{
    uint32_t index;
    CHECK(hop_router_find(router, (uint32_t)job->from, (uint32_t)job->to, &index, D));
    const struct hop_route *route = hop_router_route(router, index);
    assert_true(route->link_count <= MAX_LENGTH && isinf(route->ceiling_Bps));
    int at = job->from;
    job->length = (int)route->link_count;
    for (int i = 0; i < job->length; i++) {
        int l = job->link[i] = (int)route->links[i];
        assert_int_equal(c->tail[l], at);
        at = c->head[l];
        if (i == 0 || c->domain[l] != c->domain[job->link[i - 1]])
            job->part[job->parts++] = (struct part){c->domain[l], i, 0};
        job->part[job->parts - 1].count++;
        job->latency_s += hop_topology_link(c->topology, (uint32_t)l / 2)->latency_s;
    }
    assert_int_equal(at, job->to);
    assert_true(job->parts <= MAX_PARTS);
    job->part[job->parts] = (struct part){-1, 0, job->length};
}

static void random_dependencies(uint64_t *seed, int index, int likely, int *list, int *count)
{
    for (int d = 0; index > 0 && d < MAX_DEPENDENCIES; d++) {
        int on = pick(seed, index);
        bool twice = false;
        for (int k = 0; k < *count; k++)
            twice = twice || list[k] == on;
        if (!twice && pick(seed, likely) == 0)
            list[(*count)++] = on;
    }
}

static void program_make(const struct cluster *c, enum model model, uint64_t *seed, struct hop_router *router,
                         struct program *program)
{
    static const int counts[] = {6, 20, 60, MAX_JOBS};
    int kind = pick(seed, 4), wanted = kind == 3 ? 110 + pick(seed, MAX_JOBS - 110) : 1 + pick(seed, counts[kind]),
        likely = pick(seed, 2) ? 6 : 40, among = c->end_count;
    bool equal = pick(seed, 2), across = pick(seed, 2), times = pick(seed, 2), works = pick(seed, 3) == 0;
    int touches[MAX_SERVERS] = {0}, most = model == PCIE || model == PENALTY ? PER_SERVER : MAX_JOBS;
    if (pick(seed, 4) == 0 && among > 4)
        among = 4;
    program->queue_ready = pick(seed, 2);
    program->count = 0;
    for (int tries = 0; tries < 2 * wanted && program->count < wanted; tries++) {
        struct job *job = &program->job[program->count];
        *job = (struct job){.from = c->ends[pick(seed, among)], .to = c->ends[pick(seed, c->end_count)]};
        int *a = &touches[c->server_of[job->from]], *b = &touches[c->server_of[job->to]];
        job->is_work = works && pick(seed, 5) == 0;
        if (!job->is_work && (job->from == job->to || *a >= most || *b >= most || (across && a == b)))
            continue;
        if (job->is_work) {
            job->duration_s = 3e-3 * (1 + pick(seed, 5));
        } else {
            ++*a;
            *b += a != b;
            /* With `queue ready`, no chain of things that happen at one instant: their order would matter. */
            job->bytes = equal                                          ? 1e7
                         : !program->queue_ready && pick(seed, 12) == 0 ? 0
                                                                        : 1 + pick(seed, 1 << pick(seed, 25));
            take_route(c, router, job);
        }
        if (times && pick(seed, 3) == 0)
            job->at_s = pick(seed, 2) ? 0.1 * fraction(seed) : 0.01 * (1 + pick(seed, 6));
        random_dependencies(seed, program->count, likely, job->after, &job->after_count);
        if (!program->queue_ready)
            random_dependencies(seed, program->count, 3 * likely, job->after_start, &job->after_start_count);
        program->count++;
    }
}

/* ---- rates ---- */

/* What is asked in one domain: of some of the active jobs one part each. */
struct question {
    int count;
    int job[MAX_JOBS], part[MAX_JOBS];
    double cap[MAX_JOBS], rate[MAX_JOBS];
};

static bool uses(const struct job *job, const struct part *part, int link)
{
    for (int i = part->first; i < part->first + part->count; i++) {
        if (job->link[i] == link)
            return true;
    }
    return false;
}

/* Max-min: again and again the least level at which a link is full or a cap is reached; those stop there. */
static void fair(const struct cluster *c, const struct program *p, struct question *q)
{
    bool stopped[MAX_JOBS] = {false};
    for (int left = q->count; left > 0;) {
        double level = INFINITY, full_at[MAX_LINKS];
        for (int l = 0; l < c->links; l++) {
            double room = c->capacity[l];
            int rising = 0;
            for (int f = 0; f < q->count; f++) {
                if (!uses(&p->job[q->job[f]], &p->job[q->job[f]].part[q->part[f]], l))
                    continue;
                rising += !stopped[f];
                room -= stopped[f] ? q->rate[f] : 0;
            }
            full_at[l] = rising > 0 ? fmax(room, 0) / rising : INFINITY;
            level = fmin(level, full_at[l]);
        }
        for (int f = 0; f < q->count; f++)
            level = stopped[f] ? level : fmin(level, q->cap[f]);
        for (int f = 0; f < q->count; f++) {
            const struct job *job = &p->job[q->job[f]];
            bool stops = !stopped[f] && q->cap[f] <= level * (1 + 1e-12);
            for (int l = 0; l < c->links && !stopped[f] && !stops; l++)
                stops = full_at[l] <= level * (1 + 1e-12) && uses(job, &job->part[q->part[f]], l);
            if (stops) {
                q->rate[f] = level;
                stopped[f] = true;
                left--;
            }
        }
    }
}

/* The oracle's pcie knows no caps: a transfer with one starts at a leaf of its own, behind a link as narrow as the cap,
 * below its source. */
static void pcie(const struct cluster *c, const struct program *p, struct question *q)
{
    struct oracle_transfer transfers[ORACLE_TRANSFERS];
    static struct oracle_pcie result;
    const struct job *any = &p->job[q->job[0]];
    struct oracle_tree tree = c->server[c->server_of[c->tail[any->link[any->part[q->part[0]].first]]]].tree;
    assert_true(q->count <= ORACLE_TRANSFERS);
    for (int f = 0; f < q->count; f++) {
        const struct job *job = &p->job[q->job[f]];
        const struct part *part = &job->part[q->part[f]];
        int tail = c->tail[job->link[part->first]], head = c->head[job->link[part->first + part->count - 1]];
        double first = c->capacity[job->link[part->first]];
        transfers[f] = (struct oracle_transfer){c->tree_node[tail], c->tree_node[head]};
        if (q->cap[f] < first)
            transfers[f].from = oracle_tree_add(&tree, transfers[f].from, ORACLE_DEVICE, q->cap[f], q->cap[f]);
    }
    for (int f = 0; f < q->count; f++) { /* leaves with children are switches */
        int above = tree.parent[transfers[f].from];
        if (tree.kind[above] == ORACLE_DEVICE)
            tree.kind[above] = ORACLE_SWITCH;
    }
    oracle_pcie(&tree, transfers, q->count, &result);
    for (int f = 0; f < q->count; f++)
        q->rate[f] = result.rate[f];
}

struct degrees {
    int out[MAX_NODES], in[MAX_NODES];
    int from[MAX_JOBS], to[MAX_JOBS];
};

static bool is_free(const struct degrees *d, int count, int e)
{
    int rivals = 0;
    bool alike = true;
    for (int r = 0; r < count; r++) {
        if (d->to[r] == d->to[e] && d->from[r] != d->from[e]) {
            rivals++;
            alike = alike && d->out[d->from[r]] == d->out[d->from[e]];
        }
    }
    return rivals == 0 || (alike && d->in[d->to[e]] <= d->out[d->from[e]]);
}

/* K(s) of the source of e; equal fractions are counted first, so that little is rounded. */
static double charge(const struct degrees *d, int count, int e)
{
    int of_degree[MAX_JOBS + 1] = {0};
    double sum = 0;
    for (int own = 0; own < count; own++) {
        for (int r = 0; d->from[own] == d->from[e] && r < count; r++) {
            if (d->to[r] == d->to[own] && d->from[r] != d->from[e])
                of_degree[d->out[d->from[r]]]++;
        }
    }
    for (int degree = MAX_JOBS; degree > 0; degree--)
        sum += (double)of_degree[degree] / degree;
    return sum;
}

/* Penalties; those of lone senders beside senders of several come last. */
static void penalties(const struct degrees *d, int count, bool floors, double *rho)
{
    for (int e = 0; e < count; e++) {
        bool all_free = true, lone_rival = false;
        int out = d->out[d->from[e]];
        for (int o = 0; o < count; o++) {
            if (d->from[o] == d->from[e])
                all_free = all_free && is_free(d, count, o);
            if (d->to[o] == d->to[e] && d->from[o] != d->from[e])
                lone_rival = lone_rival || d->out[d->from[o]] == 1;
        }
        rho[e] = all_free ? out : out > 1 || lone_rival ? out + charge(d, count, e) : 0;
    }
    for (int e = 0; e < count; e++) {
        double largest = 0;
        for (int r = 0; rho[e] == 0 && r < count; r++) {
            if (d->to[r] == d->to[e] && d->from[r] != d->from[e])
                largest = fmax(largest, rho[r]);
        }
        if (rho[e] == 0)
            rho[e] = -(
                1 + 1 / ((floors ? floor(largest + 1e-9) : largest) - 1)); /* negative: not there yet for the others */
    }
    for (int e = 0; e < count; e++)
        rho[e] = fabs(rho[e]);
}

static void infiniband(const struct cluster *c, const struct program *p, bool floors, struct question *q)
{
    struct degrees d = {{0}, {0}, {0}, {0}};
    double rho[MAX_JOBS];
    for (int f = 0; f < q->count; f++) {
        const struct job *job = &p->job[q->job[f]];
        const struct part *part = &job->part[q->part[f]];
        d.from[f] = c->tail[job->link[part->first]];
        d.to[f] = c->head[job->link[part->first + part->count - 1]];
        d.out[d.from[f]]++;
        d.in[d.to[f]]++;
    }
    penalties(&d, q->count, floors, rho);
    for (int f = 0; f < q->count; f++) {
        const struct job *job = &p->job[q->job[f]];
        const struct part *part = &job->part[q->part[f]];
        double lowest = INFINITY;
        for (int i = part->first; i < part->first + part->count; i++)
            lowest = fmin(lowest, c->capacity[job->link[i]]);
        q->rate[f] = fmin(q->cap[f], lowest / rho[f]);
    }
    if (c->switches == 1)
        return;
    for (int f = 0; f < q->count; f++)
        q->cap[f] = q->rate[f];
    fair(c, p, q);
}

static void ask_domain(const struct cluster *c, const struct program *p, enum model model, int domain,
                       struct question *q)
{
    if ((model == PCIE || model == PENALTY) && c->is_pcie[domain])
        pcie(c, p, q);
    else if (model >= PENALTY && c->is_fabric[domain])
        infiniband(c, p, model == PENALTY, q);
    else
        fair(c, p, q);
}

/* The parts of the active jobs, each with its cap and what its domain last granted it. */
struct parts {
    int count, job[MAX_JOBS]; /* active[] */
    double cap[MAX_JOBS][MAX_PARTS], granted[MAX_JOBS][MAX_PARTS];
};

/* Asks every domain. */
static void ask_all(const struct cluster *c, const struct program *p, enum model model, struct parts *s)
{
    static struct question q;
    for (int domain = 0; domain < c->links; domain++) {
        int back[MAX_JOBS];
        q.count = 0;
        for (int a = 0; a < s->count; a++) {
            for (int k = 0; k < p->job[s->job[a]].parts; k++) {
                if (p->job[s->job[a]].part[k].domain != domain)
                    continue;
                assert_true(q.count < MAX_JOBS);
                back[q.count] = a;
                q.job[q.count] = s->job[a];
                q.part[q.count] = k;
                q.cap[q.count++] = s->cap[a][k];
            }
        }
        if (q.count > 0)
            ask_domain(c, p, model, domain, &q);
        for (int f = 0; f < q.count; f++)
            s->granted[back[f]][q.part[f]] = q.rate[f];
    }
}

static double lowest_grant(const struct program *p, const struct parts *s, int a, int but)
{
    double lowest = INFINITY;
    for (int k = 0; k < p->job[s->job[a]].parts; k++)
        lowest = k == but ? lowest : fmin(lowest, s->granted[a][k]);
    return lowest;
}

static bool agree(const struct program *p, const struct parts *s)
{
    for (int a = 0; a < s->count; a++) {
        for (int k = 0; k < p->job[s->job[a]].parts; k++) {
            if (s->granted[a][k] > lowest_grant(p, s, a, -1) * (1 + 1e-9))
                return false;
        }
    }
    return true;
}

/* Freezes whoever has the lowest grant on all of its links; returns how many are still free. */
static int freeze(const struct program *p, struct parts *s, bool *frozen)
{
    bool lowest[MAX_JOBS];
    int left = 0;
    for (int a = 0; a < s->count; a++) {
        lowest[a] = !frozen[a];
        for (int b = 0; b < s->count && lowest[a]; b++) {
            const struct job *job = &p->job[s->job[a]], *other = &p->job[s->job[b]];
            bool meet = false;
            for (int i = 0; i < job->length; i++)
                meet = meet || uses(other, &other->part[other->parts], job->link[i]);
            if (meet && !frozen[b])
                lowest[a] = lowest_grant(p, s, a, -1) <= lowest_grant(p, s, b, -1) * (1 + 1e-9);
        }
    }
    for (int a = 0; a < s->count; a++) {
        for (int k = 0; k < MAX_PARTS && lowest[a]; k++)
            s->cap[a][k] = fmin(s->cap[a][k], lowest_grant(p, s, a, -1));
        frozen[a] = frozen[a] || lowest[a];
        left += !frozen[a];
    }
    return left;
}

static bool fall(const struct program *p, struct parts *s)
{
    bool fell = false;
    for (int a = 0; a < s->count; a++) {
        for (int k = 0; k < p->job[s->job[a]].parts; k++) {
            double others = lowest_grant(p, s, a, k);
            fell = fell || others < s->cap[a][k] * (1 - 1e-9);
            s->cap[a][k] = fmin(s->cap[a][k], others);
        }
    }
    return fell;
}

/* Domains that must agree: ask, freeze from the lowest up, let caps fall. */
static void couple(const struct cluster *c, const struct program *p, enum model model, const int *active, int count,
                   double *rates)
{
    static struct parts s;
    bool frozen[MAX_JOBS] = {false};
    s.count = count;
    for (int a = 0; a < count; a++) {
        s.job[a] = active[a];
        for (int k = 0; k < MAX_PARTS; k++)
            s.cap[a][k] = INFINITY;
    }
    ask_all(c, p, model, &s);
    if (!agree(p, &s)) {
        int rounds = 0;
        while (freeze(p, &s, frozen) > 0) {
            ask_all(c, p, model, &s);
            assert_true(++rounds < 64); /* beyond, the library cuts it short */
        }
        rounds = 0;
        do
            ask_all(c, p, model, &s);
        while (fall(p, &s) && ++rounds < 100);
    }
    for (int a = 0; a < count; a++)
        rates[a] = lowest_grant(p, &s, a, -1);
}

/* Max-min over all links of all domains. */
static void fair_everywhere(const struct cluster *c, const struct program *p, const int *active, int count,
                            double *rates)
{
    static struct question q;
    q.count = count;
    for (int a = 0; a < count; a++) {
        q.job[a] = active[a];
        q.part[a] = p->job[active[a]].parts;
        q.cap[a] = INFINITY;
    }
    fair(c, p, &q);
    for (int a = 0; a < count; a++)
        rates[a] = q.rate[a];
}

/* Jobs that share links, directly or through others, have one number. */
static void components(const struct program *p, const int *active, int count, int *component)
{
    for (int a = 0; a < count; a++)
        component[a] = a;
    for (bool changed = true; changed;) {
        changed = false;
        for (int a = 0; a < count; a++) {
            for (int b = 0; b < count; b++) {
                const struct job *job = &p->job[active[a]], *other = &p->job[active[b]];
                for (int i = 0; i < job->length && component[b] < component[a]; i++) {
                    if (uses(other, &other->part[other->parts], job->link[i])) {
                        component[a] = component[b];
                        changed = true;
                    }
                }
            }
        }
    }
}

static bool one_domain(const struct program *p, const int *active, int count)
{
    for (int a = 0; a < count; a++) {
        if (p->job[active[a]].parts > 1 || p->job[active[a]].part[0].domain != p->job[active[0]].part[0].domain)
            return false;
    }
    return true;
}

static void rates_of_some(const struct cluster *c, const struct program *p, enum model model, const int *active,
                          int count, double *rates)
{
    static struct question q;
    if (!one_domain(p, active, count)) {
        couple(c, p, model, active, count, rates);
        return;
    }
    q.count = count;
    for (int a = 0; a < count; a++) {
        q.job[a] = active[a];
        q.part[a] = 0;
        q.cap[a] = INFINITY;
    }
    ask_domain(c, p, model, p->job[active[0]].part[0].domain, &q);
    for (int a = 0; a < count; a++)
        rates[a] = q.rate[a];
}

/* What shares no link, directly or through others, has no part in each other's rates. */
static void rates_of(const struct cluster *c, const struct program *p, enum model model, const int *active, int count,
                     double *rates)
{
    int component[MAX_JOBS];
    if (model == FAIR) {
        fair_everywhere(c, p, active, count, rates);
        return;
    }
    components(p, active, count, component);
    if (p->whole)
        memset(component, 0, sizeof component);
    for (int one = 0; one < count; one++) {
        int some[MAX_JOBS], back[MAX_JOBS], n = 0;
        double of_some[MAX_JOBS];
        for (int a = 0; a < count; a++) {
            if (component[a] == one) {
                back[n] = a;
                some[n++] = active[a];
            }
        }
        if (n > 0)
            rates_of_some(c, p, model, some, n, of_some);
        for (int i = 0; i < n; i++)
            rates[back[i]] = of_some[i];
    }
}

/* ---- time ---- */

enum phase { WAITING, READY, HELD, MOVING, ENDED };

struct run {
    const struct cluster *c;
    const struct program *p;
    double now_s;
    enum phase phase[MAX_JOBS];
    double ready_s[MAX_JOBS], timer_s[MAX_JOBS], left[MAX_JOBS], end_s[MAX_JOBS];
};

/* A copy engine, or a CPU. */
static bool has_engine(const struct run *r, int j)
{
    const struct job *job = &r->p->job[j];
    return job->is_work || (r->c->engine[job->from] && r->c->is_pcie[r->c->domain[job->link[0]]]);
}

/* Whether its engine takes what is ready first. */
static bool is_chosen(const struct run *r, int j)
{
    return r->p->job[j].is_work || (r->p->queue_ready && has_engine(r, j));
}

static bool is_ready(const struct run *r, int j)
{
    const struct job *job = &r->p->job[j];
    bool ready = job->at_s <= r->now_s;
    for (int d = 0; d < job->after_count; d++)
        ready = ready && r->phase[job->after[d]] == ENDED;
    for (int d = 0; d < job->after_start_count; d++)
        ready = ready && r->phase[job->after_start[d]] >= HELD;
    return ready;
}

static bool engine_takes(const struct run *r, int j)
{
    for (int o = 0; o < r->p->count; o++) {
        if (o == j || !has_engine(r, o) || r->p->job[o].from != r->p->job[j].from || r->phase[o] == ENDED ||
            r->p->job[o].is_work != r->p->job[j].is_work)
            continue;
        bool sooner = r->ready_s[o] < r->ready_s[j] || (r->ready_s[o] <= r->ready_s[j] && o < j);
        bool before = is_chosen(r, j) ? r->phase[o] == READY && sooner : o < j;
        if (r->phase[o] >= HELD || before)
            return false;
    }
    return true;
}

static bool start(struct run *r, int j)
{
    const struct job *job = &r->p->job[j];
    if (r->phase[j] != READY || (has_engine(r, j) && !engine_takes(r, j)))
        return false;
    r->phase[j] = HELD;
    r->timer_s[j] = r->now_s + (job->is_work ? job->duration_s : job->latency_s);
    return true;
}

/* All that can happen at this moment without time going on: rounds of getting ready, then of starting and ending, each
 * in the order of the schedule; engines choose when nothing else happens. */
static void settle(struct run *r)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int j = 0; j < r->p->count; j++) {
            if (r->phase[j] == WAITING && is_ready(r, j)) {
                r->phase[j] = READY;
                r->ready_s[j] = r->now_s;
                changed = true;
            }
        }
        for (int j = 0; j < r->p->count; j++) {
            const struct job *job = &r->p->job[j];
            changed = (!is_chosen(r, j) && start(r, j)) || changed;
            if (r->phase[j] == HELD && r->timer_s[j] <= r->now_s) {
                r->phase[j] = job->is_work || job->bytes == 0 ? ENDED : MOVING;
                r->end_s[j] = r->now_s;
                changed = true;
            }
        }
        bool quiet = !changed;
        for (int j = 0; j < r->p->count && quiet; j++)
            changed = (is_chosen(r, j) && start(r, j)) || changed;
    }
}

/* One step in time; false: nothing is left to come. */
static bool step(struct run *r, enum model model)
{
    int active[MAX_JOBS], count = 0;
    double rates[MAX_JOBS], next_s = INFINITY;
    for (int j = 0; j < r->p->count; j++) {
        if (r->phase[j] == MOVING)
            active[count++] = j;
        if (r->phase[j] == HELD)
            next_s = fmin(next_s, r->timer_s[j]);
        if (r->phase[j] == WAITING && r->p->job[j].at_s > r->now_s)
            next_s = fmin(next_s, r->p->job[j].at_s);
    }
    rates_of(r->c, r->p, model, active, count, rates);
    for (int a = 0; a < count; a++)
        next_s = fmin(next_s, r->now_s + r->left[active[a]] / rates[a]);
    for (int a = 0; a < count && next_s < INFINITY; a++) {
        int j = active[a];
        r->left[j] -= rates[a] * (next_s - r->now_s);
        if (r->left[j] <= 1e-9 * r->p->job[j].bytes || next_s + r->left[j] / rates[a] <= next_s) {
            r->phase[j] = ENDED;
            r->end_s[j] = next_s;
        }
    }
    r->now_s = next_s;
    return next_s < INFINITY;
}

static void expected_ends(const struct cluster *c, const struct program *p, enum model model, double *ends_s)
{
    struct run r = {.c = c, .p = p};
    for (int j = 0; j < p->count; j++)
        r.left[j] = p->job[j].bytes;
    do
        settle(&r);
    while (step(&r, model));
    for (int j = 0; j < p->count; j++) {
        assert_int_equal(r.phase[j], ENDED);
        ends_s[j] = r.end_s[j];
    }
}

/* ---- the library ---- */

static struct hop_schedule *schedule_of(const struct cluster *c, const struct program *p)
{
    struct hop_schedule *schedule = hop_schedule_create("random");
    hop_schedule_set_queue_ready(schedule, p->queue_ready);
    for (int j = 0; j < p->count; j++) {
        const struct job *job = &p->job[j];
        struct hop_op op = hop_op_default(job->is_work ? HOP_OP_WORK : HOP_OP_COPY);
        uint32_t after[MAX_DEPENDENCIES], after_start[MAX_DEPENDENCIES];
        for (int d = 0; d < MAX_DEPENDENCIES; d++) {
            after[d] = (uint32_t)job->after[d];
            after_start[d] = (uint32_t)job->after_start[d];
        }
        op.from.device = hop_topology_node(c->topology, (uint32_t)job->from)->name;
        if (!job->is_work)
            op.to.device = hop_topology_node(c->topology, (uint32_t)job->to)->name;
        op.bytes = (uint64_t)job->bytes;
        op.duration_s = job->duration_s;
        op.at_s = job->at_s;
        op.after = after;
        op.after_count = (uint32_t)job->after_count;
        op.after_start = after_start;
        op.after_start_count = (uint32_t)job->after_start_count;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

/* What to choose: infiniband-full together with fair inside the servers, infiniband with the default there. */
static const char *models_of(const struct cluster *c, enum model model, char *text, size_t size)
{
    size_t length = 0;
    if (model != PENALTY_FULL)
        return model == PENALTY ? "pcie,infiniband" : model_names[model];
    for (uint32_t d = 0; d < hop_topology_domain_count(c->topology); d++) {
        const struct hop_domain *domain = hop_topology_domain(c->topology, d);
        bool fabric = strcmp(domain->family, "infiniband") == 0 || strcmp(domain->family, "ethernet") == 0;
        int more = snprintf(text + length, size - length, "%s%s=%s", d ? "," : "", domain->name,
                            fabric ? "infiniband-full" : "fair");
        length += (size_t)more;
        assert_true(length < size);
    }
    return text;
}

static void library_ends(const struct cluster *c, const struct program *p, enum model model, bool segments,
                         double *ends_s)
{
    char models[512];
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    struct hop_schedule *schedule = schedule_of(c, p);
    struct hop_simulate_options options = {.detail = segments ? HOP_DETAIL_SEGMENTS : HOP_DETAIL_ENDS};
    CHECK(hop_network_create(c->topology, models_of(c, model, models, sizeof models), &network, D));
    CHECK(hop_simulate(network, schedule, &options, &timeline, D));
    for (int j = 0; j < p->count; j++)
        ends_s[j] = hop_timeline_span(timeline, (uint32_t)j).end_s;
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(schedule);
}

static void print_case(const struct cluster *c, const struct program *p, const double *expected, const double *actual)
{
    char *json = hop_topology_to_json(c->topology);
    struct hop_schedule *schedule = schedule_of(c, p);
    char *text = hop_schedule_to_text(schedule);
    (void)fprintf(stderr, "%s\n%s", json, text); /* too long for print_message */
    print_message("job: end by the oracle, by the library\n");
    for (int j = 0; j < p->count; j++) {
        bool wrong = fabs(actual[j] - expected[j]) > 1e-6 * expected[j];
        print_message("  %d: %.12g %.12g%s\n", j, expected[j], actual[j], wrong ? "  <--" : "");
    }
    free(text);
    free(json);
    hop_schedule_destroy(schedule);
}

struct tally {
    int cases, small, large, mismatches;
    double worst;
};

static void compare(uint64_t number, enum model model, struct tally *tally)
{
    static struct cluster c;
    static struct program p;
    double expected[MAX_JOBS], actual[MAX_JOBS], worst = 0;
    uint64_t seed = 0xc105e55u + number * 4 + (uint64_t)model;
    cluster_make(&c, &seed);
    struct hop_router *router = hop_router_create(c.topology);
    program_make(&c, model, &seed, router, &p);
    int routes = (int)hop_router_count(router);
    p.whole = routes <= 64;
    hop_router_destroy(router);
    expected_ends(&c, &p, model, expected);
    library_ends(&c, &p, model, pick(&seed, 2), actual);
    for (int j = 0; j < p.count; j++)
        worst = fmax(worst, isfinite(actual[j]) ? fabs(actual[j] - expected[j]) / fmax(expected[j], 1e-12) : INFINITY);
    tally->cases++;
    tally->small += routes <= 64;
    tally->large += routes > 64;
    tally->worst = fmax(tally->worst, worst);
    if (worst > 1e-6 && tally->mismatches++ == 0) {
        print_message("%s, case %u: %d jobs, %d routes, off by %g\n", model_names[model], (unsigned)number, p.count,
                      routes, worst);
        print_case(&c, &p, expected, actual);
    }
    hop_topology_destroy(c.topology);
}

enum { CASES = 70 };

static void compare_all(enum model model)
{
    struct tally tally = {0};
    const char *more = getenv("HOP_CASES");
    uint64_t cases = more ? strtoul(more, NULL, 10) : CASES;
    for (uint64_t number = 0; number < cases; number++)
        compare(number, model, &tally);
    print_message(
        "%s: %d clusters (%d with at most 64 routes, %d with more), %d differ, largest relative difference %.3g\n",
        model_names[model], tally.cases, tally.small, tally.large, tally.mismatches, tally.worst);
    assert_int_equal(tally.mismatches, 0);
}

static void fair_clusters_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all(FAIR);
}

static void pcie_and_fair_clusters_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all(PCIE);
}

static void infiniband_clusters_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all(PENALTY);
}

static void infiniband_full_clusters_end_when_the_oracle_says(void **state)
{
    (void)state;
    compare_all(PENALTY_FULL);
}

TEST_GROUP(oracle_network)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fair_clusters_end_when_the_oracle_says),
        cmocka_unit_test(pcie_and_fair_clusters_end_when_the_oracle_says),
        cmocka_unit_test(infiniband_clusters_end_when_the_oracle_says),
        cmocka_unit_test(infiniband_full_clusters_end_when_the_oracle_says),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
