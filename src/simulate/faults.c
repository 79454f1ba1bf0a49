/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults as text: what, of which link or node, when, and for how long. */
#include "hopcast/simulate.h"

#include "hopcast/units.h"
#include "topology/topology.h"

#define FORMS "link A--B at TIME, link A->B at TIME, credit A->B at TIME, or reset NODE at TIME for TIME"

struct reading {
    const struct hop_topology *topology;
    const char *text;
    struct hop_fault fault;
    struct hop_diag *diag;
};

struct word {
    const char *text;
    size_t length;
};

static struct word next_word(struct reading *r)
{
    r->text += strspn(r->text, " \t");
    struct word word = {r->text, strcspn(r->text, " \t")};
    r->text += word.length;
    return word;
}

static bool is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.text, text, word.length) == 0;
}

static enum hop_status read_link(struct reading *r)
{
    struct word word = next_word(r);
    unsigned directions = 0;
    unsigned found = hop_topology_find_links(r->topology, word.text, word.length, &r->fault.link, &directions);
    int shown = word.length < 100 ? (int)word.length : 100;
    if (found == 0)
        return hop_fail(r->diag, HOP_ERR_NOT_FOUND, "'%.*s' is no link of %s\n" FORMS, shown, word.text,
                        hop_topology_name(r->topology));
    if (found > 1)
        return hop_fail(r->diag, HOP_ERR_SYNTAX, "'%.*s' is %u links\nits kind behind it, as in A--B:ethernet", shown,
                        word.text, found);
    if (r->fault.kind == HOP_FAULT_CREDIT && directions == 3)
        return hop_fail(r->diag, HOP_ERR_SYNTAX, "a credit is of one direction\ncredit A->B at TIME");
    r->fault.both = directions == 3;
    r->fault.link = 2 * r->fault.link + (directions == 2);
    return HOP_OK;
}

static enum hop_status read_node(struct reading *r)
{
    struct word word = next_word(r);
    char name[64];
    size_t length = word.length < sizeof name ? word.length : sizeof name - 1;
    memcpy(name, word.text, length);
    name[length] = '\0';
    r->fault.node = hop_topology_find(r->topology, name);
    if (r->fault.node == HOP_NONE)
        return hop_fail(r->diag, HOP_ERR_NOT_FOUND, "'%s' is no node of %s\n" FORMS, name,
                        hop_topology_name(r->topology));
    return HOP_OK;
}

static enum hop_status read_time(struct reading *r, const char *before, double *seconds)
{
    struct word word = next_word(r);
    if (!is(word, before))
        return hop_fail(r->diag, HOP_ERR_SYNTAX, "'%s' is missing\n" FORMS, before);
    word = next_word(r);
    return hop_parse_seconds(word.text, word.length, seconds, r->diag);
}

enum hop_status hop_fault_read(const struct hop_topology *topology, const char *text, struct hop_fault *fault,
                               struct hop_diag *diag)
{
    static const char *const kinds[] = {
        [HOP_FAULT_LINK] = "link", [HOP_FAULT_CREDIT] = "credit", [HOP_FAULT_RESET] = "reset"};
    struct reading r = {.topology = topology, .text = text, .diag = diag};
    struct word word = next_word(&r);
    unsigned kind = 0;
    while (kind < HOP_COUNT(kinds) && !is(word, kinds[kind]))
        kind++;
    if (kind == HOP_COUNT(kinds))
        return hop_fail(diag, HOP_ERR_SYNTAX, "'%.*s' is no fault\n" FORMS,
                        (int)(word.length < 100 ? word.length : 100), word.text);
    r.fault.kind = (enum hop_fault_kind)kind;
    HOP_CHECK(kind == HOP_FAULT_RESET ? read_node(&r) : read_link(&r));
    HOP_CHECK(read_time(&r, "at", &r.fault.at_s));
    if (kind == HOP_FAULT_RESET)
        HOP_CHECK(read_time(&r, "for", &r.fault.lasts_s));
    word = next_word(&r);
    if (word.length > 0)
        return hop_fail(diag, HOP_ERR_SYNTAX, "'%.*s' stands behind the fault\n" FORMS,
                        (int)(word.length < 100 ? word.length : 100), word.text);
    *fault = r.fault;
    return HOP_OK;
}
