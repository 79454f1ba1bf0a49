/* SPDX-License-Identifier: BSD-3-Clause */
/* HOPCAST_MAP without an MPI: seats, machines, one process' device and threads, over the stand-in for the CUDA
 * driver. */
#include "base/numa.h"
#include "device/gpu_driver.h"
#include "mpi/engine/mapping.h"

#include "test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

/* The stand-in's GPUs, two below each switch, and each switch's NIC. */
static const char *const buses[] = {"07", "0f", "47", "4e", "87", "90", "b7", "bd"};
static char folder[] = "/tmp/test_mapping.XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    for (char *slash = strchr(path + sizeof folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

static const char *write_machine(bool with_buses)
{
    char text[8192], *end = text + sizeof text, *at = text;
#define PUT(...) at += snprintf(at, (size_t)(end - at), __VA_ARGS__)
    PUT("{\"hopcast_topology\":1,\"name\":\"stand-in\",\"nodes\":[{\"name\":\"root0\",\"kind\":\"root\"},"
        "{\"name\":\"host0\",\"kind\":\"host\"}");
    for (int s = 0; s < 4; s++)
        PUT(",{\"name\":\"switch%d\",\"kind\":\"switch\"},{\"name\":\"nic%d\",\"kind\":\"nic\",\"label\":\"mlx5_%d\"}",
            s, s, s);
    for (int g = 0; g < 8; g++) {
        PUT(",{\"name\":\"gpu%d\",\"kind\":\"gpu\"", g);
        if (with_buses)
            PUT(",\"bus_id\":\"0000:%s:00.0\"", buses[g]);
        PUT("}");
    }
    PUT("],\"links\":[{\"from\":\"host0\",\"to\":\"root0\",\"kind\":\"memory\"}");
    for (int s = 0; s < 4; s++)
        PUT(",{\"from\":\"switch%d\",\"to\":\"root0\",\"kind\":\"pcie\",\"generation\":4,\"width\":16},"
            "{\"from\":\"nic%d\",\"to\":\"switch%d\",\"kind\":\"pcie\",\"generation\":4,\"width\":16}",
            s, s, s);
    for (int g = 0; g < 8; g++)
        PUT(",{\"from\":\"gpu%d\",\"to\":\"switch%d\",\"kind\":\"pcie\",\"generation\":4,\"width\":16}", g, g / 2);
    PUT("]}");
    return write_file(with_buses ? "machine.json" : "bare.json", text);
}

/* ---- machines ---- */

static void seat_all(struct hop_mpi_seat *seats, const char *const *devices, uint32_t ranks)
{
    memset(seats, 0, ranks * sizeof *seats);
    for (uint32_t r = 0; r < ranks; r++)
        (void)snprintf(seats[r].device, sizeof seats[r].device, "%s", devices[r]);
}

static void nodes_of_a_map_are_machines(void **state)
{
    (void)state;
    static const char *const lone[] = {"gpu0", "gpu1", "gpu2", "gpu3"}, *const two[] = {"n0.gpu0", "n0.gpu1", "n1.gpu0",
                                                                                        "n1.gpu1"};
    static const int together[] = {0, 0, 0, 0}, halves[] = {0, 0, 2, 2}, in_turn[] = {0, 1, 0, 1},
                     unknown[] = {-1, -1, -1, -1};
    struct hop_mpi_seat seats[4];
    struct hop_diag diag;
    seat_all(seats, lone, 4);
    CHECK(hop_mapping_check_machines(seats, 4, together, D));
    CHECK(hop_mapping_check_machines(seats, 4, unknown, D));
    assert_int_equal(hop_mapping_check_machines(seats, 4, halves, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "ranks 0 and 2 are on two machines, and the map has both on one machine");
    seat_all(seats, two, 4);
    CHECK(hop_mapping_check_machines(seats, 4, halves, D));
    assert_int_equal(hop_mapping_check_machines(seats, 4, together, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "ranks 0 and 2 are on the same machine, and the map has them on n0 and n1");
    assert_int_equal(hop_mapping_check_machines(seats, 4, in_turn, &diag), HOP_ERR_INVALID);
}

/* ---- in one step ---- */

/* Sees the GPUs of the mask. */
static struct hop_mpi_view view_of(int machine, unsigned mask)
{
    struct hop_mpi_view view = {.machine = machine};
    for (int g = 0; g < 8; g++) {
        char text[32];
        (void)snprintf(text, sizeof text, "0000:%s:00.0", buses[g]);
        if (mask >> g & 1)
            view.places[view.gpus++] = hop_pci_address(text);
    }
    return view;
}

static int gpu_of(const struct hop_mpi_seat *seat)
{
    return seat->device[0] ? seat->device[3] - '0' : -1;
}

static enum hop_status make(const char *profile, const struct hop_mpi_view *views, uint32_t ranks,
                            struct hop_mpi_seat *seats, struct hop_diag *diag)
{
    struct hop_mpi_made made = {0};
    memset(seats, 0, ranks * sizeof *seats);
    enum hop_status status = hop_mapping_make(profile, views, ranks, seats, &made, diag);
    assert_false(made.cut);
    assert_true(status != HOP_OK || made.text[0]);
    return status;
}

/* Ranks r and r + 4 exchange much, on one machine or on two, seeing all devices or some: who can, shares a switch. */
static void ranks_that_talk_come_together(void **state)
{
    (void)state;
    static const struct {
        int machine_of_odd; /* odd ranks' */
        unsigned seen[8];   /* 0: all */
    } cases[] = {
        {0, {0}}, {1, {0}}, {0, {0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0}}, {0, {1, 4, 16, 64, 2, 8, 32, 128}}};
    const char *profile =
        write_file("pairs.csv", "from,to,host_bytes,device_bytes\n"
                                "0,4,0,1000000\n4,0,0,1000000\n1,5,0,1000000\n5,1,0,1000000\n"
                                "2,6,0,1000000\n6,2,0,1000000\n3,7,0,1000000\n7,3,0,1000000\n0,1,0,10\n");
    (void)setenv("HOPCAST_TOPOLOGY", write_machine(true), 1);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct hop_mpi_view views[8];
        struct hop_mpi_seat seats[8], again[8];
        for (int r = 0; r < 8; r++)
            views[r] = view_of(r % 2 ? cases[c].machine_of_odd : 0, cases[c].seen[r] ? cases[c].seen[r] : 0xff);
        CHECK(make(profile, views, 8, seats, D));
        CHECK(make(profile, views, 8, again, D));
        assert_memory_equal(seats, again, sizeof seats);
        for (int r = 0; r < 8; r++) {
            assert_true(gpu_of(&seats[r]) >= 0 && (views[r].gpus == 8 || cases[c].seen[r] >> gpu_of(&seats[r]) & 1));
            assert_memory_equal(seats[r].bus_id + 5, buses[gpu_of(&seats[r])], 2);
            assert_int_equal(gpu_of(&seats[r]) / 2, gpu_of(&seats[(r + 4) % 8]) / 2);
            for (int q = 0; q < r; q++)
                assert_true(gpu_of(&seats[r]) != gpu_of(&seats[q]) || views[r].machine != views[q].machine);
        }
    }
    (void)unsetenv("HOPCAST_TOPOLOGY");
}

/* More ranks than devices share them evenly; those that see one device have that. */
static void devices_are_shared_where_there_are_too_few(void **state)
{
    (void)state;
    const char *profile =
        write_file("ring.csv", "# ranks 4\nfrom,to,host_bytes,device_bytes\n0,1,0,99\n1,2,0,99\n2,3,0,99\n3,0,0,99\n");
    struct hop_mpi_view views[4];
    struct hop_mpi_seat seats[4];
    (void)setenv("HOPCAST_TOPOLOGY", write_machine(true), 1);
    for (int r = 0; r < 4; r++)
        views[r] = view_of(0, 4);
    CHECK(make(profile, views, 4, seats, D));
    for (int r = 0; r < 4; r++)
        assert_int_equal(gpu_of(&seats[r]), 2);
    (void)unsetenv("HOPCAST_TOPOLOGY");
}

/* A topology without bus ids says the number among all devices; a driver that shows another number of them knows
 * none. */
static void without_bus_ids_devices_are_counted(void **state)
{
    (void)state;
    const char *profile = write_file("two.csv", "from,to,host_bytes,device_bytes\n0,1,0,99\n");
    struct hop_mpi_view views[2] = {view_of(0, 0xff), view_of(0, 0xff)};
    struct hop_mpi_seat seats[2];
    struct hop_diag diag = {0};
    (void)setenv("HOPCAST_TOPOLOGY", write_machine(false), 1);
    CHECK(make(profile, views, 2, seats, D));
    assert_string_equal(seats[0].bus_id, "");
    assert_int_equal(seats[0].of, 8);
    assert_int_equal(seats[0].index, gpu_of(&seats[0]));
    views[1] = view_of(0, 3);
    assert_int_equal(make(profile, views, 2, seats, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "rank 1 sees 2 GPUs, and none of the 8 of the topology");
    (void)unsetenv("HOPCAST_TOPOLOGY");
}

/* Each core once; all of them have a rank. */
static void without_gpus_ranks_share_the_cores(void **state)
{
    (void)state;
    struct hop_mpi_view views[2] = {{.machine = 0}, {.machine = 0}};
    struct hop_mpi_seat seats[2];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    CHECK(make(write_file("host.csv", "from,to,host_bytes,device_bytes\n0,1,99,0\n"), views, 2, seats, D));
    assert_string_equal(seats[0].device, "");
    if (processors < 2 || seats[0].count == 0)
        return;
    const struct hop_mpi_seat *first = &seats[seats[1].first == 0], *second = &seats[seats[1].first != 0];
    assert_int_equal(first->first, 0);
    assert_int_equal(second->first, first->count);
    assert_true((long)(first->count + second->count) <= processors);
}

static void profiles_of_other_jobs_are_refused(void **state)
{
    (void)state;
    struct hop_mpi_view views[3] = {{0}};
    struct hop_mpi_seat seats[3];
    struct hop_diag diag = {0};
    const char *profile = write_file("two.csv", "from,to,host_bytes,device_bytes\n0,1,0,99\n");
    assert_int_equal(make(profile, views, 3, seats, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "the profile is of 2 ranks, the job has 3");
    assert_string_equal(diag.place, profile);
    (void)setenv("HOPCAST_TOPOLOGY", TEST_SOURCE_DIR "/data/clusters/two-dgx-a100.json", 1);
    assert_int_equal(make(profile, views, 2, seats, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "has several machines"));
    (void)unsetenv("HOPCAST_TOPOLOGY");
}

/* ---- one process ---- */

static const struct hop_gpu *driver;

static int current(void)
{
    struct hop_gpu_context *context = NULL;
    int device = -1;
    assert_int_equal(driver->cuCtxGetCurrent(&context), 0);
    return context && driver->cuCtxGetDevice(&device) == 0 ? device : -1;
}

static void choose(int device)
{
    struct hop_gpu_context *context = NULL;
    assert_int_equal(driver->cuDevicePrimaryCtxRetain(&context, device), 0);
    assert_int_equal(driver->cuCtxSetCurrent(context), 0);
}

static void *of_mpi(void *device)
{
    hop_mapped_device_look(false, 0);
    *(int *)device = current();
    hop_mapped_device_look(false, 0);
    return NULL;
}

static void *that_chooses(void *device)
{
    hop_mapped_device_thread();
    choose(6);
    hop_mapped_device_look(false, 0);
    *(int *)device = current();
    return NULL;
}

static int in_thread(void *(*routine)(void *))
{
    pthread_t thread;
    int device = -2;
    assert_int_equal(pthread_create(&thread, NULL, routine, &device), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return device;
}

static struct hop_mpi_seat seat_at(int gpu)
{
    struct hop_mpi_seat seat = {.cpu = HOP_NONE};
    (void)snprintf(seat.device, sizeof seat.device, "gpu%d", gpu);
    (void)snprintf(seat.bus_id, sizeof seat.bus_id, "0000:%s:00.0", buses[gpu]);
    return seat;
}

/* The driver's order has each two neighbours the other way round. */
static void a_seat_is_the_device_of_all_threads(void **state)
{
    (void)state;
    struct hop_mpi_seat seat = seat_at(3);
    struct hop_mpi_seated seated;
    hop_mapping_sit(&seat, true, &seated);
    if (!seated.fine || !strstr(seated.text, "gpu3 at 0000:4E:00.0, device 2 of the 8 that it sees"))
        fail_msg("%s", seated.text);
    assert_int_equal(current(), 2);
    assert_int_equal(in_thread(of_mpi), 2);
    assert_true(hop_mapped_device_takes(dlsym(RTLD_DEFAULT, "malloc")));
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
    assert_false(hop_mapped_device_takes(dlsym(library, "cuInit"))); /* a routine of the driver's */
    (void)dlclose(library);
    assert_null(hop_mapped_device_other());
    assert_int_equal(in_thread(that_chooses), 6);
    assert_string_equal(hop_mapped_device_other(), "0000:BD:00.0");
    assert_int_equal(current(), 2);
    assert_int_equal(driver->cuDevicePrimaryCtxRelease(6), 0);
    hop_mapping_stand_up();
    assert_int_equal(current(), -1);
    assert_int_equal(in_thread(of_mpi), -1);
}

static void a_context_that_is_there_stays(void **state)
{
    (void)state;
    struct hop_mpi_seat seat = seat_at(3);
    struct hop_mpi_seated seated;
    choose(5);
    hop_mapping_sit(&seat, true, &seated);
    assert_true(seated.fine && seated.chosen_before);
    assert_int_equal(current(), 5);
    hop_mapping_stand_up();
    assert_int_equal(current(), 5);
    seat = seat_at(4); /* the same one is no other */
    hop_mapping_sit(&seat, true, &seated);
    assert_true(seated.fine && !seated.chosen_before);
    hop_mapping_stand_up();
    assert_int_equal(driver->cuCtxSetCurrent(NULL), 0);
    assert_int_equal(driver->cuDevicePrimaryCtxRelease(5), 0);
}

static void seats_that_are_not_there_are_refused(void **state)
{
    (void)state;
    struct hop_mpi_seat seat = seat_at(3), named = {.device = "gpu9", .cpu = HOP_NONE};
    struct hop_mpi_seated seated;
    (void)snprintf(seat.bus_id, sizeof seat.bus_id, "0000:aa:00.0");
    hop_mapping_sit(&seat, true, &seated);
    assert_false(seated.fine);
    assert_non_null(strstr(seated.text,
                           "no device at 0000:aa:00.0 to this process; expected: one of those that it shows: 07:00.0"));
    (void)setenv("HOPCAST_TOPOLOGY", write_machine(true), 1);
    hop_mapping_sit(&named, true, &seated);
    assert_true(!seated.fine && strstr(seated.text, "has no device 'gpu9'; expected: "));
    (void)snprintf(named.device, sizeof named.device, "other.gpu6"); /* a machine that is alike */
    hop_mapping_sit(&named, true, &seated);
    assert_true(seated.fine && current() == 7);
    hop_mapping_stand_up();
    (void)snprintf(named.device, sizeof named.device, "nic1");
    hop_mapping_sit(&named, true, &seated);
    assert_true(seated.fine && strncmp(seated.text, "no device", 9) == 0);
    (void)unsetenv("HOPCAST_TOPOLOGY");
    assert_int_equal(driver->cuCtxGetCurrent(&(struct hop_gpu_context *){NULL}), 0);
}

static void nics_are_told_before_the_mpi_begins(void **state)
{
    (void)state;
    struct hop_mpi_seat seat = {.cpu = HOP_NONE, .nic = "0000:51:00.0"};
    struct hop_mpi_seated seated;
    (void)write_file("sys/bus/pci/devices/0000:51:00.0/infiniband/mlx5_9/x", "");
    (void)write_file("sys/class/infiniband/mlx5_9/ports/1/state", "1: DOWN\n");
    (void)write_file("sys/class/infiniband/mlx5_9/ports/2/state", "4: ACTIVE\n");
    char sys[64];
    (void)snprintf(sys, sizeof sys, "%s/sys", folder);
    (void)setenv("HOPCAST_SYS", sys, 1);
    (void)unsetenv("UCX_NET_DEVICES");
    hop_mapping_sit(&seat, false, &seated);
    assert_null(getenv("UCX_NET_DEVICES"));
    hop_mapping_sit(&seat, true, &seated);
    assert_string_equal(getenv("UCX_NET_DEVICES"), "mlx5_9:2");
    hop_mapping_stand_up();
    assert_null(getenv("UCX_NET_DEVICES"));
    (void)setenv("UCX_NET_DEVICES", "mlx5_0:1", 1);
    hop_mapping_sit(&seat, true, &seated);
    hop_mapping_stand_up();
    assert_string_equal(getenv("UCX_NET_DEVICES"), "mlx5_0:1");
    (void)unsetenv("UCX_NET_DEVICES");
    (void)snprintf(seat.nic, sizeof seat.nic, "mlx5_8");
    hop_mapping_sit(&seat, true, &seated);
    assert_null(getenv("UCX_NET_DEVICES"));
    (void)unsetenv("HOPCAST_SYS");
}

/* Within what the process may use, and as before when it stands up. */
static void cores_are_bound_within_what_is_left(void **state)
{
    (void)state;
    struct hop_mpi_seat seat = {.cpu = HOP_NONE};
    struct hop_mpi_seated seated;
    cpu_set_t before, one, now;
    int last = -1, other = -1;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        other = CPU_ISSET(i, &before) ? last : other;
        last = CPU_ISSET(i, &before) ? i : last;
    }
    seat.cpu = (uint32_t)last;
    hop_mapping_sit(&seat, true, &seated);
    assert_true(seated.fine && !seated.bound_apart);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_ISSET(last, &now));
    hop_mapping_stand_up();
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&now, &before));
    if (other >= 0 && CPU_COUNT(&before) == 2) {
        CPU_ZERO(&one);
        CPU_SET(other, &one);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        hop_mapping_sit(&seat, true, &seated);
        assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
        assert_true(CPU_EQUAL(&now, &one));
        hop_mapping_stand_up();
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
}

static int set_up(void **state)
{
    (void)state;
    (void)setenv("HOPCAST_CUDA_LIBRARY", TEST_FAKE_CUDA, 1);
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    (void)unsetenv("HOPCAST_TOPOLOGY");
    return mkdtemp(folder) && hop_gpu_load(&hop_gpu_cuda, &driver, NULL) == HOP_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    void *library = dlopen(TEST_FAKE_CUDA, RTLD_NOW);
    int (*live)(void) = NULL;
    void *symbol = library ? dlsym(library, "fake_cuda_live") : NULL;
    memcpy(&live, &symbol, sizeof symbol);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && live && live() == 0 ? 0 : -1;
}

TEST_GROUP(mapping)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_a_map_are_machines),
        cmocka_unit_test(ranks_that_talk_come_together),
        cmocka_unit_test(devices_are_shared_where_there_are_too_few),
        cmocka_unit_test(without_bus_ids_devices_are_counted),
        cmocka_unit_test(without_gpus_ranks_share_the_cores),
        cmocka_unit_test(profiles_of_other_jobs_are_refused),
        cmocka_unit_test(a_seat_is_the_device_of_all_threads),
        cmocka_unit_test(a_context_that_is_there_stays),
        cmocka_unit_test(seats_that_are_not_there_are_refused),
        cmocka_unit_test(nics_are_told_before_the_mpi_begins),
        cmocka_unit_test(cores_are_bound_within_what_is_left),
    };
    return RUN_TESTS(tests, set_up, tear_down);
}
