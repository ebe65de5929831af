# The library as others get it: all rooms in one archive (or one shared library, by BUILD_SHARED_LIBS), as blco::blco,
# in this tree and installed with its headers, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(blco $<TARGET_OBJECTS:blco_blco> $<TARGET_OBJECTS:blco_io> $<TARGET_OBJECTS:blco_kernels>
                 $<TARGET_OBJECTS:blco_engine>)
# One target after the other may make the object file that they share.
add_dependencies(blco blco_engine)
add_library(blco::blco ALIAS blco)
set_target_properties(blco PROPERTIES LINKER_LANGUAGE CXX SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                      VERSION ${PROJECT_VERSION})
# A shared library shows what is blco's, not what it has in itself of others.
target_link_options(blco PRIVATE LINKER:-Bsymbolic LINKER:--exclude-libs,ALL)
target_compile_features(blco INTERFACE cxx_std_20)
target_link_libraries(blco PRIVATE PkgConfig::BLCO_HDF5 PkgConfig::BLCO_ZSTD PkgConfig::BLCO_ISAL hwy::hwy
                                   hwy::hwy_contrib Threads::Threads)
set(cuda_libraries "")
if(BLCO_HAVE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  target_link_libraries(blco PRIVATE CUDA::cudart_static)
  set(cuda_libraries " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()

# Of blco/ only the exception, choices of the caller, labels and what a model says of itself are public; a folder of its
# own keeps the rest out of sight.
file(GLOB public_headers CONFIGURE_DEPENDS include/blco/*.hpp)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/public/blco)
foreach(header arrow_abi.hpp duplicate_policy.hpp enum_names.hpp error.hpp input_reading.hpp kernel_choice.hpp
               labels.hpp loss.hpp model_header.hpp row_constraint.hpp stop_reason.hpp)
  list(APPEND public_headers ${PROJECT_SOURCE_DIR}/blco/${header})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/blco/${header} ${PROJECT_BINARY_DIR}/public/blco/${header} SYMBOLIC)
endforeach()
target_include_directories(blco INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                                          $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/public>
                                          $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

if(NOT BLCO_INSTALL)
  return()
endif()

get_target_property(library_type blco TYPE)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/blco)
configure_package_config_file(blcoConfig.cmake.in blcoConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(blcoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# The pkg-config file finds the prefix from where it lies itself.
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
# An archive leaves its dependencies to whoever links it, whether --static is given or not.
set(pc_private .private)
set(pc_libraries "")
set(pc_private_libraries " -pthread${cuda_libraries}")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(pc_private "")
  set(pc_libraries "${pc_private_libraries}")
  set(pc_private_libraries "")
endif()
configure_file(blco.pc.in blco.pc @ONLY)

install(TARGETS blco EXPORT blcoTargets)
install(EXPORT blcoTargets NAMESPACE blco:: DESTINATION ${package_folder})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/blcoConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/blcoConfigVersion.cmake
        DESTINATION ${package_folder})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/blco.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/blco)
