# A second signal ends a job at once, also one that waits for input and so does not see the first.
mkfifo endless
exec 3<>endless
interruptible blco-ingest endless -o never.blco >/dev/null 2>log &
while ! grep -q reading log 2>/dev/null; do sleep 0.01; done
kill -INT $!
while ! grep -q 'interrupt again' log; do sleep 0.01; done
kill -INT $!
wait $!
echo "exit $?"
cat log
