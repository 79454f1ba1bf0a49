/* SPDX-License-Identifier: BSD-3-Clause */
/* What came out, as docs/amb.schema.json has it. */
#include "amb/amb.h"
#include "base/json_write.h"

char *hop_amb_to_json(const struct hop_amb_result *result)
{
    const struct hop_amb_job *job = &result->job;
    struct hop_buffer out = {0};
    hop_json_put(&out,
                 "{hopcast_amb:2,carrier:%s,library:%s,takes_devices:%hhu,ranks:%u,hosts:%u,device:%s,staged:%hhu,"
                 "iterations:%u,warm_up:%u,validated:%hhu,wrong_bytes:%llu,rows:[",
                 job->carrier, job->library, job->takes_devices, job->ranks, job->hosts, result->device, result->staged,
                 result->iterations, result->warm_up, result->validated, (unsigned long long)result->wrong_bytes);
    for (uint32_t i = 0; i < result->row_count; i++) {
        const struct hop_amb_row *row = &result->rows[i];
        hop_json_put(&out,
                     "\n{host:%s,device:%s,size_bytes:%llu,host_bytes:%llu,device_bytes:%llu,min_s:%g,avg_s:%g,max_s:%g,"
                     "iterations:%u,wrong_bytes:%llu}",
                     row->host, row->device, (unsigned long long)row->size_bytes, (unsigned long long)row->host_bytes,
                     (unsigned long long)row->device_bytes, row->min_s, row->avg_s, row->max_s, row->iterations,
                     (unsigned long long)row->wrong_bytes);
    }
    hop_json_put(&out, "\n]}\n");
    return hop_buffer_take(&out);
}
