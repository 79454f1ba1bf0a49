/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the importer for a source: a built-in name, the live machine, or a text whose dialect is detected. */
#include "fabric/make_fabric.h"
#include "import/cluster.h"
#include "import/facts.h"
#include "import/ib_fabric.h"
#include "import/importer.h"
#include "import/xml.h"

#include <strings.h>
#include <unistd.h>

static const struct hop_importer *const importers[] = {&hop_importer_hwloc_xml,  &hop_importer_nccl_xml,
                                                       &hop_importer_rocm_smi,   &hop_importer_nvidia_smi,
                                                       &hop_importer_p2p_matrix, &hop_importer_ibnetdiscover};

static void begin(struct hop_build *build, const char *name, const struct hop_beside *beside, struct hop_diag *diag)
{
    hop_build_begin(build, name, diag);
    build->gpu = beside->gpu;
    build->cpu = beside->cpu;
    hop_facts_check(build);
}

/* Ends what was begun. */
static enum hop_status finish(struct hop_build *build, const char *place, struct hop_topology **topology)
{
    struct hop_failure failure = build->failure;
    struct hop_topology *built;
    failure.status = hop_build_end(build, &built);
    if (failure.status != HOP_OK)
        return failure.status;
    failure.status = hop_topology_finish(built, failure.diag);
    hop_failure_place(&failure, "%s", place);
    if (failure.status == HOP_OK)
        *topology = built;
    else
        hop_topology_destroy(built);
    return failure.status;
}

/* Only UTF-8: libxml2 prints what it cannot convert, and a library must not print. */
static enum hop_status check_encoding(const struct hop_source *source, struct hop_diag *diag)
{
    const char *text = source->text;
    const char *end = strncmp(text, "<?xml", 5) == 0 ? strstr(text, "?>") : NULL;
    const char *encoding = end ? strstr(text, "encoding") : NULL;
    if (!encoding || encoding > end)
        return HOP_OK;
    encoding += strcspn(encoding, "\"'?");
    encoding += *encoding == '"' || *encoding == '\'';
    size_t length = strcspn(encoding, "\"'?");
    static const char *const plain[] = {"utf-8", "us-ascii", "ascii"};
    for (size_t i = 0; i < HOP_COUNT(plain); i++) {
        if (strlen(plain[i]) == length && strncasecmp(plain[i], encoding, length) == 0)
            return HOP_OK;
    }
    hop_fail(diag, HOP_ERR_SYNTAX, "the XML declares the encoding '%.*s'", (int)(length < 40 ? length : 40), encoding);
    hop_diag_place(diag, "%s:1:%zu", source->name, (size_t)(encoding - source->text) + 1);
    hop_diag_expect(diag, "UTF-8");
    return HOP_ERR_SYNTAX;
}

static hop_cluster_loader load_part;

/* Where nothing is left open that a name could say. */
static void refuse_names(struct hop_build *build)
{
    hop_build_fail(
        build, HOP_ERR_INVALID,
        "this source says what its devices are\nnames of GPUs and processors (--gpu, --cpu) beside what tools "
        "print of a machine");
}

/* A cluster, or one machine. A part of a cluster is no cluster: one inside another could be itself. */
static void read_json(const struct hop_source *source, bool part, struct hop_build *build)
{
    struct hop_json document;
    hop_json_load(source, &document, &build->failure);
    bool cluster = json_object_get(document.value, "cluster") && !json_object_get(document.value, "hopcast_topology");
    if (cluster && part)
        hop_build_fail(build, HOP_ERR_INVALID,
                       "a cluster file inside a cluster file\nmachines and fabrics as parts of a cluster");
    hop_failure_place(&build->failure, "%.200s", source->name);
    if (!cluster && (build->gpu || build->cpu))
        refuse_names(build);
    if (cluster && hop_build_ok(build))
        hop_cluster_read(build, source, &document, load_part);
    else if (hop_build_ok(build))
        hop_machine_read(build, &document);
    hop_json_finish(&document);
}

bool hop_importer_knows(const struct hop_importer *importer, const struct hop_source *source)
{
    for (size_t i = 0; i < HOP_COUNT(importer->roots); i++) {
        if (importer->roots[i] && hop_xml_begins(source->text, importer->roots[i]))
            return true;
    }
    for (size_t i = 0; i < HOP_COUNT(importer->marks); i++) {
        if (importer->marks[i] && hop_source_mentions(source, importer->marks[i]))
            return true;
    }
    return importer->detect && importer->detect(source);
}

static enum hop_status read_source(const struct hop_source *source, const struct hop_beside *beside, bool part,
                                   struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_build build;
    bool json = hop_json_detect(source);
    size_t i = 0;
    if (check_encoding(source, diag) != HOP_OK)
        return HOP_ERR_SYNTAX;
    while (!json && i < HOP_COUNT(importers) && !hop_importer_knows(importers[i], source))
        i++;
    begin(&build, hop_source_title(source), beside, diag);
    if (json)
        read_json(source, part, &build);
    else if (i < HOP_COUNT(importers) && hop_build_ok(&build))
        importers[i]->read(source, &build);
    else
        hop_build_fail(&build, HOP_ERR_SYNTAX,
                       "%s\ntopology JSON, a cluster file, NCCL or RCCL topology XML, hwloc XML, or the output of "
                       "`nvidia-smi topo -m`, `rocm-smi --showtopo`, `ibnetdiscover` or p2pBandwidthLatencyTest",
                       source->size == 0 ? "the input is empty" : "the input is in no dialect that is read here");
    if (!json)
        hop_build_assume_rest(&build);
    hop_failure_place(&build.failure, "%s:1:1", source->name);
    return finish(&build, source->name, topology);
}

static const struct hop_beside nothing;

enum hop_status hop_topology_parse(const char *name, const char *text, size_t size, struct hop_topology **topology,
                                   struct hop_diag *diag)
{
    struct hop_source source;
    enum hop_status status = hop_source_copy(name, text, size, &source, diag);
    if (status != HOP_OK)
        return status;
    status = read_source(&source, &nothing, false, topology, diag);
    hop_source_finish(&source);
    return status;
}

static enum hop_status fail_unknown(const char *path, struct hop_diag *diag)
{
    const char *builtin = hop_builtin_nearest(path), *generator = hop_topology_nearest_generator(path);
    if (generator)
        return hop_fail(diag, HOP_ERR_NOT_FOUND, "'%.80s' is neither a built-in machine nor a file\n%s", path,
                        generator);
    if (builtin)
        return hop_fail(diag, HOP_ERR_NOT_FOUND,
                        "'%.80s' is neither a built-in machine nor a file\n'%s'? `hopcast topology --list` shows all "
                        "built-in machines",
                        path, builtin);
    return hop_fail(diag, HOP_ERR_NOT_FOUND,
                    "'%.80s' is neither a built-in machine nor a file\na name that `hopcast topology --list` shows, a "
                    "file, `live`, or - for standard input",
                    path);
}

static enum hop_status refuse_tables(const char *place, struct hop_diag *diag)
{
    hop_fail(
        diag, HOP_ERR_INVALID,
        "forwarding tables speak of ports and LIDs, which this source does not have\nthe output of `ibnetdiscover`, "
        "beside forwarding tables");
    hop_diag_place(diag, "%s", place);
    return HOP_ERR_INVALID;
}

/* What is no text. */
static enum hop_status make(const char *path, const struct hop_beside *beside, struct hop_topology **topology,
                            struct hop_diag *diag)
{
    struct hop_build build;
    bool live = strcmp(path, "live") == 0;
    begin(&build, path, beside, diag);
    if (!live && (beside->gpu || beside->cpu))
        refuse_names(&build);
    else if (live)
        hop_import_live(&build);
    else if (hop_builtin_find(path))
        hop_import_builtin(path, &build);
    else
        hop_topology_generate(path, &build);
    if (live)
        hop_build_assume_rest(&build);
    return finish(&build, path, topology);
}

static enum hop_status read_routed(const struct hop_source *source, const struct hop_beside *beside,
                                   struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_source tables;
    struct hop_build build;
    enum hop_status status = hop_source_load(beside->routes, &tables, diag);
    if (status != HOP_OK)
        return status;
    if (hop_ib_is_fabric(source)) {
        begin(&build, hop_source_title(source), beside, diag);
        hop_ib_read(source, &tables, &build);
        hop_build_assume_rest(&build);
        status = finish(&build, tables.name, topology);
    } else {
        status = refuse_tables(source->name, diag);
    }
    hop_source_finish(&tables);
    return status;
}

static enum hop_status load(const char *path, const struct hop_beside *beside, bool part,
                            struct hop_topology **topology, struct hop_diag *diag)
{
    struct hop_source source;
    if (hop_builtin_find(path) || hop_topology_is_generated(path) || strcmp(path, "live") == 0)
        return beside->routes ? refuse_tables(path, diag) : make(path, beside, topology, diag);
    if (!beside->routes && strcmp(path, "-") != 0 && access(path, F_OK) != 0 && !strchr(path, '/'))
        return fail_unknown(path, diag);
    enum hop_status status = hop_source_load(path, &source, diag);
    if (status != HOP_OK)
        return status;
    status = beside->routes ? read_routed(&source, beside, topology, diag)
                            : read_source(&source, beside, part, topology, diag);
    hop_source_finish(&source);
    return status;
}

enum hop_status hop_topology_load(const char *path, struct hop_topology **topology, struct hop_diag *diag)
{
    return load(path, &nothing, false, topology, diag);
}

enum hop_status hop_topology_load_with(const char *path, const struct hop_beside *beside,
                                       struct hop_topology **topology, struct hop_diag *diag)
{
    return load(path, beside, false, topology, diag);
}

static enum hop_status load_part(const char *path, const struct hop_beside *beside, struct hop_topology **topology,
                                 struct hop_diag *diag)
{
    return load(path, beside, true, topology, diag);
}
