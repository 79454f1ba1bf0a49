# Installation: command, libraries, headers, manual pages, and the packages by which CMake and pkg-config find them.
include(CMakePackageConfigHelpers)
set(HOPCAST_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/hopcast)

install(TARGETS hopcast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${HOPCAST_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hopcast)

install(TARGETS hopcast_shmem EXPORT hopcast-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hopcast_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(PROGRAMS ${HOPCAST_SCRIPTS} DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/hopcast-shmem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

if(HOPCAST_SHIMS)
  install(TARGETS ${HOPCAST_SHIMS} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hopcast)
endif()
# What a shim for another MPI is compiled from (docs/processes.md).
foreach(folder group amb)
  install(DIRECTORY src/${folder}/mpi DESTINATION ${CMAKE_INSTALL_DATADIR}/hopcast/mpi/${folder} FILES_MATCHING PATTERN "*.c")
endforeach()
install(FILES src/group/mpi.h DESTINATION ${CMAKE_INSTALL_DATADIR}/hopcast/mpi/group)
install(FILES src/amb/amb_mpi.h DESTINATION ${CMAKE_INSTALL_DATADIR}/hopcast/mpi/amb)

# Two export sets: who links a shared library needs none of its dependencies, who links the static one needs all.
install(TARGETS hopcast_shared EXPORT hopcast-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hopcast_static EXPORT hopcast-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(kind shared static)
  install(EXPORT hopcast-${kind} NAMESPACE hopcast:: DESTINATION ${HOPCAST_CMAKEDIR})
endforeach()
set(HOPCAST_DEPENDENCIES LIBXML2=libxml-2.0 JANSSON=jansson)
if(HWLOC_FOUND)
  list(APPEND HOPCAST_DEPENDENCIES HWLOC=hwloc)
endif()
if(ZLIB_FOUND)
  list(APPEND HOPCAST_DEPENDENCIES ZLIB=zlib)
endif()
if(HOPCAST_SCOTCH)
  set(HOPCAST_SCOTCH_LDFLAGS -lscotch -lscotcherr)
  install(FILES cmake/scotch.cmake DESTINATION ${HOPCAST_CMAKEDIR} RENAME hopcast-scotch.cmake)
endif()
configure_package_config_file(cmake/hopcast-config.cmake.in hopcast-config.cmake INSTALL_DESTINATION ${HOPCAST_CMAKEDIR}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(hopcast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hopcast-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/hopcast-config-version.cmake
        DESTINATION ${HOPCAST_CMAKEDIR})

# The prefix is found from the place of the file, so that an installed tree may be moved. The dependencies stand in
# Libs.private by name: in Requires.private they would have to be installed for the shared library's users too.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE HOPCAST_PC_UP)
list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE HOPCAST_PC_DL)
string(JOIN " " HOPCAST_PC_PRIVATE ${LIBXML2_LDFLAGS} ${JANSSON_LDFLAGS} ${HWLOC_LDFLAGS} ${ZLIB_LDFLAGS} ${HOPCAST_SCOTCH_LDFLAGS} ${HOPCAST_PC_DL} ${CMAKE_THREAD_LIBS_INIT} -lm)
set(HOPCAST_PC_NAME hopcast)
set(HOPCAST_PC_DESCRIPTION ${PROJECT_DESCRIPTION})
set(HOPCAST_PC_LIBRARY hopcast)
set(HOPCAST_PC_INCLUDE)
configure_file(cmake/hopcast.pc.in hopcast.pc @ONLY)
set(HOPCAST_PC_NAME hopcast-shmem)
set(HOPCAST_PC_DESCRIPTION "OpenSHMEM over the memory that ranks share, and messages between machines")
set(HOPCAST_PC_LIBRARY hopcast_shmem)
set(HOPCAST_PC_INCLUDE /hopcast-shmem)
set(HOPCAST_PC_PRIVATE) # there is no static one
configure_file(cmake/hopcast.pc.in hopcast-shmem.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hopcast.pc ${CMAKE_CURRENT_BINARY_DIR}/hopcast-shmem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The guides, and the schemas of what the command prints.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.schema.json")

# Completions for shells.
set(HOPCAST_COMPLETIONS)
foreach(shell bash zsh)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/completions/${shell})
  add_custom_command(OUTPUT ${output} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/completions
                     COMMAND hopcast completion ${shell} > ${output} DEPENDS hopcast COMMENT "Completions for ${shell}" VERBATIM)
  list(APPEND HOPCAST_COMPLETIONS ${output})
endforeach()
add_custom_target(completions ALL DEPENDS ${HOPCAST_COMPLETIONS})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completions/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hopcast)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/completions/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _hopcast)

# Manual pages: man/NAME.SECTION.scd.
find_program(SCDOC scdoc)
set(HOPCAST_MAN_PAGES)
if(SCDOC)
  file(GLOB HOPCAST_MAN_SOURCES CONFIGURE_DEPENDS man/*.scd)
  foreach(source ${HOPCAST_MAN_SOURCES})
    cmake_path(GET source STEM LAST_ONLY page)
    cmake_path(GET page EXTENSION LAST_ONLY section)
    string(SUBSTRING ${section} 1 -1 section)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/man/${page})
    # The options of a command are those of its table. The day of the build is left out, so that every day's has the same bytes.
    add_custom_command(OUTPUT ${output} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/man
                       COMMAND hopcast completion man < ${source} > ${output}.scd
                       COMMAND ${SCDOC} < ${output}.scd > ${output}.dated
                       COMMAND sed "/^\\.TH/s/\"[0-9-]*\" \"hopcast\"/\"\" \"hopcast ${PROJECT_VERSION}\"/" ${output}.dated > ${output} DEPENDS ${source} hopcast COMMENT "Manual page ${page}" VERBATIM)
    list(APPEND HOPCAST_MAN_PAGES ${output})
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
else()
  message(STATUS "scdoc not found: no manual pages (Debian: scdoc)")
endif()

# Section 3 is made of the headers: a page a header, and one that leads there for every function and structure.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  set(HOPCAST_MAN3 ${CMAKE_CURRENT_BINARY_DIR}/man3)
  add_custom_command(OUTPUT ${HOPCAST_MAN3}.made COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/man3.py ${PROJECT_VERSION} ${HOPCAST_MAN3} ${HOPCAST_HEADERS}
                     COMMAND ${CMAKE_COMMAND} -E touch ${HOPCAST_MAN3}.made
                     DEPENDS ${HOPCAST_HEADERS} scripts/man3.py COMMENT "Manual pages of the headers" VERBATIM)
  list(APPEND HOPCAST_MAN_PAGES ${HOPCAST_MAN3}.made)
  install(DIRECTORY ${HOPCAST_MAN3}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
else()
  message(STATUS "Python 3 not found: no manual pages of functions (Debian: python3)")
endif()
add_custom_target(man ALL DEPENDS ${HOPCAST_MAN_PAGES})

# Everything that is installed, and nothing else.
add_custom_target(product)
add_dependencies(product hopcast hopcast_shared hopcast_static hopcast_shmem hopcast_mpi man completions ${HOPCAST_SHIMS})
