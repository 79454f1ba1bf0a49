/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic itself: flows that are added in any order and looked at in ascending order.
 *
 * They are kept as they come, and sorted, every pair once, when somebody looks or when they would need more room than
 * twice what they needed then; so memory stays proportional to the flows, and adding takes a logarithm each. What comes
 * in ascending order, as from most readers, is sorted already. Looking may sort, hence the lock: threads may look
 * together.
 */
#include "traffic/traffic.h"

#include <inttypes.h>
#include <pthread.h>

#define SUM_LIMIT ((uint64_t)1 << 63)

struct hop_traffic {
    pthread_mutex_t lock;
    struct hop_traffic_flow *flows;
    uint32_t ranks, count, room; /* room: so many fit */
    bool unsorted;
    uint64_t bytes[HOP_MEMORY_COUNT]; /* sums over the flows */
    uint64_t messages;                /* all that were ever added */
};

/* ---- building ---- */

enum hop_status hop_traffic_create(uint32_t ranks, struct hop_traffic **traffic, struct hop_diag *diag)
{
    if (ranks == 0 || ranks > HOP_TRAFFIC_RANKS)
        return hop_fail(diag, HOP_ERR_INVALID, "traffic of %" PRIu32 " ranks\n1 to %u ranks", ranks, HOP_TRAFFIC_RANKS);
    struct hop_traffic *made = calloc(1, sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return hop_fail_memory(diag);
    }
    made->ranks = ranks;
    *traffic = made;
    return HOP_OK;
}

void hop_traffic_destroy(struct hop_traffic *traffic)
{
    if (!traffic)
        return;
    (void)pthread_mutex_destroy(&traffic->lock);
    free(traffic->flows);
    free(traffic);
}

void hop_traffic_widen(struct hop_traffic *traffic, uint32_t ranks)
{
    if (traffic->ranks < ranks)
        traffic->ranks = ranks;
}

enum hop_status hop_traffic_check_memory(enum hop_memory memory, struct hop_diag *diag)
{
    if ((unsigned)memory < HOP_MEMORY_COUNT)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID,
                    "there is no kind of memory numbered %d\nHOP_MEMORY_DEVICE or HOP_MEMORY_HOST", (int)memory);
}

static uint64_t key_of(const struct hop_traffic_flow *flow)
{
    return (uint64_t)flow->from << 32 | flow->to;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = key_of(a), y = key_of(b);
    return (x > y) - (x < y);
}

/* Adds b to a, which are of the same pair. How many messages a sum has is known if it is known of both parts. */
static void add_flow(struct hop_traffic_flow *a, const struct hop_traffic_flow *b)
{
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
        if (b->bytes[m] == 0)
            continue;
        bool known = b->messages[m] > 0 && (a->bytes[m] == 0 || a->messages[m] > 0);
        a->messages[m] = known ? a->messages[m] + b->messages[m] : 0;
        a->bytes[m] += b->bytes[m];
    }
}

/* Sorts, and makes one flow of those of a pair. */
static void settle(struct hop_traffic *traffic)
{
    if (!traffic->unsorted)
        return;
    uint32_t last = 0;
    qsort(traffic->flows, traffic->count, sizeof *traffic->flows, by_key);
    for (uint32_t i = 1; i < traffic->count; i++) {
        if (key_of(&traffic->flows[i]) == key_of(&traffic->flows[last]))
            add_flow(&traffic->flows[last], &traffic->flows[i]);
        else
            traffic->flows[++last] = traffic->flows[i];
    }
    traffic->count = last + 1;
    traffic->unsorted = false;
}

/* The flow of the same pair; NULL: there is none, or they are not sorted. */
static struct hop_traffic_flow *find(const struct hop_traffic *traffic, const struct hop_traffic_flow *flow)
{
    if (traffic->unsorted || traffic->count == 0 || key_of(flow) > key_of(&traffic->flows[traffic->count - 1]))
        return NULL;
    return bsearch(flow, traffic->flows, traffic->count, sizeof *flow, by_key);
}

static enum hop_status append(struct hop_traffic *traffic, const struct hop_traffic_flow *flow, struct hop_diag *diag)
{
    bool is_full = traffic->count == traffic->room || traffic->count >= HOP_TRAFFIC_FLOWS;
    if (is_full)
        settle(traffic);
    struct hop_traffic_flow *there = find(traffic, flow);
    if (there) {
        add_flow(there, flow);
        return HOP_OK;
    }
    if (traffic->count >= HOP_TRAFFIC_FLOWS)
        return hop_fail(diag, HOP_ERR_LIMIT,
                        "more than %u pairs of ranks have traffic\nfewer ranks, or traffic that is sparse",
                        HOP_TRAFFIC_FLOWS);
    if (is_full && traffic->count >= traffic->room / 2) {
        uint32_t room = traffic->count < 8 ? 16 : 2 * traffic->count;
        room = room < HOP_TRAFFIC_FLOWS ? room : HOP_TRAFFIC_FLOWS;
        struct hop_traffic_flow *flows = realloc(traffic->flows, room * sizeof *flows);
        if (!flows)
            return hop_fail_memory(diag);
        traffic->flows = flows;
        traffic->room = room;
    }
    traffic->unsorted =
        traffic->unsorted || (traffic->count > 0 && key_of(&traffic->flows[traffic->count - 1]) > key_of(flow));
    traffic->flows[traffic->count++] = *flow;
    return HOP_OK;
}

static enum hop_status check_sums(const struct hop_traffic *traffic, uint64_t bytes, uint64_t messages,
                                  struct hop_diag *diag)
{
    uint64_t all = traffic->bytes[HOP_MEMORY_DEVICE] + traffic->bytes[HOP_MEMORY_HOST]; /* up to SUM_LIMIT */
    if (bytes <= SUM_LIMIT - all && messages <= SUM_LIMIT - traffic->messages)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_INVALID,
                    "the %s of all ranks add up to more than 2^63\nless traffic, as of a part of the program's run",
                    bytes > SUM_LIMIT - all ? "bytes" : "messages");
}

enum hop_status hop_traffic_add(struct hop_traffic *traffic, uint32_t from, uint32_t to, enum hop_memory memory,
                                uint64_t bytes, uint64_t messages, struct hop_diag *diag)
{
    if (from >= traffic->ranks || to >= traffic->ranks)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "there is no rank %" PRIu32 "\n"
                        "ranks 0 to %" PRIu32,
                        from >= traffic->ranks ? from : to, traffic->ranks - 1);
    enum hop_status status = hop_traffic_check_memory(memory, diag);
    if (status != HOP_OK || bytes == 0 || from == to)
        return status;
    status = check_sums(traffic, bytes, messages, diag);
    if (status != HOP_OK)
        return status;
    struct hop_traffic_flow flow = {.from = from, .to = to};
    flow.bytes[memory] = bytes;
    flow.messages[memory] = messages;
    status = append(traffic, &flow, diag);
    if (status == HOP_OK) {
        traffic->bytes[memory] += bytes;
        traffic->messages += messages;
    }
    return status;
}

/* Both flow lists, which are sorted, as one; returns how many there are. */
static uint32_t join(const struct hop_traffic *a, const struct hop_traffic *b, struct hop_traffic_flow *joined)
{
    uint32_t count = 0, i = 0, j = 0;
    while (i < a->count || j < b->count) {
        bool first = j == b->count || (i < a->count && key_of(&a->flows[i]) <= key_of(&b->flows[j]));
        joined[count] = first ? a->flows[i++] : b->flows[j++];
        if (first && j < b->count && key_of(&b->flows[j]) == key_of(&joined[count]))
            add_flow(&joined[count], &b->flows[j++]);
        count++;
    }
    return count;
}

enum hop_status hop_traffic_merge(struct hop_traffic *traffic, const struct hop_traffic *other, struct hop_diag *diag)
{
    if (other->ranks > traffic->ranks)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "traffic of %" PRIu32 " ranks is added to that of %" PRIu32 "\n"
                        "at most as many ranks",
                        other->ranks, traffic->ranks);
    enum hop_status status =
        check_sums(traffic, other->bytes[HOP_MEMORY_DEVICE] + other->bytes[HOP_MEMORY_HOST], other->messages, diag);
    if (status != HOP_OK)
        return status;
    uint32_t both = hop_traffic_count(traffic) + hop_traffic_count(other);
    struct hop_traffic_flow *joined = malloc(((size_t)both + 1) * sizeof *joined);
    if (!joined)
        return hop_fail_memory(diag);
    uint32_t count = join(traffic, other, joined);
    if (count > HOP_TRAFFIC_FLOWS) {
        free(joined);
        return hop_fail(diag, HOP_ERR_LIMIT, "%" PRIu32 " pairs of ranks have traffic\nat most %u", count,
                        HOP_TRAFFIC_FLOWS);
    }
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
        traffic->bytes[m] += other->bytes[m];
    traffic->messages += other->messages;
    free(traffic->flows);
    traffic->flows = joined;
    traffic->count = count;
    traffic->room = both + 1;
    return HOP_OK;
}

/* ---- looking ---- */

/* To be called before the flows are read. What is seen does not change by it, so the callers' traffic is const. */
static void settle_for_reading(const struct hop_traffic *traffic)
{
    struct hop_traffic *own = (struct hop_traffic *)traffic;
    (void)pthread_mutex_lock(&own->lock);
    settle(own);
    (void)pthread_mutex_unlock(&own->lock);
}

uint32_t hop_traffic_ranks(const struct hop_traffic *traffic)
{
    return traffic->ranks;
}

uint32_t hop_traffic_count(const struct hop_traffic *traffic)
{
    settle_for_reading(traffic);
    return traffic->count;
}

const struct hop_traffic_flow *hop_traffic_flows(const struct hop_traffic *traffic)
{
    settle_for_reading(traffic);
    return traffic->flows;
}

uint64_t hop_traffic_bytes(const struct hop_traffic *traffic, enum hop_memory memory)
{
    return (unsigned)memory < HOP_MEMORY_COUNT ? traffic->bytes[memory] : 0;
}

/* ---- writing ---- */

/* Some numbers as a line, commas between; millions of them, so no printf. */
static void put_line(struct hop_buffer *out, const uint64_t *numbers, unsigned count)
{
    char line[6 * 21];
    size_t first = sizeof line;
    for (unsigned i = count; i-- > 0;) {
        uint64_t left = numbers[i];
        line[--first] = i + 1 == count ? '\n' : ',';
        do
            line[--first] = (char)('0' + left % 10);
        while (left /= 10);
    }
    hop_buffer_add(out, line + first, sizeof line - first);
}

char *hop_traffic_to_text(const struct hop_traffic *traffic)
{
    struct hop_buffer out = {0};
    uint32_t count = hop_traffic_count(traffic);
    uint64_t ranks = traffic->ranks;
    bool messages = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *known = traffic->flows[i].messages;
        messages = messages || known[HOP_MEMORY_HOST] > 0 || known[HOP_MEMORY_DEVICE] > 0;
    }
    hop_buffer_puts(&out, "# ranks ");
    put_line(&out, &ranks, 1);
    hop_buffer_puts(&out, "from,to,host_bytes,device_bytes");
    hop_buffer_puts(&out, messages ? ",host_messages,device_messages\n" : "\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_traffic_flow *flow = &traffic->flows[i];
        const uint64_t numbers[] = {flow->from,
                                    flow->to,
                                    flow->bytes[HOP_MEMORY_HOST],
                                    flow->bytes[HOP_MEMORY_DEVICE],
                                    flow->messages[HOP_MEMORY_HOST],
                                    flow->messages[HOP_MEMORY_DEVICE]};
        put_line(&out, numbers, messages ? 6 : 4);
    }
    return hop_buffer_take(&out);
}
