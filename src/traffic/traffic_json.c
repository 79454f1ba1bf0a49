/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libhopcast_mpi writes of a program:
 *
 *     {"hopcast_traffic": 1, "ranks": 4, "pairs": [{"from": 0, "to": 1, "host_bytes": 4096, "host_messages": 4}, ...]}
 *
 * The format's key comes first: by it the text is known. Pairs may come again, and are added; other members, such as
 * those that say how long calls took, are passed over.
 */
#include "traffic/traffic.h"

#include "base/json.h"

#include <ctype.h>

#define FORMAT "hopcast_traffic"

/* The next character that is not white space, at the end 0. */
static char skip(const struct hop_source *source, size_t *at)
{
    while (*at < source->size && isspace((unsigned char)source->text[*at]))
        (*at)++;
    return *at < source->size ? source->text[*at] : '\0';
}

bool hop_traffic_json_detect(const struct hop_source *source)
{
    static const char key[] = "\"" FORMAT "\"";
    size_t at = 0;
    if (skip(source, &at) != '{')
        return false;
    at++;
    (void)skip(source, &at);
    return source->size - at >= sizeof key - 1 && memcmp(source->text + at, key, sizeof key - 1) == 0;
}

static uint64_t read_whole(const struct hop_json *pair, const char *key, bool required, uint64_t most)
{
    struct hop_json at = hop_json_member(pair, key, required);
    return hop_json_whole(&at, 0, most, 0, NULL);
}

static void read_pair(const struct hop_json *pair, struct hop_traffic *traffic)
{
    static const char *const keys[HOP_MEMORY_COUNT][2] = {
        [HOP_MEMORY_HOST] = {"host_bytes", "host_messages"},
        [HOP_MEMORY_DEVICE] = {"device_bytes", "device_messages"},
    };
    uint64_t last = hop_traffic_ranks(traffic) - 1;
    uint32_t from = (uint32_t)read_whole(pair, "from", true, last), to = (uint32_t)read_whole(pair, "to", true, last);
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
        uint64_t bytes = read_whole(pair, keys[m][0], false, INT64_MAX);
        uint64_t messages = read_whole(pair, keys[m][1], false, INT64_MAX);
        if (pair->failure->status == HOP_OK)
            hop_json_check(
                pair, hop_traffic_add(traffic, from, to, (enum hop_memory)m, bytes, messages, pair->failure->diag));
    }
}

void hop_traffic_read_json(const struct hop_source *source, struct hop_traffic *traffic, struct hop_failure *failure)
{
    struct hop_json document;
    hop_json_load(source, &document, failure);
    hop_json_check_format(&document, FORMAT, 1);
    struct hop_json ranks = hop_json_member(&document, "ranks", true);
    uint32_t count = (uint32_t)hop_json_whole(&ranks, 1, HOP_TRAFFIC_RANKS, 1, NULL);
    struct hop_json pairs = hop_json_member(&document, "pairs", true);
    size_t length = hop_json_array(&pairs, 0);
    if (failure->status == HOP_OK)
        hop_traffic_widen(traffic, count);
    for (size_t i = 0; i < length && failure->status == HOP_OK; i++) {
        struct hop_json pair = hop_json_element(&pairs, i);
        read_pair(&pair, traffic);
    }
    hop_json_finish(&document);
}
