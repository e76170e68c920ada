#!/bin/sh
# The conventions of the official image of redis: options alone are those of the server.
set -eu
case "${1:-}" in -* | *.conf) set -- redis-server "$@" ;; esac
exec "$@"
