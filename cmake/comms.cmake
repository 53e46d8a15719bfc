# libcontend_comms.so: the profiler plugin that NCCL loads into other programs (harness/comms/plugin.c).
# It stands alone: what it needs of this program is in it, and nothing but NCCL's tables can be seen.
# It stays loaded when NCCL lets go of it, so that a process has one log (-z nodelete).
add_library(contend_comms MODULE harness/comms/plugin.c harness/comms/plugin_log.c
            harness/comms/plugin_cuda.c harness/comms/plugin_timing.c harness/comms/inside.c harness/comms/host.c harness/comms/names.c)
target_include_directories(contend_comms PRIVATE "${CMAKE_SOURCE_DIR}")
target_link_libraries(contend_comms PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(contend_comms PRIVATE -Wl,-z,nodelete)
set_target_properties(contend_comms PROPERTIES C_VISIBILITY_PRESET hidden)
add_dependencies(contend contend_comms)
# Not CMAKE_INSTALL_LIBDIR: the program looks there, whatever the system calls it.
install(TARGETS contend_comms LIBRARY DESTINATION lib/contend)

# libcontend_copies.so: what the CUDA driver itself loads (CUDA_INJECTION64_PATH) to count copies by CUPTI,
# which is loaded when it runs (harness/comms/inject.c). It stands alone as the other one does.
add_library(contend_copies MODULE harness/comms/inject.c harness/comms/inject_log.c
            harness/comms/inject_cupti.c harness/comms/inside.c harness/comms/host.c)
target_include_directories(contend_copies PRIVATE "${CMAKE_SOURCE_DIR}")
target_link_libraries(contend_copies PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(contend_copies PRIVATE -Wl,-z,nodelete)
set_target_properties(contend_copies PROPERTIES C_VISIBILITY_PRESET hidden)
add_dependencies(contend contend_copies)
install(TARGETS contend_copies LIBRARY DESTINATION lib/contend)
