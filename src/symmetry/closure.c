/* SPDX-License-Identifier: BSD-3-Clause */
/* The group that permutations generate: products with the generators, until none is new. */
#include "symmetry/symmetry_search.h"

static int compare_rows(const void *a, const void *b)
{
    const struct hop_symmetry_row *x = a, *y = b;
    for (uint32_t k = 0; k < x->n; k++) {
        if (x->image[k] != y->image[k])
            return x->image[k] < y->image[k] ? -1 : 1;
    }
    return 0;
}

void hop_symmetry_sort(const uint16_t *from, uint32_t n, uint32_t count, struct hop_symmetry_row *rows, uint16_t *to)
{
    for (uint32_t k = 0; k < count; k++)
        rows[k] = (struct hop_symmetry_row){from + (size_t)k * n, n};
    qsort(rows, count, sizeof *rows, compare_rows);
    for (uint32_t k = 0; k < count; k++)
        memcpy(to + (size_t)k * n, rows[k].image, n * sizeof *to);
}

uint64_t hop_symmetry_hash(const uint16_t *values, size_t count)
{
    uint64_t hash = count;
    for (size_t k = 0; k < count; k++)
        hash = hop_draw_from(hash ^ values[k]);
    return hash;
}

struct closure {
    uint32_t n, count, capacity;
    uint16_t *elements;
    uint32_t *slots; /* of a hash table: an element's number and one more, 0: empty */
    uint32_t slot_count;
};

static void put_slot(struct closure *c, uint32_t number)
{
    uint64_t hash = hop_symmetry_hash(c->elements + (size_t)number * c->n, c->n);
    uint32_t slot = (uint32_t)hash & (c->slot_count - 1);
    while (c->slots[slot])
        slot = (slot + 1) & (c->slot_count - 1);
    c->slots[slot] = number + 1;
}

static bool has_slot(const struct closure *c, const uint16_t *image)
{
    if (c->slot_count == 0)
        return false;
    uint32_t slot = (uint32_t)hop_symmetry_hash(image, c->n) & (c->slot_count - 1);
    for (; c->slots[slot]; slot = (slot + 1) & (c->slot_count - 1)) {
        if (memcmp(c->elements + (size_t)(c->slots[slot] - 1) * c->n, image, c->n * sizeof *image) == 0)
            return true;
    }
    return false;
}

/* Room for one element more, at least half of the table empty. */
static bool grow_closure(struct closure *c)
{
    if (!hop_grow(&c->elements, &c->capacity, c->count + 1, c->n * sizeof *c->elements))
        return false;
    if (2 * (c->count + 1) <= c->slot_count)
        return true;
    uint32_t slot_count = c->slot_count ? 2 * c->slot_count : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(c->slots);
    c->slots = slots;
    c->slot_count = slot_count;
    for (uint32_t k = 0; k < c->count; k++)
        put_slot(c, k);
    return true;
}

/* Adds the product of an element and a generator (NULL: the identity), unless it is there. */
static enum hop_status add_product(struct closure *c, uint32_t element, const uint16_t *generator, uint32_t limit,
                                   struct hop_diag *diag)
{
    if (!grow_closure(c))
        return hop_fail_memory(diag);
    uint16_t *product = c->elements + (size_t)c->count * c->n;
    for (uint32_t x = 0; x < c->n; x++)
        product[x] = generator ? generator[c->elements[(size_t)element * c->n + x]] : (uint16_t)x;
    if (has_slot(c, product))
        return HOP_OK;
    if (c->count == limit) {
        hop_fail(diag, HOP_ERR_LIMIT, "these permutations generate more than %u", limit);
        hop_diag_expect(diag, "a group of at most %u elements", limit);
        return HOP_ERR_LIMIT;
    }
    put_slot(c, c->count++);
    return HOP_OK;
}

enum hop_status hop_symmetry_close(uint32_t n, const uint16_t *generators, uint32_t count, uint32_t limit,
                                   uint16_t **elements, uint32_t *order, struct hop_diag *diag)
{
    struct closure c = {.n = n};
    enum hop_status status = add_product(&c, 0, NULL, limit, diag);
    for (uint32_t k = 0; k < c.count && status == HOP_OK; k++) {
        for (uint32_t g = 0; g < count && status == HOP_OK; g++)
            status = add_product(&c, k, generators + (size_t)g * n, limit, diag);
    }
    struct hop_symmetry_row *rows = malloc((size_t)c.count * sizeof *rows + 1);
    uint16_t *sorted = malloc((size_t)c.count * n * sizeof *sorted + 1);
    if (status == HOP_OK && (!rows || !sorted))
        status = hop_fail_memory(diag);
    if (status == HOP_OK) {
        hop_symmetry_sort(c.elements, n, c.count, rows, sorted);
        *elements = sorted;
        *order = c.count;
    } else {
        free(sorted);
    }
    free(rows);
    free(c.elements);
    free(c.slots);
    return status;
}
