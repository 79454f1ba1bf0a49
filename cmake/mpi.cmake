# One shim for each MPI that is present, hopcast-NAME.so, loaded at run time by src/group/launcher.c: what groups of ranks ask of
# it, and what the benchmark does. Nothing else links to MPI.
pkg_check_modules(OPENMPI QUIET IMPORTED_TARGET ompi-c)
pkg_check_modules(MPICH QUIET IMPORTED_TARGET mpich)

set(HOPCAST_SHIMS)
foreach(pair "openmpi=Open MPI" "mpich=MPICH")
  string(REGEX MATCH "^[^=]+" name ${pair})
  string(REGEX REPLACE "^[^=]+=" "" title ${pair})
  string(TOUPPER ${name} NAME)
  if(${NAME}_FOUND)
    add_library(hopcast_${name} MODULE src/group/mpi/shim.c src/amb/mpi/amb_shim.c)
    set_target_properties(hopcast_${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME hopcast-${name} C_VISIBILITY_PRESET hidden
                          INSTALL_RPATH_USE_LINK_PATH ON)
    target_include_directories(hopcast_${name} PRIVATE src)
    target_compile_options(hopcast_${name} PRIVATE -Wno-stringop-overflow) # MPICH's own constants
    target_link_options(hopcast_${name} PRIVATE LINKER:--as-needed)
    target_link_libraries(hopcast_${name} PRIVATE PkgConfig::${NAME})
    # What the profiling layer asks of it. It brings no MPI along, lest there be two of them in a process.
    add_library(hopcast_mpi_${name} MODULE src/mpi/mpi_shim.c src/mpi/mpi_shim_collectives.c)
    set_target_properties(hopcast_mpi_${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME hopcast-mpi-${name} C_VISIBILITY_PRESET hidden)
    target_include_directories(hopcast_mpi_${name} PRIVATE src include ${${NAME}_INCLUDE_DIRS})
    target_compile_definitions(hopcast_mpi_${name} PRIVATE _GNU_SOURCE)
    target_compile_options(hopcast_mpi_${name} PRIVATE -Wno-stringop-overflow) # the same
    list(APPEND HOPCAST_SHIMS hopcast_${name} hopcast_mpi_${name})
    message(STATUS "${title} ${${NAME}_VERSION} found: its mpirun will start groups of ranks")
  else()
    message(STATUS "${title} not found: its mpirun will be refused (Debian: lib${name}-dev)")
  endif()
endforeach()

# The same for the standard ABI of MPI 5, whose header is known whether or not there is such an MPI.
add_library(hopcast_mpi_standard MODULE src/mpi/mpi_shim.c)
set_target_properties(hopcast_mpi_standard PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME hopcast-mpi-standard C_VISIBILITY_PRESET hidden)
target_include_directories(hopcast_mpi_standard PRIVATE src include)
target_compile_definitions(hopcast_mpi_standard PRIVATE _GNU_SOURCE HOP_MPI_STANDARD_ABI)
list(APPEND HOPCAST_SHIMS hopcast_mpi_standard)

# libhopcast_mpi: what is preloaded before a program with MPI. It is in every process of the job, shells and launchers too,
# and so needs the C library alone.
file(GLOB HOPCAST_MPI_SOURCES CONFIGURE_DEPENDS src/mpi/*.c)
list(FILTER HOPCAST_MPI_SOURCES EXCLUDE REGEX "/mpi_shim(_collectives)?\\.c$")
list(TRANSFORM HOPCAST_MPI_SOURCES REPLACE "^${PROJECT_SOURCE_DIR}/" "")
add_library(hopcast_mpi MODULE ${HOPCAST_MPI_SOURCES} src/base/arena.c src/base/buffer.c src/base/clock.c src/base/diag.c src/base/json_write.c
                       src/base/limit.c src/base/names.c src/base/replace.c src/base/units.c)
set_target_properties(hopcast_mpi PROPERTIES C_VISIBILITY_PRESET hidden LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/mpi/exports.map)
target_include_directories(hopcast_mpi PRIVATE src include)
target_compile_definitions(hopcast_mpi PRIVATE _GNU_SOURCE)
target_compile_options(hopcast_mpi PRIVATE -fexceptions) # of C++ programs, which pass through
target_link_options(hopcast_mpi PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/mpi/exports.map
                    LINKER:--defsym=pthread_create=hop_pthread_create LINKER:--defsym=thrd_create=hop_thrd_create)
if(NOT HOPCAST_SANITIZE)
  target_link_options(hopcast_mpi PRIVATE LINKER:-z,defs)
endif()
target_link_libraries(hopcast_mpi PRIVATE m ${CMAKE_DL_LIBS})

# hopcast-mpi-engine: what it loads where more than counting is asked for, with the library's own objects in it, of which nothing else
# is seen outside.
if(HOPCAST_SHIMS)
  file(GLOB HOPCAST_ENGINE_SOURCES CONFIGURE_DEPENDS src/mpi/engine/*.c)
  add_library(hopcast_mpi_engine MODULE ${HOPCAST_ENGINE_SOURCES} src/mpi/completions.c src/mpi/rows.c src/mpi/device_memory.c src/mpi/decompose.c)
  set_target_properties(hopcast_mpi_engine PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME hopcast-mpi-engine C_VISIBILITY_PRESET hidden)
  target_include_directories(hopcast_mpi_engine PRIVATE src include)
  target_compile_definitions(hopcast_mpi_engine PRIVATE _GNU_SOURCE)
  target_compile_options(hopcast_mpi_engine PRIVATE -fexceptions)
  target_link_options(hopcast_mpi_engine PRIVATE LINKER:--as-needed LINKER:--exclude-libs,ALL LINKER:-Bsymbolic)
  target_link_libraries(hopcast_mpi_engine PRIVATE hopcast_static ${HOPCAST_LINKED} ${CMAKE_DL_LIBS})
  list(APPEND HOPCAST_SHIMS hopcast_mpi_engine)
endif()

# Where the shims are once installed: an absolute folder, and the way there from the command's.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE HOPCAST_LIB_FROM_BIN)
set_source_files_properties(src/group/launcher.c PROPERTIES COMPILE_DEFINITIONS
  "HOP_MPI_DIR=\"${CMAKE_INSTALL_FULL_LIBDIR}/hopcast\";HOP_MPI_FROM_BIN=\"${HOPCAST_LIB_FROM_BIN}/hopcast\"")

# Nothing to link where the C library holds the threads.
find_package(Threads REQUIRED)
foreach(kind shared static)
  target_link_libraries(hopcast_${kind} PRIVATE ${CMAKE_THREAD_LIBS_INIT})
endforeach()
