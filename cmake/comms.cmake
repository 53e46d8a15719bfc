# Libraries that are loaded into other programs. Each stands alone: what it needs of this program is in it, and nothing
# but what it is looked up for can be seen. It stays loaded when it is let go of, so that a process has one log (-z nodelete).
function(contend_guest name)
    add_library(${name} MODULE ${ARGN} harness/comms/logs/preload.c harness/comms/logs/host.c)
    target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(${name} PRIVATE -Wl,-z,nodelete)
    set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
    add_dependencies(contend-comms ${name})
    # Not CMAKE_INSTALL_LIBDIR: the program looks there, whatever the system calls it.
    install(TARGETS ${name} LIBRARY DESTINATION lib/contend)
endfunction()

# The profiler plugin that NCCL loads.
contend_guest(contend_comms harness/comms/plugin/plugin.c harness/comms/plugin/plugin_log.c
              harness/comms/plugin/plugin_timing.c harness/comms/logs/names.c)
