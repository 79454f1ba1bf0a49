/* SPDX-License-Identifier: BSD-3-Clause */
/* Mappings in the forms of launchers: what each file says, where a launcher cannot say it, names, and devices.sh run by
 * a shell. tests/command/launchers.py runs them under the launchers themselves. */
#include "hopcast/map.h"

#include "test.h"

#include <sys/wait.h>

#define NO_BUS NULL, NULL
#define NO_CORE HOP_NONE, HOP_NONE, HOP_NONE, HOP_NONE, NO_BUS

/* Each seat: node, local rank, device, local device; core, package, core in the package, processor; GPU and NIC. */

/* Two nodes, ranks in turn, cores and devices not the same on both. */
static const struct hop_seat in_turn[] = {{0, 0, 3, 3, 5, 1, 1, 9, NO_BUS},
                                          {1, 0, 5, 1, 0, 0, 0, 0, NO_BUS},
                                          {0, 1, 0, 0, 0, 0, 0, 0, NO_BUS},
                                          {1, 1, 6, 2, 1, 0, 1, 1, NO_BUS}};
/* Two nodes, one after the other, and the second one's lists begin like the first one's. */
static const struct hop_seat in_blocks[] = {{0, 0, 3, 3, 5, 1, 1, 9, NO_BUS},
                                            {0, 1, 1, 1, 0, 0, 0, 0, NO_BUS},
                                            {0, 2, 0, 0, 4, 1, 0, 8, NO_BUS},
                                            {1, 0, 7, 3, 5, 1, 1, 9, NO_BUS},
                                            {1, 1, 5, 1, 0, 0, 0, 0, NO_BUS}};
static const struct hop_seat coreless[] = {
    {0, 0, 3, 3, NO_CORE}, {1, 0, 5, 1, NO_CORE}, {1, 1, 6, 2, NO_CORE}, {0, 1, 0, 0, NO_CORE}};

static const struct hop_map_node two_nodes[] = {{"node0", 4, 2, 4}, {"node1", 4, 2, 4}};
static const struct hop_map_node uneven_nodes[] = {{"node0", 4, 3, 4}, {"node1", 4, 2, 4}};

#define RESULT(seat_list, node_list)                                                                                   \
    {                                                                                                                  \
        .ranks = COUNT(seat_list), .seats = seat_list, .node_count = COUNT(node_list), .nodes = node_list              \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct hop_map_result turn = RESULT(in_turn, two_nodes);
static const struct hop_map_result blocks = RESULT(in_blocks, uneven_nodes);
static const struct hop_map_result plain = RESULT(coreless, two_nodes);

static char *launch(const struct hop_map_result *result, const char *form, const struct hop_launch_names *names)
{
    char *text = NULL;
    CHECK(hop_map_launch(result, form, names, &text, D));
    assert_non_null(text);
    return text;
}

static void says(const struct hop_map_result *result, const char *form, const char *expected)
{
    char *text = launch(result, form, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void has(const struct hop_map_result *result, const char *form, const char *part)
{
    char *text = launch(result, form, NULL);
    if (!strstr(text, part))
        fail_msg("'%s' is not in\n%s", part, text);
    free(text);
}

/* ---- Open MPI ---- */

static void a_rankfile_names_host_package_and_core(void **state)
{
    (void)state;
    says(&turn, "rankfile",
         "rank 0=node0 slot=1:1\nrank 1=node1 slot=0:0\nrank 2=node0 slot=0:0\nrank 3=node1 slot=0:1\n");
    says(&turn, "hostfile", "node0 slots=2 max_slots=2\nnode1 slots=2 max_slots=2\n");
    says(&turn, "openmpi", "mpirun -n 4 --hostfile ./hostfile --rankfile ./rankfile sh ./devices.sh ./a.out\n");
}

static void without_cores_the_hostfile_has_the_order(void **state)
{
    (void)state;
    says(&plain, "hostfile", "node0\nnode1\nnode1\nnode0\n");
    says(&plain, "openmpi", "mpirun -n 4 --hostfile ./hostfile --map-by seq sh ./devices.sh ./a.out\n");
    static const struct hop_map_node used_one[] = {{"node0", 4, 2, 4}, {"node1", 4, 0, 4}};
    struct hop_seat seats[2] = {coreless[0], coreless[3]};
    struct hop_map_result one = {.ranks = 2, .seats = seats, .node_count = 2, .nodes = used_one};
    says(&one, "hostfile", "node0 slots=2 max_slots=2\n");
    says(&one, "openmpi", "mpirun -n 2 --hostfile ./hostfile sh ./devices.sh ./a.out\n");
}

/* ---- MPICH ---- */

static void a_machinefile_is_in_the_order_of_the_ranks(void **state)
{
    (void)state;
    says(&turn, "machinefile", "node0:1\nnode1:1\nnode0:1\nnode1:1\n");
    says(&blocks, "machinefile", "node0:3\nnode1:2\n");
    says(&plain, "machinefile", "node0:1\nnode1:2\nnode0:1\n");
}

static void mpich_binds_where_all_nodes_have_one_list_and_the_script_elsewhere(void **state)
{
    (void)state;
    says(&blocks, "mpich", "mpirun -n 5 -f ./machinefile -bind-to user:9,0,8 sh ./devices.sh ./a.out\n");
    says(&turn, "mpich", "mpirun -n 4 -f ./machinefile -genv HOPCAST_BIND_CORE 1 sh ./devices.sh ./a.out\n");
    says(&plain, "mpich", "mpirun -n 4 -f ./machinefile sh ./devices.sh ./a.out\n");
    /* One list, but ranks in turn: Hydra would begin it anew for every line. */
    struct hop_seat seats[4] = {in_turn[0], in_turn[0], in_turn[2], in_turn[2]};
    seats[1].node = seats[3].node = 1;
    struct hop_map_result same = {.ranks = 4, .seats = seats, .node_count = 2, .nodes = two_nodes};
    has(&same, "mpich", "-genv HOPCAST_BIND_CORE 1");
    /* Ranks after each other, but not one list. */
    seats[1].node = 0;
    seats[2].node = 1;
    has(&same, "mpich", "-genv HOPCAST_BIND_CORE 1");
}

/* ---- SLURM ---- */

static void slurm_gets_a_host_a_task_and_lists_that_hold_on_every_node(void **state)
{
    (void)state;
    says(&blocks, "slurm",
         "#!/bin/sh\n"
         "# 5 ranks on 2 nodes, by SLURM. Run it in a job that has these nodes and all their devices to itself:\n"
         "#     salloc --nodes=2 --exclusive --nodelist=node0,node1 --gres=gpu:4 sh slurm.sh\n"
         "hop_hosts=$(mktemp) || exit 1\n"
         "trap 'rm -f \"$hop_hosts\"' EXIT\n"
         "cat >\"$hop_hosts\" <<'END_OF_HOSTS'\n"
         "node0\nnode0\nnode0\nnode1\nnode1\n"
         "END_OF_HOSTS\n"
         "SLURM_HOSTFILE=$hop_hosts srun --nodes=2 --ntasks=5 --distribution=arbitrary --cpu-bind=map_cpu:9,0,8 "
         "--gpu-bind=map_gpu:3,1,0 ./a.out\n");
    has(&turn, "slurm",
        "\nSLURM_HOSTFILE=$hop_hosts HOPCAST_BIND_CORE=1 srun --nodes=2 --ntasks=4 --distribution=arbitrary "
        "--cpu-bind=none sh ./devices.sh ./a.out\n");
    has(&plain, "slurm", " srun --nodes=2 --ntasks=4 --distribution=arbitrary sh ./devices.sh ./a.out\n");
}

static void ranks_that_share_a_core_need_overcommit(void **state)
{
    (void)state;
    struct hop_seat seats[4];
    memcpy(seats, in_turn, sizeof seats);
    struct hop_map_result sharing = {.ranks = 4, .seats = seats, .node_count = 2, .nodes = two_nodes};
    seats[2].processor = seats[0].processor;
    has(&sharing, "slurm", " --distribution=arbitrary --overcommit --cpu-bind=none sh ");
    seats[2].processor = seats[1].processor; /* of the other node */
    has(&sharing, "slurm", " --distribution=arbitrary --cpu-bind=none sh ");
}

static void a_task_alone_on_its_node_gets_its_device_from_the_script(void **state)
{
    (void)state;
    static const struct hop_map_node nodes[] = {{"node0", 2, 3, 0}, {"node1", 4, 1, 4}};
    struct hop_map_result alone = {.ranks = 4, .seats = in_blocks, .node_count = 2, .nodes = nodes};
    has(&alone, "slurm", "--cpu-bind=map_cpu:9,0,8 sh ./devices.sh ./a.out\n");
    has(&alone, "slurm", " --gres=gpu:4 "); /* two may be used, and the last one's number is 3 */
}

/* Numbers count excluded devices, too, so the job must have them: all eight of a node whose first one is excluded. */
static void slurm_is_asked_for_excluded_devices_too(void **state)
{
    (void)state;
    static const struct hop_seat seats[] = {{0, 0, 1, 1, NO_CORE}, {0, 1, 2, 2, NO_CORE}, {0, 2, 3, 3, NO_CORE}};
    static const struct hop_map_node big[] = {{"big", 7, 3, 8}}, two[] = {{"big", 7, 3, 8}, {"small", 2, 0, 2}};
    const struct hop_map_result one = RESULT(seats, big), more = RESULT(seats, two);
    has(&one, "slurm", "# 3 ranks on 1 node, by SLURM.");
    has(&one, "slurm", "#     salloc --nodes=1 --exclusive --nodelist=big --gres=gpu:8 sh slurm.sh\n");
    has(&one, "slurm", " --gpu-bind=map_gpu:1,2,3 ");
    has(&more, "slurm", " --nodelist=big --gres=gpu:8 sh slurm.sh\n");
}

/* ---- vLLM ---- */

static void vllm_gets_the_order_of_devices_and_their_nics(void **state)
{
    (void)state;
    struct hop_seat seats[] = {{0, 0, 3, 3, HOP_NONE, HOP_NONE, HOP_NONE, HOP_NONE, "0000:4E:00.0", "0000:4b:00.0"},
                               {0, 1, 1, 1, HOP_NONE, HOP_NONE, HOP_NONE, HOP_NONE, "0f:00", "0001:0c:00.1"}};
    static const struct hop_map_node one[] = {{"node0", 4, 2, 4}}, both[] = {{"node0", 4, 1, 4}, {"node1", 4, 1, 4}};
    const struct hop_map_result lone = RESULT(seats, one), two = RESULT(seats, both);
    has(&lone, "vllm",
        "\nexport CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3,1\n"
        "export VLLM_GPU_NIC_PCIE_MAPPING=0000:4e:00.0=0000:4b:00.0,0000:0f:00.0=0001:0c:00.1\n"
        "export VLLM_NIC_SELECTION_VARS=UCX_NET_DEVICES:1,NVSHMEM_HCA_LIST:1,NCCL_IB_HCA:1\n");
    seats[1].bus_id = seats[0].bus_id;
    seats[1].local_device = 3;
    has(&lone, "vllm", "\n# No order"); /* and two NICs */
    has(&lone, "vllm", "\n# No NICs");
    seats[1].nic = seats[0].nic;
    seats[1].node = 1; /* where the same GPU has the same NIC */
    has(&two, "vllm", " CUDA_VISIBLE_DEVICES=3\nexport VLLM_GPU_NIC_PCIE_MAPPING=0000:4e:00.0=0000:4b:00.0\n");
    seats[1].nic = "mlx5_0";
    has(&two, "vllm", "\n# No NICs");
}

/* ---- devices.sh ---- */

/* What a shell prints for `command` with the script in $SCRIPT; *status is its exit status. */
static char *run_script(const char *script, const char *command, int *status)
{
    char path[] = "/tmp/test_launch.XXXXXX", line[1024], output[1024];
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, script, strlen(script)) == (ssize_t)strlen(script));
    close(file);
    (void)snprintf(line, sizeof line,
                   "unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID HOPCAST_BIND_CORE; SCRIPT=%s; %s", path,
                   command);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    size_t length = fread(output, 1, sizeof output - 1, pipe);
    output[length] = '\0';
    *status = WEXITSTATUS(pclose(pipe));
    unlink(path);
    return strdup(output);
}

static void prints(const struct hop_map_result *result, const char *command, int expected, const char *words)
{
    int status;
    char *script = launch(result, "devices", NULL);
    char *printed = run_script(script, command, &status);
    if (status != expected || !strstr(printed, words))
        fail_msg("%s: status %d: %s", command, status, printed);
    free(printed);
    free(script);
}

static void the_script_shows_each_rank_its_device(void **state)
{
    (void)state;
    static const char *const devices[] = {"3", "1", "0", "2"};
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    char command[256], expected[64];
    for (int r = 0; r < 4; r++) {
        (void)snprintf(command, sizeof command,
                       "%s=%d sh $SCRIPT sh -c 'echo \"$CUDA_VISIBLE_DEVICES|$HIP_VISIBLE_DEVICES|$CUDA_DEVICE_ORDER|"
                       "$1\"' - 'a  b'",
                       variables[r], r);
        (void)snprintf(expected, sizeof expected, "%s|%s|PCI_BUS_ID|a  b\n", devices[r], devices[r]);
        prints(&turn, command, 0, expected);
    }
    /* In a batch job the script's own SLURM_PROCID is there, too. */
    prints(&turn, "SLURM_PROCID=0 OMPI_COMM_WORLD_RANK=2 sh $SCRIPT printenv CUDA_VISIBLE_DEVICES", 0, "0\n");
    prints(&turn, "PMI_RANK=1 sh $SCRIPT sh -c 'exit 7'", 7, "");
}

static void the_script_refuses_strangers(void **state)
{
    (void)state;
    prints(&turn, "sh $SCRIPT true 2>&1", 2, "which rank is this?");
    prints(&turn, "PMI_RANK=4 sh $SCRIPT true 2>&1", 2, "rank '4' is not among those mapped, 0 to 3");
    prints(&turn, "PMI_RANK='1 2' sh $SCRIPT true 2>&1", 2, "not among");
    prints(&turn, "PMI_RANK='*' sh $SCRIPT true 2>&1", 2, "not among");
    prints(&turn, "PMI_RANK=1 sh $SCRIPT 2>&1", 2, "usage");
}

static void the_script_binds_on_request(void **state)
{
    (void)state;
    /* A taskset of our own, as this machine may not have those processors. */
    static const char stub[] = "mkdir $SCRIPT.d; printf '#!/bin/sh\\necho taskset \"$@\"\\n' >$SCRIPT.d/taskset; "
                               "chmod +x $SCRIPT.d/taskset; PATH=$SCRIPT.d:$PATH; export PATH; ";
    char command[512];
    (void)snprintf(command, sizeof command, "%s HOPCAST_BIND_CORE=1 PMI_RANK=0 sh $SCRIPT ./a.out x; rm -r $SCRIPT.d",
                   stub);
    prints(&turn, command, 0, "taskset -c 9 ./a.out x\n");
    prints(&turn, "PMI_RANK=0 sh $SCRIPT echo free", 0, "free\n");
    prints(&plain, "HOPCAST_BIND_CORE=1 PMI_RANK=0 sh $SCRIPT echo free", 0, "free\n"); /* it knows no cores */
}

static void ranks_without_devices_are_only_bound(void **state)
{
    (void)state;
    struct hop_seat seats[4];
    memcpy(seats, in_turn, sizeof seats);
    struct hop_map_result deviceless = {.ranks = 4, .seats = seats, .node_count = 2, .nodes = two_nodes};
    for (int r = 0; r < 4; r++)
        seats[r].local_device = HOP_NONE;
    says(&deviceless, "openmpi", "mpirun -n 4 --hostfile ./hostfile --rankfile ./rankfile ./a.out\n");
    says(&deviceless, "mpich", "mpirun -n 4 -f ./machinefile -genv HOPCAST_BIND_CORE 1 sh ./devices.sh ./a.out\n");
    prints(&deviceless, "unset CUDA_VISIBLE_DEVICES; PMI_RANK=0 sh $SCRIPT sh -c 'echo ${CUDA_VISIBLE_DEVICES-all}'", 0,
           "all\n");
}

/* ---- names ---- */

static void directories_and_programs_survive_the_shell(void **state)
{
    (void)state;
    static const char *const hosts[] = {"gpu-a.site.org", "10.0.0.2"};
    struct hop_launch_names names = {hosts, "./sim --in 'x y'", "/data/it's here/"};
    char *text = launch(&turn, "mpich", &names);
    assert_string_equal(text, "mpirun -n 4 -f '/data/it'\\''s here/machinefile' -genv HOPCAST_BIND_CORE 1 sh "
                              "'/data/it'\\''s here/devices.sh' ./sim --in 'x y'\n");
    free(text);
    text = launch(&turn, "rankfile", &names);
    assert_non_null(strstr(text, "rank 1=10.0.0.2 slot=0:0\n"));
    free(text);
    names.directory = "-d";
    text = launch(&plain, "mpich", &names);
    assert_non_null(strstr(text, " -f ./-d/machinefile "));
    free(text);
}

static void refused(const struct hop_map_result *result, const char *form, const struct hop_launch_names *names,
                    const char *place, const char *words)
{
    char *text = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_map_launch(result, form, names, &text, &diag), HOP_ERR_INVALID);
    assert_null(text);
    if (strcmp(diag.place, place) != 0 || !strstr(diag.what, words) || !diag.expected[0])
        fail_msg("%s: %s (%s)", diag.place, diag.what, diag.expected);
}

static void names_that_launchers_would_misread_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    "a b",    "a\nb",   "a:2",       "-a",  "+n0",
                                      "a#b", "n[1-3]", "user@a", "n\xc3\xb6", "a\tb"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *const hosts[] = {"node0", bad[i]};
        struct hop_launch_names names = {.hosts = hosts};
        for (size_t f = 0; hop_launch_form_at(f); f++)
            refused(&turn, hop_launch_form_at(f)->name, &names, "node node1", "is no host name");
    }
    static const char *const twice[] = {"localhost", "localhost"};
    struct hop_launch_names names = {.hosts = twice};
    refused(&turn, "hostfile", &names, "node node1", "'node0' and 'node1' are the same host 'localhost'");
    names = (struct hop_launch_names){.program = "a\nb"};
    refused(&turn, "openmpi", &names, "program", "control character");
    names = (struct hop_launch_names){.program = ""};
    refused(&turn, "openmpi", &names, "program", "is empty");
    names = (struct hop_launch_names){.directory = "/a\x7f"};
    refused(&turn, "slurm", &names, "directory", "control character");
}

static void what_a_form_cannot_say_is_refused(void **state)
{
    (void)state;
    refused(&plain, "rankfile", NULL, "rankfile", "names the core of every rank");
    struct hop_seat seat = coreless[0];
    struct hop_map_result bare = {.ranks = 1, .seats = &seat, .node_count = 1, .nodes = two_nodes};
    seat.local_device = HOP_NONE;
    refused(&bare, "devices", NULL, "devices", "neither devices nor cores");
    refused(&bare, "vllm", NULL, "vllm", "not every rank has one");
}

static void every_form_has_a_name_and_a_file(void **state)
{
    (void)state;
    bool script = false;
    for (size_t f = 0; hop_launch_form_at(f); f++) {
        const struct hop_launch_form *form = hop_launch_form_at(f);
        assert_true(form->name && form->what);
        for (size_t g = 0; g < f; g++) {
            assert_string_not_equal(form->name, hop_launch_form_at(g)->name);
            assert_string_not_equal(form->file, hop_launch_form_at(g)->file);
        }
        assert_int_equal(form->names_cores, strcmp(form->name, "rankfile") == 0);
        assert_int_equal(form->names_devices, strcmp(form->name, "vllm") == 0);
        assert_int_equal(form->names_either, strcmp(form->name, "devices") == 0);
        script |= strcmp(form->name, "devices") == 0 && strcmp(form->file, "devices.sh") == 0;
    }
    assert_true(script);
    refused(&turn, "flux", NULL, "", "launchers read no form 'flux'");
}

TEST_GROUP(launch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rankfile_names_host_package_and_core),
        cmocka_unit_test(without_cores_the_hostfile_has_the_order),
        cmocka_unit_test(a_machinefile_is_in_the_order_of_the_ranks),
        cmocka_unit_test(mpich_binds_where_all_nodes_have_one_list_and_the_script_elsewhere),
        cmocka_unit_test(slurm_gets_a_host_a_task_and_lists_that_hold_on_every_node),
        cmocka_unit_test(ranks_that_share_a_core_need_overcommit),
        cmocka_unit_test(a_task_alone_on_its_node_gets_its_device_from_the_script),
        cmocka_unit_test(slurm_is_asked_for_excluded_devices_too),
        cmocka_unit_test(vllm_gets_the_order_of_devices_and_their_nics),
        cmocka_unit_test(the_script_shows_each_rank_its_device),
        cmocka_unit_test(the_script_refuses_strangers),
        cmocka_unit_test(the_script_binds_on_request),
        cmocka_unit_test(ranks_without_devices_are_only_bound),
        cmocka_unit_test(directories_and_programs_survive_the_shell),
        cmocka_unit_test(names_that_launchers_would_misread_are_refused),
        cmocka_unit_test(what_a_form_cannot_say_is_refused),
        cmocka_unit_test(every_form_has_a_name_and_a_file),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
