#!/usr/bin/env bash
# An MPI without its headers, as Debian's openmpi-bin without libopenmpi-dev, does not fail the configuration.
. tests/lib/cli.sh
needs cmake ninja

mpi=$scratch/mpi/bin
mkdir -p "$mpi"
cat >"$mpi/mpicc" <<SH
#!/bin/sh
case \$* in
*showme:compile*) echo -I$scratch/none/include -pthread ;;
*showme:incdirs*) echo $scratch/none/include ;;
*showme:link*) echo -pthread -lm ;;
*showme:version*) echo "mpicc: Open MPI 4.1.4 (Language: C)" ;;
*) exec cc "\$@" ;;
esac
SH
printf '#!/bin/sh\n' >"$mpi/mpiexec"
chmod +x "$mpi"/*
expect 0 'the MPI module is not built .*mpi/bin/mpicc does not work' env PATH="$mpi:$PATH" \
    cmake --preset release -S "$CONTEND_SOURCE_DIR" -B "$scratch/build" -DCONTEND_CUDA=OFF -DCONTEND_TESTS=OFF
[ -e "$scratch/build/build.ninja" ] || fail "nothing to build"
finish
