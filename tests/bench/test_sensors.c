/* What a GPU says of itself while it works, over a made-up driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/gpu/gpu_sensors.h"
#include "tests/lib/fixture_driver.h"

static int check_reading(void)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    struct err err = {0};
    CHECK(gpu_sensors_open(&sensors, "beef:08:00.0", &err) == 0);
    gpu_sensors_read(&sensors, &reading);
    CHECK(reading.clock_mhz == 1501 && reading.temperature_c == 40);
    CHECK(fabs(reading.power_w - 120.4) < 1e-9);
    CHECK(reading.throttle[GPU_THROTTLE_SW_POWER_CAP] == 1);
    CHECK(reading.throttle[GPU_THROTTLE_HW_THERMAL] == 1);
    CHECK(reading.throttle[GPU_THROTTLE_HW_SLOWDOWN] == 0);
    CHECK(reading.throttle[GPU_THROTTLE_SW_THERMAL] == 0);
    CHECK(reading.throttle[GPU_THROTTLE_POWER_BRAKE] == 0);
    return 0;
}

static int check_power_now(void)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    CHECK(gpu_sensors_open(&sensors, "beef:07:00.0", NULL) == 0);
    gpu_sensors_read(&sensors, &reading);
    CHECK(fabs(reading.power_w - 650.5) < 1e-9);
    return 0;
}

static int check_absent_calls(void)
{
    struct gpu_sensors sensors;
    struct gpu_reading reading;
    CHECK(gpu_sensors_open(&sensors, "beef:07:00.0", NULL) == 0);
    gpu_sensors_read(&sensors, &reading);
    CHECK(isnan(reading.clock_mhz) && isnan(reading.power_w) && isnan(reading.temperature_c));
    CHECK(isnan(reading.throttle[GPU_THROTTLE_SW_POWER_CAP]));
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
    CHECK(isnan(reading.clock_mhz));
    return 0;
}

static void test_sensors_read_what_the_gpu_says(void **state)
{
    (void)state;
    fixture_driver_check("-DFULL", "throttle=0x44", check_reading);
}

static void test_sensors_prefer_the_power_of_this_moment(void **state)
{
    (void)state;
    fixture_driver_check("-DFULL", "power_now=650500", check_power_now);
}

static void test_sensors_do_without_what_is_absent(void **state)
{
    (void)state;
    fixture_driver_check("-DBARE", NULL, check_absent_calls);
    fixture_driver_check("-DFULL", NULL, check_unknown_gpu);
    assert_int_equal(
        fixture_driver_in_child("/nonexistent/libnvidia-ml.so.1", NULL, check_no_library), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sensors_read_what_the_gpu_says),
        cmocka_unit_test(test_sensors_prefer_the_power_of_this_moment),
        cmocka_unit_test(test_sensors_do_without_what_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
