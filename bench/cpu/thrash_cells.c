#include "bench/cpu/thrash_cells.h"

#include <errno.h>
#include <stdlib.h>

const char *const where_names[] = {"smt",   "same-llc", "other-llc", "other-node",
                                   "turns", "other",    "all",       NULL};

static enum where place_of(const struct bench_cpu *cpu, const struct bench_cpu *victim)
{
    if (cpu->core == victim->core)
        return WHERE_SMT;
    if (cpu->os_node != victim->os_node)
        return WHERE_OTHER_NODE;
    return cpu->llc == victim->llc ? WHERE_SAME_LLC : WHERE_OTHER_LLC;
}

static void find_candidates(struct thrash_cells *cells, const struct bench_machine *machine)
{
    cells->candidates[WHERE_TURNS][cells->ncandidates[WHERE_TURNS]++] = machine->ncpus;
    for (unsigned i = 1; i < machine->ncpus; i++) {
        enum where where = place_of(&machine->cpus[i], &machine->cpus[0]);
        bool seen = false;
        for (unsigned j = 1; j < i && where != WHERE_SMT; j++)
            seen = seen || machine->cpus[j].core == machine->cpus[i].core;
        if (!seen)
            cells->candidates[where][cells->ncandidates[where]++] = i;
    }
}

static void add_counts(struct thrash_cells *cells, struct thrash_cell cell, unsigned most)
{
    unsigned all = cells->ncandidates[cell.where];
    all = most && most < all ? most : all;
    for (cell.n = 1; all && cells->n < THRASH_CELLS_MAX;
         cell.n = 2 * cell.n < all ? 2 * cell.n : all) {
        cells->cell[cells->n++] = cell;
        cells->most = cell.n > cells->most ? cell.n : cells->most;
        if (cell.n == all)
            break;
    }
}

static bool is_asked(int scope, int all, unsigned which)
{
    return scope == all || scope == (int)which;
}

static void add_cells(struct thrash_cells *cells, const struct thrash_scope *scope,
                      enum victim_kind victim)
{
    bool shared = victim != VICTIM_L3 && scope->victim == VICTIMS && scope->where == WHERE_ALL;
    for (enum aggressor_kind kind = 0; kind < AGGRESSOR_KINDS; kind++)
        for (enum where where = 0; where < WHERES; where++)
            if (is_asked(scope->aggressor, AGGRESSOR_KINDS, kind) &&
                is_asked(scope->where, WHERE_ALL, where) &&
                (!shared || where == WHERE_SMT || where == WHERE_TURNS))
                add_counts(cells, (struct thrash_cell){victim, kind, where, 0}, scope->most);
}

/* Returns WHERES, which no cell has, if the machine has one core. */
static int nearest_other(const struct thrash_cells *cells)
{
    for (int where = WHERE_SAME_LLC; where < WHERE_TURNS; where++)
        if (cells->ncandidates[where])
            return where;
    return WHERES;
}

int thrash_cells_find(struct thrash_cells *cells, const struct bench_machine *machine,
                      const struct thrash_scope *scope, struct err *err)
{
    struct thrash_scope asked = *scope;
    *cells = (struct thrash_cells){.n = 0};
    for (unsigned where = 0; where < WHERES; where++) {
        cells->candidates[where] = calloc(machine->ncpus + 1, sizeof(*cells->candidates[where]));
        if (!cells->candidates[where])
            return err_set(err, -ENOMEM, "cannot allocate a list of %u CPUs", machine->ncpus);
    }
    find_candidates(cells, machine);
    if (asked.where == WHERE_OTHER)
        asked.where = nearest_other(cells);
    for (enum victim_kind victim = 0; victim < VICTIMS; victim++)
        if (is_asked(asked.victim, VICTIMS, victim) && victim_range(machine, victim).most)
            add_cells(cells, &asked, victim);
    return 0;
}

void thrash_cells_free(struct thrash_cells *cells)
{
    for (unsigned where = 0; where < WHERES; where++)
        free(cells->candidates[where]);
    *cells = (struct thrash_cells){.n = 0};
}
