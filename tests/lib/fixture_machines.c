#include "tests/lib/fixture_machines.h"

#include <stddef.h>
#include <string.h>

/* 4 sockets of two dies: one hop to the other die, and to the matching die of another socket. */
static const unsigned opteron_distances[] = {
    10, 16, 16, 22, 16, 22, 16, 22, /* a row = from */
    16, 10, 22, 16, 22, 16, 22, 16, /**/
    16, 22, 10, 16, 16, 22, 16, 22, /**/
    22, 16, 16, 10, 22, 16, 22, 16, /**/
    16, 22, 16, 22, 10, 16, 16, 22, /**/
    22, 16, 22, 16, 16, 10, 22, 16, /**/
    16, 22, 16, 22, 16, 22, 10, 16, /**/
    22, 16, 22, 16, 22, 16, 16, 10, /**/
};

/* Nodes 0 and 1 have CPUs, the others are the memories of four GPUs. */
static const unsigned superchip_distances[] = {
    10,  40,  80,  80,  120, 120, /**/
    40,  10,  120, 120, 80,  80,  /**/
    80,  120, 10,  160, 200, 200, /**/
    80,  120, 160, 10,  200, 200, /**/
    120, 80,  200, 200, 10,  160, /**/
    120, 80,  200, 200, 160, 10,  /**/
};

#define SERVER_CORES(n, smt, l2)                                                                   \
    {                                                                                              \
        .count = n, .threads = smt, .l1d_kib = 32, .l2_kib = l2, .l2_cores = 1                     \
    }

#define MACHINE(its_name, text, ...)                                                               \
    {                                                                                              \
        .name = its_name, .is = text, __VA_ARGS__                                                  \
    }

const struct fixture_machine fixture_machines[] = {
    MACHINE("four_sockets_one_node",
            "a server of 2005: SMT, a front-side bus, so that all memory is one node",
            .packages = 4, .cores = {SERVER_CORES(2, 2, 1024)}, .l3_cores = 2, .l3_mib = 4,
            .numbering = NUMBER_PACKAGES_TURN),
    MACHINE("four_sockets_turn", "4 Xeon E7, CPUs numbered over the packages in turn",
            .cpu = "Intel(R) Xeon(R) CPU E7-4870 @ 2.40GHz", .packages = 4,
            .cores = {SERVER_CORES(10, 1, 256)}, .node_cores = 10, .l3_cores = 10, .l3_mib = 30,
            .numbering = NUMBER_PACKAGES_TURN, .node_gib = 128, .far = 20, .near = 20),
    MACHINE("four_sockets_eight_nodes",
            "4 Opterons of two dies; two cores share an L2; one node lacks half of its memory",
            .cpu = "AMD Opteron(TM) Processor 6276", .packages = 4,
            .cores = {{.count = 16, .threads = 1, .l1d_kib = 16, .l2_kib = 2048, .l2_cores = 2}},
            .node_cores = 8, .l3_cores = 8, .l3_mib = 6,
            .nodes_gib = (const unsigned[]){16, 16, 16, 16, 16, 8, 16, 16},
            .distances = opteron_distances),
    MACHINE("cpuset_two_nodes_of_six",
            "6 CPUs of a cgroup on a larger machine, with memory of all its nodes",
            .cpu = "AMD Opteron(tm) Processor 6134", .packages = 1,
            .cores = {{.count = 6, .threads = 1, .l1d_kib = 64, .l2_kib = 512, .l2_cores = 1}},
            .node_cores = 4, .l3_cores = 4, .l3_mib = 5, .node_gib = 16,
            .extra = {{2, 16, -1, NULL}, {3, 16, -1, NULL}, {4, 16, -1, NULL}, {5, 16, -1, NULL}},
            .far = 22, .near = 16),
    MACHINE("cgroup_of_four_cores",
            "a container: 4 cores of the first socket, and its memory, are allowed", .packages = 2,
            .cores = {SERVER_CORES(16, 2, 1024)}, .node_cores = 16, .l3_cores = 16, .l3_mib = 22,
            .node_gib = 96, .far = 21, .allowed_cpus = "4-7,36-39", .allowed_nodes = "0",
            .gpus = {{"0000:3b:00.0", 0}, {"0000:af:00.0", 1}}),
    MACHINE("hbm_beside_dram",
            "a Xeon Phi in SNC-4, flat: each quarter has DRAM, and HBM as a node without CPUs",
            .cpu = "Intel(R) Xeon Phi(TM) CPU 7210 @ 1.30GHz", .packages = 1,
            .cores = {{.count = 16, .threads = 4, .l1d_kib = 32, .l2_kib = 4096, .l2_cores = 2}},
            .node_cores = 4, .l3_cores = 4, .l3_mib = 2048, .node_gib = 1,
            .extra = {{4, 2, 0, "HBM"}, {5, 2, 1, "HBM"}, {6, 2, 2, "HBM"}, {7, 2, 3, "HBM"}}),
    MACHINE("sixteen_gpus", "DGX-2, from a job that has two cores of each socket",
            .cpu = "Intel(R) Xeon(R) Platinum 8174 CPU @ 3.10GHz", .gpu = "Tesla V100-SXM3-32GB",
            .packages = 2, .cores = {SERVER_CORES(2, 1, 1024)}, .node_cores = 2, .l3_cores = 2,
            .l3_mib = 33, .numbering = NUMBER_LISTED, .os_cpus = (const unsigned[]){0, 1, 24, 25},
            .node_gib = 755, .far = 21,
            .gpus = {{"0000:15:00.0", 0},
                     {"0000:17:00.0", 0},
                     {"0000:1a:00.0", 0},
                     {"0000:1c:00.0", 0},
                     {"0000:45:00.0", 0},
                     {"0000:47:00.0", 0},
                     {"0000:4a:00.0", 0},
                     {"0000:4c:00.0", 0},
                     {"0000:95:00.0", 1},
                     {"0000:97:00.0", 1},
                     {"0000:9a:00.0", 1},
                     {"0000:9c:00.0", 1},
                     {"0000:c5:00.0", 1},
                     {"0000:c7:00.0", 1},
                     {"0000:ca:00.0", 1},
                     {"0000:cc:00.0", 1}}),
    MACHINE("snc4_four_gpus",
            "2 Xeons in SNC-4: four nodes inside one L3; GPUs on the first and third of each",
            .cpu = "Intel(R) Xeon(R) Platinum 8480+", .gpu = "NVIDIA H100 80GB HBM3", .packages = 2,
            .cores = {{.count = 56, .threads = 2, .l1d_kib = 48, .l2_kib = 2048, .l2_cores = 1}},
            .node_cores = 14, .l3_cores = 56, .l3_mib = 105, .node_gib = 128, .far = 21, .near = 12,
            .gpus = {{"0000:19:00.0", 0},
                     {"0000:4c:00.0", 2},
                     {"0000:9b:00.0", 4},
                     {"0000:cb:00.0", 6}}),
    MACHINE("nps4_eight_gpus",
            "DGX A100: 2 EPYC in NPS4, an L3 for four cores, two GPUs on every other node",
            .cpu = "AMD EPYC 7742 64-Core Processor", .gpu = "NVIDIA A100-SXM4-40GB", .packages = 2,
            .cores = {SERVER_CORES(64, 2, 512)}, .node_cores = 16, .l3_cores = 4, .l3_mib = 16,
            .node_gib = 128, .far = 32, .near = 12,
            .gpus = {{"0000:07:00.0", 3},
                     {"0000:0f:00.0", 3},
                     {"0000:47:00.0", 1},
                     {"0000:4e:00.0", 1},
                     {"0000:87:00.0", 7},
                     {"0000:90:00.0", 7},
                     {"0000:b7:00.0", 5},
                     {"0000:bd:00.0", 5}}),
    MACHINE("superchips_gpu_memory",
            "GB200: 2 Grace without SMT, and the memory of 4 GPUs as nodes without CPUs",
            .cpu = "Neoverse-V2", .gpu = "NVIDIA GB200", .packages = 2,
            .cores = {{.count = 72, .threads = 1, .l1d_kib = 64, .l2_kib = 1024, .l2_cores = 1}},
            .node_cores = 72, .l3_cores = 72, .l3_mib = 114, .node_gib = 480,
            .extra = {{2, 184, 0, "GPUMemory"},
                      {10, 184, 0, "GPUMemory"},
                      {18, 184, 1, "GPUMemory"},
                      {26, 184, 1, "GPUMemory"}},
            .distances = superchip_distances,
            .gpus = {{"0008:01:00.0", 0},
                     {"0009:01:00.0", 0},
                     {"0018:01:00.0", 1},
                     {"0019:01:00.0", 1}}),
    MACHINE("superchip_one_gpu", "GH200: a Grace, and the memory of its GPU as a node without CPUs",
            .cpu = "Neoverse-V2", .gpu = "NVIDIA GH200 480GB", .packages = 1,
            .cores = {{.count = 72, .threads = 1, .l1d_kib = 64, .l2_kib = 1024, .l2_cores = 1}},
            .node_cores = 72, .l3_cores = 72, .l3_mib = 114, .node_gib = 480,
            .extra = {{1, 96, 0, "GPUMemory"}}, .gpus = {{"0009:01:00.0", 0}}),
    MACHINE("altra_two_sockets", "2 Ampere Altra, whose firmware reports no cache beyond L2",
            .cpu = "Neoverse-N1", .packages = 2,
            .cores = {{.count = 80, .threads = 1, .l1d_kib = 64, .l2_kib = 1024, .l2_cores = 1}},
            .node_cores = 80, .node_gib = 256, .far = 20, .gpus = {{"000d:01:00.0", 1}}),
    MACHINE("graviton_one_node", "a virtual machine of all 64 cores of a Graviton 3",
            .cpu = "Neoverse-V1", .packages = 1,
            .cores = {{.count = 64, .threads = 1, .l1d_kib = 64, .l2_kib = 1024, .l2_cores = 1}},
            .l3_cores = 64, .l3_mib = 32, .node_gib = 128),
    MACHINE("node_without_memory", "3 sockets, of which the last has no DIMM", .packages = 3,
            .cores = {SERVER_CORES(2, 1, 1024)}, .node_cores = 2, .l3_cores = 2, .l3_mib = 8,
            .nodes_gib = (const unsigned[]){1, 1, 0}),
    MACHINE(
        "hybrid_6p8e", "a laptop: 6 P-cores with SMT, 8 E-cores of which four share an L2",
        .cpu = "13th Gen Intel(R) Core(TM) i7-1370P", .packages = 1,
        .cores = {{6, 2, 48, 1280, 1, 5000, false, false}, {8, 1, 32, 2048, 4, 3900, true, false}},
        .l3_cores = 14, .l3_mib = 24, .numbering = NUMBER_SIBLINGS_NEXT, .node_gib = 31),
    MACHINE("hybrid_2p8e2lpe",
            "a laptop: 2 P-cores, 8 E-cores, and 2 low-power E-cores outside of the L3",
            .cpu = "Intel(R) Core(TM) Ultra 7 165U", .packages = 1,
            .cores = {{2, 2, 48, 2048, 1, 4900, false, false},
                      {8, 1, 32, 2048, 4, 3800, true, false},
                      {2, 1, 32, 2048, 2, 2100, true, true}},
            .l3_cores = 10, .l3_mib = 12, .numbering = NUMBER_SIBLINGS_NEXT, .node_gib = 31),
    MACHINE("fast_and_slow_clusters",
            "a desktop of 2025: two clusters of 5 slow and 5 fast Arm cores, told as five kinds",
            .packages = 1,
            .cores = {{5, 1, 64, 512, 1, 2808, false, false, 718},
                      {5, 1, 64, 2048, 1, 3900, false, false, 997},
                      {5, 1, 64, 512, 1, 2808, false, false, 731},
                      {4, 1, 64, 2048, 1, 3900, false, false, 1017},
                      {1, 1, 64, 2048, 1, 3900, false, false, 1024}},
            .l3_cores = 10, .l3_mib = 16, .node_gib = 120),
    MACHINE("dies_without_memory",
            "a Threadripper of 4 dies, of which two have no memory and are not listed",
            .packages = 1, .cores = {SERVER_CORES(32, 2, 512)}, .node_cores = 8, .l3_cores = 4,
            .l3_mib = 8, .nodes_gib = (const unsigned[]){63, 0, 63, 0}, .lists_no_empty_node = true,
            .gpus = {{"0000:08:00.0", 1}}),
    MACHINE("gaps_in_numbers", "4 CPUs that stay when the others are offline", .packages = 1,
            .cores = {SERVER_CORES(4, 1, 1024)}, .l3_cores = 4, .l3_mib = 16,
            .numbering = NUMBER_LISTED, .os_cpus = (const unsigned[]){0, 2, 10, 18}, .node_gib = 32,
            .gpus = {{"0000:06:00.0", -1}}),
    MACHINE("cpus_1920", "16 Xeons of 60 cores in one machine",
            .cpu = "Intel(R) Xeon(R) Platinum 8490H", .packages = 16,
            .cores = {{.count = 60, .threads = 2, .l1d_kib = 48, .l2_kib = 2048, .l2_cores = 1}},
            .node_cores = 60, .l3_cores = 60, .l3_mib = 112, .node_gib = 1024, .far = 26,
            .gpus = {{"0000:21:00.0", 3}, {"000c:21:00.0", 12}}),
    {.name = NULL},
};

const struct fixture_machine *fixture_machine(const char *name)
{
    for (const struct fixture_machine *m = fixture_machines; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}
