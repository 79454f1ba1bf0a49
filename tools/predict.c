/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast predict: when each transfer ends, and why. One case, a schedule on a topology, is shown in full; several (more schedules,
 * more topologies) side by side.
 */
#include "predict.h"

#include <stdlib.h>
#include <string.h>

enum { CASE_LIMIT = 64, SET_LIMIT = 256, DETAILED_OPS = 20000 };

struct request {
    const char *schedules[CASE_LIMIT]; /* files; inline texts have inline_[i] */
    bool is_inline[CASE_LIMIT];
    int schedule_count;
    const char *topologies[CASE_LIMIT];
    int topology_count;
    char *sets[SET_LIMIT];
    int set_count;
    const char *models[CASE_LIMIT]; /* one choice a case, NULL: the default */
    int model_count;
    const char *trace, *explain, *output, *map, *collective;
    uint64_t rows;
    bool gantt, json, ascii, sources_unlimited;
    enum hop_fidelity fidelity;
    struct hop_packet_options packet;
    bool packet_given;
};

/* What the request names, each read once: cases share it, and standard input gives its text but once. */
struct inputs {
    struct hop_schedule *schedules[CASE_LIMIT];
    struct hop_topology *topologies[CASE_LIMIT];
    struct tool_map map;
};

static void finish_prediction(struct prediction *p)
{
    hop_timeline_destroy(p->timeline);
    hop_network_destroy(p->network);
    hop_schedule_destroy(p->placed);
}

static void finish_inputs(struct inputs *in)
{
    for (int i = 0; i < CASE_LIMIT; i++) {
        hop_schedule_destroy(in->schedules[i]);
        hop_topology_destroy(in->topologies[i]);
    }
    tool_map_finish(&in->map);
}

static int load_inputs(const struct request *r, struct inputs *in)
{
    int status = tool_map_load(r->map, &in->map);
    for (int i = 0; i < r->topology_count && status == TOOL_OK; i++)
        status = tool_load_topology(r->topologies[i], &(struct tool_words){(char **)r->sets, (uint32_t)r->set_count, 0},
                                    &in->topologies[i]);
    for (int i = 0; i < r->schedule_count && status == TOOL_OK; i++)
        status = tool_load_schedule(r->schedules[i], r->is_inline[i], r->collective, &in->schedules[i]);
    return status;
}

static int predict(const struct request *r, const struct inputs *in, int topology, int model, int schedule,
                   struct prediction *p)
{
    struct hop_diag diag;
    *p = (struct prediction){.topology = in->topologies[topology],
                             .schedule = in->schedules[schedule],
                             .models = r->models[model],
                             .sources_unlimited = r->sources_unlimited,
                             .fidelity = r->fidelity,
                             .rows = r->rows};
    int placing = tool_map_apply(&in->map, p->topology, p->schedule, &p->placed);
    if (placing != TOOL_OK)
        return placing;
    if (p->placed)
        p->schedule = p->placed;
    enum hop_status done = hop_network_create(p->topology, p->models, &p->network, &diag);
    struct tool_progress progress;
    bool wanted = r->gantt || r->json || r->trace || r->explain;
    struct hop_simulate_options options = {
        .detail = wanted || hop_schedule_count(p->schedule) <= DETAILED_OPS ? HOP_DETAIL_SEGMENTS : HOP_DETAIL_ENDS,
        .sources_unlimited = r->sources_unlimited,
        .progress = tool_progress_begin(&progress, "operations that have ended"),
        .context = &progress,
        .fidelity = r->fidelity,
        .packet = &r->packet};
    if (done == HOP_OK)
        done = hop_simulate(p->network, p->schedule, &options, &p->timeline, &diag);
    tool_progress_end(&progress);
    if (done != HOP_OK)
        return tool_fail(&diag);
    (void)snprintf(p->label, sizeof p->label, "%.60s on %.60s%s%.30s",
                   r->is_inline[schedule] ? "-e" : r->schedules[schedule], r->topologies[topology],
                   p->models ? ", model " : "", p->models ? p->models : "");
    return TOOL_OK;
}

static int write_text(const char *path, char *text)
{
    int status = text ? tool_write(path, text) : tool_out_of_memory();
    free(text);
    return status;
}

static int show_one(const struct request *r, struct prediction *p)
{
    int status = TOOL_OK;
    if (r->trace)
        status = write_text(r->trace, hop_timeline_to_trace(p->timeline));
    if (status != TOOL_OK)
        return status;
    if (r->json)
        return write_text(r->output, hop_timeline_to_json(p->timeline));
    if (r->explain)
        return predict_show_explanation(p, r->explain);
    if (r->gantt) {
        struct hop_gantt_options options = {tool_columns(), tool_colour(stdout), r->ascii};
        return write_text(r->output, hop_timeline_to_gantt(p->timeline, &options));
    }
    return predict_show_table(p);
}

/* ---- command line ---- */

/* How many of the sources are standard input, which is read but once. */
static int count_dashes(const struct request *r)
{
    int dashes = r->map && strcmp(r->map, "-") == 0;
    for (int i = 0; i < r->schedule_count; i++)
        dashes += !r->is_inline[i] && strcmp(r->schedules[i], "-") == 0;
    for (int i = 0; i < r->topology_count; i++)
        dashes += strcmp(r->topologies[i], "-") == 0;
    return dashes;
}

static int read_options(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"expression", required_argument, NULL, 'e'},
        {"on", required_argument, NULL, 't'},
        {"model", required_argument, NULL, 'm'},
        {"set", required_argument, NULL, 's'},
        {"map", required_argument, NULL, 'M'},
        {"collective", required_argument, NULL, 'K'},
        {"fidelity", required_argument, NULL, 'f'},
        {"packet", required_argument, NULL, 'p'},
        {"gantt", no_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},
        {"trace", required_argument, NULL, 'r'},
        {"explain", required_argument, NULL, 'x'},
        {"rows", required_argument, NULL, 'R'},
        {"sources-unlimited", no_argument, NULL, 'u'},
        {"ascii", no_argument, NULL, 'a'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    tool_options_begin();
    for (int option; (option = tool_option(&tool_predict, argc, argv, ":e:m:s:gjo:h", options)) != -1;) {
        if ((option == 'e' && r->schedule_count == CASE_LIMIT) || (option == 't' && r->topology_count == CASE_LIMIT) ||
            (option == 's' && r->set_count == SET_LIMIT))
            return tool_bad_usage(&tool_predict, "too many cases or assignments");
        switch (option) {
        case 'e':
            r->is_inline[r->schedule_count] = true;
            r->schedules[r->schedule_count++] = optarg;
            break;
        case 't':
            r->topologies[r->topology_count++] = optarg;
            break;
        case 'm':
            if (r->model_count == CASE_LIMIT)
                return tool_bad_usage(&tool_predict, "too many models");
            r->models[r->model_count++] = optarg;
            break;
        case 's':
            r->sets[r->set_count++] = optarg;
            break;
        case 'K':
            r->collective = optarg;
            break;
        case 'M':
            r->map = optarg;
            break;
        case 'f':
            if (strcmp(optarg, "fluid") != 0 && strcmp(optarg, "packet") != 0)
                return tool_bad_usage(&tool_predict, "--fidelity %.60s: expected fluid or packet", optarg);
            r->fidelity = strcmp(optarg, "packet") == 0 ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID;
            break;
        case 'p':
            if (!predict_packet_set(&r->packet, optarg))
                return TOOL_BAD;
            r->packet_given = true;
            break;
        case 'g':
            r->gantt = true;
            break;
        case 'j':
            r->json = true;
            break;
        case 'r':
            r->trace = optarg;
            break;
        case 'x':
            r->explain = optarg;
            break;
        case 'R':
            if (!tool_whole(&tool_predict, "--rows", optarg, 0, UINT32_MAX, &r->rows))
                return TOOL_BAD;
            r->rows = r->rows ? r->rows : UINT32_MAX;
            break;
        case 'u':
            r->sources_unlimited = true;
            break;
        case 'a':
            r->ascii = true;
            break;
        case 'o':
            r->output = optarg;
            break;
        case 'h':
            return -1;
        default:
            return TOOL_BAD;
        }
    }
    for (; optind < argc; optind++) {
        if (r->schedule_count == CASE_LIMIT)
            return tool_bad_usage(&tool_predict, "too many schedules");
        r->schedules[r->schedule_count++] = argv[optind];
    }
    if (r->schedule_count == 0)
        return tool_bad_usage(&tool_predict, "a schedule is missing (a file, - or -e 'gpu0 -> gpu1 1MiB')");
    if (r->topology_count == 0)
        return tool_bad_usage(&tool_predict,
                              "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)");
    if (count_dashes(r) > 1)
        return tool_bad_usage(
            &tool_predict, "standard input (-) is read once: one schedule, one topology or the map can come from it");
    if (r->fidelity == HOP_FIDELITY_PACKET && r->model_count)
        return tool_bad_usage(&tool_predict,
                              "--model goes with --fidelity fluid: packets queue for links, and no model is asked");
    if (r->packet_given && r->fidelity != HOP_FIDELITY_PACKET)
        return tool_bad_usage(&tool_predict, "--packet goes with --fidelity packet");
    if (r->model_count == 0)
        r->models[r->model_count++] = NULL;
    bool several = r->schedule_count > 1 || r->topology_count > 1 || r->model_count > 1;
    if (several && (r->gantt || r->json || r->trace || r->explain))
        return tool_bad_usage(
            &tool_predict, "--gantt, --json, --trace and --explain take one schedule on one topology with one model");
    if (r->output && !r->gantt && !r->json)
        return tool_bad_usage(&tool_predict, "--output goes with --json or --gantt");
    if (r->ascii && !r->gantt)
        return tool_bad_usage(&tool_predict, "--ascii goes with --gantt");
    if (r->gantt + r->json + (r->explain != NULL) > 1)
        return tool_bad_usage(&tool_predict, "one of --gantt, --json and --explain at a time");
    if (r->schedule_count * r->topology_count * r->model_count > CASE_LIMIT)
        return tool_bad_usage(&tool_predict, "more than %d cases", CASE_LIMIT);
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    static struct request r;
    static struct inputs in;
    static struct prediction cases[CASE_LIMIT];
    int status = read_options(&r, argc, argv), count = 0;
    if (status == -1)
        return tool_help(&tool_predict);
    if (status == TOOL_OK)
        status = load_inputs(&r, &in);
    for (int t = 0; status == TOOL_OK && t < r.topology_count; t++) {
        for (int m = 0; status == TOOL_OK && m < r.model_count; m++) {
            for (int s = 0; status == TOOL_OK && s < r.schedule_count; s++)
                status = predict(&r, &in, t, m, s, &cases[count++]);
        }
    }
    if (status == TOOL_OK && count == 1)
        status = show_one(&r, &cases[0]);
    else if (status == TOOL_OK)
        predict_show_side_by_side(cases, count);
    for (int i = 0; i < count; i++)
        finish_prediction(&cases[i]);
    finish_inputs(&in);
    return status;
}

const struct tool_command tool_predict = {
    .name = "predict",
    .summary = "when each transfer ends, and why",
    .usage = "SCHEDULE ... --on TOPOLOGY ... [OPTION ...]",
    .help =
        "SCHEDULE is a .hop, JSON or GOAL file, or - for standard input. Several schedules, topologies or models are "
        "set "
        "side by\n"
        "side.\n"
        "\n"
        "  -e, --expression TEXT   a schedule as text, operations separated by ';'\n"
        "      --on TOPOLOGY       a built-in machine, a fabric such as star:16, a file of any dialect, or live;\n"
        "                          may be repeated\n"
        "  -m, --model NAME        pcie (the default on PCIe) or credit; fair (elsewhere); infiniband or "
        "infiniband-full\n"
        "                          on network fabrics; loggp for all; DOMAIN=NAME,... by domain (pcie*: all);\n"
        "                          may be repeated\n"
        "  -s, --set NAME=VALUE    change the topology, as in tau=0.2 (see hopcast topology --help); may be repeated\n"
        "      --fidelity WHICH    fluid (the default: rates by models) or packet: every packet on every link "
        "(docs/packet.md)\n"
        "      --packet NAME=VALUE with it: payload=256B, buffer=8KiB (of a link's far end), read=SIZE (under way from "
        "host\n"
        "                          memory), credit-delay=0s, startup=0s, queues=shared, fifo or per-transfer; may be "
        "repeated\n"
        "      --map MAP           where the ranks of a schedule go: packed (default), cyclic, or a file "
        "(hop_placement(3))\n"
        "      --collective KIND=ALGORITHM,...  how collectives of Chakra traces are made (docs/traces.md)\n"
        "      --sources-unlimited every source starts all its ready transfers at once (step A off)\n"
        "  -g, --gantt             draw the timeline; --ascii keeps to ASCII\n"
        "  -j, --json              everything, for machines (docs/prediction.schema.json)\n"
        "      --trace FILE        also write a trace that Perfetto opens\n"
        "      --explain ID        what held that transfer back, phase by phase\n"
        "      --rows N            list the N transfers that end last (0: all; default all up to 1,000, else 20)\n"
        "  -o, --output FILE       write --json or --gantt there\n"
        "\n"
        "example: hopcast predict -e 'a: gpu0 -> gpu2 300MiB; b: gpu1 -> gpu4 300MiB' --on t2 --set tau=0.2\n",
    .run = run,
};
