# libcontend_comms.so: the profiler plugin that NCCL loads into other programs (harness/comms/plugin.c).
# It stands alone: what it needs of this program is in it, and nothing but NCCL's tables can be seen.
# It stays loaded when NCCL lets go of it, so that a process has one log (-z nodelete).
add_library(contend_comms MODULE harness/comms/plugin.c harness/comms/plugin_log.c
            harness/comms/plugin_cuda.c harness/comms/plugin_timing.c harness/comms/host.c harness/comms/names.c)
target_include_directories(contend_comms PRIVATE "${CMAKE_SOURCE_DIR}")
target_link_libraries(contend_comms PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(contend_comms PRIVATE -Wl,-z,nodelete)
set_target_properties(contend_comms PROPERTIES C_VISIBILITY_PRESET hidden)
add_dependencies(contend contend_comms)
# Not CMAKE_INSTALL_LIBDIR: the program looks there, whatever the system calls it.
install(TARGETS contend_comms LIBRARY DESTINATION lib/contend)
