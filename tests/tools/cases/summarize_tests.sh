# What test.sh says at its end: parts are added up, and a part that failed or did not run is not passed over.
summarize=$(dirname "$1")/../../../tools/summarize_tests.py
report() { printf '<testsuite>%s</testsuite>\n' "$2" >"$1.xml"; }
passed() { printf '<testcase name="%s" status="run"/>' "$@"; }
report release "$(passed a b c)<testcase name='d' status='notrun'><skipped message='SKIP_RETURN_CODE=77'/>
<system-out>SKIPPED: no real tensors</system-out></testcase>"
report asan "$(passed a b)<testcase name='d' status='notrun'><skipped message='SKIP_RETURN_CODE=77'/>
<system-out>SKIPPED: no real tensors</system-out></testcase>"
report broken "$(passed a)<testcase name='b' status='fail'><failure/></testcase>
<testcase name='c_NOT_BUILT' status='notrun'><skipped message='Unable to find executable'/></testcase>"
report empty ''
# A suite's tests are counted by themselves: one passed, one skipped, one failed; and one during which the program ended.
report suite "<testcase name='io.Suite' status='fail'><failure/><system-out>[ RUN      ] Suite.A
some text[       OK ] Suite.A (0 ms)
[ RUN      ] Suite.B
test.cpp:7: Skipped
no such file
[  SKIPPED ] Suite.B (0 ms)
[ RUN      ] Suite.C/1
[  FAILED  ] Suite.C/1, where GetParam() = 3 (0 ms)
[ RUN      ] Suite.Crashes
</system-out></testcase>
<testcase name='io.Leaks' status='fail'><failure/><system-out>[ RUN      ] Leaks.A
[       OK ] Leaks.A (0 ms)
a leak
</system-out></testcase>"
echo '<testsuite' >cut.xml

summarize() { /usr/bin/env python3 "$summarize" "$@" || echo "exit $?"; }
summarize release=release.xml asan=asan.xml
summarize release=release.xml asan=broken.xml
summarize release=release.xml asan=no-such.xml tsan=empty.xml
summarize release=cut.xml
summarize asan=suite.xml
