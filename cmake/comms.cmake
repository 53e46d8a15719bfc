# Libraries that are loaded into other programs. Each is self-contained, and exports only the symbols that the other
# program looks up. -z nodelete keeps it loaded after dlclose, so that a process has one log.
function(contend_guest name)
    add_library(${name} MODULE ${ARGN} harness/comms/plugin/preload.c harness/comms/plugin/names.c)
    target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(${name} PRIVATE -Wl,-z,nodelete)
    set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
    add_dependencies(contend-comms ${name})
    # Not CMAKE_INSTALL_LIBDIR: the program always looks in lib/contend, even where the system uses lib64.
    install(TARGETS ${name} LIBRARY DESTINATION lib/contend)
endfunction()

# The profiler plugin that NCCL loads.
contend_guest(contend_comms harness/comms/plugin/plugin.c harness/comms/plugin/plugin_log.c
              harness/comms/plugin/plugin_look.c harness/comms/plugin/plugin_timing.c)
