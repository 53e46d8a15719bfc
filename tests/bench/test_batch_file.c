/* bench/feed/batch.h: raw batches are read from a file as they were written. */
#include "bench/feed/batch.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

/* No batch ends at the boundary of a page or of a write. */
enum { SOURCES = 4, CELLS = 100003, BATCHES = 44 };

static float *sources_new(void)
{
    float *sources = malloc(SOURCES * CELLS * sizeof(*sources));
    assert_non_null(sources);
    for (size_t i = 0; i < (size_t)SOURCES * CELLS; i++)
        sources[i] = (float)i;
    return sources;
}

TEST_IN_DIR(batch_file_has_the_raw_batches_in_turn)
{
    struct batches batches = {.cells = CELLS, .sources = sources_new()};
    struct batch_file file;
    struct place place;
    struct err err;
    float *got = malloc(CELLS * sizeof(*got));
    assert_non_null(got);
    if (place_open_directory(&place, fixture_dir, &err) ||
        batch_file_make(&file, &place, &batches, 1, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(file.data.file_bytes, BATCHES * CELLS * sizeof(float));
    assert_int_equal(data_evict(&file.data, &err), 0);
    for (unsigned i = 0; i < 2 * BATCHES; i++) {
        assert_int_equal(batch_file_read(&file, i, got, &err), 0);
        assert_memory_equal(got, batches.sources + i % SOURCES * CELLS, CELLS * sizeof(*got));
        batch_file_drop(&file, i);
    }
    data_free(&file.data);
    free(got);
    free(batches.sources);
}

TEST(batch_file_is_larger_than_caches)
{
    assert_true(batch_file_bytes(CELLS) == (double)BATCHES * CELLS * sizeof(float));
    assert_true(batch_file_bytes(1 << 22) == 12.0 * (1 << 24));
}

TEST_IN_DIR(batch_file_without_room)
{
    struct batches batches = {.cells = CELLS};
    struct batch_file file;
    struct place place;
    struct err err;
    assert_int_equal(place_open_directory(&place, fixture_dir, &err), 0);
    place.free_bytes = 8 * BATCHES * CELLS * sizeof(float);
    assert_int_equal(batch_file_make(&file, &place, &batches, 3, &err), -ENOTSUP);
    assert_has(err.msg, "do not fit");
    assert_int_equal(file.batch_bytes, 0);
    data_free(&file.data);
}
