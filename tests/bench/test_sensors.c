/* A GPU's sensors under load, over a made-up driver, and the averages made of them. */
#include "bench/gpu/gpu_sensors.h"
#include "tests/lib/fixture_driver.h"
#include "tests/lib/unit.h"

static int check_reading(void)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    CHECK(gpu_sensors_open(&sensors, "beef:08:00.0", NULL) == 0);
    gpu_sensors_read(&sensors, &reading);
    CHECK(reading.at_ns > 0 && reading.clock_mhz == 1501 && reading.temperature_c == 40);
    CHECK(reading.energy_mj == 7000000000);
    CHECK(reading.throttled_ns[GPU_THROTTLE_POWER] == 12);
    CHECK(reading.throttled_ns[GPU_THROTTLE_THERMAL] == 0);
    CHECK(reading.throttled_ns[GPU_THROTTLE_SYNC_BOOST] == -1);
    CHECK(reading.throttled_ns[GPU_THROTTLE_RELIABILITY] == 5);
    return 0;
}

static int check_absent_calls(void)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    CHECK(gpu_sensors_open(&sensors, "beef:07:00.0", NULL) == 0);
    gpu_sensors_read(&sensors, &reading);
    CHECK(isnan(reading.clock_mhz) && isnan(reading.temperature_c) && reading.energy_mj == -1);
    CHECK(reading.throttled_ns[GPU_THROTTLE_POWER] == -1);
    return 0;
}

static int check_unknown_gpu(void)
{
    struct gpu_sensors sensors;
    struct err err = {0};
    CHECK(gpu_sensors_open(&sensors, "0000:00:00.0", &err) == -ENOTSUP);
    CHECK(!sensors.device && strstr(err.msg, "NVML does not know GPU 0000:00:00.0"));
    return 0;
}

static int check_no_library(void)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    struct err err = {0};
    CHECK(gpu_sensors_open(&sensors, "beef:07:00.0", &err) == -ENOTSUP);
    CHECK(strstr(err.msg, "/nonexistent/libnvidia-ml.so.1"));
    gpu_sensors_read(&sensors, &reading);
    CHECK(isnan(reading.clock_mhz) && reading.energy_mj == -1);
    return 0;
}

TEST(sensors_read_what_the_gpu_says)
{
    fixture_driver_check("FULL",
                         "energy1=7000000000 limited_power=12 limited_heat=0 limited_boost=fails "
                         "limited_voltage=5 power=118000",
                         check_reading);
}

TEST(sensors_do_without_what_is_absent)
{
    fixture_driver_check("BARE", NULL, check_absent_calls);
    fixture_driver_check("FULL", NULL, check_unknown_gpu);
    assert_int_equal(
        fixture_driver_in_child("/nonexistent/libnvidia-ml.so.1", NULL, check_no_library), 0);
}

/* A GPU of 500 W, and of `then_w` from then_ms on; its counters advance every step_ms. */
struct gpu {
    unsigned step_ms, then_ms;
    int64_t watts, then_w;
};

static struct gpu_reading read_at(const struct gpu *gpu, unsigned ms)
{
    int64_t seen_ms = (int64_t)ms - ms % gpu->step_ms, then_ms = gpu->then_ms;
    struct gpu_reading reading = {
        .at_ns = 1000000000 + ms * UINT64_C(1000000), .clock_mhz = 1500, .temperature_c = NAN};
    int64_t first_ms = then_ms && seen_ms > then_ms ? then_ms : seen_ms;
    reading.energy_mj = 88000000 + first_ms * gpu->watts + (seen_ms - first_ms) * gpu->then_w;
    for (int i = 0; i < GPU_THROTTLES; i++)
        reading.throttled_ns[i] = -1;
    reading.throttled_ns[GPU_THROTTLE_POWER] = 77 + seen_ms * 250000; /* a quarter of the time */
    reading.throttled_ns[GPU_THROTTLE_THERMAL] = 42;
    return reading;
}

/* Read every 10 ms from begin_ms to end_ms. */
static struct gpu_means watch(const struct gpu *gpu, unsigned begin_ms, unsigned end_ms)
{
    struct gpu_average average = {0};
    for (unsigned ms = begin_ms; ms <= end_ms; ms += 10) {
        struct gpu_reading reading = read_at(gpu, ms);
        gpu_average_add(&average, &reading);
    }
    return gpu_average_get(&average);
}

/* The error stays within what the header promises, wherever steps fall between readings. */
TEST(sensors_power_is_of_the_energy_counter)
{
    static const unsigned steps_ms[] = {1, 20, 33, 97, 100};
    for (unsigned begin = 0; begin < 100; begin += 7)
        for (size_t i = 0; i < sizeof(steps_ms) / sizeof(steps_ms[0]); i++) {
            struct gpu gpu = {.step_ms = steps_ms[i], .watts = 500};
            struct gpu_means means = watch(&gpu, begin, begin + 600);
            assert_true(fabs(means.power_w / 500 - 1) <= GPU_SENSORS_ERROR);
            assert_true(fabs(means.throttle[GPU_THROTTLE_POWER] / 0.25 - 1) <= GPU_SENSORS_ERROR);
            assert_true(means.throttle[GPU_THROTTLE_THERMAL] == 0);
            assert_true(isnan(means.throttle[GPU_THROTTLE_SYNC_BOOST]));
            assert_true(means.clock_mhz == 1500 && isnan(means.temperature_c));
        }
}

/* A slice of 97 ms sees at most one step of such a counter. */
TEST(sensors_say_nothing_of_a_short_time)
{
    struct gpu gpu = {.step_ms = 100, .watts = 500};
    for (unsigned begin = 0; begin < 100; begin += 7) {
        struct gpu_means means = watch(&gpu, begin, begin + 97);
        assert_true(isnan(means.power_w) && isnan(means.throttle[GPU_THROTTLE_POWER]));
        means = watch(&gpu, begin, begin + 240); /* two steps, but the readings are too coarse */
        assert_true(isnan(means.power_w));
        assert_true(means.clock_mhz == 1500);
    }
}

TEST(sensors_say_nothing_without_a_counter)
{
    struct gpu_average average = {0};
    struct gpu gpu = {.step_ms = 20, .watts = 500};
    for (unsigned ms = 0; ms <= 1000; ms += 10) {
        struct gpu_reading reading = read_at(&gpu, ms);
        reading.energy_mj = -1;
        gpu_average_add(&average, &reading);
    }
    struct gpu_means means = gpu_average_get(&average);
    assert_true(isnan(means.power_w) && isnan(means.throttle[GPU_THROTTLE_RELIABILITY]));
    assert_true(fabs(means.throttle[GPU_THROTTLE_POWER] - 0.25) < 0.01);
    average = (struct gpu_average){0};
    means = gpu_average_get(&average);
    assert_true(isnan(means.power_w) && isnan(means.clock_mhz));
}

/* A driver restart in between: only what the counters gain afterwards is known. */
TEST(sensors_begin_again_behind_a_reset)
{
    struct gpu gpu = {.step_ms = 20, .watts = 500, .then_ms = 500, .then_w = 300};
    struct gpu_average average = {0};
    for (unsigned ms = 0; ms <= 1000; ms += 10) {
        struct gpu_reading reading = read_at(&gpu, ms);
        if (ms > 500)
            reading.energy_mj -= 88000000 + 499 * 500;
        gpu_average_add(&average, &reading);
    }
    assert_true(fabs(gpu_average_get(&average).power_w / 300 - 1) <= GPU_SENSORS_ERROR);
    struct gpu_reading reading = read_at(&gpu, 10); /* and a second restart */
    gpu_average_add(&average, &reading);
    reading.energy_mj = 3;
    gpu_average_add(&average, &reading);
    assert_true(isnan(gpu_average_get(&average).power_w));
}
