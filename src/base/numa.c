/* SPDX-License-Identifier: BSD-3-Clause */
/* NUMA nodes by /sys and system calls: no library of theirs is needed. */
#include "base/numa.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PREFERRED = 1, NODE_BITS = 8 * sizeof(((struct hop_numa_binding *)0)->nodes) };

/* ---- processors ---- */

void hop_processor_name(char *text, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    (void)snprintf(text, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!colon)
            continue;
        (void)snprintf(text, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        (void)fclose(file);
}

bool hop_processors_are_virtual(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (file && !found && getline(&line, &size, file) >= 0)
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " hypervisor") != NULL;
    free(line);
    if (file)
        (void)fclose(file);
    return found;
}

/* ---- PCI addresses ---- */

uint64_t hop_pci_address(const char *text)
{
    uint64_t part[4] = {0}; /* as they come, the last one the function's */
    unsigned parts = 0;
    bool whole = false;
    char *end;
    for (const char *at = text; at && parts < 3 && isxdigit((unsigned char)*at); at = end + 1) {
        part[parts++] = strtoull(at, &end, 16);
        whole = *end == '.' && parts > 1 && isdigit((unsigned char)end[1]);
        if (whole)
            part[3] = strtoull(end + 1, &end, 8);
        if (whole || *end != ':') {
            uint64_t domain = parts == 3 ? part[0] : 0, bus = part[parts - 2 + (parts < 2)], device = part[parts - 1];
            bool fits = parts > 1 && !*end && domain <= UINT32_MAX && bus < 256 && device < 32 && part[3] < 8;
            return fits ? domain << 16 | bus << 8 | device << 3 | part[3] : UINT64_MAX;
        }
    }
    return UINT64_MAX;
}

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    bool fine = file && fgets(line, (int)size, file);
    if (file)
        (void)fclose(file);
    return fine;
}

int hop_numa_of_pci(uint64_t address)
{
    char path[96], line[32];
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node", (unsigned)(address >> 16),
                   (unsigned)(address >> 8 & 255), (unsigned)(address >> 3 & 31), (unsigned)(address & 7));
    return read_line(path, line, sizeof line) ? atoi(line) : -1;
}

/* ---- processors and memory ---- */

bool hop_numa_list(const char *text, cpu_set_t *set)
{
    char *end = NULL;
    CPU_ZERO(set);
    for (const char *at = text; isdigit((unsigned char)*at); at = end + 1) {
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-' && isdigit((unsigned char)end[1]))
            last = strtoul(end + 1, &end, 10);
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, set);
        if (*end != ',')
            return last >= first && (*end == '\0' || *end == '\n');
    }
    return false;
}

static void run_there(int node, struct hop_numa_binding *before)
{
    char path[64], line[4096];
    cpu_set_t there;
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    if (sched_getaffinity(0, sizeof before->processors, &before->processors) != 0 ||
        !read_line(path, line, sizeof line) || !hop_numa_list(line, &there))
        return;
    CPU_AND(&there, &there, &before->processors);
    before->bound = CPU_COUNT(&there) > 0 && sched_setaffinity(0, sizeof there, &there) == 0;
}

static void take_memory_there(int node, struct hop_numa_binding *before)
{
    const size_t word = 8 * sizeof before->nodes[0];
    unsigned long wanted[sizeof before->nodes / sizeof before->nodes[0]] = {0};
    wanted[(size_t)node / word] = 1ul << ((size_t)node % word);
    before->preferred =
        syscall(SYS_get_mempolicy, &before->mode, before->nodes, (unsigned long)NODE_BITS, NULL, 0ul) == 0 &&
        syscall(SYS_set_mempolicy, PREFERRED, wanted, (unsigned long)NODE_BITS) == 0;
}

void hop_numa_bind(int node, struct hop_numa_binding *before)
{
    *before = (struct hop_numa_binding){0};
    if (node < 0 || node >= NODE_BITS)
        return;
    run_there(node, before);
    take_memory_there(node, before);
}

void hop_numa_release(struct hop_numa_binding *before)
{
    if (before->bound)
        (void)sched_setaffinity(0, sizeof before->processors, &before->processors);
    if (before->preferred)
        (void)syscall(SYS_set_mempolicy, before->mode, before->nodes, (unsigned long)NODE_BITS);
    *before = (struct hop_numa_binding){0};
}
