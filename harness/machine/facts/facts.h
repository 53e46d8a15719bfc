/*
 * The facts that `contend validate` judges: this machine, read once, and its measurements.
 *
 * Everything may be unknown: -1 of integers, NaN of numbers, "" of texts, and of what needs rights
 * that we may not have, a reason. Nothing here is written to or changed.
 *
 *   struct facts facts;
 *   rc = facts_read(&request, &facts, &err);
 *   ... validate/rules/rules.h ...
 *   facts_free(&facts);
 *
 * Sources: Documentation/ABI/testing/sysfs-bus-pci, sysfs-bus-pci-devices-aer_stats, sysfs-devices-
 * edac and dev-kmsg of the kernel; SMBIOS reference specification 3.7 (DSP0134), 7.5 and 7.18.
 */
#ifndef CONTEND_MACHINE_FACTS_FACTS_H
#define CONTEND_MACHINE_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/machine/facts/env.h"
#include "harness/machine/topo/topo.h"

/* Whether a source could be read. */
enum facts_source {
    FACTS_ABSENT, /* there is none here */
    FACTS_DENIED, /* there is one, and we may not read it */
    FACTS_READ
};

/* On the PCI bus, by class: what we care for. */
enum facts_kind { FACTS_GPU, FACTS_NVSWITCH, FACTS_NIC, FACTS_NVME, FACTS_OTHER };

struct facts_device {
    enum facts_kind kind;
    char bdf[PCI_BDF_MAX];
    char slot[32];       /* as the machine's maker calls it, "5"; "" = not told */
    char driver[32];     /* bound to it; "" = none */
    double gts, gts_max; /* of its link, GT/s: now, and the most that the device can do */
    int lanes, lanes_max;
    int lanes_slot;                                   /* the most of the port above it */
    int64_t aer_fatal, aer_nonfatal, aer_correctable; /* errors since boot */
};

/* One place for a memory module. */
struct facts_dimm {
    char locator[48], bank[48];
    int64_t size_mib; /* 0 = empty, -1 = unknown */
    int rated_mts, configured_mts;
    int data_bits;
};

struct facts_socket {
    char name[48];
    bool populated, enabled;
    int cores, cores_enabled; /* -1 = not told */
};

enum facts_event_kind {
    EVENT_XID,  /* of a GPU */
    EVENT_SXID, /* of an NVSwitch */
    EVENT_AER_UNCORRECTED,
    EVENT_AER_CORRECTED,
    EVENT_MACHINE_CHECK,
    EVENT_OUT_OF_MEMORY
};

/* Lines of the kernel log that say the same of the same unit. */
struct facts_event {
    enum facts_event_kind kind;
    int number;             /* of an Xid or SXid; else 0 */
    char unit[40];          /* PCI address; "" = not told */
    unsigned count;         /* of lines */
    double first_s, last_s; /* since boot */
    char line[160];         /* the first of them, one line */
};

/* A memory controller, or a module of it, that has counted errors. */
struct facts_edac {
    char name[64]; /* "mc0", or the module's label */
    int64_t corrected, uncorrected;
};

/* A port of an RDMA device. */
struct facts_port {
    char name[64];       /* "mlx5_0 port 1" */
    char model[48];      /* of its board: equal ones are peers */
    int state, physical; /* as the kernel numbers them; -1 = unknown */
    double rate_gbps;
    double symbol_errors, recoveries, downs, receive_errors; /* since they were cleared */
};

/* How a measurement went. */
enum facts_probe_status {
    PROBE_NOT_ASKED, /* its rules were not asked for, or the time was too short: `reason` */
    PROBE_ABSENT,    /* nothing here to measure: `reason` */
    PROBE_LACKS,     /* there is something to measure, and no way to: `reason` says what it needs */
    PROBE_DONE,
    PROBE_FAILED, /* should have run: `reason` */
    PROBE_HUNG    /* did not end in its time: `reason` */
};

struct facts_value {
    char metric[32];
    char key[DIMS_KEY_MAX];
    double value; /* of several rounds the best; NaN = it failed, for this reason */
    char why[200];
    const char *unit, *better; /* as its metric says; NULL = unknown */
    bool gating;               /* it is what the measurement is for */
};

/* One measurement; the names are in validate/rules/rules.h. */
struct facts_probe {
    enum facts_probe_status status;
    char reason[252];
    size_t n, capacity;
    struct facts_value *values; /* owned */
};

enum facts_probe_name {
    PROBE_CPU_SPEED,
    PROBE_IDLE_EXIT,
    PROBE_MEMORY_BANDWIDTH,
    PROBE_NODE_BANDWIDTH,
    PROBE_GPU_STREAM,
    PROBE_GPU_COPY,
    PROBE_GPU_MATMUL,
    PROBE_GPU_MEMORY,
    PROBE_COLLECTIVE,
    PROBE_COLLECTIVE_STAGED,
    PROBE_BURN,
    PROBES
};
/* "memory_bandwidth": of validate.json, the same in all versions. */
extern const char *const facts_probe_names[PROBES];

struct facts {
    const struct topo *topo; /* borrowed: CPUs, nodes, GPUs and their health */
    struct environment env;  /* settings and limits; owned */
    char host[ENV_HOST_LABEL_MAX];
    char why_no_gpus[200]; /* as the driver says it; "" = it shows some, or none is here */
    char other_gpus[96];   /* on the bus, as other_gpus_format says it; "" = none */

    bool container;                /* Docker, Podman, Kubernetes, LXC, systemd-nspawn */
    int cpus_present, cpus_online; /* logical CPUs of the whole machine */
    char smt[16];                  /* "on", "off", "forceoff", "notsupported" */
    double shm_bytes;              /* size of /dev/shm */
    double swap_used_bytes;
    double steal;           /* share of the CPUs' time over a second */
    double throttle_events; /* thermal throttling of CPUs since boot, all together */
    double machine_checks;  /* exceptions since boot, all CPUs */
    char scaling_driver[32];
    bool peermem, rdma; /* module nvidia_peermem; an RDMA device */

    enum facts_source pci;
    size_t ndevices;
    struct facts_device *devices; /* owned; sorted by address */

    enum facts_source dmi;
    size_t ndimms, nsockets;
    struct facts_dimm *dimms;     /* owned, as the firmware lists them, empty places too */
    struct facts_socket *sockets; /* owned */

    enum facts_source edac;
    size_t nedac;
    struct facts_edac *edacs; /* owned */

    size_t nports;
    struct facts_port *ports; /* owned */

    enum facts_source log;
    size_t nevents;
    struct facts_event *events; /* owned, in the order of their first lines */

    struct facts_probe probes[PROBES];
    const struct facts *later; /* borrowed: read again behind a burn-in; NULL = there was none */
};

struct facts_request {
    const char *root;        /* "", or in tests what stands for "/" */
    const struct topo *topo; /* outlives the facts */
    double sample_s;         /* how long steal time is watched; 0 = it stays unknown */
};

/* Free *facts with facts_free, also after an error: -ENOMEM only. */
int facts_read(const struct facts_request *request, struct facts *facts, struct err *err);
void facts_free(struct facts *facts);
void facts_free_probes(struct facts_probe probes[static PROBES]);

/* All unknown, for tests of what judges them. */
void facts_init(struct facts *facts);

/* The parts, each of which fills its own fields. */
int facts_read_pci(const char *root, struct facts *facts, struct err *err);
int facts_read_dmi(const char *root, struct facts *facts, struct err *err);
int facts_read_edac(const char *root, struct facts *facts, struct err *err);
int facts_read_rdma(const char *root, struct facts *facts, struct err *err);
int facts_read_log(const char *root, struct facts *facts, struct err *err);

/* Appends a value of a measurement: -ENOMEM. */
int facts_put(struct facts_probe *probe, const struct facts_value *value, struct err *err);

/*
 * Another look at the same: of each value the better one, as disturbances only cost speed; what was
 * lost on either look is lost. One that did not end, or did not run, adds nothing. -ENOMEM.
 */
int facts_join_looks(struct facts_probe *probe, const struct facts_probe *again, struct err *err);

/* The device of that name on the bus; NULL = there is none. */
const struct facts_device *facts_find_device(const struct facts *facts, const char *bdf);

/*
 * The sum over all CPUs of a file of their thermal_throttle, "core_throttle_count" or
 * "core_throttle_total_time_ms"; NaN where none has it.
 */
double facts_sum_throttling(const char *root, const char *file);

/* A CPU may take so much longer to wake up from idleness than from a busy loop, us. */
enum { FACTS_IDLE_EXIT_MOST_US = 50, FACTS_IDLE_EXIT_MOST_VIRTUAL_US = 200 };

/* "0000:3b:00.0 (slot 5)". Returns buf. */
char *facts_device_name(const struct facts_device *device, char *buf, size_t size);

#endif
