# libhopcast_shmem: OpenSHMEM over the library's own objects, of which nothing else is seen outside.
file(GLOB HOPCAST_SHMEM_SOURCES CONFIGURE_DEPENDS src/shmem/*.c)
add_library(hopcast_shmem_objects OBJECT ${HOPCAST_SHMEM_SOURCES})
target_include_directories(hopcast_shmem_objects PRIVATE src include include/hopcast-shmem)
target_compile_definitions(hopcast_shmem_objects PRIVATE _GNU_SOURCE)
set_target_properties(hopcast_shmem_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)

add_library(hopcast_shmem SHARED $<TARGET_OBJECTS:hopcast_shmem_objects> $<TARGET_OBJECTS:hopcast_objects>)
add_library(hopcast::shmem ALIAS hopcast_shmem)
set_target_properties(hopcast_shmem PROPERTIES EXPORT_NAME shmem VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/shmem/exports.map)
target_include_directories(hopcast_shmem INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/hopcast-shmem>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/hopcast-shmem>)
target_link_options(hopcast_shmem PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/shmem/exports.map)
target_link_libraries(hopcast_shmem PRIVATE ${HOPCAST_LINKED} ${CMAKE_THREAD_LIBS_INIT})

# What compiles and starts its programs: hopcast-shmemcc, hopcast-shmemc++ and hopcast-shmemrun, in the build tree, too; and hopcast-amb.
set(HOPCAST_SCRIPTS)
foreach(pair "shmemcc=${CMAKE_C_COMPILER}" "shmemc++=${CMAKE_CXX_COMPILER}")
  string(REGEX MATCH "^[^=]+" name ${pair})
  string(REGEX REPLACE "^[^=]+=" "" HOPCAST_SHMEM_COMPILER ${pair})
  string(REPLACE "shmem" "" HOPCAST_SHMEM_VARIABLE ${name})
  string(REPLACE "c++" "cxx" HOPCAST_SHMEM_VARIABLE ${HOPCAST_SHMEM_VARIABLE})
  string(TOUPPER ${HOPCAST_SHMEM_VARIABLE} HOPCAST_SHMEM_VARIABLE)
  set(HOPCAST_SHMEM_INCLUDE ${PROJECT_SOURCE_DIR}/include/hopcast-shmem)
  set(HOPCAST_SHMEM_LIB ${CMAKE_CURRENT_BINARY_DIR})
  configure_file(cmake/shmemcc.in hopcast-${name} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  # Installed, it finds its files from where it lies, under whichever prefix.
  file(RELATIVE_PATH HOPCAST_SHMEM_INCLUDE ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR}/hopcast-shmem)
  file(RELATIVE_PATH HOPCAST_SHMEM_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  configure_file(cmake/shmemcc.in install/hopcast-${name} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND HOPCAST_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/install/hopcast-${name})
endforeach()
foreach(pair "shmemrun=launch" "amb=amb")
  string(REGEX MATCH "^[^=]+" name ${pair})
  string(REGEX REPLACE "^[^=]+=" "" HOPCAST_COMMAND ${pair})
  configure_file(cmake/command.in hopcast-${name} @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND HOPCAST_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/hopcast-${name})
endforeach()
