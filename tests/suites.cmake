# Read by ctest: a test for each suite of the program, which makes one process of what gtest_discover_tests makes one
# process per test of. summarize_tests.py counts the tests within. What GTEST_FILTER leaves out, "-" before, is left out.
#
# room: the tests are called <room>.<suite>; program: its path.
if(NOT EXISTS "${program}")
  add_test(${room}.NOT_BUILT ${room}.NOT_BUILT)
  return()
endif()
execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  add_test(${room}.NOT_LISTED ${room}.NOT_LISTED)
  return()
endif()
string(REGEX MATCH "-.*" left_out "$ENV{GTEST_FILTER}")
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "${listed}")
foreach(suite ${suites})
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  add_test(${room}.${suite} "${program}" "--gtest_filter=${suite}.*${left_out}" --gtest_color=no)
  set_tests_properties(${room}.${suite} PROPERTIES TIMEOUT 1200)
endforeach()
