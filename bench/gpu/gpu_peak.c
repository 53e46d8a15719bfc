#include "bench/gpu/gpu_peak.h"

#include <stddef.h>
#include <string.h>

/* The first row whose words are all in the name applies: special rows come before general rows. */
static const struct {
    const char *word, *other;    /* `other` may be NULL */
    double tflops[MATMUL_TYPES]; /* fp64, fp32, tf32, bf16, fp16, fp8, int8 */
} sheets[] = {
    {"B200", NULL, {37, 75, 1125, 2250, 2250, 4500, 4500}},
    {"H200", "NVL", {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}},
    {"GH200", NULL, {67, 67, 494.5, 989.5, 989.5, 1979, 1979}},
    {"H200", NULL, {67, 67, 494.5, 989.5, 989.5, 1979, 1979}},
    {"H100", "NVL", {60, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5}},
    {"H100", "PCIe", {51, 51, 378, 756.5, 756.5, 1513, 1513}},
    {"H100", "HBM3", {67, 67, 494.5, 989.5, 989.5, 1979, 1979}}, /* SXM: "H100 80GB HBM3" */
    {"H20", NULL, {1, 44, 74, 148, 148, 296, 296}},
    {"A100", NULL, {19.5, 19.5, 156, 312, 312, 0, 624}},
    {"L40S", NULL, {0, 91.6, 183, 362.05, 362.05, 733, 733}},
    {"L4", NULL, {0, 30.3, 60, 121, 121, 242.5, 242.5}},
};

/* Whole words only, also between '-': "A100-SXM4-80GB" has "A100", but "L40" has no "L4". */
static int has_word(const char *name, const char *word)
{
    static const char between[] = " -_/";
    size_t length = strlen(word);
    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
        if ((at == name || strchr(between, at[-1])) && (!at[length] || strchr(between, at[length])))
            return 1;
    return 0;
}

double gpu_peak_tflops(const char *name, enum matmul_type type)
{
    if (has_word(name, "MIG"))
        return 0;
    for (size_t i = 0; i < sizeof(sheets) / sizeof(sheets[0]); i++)
        if (has_word(name, sheets[i].word) && (!sheets[i].other || has_word(name, sheets[i].other)))
            return sheets[i].tflops[type];
    return 0;
}
