# Usage: sh watch.sh LINES COMMAND CHANGE
# Runs COMMAND (a watch) beside CHANGE until it has printed so many lines. CHANGE starts when the
# watch has printed its first line, which is to say: when nothing that happens can escape it.
lines=$1 command=$2 change=$3
rm -f watched.txt
$command > watched.txt 2>&1 &
watch=$!
until [ -s watched.txt ]; do sleep 0.1; done
sh -c "$change" > /dev/null
tries=100
until [ "$(wc -l < watched.txt)" -ge "$lines" ] || [ $tries = 0 ]; do
  sleep 0.1
  tries=$((tries - 1))
done
kill $watch
wait $watch 2> /dev/null
cat watched.txt
