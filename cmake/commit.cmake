# Writes OUTPUT, the C file that defines contend_commit, only if the commit changed, so that a build
# at the same commit recompiles nothing. Outside a git checkout (a release tarball, no git)
# contend_commit is "".
cmake_minimum_required(VERSION 3.25)

execute_process(
    COMMAND git describe --always --dirty --abbrev=10 "--exclude=*"
    WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE commit
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
if(NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit "")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
     "#include \"version.h\"\n\nconst char contend_commit[] = \"@commit@\";\n")
