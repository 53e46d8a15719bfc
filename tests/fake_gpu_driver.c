/*
 * A CUDA driver and an NVML in one shared library, for test_topo.c, which builds it when it runs.
 * NVML knows three GPUs, CUDA sees two of them, in another order. The PCI domain beef is on no
 * machine, so that sysfs has nothing to say. With -DBARE only the calls are there that contend
 * cannot do without; with -DBROKEN both fail to start.
 */
#include <stdio.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetPCIBusId(char *bdf, int len, int device);
int nvmlInit_v2(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, int **device);

static int handles[3] = {0, 1, 2}; /* PCI buses 7, 8, 9 */

int cuInit(unsigned flags)
{
#ifdef BROKEN
    return 100;
#endif
    return (int)flags;
}

int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = 1 - ordinal;
    return 0;
}

int cuDeviceGetPCIBusId(char *bdf, int len, int device)
{
    return snprintf(bdf, (size_t)len, "BEEF:%02X:00.0", 7 + device) < 0;
}

int nvmlInit_v2(void)
{
#ifdef BROKEN
    return 9;
#endif
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, int **device)
{
    unsigned domain, bus;
    if (sscanf(bdf, "%x:%x", &domain, &bus) != 2 || domain != 0xbeef || bus < 7 || bus > 9)
        return 6;
    *device = &handles[bus - 7];
    return 0;
}

#ifndef BARE
struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

int cuDeviceGetName(char *name, int len, int device);
int cuDeviceGetUuid(unsigned char *uuid, int device);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, int **device);
int nvmlDeviceGetPciInfo_v3(int *device, struct pci *pci);
int nvmlDeviceGetName(int *device, char *name, unsigned len);
int nvmlDeviceGetMemoryAffinity(int *device, unsigned words, unsigned long *nodes, int scope);
int nvmlDeviceGetCpuAffinity(int *device, unsigned words, unsigned long *cpus);
int nvmlDeviceGetClockInfo(int *device, int clock, unsigned *mhz);
int nvmlDeviceGetTemperature(int *device, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksThrottleReasons(int *device, unsigned long long *reasons);
int nvmlSystemGetDriverVersion(char *version, unsigned len);

int cuDeviceGetName(char *name, int len, int device)
{
    return snprintf(name, (size_t)len, "Fake \033[31m GPU %d", device) < 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    memset(uuid, 0xa0 + device, 16);
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 3;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, int **device)
{
    *device = &handles[index];
    return 0;
}

int nvmlDeviceGetPciInfo_v3(int *device, struct pci *pci)
{
    return snprintf(pci->bus_id, sizeof(pci->bus_id), "0000BEEF:%02X:00.0", 7 + *device) < 0;
}

int nvmlDeviceGetName(int *device, char *name, unsigned len)
{
    return snprintf(name, len, "NVML %d", *device) < 0;
}

/* The first two say their node, the third all nodes, as NVML does where it does not know. */
int nvmlDeviceGetMemoryAffinity(int *device, unsigned words, unsigned long *nodes, int scope)
{
    memset(nodes, 0, words * sizeof(*nodes));
    nodes[0] = *device < 2 ? 1UL << *device : 3UL;
    return scope;
}

int nvmlDeviceGetCpuAffinity(int *device, unsigned words, unsigned long *cpus)
{
    (void)device;
    memset(cpus, 0xff, words * sizeof(*cpus));
    return 0;
}

int nvmlDeviceGetClockInfo(int *device, int clock, unsigned *mhz)
{
    *mhz = clock == 1 ? 1500 + (unsigned)*device : 0;
    return 0;
}

int nvmlDeviceGetTemperature(int *device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 40;
    return sensor;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(int *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = 0x44;
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned len)
{
    return snprintf(version, len, "999.1") < 0;
}
#endif
