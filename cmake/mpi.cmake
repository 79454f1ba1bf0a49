# One shim for each MPI that is present, hopcast-NAME.so, loaded at run time by src/group/launcher.c. Nothing else links to MPI.
pkg_check_modules(OPENMPI QUIET IMPORTED_TARGET ompi-c)
pkg_check_modules(MPICH QUIET IMPORTED_TARGET mpich)

set(HOPCAST_SHIMS)
foreach(pair "openmpi=Open MPI" "mpich=MPICH")
  string(REGEX MATCH "^[^=]+" name ${pair})
  string(REGEX REPLACE "^[^=]+=" "" title ${pair})
  string(TOUPPER ${name} NAME)
  if(${NAME}_FOUND)
    add_library(hopcast_${name} MODULE src/group/mpi/shim.c)
    set_target_properties(hopcast_${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME hopcast-${name} C_VISIBILITY_PRESET hidden
                          INSTALL_RPATH_USE_LINK_PATH ON)
    target_include_directories(hopcast_${name} PRIVATE src)
    target_link_options(hopcast_${name} PRIVATE LINKER:--as-needed)
    target_link_libraries(hopcast_${name} PRIVATE PkgConfig::${NAME})
    list(APPEND HOPCAST_SHIMS hopcast_${name})
    message(STATUS "${title} ${${NAME}_VERSION} found: its mpirun will start groups of ranks")
  else()
    message(STATUS "${title} not found: its mpirun will be refused (Debian: lib${name}-dev)")
  endif()
endforeach()

# Where the shims are once installed: an absolute folder, and the way there from the command's.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE HOPCAST_LIB_FROM_BIN)
set_source_files_properties(src/group/launcher.c PROPERTIES COMPILE_DEFINITIONS
  "HOP_MPI_DIR=\"${CMAKE_INSTALL_FULL_LIBDIR}/hopcast\";HOP_MPI_FROM_BIN=\"${HOPCAST_LIB_FROM_BIN}/hopcast\"")

# Nothing to link where the C library holds the threads.
find_package(Threads REQUIRED)
foreach(kind shared static)
  target_link_libraries(hopcast_${kind} PRIVATE ${CMAKE_THREAD_LIBS_INIT})
endforeach()
