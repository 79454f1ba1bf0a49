/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc's synthetic descriptions, "package:2 [numa(memory=64GB)] l3:1 core:12 pu:2": levels from the outside in, each
 * with how many of it lie in one of the level before.
 *
 * libhwloc says only that it refuses one, and builds whatever is asked for; so every level is looked at first, to name
 * the one that is wrong and to bound how many objects there will be.
 */
#include "base/base.h"

#ifdef HOP_HAVE_HWLOC

#include "import/hwloc_load.h"

#include <ctype.h>

enum { TEXT_LIMIT = 1024, OBJECT_LIMIT = 1 << 13, CHILD_LIMIT = 1 << 10, INDEX_LIMIT = 1 << 14, NAME_LIMIT = 31 };
#define BLANKS " \t\r\n"

struct reader {
    const char *text, *at;
    unsigned long inside, objects; /* of the level read last in the whole machine; of all levels */
    unsigned long types;           /* a bit for every type that was a level */
    bool unnamed, memory;          /* a level had no type; memory was in brackets */
    struct hop_diag *diag;
};

static enum hop_status refuse(const struct reader *r, enum hop_status status, const char *where, const char *what)
{
    hop_fail(r->diag, status, "'%.*s': %s", (int)strcspn(where, BLANKS), where, what);
    hop_diag_place(r->diag, "'%.150s'", r->text);
    hop_diag_expect(r->diag,
                    "levels and their counts from the outside in, as in \"package:2 core:12 pu:2\", at most "
                    "%d objects; or an hwloc XML file, or live",
                    OBJECT_LIMIT);
    return status;
}

/* ---- attributes: "(memory=4GB indexes=0,2,1,3)" ---- */

/* A number for each object of the level. Others libhwloc would pass over, or print a banner about. Its short form,
 * "2*8:4*2", it does not check. */
static enum hop_status check_indexes(const struct reader *r, const char *list)
{
    bool seen[INDEX_LIMIT] = {false};
    for (unsigned long i = 0; i < r->inside; i++) {
        char *end;
        unsigned long index = isdigit((unsigned char)*list) ? strtoul(list, &end, 10) : INDEX_LIMIT;
        if (index >= INDEX_LIMIT || seen[index])
            return refuse(r, HOP_ERR_INVALID, list, "indexes are different numbers below 16384, one for every object");
        seen[index] = true;
        list = end + (*end == ',');
    }
    if (list[-1] != ',' && (*list == ')' || strchr(BLANKS, *list)))
        return HOP_OK;
    return refuse(r, HOP_ERR_INVALID, list, "there are more indexes than objects, or they are not a list");
}

static enum hop_status read_attributes(struct reader *r)
{
    const char *end = strchr(r->at, ')'), *at = r->at + 1;
    enum hop_status status = HOP_OK;
    if (!end)
        return refuse(r, HOP_ERR_SYNTAX, r->at, "this parenthesis is not closed");
    while (at < end && status == HOP_OK) {
        if (strncmp(at, "indexes=", 8) == 0)
            status = check_indexes(r, at + 8);
        at += strcspn(at, BLANKS ")");
        at += strspn(at, BLANKS);
    }
    r->at = end + 1;
    return status;
}

/* ---- levels ---- */

static enum hop_status read_type(struct reader *r, size_t length)
{
    char name[NAME_LIMIT + 1] = "";
    hwloc_obj_type_t type;
    memcpy(name, r->at, length < NAME_LIMIT ? length : NAME_LIMIT);
    if (hwloc_type_sscanf(name, &type, NULL, 0) != 0 || type == HWLOC_OBJ_MACHINE ||
        !(hwloc_obj_type_is_normal(type) || type == HWLOC_OBJ_NUMANODE))
        return refuse(r, HOP_ERR_SYNTAX, r->at, "hwloc knows no such level");
    if (r->types >> HWLOC_OBJ_PU & 1)
        return refuse(r, HOP_ERR_INVALID, r->at, "nothing is inside of a pu");
    if (r->types >> type & 1 && type != HWLOC_OBJ_GROUP)
        return refuse(r, HOP_ERR_INVALID, r->at, "this level is there already");
    r->types |= 1ul << type;
    return HOP_OK;
}

/* "core:12", or "12" of some type. */
static enum hop_status read_level(struct reader *r)
{
    const char *start = r->at, *count = start;
    size_t length = strcspn(start, BLANKS "([]"), name = 0;
    enum hop_status status = HOP_OK;
    while (name < length && start[name] != ':')
        name++;
    if (name < length) {
        status = read_type(r, name);
        count += name + 1;
    } else {
        r->unnamed = true;
    }
    if (status != HOP_OK)
        return status;
    char *end;
    unsigned long each = isdigit((unsigned char)*count) ? strtoul(count, &end, 10) : 0;
    if (each == 0 || end != start + length)
        return refuse(r, HOP_ERR_SYNTAX, start, "this level has no count");
    if (each > CHILD_LIMIT) /* libhwloc's time grows with their cube */
        return refuse(r, HOP_ERR_LIMIT, start, "more than 1024 in one object");
    if (r->inside * each + r->objects > OBJECT_LIMIT)
        return refuse(r, HOP_ERR_LIMIT, start, "too many objects");
    r->inside *= each;
    r->objects += r->inside;
    r->at += length;
    return *r->at == '(' ? read_attributes(r) : HOP_OK;
}

/* "[numa(memory=4GB)]": memory in every object of the level before. */
static enum hop_status read_memory(struct reader *r)
{
    const char *start = r->at;
    char name[NAME_LIMIT + 1] = "";
    hwloc_obj_type_t type;
    size_t length = strcspn(start + 1, BLANKS "(]");
    enum hop_status status = HOP_OK;
    memcpy(name, start + 1, length < NAME_LIMIT ? length : NAME_LIMIT);
    if (hwloc_type_sscanf(name, &type, NULL, 0) != 0 || type != HWLOC_OBJ_NUMANODE)
        return refuse(r, HOP_ERR_SYNTAX, start, "in brackets there is memory, [numa] or [numa(memory=4GB)]");
    r->objects += r->inside;
    r->memory = true;
    if (r->objects > OBJECT_LIMIT)
        return refuse(r, HOP_ERR_LIMIT, start, "too many objects");
    r->at += 1 + length;
    if (*r->at == '(')
        status = read_attributes(r);
    if (status == HOP_OK && *r->at != ']')
        return refuse(r, HOP_ERR_SYNTAX, start, "this bracket is not closed");
    r->at++;
    return status;
}

/* libhwloc refuses these, too, and then forgets to free what it has read. */
static enum hop_status check_together(const struct reader *r)
{
    if (r->memory && r->types >> HWLOC_OBJ_NUMANODE & 1)
        return refuse(r, HOP_ERR_INVALID, strchr(r->text, '['), "NUMA nodes are a level and in brackets, too");
    if (r->memory && r->unnamed)
        return refuse(r, HOP_ERR_INVALID, strchr(r->text, '['), "memory between levels without names");
    return HOP_OK;
}

static enum hop_status check(const char *text, struct hop_diag *diag)
{
    struct reader r = {.text = text, .at = text, .inside = 1, .diag = diag};
    enum hop_status status = HOP_OK;
    if (strlen(text) > TEXT_LIMIT)
        return refuse(&r, HOP_ERR_LIMIT, "...", "this is longer than 1024 bytes");
    if (*text == '(') /* of the machine */
        status = read_attributes(&r);
    while (status == HOP_OK) {
        r.at += strspn(r.at, BLANKS);
        if (!*r.at)
            return check_together(&r);
        status = *r.at == '[' ? read_memory(&r) : read_level(&r);
    }
    return status;
}

enum hop_status hop_hwloc_open_synthetic(const char *text, struct hop_hwloc *hwloc, struct hop_diag *diag)
{
    enum hop_status status = check(text, diag);
    if (status == HOP_OK)
        status = hop_hwloc_begin(hwloc, diag);
    if (status != HOP_OK)
        return status;
    if (hwloc_topology_set_synthetic(hwloc->machine, text) == 0 && hwloc_topology_load(hwloc->machine) == 0)
        return HOP_OK;
    hop_hwloc_close(hwloc);
    hop_fail(diag, HOP_ERR_INVALID, "libhwloc refuses this description of a machine");
    hop_diag_place(diag, "'%.150s'", text);
    hop_diag_expect(diag, "levels from the outside in, the last one being pu, as in \"package:2 core:12 pu:2\"");
    return HOP_ERR_INVALID;
}

#endif
