#!/bin/sh
# The conventions of the official image of postgres: variables or files named by them, data where PGDATA says.
set -eu
from_file() {
  eval "file=\${$1_FILE:-}"
  [ -z "$file" ] || { value="$(cat "$file")"; export "$1=$value"; unset "$1_FILE"; }
}
for name in POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB POSTGRES_INITDB_ARGS; do from_file "$name"; done
case "${1:-postgres}" in -*) set -- postgres "$@" ;; esac
if [ "${1:-postgres}" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  user="${POSTGRES_USER:-postgres}" database="${POSTGRES_DB:-${POSTGRES_USER:-postgres}}"
  [ -n "${POSTGRES_PASSWORD:-}" ] || { echo 'POSTGRES_PASSWORD is not set' >&2; exit 1; }
  mkdir -p "$PGDATA"; chmod 0700 "$PGDATA" || true
  umask 077
  printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
  # shellcheck disable=SC2086 # several arguments are meant
  initdb --username="$user" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --no-locale ${POSTGRES_INITDB_ARGS:-}
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -c unix_socket_directories=/tmp" -w start
  [ "$database" = postgres ] || psql -h /tmp -U "$user" -d postgres -v ON_ERROR_STOP=1 -c "CREATE DATABASE \"$database\""
  for script in /docker-entrypoint-initdb.d/*; do
    case "$script" in
      *.sh)
        # shellcheck source=/dev/null
        . "$script"
        ;;
      *.sql) psql -h /tmp -U "$user" -d "$database" -v ON_ERROR_STOP=1 -f "$script" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
unset POSTGRES_PASSWORD
exec "${@:-postgres}"
