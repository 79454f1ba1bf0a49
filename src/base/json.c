/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict reading of JSON on top of jansson, which parses, limits the depth of nesting (2048) and refuses what is not
 * UTF-8, NUL characters, and numbers out of range. A place is not kept while reading: it is put together from the
 * chain of parents when something is wrong.
 */
#include "base/json.h"

#include <errno.h>
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
        put(cut, *c == '~' ? "~0" : *c == '/' ? "~1" : one);
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

static bool ok(const struct hop_json *at)
{
    return at->failure->status == HOP_OK;
}

static void place(const struct hop_json *at)
{
    struct hop_diag *diag = at->failure->diag;
    if (diag) {
        struct cut cut = {diag->place, 0, sizeof diag->place};
        put_pointer(&cut, at);
        (void)hop_text_quote(diag->place);
    }
}

void hop_json_fail(const struct hop_json *at, enum hop_status status, const char *format, ...)
{
    va_list arguments;
    if (!ok(at))
        return;
    va_start(arguments, format);
    at->failure->status = hop_fail_with(at->failure->diag, status, format, arguments);
    va_end(arguments);
    place(at);
}

void hop_json_settle(const struct hop_json *at)
{
    struct hop_diag *diag = at->failure->diag;
    if (!ok(at) && at->failure->status != HOP_ERR_MEMORY && diag && !diag->place[0])
        place(at);
}

void hop_json_check(const struct hop_json *at, enum hop_status status)
{
    if (!ok(at) || status == HOP_OK)
        return;
    at->failure->status = status;
    if (status != HOP_ERR_MEMORY)
        place(at);
}

/* "this is a string", "this is 7.5" */
static void fail_value(const struct hop_json *at, const char *expected)
{
    static const char *const types[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",    [JSON_NULL] = "null",
    };
    switch (json_typeof(at->value)) {
    case JSON_INTEGER:
        hop_json_fail(at, HOP_ERR_INVALID, "this is %" JSON_INTEGER_FORMAT "\n%s", json_integer_value(at->value),
                      expected);
        break;
    case JSON_REAL:
        hop_json_fail(at, HOP_ERR_INVALID, "this is %.17g\n%s", json_real_value(at->value), expected);
        break;
    default:
        hop_json_fail(at, HOP_ERR_INVALID, "this is %s\n%s", types[json_typeof(at->value)], expected);
    }
}

/* ---- documents ---- */

/* A character for which jansson finds no memory is left out of its string, and nothing says so but errno, which the end
 * of the next number clears. So each block that jansson gets ends with a number's last digit, if it holds any, and
 * errno is looked at before each. */
struct feed {
    const char *at, *end;
    bool lacked;
};

static bool number_ends(unsigned char last, unsigned char next)
{
    return (unsigned)(last - '0') <= 9 && (next == ',' || next == ']' || next == '}' || next <= ' ');
}

static size_t next_block(void *buffer, size_t size, void *context)
{
    struct feed *feed = context;
    feed->lacked = feed->lacked || errno == ENOMEM;
    if (feed->lacked || feed->at == feed->end)
        return 0;
    const char *at = feed->at, *end = (size_t)(feed->end - at) < size ? feed->end : at + size;
    do
        at++;
    while (at < end && !number_ends((unsigned char)at[-1], (unsigned char)*at));
    size_t length = (size_t)(at - feed->at);
    memcpy(buffer, feed->at, length);
    feed->at = at;
    return length;
}

json_t *hop_json_parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
    struct feed feed = {text, text + size, false};
    errno = 0;
    json_t *value = json_load_callback(next_block, &feed, flags, error);
    if (!feed.lacked && errno != ENOMEM)
        return value;
    json_decref(value);
    error->text[JSON_ERROR_TEXT_LENGTH - 1] = (char)json_error_out_of_memory;
    return NULL;
}

void hop_json_load(const struct hop_source *source, struct hop_json *document, struct hop_failure *failure)
{
    json_error_t error;
    json_t *value = hop_json_parse(source->text, source->size, JSON_REJECT_DUPLICATES, &error);
    *document = (struct hop_json){.value = value, .key = source->name, .failure = failure};
    if (value)
        return;
    if (json_error_code(&error) == json_error_out_of_memory) {
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
        return;
    }
    hop_failure_set(failure, json_error_code(&error) == json_error_stack_overflow ? HOP_ERR_LIMIT : HOP_ERR_SYNTAX,
                    "%s\nJSON (RFC 8259) without duplicate keys, nested at most 2048 deep", error.text);
    hop_failure_place(failure, "%s:%d:%d", source->name, error.line, error.column);
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

void hop_json_check_format(const struct hop_json *document, const char *format, int version)
{
    static const struct {
        const char *key, *what;
    } others[] = {
        {"hopcast_topology", "a hopcast topology"},
        {"hopcast_schedule", "a hopcast schedule"},
        {"hopcast_prediction", "a hopcast prediction"},
        {"hopcast_traffic", "a traffic file, which `hopcast map` and `hopcast traffic` read"},
        {"traceEvents", "a Chrome trace"},
    };
    const struct hop_json found = hop_json_member(document, format, false);
    if (!ok(document) || (json_is_integer(found.value) && json_integer_value(found.value) == version))
        return;
    if (found.value) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "%d, the version of the format that is read here", version);
        fail_value(&found, expected);
        return;
    }
    const char *seems = json_is_object(document->value) ? "some other JSON object" : "no JSON object";
    for (size_t i = 0; i < HOP_COUNT(others); i++) {
        if (json_object_get(document->value, others[i].key))
            seems = others[i].what;
    }
    hop_json_fail(document, HOP_ERR_INVALID,
                  "this seems to be %s: the key '%s' is missing\na JSON object that says \"%s\": %d", seems, format,
                  format, version);
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
static void expect_names(const struct hop_json *at, const char *given,
                         const char *(*name)(const void *context, uint32_t index), const void *context, uint32_t count)
{
    struct hop_diag *diag = at->failure->diag;
    if (!diag)
        return;
    struct cut cut = {diag->expected, 0, sizeof diag->expected};
    uint32_t nearest = hop_text_nearest(given, name, context, count);
    diag->expected[0] = '\0';
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

static void check_keys(const struct hop_json *at, const struct keys *known)
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
        const struct hop_json unknown = hop_json_member(at, key, false);
        hop_json_fail(&unknown, HOP_ERR_INVALID, "the key '%.60s' is not known here", key);
        expect_names(at, key, key_name, known, known->count);
        return;
    }
}

struct hop_json hop_json_member(const struct hop_json *object, const char *key, bool required)
{
    const json_t *value = ok(object) ? json_object_get(object->value, key) : NULL;
    if (required && ok(object) && !json_is_object(object->value))
        fail_value(object, "an object, {...}");
    if (required && !value)
        hop_json_fail(object, HOP_ERR_INVALID, "the key '%s' is missing\nan object that has it", key);
    return (struct hop_json){.value = value, .parent = object, .key = key, .failure = object->failure};
}

/* The first that is missing, and all that must be there. */
static void check_required(const struct hop_json *at, const struct keys *known)
{
    const char *missing = NULL, *between = "the keys ";
    char expected[200];
    struct cut cut = {expected, 0, sizeof expected};
    for (uint32_t i = 0; i < known->count; i++) {
        const struct hop_json_key *key = &known->keys[i];
        if (!key->required)
            continue;
        missing = missing || json_object_get(at->value, key->name) ? missing : key->name;
        put(&cut, between);
        put(&cut, key->name);
        between = ", ";
    }
    if (missing)
        hop_json_fail(at, HOP_ERR_INVALID, "the key '%s' is missing\n%s", missing, expected);
}

void hop_json_object(const struct hop_json *at, const struct hop_json_key *keys, uint32_t count,
                     struct hop_json *members)
{
    const struct keys known = {keys, count};
    if (ok(at) && !json_is_object(at->value))
        fail_value(at, "an object, {...}");
    if (ok(at))
        check_keys(at, &known);
    if (ok(at))
        check_required(at, &known);
    for (uint32_t i = 0; i < count; i++)
        members[i] = hop_json_member(at, keys[i].name, keys[i].required);
}

size_t hop_json_array(const struct hop_json *at, size_t least)
{
    if (!ok(at) || !at->value)
        return 0;
    if (!json_is_array(at->value))
        fail_value(at, "an array, [...]");
    else if (json_array_size(at->value) < least)
        hop_json_fail(at, HOP_ERR_INVALID, "this array has %zu elements\nat least %zu", json_array_size(at->value),
                      least);
    return ok(at) ? json_array_size(at->value) : 0;
}

struct hop_json hop_json_element(const struct hop_json *array, size_t index)
{
    return (struct hop_json){
        .value = json_array_get(array->value, index), .parent = array, .index = index, .failure = array->failure};
}

/* ---- values ---- */

const char *hop_json_string(const struct hop_json *at)
{
    if (!ok(at) || !at->value)
        return NULL;
    if (!json_is_string(at->value))
        fail_value(at, "a string");
    return json_string_value(at->value);
}

const char *hop_json_name(const struct hop_json *at)
{
    const char *name = hop_json_string(at);
    unsigned shown = 1;
    for (const char *c = name; c && *c && shown; c += shown) { /* jansson lets nothing but UTF-8 through */
        shown = hop_text_shown(c);
        if (!shown)
            hop_json_fail(at, HOP_ERR_INVALID, "this name contains the control character 0x%02x",
                          (unsigned char)c[hop_text_utf8(c) - 1]);
    }
    return ok(at) ? name : NULL;
}

double hop_json_number(const struct hop_json *at, double low, double high, double otherwise, const char *expected)
{
    if (!ok(at) || !at->value)
        return otherwise;
    double number = json_number_value(at->value);
    if (json_is_number(at->value) && number >= low && number <= high)
        return number;
    char range[80];
    (void)snprintf(range, sizeof range, "a number from %g to %g", low, high);
    fail_value(at, expected ? expected : range);
    return otherwise;
}

uint64_t hop_json_whole(const struct hop_json *at, uint64_t low, uint64_t high, uint64_t otherwise,
                        const char *expected)
{
    uint64_t number = 0;
    bool whole = false;
    if (!ok(at) || !at->value)
        return otherwise;
    if (json_is_integer(at->value)) {
        whole = json_integer_value(at->value) >= 0;
        number = whole ? (uint64_t)json_integer_value(at->value) : 0;
    } else if (json_is_real(at->value)) { /* 1e6 is as whole as 1000000 */
        double real = json_real_value(at->value);
        whole = real >= 0 && real <= WHOLE_MAX && floor(real) == real;
        number = whole ? (uint64_t)real : 0;
    }
    if (whole && number >= low && number <= high)
        return number;
    char range[80];
    (void)snprintf(range, sizeof range, "a whole number from %llu to %llu", (unsigned long long)low,
                   (unsigned long long)high);
    fail_value(at, expected ? expected : range);
    return otherwise;
}

bool hop_json_flag(const struct hop_json *at)
{
    if (!ok(at) || !at->value)
        return false;
    if (!json_is_boolean(at->value))
        fail_value(at, "true or false");
    return json_is_true(at->value);
}

uint32_t hop_json_choice(const struct hop_json *at, const char *(*name)(const void *context, uint32_t index),
                         const void *context, uint32_t count, uint32_t otherwise)
{
    if (!ok(at) || !at->value)
        return otherwise;
    const char *text = json_string_value(at->value);
    for (uint32_t i = 0; text && i < count; i++) {
        if (strcmp(name(context, i), text) == 0)
            return i;
    }
    if (text)
        hop_json_fail(at, HOP_ERR_INVALID, "'%.60s' is not known here", text);
    else
        fail_value(at, "");
    expect_names(at, text ? text : "", name, context, count);
    return otherwise;
}
