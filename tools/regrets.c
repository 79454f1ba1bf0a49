/* SPDX-License-Identifier: BSD-3-Clause */
/* Regrets, case by case: what the best answer and the one of least regret take under all that may hold. */
#include "tool.h"

#include <math.h>
#include <string.h>

/* "3.1 % (pcie)", the largest regret and its case. */
static const char *regret_text(const struct hop_order_robust *r, double regret, uint32_t worst)
{
    if (regret < 1e-6)
        return "nowhere longer than the best known";
    return tool_text("at most %s %% longer than the best known (%s)", PERCENT(regret, regret < 0.1 ? 2 : 3),
                     r->cases[worst].scenario.name);
}

void tool_print_regrets(FILE *out, const struct hop_order_robust *r, const char *what)
{
    int width = 4;
    uint32_t proved = 0;
    for (uint32_t k = 0; k < r->case_count; k++)
        proved += r->cases[k].proved;
    for (uint32_t k = 0; k < r->case_count; k++)
        width = (int)fmax(width, (double)strlen(r->cases[k].scenario.name));
    fprintf(out, "\nleast regret over %u cases%s: %s%s\n", r->case_count,
            r->left_out ? tool_text(" (%u more take too long)", r->left_out) : "",
            regret_text(r, r->robust_regret, r->robust_worst),
            r->tried_all && r->robust_regret > 1e-6 ? ", proved among orders without waits"
            : !r->complete                          ? ", stopped before it was through"
                                                    : "");
    fprintf(out, "the best %s: %s\n", what, regret_text(r, r->nominal_regret, r->nominal_worst));
    if (proved < r->case_count)
        fprintf(
            out,
            "what is least is proved in %u of the cases; in the others %s %s may take less, and regrets be larger\n",
            proved, strchr("aeiou", what[0]) ? "an" : "a", what);
    fprintf(out, "\n");
    fprintf(out, "%-*s %12s %12s %23s\n", width, "case", "least ms", "best ms", "least regret ms");
    for (uint32_t k = 0; k < r->case_count; k++) {
        const struct hop_order_case *c = &r->cases[k];
        double least_s = c->best_s > 0 ? c->best_s : INFINITY;
        fprintf(out, "%-*s %12.4f %12.4f %6.3fx %15.4f %6.3fx\n", width, c->scenario.name, c->best_s * 1e3,
                c->nominal_s * 1e3, c->nominal_s / least_s, c->robust_s * 1e3, c->robust_s / least_s);
    }
}
