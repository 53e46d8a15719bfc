# Finds MPI and says, in one line, whether the module for several nodes is built.
#
# contend_mpi.so is the only part that is linked with MPI, so that the program runs without MPI too. The program loads
# the module from its own folder if mpirun or srun started it (harness/engine/job.h).

option(CONTEND_MPI "Build the MPI module where MPI is there" ON)
# FindMPI ends the whole configuration where an MPI is not complete, such as Debian's openmpi-bin without
# libopenmpi-dev. So a small project tries it first.
set(CONTEND_MPI_REASON "no MPI found, such as Debian's libopenmpi-dev")
if(CONTEND_MPI AND NOT CONTEND_MPI_WORKS)
    file(WRITE "${CMAKE_BINARY_DIR}/probe-mpi/CMakeLists.txt"
         "cmake_minimum_required(VERSION 3.25)\nproject(probe C)\nfind_package(MPI REQUIRED COMPONENTS C)\n")
    set(settings "")
    foreach(name IN ITEMS CMAKE_C_COMPILER CMAKE_MAKE_PROGRAM MPI_C_COMPILER MPI_HOME)
        if(${name})
            list(APPEND settings "-D${name}=${${name}}")
        endif()
    endforeach()
    execute_process(COMMAND "${CMAKE_COMMAND}" --fresh -G "${CMAKE_GENERATOR}" ${settings}
                            -S "${CMAKE_BINARY_DIR}/probe-mpi" -B "${CMAKE_BINARY_DIR}/probe-mpi/build"
                    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        set(CONTEND_MPI_WORKS ON CACHE INTERNAL "find_package(MPI) finds a whole MPI")
    else()
        find_program(CONTEND_MPICC mpicc)
        mark_as_advanced(CONTEND_MPICC)
        if(CONTEND_MPICC)
            string(CONCAT CONTEND_MPI_REASON "${CONTEND_MPICC} does not work; its headers are in a package of their "
                   "own, such as Debian's libopenmpi-dev")
        endif()
    endif()
endif()
if(CONTEND_MPI AND CONTEND_MPI_WORKS)
    find_package(MPI QUIET COMPONENTS C)
endif()

if(CONTEND_MPI AND MPI_C_FOUND)
    add_library(contend_mpi MODULE bench/collective/contend_mpi.c harness/lib/err.c)
    target_include_directories(contend_mpi PRIVATE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(contend_mpi PRIVATE MPI::MPI_C)
    set_target_properties(contend_mpi PROPERTIES PREFIX "")
    add_dependencies(contend contend_mpi)
    # Not CMAKE_INSTALL_LIBDIR: the program always looks in lib/contend, even where the system uses lib64.
    install(TARGETS contend_mpi LIBRARY DESTINATION lib/contend)
    message(STATUS "contend: the MPI module is built, with MPI ${MPI_C_VERSION} of "
                   "${MPI_C_COMPILER}")
else()
    message(STATUS "contend: the MPI module is not built (${CONTEND_MPI_REASON}): one node "
                   "only")
endif()
