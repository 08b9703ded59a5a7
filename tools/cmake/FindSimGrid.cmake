# Finds SimGrid, which ships no CMake package in 3.32. Defines the target SimGrid::SimGrid and SimGrid_VERSION.
find_path(SimGrid_INCLUDE_DIR simgrid/s4u.hpp)
find_library(SimGrid_LIBRARY simgrid)
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)

if(SimGrid_INCLUDE_DIR AND EXISTS ${SimGrid_INCLUDE_DIR}/simgrid/version.h)
  file(STRINGS ${SimGrid_INCLUDE_DIR}/simgrid/version.h SimGrid_version_lines REGEX "^#define SIMGRID_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3" SimGrid_VERSION "${SimGrid_version_lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR VERSION_VAR SimGrid_VERSION)

if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES
    IMPORTED_LOCATION ${SimGrid_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR})
endif()
