/* SPDX-License-Identifier: BSD-3-Clause */
/* Staged transfers and gathers, as JSON: docs/tune_stages.schema.json. */
#include <math.h>

#include "base/json_write.h"
#include "hopcast/tune.h"

/* Steps of one group stand together. */
static void put_groups(struct hop_buffer *out, const struct hop_stages *stages, hop_stages_overlap overlap)
{
    hop_json_put(out, "groups:[[");
    for (uint32_t s = 0; s < stages->count; s++) {
        if (s > 0 && overlap >> (s - 1) & 1)
            hop_json_put(out, "],[");
        hop_json_put(out, "%s", stages->stages[s].name);
    }
    hop_json_put(out, "]]");
}

static void put_way(struct hop_buffer *out, const struct hop_stages *stages, uint64_t bytes,
                    const struct hop_stages_way *way)
{
    hop_json_put(out, way->packet_bytes ? "\n  {packet_bytes:%llu" : "\n  {packet_bytes:null",
                 (unsigned long long)way->packet_bytes);
    hop_json_put(out, "packets:%llu,steps_s:[", (unsigned long long)way->packets);
    for (uint32_t s = 0; s < stages->count; s++)
        hop_json_put(out, "%g", way->steps_s[s]);
    hop_json_put(out, "],");
    put_groups(out, stages, way->overlap);
    hop_json_put(out, "time_s:%g,rate_Bps:%g,guessed:%hhu}", way->time_s, (double)bytes / way->time_s, way->guessed);
}

static bool put_transfer(struct hop_buffer *out, const struct hop_stages *stages,
                         const struct hop_stages_options *options, uint64_t bytes)
{
    struct hop_stages_way ways[HOP_STAGE_TIMES + 1];
    struct hop_stages_choice choice;
    uint32_t count;
    if (hop_stages_ways(stages, bytes, options, ways, &count, NULL) != HOP_OK)
        return false;
    bool known = hop_stages_choose(stages, bytes, options, &choice, NULL) == HOP_OK;
    hop_json_put(out, "\n {bytes:%llu,best:", (unsigned long long)bytes);
    for (uint32_t w = 0; known && w < count; w++) {
        if (ways[w].packet_bytes == choice.best.packet_bytes)
            hop_json_put(out, "%u", w);
    }
    hop_json_put(out, known ? "reason:%s" : "null,reason:%s", known ? choice.reason : NULL);
    hop_json_put(out, "ways:[");
    for (uint32_t w = 0; w < count; w++)
        put_way(out, stages, bytes, &ways[w]);
    hop_json_put(out, "]}");
    return true;
}

static void put_gather(struct hop_buffer *out, const struct hop_stages_gather *g)
{
    hop_json_put(out, "\n {nodes:%u,devices:%u,bytes:%llu,read_s:%g,put_s:%g,put_all_s:%g,", g->nodes, g->devices,
                 (unsigned long long)g->bytes, g->read_s, g->put_s, g->put_all_s);
    hop_json_put(out, "time_s:[%g,%g,%g],", g->time_s[0], g->time_s[1], g->time_s[2]);
    hop_json_put(out, isnan(g->time_s[g->best]) ? "best:null" : "best:%u", g->best + 1);
    hop_json_put(out, "guessed:%hhu,reason:%s}", g->guessed, g->reason);
}

char *hop_stages_to_json(const struct hop_stages *stages, const struct hop_stages_options *options,
                         const uint64_t *sizes, uint32_t size_count, const struct hop_stages_gather *gathers,
                         uint32_t gather_count)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{hopcast_tune_stages:1,\nsteps:[");
    for (uint32_t s = 0; s < stages->count; s++)
        hop_json_put(&out, "%s", stages->stages[s].name);
    hop_json_put(&out, "],\ntransfers:[");
    for (uint32_t i = 0; i < size_count; i++)
        out.failed = !put_transfer(&out, stages, options, sizes[i]) || out.failed;
    hop_json_put(&out, "],\ngathers:[");
    for (uint32_t i = 0; i < gather_count; i++)
        put_gather(&out, &gathers[i]);
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
