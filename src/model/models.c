/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of models, and which of them rules a domain. A new model is a file of its own, its declaration in model.h and
 * a line here.
 */
#include "model/model.h"

#include <stdio.h>

/* Unless the topology or the caller says otherwise a domain is ruled by the first that asks for it. */
static const struct hop_model *const models[] = {&hop_model_server,     &hop_model_credit,
                                                 &hop_model_pcie,       &hop_model_fair,
                                                 &hop_model_infiniband, &hop_model_infiniband_full,
                                                 &hop_model_loggp};

const struct hop_parameter_table *const hop_model_parameters[] = {
    &hop_pcie_parameters, &hop_credit_parameters, &hop_server_parameters, &hop_fair_parameters, &hop_loggp_parameters, NULL};

const struct hop_model_facts *hop_model_at(size_t index)
{
    return index < HOP_COUNT(models) ? &models[index]->facts : NULL;
}

/* ---- which domains a model can rule ---- */

static const char *const needs_text[] = {[HOP_RULES_ANY] = "any domain",
                                         [HOP_RULES_PCIE] = "a PCIe domain",
                                         [HOP_RULES_FABRIC] = "a network fabric (InfiniBand or Ethernet)"};

static bool is_of_family(const struct hop_model *model, const struct hop_topology *topology, uint32_t domain)
{
    const char *family = hop_topology_domain(topology, domain)->family;
    switch (model->family) {
    case HOP_RULES_PCIE:
        return strcmp(family, "pcie") == 0;
    case HOP_RULES_FABRIC:
        return strcmp(family, "infiniband") == 0 || strcmp(family, "ethernet") == 0;
    default:
        return true;
    }
}

/* What the model's name means for a domain: itself, what it is elsewhere, NULL: nothing. */
static const struct hop_model *meaning(const struct hop_model *model, const struct hop_topology *topology, uint32_t domain)
{
    if (is_of_family(model, topology, domain))
        return model;
    return model->elsewhere && model->elsewhere->asks_for(topology, domain) ? model->elsewhere : NULL;
}

static const struct hop_model *default_model(const struct hop_topology *topology, uint32_t domain, bool ordered)
{
    for (size_t i = 0; i < HOP_COUNT(models); i++) {
        const struct hop_model *model = meaning(models[i], topology, domain);
        if (model && model->asks_for && (ordered || !model->needs_order) && model->asks_for(topology, domain))
            return model;
    }
    return &hop_model_fair;
}

/* ---- a text's choices ---- */

static const char *model_name(const void *context, uint32_t index)
{
    (void)context;
    return models[index]->facts.name;
}

static void list_models(char *list, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < HOP_COUNT(models) && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s",
                                 i == 0                          ? ""
                                 : i + 1 == HOP_COUNT(models) ? " or "
                                                                 : ", ",
                                 models[i]->facts.name);
}

static const struct hop_model *find_model(const char *name, size_t length, struct hop_diag *diag)
{
    char copy[64], list[256];
    for (size_t i = 0; i < HOP_COUNT(models); i++) {
        if (strlen(models[i]->facts.name) == length && memcmp(models[i]->facts.name, name, length) == 0)
            return models[i];
    }
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(length < 60 ? length : 60), name);
    uint32_t near = hop_text_nearest(copy, model_name, NULL, HOP_COUNT(models));
    list_models(list, sizeof list);
    hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no model '%s'\n%s%s%s", copy,
             near == UINT32_MAX ? "" : models[near]->facts.name, near == UINT32_MAX ? "" : "? ", list);
    return NULL;
}

/* A '*' at the end stands for anything: pcie* is the PCIe of every server. */
static bool is_named(const char *name, const char *pattern, size_t length)
{
    if (length > 0 && pattern[length - 1] == '*')
        return strncmp(name, pattern, length - 1) == 0;
    return strlen(name) == length && memcmp(name, pattern, length) == 0;
}

static enum hop_status refuse_domain(const struct hop_topology *topology, const char *text, size_t length,
                                     struct hop_diag *diag)
{
    char list[256] = "";
    size_t used = 0;
    for (uint32_t d = 0; d < hop_topology_domain_count(topology) && used < sizeof list - 40; d++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", d ? ", " : "",
                                 hop_topology_domain(topology, d)->name);
    return hop_fail(diag, HOP_ERR_NOT_FOUND, "topology %s has no domain '%.*s'\none of its domains: %s",
                    hop_topology_name(topology), (int)(length < 60 ? length : 60), text, list);
}

/* What a text says of a domain: one of its rules, NULL: none. */
struct said {
    const char *rule;
    int length;
};

static enum hop_status say(struct said *said, const char *rule, size_t length, const char *domain,
                           struct hop_diag *diag)
{
    struct said now = {rule, (int)hop_min(60, (double)length)};
    if (said->rule)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "'%.*s' and '%.*s' both choose the model of the domain %s\n"
                        "one rule a domain, as in pcie=credit,nvlink=fair",
                        said->length, said->rule, now.length, rule, domain);
    *said = now;
    return HOP_OK;
}

/* NAME or DOMAIN=NAME. */
static enum hop_status choose(const struct hop_topology *topology, const char *text, size_t length, struct said *said,
                              const struct hop_model **chosen, struct hop_diag *diag)
{
    const char *equals = memchr(text, '=', length);
    const char *name = equals ? equals + 1 : text;
    const struct hop_model *model = find_model(name, length - (size_t)(name - text), diag);
    if (!model)
        return HOP_ERR_NOT_FOUND;
    uint32_t domains = hop_topology_domain_count(topology), named = 0, ruled = 0;
    for (uint32_t d = 0; d < domains; d++) {
        const char *domain = hop_topology_domain(topology, d)->name;
        if (equals && !is_named(domain, text, (size_t)(equals - text)))
            continue;
        const struct hop_model *meant = meaning(model, topology, d);
        named++;
        if (meant) {
            HOP_CHECK(say(&said[d], text, length, domain, diag));
            chosen[d] = meant;
            ruled++;
        } else if (equals) {
            return hop_fail(diag, HOP_ERR_INVALID, "model %s cannot rule the domain %s\n%s for %s; `fair` rules any",
                            model->facts.name, domain, needs_text[model->family], model->facts.name);
        }
    }
    if (named == 0 && equals)
        return refuse_domain(topology, text, (size_t)(equals - text), diag);
    if (ruled == 0 && domains > 0) {
        return hop_fail(diag, HOP_ERR_INVALID, "model %s rules no domain of topology %s\n%s for %s; `fair` rules any",
                        model->facts.name, hop_topology_name(topology), needs_text[model->family], model->facts.name);
    }
    return HOP_OK;
}

/* NAME or DOMAIN=NAME,... */
static enum hop_status choose_all(const struct hop_topology *topology, const char *text, const struct hop_model **chosen,
                                  struct hop_diag *diag)
{
    struct said *said = calloc(hop_topology_domain_count(topology) + (size_t)1, sizeof *said);
    enum hop_status status = said ? HOP_OK : hop_fail_memory(diag);
    while (status == HOP_OK && text && *text) {
        size_t length = strcspn(text, ",");
        status = choose(topology, text, length, said, chosen, diag);
        text += length + (text[length] == ',');
    }
    free(said);
    return status;
}

enum hop_status hop_models_choose(const struct hop_topology *topology, const char *text, const bool *ordered,
                                  const struct hop_model **chosen, struct hop_diag *diag)
{
    uint32_t domains = hop_topology_domain_count(topology);
    for (uint32_t d = 0; d < domains; d++)
        chosen[d] = default_model(topology, d, ordered[d]);
    enum hop_status status = choose_all(topology, hop_topology_models(topology), chosen, diag);
    if (status != HOP_OK)
        hop_diag_place(diag, "models of topology %.80s", hop_topology_name(topology));
    HOP_CHECK(status);
    HOP_CHECK(choose_all(topology, text, chosen, diag));
    for (uint32_t d = 0; d < domains; d++) {
        if (chosen[d]->needs_order && !ordered[d])
            return hop_fail(diag, HOP_ERR_INVALID,
                            "model %s cannot rule the domain %s, whose sockets form a ring\nsockets in a row or joined "
                            "pairwise, or model pcie or fair",
                            chosen[d]->facts.name, hop_topology_domain(topology, d)->name);
    }
    return HOP_OK;
}
