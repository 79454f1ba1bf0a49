/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwloc's synthetic descriptions, "package:2 [numa(memory=64GB)] l3:1 core:12 pu:2": levels from the outside in.
 * libhwloc says only that it refuses one, and builds whatever is asked for; so every level is looked at first.
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
    struct hop_failure failure;
};

static void refuse(struct reader *r, enum hop_status status, const char *where, const char *what)
{
    hop_failure_set(
        &r->failure, status,
        "'%.*s': %s\nlevels and their counts from the outside in, as in \"package:2 core:12 pu:2\", at most "
        "%d objects; or an hwloc XML file, or live",
        (int)strcspn(where, BLANKS), where, what, OBJECT_LIMIT);
    hop_failure_place(&r->failure, "'%.150s'", r->text);
}

static bool ok(const struct reader *r)
{
    return r->failure.status == HOP_OK;
}

/* ---- attributes: "(memory=4GB indexes=0,2,1,3)" ---- */

/* A number for each object of the level. Others libhwloc would pass over, or print a banner about. Its short form,
 * "2*8:4*2", it does not check. */
static void check_indexes(struct reader *r, const char *list)
{
    bool seen[INDEX_LIMIT] = {false};
    for (unsigned long i = 0; i < r->inside && ok(r); i++) {
        char *end;
        unsigned long index = isdigit((unsigned char)*list) ? strtoul(list, &end, 10) : INDEX_LIMIT;
        if (index >= INDEX_LIMIT || seen[index]) {
            refuse(r, HOP_ERR_INVALID, list, "indexes are different numbers below 16384, one for every object");
            return;
        }
        seen[index] = true;
        list = end + (*end == ',');
    }
    if (list[-1] == ',' || (*list != ')' && !strchr(BLANKS, *list)))
        refuse(r, HOP_ERR_INVALID, list, "there are more indexes than objects, or they are not a list");
}

static void read_attributes(struct reader *r)
{
    const char *end = strchr(r->at, ')'), *at = r->at + 1;
    if (!end)
        refuse(r, HOP_ERR_SYNTAX, r->at, "this parenthesis is not closed");
    while (ok(r) && at < end) {
        if (strncmp(at, "indexes=", 8) == 0)
            check_indexes(r, at + 8);
        at += strcspn(at, BLANKS ")");
        at += strspn(at, BLANKS);
    }
    r->at = end ? end + 1 : r->at;
}

/* ---- levels ---- */

/* The type of that name, HWLOC_OBJ_TYPE_MAX: there is none. */
static hwloc_obj_type_t type_of(const char *text, size_t length)
{
    char name[NAME_LIMIT + 1] = "";
    hwloc_obj_type_t type;
    memcpy(name, text, length < NAME_LIMIT ? length : NAME_LIMIT);
    return hwloc_type_sscanf(name, &type, NULL, 0) == 0 ? type : HWLOC_OBJ_TYPE_MAX;
}

static void read_type(struct reader *r, size_t length)
{
    hwloc_obj_type_t type = type_of(r->at, length);
    if (type == HWLOC_OBJ_TYPE_MAX || type == HWLOC_OBJ_MACHINE ||
        !(hwloc_obj_type_is_normal(type) || type == HWLOC_OBJ_NUMANODE))
        refuse(r, HOP_ERR_SYNTAX, r->at, "hwloc knows no such level");
    else if (r->types >> HWLOC_OBJ_PU & 1)
        refuse(r, HOP_ERR_INVALID, r->at, "nothing is inside of a pu");
    else if (r->types >> type & 1 && type != HWLOC_OBJ_GROUP)
        refuse(r, HOP_ERR_INVALID, r->at, "this level is there already");
    r->types |= 1ul << type;
}

static void add_objects(struct reader *r, const char *where)
{
    r->objects += r->inside;
    if (r->objects > OBJECT_LIMIT)
        refuse(r, HOP_ERR_LIMIT, where, "too many objects");
}

/* "core:12", or "12" of some type. */
static void read_level(struct reader *r)
{
    const char *start = r->at, *count = start;
    char *end = NULL;
    size_t length = strcspn(start, BLANKS "([]"), name = 0;
    while (name < length && start[name] != ':')
        name++;
    if (name < length) {
        read_type(r, name);
        count += name + 1;
    } else {
        r->unnamed = true;
    }
    unsigned long each = isdigit((unsigned char)*count) ? strtoul(count, &end, 10) : 0;
    if (each == 0 || end != start + length)
        refuse(r, HOP_ERR_SYNTAX, start, "this level has no count");
    if (each > CHILD_LIMIT) /* libhwloc's time grows with their cube */
        refuse(r, HOP_ERR_LIMIT, start, "more than 1024 in one object");
    if (!ok(r))
        return;
    r->inside *= each;
    add_objects(r, start);
    r->at += length;
    if (*r->at == '(' && ok(r))
        read_attributes(r);
}

/* "[numa(memory=4GB)]": memory in every object of the level before. */
static void read_memory(struct reader *r)
{
    const char *start = r->at;
    size_t length = strcspn(start + 1, BLANKS "(]");
    if (type_of(start + 1, length) != HWLOC_OBJ_NUMANODE)
        refuse(r, HOP_ERR_SYNTAX, start, "in brackets there is memory, [numa] or [numa(memory=4GB)]");
    add_objects(r, start);
    r->memory = true;
    r->at += 1 + length;
    if (*r->at == '(' && ok(r))
        read_attributes(r);
    if (*r->at != ']')
        refuse(r, HOP_ERR_SYNTAX, start, "this bracket is not closed");
    r->at += ok(r);
}

/* libhwloc refuses these, too, and then forgets to free what it has read. */
static void check_together(struct reader *r)
{
    if (r->memory && r->types >> HWLOC_OBJ_NUMANODE & 1)
        refuse(r, HOP_ERR_INVALID, strchr(r->text, '['), "NUMA nodes are a level and in brackets, too");
    if (r->memory && r->unnamed)
        refuse(r, HOP_ERR_INVALID, strchr(r->text, '['), "memory between levels without names");
}

static enum hop_status check(const char *text, struct hop_diag *diag)
{
    struct reader r = {.text = text, .at = text, .inside = 1, .failure.diag = diag};
    if (strlen(text) > TEXT_LIMIT)
        refuse(&r, HOP_ERR_LIMIT, "...", "this is longer than 1024 bytes");
    if (*text == '(') /* of the machine */
        read_attributes(&r);
    while (ok(&r)) {
        r.at += strspn(r.at, BLANKS);
        if (!*r.at)
            break;
        (*r.at == '[' ? read_memory : read_level)(&r);
    }
    check_together(&r);
    return r.failure.status;
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
    hop_fail(diag, HOP_ERR_INVALID,
             "libhwloc refuses this description of a machine\nlevels from the outside in, the last one being pu, as in "
             "\"package:2 core:12 pu:2\"");
    hop_diag_place(diag, "'%.150s'", text);
    return HOP_ERR_INVALID;
}

#endif
