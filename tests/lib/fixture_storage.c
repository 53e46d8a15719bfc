#include "tests/lib/fixture_storage.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Floating-point formats that C has no type for: a sign, an exponent, a fraction. */
struct narrow {
    int exponent_bits, fraction_bits;
    uint32_t largest; /* largest finite pattern without the sign; larger ones are NaN or infinite */
};

static const struct narrow narrows[] = {
    [MATMUL_AS_BF16] = {8, 7, 0x7f7f},
    [MATMUL_AS_FP16] = {5, 10, 0x7bff},
    [MATMUL_AS_E4M3] = {4, 3, 0x7e},
};

static const struct {
    enum matmul_storage in, out;
} storages[MATMUL_TYPES] = {
    [MATMUL_FP64] = {MATMUL_AS_DOUBLE, MATMUL_AS_DOUBLE},
    [MATMUL_FP32] = {MATMUL_AS_FLOAT, MATMUL_AS_FLOAT},
    [MATMUL_TF32] = {MATMUL_AS_FLOAT, MATMUL_AS_FLOAT},
    [MATMUL_BF16] = {MATMUL_AS_BF16, MATMUL_AS_BF16},
    [MATMUL_FP16] = {MATMUL_AS_FP16, MATMUL_AS_FP16},
    [MATMUL_FP8] = {MATMUL_AS_E4M3, MATMUL_AS_BF16},
    [MATMUL_INT8] = {MATMUL_AS_INT8, MATMUL_AS_INT32},
};

enum matmul_storage matmul_storage_in(enum matmul_type type)
{
    return storages[type].in;
}

enum matmul_storage matmul_storage_out(enum matmul_type type)
{
    return storages[type].out;
}

size_t matmul_storage_bytes(enum matmul_storage storage)
{
    static const size_t bytes[] = {
        [MATMUL_AS_DOUBLE] = 8, [MATMUL_AS_FLOAT] = 4, [MATMUL_AS_BF16] = 2,  [MATMUL_AS_FP16] = 2,
        [MATMUL_AS_E4M3] = 1,   [MATMUL_AS_INT8] = 1,  [MATMUL_AS_INT32] = 4,
    };
    return bytes[storage];
}

/* The exponent of the last bit of the smallest values. */
static int least_exponent(const struct narrow *format)
{
    return 2 - (1 << (format->exponent_bits - 1)) - format->fraction_bits;
}

static double widen(const struct narrow *format, uint32_t bits)
{
    uint32_t sign = bits >> (format->exponent_bits + format->fraction_bits) & 1;
    uint32_t size = bits & ((1u << (format->exponent_bits + format->fraction_bits)) - 1);
    uint32_t exponent = size >> format->fraction_bits;
    uint32_t whole = size & ((1u << format->fraction_bits) - 1);
    if (size > format->largest)
        return NAN;
    if (exponent)
        whole += 1u << format->fraction_bits;
    double value = ldexp(whole, least_exponent(format) + (exponent ? (int)exponent - 1 : 0));
    return sign ? -value : value;
}

/* If rounding carries the fraction to the next power of two, the sum also increments the
 * exponent. */
static uint32_t narrow(const struct narrow *format, double value)
{
    uint32_t sign = signbit(value) ? 1u << (format->exponent_bits + format->fraction_bits) : 0;
    int exponent, least = least_exponent(format);
    if (isnan(value))
        return (1u << (format->exponent_bits + format->fraction_bits)) - 1;
    (void)frexp(value, &exponent);
    exponent -= 1 + format->fraction_bits; /* of the last bit */
    if (value == 0 || exponent < least)
        exponent = least;
    double whole = nearbyint(ldexp(fabs(value), -exponent));
    double size = whole + ldexp(exponent - least, format->fraction_bits);
    return sign | (size > format->largest ? format->largest : (uint32_t)size);
}

static double get_whole(const void *from, size_t bytes)
{
    int32_t wide;
    int8_t byte;
    if (bytes == sizeof(byte)) {
        memcpy(&byte, from, bytes);
        return byte;
    }
    memcpy(&wide, from, bytes);
    return wide;
}

double matmul_storage_get(enum matmul_storage storage, const void *from)
{
    double wide;
    float single;
    uint32_t bits = 0;
    switch (storage) {
    case MATMUL_AS_DOUBLE:
        memcpy(&wide, from, sizeof(wide));
        return isfinite(wide) ? wide : NAN;
    case MATMUL_AS_FLOAT:
        memcpy(&single, from, sizeof(single));
        return isfinite(single) ? (double)single : NAN;
    case MATMUL_AS_INT8:
    case MATMUL_AS_INT32:
        return get_whole(from, matmul_storage_bytes(storage));
    default:
        memcpy(&bits, from,
               matmul_storage_bytes(storage)); /* little-endian: the lowest byte comes first */
        return widen(&narrows[storage], bits);
    }
}

void matmul_storage_put(enum matmul_storage storage, void *to, double value)
{
    float single = (float)value;
    uint32_t bits;
    switch (storage) {
    case MATMUL_AS_DOUBLE:
        memcpy(to, &value, sizeof(value));
        return;
    case MATMUL_AS_FLOAT:
        memcpy(to, &single, sizeof(single));
        return;
    case MATMUL_AS_INT8:
        bits = (uint32_t)(int32_t)fmax(-128, fmin(127, nearbyint(value)));
        break;
    case MATMUL_AS_INT32:
        bits = (uint32_t)(int32_t)fmax(INT32_MIN, fmin(INT32_MAX, nearbyint(value)));
        break;
    default:
        bits = narrow(&narrows[storage], value);
    }
    memcpy(to, &bits, matmul_storage_bytes(storage));
}
