/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/site_sums.h"

#include "base/base.h"

enum { ROOM = 1 << 14 }; /* rows that are kept before what is the same is put together */

void hop_sum_add(struct hop_mpi_sum *into, const struct hop_mpi_sum *sum)
{
    into->least_s = into->ranks && into->least_s < sum->least_s ? into->least_s : sum->least_s;
    into->most_s = into->most_s > sum->most_s ? into->most_s : sum->most_s;
    into->calls += sum->calls;
    into->bytes += sum->bytes;
    into->seconds += sum->seconds;
    into->ranks += sum->ranks;
}

/* ---- own ---- */

struct collected {
    struct hop_mpi_site *items;
    uint32_t count, capacity;
    bool failed;
};

static void collect(void *context, const struct hop_mpi_site *site)
{
    struct collected *all = context;
    if (hop_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        all->items[all->count++] = *site;
    else
        all->failed = true;
}

static int by_address(const void *a, const void *b)
{
    const struct hop_mpi_site *x = a, *y = b;
    int order = HOP_ORDER((uintptr_t)x->returns_to, (uintptr_t)y->returns_to);
    return order ? order : HOP_ORDER(x->call, y->call);
}

void hop_sites_own(struct hop_mpi_sites *sites, double tick_s)
{
    struct collected all = {0};
    hop_counts_sites(collect, &all);
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_address);
    *sites = (struct hop_mpi_sites){.failed = all.failed};
    for (uint32_t i = 0; i < all.count; i++) {
        const struct hop_mpi_site *site = &all.items[i];
        double seconds = (double)site->ticks * tick_s;
        struct hop_mpi_site_sum *last = sites->count ? &sites->items[sites->count - 1] : NULL;
        if (i && by_address(site, site - 1) == 0 && last) { /* of another thread */
            last->sum.calls += site->calls;
            last->sum.bytes += site->bytes;
            last->sum.least_s = last->sum.most_s = last->sum.seconds += seconds;
        } else if (hop_grow(&sites->items, &sites->capacity, sites->count + 1, sizeof *sites->items)) {
            struct hop_mpi_site_sum *made = &sites->items[sites->count++];
            *made = (struct hop_mpi_site_sum){.call = site->call,
                                              .sum = {site->calls, site->bytes, 1, seconds, seconds, seconds}};
            hop_site_describe(site->returns_to, &made->place);
        }
    }
    free(all.items);
}

/* ---- of all ranks ---- */

static int by_place(const void *a, const void *b)
{
    const struct hop_mpi_site_sum *x = a, *y = b;
    int order = HOP_ORDER(x->place.offset, y->place.offset);
    order = order ? order : HOP_ORDER(x->call, y->call);
    return order ? order : strcmp(x->place.module, y->place.module);
}

static int by_time(const void *a, const void *b)
{
    const struct hop_mpi_site_sum *x = a, *y = b;
    int order = HOP_ORDER(y->sum.seconds, x->sum.seconds);
    return order ? order : by_place(a, b);
}

static void put_together(struct hop_mpi_sites *all)
{
    uint32_t kept = 0;
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_place);
    for (uint32_t i = 0; i < all->count; i++) {
        if (kept && by_place(&all->items[kept - 1], &all->items[i]) == 0)
            hop_sum_add(&all->items[kept - 1].sum, &all->items[i].sum);
        else
            all->items[kept++] = all->items[i];
    }
    all->count = kept;
}

void hop_sites_add(struct hop_mpi_sites *all, const struct hop_mpi_site_sum *items, uint32_t count)
{
    if (all->count + count > ROOM && all->count + count > all->capacity / 2)
        put_together(all);
    all->failed |= !hop_grow(&all->items, &all->capacity, all->count + count, sizeof *all->items);
    if (!all->failed && count) {
        memcpy(&all->items[all->count], items, count * sizeof *items);
        all->count += count;
    }
}

void hop_sites_finish(struct hop_mpi_sites *all)
{
    put_together(all);
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_time);
}
