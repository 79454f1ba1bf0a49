# SCOTCH, as hopcast::scotch where it is there: Debian's has neither a CMake package nor a pkg-config file. Read by the
# build, and as a part of the installed package by those who link the static library.
find_path(SCOTCH_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch)
find_library(SCOTCH_LIBRARY scotch)
find_library(SCOTCH_ERROR_LIBRARY scotcherr)
mark_as_advanced(SCOTCH_INCLUDE_DIR SCOTCH_LIBRARY SCOTCH_ERROR_LIBRARY)
if(SCOTCH_INCLUDE_DIR AND SCOTCH_LIBRARY AND SCOTCH_ERROR_LIBRARY AND NOT TARGET hopcast::scotch)
  add_library(hopcast::scotch INTERFACE IMPORTED)
  target_include_directories(hopcast::scotch INTERFACE ${SCOTCH_INCLUDE_DIR})
  target_link_libraries(hopcast::scotch INTERFACE ${SCOTCH_LIBRARY} ${SCOTCH_ERROR_LIBRARY})
endif()
