#include "bench/cpu/thrash_cells.h"

#include <errno.h>
#include <stdlib.h>

const char *const where_names[] = {"smt", "same-llc", "other-llc", "other-node", NULL};

static enum where place_of(const struct bench_cpu *cpu, const struct bench_cpu *victim)
{
    if (cpu->core == victim->core)
        return WHERE_SMT;
    if (cpu->os_node != victim->os_node)
        return WHERE_OTHER_NODE;
    return cpu->llc == victim->llc ? WHERE_SAME_LLC : WHERE_OTHER_LLC;
}

static void find_players(struct thrash_cells *cells, const struct bench_machine *machine)
{
    for (unsigned i = 1; i < machine->ncpus; i++) {
        enum where where = place_of(&machine->cpus[i], &machine->cpus[0]);
        bool seen = false;
        for (unsigned j = 1; j < i && where != WHERE_SMT; j++)
            seen = seen || machine->cpus[j].core == machine->cpus[i].core;
        if (!seen)
            cells->players[where][cells->nplayers[where]++] = i;
    }
}

static void add_cells(struct thrash_cells *cells, enum aggressor_kind kind, unsigned most)
{
    for (unsigned where = 0; where < WHERES; where++) {
        unsigned all = cells->nplayers[where];
        all = most && most < all ? most : all;
        for (unsigned n = 1; all && cells->n < THRASH_CELLS_MAX; n = 2 * n < all ? 2 * n : all) {
            cells->cell[cells->n++] = (struct thrash_cell){kind, (enum where)where, n};
            cells->most = n > cells->most ? n : cells->most;
            if (n == all)
                break;
        }
    }
}

int thrash_cells_find(struct thrash_cells *cells, const struct bench_machine *machine,
                      enum aggressor_kind kind, unsigned most, struct err *err)
{
    *cells = (struct thrash_cells){.n = 0};
    for (unsigned where = 0; where < WHERES; where++) {
        cells->players[where] = calloc(machine->ncpus + 1, sizeof(*cells->players[where]));
        if (!cells->players[where])
            return err_set(err, -ENOMEM, "cannot allocate a list of %u CPUs", machine->ncpus);
    }
    find_players(cells, machine);
    for (enum aggressor_kind each = 0; each < AGGRESSOR_KINDS; each++)
        if (kind == AGGRESSOR_KINDS || kind == each)
            add_cells(cells, each, most);
    return 0;
}

void thrash_cells_free(struct thrash_cells *cells)
{
    for (unsigned where = 0; where < WHERES; where++)
        free(cells->players[where]);
    *cells = (struct thrash_cells){.n = 0};
}
