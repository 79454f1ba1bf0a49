/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune puts: what puts of a network card take, and by which way they are fastest. */
#include "options_shared.h"
#include "tune.h"

#include <math.h>
#include <string.h>

enum { PAIRS = 4 };

struct request {
    struct tool_given given;
    const char *topology, *from, *to, *output, *picture;
    struct tool_words sets;
    struct tool_sizes sizes;
    uint64_t piece, count;
    enum { ANY_METHOD, DIRECT, STAGED, PIPELINED } method;
    bool figures, json;
};

static const struct tool_option table[] = {
    SHARED(on, AT(request, topology)),
    SHARED(set, AT(request, sets), .needs = "on"),
    OPTION("from", 0, TEXT, AT(request, from), "DEVICE",
           "whose memory is put (host memory and GPU beside the first card)"),
    OPTION("to", 0, TEXT, AT(request, to), "DEVICE", "into whose memory (those beside the last card)"),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST", "of a put: SIZE,... or LOW:HIGH*FACTOR (32:2MiB*4)"),
    OPTION("method", 0, CHOICE, AT(request, method), NULL,
           "any (the default), or direct: the card reads and writes device memory itself; staged: through host memory; "
           "pipelined: the same, in pieces",
           .choices = "any direct staged pipelined"),
    OPTION("piece", 0, SIZE, AT(request, piece), NULL, "of pipelined puts (64KiB)", .low = 1),
    FLAG("figures", 0, AT(request, figures),
         "what the paper on APEnet+ prints, beside what its mechanism gives here (docs/torus.md)",
         .excludes = "on from to sizes method piece count svg json output"),
    OPTION("svg", 0, TEXT, AT(request, picture), "FILE", "bandwidth over size as a picture", .use = USE_FILE,
           .needs = "on"),
    SHARED(json, AT(request, json), .help = "all of it, for machines (docs/tune_puts.schema.json)"),
    OPTION("count", 0, WHOLE, AT(request, count), "N", "with --output: puts in a row (16)", .low = 1, .high = 4096,
           .needs = "output"),
    SHARED(output, AT(request, output),
           .help = "a row of puts as a schedule: of one size and --method, from --from to --to"),
    END_OF_OPTIONS,
};

/* ---- which puts ---- */

/* The memory nearest to the first card or the last, and the first GPU that this is nearest to. */
static uint32_t find_ends(const struct hop_topology *topology, bool last, const char *ends[2])
{
    uint32_t card = HOP_NONE, count = 0, memory, nodes = hop_topology_node_count(topology);
    for (uint32_t n = 0; n < nodes; n++) {
        if (hop_topology_node(topology, n)->card && (last || card == HOP_NONE))
            card = n;
    }
    if (card == HOP_NONE)
        return 0;
    tool_try(hop_topology_nearest_host(topology, card, &memory, &tool_diag));
    if (memory == HOP_NONE)
        return 0;
    ends[count++] = hop_topology_node(topology, memory)->name;
    for (uint32_t n = 0, beside; n < nodes && count == 1; n++) {
        if (hop_topology_node(topology, n)->kind != HOP_NODE_GPU)
            continue;
        tool_try(hop_topology_nearest_host(topology, n, &beside, &tool_diag));
        if (beside == memory)
            ends[count++] = hop_topology_node(topology, n)->name;
    }
    return count;
}

static uint32_t list_ends(const struct request *r, const struct hop_topology *topology, bool last, const char *ends[2])
{
    const char *given = last ? r->to : r->from;
    if (given) {
        ends[0] = given;
        return 1;
    }
    uint32_t count = find_ends(topology, last, ends);
    if (count == 0)
        tool_bad_usage(&tool_tune_puts,
                       "%s has no network card with engines that stands beside host memory or a GPU: apenet:2 has, or "
                       "say --from and --to",
                       r->topology);
    return count;
}

/* Whether there is such a way: between host memories there is only one. */
static bool is_asked(const struct request *r, const struct hop_topology *topology, const struct hop_puts *puts)
{
    uint32_t from = hop_topology_find(topology, puts->from), to = hop_topology_find(topology, puts->to);
    bool hosts = from != HOP_NONE && to != HOP_NONE && hop_topology_node(topology, from)->kind == HOP_NODE_HOST &&
                 hop_topology_node(topology, to)->kind == HOP_NODE_HOST;
    return (r->method == ANY_METHOD || (unsigned)puts->method == (unsigned)r->method - DIRECT) &&
           !(hosts && puts->method != HOP_PUT_DIRECT);
}

/* checks: what can be refused is, before anything is simulated. */
static void fill(const struct request *r, struct hop_network *network, struct hop_put_row *row, bool checks)
{
    const struct hop_topology *topology = hop_network_topology(network);
    for (unsigned m = 0; m < HOP_PUT_METHODS; m++) {
        const struct hop_puts puts = {.from = row->from,
                                      .to = row->to,
                                      .bytes = row->bytes,
                                      .count = 1,
                                      .method = (enum hop_put_method)m,
                                      .piece_bytes = r->piece};
        row->times[m] = (struct hop_put_times){NAN, NAN, NAN};
        if (is_asked(r, topology, &puts))
            tool_try(hop_puts_times(network, &puts, checks ? NULL : &row->times[m], &tool_diag));
    }
}

/* ---- showing ---- */

static void print_pair(const struct hop_put_row *rows, uint32_t count)
{
    printf("\n%s to %s\n%10s", rows->from, rows->to, "size");
    for (unsigned m = 0; m < HOP_PUT_METHODS; m++) {
        if (!isnan(rows->times[m].gap_s))
            printf("  %-9s us  every us  GB/s  ", hop_put_method_name((enum hop_put_method)m));
    }
    printf(" fastest: one, a row\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_put_times *times = rows[i].times;
        unsigned one = HOP_PUT_DIRECT, row = HOP_PUT_DIRECT;
        printf("%10s", BYTES(rows[i].bytes));
        for (unsigned m = 0; m < HOP_PUT_METHODS; m++) {
            if (isnan(times[m].gap_s))
                continue;
            printf("  %12.2f  %8.2f  %5.3f ", times[m].latency_s * 1e6, times[m].gap_s * 1e6, times[m].rate_Bps / 1e9);
            one = !(times[one].latency_s <= times[m].latency_s) ? m : one;
            row = !(times[row].gap_s <= times[m].gap_s) ? m : row;
        }
        printf("  %s, %s\n", hop_put_method_name((enum hop_put_method)one),
               hop_put_method_name((enum hop_put_method)row));
    }
}

static void write_row(const struct request *r, const struct hop_topology *topology)
{
    struct hop_schedule *schedule;
    if (!r->from || !r->to || r->sizes.count != 1 || r->method == ANY_METHOD)
        tool_bad_usage(&tool_tune_puts,
                       "--output writes one row of puts: say --from, --to, --method and one of --sizes");
    const struct hop_puts puts = {.from = r->from,
                                  .to = r->to,
                                  .bytes = r->sizes.at[0],
                                  .count = r->count ? (uint32_t)r->count : 16,
                                  .method = (enum hop_put_method)(r->method - DIRECT),
                                  .piece_bytes = r->piece};
    tool_try(hop_puts_schedule(topology, &puts, &schedule, &tool_diag));
    tool_write_text(r->output, hop_schedule_to_text(schedule));
    hop_schedule_destroy(schedule);
}

static void compare(const struct request *r, const struct hop_topology *topology)
{
    static const struct tool_sizes usual = {{32, 128, 512, 2048, 8192, 32768, 131072, 524288, 2097152}, 9};
    const struct tool_sizes *sizes = r->sizes.count ? &r->sizes : &usual;
    static struct hop_put_row rows[PAIRS * TOOL_SIZES];
    const char *from[2], *to[2];
    struct tool_progress progress;
    struct hop_network *network = tool_network(topology, NULL);
    uint32_t count = 0, senders = list_ends(r, topology, false, from), receivers = list_ends(r, topology, true, to);
    for (uint32_t p = 0; p < senders * receivers; p++) {
        for (uint32_t s = 0; s < sizes->count; s++) {
            rows[count] = (struct hop_put_row){from[p / receivers], to[p % receivers], sizes->at[s], {{0, 0, 0}}};
            fill(r, network, &rows[count++], true);
        }
    }
    void (*step)(double, void *) = tool_progress_begin(&progress, "puts");
    for (uint32_t i = 0; i < count; i++) {
        fill(r, network, &rows[i], false);
        if (step)
            step((i + 1.0) / count, &progress);
    }
    tool_progress_end(&progress);
    if (r->json)
        tool_write_text(NULL, hop_puts_to_json(rows, count));
    for (uint32_t at = 0; at < count && !r->json; at += sizes->count)
        print_pair(&rows[at], sizes->count);
    if (r->picture)
        tool_write_text(r->picture,
                        hop_puts_to_svg(rows, count, tool_text("puts on %.80s", hop_topology_name(topology))));
}

static int run(int argc, char **argv)
{
    static struct request r;
    tool_read(&tool_tune_puts, argc, argv, &r);
    if (r.figures)
        return tune_puts_figures();
    if (!r.topology)
        tool_bad_usage(&tool_tune_puts,
                       "--on TOPOLOGY is missing, with network cards that have engines, such as apenet:2; or "
                       "--figures");
    tool_check_outputs(&r.given);
    const struct hop_topology *topology = tool_load_topology(r.topology, &r.sets);
    if (r.output)
        write_row(&r, topology);
    else
        compare(&r, topology);
    return TOOL_OK;
}

const struct tool_command tool_tune_puts = {
    .name = "tune puts",
    .summary = "puts of a network card into host and device memory: directly, staged or pipelined",
    .usage = "--on TOPOLOGY [OPTION ...]",
    .about =
        "For cards that read and write device memory themselves, as APEnet+ does: what one put takes from the call "
        "until "
        "its\n"
        "last byte has arrived, how long from one to the next in a long row, and which way is fastest at which size.\n"
        "Packets are simulated (docs/torus.md).\n"
        "\n",
    .options = table,
    .notes = "example: hopcast tune puts --on apenet:2 --from gpu0 --to gpu1\n"
             "         hopcast tune puts --on apenet:2,version=2,window=8KiB --svg puts.svg\n"
             "         hopcast tune puts --figures\n",
    .run = run,
};
