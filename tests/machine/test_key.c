/* harness/machine/key.c: a machine has one key at all times, and another machine another. */
#include "harness/machine/key.h"
#include "harness/record/json_machine.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static const struct environment server = {
    .hostname = "node7",
    .arch = "x86_64",
    .cpu_model = "Fast CPU",
    .microcode = "0x1f",
    .machine_vendor = "Vendor",
    .machine_product = "Server 2",
    .machine_board = "B1",
    .bios = "1.2",
    .machine_uuid = "4c4c4544-0042-3310-8044-b4c04f4d3232",
    .machine_id = "0123456789abcdef0123456789abcdef",
};
static struct topo_gpu gpus[] = {
    {.pci_bdf = "0000:07:00.0", .name = "GPU A", .uuid = "GPU-7", .vbios = "96.0"},
    {.pci_bdf = "0000:08:00.0", .name = "GPU A", .uuid = "GPU-8", .vbios = "96.0"},
};
static const struct topo topo = {.cpu_model = "Fast CPU",
                                 .npackages = 2,
                                 .ncores = 32,
                                 .ncpus = 64,
                                 .nnodes = 2,
                                 .ngpus = 2,
                                 .gpus = gpus};

static struct machine_key key_of(const struct environment *env, const struct topo *of)
{
    struct machine_parts parts;
    struct machine_key key;
    machine_parts_of(env, of, &parts);
    machine_key_make(&parts, &key);
    return key;
}

/* A change in how keys are made splits every history, so it must be deliberate. */
TEST(key_of_a_server_is_what_it_was)
{
    struct machine_key key = key_of(&server, &topo);
    assert_string_equal(key.kind, "a28f7862c82066cb");
    assert_string_equal(key.key, "ed6bc4c48f07c725");
    assert_string_equal(key.identity, "uuid");
}

TEST(key_does_not_change_with_what_changes)
{
    struct environment env = server;
    struct topo_gpu turned[] = {gpus[1], gpus[0]}; /* reordered by CUDA_VISIBLE_DEVICES */
    struct topo_node small[] = {{.memory_bytes = 1}, {.memory_bytes = 2}};
    struct topo now = topo;
    now.gpus = turned;
    now.nodes = small;
    now.gpus[0].cuda_ordinal = -1;
    env.memory_bytes = 1e9;
    env.boost = 1;
    env.cgroup.cpus_limit = 1.5;
    put_text(env.hostname, "pod-x7f");
    put_text(env.kernel, "6.12");
    put_text(env.driver, "580");
    put_text(env.governor, "powersave");
    put_text(env.machine_id, "another system on this hardware");
    struct machine_key key = key_of(&env, &now), was = key_of(&server, &topo);
    assert_string_equal(key.key, was.key);
    assert_string_equal(key.kind, was.kind);
}

static void assert_same_kind_only(const struct environment *env, const struct topo *of)
{
    struct machine_key key = key_of(env, of), was = key_of(&server, &topo);
    assert_string_equal(key.kind, was.kind);
    assert_string_not_equal(key.key, was.key);
}

TEST(key_of_another_machine_of_that_kind)
{
    struct environment env = server;
    env.machine_uuid[0] = '5';
    assert_same_kind_only(&env, &topo);
    env = server;
    env.bios[0] = '2';
    assert_same_kind_only(&env, &topo);
    struct topo lost = topo;
    lost.ngpus = 1;
    assert_same_kind_only(&server, &lost);
}

TEST(key_of_another_kind)
{
    struct topo half = topo;
    half.ncpus = 32;
    assert_string_not_equal(key_of(&server, &half).kind, key_of(&server, &topo).kind);
    struct environment env = server;
    put_text(env.cpu_model, "Slow CPU");
    assert_string_not_equal(key_of(&env, &topo).kind, key_of(&server, &topo).kind);
    struct topo_gpu other[] = {gpus[0], gpus[1]};
    put_text(other[1].name, "GPU B");
    struct topo mixed = topo;
    mixed.gpus = other;
    assert_string_not_equal(key_of(&server, &mixed).kind, key_of(&server, &topo).kind);
}

/* The best available identifier distinguishes machines; a weaker one does not change the key. */
TEST(key_names_what_it_rests_on)
{
    struct environment env = server, other;
    struct topo bare = topo;
    env.machine_uuid[0] = '\0';
    assert_string_equal(key_of(&env, &topo).identity, "gpus");
    other = env;
    other.machine_id[0] = 'x';
    assert_string_equal(key_of(&other, &topo).key, key_of(&env, &topo).key);
    bare.ngpus = 0;
    assert_string_equal(key_of(&env, &bare).identity, "id");
    assert_string_not_equal(key_of(&other, &bare).key, key_of(&env, &bare).key);
    env.machine_id[0] = '\0';
    assert_string_equal(key_of(&env, &bare).identity, "");
    assert_int_equal(strlen(key_of(&env, &bare).key), MACHINE_KEY_MAX - 1);
    assert_string_equal(key_of(NULL, NULL).identity, "");
}

/* Slices of a GPU come and go, and their UUIDs with them. */
TEST(key_of_a_sliced_gpu_is_its_address)
{
    struct topo_gpu one[] = {gpus[0]}, two[] = {gpus[0]};
    struct topo a = topo, b = topo;
    struct environment env = server;
    env.machine_uuid[0] = '\0';
    a.ngpus = b.ngpus = 1;
    a.gpus = one;
    b.gpus = two;
    put_text(one[0].uuid, "MIG-1");
    put_text(two[0].uuid, "MIG-2");
    assert_string_equal(key_of(&env, &a).key, key_of(&env, &b).key);
    assert_string_equal(key_of(&env, &a).identity, "id");
}

TEST(key_is_written_without_what_it_hides)
{
    struct machine_parts parts;
    machine_parts_of(&server, &topo, &parts);
    json_auto_t *json = machine_to_json(&parts);
    FREED char *text = json_dumps(json, 0);
    assert_non_null(text);
    assert_lacks(text, "4c4c4544");
    assert_lacks(text, "0123456789abcdef");
    assert_lacks(text, "GPU-7");
    assert_has(text, "\"product\": \"Server 2\"");
    assert_has(text, "\"vbios\": \"96.0\"");
}

static void read_uuid(const char *uuid, const char *want)
{
    ENDED_BY(env_free) struct environment env;
    fixture_put("/sys/class/dmi/id/product_uuid", uuid);
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    assert_string_equal(env.machine_uuid, want);
    assert_string_equal(env.machine_board, "B1");
    assert_string_equal(env.machine_id, "0123");
}

/* Some boards have no UUID, or all the same. */
TEST_IN_DIR(key_knows_uuids_that_are_none)
{
    fixture_put("/sys/class/dmi/id/board_name", "B1\n");
    fixture_put("/etc/machine-id", "0123\n");
    read_uuid("4c4c4544-0042-3310-8044-b4c04f4d3232\n", "4c4c4544-0042-3310-8044-b4c04f4d3232");
    read_uuid("00000000-0000-0000-0000-000000000000\n", "");
    read_uuid("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF\n", "");
    read_uuid("03000200-0400-0500-0006-000700080009\n", "");
    fixture_put("/sys/hypervisor/uuid", "ec2e1916\n");
    read_uuid("", "ec2e1916");
}
