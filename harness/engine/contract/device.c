#include "harness/engine/contract/device.h"

#include <string.h>

const struct device_info device_infos[DEVICE_COUNT] = {
#define DEVICE_INFO(id, ...) [DEVICE_##id] = {__VA_ARGS__},
    DEVICES(DEVICE_INFO)
#undef DEVICE_INFO
};

const char *device_name(enum device device)
{
    return device_infos[device].name;
}

const char *device_mark(enum device device)
{
    return device == DEVICE_SIM ? ", sim" : "";
}

enum device device_find(const char *name)
{
    for (enum device device = DEVICE_NONE; device < DEVICE_COUNT; device++)
        if (strcmp(device_name(device), name) == 0)
            return device;
    return DEVICE_NONE;
}
