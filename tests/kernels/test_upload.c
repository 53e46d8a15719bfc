/* Copies to GPUs that are threads (tests/lib/fake_gpus.h): their order, and that the check finds
 * one that did not arrive. */

#include "kernels/gpu/copy/gpu_upload.h"
#include "tests/lib/fake_gpus.h"
#include "tests/lib/unit.h"

enum { MOST = 1 << 16 };

static struct err err;

static struct gpu_upload *must_open(void)
{
    struct gpu_upload *upload;
    fake_gpus_reset();
    if (gpu_upload_open("0000:01:00.0", MOST, &upload, &err))
        fail_msg("%s", err.msg);
    return upload;
}

static int queue(struct gpu_upload *upload, size_t bytes)
{
    return gpu_upload_queue(upload, bytes, &err);
}

TEST(pieces_arrive_in_order)
{
    struct gpu_upload *upload = must_open();
    size_t bytes = 0;
    float took_ms = -1;
    assert_int_equal(gpu_upload_wait(upload, &bytes, &took_ms, &err), -EINVAL);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++)
            assert_int_equal(queue(upload, 8u << i), 0);
        assert_int_equal(queue(upload, 8), -EINVAL); /* DEPTH in flight */
        for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++) {
            assert_int_equal(gpu_upload_queued(upload), GPU_UPLOAD_DEPTH - i);
            assert_int_equal(gpu_upload_wait(upload, &bytes, &took_ms, &err), 0);
            assert_int_equal(bytes, 8u << i);
            assert_true(took_ms >= 0);
        }
    }
    assert_int_equal(gpu_upload_check(upload, &err), 0);
    gpu_upload_close(upload);
}

TEST(pieces_have_a_size)
{
    struct gpu_upload *upload = must_open();
    assert_int_equal(queue(upload, 4), -EINVAL);
    assert_int_equal(queue(upload, MOST + 8), -EINVAL);
    assert_has(err.msg, "65536");
    assert_int_equal(queue(upload, MOST), 0);
    assert_int_equal(gpu_upload_check(upload, &err), 0); /* waits for it */
    assert_int_equal(gpu_upload_queued(upload), 0);
    gpu_upload_close(upload);
}

/* The first one, and one after which the GPU holds an older piece. */
TEST(check_finds_a_piece_that_did_not_arrive)
{
    for (int lost = 0; lost <= GPU_UPLOAD_DEPTH; lost += GPU_UPLOAD_DEPTH) {
        struct gpu_upload *upload = must_open();
        size_t bytes;
        float took_ms;
        fake_gpus.copies_lost_from = lost;
        for (int i = 0; i <= lost; i++) {
            assert_int_equal(queue(upload, MOST), 0);
            assert_int_equal(gpu_upload_wait(upload, &bytes, &took_ms, &err), 0);
        }
        assert_int_equal(gpu_upload_check(upload, &err), -EBADMSG);
        assert_has(err.msg, "other data");
        gpu_upload_close(upload);
    }
}

TEST(unusable_gpu_is_an_error)
{
    struct gpu_upload *upload;
    fake_gpus_reset();
    fake_gpus.closed_gpu = 1;
    assert_int_equal(gpu_upload_open("0000:02:00.0", MOST, &upload, &err), -EBUSY);
    assert_null(upload);
    assert_int_equal(gpu_upload_open("0000:ff:00.0", MOST, &upload, &err), -ENODEV);
    assert_null(upload);
    gpu_upload_close(NULL);
}
