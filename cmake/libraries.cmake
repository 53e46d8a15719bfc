# How the parts of the program become targets.

# contend_include_root(target): includes are by root path. nvcc puts a backslash before an apostrophe
# in the path of an include folder, which stays there: it gets another name of the tree, below the
# folder that Ninja compiles in.
function(contend_include_root name)
    if(NOT CONTEND_HAVE_CUDA OR NOT CMAKE_SOURCE_DIR MATCHES "'")
        target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
        return()
    endif()
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/source" SYMBOLIC)
    target_include_directories(${name} PUBLIC "$<$<COMPILE_LANGUAGE:C>:${CMAKE_SOURCE_DIR}>")
    target_compile_options(${name} PUBLIC "$<$<COMPILE_LANGUAGE:CUDA>:-Isource>")
endfunction()

# contend_library(contend_<part> glob...): a static library of what the globs find, the modules
# and what contend_core has left out, .cu files only where nvcc is. contend_harness goes without tools.
function(contend_library name)
    list(TRANSFORM ARGN PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE globs)
    file(GLOB sources CONFIGURE_DEPENDS ${globs})
    list(FILTER sources EXCLUDE REGEX "/(ranks/mpi/contend_mpi|comms/plugin/.*|comms/logs/inside)\\.c$")
    if(TARGET contend_core)
        list(FILTER sources EXCLUDE REGEX "/harness/(lib|contract|machine/gpu)/")
    endif()
    if(NOT TARGET contend_harness)
        list(FILTER sources EXCLUDE REGEX "/harness/(comms|doctor|validate)/")
    endif()
    if(NOT CONTEND_HAVE_CUDA)
        list(FILTER sources EXCLUDE REGEX "\\.cu$")
    elseif(NOT CONTEND_HAVE_CUBLASLT)
        list(FILTER sources EXCLUDE REGEX "/kernels/matmul/[^/]*\\.cu$")
    endif()
    add_library(${name} STATIC ${sources})
    contend_include_root(${name})
    if(CONTEND_HAVE_CUDA)
        target_link_libraries(${name} PUBLIC contend_cudart)
    endif()
endfunction()

# contend_program(name source...): an executable, linked by the C compiler also where .cu files are in
# it.
function(contend_program name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
endfunction()

# contend_tool(name library...): harness/<name>/ as a library, tool_<name>, and as the program that `contend` starts,
# which also needs these libraries.
function(contend_tool name)
    contend_library(tool_${name} harness/${name}/*/*.c)
    target_link_libraries(tool_${name} PUBLIC contend_harness)
    contend_program(contend-${name} harness/${name}/main.c)
    target_link_libraries(contend-${name} PRIVATE tool_${name} ${ARGN})
    add_dependencies(contend contend-${name})
    install(TARGETS contend-${name} RUNTIME)
endfunction()

# contend_embed(library prefix header files...): puts each text file into `library` as
# `const char <prefix>_<name>_<extension>[]`, so that the program is one file wherever it is copied.
# `header` declares them.
function(contend_embed library prefix header)
    set(output "${CMAKE_BINARY_DIR}/${prefix}_embedded.c")
    file(GLOB inputs CONFIGURE_DEPENDS ${ARGN})
    add_custom_command(
        OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DINPUTS=${inputs}" "-DPREFIX=${prefix}"
                "-DHEADER=${header}" -P "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
        DEPENDS ${inputs} "${CMAKE_SOURCE_DIR}/cmake/embed.cmake"
        COMMENT "Embedding ${ARGN}"
        VERBATIM)
    target_sources(${library} PRIVATE "${output}")
endfunction()

# contend_version(library): lets every user of `library` include "version.h" (see
# harness/version.h.in). The commit is asked for at every build and written only when it changed.
function(contend_version library)
    set(generated "${CMAKE_BINARY_DIR}/generated")
    configure_file("${CMAKE_SOURCE_DIR}/harness/version.h.in" "${generated}/version.h" @ONLY)
    add_custom_target(contend_commit
        COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_SOURCE_DIR}"
                "-DOUTPUT=${generated}/version.c" -P "${CMAKE_SOURCE_DIR}/cmake/commit.cmake"
        BYPRODUCTS "${generated}/version.c"
        COMMENT ""
        VERBATIM)
    target_sources(${library} PRIVATE "${generated}/version.c")
    target_include_directories(${library} PUBLIC "${generated}")
    add_dependencies(${library} contend_commit)
endfunction()

# contend_bundle(program...): the target `bundle` links the same programs once more, to look for their
# libraries in lib/ beside them; cmake/bundle.sh puts all together. The old kind of run path
# (DT_RPATH) also serves the libraries' own libraries, which are then taken as they are.
# validate is linked into `contend` there: a program of its own would bring all benchmarks a second time.
function(contend_bundle)
    add_custom_target(bundle)
    foreach(program IN LISTS ARGN)
        get_target_property(sources ${program} SOURCES)
        get_target_property(libraries ${program} LINK_LIBRARIES)
        contend_program(bundle-${program} ${sources})
        target_link_libraries(bundle-${program} PRIVATE ${libraries})
        target_link_options(bundle-${program} PRIVATE -Wl,--disable-new-dtags)
        set_target_properties(bundle-${program} PROPERTIES
            EXCLUDE_FROM_ALL ON BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/lib"
            OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bundle")
        add_dependencies(bundle bundle-${program})
    endforeach()
    target_compile_definitions(bundle-contend PRIVATE CONTEND_TOOLS=validate_tool)
    add_dependencies(bundle contend_comms)
    add_custom_command(TARGET bundle POST_BUILD COMMAND "${CMAKE_COMMAND}" -E copy
                       $<TARGET_FILE:contend_comms>
                       "${CMAKE_BINARY_DIR}/bundle/")
    if(TARGET contend_mpi)
        add_dependencies(bundle contend_mpi)
        add_custom_command(TARGET bundle POST_BUILD COMMAND "${CMAKE_COMMAND}" -E copy
                           $<TARGET_FILE:contend_mpi> "${CMAKE_BINARY_DIR}/bundle/")
    else()
        add_custom_command(TARGET bundle POST_BUILD COMMAND "${CMAKE_COMMAND}" -E rm -f
                           "${CMAKE_BINARY_DIR}/bundle/contend_mpi.so")
    endif()
endfunction()

# contend_manual(program): the target `manual` has the program write its manual page and completions,
# which are installed with it, as docs/ is. A program for another kind of machine cannot.
function(contend_manual program)
    if(CMAKE_CROSSCOMPILING)
        message(STATUS "contend: no manual, as the program does not run here")
        return()
    endif()
    set(folder "${CMAKE_BINARY_DIR}/manual")
    file(GLOB docs CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/docs/*.md")
    add_custom_command(
        OUTPUT "${folder}/share/man/man1/contend.1"
        COMMAND sh "${CMAKE_SOURCE_DIR}/cmake/manual.sh" $<TARGET_FILE:${program}> "${folder}"
        DEPENDS ${program} "${CMAKE_SOURCE_DIR}/cmake/manual.sh" ${docs}
        COMMENT "Writing the manual"
        VERBATIM)
    add_custom_target(manual ALL DEPENDS "${folder}/share/man/man1/contend.1")
    install(DIRECTORY "${folder}/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}")
endfunction()

# contend_share(files...): what the program finds beside itself, in the build's folder and (by
# bundle.sh) in a bundle, or in share/contend of an installation (cmd/common/program.h).
function(contend_share)
    file(GLOB files CONFIGURE_DEPENDS ${ARGN})
    foreach(file IN LISTS files)
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_SOURCE_DIR}/share" OUTPUT_VARIABLE name)
        cmake_path(GET name PARENT_PATH folder)
        install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/contend/${folder}")
        configure_file("${file}" "${CMAKE_BINARY_DIR}/${name}" COPYONLY)
    endforeach()
endfunction()
