# cpack runs this script on a package's files before it packs them, and uses the version and the dependencies that the
# script sets. Documents are changed to meet Debian's policy.
cmake_minimum_required(VERSION 3.25)
list(GET CPACK_BUILD_SOURCE_DIRS 0 source)
list(GET CPACK_BUILD_SOURCE_DIRS 1 build)
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr")
set(doc "${root}/share/doc/contend")

# run(variable command...): stores the command's output; an error ends cpack.
function(run variable)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${CPACK_TOPLEVEL_DIRECTORY}"
                    OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(${variable} "${said}" PARENT_SCOPE)
endfunction()

# The version is like "0.1.0+202611261459.d4cfad8613": the commit's time, so that later versions sort as newer, then the
# commit that the program was built from.
file(STRINGS "${build}/generated/version.c" commit REGEX contend_commit)
if(commit MATCHES "\"([0-9a-f]+)(-dirty)?\"")
    string(REPLACE - . dirty "${CMAKE_MATCH_2}")
    set(commit "${CMAKE_MATCH_1}")
    run(time git -C "${source}" show --no-patch --format=%cd --date=format:%Y%m%d%H%M ${commit})
    string(APPEND CPACK_PACKAGE_VERSION "+${time}.${commit}${dirty}")
endif()

string(TIMESTAMP now "%s" UTC) # or SOURCE_DATE_EPOCH, which `./contend release` sets

run(ignored gzip -9n "${root}/share/man/man1/contend.1")
foreach(tool IN ITEMS comms doctor validate)
    file(CREATE_LINK contend.1.gz "${root}/share/man/man1/contend-${tool}.1.gz" SYMBOLIC)
endforeach()

if(CPACK_GENERATOR STREQUAL DEB)
    file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
    run(date date -R --date=@${now})
    file(WRITE "${doc}/changelog.Debian" "contend (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=low\n\n"
         "  * Built from the sources; changelog.gz says what changed in them.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    run(ignored gzip -9n "${doc}/changelog" "${doc}/changelog.Debian")
    file(REMOVE "${doc}/LICENSE") # Debian has its text
    file(WRITE "${doc}/copyright" "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
         "Upstream-Name: contend\nComment: The programs contain parts of GCC's libraries and, where they were\n"
         " built for GPUs, NVIDIA's CUDA runtime, as the licenses of these allow.\n\n"
         "Files: *\nCopyright: 2026 the contend authors\nLicense: Apache-2.0\n"
         " On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.\n")

    # The MPI module is loaded only under mpirun, with mpirun's MPI.
    file(GLOB programs "${root}/bin/*" "${root}/lib/contend/lib*.so")
    file(GLOB module "${root}/lib/contend/contend_mpi.so")
    file(WRITE "${CPACK_TOPLEVEL_DIRECTORY}/debian/control" "Source: contend\n\nPackage: contend\nArchitecture: any\n")
    set(where "")
    if(CPACK_CONTEND_SYSROOT)
        set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})
        set(where "-L${CPACK_CONTEND_SYSROOT}/apt/shlibs")
        foreach(folder IN ITEMS lib usr/lib)
            list(APPEND where "-l${CPACK_CONTEND_SYSROOT}/${folder}/aarch64-linux-gnu")
        endforeach()
    endif()
    run(said dpkg-shlibdeps ${where} -O -dDepends ${programs} -dSuggests ${module})
    string(REGEX MATCH "shlibs:Depends=([^\n]*)" ignored "${said}")
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
    set(CPACK_DEBIAN_PACKAGE_SUGGESTS numactl)
    if(said MATCHES "shlibs:Suggests=([^\n]*)")
        string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", ${CMAKE_MATCH_1}")
    endif()
endif()
