/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of rules. */
#include "model/model.h"

static const struct {
    const char *name, *text;
} rules[] = {
#define RULE_ROW(code, name, text) {name, text},
    HOP_RULE_LIST(RULE_ROW)
#undef RULE_ROW
};

const char *hop_rule_name(enum hop_rule rule)
{
    return (unsigned)rule < HOP_RULE_COUNT ? rules[rule].name : "?";
}

const char *hop_rule_text(enum hop_rule rule)
{
    return (unsigned)rule < HOP_RULE_COUNT ? rules[rule].text : "?";
}
