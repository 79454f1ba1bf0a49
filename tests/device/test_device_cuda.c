/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices `cuda` and `hip` on a stand-in for their drivers (fake_cuda/driver.c), which runs the real kernels' source.
 * Each test is made of both.
 *
 * A driver does not survive fork, so every test body runs in processes of its own; what they must find true is MUST and
 * OK, which end the process with a message.
 */
#include "test.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/numa.h"
#include "device/gpu.h"

static const struct hop_device_ops *gpu = &hop_device_cuda;
#define CUDA gpu
#define OTHER HOP_STREAM_TO_HOST /* a second stream for copies, which both have */
enum { BYTES = 10000 };

/* ---- processes ---- */

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        if ((call) != HOP_OK) {                                                                                        \
            fprintf(stderr, "%s:%d: %s: %s: %s (%s)\n", __FILE__, __LINE__, #call, diag_.place, diag_.what,            \
                    diag_.expected);                                                                                   \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
/* What a diagnostic of this dialect says where CUDA's says the text. */
static const char *said(const char *text)
{
#define ADAPTED(name) name
    static const char *const names[][2] = {
#define PAIR(name, cuda, hip, parameters) {#name, hip},
        HOP_GPU_FUNCTIONS(PAIR)
#undef PAIR
    };
    static char changed[64];
    const char *word = strstr(text, "CUDA ");
    for (size_t i = 0; gpu == &hop_device_hip && i < HOP_COUNT(names); i++) {
        if (strcmp(names[i][0], text) == 0)
            return names[i][1];
    }
    if (gpu == &hop_device_cuda || !word)
        return text;
    (void)snprintf(changed, sizeof changed, "%.*sHIP%s", (int)(word - text), text, word + 4);
    return changed;
}

/* The call fails so, and its diagnostic says the text. */
#define FAILS(code, text, call)                                                                                        \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        enum hop_status status_ = (call);                                                                              \
        if (status_ != (code) || diag_.status != (code) ||                                                             \
            !(strstr(diag_.what, said(text)) || strstr(diag_.expected, said(text)) ||                                  \
              strstr(diag_.place, said(text)))) {                                                                      \
            fprintf(stderr, "%s:%d: %s: %d %s: %s (%s)\n", __FILE__, __LINE__, #call, (int)status_, diag_.place,       \
                    diag_.what, diag_.expected);                                                                       \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

typedef void body(int peer); /* peer: a socket to the other process */

static pid_t begin(body *run, int own, int other)
{
    (void)fflush(NULL);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        (void)close(other);
        (void)alarm(500); /* less than ctest's limit, so that no process stays behind */
        run(own);
        exit(0); /* where leaks are looked for */
    }
    return process;
}

static void end(pid_t process)
{
    int status = -1;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
}

static void in_two_processes(body *first, body *second)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t a = begin(first, ends[0], ends[1]), b = begin(second, ends[1], ends[0]);
    (void)close(ends[0]);
    (void)close(ends[1]);
    end(a);
    end(b);
}

static void nothing(int peer)
{
    (void)peer;
}

static void in_a_process(body *run)
{
    in_two_processes(run, nothing);
}

static void tell(int peer, const void *bytes, size_t size)
{
    MUST(write(peer, bytes, size) == (ssize_t)size);
}

static void hear(int peer, void *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t more = read(peer, (char *)bytes + got, size - got);
        MUST(more > 0);
        got += (size_t)more;
    }
}

/* What was said so far has been heard by both. */
static void meet(int peer)
{
    char byte = 1;
    tell(peer, &byte, 1);
    hear(peer, &byte, 1);
}

/* ---- devices ---- */

#define KERNELS (gpu == &hop_device_cuda ? "HOPCAST_CUDA_KERNELS" : "HOPCAST_HIP_KERNELS")
#define LIBRARY (gpu == &hop_device_cuda ? "HOPCAST_CUDA_LIBRARY" : "HOPCAST_HIP_LIBRARY")

static void with(const char *variable, const char *value)
{
    MUST(setenv(variable, value, 1) == 0);
}

/* Where the library was built without nvcc, the stand-in takes a file that begins like a fat binary. */
static void have_kernels(void)
{
    static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0};
    char path[] = "/tmp/hopcast-kernels-XXXXXX";
    int file = mkstemp(path);
    MUST(file >= 0 && write(file, magic, sizeof magic) == (ssize_t)sizeof magic && close(file) == 0);
    with("HOPCAST_CUDA_KERNELS", path);
    with("HOPCAST_HIP_KERNELS", path);
}

static void forget_kernels(void)
{
    MUST(unlink(getenv("HOPCAST_CUDA_KERNELS")) == 0);
    MUST(unsetenv("HOPCAST_CUDA_KERNELS") == 0 && unsetenv("HOPCAST_HIP_KERNELS") == 0);
}

static struct hop_device *open_one(uint32_t index)
{
    struct hop_device_options options = {.index = index};
    struct hop_device *device = NULL;
    OK(CUDA->open(&options, &device, D));
    return device;
}

static void *symbol(const char *name)
{
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
    MUST(library);
    void *found = dlsym(library, name);
    MUST(found);
    (void)dlclose(library);
    return found;
}

static int live(void)
{
    int (*count)(void);
    void *found = symbol("fake_cuda_live");
    memcpy(&count, &found, sizeof count);
    return count();
}

static struct hop_device *open_first(void)
{
    have_kernels();
    struct hop_device *device = open_one(0);
    forget_kernels();
    return device;
}

/* All is given back. */
static void close_last(struct hop_device *device)
{
    CUDA->close(device);
    MUST(live() == 0);
}

static void *allocated(struct hop_device *device, uint64_t bytes)
{
    void *address = NULL;
    OK(CUDA->allocate(device, bytes, &address, D));
    return address;
}

static void copy(struct hop_device *device, unsigned stream, void *to, const void *from, uint64_t bytes)
{
    struct hop_device_copy work = {to, from, bytes, HOP_NO_WAY, NULL};
    OK(CUDA->copy(device, stream, &work, D));
}

static void fill(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static bool holds(struct hop_device *device, const void *address, unsigned seed)
{
    unsigned char expected[BYTES], found[BYTES];
    fill(expected, BYTES, seed);
    copy(device, HOP_STREAM_NOW, found, address, BYTES);
    return memcmp(expected, found, BYTES) == 0;
}

static void put(struct hop_device *device, void *address, unsigned seed)
{
    unsigned char bytes[BYTES];
    fill(bytes, BYTES, seed);
    copy(device, HOP_STREAM_NOW, address, bytes, BYTES);
}

/* ---- the driver ---- */

static void find_no_driver(int peer)
{
    struct hop_device_options options = {0};
    struct hop_device *device = NULL;
    uint32_t count = 77;
    (void)peer;
    with(LIBRARY, "/nowhere/libcuda.so.1");
    FAILS(HOP_ERR_UNSUPPORTED, "/nowhere/libcuda.so.1", CUDA->count(&count, D));
    FAILS(HOP_ERR_UNSUPPORTED, "no CUDA driver", CUDA->open(&options, &device, D));
    MUST(count == 77 && !device);
    with(LIBRARY, "libm.so.6");
    FAILS(HOP_ERR_UNSUPPORTED, "has no function", CUDA->count(&count, D));
    with(LIBRARY, TEST_FAKE_CUDA); /* found in the end: the first failures are not remembered */
    OK(CUDA->count(&count, D));
    MUST(count == 8);
}

static void without_a_driver_there_is_a_diagnostic_and_nothing_else(void **state)
{
    (void)state;
    in_a_process(find_no_driver);
}

static void fail_to_initialise(int peer)
{
    uint32_t count = 0;
    (void)peer;
    with("HOPCAST_FAKE_CUDA_FAIL", "cuInit:1=100");
    FAILS(HOP_ERR_NOT_FOUND, "cuInit", CUDA->count(&count, D));
}

static void a_driver_that_finds_no_gpu_is_a_diagnostic(void **state)
{
    (void)state;
    in_a_process(fail_to_initialise);
}

static void look_at_properties(int peer)
{
    struct hop_device_options options = {.index = 8};
    struct hop_device_properties properties;
    struct hop_device *device = open_first(), *other = NULL;
    struct hop_device_copy work = {&options, &options, 1, HOP_NO_WAY, NULL};
    (void)peer;
    CUDA->properties(device, &properties);
    MUST(strcmp(properties.name, "Stand-in 0") == 0 && properties.memory_bytes == 1 << 30);
    MUST(strcasecmp(properties.place, "0000:07:00.0") == 0 && properties.timed);
    MUST(properties.numa ==
         (gpu == &hop_device_cuda ? 0 : -1)); /* HIP cannot be asked, and /sys knows no such device */
    MUST(properties.copy_streams == (gpu == &hop_device_cuda ? 2 : 1) && !properties.mapped && !properties.immediate);
    FAILS(HOP_ERR_NOT_FOUND, "no CUDA device 8", CUDA->open(&options, &other, D));
    FAILS(HOP_ERR_INVALID, "no stream 2", CUDA->copy(device, 2, &work, D));
    FAILS(HOP_ERR_INVALID, "no stream 8", CUDA->synchronize(device, 8, D));
    close_last(device);
    options = (struct hop_device_options){.index = 1, .copy_streams = 99};
    OK(CUDA->open(&options, &device, D));
    CUDA->properties(device, &properties);
    MUST(strcmp(properties.name, "Stand-in 1") == 0 &&
         properties.copy_streams == (gpu == &hop_device_cuda ? 4 : 1)); /* as many as there are queues for */
    work = (struct hop_device_copy){&options, &options, 0, HOP_NO_WAY, NULL};
    OK(CUDA->copy(device, properties.copy_streams - 1, &work, D));
    OK(CUDA->copy(device, HOP_STREAM_FROM_HOST, &work, D));
    close_last(device);
    CUDA->close(NULL);
}

static void a_device_has_the_properties_of_the_driver_and_the_streams_asked_for(void **state)
{
    (void)state;
    in_a_process(look_at_properties);
}

static void look_for_places(int peer)
{
    struct hop_device_properties properties;
    struct hop_device *devices[3] = {NULL};
    bool reaches = false;
    (void)peer;
    with("CUDA_VISIBLE_DEVICES", "6,2,5"); /* by their places: 7, 3, 4 */
    with("HOPCAST_FAKE_CUDA_REFUSED", "3>4");
    static const char *const places[] = {"0000:4e:00.0", "87:00.0", "00000000:BD:00"};
    uint32_t count = 0;
    OK(CUDA->count(&count, D));
    MUST(count == 3);
    for (uint32_t i = 0; i < 3; i++) { /* by index in the order of the places, and by the place */
        struct hop_device_options options = {.index = i};
        OK(CUDA->open(&options, &devices[i], D));
        CUDA->properties(devices[i], &properties);
        MUST(hop_pci_address(properties.place) == hop_pci_address(places[i]));
        CUDA->close(devices[i]);
        options = (struct hop_device_options){.index = 7, .place = places[i]};
        OK(CUDA->open(&options, &devices[i], D));
        CUDA->properties(devices[i], &properties);
        MUST(hop_pci_address(properties.place) == hop_pci_address(places[i]));
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) { /* 3 has no access to 4, 4 has to 3 */
            OK(CUDA->reaches(devices[i], places[k], &reaches, D));
            MUST(reaches == !(i == 0 && k == 1));
        }
        OK(CUDA->reaches(devices[i], "0000:07:00.0", &reaches, D));
        MUST(!reaches); /* hidden */
        CUDA->close(devices[i]);
    }
    struct hop_device_options options = {.place = "0000:07:00.0"};
    FAILS(HOP_ERR_NOT_FOUND, "those that it shows: 4e:00.0, 87:00.0, bd:00.0", CUDA->open(&options, &devices[0], D));
    options = (struct hop_device_options){.index = 3};
    FAILS(HOP_ERR_NOT_FOUND, "no CUDA device 3", CUDA->open(&options, &devices[0], D));
    MUST(live() == 0);
}

static void a_device_is_known_by_its_place_and_knows_whom_it_reaches(void **state)
{
    (void)state;
    in_a_process(look_for_places);
}

/* ---- memory and copies ---- */

static void look_at_memory(int peer)
{
    unsigned char bytes[BYTES], zero[BYTES] = {0};
    void *never = NULL;
    struct hop_device *device = open_first();
    (void)peer;
    void *a = allocated(device, BYTES), *b = allocated(device, 0);
    MUST((uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0 && a != b);
    copy(device, HOP_STREAM_NOW, bytes, a, BYTES);
    MUST(memcmp(bytes, zero, BYTES) == 0);
    FAILS(HOP_ERR_MEMORY, "cuMemAlloc", CUDA->allocate(device, 1u << 30, &never, D));
    FAILS(HOP_ERR_MEMORY, "memory", CUDA->allocate(device, UINT64_MAX, &never, D));
    MUST(!never);
    put(device, a, 5);
    MUST(holds(device, a, 5)); /* the device is as good as before */
    CUDA->withdraw(device, a);
    MUST(holds(device, a, 5));
    int objects = live();
    CUDA->free(device, a);
    CUDA->free(device, NULL);
    MUST(live() == objects - 1);
    struct hop_device_copy work = {bytes, a, BYTES, HOP_NO_WAY, NULL};
    FAILS(HOP_ERR_IO, "cuMemcpyAsync", CUDA->copy(device, 0, &work, D));
    work = (struct hop_device_copy){b, bytes, ((uint64_t)2 << 20) + 1, HOP_NO_WAY, NULL};
    FAILS(HOP_ERR_IO, "CUDA_ERROR_INVALID_VALUE", CUDA->copy(device, 0, &work, D));
    close_last(device);
}

static void memory_is_zeroed_and_its_lack_is_a_diagnostic(void **state)
{
    (void)state;
    in_a_process(look_at_memory);
}

/* From the host through the device's memory and back, each stream on its own. */
static void copy_in_order(int peer)
{
    enum { LINKS = 8 };
    static unsigned char in[3][BYTES], out[3][BYTES];
    const unsigned streams[3] = {0, OTHER, HOP_STREAM_COMPUTE};
    struct hop_device *device = open_first();
    void *chain[3][LINKS];
    (void)peer;
    OK(CUDA->register_host(device, in, sizeof in, D));
    OK(CUDA->register_host(device, out, sizeof out, D));
    OK(CUDA->register_host(device, out, sizeof out, D)); /* already so, as by another thread of this process */
    for (int s = 0; s < 3; s++) {
        fill(in[s], BYTES, (unsigned)s);
        for (int i = 0; i < LINKS; i++)
            chain[s][i] = allocated(device, BYTES);
    }
    for (int s = 0; s < 3; s++) {
        copy(device, streams[s], chain[s][0], in[s], BYTES);
        for (int i = 1; i < LINKS; i++)
            copy(device, streams[s], chain[s][i], chain[s][i - 1], BYTES);
        copy(device, streams[s], out[s], chain[s][LINKS - 1], BYTES);
    }
    for (int s = 0; s < 3; s++)
        OK(CUDA->synchronize(device, streams[s], D));
    MUST(memcmp(in, out, sizeof in) == 0);
    int objects = live();
    CUDA->unregister_host(device, in);
    CUDA->unregister_host(device, in);
    MUST(live() == objects - 1);
    close_last(device);
}

static void copies_of_one_stream_are_made_in_order(void **state)
{
    (void)state;
    in_a_process(copy_in_order);
}

/* ---- events ---- */

static void await_between_streams(int peer)
{
    struct hop_device *device = open_first();
    struct hop_event *there, *back;
    static unsigned char in[BYTES], out[BYTES];
    bool ended = false;
    (void)peer;
    void *a = allocated(device, BYTES), *b = allocated(device, BYTES);
    OK(CUDA->register_host(device, in, sizeof in, D));
    OK(CUDA->register_host(device, out, sizeof out, D));
    OK(CUDA->create_event(device, &there, D));
    OK(CUDA->create_event(device, &back, D));
    OK(CUDA->query(device, there, &ended, D));
    MUST(ended); /* never recorded */
    for (unsigned round = 0; round < 100; round++) {
        fill(in, BYTES, round);
        copy(device, 0, a, in, BYTES);
        OK(CUDA->record(device, 0, there, D));
        OK(CUDA->await(device, OTHER, there, D));
        copy(device, OTHER, b, a, BYTES);
        OK(CUDA->record(device, OTHER, back, D));
        OK(CUDA->await(device, 0, back, D));
        copy(device, 0, out, b, BYTES);
        OK(CUDA->record(device, 0, there, D)); /* replaces the first */
        do
            OK(CUDA->query(device, there, &ended, D));
        while (!ended);
        MUST(memcmp(in, out, BYTES) == 0);
    }
    OK(CUDA->await(device, HOP_STREAM_NOW, there, D));
    close_last(device);
}

static void an_event_orders_streams(void **state)
{
    (void)state;
    in_a_process(await_between_streams);
}

/* Times of copies lie between what the host's clock says around them, and follow each other as the work did. */
static void time_copies(int peer)
{
    enum { COPIES = 20 };
    static unsigned char bytes[BYTES];
    double spans[COPIES][2] = {{0}}, mark[2] = {0};
    struct hop_event *behind;
    bool ended = false;
    int objects = 0;
    (void)peer;
    with("HOPCAST_FAKE_CUDA_LATE", "3000");
    struct hop_device *device = open_first();
    void *memory = allocated(device, BYTES);
    OK(CUDA->register_host(device, bytes, sizeof bytes, D));
    OK(CUDA->create_event(device, &behind, D));
    for (int round = 0; round < 3; round++) {
        double before_s = hop_now_s();
        for (int i = 0; i < COPIES; i++) {
            struct hop_device_copy work = {memory, bytes, BYTES, HOP_NO_WAY, spans[i]};
            OK(CUDA->copy(device, OTHER, &work, D));
        }
        struct hop_device_copy nothing_more = {.span_s = mark};
        OK(CUDA->copy(device, OTHER, &nothing_more, D));
        OK(CUDA->record(device, OTHER, behind, D));
        do
            OK(CUDA->query(device, behind, &ended, D));
        while (!ended);
        double after_s = hop_now_s(),
               slack_s = 1e-5; /* of floats of milliseconds; the reference's stream is late, too */
        MUST(spans[0][0] >= before_s - slack_s && mark[1] <= after_s + slack_s && mark[0] <= mark[1]);
        for (int i = 0; i < COPIES; i++) {
            MUST(spans[i][0] <= spans[i][1]);
            MUST(i == 0 || spans[i - 1][1] <= spans[i][0] + 1e-6);
        }
        objects = round ? objects : live();
        MUST(objects == live()); /* events are used again */
    }
    OK(CUDA->synchronize(device, OTHER, D));
    close_last(device);
}

static void copies_are_timed_by_the_device(void **state)
{
    (void)state;
    in_a_process(time_copies);
}

/* ---- reductions ---- */

/* Ordinary values, and now and then zeros of both signs, infinities, NaN, the smallest and largest. */
static void fill_elements(unsigned char *bytes, enum hop_type type, uint64_t count, unsigned *seed)
{
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 6e-8, -6e-8, 65504.0};
    for (uint64_t i = 0; i < count; i++) {
        unsigned random = *seed = *seed * 1664525u + 1013904223u;
        double value = random >> 28 == 0 ? special[random >> 20 & 7] : ((double)(random >> 8) - 8388608.0) / 65536.0;
        float narrow = (float)value;
        uint32_t pattern = random * 2654435761u;
        uint16_t half = (uint16_t)(pattern >> 16); /* any bits are a f16 and a bf16 */
        uint64_t wide = (uint64_t)pattern << 32 | random;
        switch (type) {
        case HOP_TYPE_F64:
            memcpy(bytes + 8 * i, &value, 8);
            break;
        case HOP_TYPE_F32:
            memcpy(bytes + 4 * i, &narrow, 4);
            break;
        case HOP_TYPE_I32:
        case HOP_TYPE_U32:
            memcpy(bytes + 4 * i, &pattern, 4);
            break;
        case HOP_TYPE_I64:
        case HOP_TYPE_U64:
            memcpy(bytes + 8 * i, &wide, 8);
            break;
        case HOP_TYPE_I8:
        case HOP_TYPE_U8:
            memcpy(bytes + i, &half, 1);
            break;
        default:
            memcpy(bytes + 2 * i, &half, 2);
        }
    }
}

static bool is_nan(enum hop_type type, const unsigned char *element)
{
    uint16_t half = 0;
    double wide;
    float narrow;
    if (hop_type_bytes(type) > 1)
        memcpy(&half, element, 2);
    switch (type) {
    case HOP_TYPE_F64:
        memcpy(&wide, element, 8);
        return isnan(wide);
    case HOP_TYPE_F32:
        memcpy(&narrow, element, 4);
        return isnan(narrow);
    case HOP_TYPE_F16:
        return (half & 0x7fff) > 0x7c00;
    case HOP_TYPE_BF16:
        return (half & 0x7fff) > 0x7f80;
    default:
        return false;
    }
}

/* Bit for bit; of a NaN that it is one. */
static bool equal(enum hop_type type, const unsigned char *a, const unsigned char *b, uint64_t count)
{
    const unsigned size = (unsigned)hop_type_bytes(type);
    for (uint64_t i = 0; i < count; i++) {
        if (memcmp(a + i * size, b + i * size, size) != 0 &&
            !(is_nan(type, a + i * size) && is_nan(type, b + i * size)))
            return false;
    }
    return true;
}

enum { MOST = 4097, SLACK = 64, SIDE = MOST * 8 + SLACK, NINE = 9 };
/* Inputs, then outputs; on the host what is expected, on the device what is found. */
struct bench {
    struct hop_device *device;
    unsigned char host[NINE + 3][SIDE], found[SIDE];
    void *memory[NINE + 3];
};

struct shape {
    uint32_t inputs, outputs;
    uint64_t count;
    unsigned shift; /* elements that vectors begin later */
    bool unlike;    /* the second one by one element more */
    bool in_place;  /* the first output is the first input */
};

static void reduce_both(struct bench *bench, enum hop_reduce operation, enum hop_type type, const struct shape *shape)
{
    const void *inputs[2][NINE];
    void *outputs[2][3];
    static unsigned seed = 1;
    const unsigned size = (unsigned)hop_type_bytes(type);
    for (uint32_t i = 0; i < shape->inputs + shape->outputs; i++) {
        bool output = i >= shape->inputs;
        uint32_t k = output && shape->in_place && i == shape->inputs ? 0 : output ? NINE + i - shape->inputs : i;
        size_t offset = (size_t)(shape->shift + (shape->unlike && i == 1)) * size;
        if (output && k == 0)
            offset = (size_t)shape->shift * size;
        if (!output)
            fill_elements(bench->host[k] + offset, type, shape->count, &seed);
        else if (k)
            memset(bench->host[k], 0x5a, SIDE);
        copy(bench->device, 0, bench->memory[k], bench->host[k], SIDE);
        *(output ? (const void **)&outputs[0][i - shape->inputs] : &inputs[0][i]) = bench->host[k] + offset;
        *(output ? (const void **)&outputs[1][i - shape->inputs] : &inputs[1][i]) = (char *)bench->memory[k] + offset;
    }
    OK(CUDA->synchronize(bench->device, 0, D));
    struct hop_reduction work = {operation, type, shape->count, inputs[1], outputs[1], shape->inputs, shape->outputs};
    OK(CUDA->reduce(bench->device, HOP_STREAM_NOW, &work, D));
    work.inputs = inputs[0];
    work.outputs = outputs[0];
    OK(hop_reduce_on_host(&work, D));
    for (uint32_t i = 0; i < shape->outputs; i++) {
        uint32_t k = shape->in_place && i == 0 ? 0 : NINE + i;
        copy(bench->device, HOP_STREAM_NOW, bench->found, bench->memory[k], SIDE);
        size_t offset = (size_t)((unsigned char *)outputs[0][i] - bench->host[k]);
        size_t after = offset + shape->count * size;
        MUST(equal(type, bench->found + offset, outputs[0][i], shape->count));
        MUST(memcmp(bench->found, bench->host[k], offset) == 0); /* nothing around it was touched */
        MUST(memcmp(bench->found + after, bench->host[k] + after, SIDE - after) == 0);
    }
}

static void reduce_everything(int peer)
{
    static const uint64_t counts[] = {0, 1, 3, 7, 8, 9, 31, 1000, MOST};
    static const struct shape shapes[] = {
        {1, 1, 0, 0, false, false}, {1, 3, 0, 1, false, false}, {2, 1, 0, 0, false, false}, {2, 1, 0, 0, false, true},
        {2, 2, 0, 1, false, true},  {3, 1, 0, 0, true, false},  {4, 3, 0, 3, false, true},  {5, 1, 0, 0, false, false},
        {8, 2, 0, 2, true, true},   {9, 3, 0, 1, false, false}};
    static struct bench bench;
    (void)peer;
    with("HOPCAST_FAKE_CUDA_DELAY", "0");
    bench.device = open_first();
    OK(CUDA->register_host(bench.device, &bench, sizeof bench, D));
    for (int i = 0; i < NINE + 3; i++)
        bench.memory[i] = allocated(bench.device, SIDE);
    for (int operation = 0; operation < HOP_REDUCE_COUNT; operation++) {
        for (int type = 0; type < HOP_TYPE_COUNT; type++) {
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                for (size_t k = 0; hop_reduce_suits((enum hop_reduce)operation, (enum hop_type)type) &&
                                   k < sizeof shapes / sizeof shapes[0];
                     k++) {
                    struct shape shape = shapes[k];
                    shape.count = counts[i] < MOST - 4 ? counts[i] : MOST - 4 * (k & 1);
                    reduce_both(&bench, (enum hop_reduce)operation, (enum hop_type)type, &shape);
                }
            }
        }
    }
    close_last(bench.device);
}

static void reductions_are_those_of_the_host_bit_for_bit(void **state)
{
    (void)state;
    in_a_process(reduce_everything);
}

/* 64 inputs, 64 outputs: x added up 64 times. */
static void reduce_the_most(int peer)
{
    enum { COUNT = 333 };
    const void *inputs[HOP_REDUCTION_PLACES + 1];
    void *outputs[HOP_REDUCTION_PLACES + 1];
    int32_t numbers[COUNT], found[COUNT];
    struct hop_device *device = open_first();
    (void)peer;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i - 100;
    for (int i = 0; i <= HOP_REDUCTION_PLACES; i++) {
        inputs[i] = allocated(device, sizeof numbers);
        outputs[i] = allocated(device, sizeof numbers);
        copy(device, HOP_STREAM_COMPUTE, (void *)(uintptr_t)inputs[i], numbers, sizeof numbers);
    }
    struct hop_reduction work = {HOP_REDUCE_SUM, HOP_TYPE_I32, COUNT, inputs, outputs, 64, 64};
    OK(CUDA->reduce(device, HOP_STREAM_COMPUTE, &work, D));
    OK(CUDA->synchronize(device, HOP_STREAM_COMPUTE, D));
    for (int i = 0; i < HOP_REDUCTION_PLACES; i++) {
        copy(device, HOP_STREAM_NOW, found, outputs[i], sizeof found);
        for (int k = 0; k < COUNT; k++)
            MUST(found[k] == 64 * (k - 100));
    }
    work.input_count = 65;
    FAILS(HOP_ERR_INVALID, "1 to 64", CUDA->reduce(device, 0, &work, D));
    work.input_count = 0;
    FAILS(HOP_ERR_INVALID, "1 to 64", CUDA->reduce(device, 0, &work, D));
    work.input_count = 1;
    work.output_count = 65;
    FAILS(HOP_ERR_INVALID, "1 to 64", CUDA->reduce(device, 0, &work, D));
    work.output_count = 1;
    work.type = HOP_TYPE_COUNT;
    FAILS(HOP_ERR_INVALID, "type", CUDA->reduce(device, 0, &work, D));
    work.type = HOP_TYPE_F64;
    inputs[0] = (const char *)inputs[0] + 4;
    FAILS(HOP_ERR_INVALID, "multiple of 8", CUDA->reduce(device, 0, &work, D));
    close_last(device);
}

static void a_reduction_takes_up_to_64_inputs_and_outputs_and_refuses_the_rest(void **state)
{
    (void)state;
    in_a_process(reduce_the_most);
}

static void reduce_without_kernels(int peer)
{
    (void)peer;
    with(KERNELS, "/nowhere/kernels.fatbin");
    struct hop_device *device = open_one(0);
    void *a = allocated(device, BYTES);
    struct hop_reduction work = {HOP_REDUCE_SUM, HOP_TYPE_F32, 1, (const void *const *)&a, &a, 1, 1};
    put(device, a, 3);
    MUST(holds(device, a, 3));
    FAILS(HOP_ERR_IO, "/nowhere/kernels.fatbin", CUDA->reduce(device, 0, &work, D));
    close_last(device);
    with(KERNELS, "/proc/version"); /* no fat binary */
    device = open_one(0);
    FAILS(HOP_ERR_IO, "cuModuleLoadData", CUDA->reduce(device, 0, &work, D));
    close_last(device);
    MUST(unsetenv(KERNELS) == 0);
    device = open_one(0);
    a = allocated(device, BYTES);
    if (gpu == &hop_device_cuda ? hop_gpu_has_image_cuda : hop_gpu_has_image_hip)
        OK(CUDA->reduce(device, 0, &work, D));
    else
        FAILS(HOP_ERR_UNSUPPORTED, gpu == &hop_device_cuda ? "nvcc" : "hipcc", CUDA->reduce(device, 0, &work, D));
    close_last(device);
}

static void without_kernels_copies_work_and_reductions_say_why_not(void **state)
{
    (void)state;
    in_a_process(reduce_without_kernels);
}

/* ---- several processes ---- */

enum { ROUNDS = 60 };

/* Writes into its memory, round by round, and says by an event when. */
static void make_data(int peer)
{
    struct hop_device_handle handle;
    struct hop_device *device = open_first();
    struct hop_event *written, *taken;
    static unsigned char in[ROUNDS][BYTES];
    void *memory = allocated(device, BYTES);
    OK(CUDA->register_host(device, in, sizeof in, D));
    OK(CUDA->create_event(device, &written, D));
    OK(CUDA->export_memory(device, memory, &handle, D));
    tell(peer, &handle, sizeof handle);
    OK(CUDA->export_event(device, written, &handle, D));
    tell(peer, &handle, sizeof handle);
    hear(peer, &handle, sizeof handle);
    OK(CUDA->import_event(device, &handle, &taken, D));
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(in[round], BYTES, round);
        if (round)
            OK(CUDA->await(device, 0, taken, D)); /* recorded: the other one said so */
        copy(device, 0, memory, in[round], BYTES);
        OK(CUDA->record(device, 0, written, D));
        meet(peer);
        meet(peer);
    }
    OK(CUDA->synchronize(device, 0, D));
    meet(peer);
    MUST(holds(device, memory, 4711)); /* what the other one wrote */
    meet(peer);
    CUDA->release(device);
    meet(peer);
    close_last(device);
}

static void take_data(int peer)
{
    struct hop_device_handle memory_handle, event_handle, handle;
    struct hop_device *device = open_first();
    struct hop_event *written, *taken;
    static unsigned char in[BYTES], out[ROUNDS][BYTES];
    void *memory = NULL, *again = NULL, *middle = allocated(device, BYTES);
    OK(CUDA->register_host(device, out, sizeof out, D));
    OK(CUDA->create_event(device, &taken, D));
    hear(peer, &memory_handle, sizeof memory_handle);
    hear(peer, &event_handle, sizeof event_handle);
    OK(CUDA->export_event(device, taken, &handle, D));
    tell(peer, &handle, sizeof handle);
    OK(CUDA->import_memory(device, &memory_handle, &memory, D));
    OK(CUDA->import_memory(device, &memory_handle, &again, D));
    OK(CUDA->import_event(device, &event_handle, &written, D));
    FAILS(HOP_ERR_INVALID, "no handle of CUDA events", CUDA->import_event(device, &memory_handle, &written, D));
    FAILS(HOP_ERR_INVALID, "was not allocated", CUDA->export_memory(device, memory, &handle, D));
    CUDA->free(device, again); /* the other import stays */
    for (unsigned round = 0; round < ROUNDS; round++) {
        meet(peer); /* the record was made */
        OK(CUDA->await(device, OTHER, written, D));
        copy(device, OTHER, middle, memory, BYTES);
        OK(CUDA->record(device, OTHER, taken, D));
        copy(device, OTHER, out[round], middle, BYTES);
        meet(peer);
    }
    OK(CUDA->synchronize(device, OTHER, D));
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(in, BYTES, round);
        MUST(memcmp(in, out[round], BYTES) == 0);
    }
    bool ended = false;
    OK(CUDA->query(device, written, &ended, D));
    while (!ended)
        OK(CUDA->query(device, written, &ended, D));
    put(device, memory, 4711);
    meet(peer);
    int objects = live();
    CUDA->free(device, memory);
    MUST(live() == objects - 1);
    meet(peer);
    CUDA->release(device); /* before its maker closes */
    MUST(live() == objects - 2);
    meet(peer);
    close_last(device);
}

static void memory_and_events_of_one_process_serve_another(void **state)
{
    (void)state;
    in_two_processes(make_data, take_data);
}

static void leave_handles_behind(int peer)
{
    struct hop_device_handle handles[2];
    struct hop_device *device = open_first();
    struct hop_event *event;
    OK(CUDA->create_event(device, &event, D));
    OK(CUDA->export_memory(device, allocated(device, BYTES), &handles[0], D));
    OK(CUDA->export_event(device, event, &handles[1], D));
    CUDA->close(device);
    tell(peer, handles, sizeof handles);
    meet(peer);
}

static void take_what_is_gone(int peer)
{
    struct hop_device_handle handles[2], bogus = {{1, 2, 3}};
    struct hop_device *device = open_first();
    struct hop_event *event = NULL;
    void *memory = NULL;
    hear(peer, handles, sizeof handles);
    FAILS(HOP_ERR_IO, "cuIpcOpenMemHandle", CUDA->import_memory(device, &handles[0], &memory, D));
    FAILS(HOP_ERR_IO, "cuIpcOpenEventHandle", CUDA->import_event(device, &handles[1], &event, D));
    FAILS(HOP_ERR_INVALID, "no handle of CUDA memory", CUDA->import_memory(device, &bogus, &memory, D));
    FAILS(HOP_ERR_INVALID, "no handle of CUDA events", CUDA->import_event(device, &bogus, &event, D));
    MUST(!memory && !event);
    meet(peer);
    close_last(device);
}

static void handles_of_what_is_gone_and_bogus_ones_are_diagnostics(void **state)
{
    (void)state;
    in_two_processes(leave_handles_behind, take_what_is_gone);
}

/* ---- several threads ---- */

struct rank {
    pthread_barrier_t *barrier;
    struct rank *all;
    uint32_t index, own;
    struct hop_device_handle memory, event;
};

static void *rank_main(void *argument)
{
    struct rank *rank = argument, *peer = &rank->all[1 - rank->own];
    struct hop_device *device = open_one(rank->index);
    struct hop_event *event, *awaited;
    void *memory = allocated(device, BYTES), *result = allocated(device, BYTES), *seen = NULL;
    put(device, memory, rank->own);
    OK(CUDA->create_event(device, &event, D));
    OK(CUDA->record(device, 0, event, D));
    OK(CUDA->export_memory(device, memory, &rank->memory, D));
    OK(CUDA->export_event(device, event, &rank->event, D));
    (void)pthread_barrier_wait(rank->barrier);
    OK(CUDA->import_memory(device, &peer->memory, &seen, D));
    OK(CUDA->import_event(device, &peer->event, &awaited, D));
    OK(CUDA->await(device, HOP_STREAM_COMPUTE, awaited, D));
    struct hop_reduction work = {HOP_REDUCE_MIN, HOP_TYPE_I32, BYTES / 4, (const void *const *)&seen, &result, 1, 1};
    OK(CUDA->reduce(device, HOP_STREAM_COMPUTE, &work, D)); /* reads the peer's memory */
    OK(CUDA->synchronize(device, HOP_STREAM_COMPUTE, D));
    MUST(holds(device, result, peer->own));
    copy(device, HOP_STREAM_NOW, result, seen, BYTES);
    MUST(holds(device, result, peer->own));
    CUDA->free(device, seen);
    (void)pthread_barrier_wait(rank->barrier);
    CUDA->close(device);
    return NULL;
}

static void run_ranks(uint32_t other_index)
{
    pthread_barrier_t barrier;
    struct rank ranks[2];
    pthread_t threads[2];
    MUST(pthread_barrier_init(&barrier, NULL, 2) == 0);
    for (uint32_t i = 0; i < 2; i++) {
        ranks[i] = (struct rank){&barrier, ranks, i ? other_index : 0, i, {{0}}, {{0}}};
        MUST(pthread_create(&threads[i], NULL, rank_main, &ranks[i]) == 0);
    }
    for (uint32_t i = 0; i < 2; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    (void)pthread_barrier_destroy(&barrier);
    MUST(live() == 0);
}

static void run_thread_ranks(int peer)
{
    (void)peer;
    with("HOPCAST_FAKE_CUDA_STREAMS", "16"); /* the device is opened twice */
    have_kernels();
    run_ranks(0);
    run_ranks(1); /* and between two devices */
    run_ranks(1);
    forget_kernels();
}

static void threads_of_one_process_share_memory_and_events(void **state)
{
    (void)state;
    in_a_process(run_thread_ranks);
}

/* The program's own current context: none here. */
static void look_for_a_context(int peer)
{
    struct hop_gpu_context *context;
    int (*pop)(struct hop_gpu_context **);
    struct hop_device *device = open_first();
    struct hop_device_copy wrong = {NULL, NULL, 1, HOP_NO_WAY, NULL};
    (void)peer;
    void *found = symbol("cuCtxPopCurrent_v2"), *never = NULL;
    memcpy(&pop, &found, sizeof pop);
    MUST(pop(&context) == 201);
    put(device, allocated(device, BYTES), 1);
    FAILS(HOP_ERR_IO, "cuMemcpyAsync", CUDA->copy(device, 0, &wrong, D));
    FAILS(HOP_ERR_MEMORY, "cuMemAlloc", CUDA->allocate(device, (uint64_t)1 << 40, &never, D));
    MUST(pop(&context) == 201);
    CUDA->close(device);
    MUST(pop(&context) == 201);
}

static void the_callers_context_is_left_as_it_was(void **state)
{
    (void)state;
    in_a_process(look_for_a_context);
}

static void use_after_fork(int peer)
{
    struct hop_device *device = open_first();
    (void)peer;
    void *memory = allocated(device, BYTES), *more = NULL;
    pid_t process = fork();
    MUST(process >= 0);
    if (process == 0) {
        FAILS(HOP_ERR_IO, "CUDA_ERROR_NOT_INITIALIZED", CUDA->allocate(device, BYTES, &more, D));
        _exit(0);
    }
    int status = -1;
    MUST(waitpid(process, &status, 0) == process && status == 0);
    put(device, memory, 8);
    MUST(holds(device, memory, 8));
    close_last(device);
}

static void a_forked_child_is_refused(void **state)
{
    (void)state;
    in_a_process(use_after_fork);
}

/* ---- failures ---- */

static const char *injection;

static void fail_at_open(int peer)
{
    struct hop_device_options options = {0};
    struct hop_device *device = NULL;
    char name[48] = "";
    (void)peer;
    with("HOPCAST_FAKE_CUDA_FAIL", injection);
    if (gpu == &hop_device_hip && strncmp(injection, "cuDeviceGetAttribute", 20) == 0)
        with("HOPCAST_FAKE_CUDA_FAIL", injection = "cuDeviceGetAttribute:1=1"); /* it is asked for one alone */
    MUST(sscanf(injection, "%47[^:]", name) == 1);
    FAILS(HOP_ERR_IO, name, CUDA->open(&options, &device, D));
    MUST(!device && live() == 0);
    OK(CUDA->open(&options, &device, D)); /* the second time */
    close_last(device);
}

static void an_opening_that_fails_gives_everything_back(void **state)
{
    static const char *const calls[] = {
        "cuDeviceGet:1=999",      "cuDeviceGet:9=999",    "cuDeviceGetPCIBusId:8=1",  "cuDeviceGetPCIBusId:9=1",
        "cuDeviceGetName:1=1",    "cuDeviceTotalMem:1=1", "cuDeviceGetAttribute:2=1", "cuDevicePrimaryCtxRetain:1=1",
        "cuCtxPushCurrent:1=201", "cuStreamCreate:1=1",   "cuStreamCreate:4=1"};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        injection = calls[i];
        in_a_process(fail_at_open);
    }
}

/* Every call of the table whose driver function fails says so, and the device goes on. */
static void fail_each_call(int peer)
{
    struct hop_device_handle handle;
    struct hop_event *event, *more = NULL;
    void *none = NULL;
    bool ended = false;
    (void)peer;
    with("HOPCAST_FAKE_CUDA_FAIL", "cuMemAlloc:2=1,cuMemsetD8Async:2=1,cuMemcpyAsync:2=1,cuEventCreate:2=1,"
                                   "cuEventRecord:1=400,cuEventQuery:1=400,cuStreamWaitEvent:1=400,cuLaunchKernel:1=1");
    struct hop_device *device = open_first();
    void *memory = allocated(device, BYTES);
    struct hop_device_copy work = {memory, memory, 16, HOP_NO_WAY, NULL};
    struct hop_reduction reduction = {HOP_REDUCE_SUM, HOP_TYPE_F32, 4, (const void *const *)&memory, &memory, 1, 1};
    FAILS(HOP_ERR_IO, "cuMemAlloc", CUDA->allocate(device, BYTES, &none, D));
    FAILS(HOP_ERR_IO, "cuMemsetD8Async", CUDA->allocate(device, BYTES, &none, D));
    OK(CUDA->copy(device, 0, &work, D));
    FAILS(HOP_ERR_IO, "cuMemcpyAsync", CUDA->copy(device, 0, &work, D));
    OK(CUDA->create_event(device, &event, D));
    FAILS(HOP_ERR_IO, "cuEventCreate", CUDA->create_event(device, &more, D));
    FAILS(HOP_ERR_IO, "cuEventRecord", CUDA->record(device, 0, event, D));
    FAILS(HOP_ERR_IO, "cuEventQuery", CUDA->query(device, event, &ended, D));
    FAILS(HOP_ERR_IO, "cuStreamWaitEvent", CUDA->await(device, 0, event, D));
    FAILS(HOP_ERR_IO, "cuLaunchKernel", CUDA->reduce(device, 0, &reduction, D));
    MUST(!none && !more && !ended);
    OK(CUDA->record(device, 0, event, D));
    OK(CUDA->export_event(device, event, &handle, D));
    OK(CUDA->export_memory(device, memory, &handle, D));
    OK(CUDA->reduce(device, HOP_STREAM_NOW, &reduction, D));
    close_last(device);
}

static void a_call_that_fails_is_named_and_harms_no_other(void **state)
{
    (void)state;
    in_a_process(fail_each_call);
}

/* The third piece of work, after the two that zeroed the memory, reads where nothing is. */
static void fail_later(int peer)
{
    struct hop_device_handle handle;
    struct hop_event *event, *more;
    void *none;
    bool ended;
    (void)peer;
    with("HOPCAST_FAKE_CUDA_FAIL", "work:3=700");
    struct hop_device *device = open_first();
    void *a = allocated(device, BYTES), *b = allocated(device, BYTES);
    struct hop_device_copy work = {a, b, BYTES, HOP_NO_WAY, NULL};
    struct hop_reduction reduction = {HOP_REDUCE_SUM, HOP_TYPE_F32, 4, (const void *const *)&a, &b, 1, 1};
    OK(CUDA->create_event(device, &event, D));
    OK(CUDA->copy(device, 0, &work, D)); /* nothing is known yet */
    FAILS(HOP_ERR_IO, "CUDA_ERROR_ILLEGAL_ADDRESS", CUDA->synchronize(device, 0, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->copy(device, 0, &work, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->reduce(device, 0, &reduction, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->synchronize(device, OTHER, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->allocate(device, 1, &none, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->export_memory(device, a, &handle, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->register_host(device, &handle, sizeof handle, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->create_event(device, &more, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->record(device, 0, event, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->query(device, event, &ended, D));
    FAILS(HOP_ERR_IO, "earlier", CUDA->await(device, 0, event, D));
    CUDA->free(device, a);
    CUDA->close(device);
}

static void after_an_asynchronous_error_every_call_reports_it(void **state)
{
    (void)state;
    in_a_process(fail_later);
}

/* A kernel that is told memory which is not the device's faults there, not here. */
static void reduce_host_memory(int peer)
{
    float numbers[4] = {0};
    void *output = numbers;
    (void)peer;
    struct hop_device *device = open_first();
    void *a = allocated(device, BYTES);
    struct hop_reduction work = {HOP_REDUCE_SUM, HOP_TYPE_F32, 4, (const void *const *)&a, &output, 1, 1};
    FAILS(HOP_ERR_IO, "CUDA_ERROR_ILLEGAL_ADDRESS", CUDA->reduce(device, HOP_STREAM_NOW, &work, D));
    CUDA->close(device);
}

static void a_fault_of_a_kernel_is_reported(void **state)
{
    (void)state;
    in_a_process(reduce_host_memory);
}

static int as_cuda(void **state)
{
    (void)state;
    gpu = &hop_device_cuda;
    return setenv("HOPCAST_FAKE_CUDA_STREAMS", "8", 1);
}

static int as_hip(void **state)
{
    (void)state;
    gpu = &hop_device_hip;
    return setenv("HOPCAST_FAKE_CUDA_STREAMS", "4", 1);
}

#define BOTH(test)                                                                                                     \
    cmocka_unit_test_setup(test, as_cuda),                                                                             \
    {                                                                                                                  \
#test "_by_hip", test, as_hip, NULL, NULL                                                                      \
    }

TEST_GROUP(device_cuda)
{
    const struct CMUnitTest tests[] = {
        BOTH(without_a_driver_there_is_a_diagnostic_and_nothing_else),
        BOTH(a_driver_that_finds_no_gpu_is_a_diagnostic),
        BOTH(a_device_has_the_properties_of_the_driver_and_the_streams_asked_for),
        BOTH(a_device_is_known_by_its_place_and_knows_whom_it_reaches),
        BOTH(memory_is_zeroed_and_its_lack_is_a_diagnostic),
        BOTH(copies_of_one_stream_are_made_in_order),
        BOTH(an_event_orders_streams),
        BOTH(copies_are_timed_by_the_device),
        BOTH(reductions_are_those_of_the_host_bit_for_bit),
        BOTH(a_reduction_takes_up_to_64_inputs_and_outputs_and_refuses_the_rest),
        BOTH(without_kernels_copies_work_and_reductions_say_why_not),
        BOTH(memory_and_events_of_one_process_serve_another),
        BOTH(handles_of_what_is_gone_and_bogus_ones_are_diagnostics),
        BOTH(threads_of_one_process_share_memory_and_events),
        BOTH(the_callers_context_is_left_as_it_was),
        BOTH(a_forked_child_is_refused),
        BOTH(an_opening_that_fails_gives_everything_back),
        BOTH(a_call_that_fails_is_named_and_harms_no_other),
        BOTH(after_an_asynchronous_error_every_call_reports_it),
        BOTH(a_fault_of_a_kernel_is_reported),
    };
    (void)setenv("HOPCAST_CUDA_LIBRARY", TEST_FAKE_CUDA, 1);
    (void)setenv("HOPCAST_HIP_LIBRARY", TEST_FAKE_CUDA, 1);
    return RUN_TESTS(tests, NULL, NULL);
}
