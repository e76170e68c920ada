#!/bin/sh
# The conventions of the official image of MySQL: passwords and names from variables or files, data in /var/lib/mysql.
set -eu
from_file() {
  eval "file=\${$1_FILE:-}"
  [ -z "$file" ] || { value="$(cat "$file")"; export "$1=$value"; unset "$1_FILE"; }
}
for name in MYSQL_ROOT_PASSWORD MYSQL_USER MYSQL_PASSWORD MYSQL_DATABASE; do from_file "$name"; done
case "${1:-}" in -*) set -- mysqld "$@" ;; esac
socket=/var/run/mysqld/mysqld.sock
if [ "$1" = mysqld ] && [ ! -d /var/lib/mysql/mysql ]; then
  [ -n "${MYSQL_ROOT_PASSWORD:-}" ] || { echo 'MYSQL_ROOT_PASSWORD is not set' >&2; exit 1; }
  mariadb-install-db --no-defaults --datadir=/var/lib/mysql --skip-test-db --auth-root-authentication-method=normal
  mysqld --no-defaults --datadir=/var/lib/mysql --skip-networking --socket="$socket" &
  until mysql --no-defaults --socket="$socket" -u root -e 'SELECT 1' >/dev/null 2>&1; do kill -0 $!; sleep 0.2; done
  mysql --no-defaults --socket="$socket" -u root <<SQL
CREATE DATABASE IF NOT EXISTS \`$MYSQL_DATABASE\`;
CREATE USER '$MYSQL_USER'@'%' IDENTIFIED BY '$MYSQL_PASSWORD';
GRANT ALL ON \`$MYSQL_DATABASE\`.* TO '$MYSQL_USER'@'%';
ALTER USER 'root'@'localhost' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
SQL
  kill $!; wait $! || true
fi
unset MYSQL_ROOT_PASSWORD MYSQL_PASSWORD
[ "$1" != mysqld ] || { shift; set -- mysqld --no-defaults --datadir=/var/lib/mysql --socket="$socket" --skip-name-resolve "$@"; }
exec "$@"
