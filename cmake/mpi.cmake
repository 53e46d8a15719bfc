# Finds MPI and says, in one line, whether the module for several nodes is built.
#
# contend_mpi.so is the only part that is linked with MPI, so that the program runs without MPI too. The program loads
# the module from its own folder if mpirun or srun started it (harness/ranks/job/job.h).

option(CONTEND_MPI "Build the MPI module where MPI is there" ON)
if(CONTEND_MPI)
    find_package(MPI QUIET COMPONENTS C)
endif()

if(CONTEND_MPI AND MPI_C_FOUND)
    add_library(contend_mpi MODULE harness/ranks/mpi/contend_mpi.c)
    target_include_directories(contend_mpi PRIVATE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(contend_mpi PRIVATE MPI::MPI_C)
    set_target_properties(contend_mpi PROPERTIES PREFIX "")
    add_dependencies(contend contend_mpi)
    # Not CMAKE_INSTALL_LIBDIR: the program always looks in lib/contend, even where the system uses lib64.
    install(TARGETS contend_mpi LIBRARY DESTINATION lib/contend)
    message(STATUS "contend: the MPI module is built, with MPI ${MPI_C_VERSION} of "
                   "${MPI_C_COMPILER}")
else()
    message(STATUS "contend: the MPI module is not built (no MPI found, such as Debian's "
                   "libopenmpi-dev): one node only")
endif()
