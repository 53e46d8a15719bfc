/*
 * The facts that `contend validate` judges: this machine, read once, and its measurements.
 *
 * Any fact may be unknown: -1 for integers, NaN for numbers, "" for text. For sources that need
 * privileges, enum facts_source says why. Reading changes nothing.
 *
 *   struct facts facts;
 *   rc = facts_read(&request, &facts, &err);
 *   ... validate/rules/rules.h ...
 *   facts_free(&facts);
 *
 * Sources: Documentation/ABI/testing/sysfs-bus-pci, sysfs-bus-pci-devices-aer_stats, sysfs-devices-
 * edac and dev-kmsg of the kernel; SMBIOS reference specification 3.7 (DSP0134), 7.5 and 7.18.
 */
#ifndef CONTEND_MACHINE_FACTS_H
#define CONTEND_MACHINE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/pci.h"
#include "harness/machine/env.h"
#include "harness/machine/topo.h"

/* Whether a source could be read. */
enum facts_source {
    FACTS_ABSENT, /* the source does not exist here */
    FACTS_DENIED, /* the source exists, but we may not read it */
    FACTS_READ
};

/* Kinds of PCI devices that rules use, by class. */
enum facts_kind { FACTS_GPU, FACTS_NVSWITCH, FACTS_NIC, FACTS_NVME, FACTS_OTHER };

struct facts_device {
    enum facts_kind kind;
    char bdf[PCI_BDF_MAX];
    char slot[32];       /* slot name by the machine's vendor, "5"; "" = unknown */
    char driver[32];     /* bound to it; "" = none */
    double gts, gts_max; /* link speed, GT/s: now, and the device's maximum */
    int lanes, lanes_max;
    int lanes_slot;                                   /* maximum of the upstream port */
    int64_t aer_fatal, aer_nonfatal, aer_correctable; /* errors since boot */
};

/* A slot for a memory module. */
struct facts_dimm {
    char locator[48], bank[48];
    int64_t size_mib; /* 0 = empty, -1 = unknown */
    int rated_mts, configured_mts;
    int data_bits;
};

struct facts_socket {
    char name[48];
    bool populated, enabled;
    int cores, cores_enabled; /* -1 = unknown */
};

enum facts_event_kind {
    EVENT_XID,  /* of a GPU */
    EVENT_SXID, /* of an NVSwitch */
    EVENT_AER_UNCORRECTED,
    EVENT_AER_CORRECTED,
    EVENT_MACHINE_CHECK,
    EVENT_OUT_OF_MEMORY
};

/* Lines of the kernel log with the same message about the same unit. */
struct facts_event {
    enum facts_event_kind kind;
    int number;             /* of an Xid or SXid; else 0 */
    char unit[40];          /* PCI address; "" = unknown */
    unsigned count;         /* number of lines */
    double first_s, last_s; /* since boot */
    char line[160];         /* the first of these lines */
};

/* A memory controller, or one of its modules, that has counted errors. */
struct facts_edac {
    char name[64]; /* "mc0", or the module's label */
    int64_t corrected, uncorrected;
};

/* A port of an RDMA device. */
struct facts_port {
    char name[64];       /* "mlx5_0 port 1" */
    char model[48];      /* of its board: ports with equal models are compared */
    int state, physical; /* as the kernel numbers them; -1 = unknown */
    double rate_gbps;
    double symbol_errors, recoveries, downs, receive_errors; /* since the counters were cleared */
};

/* How a measurement went. */
enum facts_probe_status {
    PROBE_NOT_ASKED,   /* its rules were not requested, or time was too short: `reason` */
    PROBE_ABSENT,      /* nothing here to measure: `reason` */
    PROBE_UNSUPPORTED, /* it cannot be measured here: `reason` says what is missing */
    PROBE_DONE,
    PROBE_FAILED, /* should have run: `reason` */
    PROBE_HUNG    /* did not end in its time: `reason` */
};

enum { FACTS_KEY_MAX = 68 };

struct facts_value {
    char metric[32];
    char key[FACTS_KEY_MAX]; /* of dims_format */
    double value;            /* best of several rounds; NaN = failed, see `why` */
    char why[200];
    const char *unit, *better; /* from its metric; NULL = unknown */
    bool gating;               /* a gating metric of the measurement */
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
/* Names as in validate.json, such as "memory_bandwidth"; the same in all versions. */
extern const char *const facts_probe_names[PROBES];

struct facts {
    const struct topo *topo; /* borrowed: CPUs, nodes, GPUs and their health */
    struct environment env;  /* settings and limits; owned */
    char host[ENV_HOST_LABEL_MAX];
    char why_no_gpus[200]; /* the driver's reason; "" = it lists some, or there are none */
    char other_gpus[96];   /* on the bus, from other_gpus_format; "" = none */

    bool container;                /* Docker, Podman, Kubernetes, LXC, systemd-nspawn */
    int cpus_present, cpus_online; /* logical CPUs of the whole machine */
    char smt[16];                  /* "on", "off", "forceoff", "notsupported" */
    double shm_bytes;              /* size of /dev/shm */
    double swap_used_bytes;
    double steal;           /* share of the CPUs' time over a second */
    double throttle_events; /* thermal throttling events since boot, all CPUs */
    double machine_checks;  /* exceptions since boot, all CPUs */
    char scaling_driver[32];
    bool peermem, rdma; /* module nvidia_peermem; an RDMA device */

    enum facts_source pci;
    size_t ndevices;
    struct facts_device *devices; /* owned; sorted by address */

    enum facts_source dmi;
    size_t ndimms, nsockets;
    struct facts_dimm *dimms;     /* owned, in the firmware's order, with empty slots */
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
    const struct facts *after_burn; /* borrowed: facts read again after a burn-in; NULL = none */
};

struct facts_request {
    const char *root;        /* "", or the root of a fake system in tests */
    const struct topo *topo; /* must outlive the facts */
    double sample_s;         /* how long to watch steal time; 0 = leave it unknown */
};

/* -ENOMEM only. Free *facts with facts_free, also after an error. */
int facts_read(const struct facts_request *request, struct facts *facts, struct err *err);
void facts_free(struct facts *facts);
void facts_free_probes(struct facts_probe probes[static PROBES]);

/* Sets all facts to unknown. */
void facts_init(struct facts *facts);

/* Parts of facts_read; each fills its own fields. */
int facts_read_pci(const char *root, struct facts *facts, struct err *err);
int facts_read_dmi(const char *root, struct facts *facts, struct err *err);
int facts_read_edac(const char *root, struct facts *facts, struct err *err);
int facts_read_rdma(const char *root, struct facts *facts, struct err *err);
int facts_read_log(const char *root, struct facts *facts, struct err *err);

/* Appends a value to a measurement. -ENOMEM only. */
int facts_put(struct facts_probe *probe, const struct facts_value *value, struct err *err);

/*
 * Merges a repeated measurement: keeps the better of two values, as disturbances only cost speed. A
 * value that failed in either run is failed. A repetition that did not run or finish adds nothing.
 * -ENOMEM.
 */
int facts_join_repeats(struct facts_probe *probe, const struct facts_probe *again, struct err *err);

/* The device with this PCI address; NULL = there is none. */
const struct facts_device *facts_find_device(const struct facts *facts, const char *bdf);

/*
 * The sum over all CPUs of a file in thermal_throttle, "core_throttle_count" or
 * "core_throttle_total_time_ms"; NaN if no CPU has it.
 */
double facts_sum_throttling(const char *root, const char *file);

/* Accepted extra time to wake a CPU from idle, compared with a busy loop, us. */
enum { FACTS_IDLE_EXIT_MOST_US = 50, FACTS_IDLE_EXIT_MOST_VIRTUAL_US = 200 };

/* "0000:3b:00.0 (slot 5)". */
const char *facts_device_name(const struct facts_device *device);

#endif
