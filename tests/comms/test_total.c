/* Sums over several communicators of made-up processes, between GPUs. */
#include "harness/comms/total.h"

#include "harness/comms/plugin/names.h"
#include "tests/lib/unit.h"

enum { PROCESSES = 3, SENDS_MOST = 8 };

/* The last process is on another host. */
static struct comms_log logs[PROCESSES] = {
    {.header.pid = 100}, {.header.pid = 101}, {.header.pid = 102, .header.host = "b"}};
static const struct comms_member member = {.state = COMMS_FINALIZED};

static struct comms_done send_of(uint32_t from, int32_t to, uint64_t bytes)
{
    return (struct comms_done){
        from,
        {{.func = COMMS_SEND, .datatype = COMMS_INT8, .algo = COMMS_POINT_TO_POINT, .peer = to},
         1,
         bytes}};
}

static uint64_t bytes_of(const struct comms_total *total, uint32_t from, uint32_t to)
{
    return total->matrix.bytes[from * total->matrix.n + to];
}

static int total_of(struct comms *comms, struct comms_total *total, struct err *err)
{
    for (size_t i = 0; i < comms->n; i++) {
        comms_unmeasure(&comms->communicator[i]);
        assert_int_equal(comms_measure(&comms->communicator[i], err), 0);
    }
    return comms_total_make(comms, total, err);
}

static void forget(struct comms *comms, struct comms_total *total)
{
    for (size_t i = 0; i < comms->n; i++)
        comms_unmeasure(&comms->communicator[i]);
    comms_total_free(total);
}

/* Two processes are ranks 0 and 1 of one communicator, and ranks 1 and 0 of another. */
TEST(total_adds_up_by_process)
{
    struct comms_rank world[] = {{0, &logs[0], &member}, {1, &logs[1], &member}};
    struct comms_rank half[] = {{0, &logs[1], &member}, {1, &logs[0], &member}};
    struct comms_done of_world[] = {send_of(0, 1, 100), send_of(1, 0, 7)};
    struct comms_done of_half[] = {send_of(0, 1, 1000), send_of(1, 0, 20)};
    struct comms_communicator all[] = {
        {.nranks = 2, .nodes = 1, .npresent = 2, .ndone = 2, .present = world, .done = of_world},
        {.nranks = 2, .nodes = 1, .npresent = 2, .ndone = 2, .present = half, .done = of_half}};
    struct comms comms = {.n = 2, .communicator = all};
    struct comms_total total;
    assert_int_equal(total_of(&comms, &total, NULL), 0);
    assert_int_equal(total.matrix.n, 2);
    assert_int_equal(bytes_of(&total, 0, 1), 120);
    assert_int_equal(bytes_of(&total, 1, 0), 1007);
    assert_int_equal(total.matrix.calls[1], 2);
    assert_false(total.assumed);
    assert_int_equal(total.gpu_of[1][0], 1);
    forget(&comms, &total);
}

/* A process with two ranks of a communicator has two GPUs; which GPU it uses in the next
 * communicator is assumed. */
TEST(total_tells_gpus_of_a_process_apart)
{
    struct comms_rank world[] = {
        {0, &logs[0], &member}, {1, &logs[0], &member}, {1, &logs[1], &member}};
    struct comms_done done[] = {send_of(0, 1, 5)};
    struct comms_communicator all[] = {
        {.nranks = 2, .nodes = 1, .npresent = 3, .ndone = 1, .present = world, .done = done},
        {.nranks = 2, .nodes = 1, .npresent = 2, .ndone = 1, .present = world, .done = done}};
    struct comms comms = {.n = 1, .communicator = all};
    struct comms_total total;
    assert_int_equal(total_of(&comms, &total, NULL), 0);
    assert_int_equal(total.matrix.n, 2);
    assert_int_equal(total.gpu[1].slot, 1);
    assert_has(comms_call_gpu(&total.gpu[1]), ", GPU 2 of it");
    assert_false(total.assumed);
    forget(&comms, &total);
    comms.n = 2;
    assert_int_equal(total_of(&comms, &total, NULL), 0);
    assert_int_equal(total.matrix.n, 2);
    assert_int_equal(bytes_of(&total, 0, 1), 10);
    assert_true(total.assumed);
    forget(&comms, &total);
}

/* Two processes on one GPU count as one GPU, and one process on two GPUs as two. */
TEST(total_goes_by_the_gpu_that_is_told)
{
    struct comms_rank present[] = {{0, &logs[0], &member, "0000:01:00.0"},
                                   {1, &logs[1], &member, "0000:01:00.0"},
                                   {2, &logs[0], &member, "0000:02:00.0"},
                                   {3, &logs[2], &member, "0000:02:00.0"}};
    struct comms_done done[] = {send_of(0, 2, 3), send_of(1, 2, 4), send_of(1, 3, 8)};
    struct comms_communicator all[] = {
        {.nranks = 4, .nodes = 2, .npresent = 4, .ndone = 3, .present = present, .done = done}};
    struct comms comms = {.n = 1, .communicator = all};
    struct comms_total total;
    assert_int_equal(total_of(&comms, &total, NULL), 0);
    assert_int_equal(total.matrix.n, 3); /* rank 3 is on another host */
    assert_int_equal(bytes_of(&total, 0, 1), 7);
    assert_int_equal(bytes_of(&total, 0, 2), 8);
    assert_int_equal(total.matrix.wire[1], 7);
    assert_false(total.assumed);
    forget(&comms, &total);
}

/* A rank without a log counts as a GPU of its own if it received something, else not at all. */
TEST(total_knows_ranks_without_logs)
{
    struct comms_rank present[] = {{2, &logs[0], &member}};
    struct comms_done done[] = {send_of(2, 1, 50)};
    struct comms_communicator all[] = {
        {.nranks = 4, .nodes = 1, .npresent = 1, .ndone = 1, .present = present, .done = done},
        {.nranks = COMMS_MATRIX_RANKS + 1, .nodes = 1, .npresent = 1, .present = present}};
    struct comms comms = {.n = 2, .communicator = all};
    struct comms_total total;
    assert_int_equal(total_of(&comms, &total, NULL), 0);
    assert_int_equal(total.matrix.n, 2);
    assert_int_equal(bytes_of(&total, 0, 1), 50);
    assert_int_equal(total.left_out, 1);
    assert_string_equal(comms_call_gpu(&total.gpu[1]), "rank 1 of communicator 1, without a log");
    assert_int_equal(total.gpu_of[0][0], COMMS_NO_GPU);
    forget(&comms, &total);
}

TEST(log10_has_none_of_zero)
{
    assert_true(isnan(comms_log10(0)));
    assert_true(comms_log10(1000) > 2.999 && comms_log10(1000) < 3.001);
}
