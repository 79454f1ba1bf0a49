/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host as a device, by its table: memory and events among processes and within one, streams, and that nothing is
 * left behind. Where something must still be under way, a copy waits at a gate until the test opens it, so that no
 * clock decides.
 */
#include "device/host.h"
#include "test.h"

#include <dirent.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/base.h"

static const struct hop_device_ops *const ops = &hop_device_host;

/* ---- devices ---- */

static struct hop_device *open_device(unsigned copy_streams)
{
    const struct hop_device_options options = {.copy_streams = copy_streams};
    struct hop_device *device = NULL;
    CHECK(ops->open(&options, &device, D));
    return device;
}

/* Copies that go this way wait at the gate; those that go the other fail. */
enum { GATE = 7, CLIFF = 8 };
struct gate {
    sem_t open;
};

static enum hop_status pass(void *context, const struct hop_device_copy *copy, struct hop_diag *diag)
{
    struct gate *gate = context;
    if (copy->way == CLIFF)
        return hop_fail(diag, HOP_ERR_IO, "fell off the cliff");
    if (copy->way == GATE) {
        while (sem_wait(&gate->open) != 0)
            ;
    }
    memcpy(copy->to, copy->from, copy->bytes);
    return HOP_OK;
}

static struct hop_device *open_with_gate(unsigned copy_streams, struct gate *gate)
{
    const struct hop_device_options options = {.copy_streams = copy_streams};
    const struct hop_host_copier copier = {.copy = pass, .context = gate};
    struct hop_device *device = NULL;
    assert_int_equal(sem_init(&gate->open, 0, 0), 0);
    CHECK(hop_host_open(&options, &copier, &device, D));
    return device;
}

static void *allocate(struct hop_device *device, uint64_t bytes)
{
    void *address = NULL;
    CHECK(ops->allocate(device, bytes, &address, D));
    return address;
}

static void *import(struct hop_device *device, const struct hop_device_handle *handle)
{
    void *address = NULL;
    CHECK(ops->import_memory(device, handle, &address, D));
    return address;
}

static struct hop_device_handle export(struct hop_device *device, void *address)
{
    struct hop_device_handle handle;
    CHECK(ops->export_memory(device, address, &handle, D));
    return handle;
}

static struct hop_event *create_event(struct hop_device *device)
{
    struct hop_event *event = NULL;
    CHECK(ops->create_event(device, &event, D));
    return event;
}

static struct hop_event *import_event(struct hop_device *device, const struct hop_device_handle *handle)
{
    struct hop_event *event = NULL;
    CHECK(ops->import_event(device, handle, &event, D));
    return event;
}

static struct hop_device_handle export_event(struct hop_device *device, struct hop_event *event)
{
    struct hop_device_handle handle;
    CHECK(ops->export_event(device, event, &handle, D));
    return handle;
}

static bool has_ended(struct hop_device *device, struct hop_event *event)
{
    bool ended = false;
    CHECK(ops->query(device, event, &ended, D));
    return ended;
}

static void copy(struct hop_device *device, unsigned stream, void *to, const void *from, uint64_t bytes, uint32_t way)
{
    const struct hop_device_copy work = {to, from, bytes, way, NULL};
    CHECK(ops->copy(device, stream, &work, D));
}

/* *to += *what, on one element. */
static void add(struct hop_device *device, unsigned stream, int64_t *to, const int64_t *what)
{
    const void *inputs[] = {to, what};
    void *outputs[] = {to};
    const struct hop_reduction work = {HOP_REDUCE_SUM, HOP_TYPE_I64, 1, inputs, outputs, 2, 1};
    CHECK(ops->reduce(device, stream, &work, D));
}

/* Names in /dev/shm that begin as this process' do. */
static unsigned count_names(void)
{
    char prefix[64];
    unsigned count = 0;
    (void)snprintf(prefix, sizeof prefix, "hopcast-%ld-", (long)getpid());
    DIR *folder = opendir("/dev/shm");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    (void)closedir(folder);
    return count;
}

static unsigned count_mappings(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "/dev/shm/hopcast-") != NULL;
    (void)fclose(maps);
    return count;
}

/* ---- a second process ---- */

struct child {
    pid_t pid;
    int socket;
};

static void tell(int socket, const void *bytes, size_t size)
{
    assert_int_equal(write(socket, bytes, size), size);
}

static void hear(int socket, void *bytes, size_t size)
{
    assert_int_equal(recv(socket, bytes, size, MSG_WAITALL), size);
}

static void tell_done(int socket)
{
    tell(socket, "x", 1);
}

static void hear_done(int socket)
{
    char byte;
    hear(socket, &byte, 1);
}

/* The child's assertions end it with another exit status than 0. */
static struct child start_child(void (*life)(int socket))
{
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion does not jump back into the parent's runner */
        (void)close(sockets[0]);
        life(sockets[1]);
        _exit(count_names() == 0 ? 0 : 1);
    }
    (void)close(sockets[1]);
    return (struct child){pid, sockets[0]};
}

static void end_child(struct child child)
{
    int status = 0;
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(status, 0);
    (void)close(child.socket);
}

/* ---- memory ---- */

enum { BYTES = 3 << 20 };

static void answer_through_memory(int socket)
{
    struct hop_device_handle handle;
    struct hop_device *device = open_device(0);
    hear(socket, &handle, sizeof handle);
    unsigned char *theirs = import(device, &handle), *mine = allocate(device, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(theirs[i], i % 251);
    memset(theirs, 17, BYTES);
    copy(device, 0, mine, theirs, BYTES, HOP_NO_WAY);
    CHECK(ops->synchronize(device, 0, D));
    mine[0] = 99;
    handle = export(device, mine);
    tell(socket, &handle, sizeof handle);
    hear_done(socket);
    assert_int_equal(mine[1], 18);
    ops->close(device);
}

static void memory_is_seen_both_ways_between_processes(void **state)
{
    (void)state;
    struct child child = start_child(answer_through_memory);
    struct hop_device *device = open_device(0);
    unsigned char *mine = allocate(device, BYTES);
    assert_int_equal((uintptr_t)mine % 256, 0);
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(mine[i], 0);
        mine[i] = i % 251;
    }
    struct hop_device_handle handle = export(device, mine);
    tell(child.socket, &handle, sizeof handle);
    hear(child.socket, &handle, sizeof handle);
    unsigned char *theirs = import(device, &handle);
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(mine[i], 17);
        assert_int_equal(theirs[i], i ? 17 : 99);
    }
    theirs[1] = 18;
    tell_done(child.socket);
    end_child(child);
    assert_int_equal(theirs[0], 99); /* it outlives who allocated it */
    ops->free(device, theirs);
    ops->close(device);
}

static void withdrawn_memory_has_no_name_and_works(void **state)
{
    struct hop_diag diag;
    struct hop_device_handle ignored;
    void *nothing = NULL;
    (void)state;
    struct hop_device *device = open_device(0), *other = open_device(0);
    int *mine = allocate(device, 4096);
    struct hop_event *event = create_event(device);
    struct hop_device_handle handle = export(device, mine), event_handle = export_event(device, event);
    int *theirs = import(other, &handle);
    struct hop_event *their_event = import_event(other, &event_handle);
    assert_int_equal(count_names(), 2);
    ops->withdraw(device, mine);
    assert_int_equal(count_names(), 1);
    ops->withdraw(device, NULL);
    assert_int_equal(count_names(), 0);
    mine[5] = 1234;
    assert_int_equal(theirs[5], 1234);
    CHECK(ops->record(device, HOP_STREAM_NOW, event, D));
    assert_true(has_ended(other, their_event));
    assert_int_equal(ops->export_memory(device, mine, &ignored, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->export_event(device, event, &ignored, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->import_memory(other, &handle, &nothing, &diag), HOP_ERR_IO);
    assert_null(nothing);
    struct hop_event *later = create_event(device); /* in a page with a name */
    event_handle = export_event(device, later);
    assert_int_equal(count_names(), 1);
    ops->close(device);
    assert_int_equal(theirs[5], 1234);
    ops->close(other);
}

static void closing_leaves_nothing_behind(void **state)
{
    (void)state;
    unsigned mappings = count_mappings();
    for (unsigned round = 0; round < 20; round++) {
        struct hop_device *device = open_device(3), *other = open_device(0);
        for (unsigned i = 0; i < 20; i++) {
            struct hop_device_handle handle = export(device, allocate(device, 1 + 5000 * i));
            void *theirs = import(other, &handle);
            if (i % 3 == 0)
                ops->free(other, theirs);
        }
        for (unsigned i = 0; i < 600; i++) {
            struct hop_device_handle handle = export_event(device, create_event(device));
            (void)import_event(other, &handle);
        }
        int64_t *sums = allocate(device, 64);
        for (unsigned i = 0; i < 30; i++)
            add(device, i % 3, sums + i % 3, sums + 3);
        assert_int_equal(count_names(), 20 + 3 + 1);
        ops->close(device);
        assert_int_equal(count_names(), 0);
        ops->close(other);
        assert_int_equal(count_mappings(), mappings);
    }
    ops->close(NULL);
}

static void one_index_is_opened_twice(void **state)
{
    (void)state;
    struct hop_device *a = open_device(0), *b = open_device(2);
    struct hop_device_properties properties;
    uint32_t count = 0;
    CHECK(ops->count(&count, D));
    assert_int_equal(count, UINT32_MAX);
    ops->properties(b, &properties);
    assert_int_equal(properties.copy_streams, 2);
    assert_true(properties.mapped && properties.immediate && properties.memory_bytes > 0);
    assert_string_equal(properties.name, "host");
    assert_true(properties.numa == -1 && !properties.place[0]); /* near nothing: its ranks run where they like */
    ops->properties(a, &properties);
    assert_int_equal(properties.copy_streams, 1);
    char *mine = allocate(a, 100), *other = allocate(b, 100);
    struct hop_device_handle handle = export(a, mine);
    char *again = import(b, &handle), *itself = import(a, &handle);
    strcpy(mine, "written once");
    assert_string_equal(again, "written once");
    assert_string_equal(itself, "written once");
    assert_int_equal(other[0], 0);
    CHECK(ops->register_host(a, properties.name, sizeof properties.name, D));
    ops->unregister_host(a, properties.name);
    ops->free(a, mine);
    assert_string_equal(again, "written once");
    ops->free(a, NULL);
    ops->close(a);
    ops->close(b);
}

static void bogus_handles_are_refused(void **state)
{
    struct hop_diag diag;
    void *address = NULL;
    struct hop_event *event = NULL;
    (void)state;
    struct hop_device *device = open_device(0);
    const struct hop_device_handle memory = export(device, allocate(device, 100)),
                                   good = export_event(device, create_event(device));
    struct hop_host_handle content;
    struct hop_device_handle bogus[6] = {{{0}}, good, memory, memory, memory, memory};
    memset(bogus[2].bytes, 0xff, sizeof bogus[2].bytes);
    memcpy(&content, memory.bytes, sizeof content);
    memset(content.name, 'a', sizeof content.name); /* no end */
    memcpy(bogus[3].bytes, &content, sizeof content);
    strcpy(content.name, "/hopcast-/../../etc/passwd");
    memcpy(bogus[4].bytes, &content, sizeof content);
    strcpy(content.name, "/hopcast-0-0123456789abcdef-0");
    memcpy(bogus[5].bytes, &content, sizeof content);
    for (size_t i = 0; i < HOP_COUNT(bogus); i++) {
        diag = (struct hop_diag){0};
        assert_int_equal(ops->import_memory(device, &bogus[i], &address, &diag), i == 5 ? HOP_ERR_IO : HOP_ERR_INVALID);
        assert_string_not_equal(diag.what, "");
        assert_null(address);
    }
    assert_int_equal(ops->import_event(device, &memory, &event, &diag), HOP_ERR_INVALID);
    memcpy(&content, good.bytes, sizeof content);
    content.slot = 256;
    memcpy(bogus[0].bytes, &content, sizeof content);
    assert_int_equal(ops->import_event(device, &bogus[0], &event, &diag), HOP_ERR_INVALID);
    memcpy(&content, memory.bytes, sizeof content); /* events in memory of another size */
    strcpy(content.kind, HOP_HOST_EVENT);
    memcpy(bogus[0].bytes, &content, sizeof content);
    assert_int_equal(ops->import_event(device, &bogus[0], &event, &diag), HOP_ERR_INVALID);
    assert_null(event);
    assert_int_equal(ops->export_memory(device, &content, &bogus[0], &diag), HOP_ERR_INVALID);
    ops->close(device);
}

static void what_is_out_of_range_is_refused(void **state)
{
    struct hop_diag diag;
    struct hop_device *device = NULL;
    (void)state;
    const struct hop_device_options too_many = {.copy_streams = HOP_DEVICE_STREAMS};
    assert_int_equal(ops->open(&too_many, &device, &diag), HOP_ERR_LIMIT);
    assert_null(device);
    device = open_device(2);
    char *memory = allocate(device, 16);
    struct hop_event *event = create_event(device);
    const struct hop_device_copy work = {memory, memory + 8, 8, HOP_NO_WAY, NULL};
    const void *inputs[] = {memory};
    void *outputs[] = {memory + 8};
    struct hop_reduction reduction = {HOP_REDUCE_SUM, HOP_TYPE_I32, 1, inputs, outputs, 1, HOP_REDUCTION_PLACES + 1};
    assert_int_equal(ops->copy(device, 2, &work, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->copy(device, HOP_DEVICE_STREAMS, &work, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->synchronize(device, 3, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->record(device, 3, event, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->await(device, 3, event, &diag), HOP_ERR_INVALID);
    assert_int_equal(ops->reduce(device, HOP_STREAM_COMPUTE, &reduction, &diag), HOP_ERR_LIMIT);
    struct hop_device_handle handle = export_event(device, event);
    assert_int_equal(ops->record(device, 0, import_event(device, &handle), &diag), HOP_ERR_INVALID);
    void *huge = NULL;
    assert_int_equal(ops->allocate(device, (uint64_t)1 << 50, &huge, &diag), HOP_ERR_MEMORY);
    assert_null(huge);
    ops->close(device);
}

/* ---- streams ---- */

static void work_on_a_stream_runs_in_its_order(void **state)
{
    (void)state;
    struct hop_device *device = open_device(0);
    int64_t *x = allocate(device, 64), *y = x + 1, *one = x + 2, expected = 0;
    *one = 1;
    for (unsigned i = 0; i < 1000; i++) { /* more than a stream takes at once; x, y = y, x + y + 1 */
        unsigned stream = i < 500 ? 0 : HOP_STREAM_COMPUTE;
        if (i == 500)
            CHECK(ops->synchronize(device, 0, D));
        copy(device, stream, x + 3, y, 8, HOP_NO_WAY);
        add(device, stream, y, one);
        add(device, stream, y, x);
        copy(device, stream, x, x + 3, 8, HOP_NO_WAY);
    }
    CHECK(ops->synchronize(device, HOP_STREAM_COMPUTE, D));
    uint64_t a = 0, b = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t next = a + b + 1;
        a = b;
        b = next;
    }
    expected = (int64_t)b;
    assert_int_equal(*y, expected);
    ops->close(device);
}

static void arguments_are_the_callers_again_once_queued(void **state)
{
    struct gate gate;
    (void)state;
    struct hop_device *device = open_with_gate(1, &gate);
    int32_t *memory = allocate(device, 4 * HOP_REDUCTION_PLACES);
    const void *inputs[HOP_REDUCTION_PLACES];
    void *outputs[1] = {memory};
    for (int i = 0; i < HOP_REDUCTION_PLACES; i++) {
        memory[i] = 1 << i % 20;
        inputs[i] = &memory[i];
    }
    const struct hop_reduction work = {HOP_REDUCE_MAX, HOP_TYPE_I32, 1, inputs, outputs, HOP_REDUCTION_PLACES, 1};
    copy(device, 0, memory + 1, memory + 2, 4, GATE);
    CHECK(ops->reduce(device, 0, &work, D));
    memset(inputs, 0, sizeof inputs);
    memset(outputs, 0, sizeof outputs);
    assert_int_equal(memory[0], 1);
    sem_post(&gate.open);
    CHECK(ops->synchronize(device, 0, D));
    assert_int_equal(memory[0], 1 << 19);
    ops->close(device);
}

static void streams_run_side_by_side_and_await_each_other(void **state)
{
    struct gate gate;
    (void)state;
    struct hop_device *device = open_with_gate(2, &gate);
    int64_t *memory = allocate(device, 64);
    struct hop_event *event = create_event(device), *free_one = create_event(device);
    memory[0] = 5;
    memory[1] = 100;
    copy(device, 0, memory + 2, memory, 8, GATE);
    CHECK(ops->record(device, 0, event, D));
    copy(device, 1, memory + 3, memory, 8, HOP_NO_WAY);
    CHECK(ops->record(device, 1, free_one, D));
    CHECK(ops->synchronize(device, 1, D)); /* though stream 0 stands at the gate */
    assert_int_equal(memory[3], 5);
    assert_true(has_ended(device, free_one));
    assert_false(has_ended(device, event));
    CHECK(ops->await(device, HOP_STREAM_COMPUTE, event, D));
    add(device, HOP_STREAM_COMPUTE, memory + 1, memory + 2);
    CHECK(ops->await(device, 1, event, D));
    copy(device, 1, memory + 4, memory + 2, 8, HOP_NO_WAY);
    copy(device, HOP_STREAM_NOW, memory + 5, memory, 8, HOP_NO_WAY); /* waits for nothing */
    assert_int_equal(memory[5], 5);
    assert_int_equal(memory[1], 100);
    assert_int_equal(memory[2], 0);
    sem_post(&gate.open);
    CHECK(ops->synchronize(device, HOP_STREAM_COMPUTE, D));
    CHECK(ops->synchronize(device, 1, D));
    assert_int_equal(memory[1], 105);
    assert_int_equal(memory[4], 5);
    assert_true(has_ended(device, event));
    ops->close(device);
}

/* ---- events ---- */

static void a_new_record_replaces_the_old_one(void **state)
{
    struct gate gate;
    (void)state;
    struct hop_device *device = open_with_gate(1, &gate);
    int64_t *memory = allocate(device, 64);
    struct hop_event *event = create_event(device);
    assert_true(has_ended(device, event)); /* never recorded */
    CHECK(ops->await(device, 0, event, D));
    CHECK(ops->await(device, HOP_STREAM_NOW, event, D));
    CHECK(ops->record(device, HOP_STREAM_COMPUTE, event, D)); /* nothing was ever queued there */
    assert_true(has_ended(device, event));
    copy(device, 0, memory + 1, memory, 8, GATE);
    CHECK(ops->record(device, 0, event, D));
    assert_false(has_ended(device, event));
    copy(device, 0, memory + 1, memory, 8, GATE);
    CHECK(ops->record(device, 0, event, D));
    struct hop_event *first = create_event(device);
    sem_post(&gate.open);
    CHECK(ops->record(device, HOP_STREAM_NOW, first, D));
    assert_true(has_ended(device, first));
    assert_false(has_ended(device, event)); /* the second copy stands at the gate, wherever the first is */
    sem_post(&gate.open);
    CHECK(ops->await(device, HOP_STREAM_NOW, event, D));
    assert_true(has_ended(device, event));
    ops->close(device);
}

static void record_behind_a_gate(int socket)
{
    struct gate gate;
    struct hop_device *device = open_with_gate(1, &gate);
    int64_t *memory = allocate(device, 64);
    struct hop_event *event = create_event(device);
    struct hop_device_handle handles[2] = {export(device, memory), export_event(device, event)};
    memory[0] = 4711;
    copy(device, 0, memory + 1, memory, 8, GATE);
    CHECK(ops->record(device, 0, event, D));
    tell(socket, handles, sizeof handles);
    hear_done(socket);
    sem_post(&gate.open);
    hear_done(socket);
    ops->close(device);
}

static void events_end_across_processes(void **state)
{
    struct hop_device_handle handles[2];
    (void)state;
    struct child child = start_child(record_behind_a_gate);
    struct hop_device *device = open_device(1);
    hear(child.socket, handles, sizeof handles);
    int64_t *theirs = import(device, &handles[0]), *mine = allocate(device, 8);
    struct hop_event *event = import_event(device, &handles[1]);
    assert_false(has_ended(device, event));
    CHECK(ops->await(device, 0, event, D));
    copy(device, 0, mine, theirs + 1, 8, HOP_NO_WAY);
    tell_done(child.socket);
    CHECK(ops->await(device, HOP_STREAM_NOW, event, D));
    assert_int_equal(theirs[1], 4711);
    assert_true(has_ended(device, event));
    CHECK(ops->synchronize(device, 0, D));
    assert_int_equal(*mine, 4711);
    tell_done(child.socket);
    end_child(child);
    ops->close(device);
}

static void closing_ends_the_wait_for_another_device(void **state)
{
    struct gate gate;
    (void)state;
    struct hop_device *device = open_with_gate(1, &gate), *other = open_device(0);
    int64_t *memory = allocate(device, 64);
    struct hop_event *event = create_event(device);
    memory[0] = 1;
    copy(device, 0, memory + 1, memory, 8, GATE);
    CHECK(ops->record(device, 0, event, D));
    struct hop_device_handle handles[2] = {export(device, memory), export_event(device, event)};
    int64_t *theirs = import(other, &handles[0]);
    CHECK(ops->await(other, 0, import_event(other, &handles[1]), D));
    copy(other, 0, theirs + 2, theirs, 8, HOP_NO_WAY);
    ops->close(other);
    assert_int_equal(memory[2], 0); /* it never waited long enough */
    sem_post(&gate.open);
    ops->close(device);
}

static void a_failed_copy_fails_the_device(void **state)
{
    struct gate gate;
    struct hop_diag diag;
    bool ended;
    (void)state;
    struct hop_device *device = open_with_gate(2, &gate);
    int64_t *memory = allocate(device, 64);
    struct hop_event *event = create_event(device);
    const struct hop_device_copy now = {memory + 1, memory, 8, CLIFF, NULL}, harmless = {memory + 1, memory, 8, HOP_NO_WAY, NULL};
    memory[0] = 3;
    assert_int_equal(ops->copy(device, HOP_STREAM_NOW, &now, &diag), HOP_ERR_IO); /* the call's, not the device's */
    copy(device, 0, memory + 1, memory, 8, GATE);
    copy(device, 0, memory + 1, memory, 8, CLIFF);
    CHECK(ops->record(device, 0, event, D));
    CHECK(ops->await(device, 1, event, D));
    copy(device, 1, memory + 2, memory, 8, HOP_NO_WAY);
    sem_post(&gate.open);
    assert_int_equal(ops->synchronize(device, 1, &diag), HOP_ERR_IO);
    assert_string_equal(diag.what, "fell off the cliff");
    assert_int_equal(memory[2], 0);
    assert_int_equal(ops->synchronize(device, 0, &diag), HOP_ERR_IO);
    assert_int_equal(ops->copy(device, 0, &harmless, &diag), HOP_ERR_IO);
    assert_int_equal(ops->copy(device, HOP_STREAM_NOW, &harmless, &diag), HOP_ERR_IO);
    assert_int_equal(ops->query(device, event, &ended, &diag), HOP_ERR_IO);
    assert_int_equal(ops->await(device, HOP_STREAM_NOW, event, &diag), HOP_ERR_IO);
    ops->close(device);
}

/* ---- ranks that are threads ---- */

enum { TURNS = 500 };
struct rank {
    pthread_t thread;
    struct rank *peer;
    struct hop_device_handle memory, event;
    _Atomic uint32_t ready, recorded;
    int64_t last;
};

static void until(const _Atomic uint32_t *value, uint32_t least)
{
    while (atomic_load(value) < least)
        (void)sched_yield();
}

/* Each turn takes what the peer has and adds 1, once the peer's event of the turn before has ended. Its memory stays
 * until both are through. */
static void *take_turns(void *argument)
{
    struct rank *rank = argument, *peer = rank->peer;
    struct hop_device *device = open_device(1);
    int64_t *mine = allocate(device, 16);
    struct hop_event *event = create_event(device);
    rank->memory = export(device, mine);
    rank->event = export_event(device, event);
    mine[1] = 1;
    atomic_store(&rank->ready, 1);
    until(&peer->ready, 1);
    int64_t *theirs = import(device, &peer->memory);
    struct hop_event *their_event = import_event(device, &peer->event);
    bool first = rank < peer;
    for (uint32_t turn = 1; turn <= TURNS; turn++) {
        if (!first || turn > 1) {
            until(&peer->recorded, first ? turn - 1 : turn);
            CHECK(ops->await(device, 0, their_event, D));
        }
        copy(device, 0, mine, theirs, 8, HOP_NO_WAY);
        add(device, 0, mine, mine + 1);
        CHECK(ops->record(device, 0, event, D));
        atomic_store(&rank->recorded, turn);
    }
    CHECK(ops->synchronize(device, 0, D));
    rank->last = mine[0];
    atomic_store(&rank->ready, 2);
    until(&peer->ready, 2);
    ops->close(device);
    return NULL;
}

static void ranks_may_be_threads(void **state)
{
    struct rank ranks[2] = {{.peer = &ranks[1]}, {.peer = &ranks[0]}};
    (void)state;
    for (unsigned r = 0; r < 2; r++)
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, take_turns, &ranks[r]), 0);
    for (unsigned r = 0; r < 2; r++)
        assert_int_equal(pthread_join(ranks[r].thread, NULL), 0);
    assert_int_equal(ranks[0].last, 2 * TURNS - 1);
    assert_int_equal(ranks[1].last, 2 * TURNS);
    assert_int_equal(count_names(), 0);
}

/* ---- counters ---- */

static struct hop_counter there, back;
enum { BEYOND = 3000 };

static void *count_along(void *argument)
{
    const uint32_t *from = argument;
    for (uint32_t i = 1; i <= BEYOND; i++) {
        (void)hop_counter_wait(&there, *from + i, NULL);
        hop_counter_advance(&back, *from + i);
    }
    return NULL;
}

static void counters_pass_the_largest_number(void **state)
{
    uint32_t from = UINT32_MAX - BEYOND / 2;
    const atomic_bool stop = true;
    pthread_t thread;
    (void)state;
    atomic_store(&there.value, from);
    atomic_store(&back.value, from);
    assert_int_equal(pthread_create(&thread, NULL, count_along, &from), 0);
    for (uint32_t i = 1; i <= BEYOND; i++) {
        hop_counter_advance(&there, from + i);
        assert_true(hop_counter_wait(&back, from + i, NULL));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    hop_counter_advance(&there, from); /* never back */
    assert_int_equal(atomic_load(&there.value), from + BEYOND);
    assert_false(hop_counter_wait(&there, from + BEYOND + 1, &stop));
    assert_true(hop_counter_wait(&there, from + BEYOND, &stop));
    assert_int_equal(atomic_load(&there.sleepers), 0);
}

static void back_ends_are_found_by_name(void **state)
{
    (void)state;
    const struct hop_device_facts *found = NULL;
    struct hop_diag diag = {0};
    size_t count = 0;
    for (; hop_device_at(count); count++) {
        assert_non_null(hop_device_at(count)->what);
        assert_int_equal(hop_device_named(hop_device_at(count)->name, &found, &diag), HOP_OK);
        assert_ptr_equal(found, hop_device_at(count));
    }
    assert_true(count >= 2);
    assert_int_equal(hop_device_named(NULL, &found, &diag), HOP_OK);
    assert_ptr_equal(found, &ops->facts);
    assert_int_equal(hop_device_named("abacus", &found, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "there is no device back end 'abacus'");
    assert_string_equal(diag.expected, "host or cuda or hip");
}

TEST_GROUP(device_host)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_seen_both_ways_between_processes),
        cmocka_unit_test(withdrawn_memory_has_no_name_and_works),
        cmocka_unit_test(closing_leaves_nothing_behind),
        cmocka_unit_test(one_index_is_opened_twice),
        cmocka_unit_test(bogus_handles_are_refused),
        cmocka_unit_test(what_is_out_of_range_is_refused),
        cmocka_unit_test(work_on_a_stream_runs_in_its_order),
        cmocka_unit_test(arguments_are_the_callers_again_once_queued),
        cmocka_unit_test(streams_run_side_by_side_and_await_each_other),
        cmocka_unit_test(a_new_record_replaces_the_old_one),
        cmocka_unit_test(events_end_across_processes),
        cmocka_unit_test(closing_ends_the_wait_for_another_device),
        cmocka_unit_test(a_failed_copy_fails_the_device),
        cmocka_unit_test(ranks_may_be_threads),
        cmocka_unit_test(counters_pass_the_largest_number),
        cmocka_unit_test(back_ends_are_found_by_name),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
