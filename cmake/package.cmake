# Packages of the files that `install` installs: `./contend package deb`, or `cpack -G DEB` in the build's folder. The
# packages contain no maintainer scripts, so installing or removing one runs nothing.
set(CPACK_PACKAGE_CONTACT "The contend authors <contend@example.org>"
    CACHE STRING "Who answers for packages that are built here")
set(CPACK_PACKAGE_VENDOR contend)
set(CPACK_PACKAGE_DESCRIPTION
    "Servers run several worker processes that prepare batches on the CPU and feed
GPUs. They fight over cores, caches and memory. contend measures what they
lose, finds where the time went, and prints the command that fixes it.")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/package_stage.cmake")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
# No package is required for the MPI module: its library comes with mpirun. CPack 3.25 has no Recommends of its own.
set(CPACK_RPM_SPEC_MORE_DEFINE "%global __requires_exclude ^libmpi\nRecommends: gnuplot
%global _buildhost contend\n%global use_source_date_epoch_as_buildtime 1\n%global clamp_mtime_to_source_date_epoch 1")
if(CMAKE_CROSSCOMPILING)
    set(CPACK_CONTEND_SYSROOT "${CMAKE_SYSROOT}")
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
    set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64)
endif()
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1)
include(CPack)
