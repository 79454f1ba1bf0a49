/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory spaces: random puts and gets between any two memories of any two PEs (heap, accelerators in software, a host's space),
 * of any size and place, each byte checked against a copy that the processor keeps; HOPCAST_TEST_DEVICE puts a GPU's in place of
 * one of them. With a number: how near the packets that the model chooses come to the best of all, measured. With
 * "published": how much faster they are than one packet, beside what Aggarwal et al. 2011 print.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 3 << 20, ROUNDS = 120, MEMORIES = 4 };

static int wrong, me, pes;
static unsigned long long state;

static unsigned next(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

static shmemx_space_t make(shmemx_memkind_t kind, size_t bytes, double read, double write, double latency)
{
    shmemx_space_t space;
    shmemx_space_create(
        (shmemx_space_config_t){
            .sheap_size = bytes, .memkind = kind, .read_rate = read, .write_rate = write, .latency = latency},
        &space);
    if (space == SHMEMX_SPACE_INVALID) {
        fprintf(stderr, "PE %d: there is no space of kind %d\n", me, (int)kind);
        exit(77);
    }
    return space;
}

/* ---- every byte ---- */

/* What PE p's memory m holds, as all PEs reckon it. */
static unsigned char *model;
static unsigned char *memory_of(int p, int m)
{
    return model + ((size_t)p * MEMORIES + (size_t)m) * BYTES;
}

static void compare(char *const *memories, unsigned char *buffer)
{
    for (int m = 0; m < MEMORIES; m++) {
        shmemx_copy(buffer, memories[m], BYTES);
        if (memcmp(buffer, memory_of(me, m), BYTES) != 0) {
            fprintf(stderr, "PE %d: memory %d is not as it should be\n", me, m);
            wrong++;
        }
    }
}

/* In a round one PE moves bytes, whichever. */
static void move(char *const *memories)
{
    int mover = (int)next((unsigned)pes), other = (int)next((unsigned)pes), puts = (int)next(2);
    unsigned m = next(MEMORIES), o = next(MEMORIES), bytes = next(3) ? next(20000) + 1 : next(BYTES) + 1;
    unsigned at = next(BYTES - bytes + 1), to = next(BYTES - bytes + 1);
    if (mover == other && m == o)
        return; /* they might overlap */
    unsigned char *here = memory_of(mover, (int)m) + at, *there = memory_of(other, (int)o) + to;
    memmove(puts ? there : here, puts ? here : there, bytes);
    if (me == mover && puts)
        shmem_putmem(memories[o] + to, memories[m] + at, bytes, other);
    else if (me == mover)
        shmem_getmem(memories[m] + at, memories[o] + to, bytes, other);
    if (me == mover)
        shmem_quiet();
}

static void try_bytes(shmemx_memkind_t kind)
{
    const shmemx_space_t spaces[] = {make(SHMEMX_MEM_ACCELERATOR, BYTES + 4096, 4e9, 3e9, 5e-6),
                                     make(kind, BYTES + 4096, 0, 2e9, 20e-6),
                                     make(SHMEMX_MEM_HOST, BYTES + 4096, 0, 0, 0)};
    char *memories[MEMORIES] = {shmem_malloc(BYTES)};
    unsigned char *buffer = malloc(BYTES);
    model = malloc((size_t)pes * MEMORIES * BYTES);
    for (int m = 1; m < MEMORIES; m++)
        memories[m] = shmemx_space_malloc(spaces[m - 1], BYTES);
    state = 1;
    for (size_t i = 0; i < (size_t)pes * MEMORIES * BYTES; i++)
        model[i] = (unsigned char)(i * 2654435761u >> 13);
    for (int m = 0; m < MEMORIES; m++)
        shmemx_copy(memories[m], memory_of(me, m), BYTES);
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        move(memories);
        shmem_barrier_all();
    }
    compare(memories, buffer);
    /* Elements, strides and signals between devices. */
    long *words = (long *)(void *)memories[1], local[6] = {1, 2, 3, 4, 5, 6};
    int to = (me + 1) % pes;
    shmem_barrier_all();
    shmem_long_iput(words, local, 2, 1, 3, to);
    shmem_long_p(words + 1, 7, to);
    shmem_barrier_all();
    shmem_long_get(local, words, 5, me);
    if (local[0] != 1 || local[1] != 7 || local[2] != 2 || local[4] != 3 || shmem_long_g(words + 4, to) != 3) {
        fprintf(stderr, "PE %d: elements are not as they should be\n", me);
        wrong++;
    }
    shmem_barrier_all();
    for (int m = 1; m < MEMORIES; m++) {
        shmemx_space_free(spaces[m - 1], memories[m]);
        shmemx_space_destroy(spaces[m - 1]);
    }
    free(model);
    free(buffer);
}

/* It holds less than the least size that is measured. */
static void try_small(void)
{
    shmemx_space_t space = make(SHMEMX_MEM_ACCELERATOR, 100, 0, 0, 0);
    char *there = shmemx_space_malloc(space, 7), back[7] = "";
    shmem_putmem(there, "small.", 7, (me + 1) % pes);
    shmem_barrier_all();
    shmem_getmem(back, there, 7, me);
    if (strcmp(back, "small.") != 0) {
        fprintf(stderr, "PE %d: a small space has \"%.7s\"\n", me, back);
        wrong++;
    }
    shmemx_space_destroy(space);
}

/* ---- packets ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_of(char *there, const char *here, size_t bytes)
{
    double least = 1e9;
    for (int turn = 0; turn < 5; turn++) {
        double begun = now_s();
        shmem_putmem(there, here, bytes, 1);
        double took = now_s() - begun;
        least = took < least ? took : least;
    }
    return least;
}

static void try_packets(double read, double write, double latency)
{
    shmemx_space_t space = make(SHMEMX_MEM_ACCELERATOR, (size_t)66 << 20, read, write, latency);
    double worst = 0;
    char *memory = shmemx_space_malloc(space, (size_t)32 << 20), *own = shmemx_space_malloc(space, (size_t)32 << 20);
    if (me == 0)
        printf("out %.1f MB/s, in %.1f MB/s, latency %.0f us\n%9s %9s %9s %9s %9s %7s %9s\n", read / 1e6, write / 1e6,
               latency * 1e6, "bytes", "packet", "predicted", "measured", "best", "of best", "whole");
    for (size_t bytes = 1 << 10; me == 0 && pes > 1 && bytes <= (size_t)32 << 20; bytes *= 4) {
        shmemx_choice_t choice;
        double best = 1e9, chosen, whole = 0;
        size_t best_packet = 0;
        for (size_t packet = 1 << 10; packet <= (size_t)8 << 20; packet *= 2) {
            if (bytes / packet > 256)
                continue;
            shmemx_set_packet(space, packet);
            double took = time_of(memory, own, bytes);
            whole = packet >= bytes || packet == (size_t)8 << 20 ? (whole > 0 ? whole : took) : whole;
            best_packet = took < best ? packet : best_packet;
            best = took < best ? took : best;
        }
        shmemx_set_packet(space, SIZE_MAX);
        shmemx_explain(1, memory, own, bytes, 1, &choice);
        chosen = time_of(memory, own, bytes);
        worst = chosen / best > worst ? chosen / best : worst;
        printf("%9zu %9zu %9.1f %9.1f %9.1f %7.3f %9.1f\n", bytes, choice.packet_bytes, choice.predicted_s * 1e6,
               chosen * 1e6, best * 1e6, chosen / best, whole * 1e6);
    }
    if (me == 0)
        printf("at most %.1f %% more than the best\n\n", (worst - 1) * 100);
    shmem_barrier_all();
    shmemx_space_destroy(space);
}

/* ---- as in SHMEM+ ---- */

/* Tables 5 and 6 of Aggarwal et al. 2011: bytes of packets with the slower DMA engine of Novo-G, and by how many per
 * cent tuned transfers between FPGAs were faster there, with the faster engine, and on the Mu cluster. */
static const struct published {
    size_t bytes, packet;
    double gains[3];
} published[] = {{4 << 20, 2 << 20, {6.9, 5.5, 104.3}},
                 {8 << 20, 2 << 20, {14.5, 22.0, 74.6}},
                 {16 << 20, 2 << 20, {18.9, 23.7, 59.3}},
                 {32 << 20, 8 << 20, {25.1, 27.7, 52.6}}};

/* Rates that come near the steps of Table 3: out of the FPGA and over the network in 1 ms + 1.725 ms a MiB, into the
 * other one in 1 ms + 3.5 ms a MiB. */
static const double read_rate = (1 << 20) / 1.725e-3, write_rate = (1 << 20) / 3.5e-3, latency = 1e-3;

/* In one packet, one step follows the other. */
static void compare_with(const struct published *p, shmemx_space_t space, char *there, const char *here)
{
    shmemx_choice_t choice = {0};
    double bytes = (double)p->bytes, whole_said_s = 2 * latency + bytes / read_rate + bytes / write_rate;
    shmemx_set_packet(space, 0);
    double whole_s = time_of(there, here, p->bytes);
    shmemx_set_packet(space, SIZE_MAX);
    shmemx_explain(1, there, here, p->bytes, 1, &choice);
    double tuned_s = time_of(there, here, p->bytes);
    printf("%5zuM %6zuK %6zuK %9.1f %8.1f %9.1f %8.1f %9.1f %8.1f %10.1f %7.1f %7.1f\n", p->bytes >> 20,
           choice.packet_bytes >> 10, p->packet >> 10, bytes / whole_said_s / 1e6, bytes / whole_s / 1e6,
           bytes / choice.predicted_s / 1e6, bytes / tuned_s / 1e6, 100 * (whole_said_s / choice.predicted_s - 1),
           100 * (whole_s / tuned_s - 1), p->gains[0], p->gains[1], p->gains[2]);
}

static void try_published(void)
{
    const size_t most = (size_t)32 << 20;
    shmemx_space_t space = make(SHMEMX_MEM_ACCELERATOR, 2 * most + 8192, read_rate, write_rate, latency);
    char *there = shmemx_space_malloc(space, most), *here = shmemx_space_malloc(space, most);
    if (me == 0) {
        printf("transfers between two accelerators, MB/s; printed: Aggarwal et al. 2011, Tables 5 and 6\n");
        printf("%6s %15s %18s %18s %18s %26s\n", "", "packets", "in one packet", "tuned", "gain in %",
               "gain printed, %");
        printf("%6s %7s %7s %9s %8s %9s %8s %9s %8s %10s %7s %7s\n", "bytes", "here", "printed", "predicted",
               "measured", "predicted", "measured", "predicted", "measured", "slower DMA", "faster", "Mu");
    }
    for (size_t i = 0; me == 0 && pes > 1 && i < sizeof published / sizeof *published; i++)
        compare_with(&published[i], space, there, here);
    shmem_barrier_all();
    shmemx_space_destroy(space);
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    if (argc > 1 && strcmp(argv[1], "published") == 0) {
        try_published();
    } else if (argc > 1) { /* two of four devices, by the number given */
        const double devices[4][3] = {{200e6, 150e6, 20e-6}, {1e9, 300e6, 100e-6}, {400e6, 2e9, 10e-6}, {2e9, 2e9, 50e-6}};
        unsigned long seed = strtoul(argv[1], NULL, 10);
        unsigned first = seed % 4, second = (first + 1 + seed / 4 % 3) % 4;
        for (int d = 0; d < 2; d++) {
            const double *device = devices[d ? second : first];
            try_packets(device[0], device[1], device[2]);
        }
    } else {
        const char *device = getenv("HOPCAST_TEST_DEVICE");
        try_bytes(!device                    ? SHMEMX_MEM_ACCELERATOR
                  : strcmp(device, "hip") == 0 ? SHMEMX_MEM_HIP
                                               : SHMEMX_MEM_CUDA);
        try_small();
    }
    shmem_finalize();
    return wrong != 0;
}
