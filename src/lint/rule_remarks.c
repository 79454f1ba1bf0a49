/* SPDX-License-Identifier: BSD-3-Clause */
/* Lint: what only the importers know. They say it in the topology's remarks, whose words are looked for here. */
#include "lint/lint.h"

static void links_below_capability(struct hop_lint *l)
{
    const char *note;
    for (size_t i = 0; (note = hop_topology_note(l->topology, i)); i++) {
        static const char head[] = "the link of ", middle[] = " runs at ", tail[] = " where both of its ends can do ";
        const char *at = strstr(note, head), *runs = at ? strstr(at, middle) : NULL,
                   *could = at ? strstr(at, tail) : NULL;
        if (!runs || !could || runs > could)
            continue;
        struct hop_lint_text text = {0};
        at += sizeof head - 1;
        hop_buffer_add(&text.subject, at, (size_t)(runs - at));
        hop_buffer_puts(&text.evidence, note);
        hop_buffer_puts(&text.effect, "everything to and from it moves at no more than the slower rate");
        hop_lint_add(l, HOP_LINT_LINK_BELOW_CAPABILITY, HOP_LINT_WARNING, &text,
                     "reseat the card or riser, look at the slot's lanes and the BIOS's link settings");
    }
}

/* One finding for all of them: they come from the same emulation. */
static void emulated_bridges(struct hop_lint *l)
{
    struct hop_lint_text text = {0};
    const char *note, *first = NULL;
    uint32_t count = 0;
    for (size_t i = 0; (note = hop_topology_note(l->topology, i)); i++) {
        if (!strstr(note, "2.5 GT/s x1") || !strstr(note, "emulated"))
            continue;
        first = first ? first : note;
        count++;
    }
    if (!first)
        return;
    hop_buffer_puts(&text.subject, "PCI bridges");
    hop_buffer_puts(&text.evidence, first);
    if (count > 1)
        hop_buffer_printf(&text.evidence, "; %u more like it", count - 1);
    hop_buffer_puts(
        &text.effect,
        "predictions here ignore these speeds; software that believes them takes the ways through these bridges for "
        "0.2 GB/s (NCCL: 0.19) and avoids them");
    hop_lint_add(l, HOP_LINT_BRIDGE_EMULATED, HOP_LINT_WARNING, &text,
                 "give NCCL a topology of the real machine (NCCL_TOPO_FILE), as cloud providers publish");
}

void hop_lint_rule_remarks(struct hop_lint *l)
{
    links_below_capability(l);
    emulated_bridges(l);
}
