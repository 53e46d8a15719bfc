#include "tests/lib/fixture_gpu.h"

#include <stdio.h>

#include "harness/machine/gpu_driver.h"
#include "tests/lib/fixture_scan.h"

unsigned fixture_find_gpus(struct bench_machine *machine)
{
    struct err err = {.msg = "the driver lists no GPU"};
    const struct cuda_api *cuda = cuda_driver(&err);
    int count = 0, device;
    scan_machine_init(machine);
    machine->ngpus = 0;
    if (cuda && cuda->device_count(&count))
        count = 0;
    for (int i = 0; i < count && machine->ngpus < sizeof(machine->gpus) / sizeof(machine->gpus[0]);
         i++) {
        struct bench_gpu *gpu = &machine->gpus[machine->ngpus];
        gpu->os_node = -1;
        if (!cuda->device_get(&device, i) &&
            !cuda->pci_bus_id(gpu->pci_bdf, sizeof(gpu->pci_bdf), device))
            machine->ngpus++;
    }
    if (machine->ngpus == 0)
        (void)printf("SKIP: needs a GPU: %s\n", err.msg);
    return machine->ngpus;
}
