/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict reading of JSON on top of jansson, which parses, limits the depth of nesting (2048) and refuses what is not
 * UTF-8, NUL characters, and numbers out of range. A place is not kept while reading: it is put together from the
 * chain of parents when something is wrong.
 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>

/* The largest number below which a double holds every whole number. */
#define WHOLE_MAX 9007199254740992.0

/* ---- places ---- */

/* A text that is cut rather than grown, for struct hop_diag. */
struct cut {
    char *text;
    size_t length, size;
};

static void put(struct cut *cut, const char *text)
{
    size_t length = strlen(text);
    if (length > cut->size - 1 - cut->length)
        length = cut->size - 1 - cut->length;
    memcpy(cut->text + cut->length, text, length);
    cut->length += length;
    cut->text[cut->length] = '\0';
}

static void put_key(struct cut *cut, const char *key)
{
    for (const char *c = key; *c; c++) {
        char one[2] = {*c, '\0'};
        bool control = (unsigned char)*c < 0x20 || *c == 0x7f; /* may not reach a terminal */
        put(cut, *c == '~' ? "~0" : *c == '/' ? "~1" : control ? "?" : one);
    }
}

/* Recursion as deep as the reader's own nesting, not the input's. */
static void put_pointer(struct cut *cut, const struct hop_json *at)
{
    if (!at->parent) {
        put(cut, at->key);
        return;
    }
    put_pointer(cut, at->parent);
    put(cut, at->parent->parent ? "/" : ": /");
    if (at->key) {
        put_key(cut, at->key);
    } else {
        char index[24];
        (void)snprintf(index, sizeof index, "%zu", at->index);
        put(cut, index);
    }
}

void hop_json_place(const struct hop_json *at, struct hop_diag *diag)
{
    if (diag) {
        struct cut cut = {diag->place, 0, sizeof diag->place};
        put_pointer(&cut, at);
    }
}

enum hop_status hop_json_fail(const struct hop_json *at, struct hop_diag *diag, enum hop_status status,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)hop_fail_with(diag, status, format, arguments);
    va_end(arguments);
    hop_json_place(at, diag);
    return status;
}

/* "this is a string", "this is 7.5" */
static enum hop_status fail_value(const struct hop_json *at, struct hop_diag *diag)
{
    static const char *const types[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",    [JSON_NULL] = "null",
    };
    switch (json_typeof(at->value)) {
    case JSON_INTEGER:
        return hop_json_fail(at, diag, HOP_ERR_INVALID, "this is %" JSON_INTEGER_FORMAT, json_integer_value(at->value));
    case JSON_REAL:
        return hop_json_fail(at, diag, HOP_ERR_INVALID, "this is %.17g", json_real_value(at->value));
    default:
        return hop_json_fail(at, diag, HOP_ERR_INVALID, "this is %s", types[json_typeof(at->value)]);
    }
}

/* ---- documents ---- */

enum hop_status hop_json_load(const struct hop_source *source, struct hop_json *document, struct hop_diag *diag)
{
    json_error_t error;
    json_t *value = json_loadb(source->text, source->size, JSON_REJECT_DUPLICATES, &error);
    if (value) {
        *document = (struct hop_json){.value = value, .key = source->name};
        return HOP_OK;
    }
    if (json_error_code(&error) == json_error_out_of_memory || !error.text[0]) /* jansson need not say so */
        return hop_fail_memory(diag);
    enum hop_status status = json_error_code(&error) == json_error_stack_overflow ? HOP_ERR_LIMIT : HOP_ERR_SYNTAX;
    hop_fail(diag, status, "%s", error.text);
    hop_diag_place(diag, "%s:%d:%d", source->name, error.line, error.column);
    hop_diag_expect(diag, "JSON (RFC 8259) without duplicate keys, nested at most 2048 deep");
    return status;
}

void hop_json_finish(struct hop_json *document)
{
    json_decref((json_t *)document->value); /* made by hop_json_load, const since then */
    document->value = NULL;
}

bool hop_json_detect(const struct hop_source *source)
{
    size_t start = strspn(source->text, " \t\r\n");
    return start < source->size && source->text[start] == '{';
}

enum hop_status hop_json_check_format(const struct hop_json *document, const char *format, int version,
                                      struct hop_diag *diag)
{
    static const struct {
        const char *key, *what;
    } others[] = {
        {"hopcast_topology", "a hopcast topology"},
        {"hopcast_schedule", "a hopcast schedule"},
        {"hopcast_prediction", "a hopcast prediction"},
        {"traceEvents", "a Chrome trace"},
    };
    struct hop_json found = {json_object_get(document->value, format), document, format, 0};
    if (json_is_integer(found.value) && json_integer_value(found.value) == version)
        return HOP_OK;
    if (found.value) {
        fail_value(&found, diag);
        hop_diag_expect(diag, "%d, the version of the format that is read here", version);
        return HOP_ERR_INVALID;
    }
    const char *seems = json_is_object(document->value) ? "some other JSON object" : "no JSON object";
    for (size_t i = 0; i < HOP_COUNT(others); i++) {
        if (json_object_get(document->value, others[i].key))
            seems = others[i].what;
    }
    return hop_json_fail(document, diag, HOP_ERR_INVALID,
                         "this seems to be %s: the key '%s' is missing\na JSON object that says \"%s\": %d", seems,
                         format, format, version);
}

/* ---- objects and arrays ---- */

struct keys {
    const struct hop_json_key *keys;
    uint32_t count;
};

static const char *key_name(const void *context, uint32_t index)
{
    return ((const struct keys *)context)->keys[index].name;
}

/* "'NAME'? " when one of the names is near, and all of them: "one of A, B, C". */
static void expect_names(struct hop_diag *diag, const char *given,
                         const char *(*name)(const void *context, uint32_t index), const void *context, uint32_t count)
{
    if (!diag)
        return;
    struct cut cut = {diag->expected, 0, sizeof diag->expected};
    uint32_t nearest = hop_text_nearest(given, name, context, count);
    if (nearest != UINT32_MAX) {
        put(&cut, "'");
        put(&cut, name(context, nearest));
        put(&cut, "'? ");
    }
    put(&cut, "one of ");
    for (uint32_t i = 0; i < count; i++) {
        put(&cut, i ? ", " : "");
        put(&cut, name(context, i));
    }
}

static enum hop_status check_keys(const struct hop_json *at, const struct keys *known, struct hop_diag *diag)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)at->value, key, value)
    {
        uint32_t i = 0;
        while (i < known->count && strcmp(known->keys[i].name, key) != 0)
            i++;
        if (i < known->count)
            continue;
        struct hop_json unknown = {value, at, key, 0};
        hop_json_fail(&unknown, diag, HOP_ERR_INVALID, "the key '%.60s' is not known here", key);
        expect_names(diag, key, key_name, known, known->count);
        return HOP_ERR_INVALID;
    }
    return HOP_OK;
}

enum hop_status hop_json_object(const struct hop_json *at, const struct hop_json_key *keys, uint32_t count,
                                struct hop_json *members, struct hop_diag *diag)
{
    if (!json_is_object(at->value)) {
        fail_value(at, diag);
        hop_diag_expect(diag, "an object, {...}");
        return HOP_ERR_INVALID;
    }
    const struct keys known = {keys, count};
    enum hop_status status = check_keys(at, &known, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t i = 0; i < count; i++) {
        members[i] = (struct hop_json){json_object_get(at->value, keys[i].name), at, keys[i].name, 0};
        if (keys[i].required && !members[i].value)
            return hop_json_fail(at, diag, HOP_ERR_INVALID, "the key '%s' is missing", keys[i].name);
    }
    return HOP_OK;
}

enum hop_status hop_json_array(const struct hop_json *at, size_t least, size_t *count, struct hop_diag *diag)
{
    if (!json_is_array(at->value)) {
        fail_value(at, diag);
        hop_diag_expect(diag, "an array, [...]");
        return HOP_ERR_INVALID;
    }
    if (json_array_size(at->value) < least)
        return hop_json_fail(at, diag, HOP_ERR_INVALID, "this array has %zu elements\nat least %zu",
                             json_array_size(at->value), least);
    *count = json_array_size(at->value);
    return HOP_OK;
}

struct hop_json hop_json_element(const struct hop_json *array, size_t index)
{
    return (struct hop_json){json_array_get(array->value, index), array, NULL, index};
}

/* ---- values ---- */

enum hop_status hop_json_string(const struct hop_json *at, const char **text, struct hop_diag *diag)
{
    if (!json_is_string(at->value)) {
        fail_value(at, diag);
        hop_diag_expect(diag, "a string");
        return HOP_ERR_INVALID;
    }
    *text = json_string_value(at->value);
    return HOP_OK;
}

enum hop_status hop_json_name(const struct hop_json *at, const char **text, struct hop_diag *diag)
{
    const char *name = NULL;
    enum hop_status status = hop_json_string(at, &name, diag);
    if (status != HOP_OK)
        return status;
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return hop_json_fail(at, diag, HOP_ERR_INVALID, "this name contains the control character 0x%02x",
                                 (unsigned)*c);
    }
    *text = name;
    return HOP_OK;
}

enum hop_status hop_json_number(const struct hop_json *at, double low, double high, double *value,
                                struct hop_diag *diag)
{
    double number = json_number_value(at->value);
    if (!json_is_number(at->value) || !(number >= low && number <= high)) {
        fail_value(at, diag);
        hop_diag_expect(diag, "a number from %g to %g", low, high);
        return HOP_ERR_INVALID;
    }
    *value = number;
    return HOP_OK;
}

enum hop_status hop_json_whole(const struct hop_json *at, uint64_t low, uint64_t high, uint64_t *value,
                               struct hop_diag *diag)
{
    uint64_t number = 0;
    bool whole = false;
    if (json_is_integer(at->value)) {
        whole = json_integer_value(at->value) >= 0;
        number = whole ? (uint64_t)json_integer_value(at->value) : 0;
    } else if (json_is_real(at->value)) { /* 1e6 is as whole as 1000000 */
        double real = json_real_value(at->value);
        whole = real >= 0 && real <= WHOLE_MAX && floor(real) == real;
        number = whole ? (uint64_t)real : 0;
    }
    if (!whole || number < low || number > high) {
        fail_value(at, diag);
        hop_diag_expect(diag, "a whole number from %llu to %llu", (unsigned long long)low, (unsigned long long)high);
        return HOP_ERR_INVALID;
    }
    *value = number;
    return HOP_OK;
}

enum hop_status hop_json_choice(const struct hop_json *at, const char *(*name)(const void *context, uint32_t index),
                                const void *context, uint32_t count, uint32_t *choice, struct hop_diag *diag)
{
    const char *text = NULL;
    enum hop_status status = hop_json_string(at, &text, diag);
    if (status != HOP_OK) {
        expect_names(diag, "", name, context, count);
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(name(context, i), text) == 0) {
            *choice = i;
            return HOP_OK;
        }
    }
    hop_json_fail(at, diag, HOP_ERR_INVALID, "'%.60s' is not known here", text);
    expect_names(diag, text, name, context, count);
    return HOP_ERR_INVALID;
}
