#!/bin/sh
# Runs a program as a child, so that it ends at once when it is told to: the first process of a container ignores
# signals that it has not asked for.
trap 'kill "$child" 2>/dev/null; exit 0' TERM INT
"$@" &
child=$!
wait "$child"
