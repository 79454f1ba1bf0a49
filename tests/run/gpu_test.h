/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of running on GPUs share: the stand-in for the driver (fake_cuda/driver.c), chosen and asked.
 *
 * Ranks are processes there, each with a driver of its own.
 */
#ifndef HOP_GPU_TEST_H
#define HOP_GPU_TEST_H

#include <dlfcn.h>

#include "run/program.h"
#include "run_test.h"

static char kernels[] = "/tmp/hopcast-run-kernels-XXXXXX";

/* Where the library was built without nvcc, the stand-in takes a file that begins like a fat binary. */
static inline int choose_the_stand_in(void **state)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0};
    int file = mkstemp(kernels);
    (void)state;
    bool fine = file >= 0 && write(file, magic, sizeof magic) == (ssize_t)sizeof magic && close(file) == 0;
    return fine && setenv("HOPCAST_CUDA_LIBRARY", TEST_FAKE_CUDA, 1) == 0 &&
                   setenv("HOPCAST_CUDA_KERNELS", kernels, 1) == 0 &&
                   setenv("HOPCAST_HIP_LIBRARY", TEST_FAKE_CUDA, 1) == 0 &&
                   setenv("HOPCAST_HIP_KERNELS", kernels, 1) == 0 && setenv("HOPCAST_FAKE_CUDA_DELAY", "60", 1) == 0
               ? 0
               : -1;
}

static inline int forget_the_stand_in(void **state)
{
    (void)state;
    return unlink(kernels);
}

/* A machine of some kind: the stand-in's variables, "" for none. */
struct machine {
    const char *refused, *late, *events, *shared;
    bool hidden; /* each rank sees one device, that of its number in the order of bus ids */
};

/* Before the driver is first used: every rank has delays of its own. */
static inline void prepare_driver(const struct hop_team *team, unsigned seed, const struct machine *machine)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%u", seed * 1000 + hop_team_rank(team));
    (void)setenv("HOPCAST_FAKE_CUDA_SEED", text, 1);
    if (!machine)
        return;
    const char *const variables[][2] = {{"HOPCAST_FAKE_CUDA_REFUSED", machine->refused},
                                        {"HOPCAST_FAKE_CUDA_LATE", machine->late},
                                        {"HOPCAST_FAKE_CUDA_EVENTS", machine->events},
                                        {"HOPCAST_FAKE_CUDA_SHARED", machine->shared}};
    for (size_t v = 0; v < sizeof variables / sizeof variables[0]; v++) {
        if (variables[v][1])
            (void)setenv(variables[v][0], variables[v][1], 1);
    }
    (void)snprintf(text, sizeof text, "%u", hop_team_rank(team) ^ 1); /* as the stand-in's driver counts them */
    if (machine->hidden)
        (void)setenv("CUDA_VISIBLE_DEVICES", text, 1);
}

/* A function of this process's driver, once it is loaded. */
static inline bool find_in_driver(const char *name, void *function)
{
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* What was made of this process's driver and not given back; -1: unknown. */
static inline int live_objects(void)
{
    int (*live)(void);
    return find_in_driver("fake_cuda_live", &live) ? live() : -1;
}

/* GPUs of one processor, at those buses. */
static inline struct hop_topology *machine_of(const char *const *buses, unsigned count)
{
    char text[4096];
    struct hop_topology *topology;
    int used =
        snprintf(text, sizeof text,
                 "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" "
                 "modelid=\"1\">");
    for (unsigned i = 0; i < count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "<pci busid=\"0000:%s:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
                         "<gpu dev=\"%u\" sm=\"80\"/></pci>",
                         buses[i], i);
    used += snprintf(text + used, sizeof text - (size_t)used, "</cpu></system>");
    CHECK(hop_topology_parse("machine.xml", text, (size_t)used, &topology, D));
    return topology;
}

static const struct hop_copies_mix half_staged = {1, 2, 256};

/* Small packets, so that even these copies are of several. */
static inline struct hop_program_options ways(enum hop_copies copies, bool pipelined)
{
    return (struct hop_program_options){.copies = copies,
                                        .mix = copies == HOP_COPIES_STATIC ? &half_staged : NULL,
                                        .packet_bytes = copies == HOP_COPIES_STATIC ? 0 : 256,
                                        .pipelined = pipelined};
}

#endif
