/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's table. */
#include "mpi/engine/collectives.h"
#include "mpi/engine/mapping.h"
#include "mpi/engine/record.h"
#include "mpi/say.h"

#include <stdio.h>
#include <string.h>

/* What is neither is taken for no. */
static void check_switch(const struct hop_mpi_job *job, enum hop_mpi_asked asked, const char *name)
{
    const char *value = job->asked[asked];
    if (job->rank == 0 && value[0] && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        hop_mpi_tell("%s=%s does nothing: only 1 asks for it", name, value);
}

static void begin(const struct hop_mpi_job *job, bool takes[HOP_MPI_CALL_COUNT])
{
    check_switch(job, ASKED_REPRODUCIBLE, "HOPCAST_MPI_REPRODUCIBLE");
    check_switch(job, ASKED_WAITING, "HOPCAST_MPI_WAITING");
    if (job->asked[ASKED_MAP][0])
        hop_mapping_begin(job);
    hop_collectives_begin(job, takes);
}

static void end(void)
{
    hop_collectives_end();
    hop_mapping_end();
    hop_record_end();
}

__attribute__((visibility("default"))) const struct hop_mpi_engine *hop_mpi_engine_table(void)
{
    static const struct hop_mpi_engine table = {
        HOP_MPI_ENGINE_VERSION,  HOP_MPI_CALL_COUNT,        begin,
        hop_collectives_instead, hop_collectives_comm_free, end,
        hop_record_begin,        hop_record_enter,          hop_record_leave,
        hop_record_json,         hop_record_text,           hop_record_write_files,
        hop_mapping_before,      hop_mapped_device_takes,   hop_mapped_device_thread,
        hop_mapping_look_on};
    return &table;
}
