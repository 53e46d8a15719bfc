# How the parts of the program become targets.

# contend_include_root(target): includes use paths from the source root. nvcc puts a backslash before an apostrophe in
# an include path and does not remove it. Such a tree gets a link below the folder in which Ninja compiles.
function(contend_include_root name)
    if(NOT CONTEND_HAVE_CUDA OR NOT CMAKE_SOURCE_DIR MATCHES "'")
        target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
        return()
    endif()
    file(CREATE_LINK "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/source" SYMBOLIC)
    target_include_directories(${name} PUBLIC "$<$<COMPILE_LANGUAGE:C>:${CMAKE_SOURCE_DIR}>")
    target_compile_options(${name} PUBLIC "$<$<COMPILE_LANGUAGE:CUDA>:-Isource>")
endfunction()

# contend_library(contend_<part> glob...): a static library of the files that the globs find, without loadable modules
# and without the sources of contend_core. It has .cu files only if nvcc was found. contend_harness omits the tools.
function(contend_library name)
    list(TRANSFORM ARGN PREPEND "${CMAKE_SOURCE_DIR}/" OUTPUT_VARIABLE globs)
    file(GLOB sources CONFIGURE_DEPENDS ${globs})
    list(FILTER sources EXCLUDE REGEX "/(collective/contend_mpi|comms/plugin/plugin[a-z_]*|harness/[a-z]+/main)\\.c$")
    if(TARGET contend_core)
        list(FILTER sources EXCLUDE REGEX "/harness/(lib|machine|engine/contract)/")
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

# contend_program(name source...): an executable that the C compiler links, even if it contains .cu files.
function(contend_program name)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
endfunction()

# contend_tool(name library...): builds harness/<name>/ as the library tool_<name> and as the program contend-<name>,
# which `contend` starts. The program also links the given libraries.
function(contend_tool name)
    contend_library(tool_${name} harness/${name}/*.c harness/${name}/*/*.c)
    target_link_libraries(tool_${name} PUBLIC contend_harness)
    contend_program(contend-${name} harness/${name}/main.c)
    target_link_libraries(contend-${name} PRIVATE tool_${name} ${ARGN})
    add_dependencies(contend contend-${name})
    install(TARGETS contend-${name} RUNTIME)
endfunction()

# contend_embed(library prefix header files...): puts each text file into `library` as `const char
# <prefix>_<name>_<extension>[]`, so that the program needs no other file. `header` declares the arrays.
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

# contend_version(library): lets every user of `library` include "version.h" (see harness/version.h.in). Every build
# asks git for the commit, and writes it only if it changed.
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

# contend_bundle(program...): the target `bundle` links the same programs again, with a run path to lib/ beside them;
# cmake/bundle.sh packs the tarball. The old kind of run path (DT_RPATH) also applies to indirect dependencies, so their
# libraries are copied unchanged. validate is linked into `contend` there: a separate program would contain all
# benchmarks a second time.
function(contend_bundle)
    add_custom_target(bundle)
    foreach(program IN LISTS ARGN)
        get_target_property(sources ${program} SOURCES)
        get_target_property(libraries ${program} LINK_LIBRARIES)
        contend_program(bundle-${program} ${sources})
        target_link_libraries(bundle-${program} PRIVATE ${libraries})
        target_link_options(bundle-${program} PRIVATE 
            -Wl,--disable-new-dtags "-Wl,-Map=${CMAKE_BINARY_DIR}/bundle/${program}.map")
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

# contend_manual(program): the target `manual` runs the program, which writes its manual page and completions. They and
# docs/ are installed with it.
function(contend_manual program)
    set(emulator "")
    if(CMAKE_CROSSCOMPILING)
        set(emulator "CONTEND_EMULATOR=qemu-${CMAKE_SYSTEM_PROCESSOR}" "QEMU_LD_PREFIX=${CMAKE_SYSROOT}")
    endif()
    set(folder "${CMAKE_BINARY_DIR}/manual")
    file(GLOB docs CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/docs/*.md")
    add_custom_command(
        OUTPUT "${folder}/share/man/man1/contend.1"
        COMMAND "${CMAKE_COMMAND}" -E env ${emulator} sh "${CMAKE_SOURCE_DIR}/cmake/manual.sh" $<TARGET_FILE:${program}> "${folder}"
        DEPENDS ${program} "${CMAKE_SOURCE_DIR}/cmake/manual.sh" ${docs}
        COMMENT "Writing the manual"
        VERBATIM)
    add_custom_target(manual ALL DEPENDS "${folder}/share/man/man1/contend.1")
    install(DIRECTORY "${folder}/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}")
endfunction()

# contend_share(files...): files that the program looks for beside itself (cmd/common/start.h). They are in the
# build's folder, in a bundle (copied by bundle.sh), or in share/contend of an installation.
function(contend_share)
    file(GLOB files CONFIGURE_DEPENDS ${ARGN})
    foreach(file IN LISTS files)
        cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_SOURCE_DIR}/share" OUTPUT_VARIABLE name)
        cmake_path(GET name PARENT_PATH folder)
        install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/contend/${folder}")
        configure_file("${file}" "${CMAKE_BINARY_DIR}/${name}" COPYONLY)
    endforeach()
endfunction()
