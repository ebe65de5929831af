# L-BFGS-B as one object file, ${lbfgsb_object}, from its static library. The library prints to standard output when
# rounding spoils a step, whatever it is told, and it brings the Fortran runtime and a BLAS, which may start threads. So
# its few calls of these go to functions of our own (fit/methods/lbfgs_b_calls.cpp), and its other names stay within the object:
# a program that has L-BFGS-B elsewhere does not meet this one.
find_library(BLCO_LBFGSB_ARCHIVE liblbfgsb.a)
if(NOT BLCO_LBFGSB_ARCHIVE)
  message(FATAL_ERROR "blco needs L-BFGS-B as a static library (liblbfgsb.a), which is not found; install liblbfgsb-dev")
endif()
set(renamed --redefine-sym setulb_=blco_lbfgsb)
foreach(name daxpy dcopy ddot dscal dpotrf dtrtrs)
  list(APPEND renamed --redefine-sym ${name}_=blco_lbfgsb_${name})
endforeach()
foreach(name compare_string cpu_time_4 st_write st_write_done transfer_array_write transfer_character_write
             transfer_integer_write transfer_real_write)
  list(APPEND renamed --redefine-sym _gfortran_${name}=blco_lbfgsb_${name})
endforeach()
set(lbfgsb_object ${CMAKE_CURRENT_BINARY_DIR}/lbfgsb.o)
add_custom_command(OUTPUT ${lbfgsb_object}
  COMMAND ${CMAKE_LINKER} -r --whole-archive ${BLCO_LBFGSB_ARCHIVE} -o ${lbfgsb_object}
  COMMAND ${CMAKE_OBJCOPY} ${renamed} ${lbfgsb_object}
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol blco_lbfgsb ${lbfgsb_object}
  DEPENDS ${BLCO_LBFGSB_ARCHIVE} VERBATIM COMMENT "Preparing L-BFGS-B")
set_source_files_properties(${lbfgsb_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
