#include "harness/comms/plugin/inject_cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/comms/logs/preload.h"

static const struct preload_symbol symbols[] = {
    {"cuptiGetVersion", offsetof(struct inject_cupti, get_version)},
    {"cuptiGetResultString", offsetof(struct inject_cupti, get_result_string)},
    {"cuptiSubscribe", offsetof(struct inject_cupti, subscribe)},
    {"cuptiUnsubscribe", offsetof(struct inject_cupti, unsubscribe)},
    {"cuptiActivityRegisterCallbacks", offsetof(struct inject_cupti, register_callbacks)},
    {"cuptiActivityConfigureUnifiedMemoryCounter", offsetof(struct inject_cupti, configure)},
    {"cuptiActivityEnable", offsetof(struct inject_cupti, enable)},
    {"cuptiActivityDisable", offsetof(struct inject_cupti, disable)},
    {"cuptiActivityFlushAll", offsetof(struct inject_cupti, flush_all)},
    {"cuptiActivityGetNextRecord", offsetof(struct inject_cupti, get_next_record)},
    {"cuptiActivityGetNumDroppedRecords", offsetof(struct inject_cupti, get_dropped)},
};

static bool use(const char *path, int how, struct inject_cupti *cupti)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | how);
    if (library &&
        preload_find_symbols(library, symbols, sizeof(symbols) / sizeof(symbols[0]), cupti))
        return true;
    if (library)
        (void)dlclose(library);
    return false;
}

/* The driver's own symbols; it has loaded us. One thread at a time asks. */
static void *driver_symbol(const char *name)
{
    static void *driver;
    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return driver ? dlsym(driver, name) : NULL;
}

/* 12 where it does not tell. CUPTI fails with a driver that is older (its manual, Compatibility).
 */
static int driver_major(void)
{
    int version = 0, (*get)(int *);
    void *symbol = driver_symbol("cuDriverGetVersion");
    memcpy(&get, &symbol, sizeof(get));
    return get && !get(&version) && version >= 12000 ? version / 1000 : 12;
}

/* The folder of the CUDA runtime that is loaded. */
static int take_folder(struct dl_phdr_info *info, size_t size, void *data)
{
    char *folder = data;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    (void)size;
    if (!name || strncmp(name, "/libcudart.so", 13) != 0)
        return 0;
    (void)snprintf(folder, PATH_MAX, "%.*s", (int)(name - info->dlpi_name), info->dlpi_name);
    return 1;
}

static bool use_in(const char *folder, int major, struct inject_cupti *cupti)
{
    static const char *const places[] = {
        "",    "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64", "/extras/CUPTI/lib64", "/lib64",
        "/lib"};
    char path[PATH_MAX + 64];
    for (size_t i = 0; folder && *folder && i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s/libcupti.so.%d", folder, places[i], major);
        if (use(path, 0, cupti))
            return true;
    }
    return false;
}

bool inject_cupti_load(struct inject_cupti *cupti)
{
    enum { NEWEST = 13, OLDEST = 12 };
    char folder[PATH_MAX] = "", name[32];
    const char *named = getenv("CONTEND_LIBCUPTI");
    if (named && *named)
        return use(named, 0, cupti);
    int newest = driver_major();
    newest = newest < NEWEST ? newest : NEWEST;
    for (int noload = 1; noload >= 0; noload--)
        for (int major = newest; major >= OLDEST; major--) {
            (void)snprintf(name, sizeof(name), "libcupti.so.%d", major);
            if (use(name, noload ? RTLD_NOLOAD : 0, cupti))
                return true;
        }
    (void)dl_iterate_phdr(take_folder, folder);
    const char *const folders[] = {folder, getenv("CUDA_HOME"), getenv("CUDA_PATH"),
                                   "/usr/local/cuda"};
    for (int major = newest; major >= OLDEST; major--)
        for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
            if (use_in(folders[i], major, cupti))
                return true;
    return false;
}

void inject_cupti_find_pci(int device, char *pci, int size)
{
    int (*find)(char *, int, int);
    void *symbol = driver_symbol("cuDeviceGetPCIBusId");
    memcpy(&find, &symbol, sizeof(find));
    if (!find || find(pci, size, device))
        pci[0] = '\0';
    pci[size - 1] = '\0';
}
