#!/usr/bin/env bash
# Makes the images that the suite needs from Debian packages, published libraries and built programs, as archives that any
# engine loads.
#
#   images.sh [ORCHESTRA BEFORE]      prints one line for each image: NAME ARCHIVE
#
# Without the programs, it makes only what does not depend on them, as a run may do early.
# What is made is kept outside the checkout under a name that follows from its content, so that a second run makes nothing,
# until a week has passed in which nobody used it.
# Needs a Debian machine (apt-get, dpkg-deb, busybox-static); no engine, no registry. The names are those that the
# tutorial and the built-in provisioners use: a cluster that can reach a registry pulls the real ones instead.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
orchestra="${1:-}" before="${2:-}"
cache="${E2E_IMAGES:-${XDG_CACHE_HOME:-$HOME/.cache}/orchestra-ci/images}"
mkdir -p "$cache"

# fetch FOLDER PACKAGE…: the packages and the libraries they need, unpacked, not installed.
fetch() {
  local into=$1 wanted; shift
  [ -f "$into/.complete" ] && return
  rm -rf "$into"; mkdir -p "$into/.deb"
  wanted="$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$@" |
    grep -E '^(lib|erlang)' | grep -vE 'perl|llvm|^libdb|debconf|gcc-1|:i386' | sort -u)"
  # shellcheck disable=SC2086  # a list of names
  (cd "$into/.deb" && apt-get download -qq -o APT::Sandbox::User=root "$@" tzdata $wanted >&2)
  for package in "$into"/.deb/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$into" --no-same-owner; done
  rm -r "$into/.deb"; touch "$into/.complete"
}

# base ROOT: a shell with its tools, a user table, places to write to.
base() {
  mkdir -p "$1"/{bin,etc,tmp,root,proc,sys,dev,run,usr/bin,usr/local/bin,usr/sbin,var/tmp,home,lib64,lib/x86_64-linux-gnu}
  ln -sfn ../run "$1/var/run"
  chmod 1777 "$1/tmp"
  cp "$(command -v busybox)" "$1/bin/busybox"
  for applet in $("$1/bin/busybox" --list); do [ "$applet" = busybox ] || ln -sf busybox "$1/bin/$applet"; done
  printf '%s\n' root:x:0:0::/root:/bin/sh postgres:x:999:999::/var/lib/postgresql:/bin/sh alpine-postgres:x:70:70::/:/bin/sh \
    nginx:x:101:101::/:/bin/sh node:x:1000:1000::/home:/bin/sh nobody:x:65534:65534::/:/bin/sh >"$1/etc/passwd"
  printf '%s\n' root:x:0: postgres:x:999: alpine-postgres:x:70: nginx:x:101: node:x:1000: nogroup:x:65534: >"$1/etc/group"
}

# libraries ROOT PACKAGES FILE…: what these programs load, from the packages, else from this machine.
libraries() {
  local root=$1 from=$2; shift 2
  local path="$from/usr/lib/x86_64-linux-gnu:$from/lib/x86_64-linux-gnu"
  local found; found="$(for file in "$@"; do LD_LIBRARY_PATH="$path" ldd "$file"; done)"
  if grep 'not found' <<<"$found" >&2; then return 1; fi
  grep -oE '/[^ ]+\.so[^ ]*' <<<"$found" | sort -u | while read -r library; do
    case "$library" in
      /lib64/*) cp -L "$library" "$root/lib64/" ;;
      *) cp -L "$library" "$root/lib/x86_64-linux-gnu/" ;;
    esac
  done
}

# archive NAME ROOT CONFIG: a docker-archive with one layer, under a name that follows from its content.
archive() {
  local name=$1 root=$2 config=$3 work; work="$(mktemp -d)"
  chmod 0755 "$root"
  tar --numeric-owner --owner=0 --group=0 --sort=name --mtime=@0 -C "$root" --exclude=./.complete -cf "$work/layer.tar" .
  local digest; digest="$(sha256sum "$work/layer.tar" | cut -d' ' -f1)"
  printf '{"architecture":"amd64","os":"linux","created":"1970-01-01T00:00:00Z","config":%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$config" "$digest" >"$work/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$name" >"$work/manifest.json"
  local key; key="$(cat "$work/config.json" "$work/manifest.json" | sha256sum | cut -c1-16)"
  [ -f "$cache/$key.tar" ] || { tar -C "$work" -cf "$cache/$key.part" manifest.json config.json layer.tar; mv "$cache/$key.part" "$cache/$key.tar"; }
  rm -r "$work"
  printf '%s %s\n' "$name" "$cache/$key.tar"
}

# is_complete LIST: whether the archives of a list are there; their time stamps say when they were used last.
is_complete() {
  local file
  [ -f "$1" ] || return 1
  while read -r _ file; do touch --no-create "$file"; [ -f "$file" ] || return 1; done <"$1"
  touch "$1"
}

# kept KEY MAKE…: runs MAKE, which prints lines as `archive` does, unless it was run before with the same inputs.
kept() {
  local list; list="$cache/$(printf '%s\n' "$@" | cat - "$0" "$here"/images/* | sha256sum | cut -c1-16).list"
  shift
  if ! is_complete "$list"; then "$@" >"$list.part"; mv "$list.part" "$list"; fi
  cat "$list"
}

path='"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"'

probe() {
  local root; root="$(mktemp -d)"; base "$root"
  fetch "$cache/packages-clients-and-databases" "$@"
  local from="$cache/packages-clients-and-databases" bin
  bin="$(echo "$from"/usr/lib/postgresql/*/bin)"
  cp "$bin/psql" "$from/usr/bin/"{redis-cli,amqp-declare-queue,amqp-publish,amqp-get} "$root/usr/bin/"
  libraries "$root" "$from" "$root/usr/bin/"{psql,redis-cli,amqp-declare-queue,amqp-publish,amqp-get}
  install -m 0755 "$here/images/hold.sh" "$root/usr/local/bin/hold"
  archive localhost/probe:1 "$root" "{\"Env\":[$path],\"Cmd\":[\"/bin/sh\"]}"
  rm -r "$root"
}

# As the official image: password and names from variables or files, data where PGDATA says.
postgres() {
  local name=$1; shift
  local root; root="$(mktemp -d)"; base "$root"
  fetch "$cache/packages-clients-and-databases" "$@"
  local from="$cache/packages-clients-and-databases" version
  version="$(ls "$from/usr/lib/postgresql")"
  mkdir -p "$root/usr/lib/postgresql/$version/lib" "$root/usr/share/postgresql" "$root/usr/share/zoneinfo" "$root/docker-entrypoint-initdb.d"
  cp -r "$from/usr/lib/postgresql/$version/bin" "$root/usr/lib/postgresql/$version/"
  cp "$from/usr/lib/postgresql/$version/lib/"{plpgsql,dict_snowball,libpqwalreceiver,utf8_and*}.so "$root/usr/lib/postgresql/$version/lib/" 2>/dev/null || true
  cp -rL "$from/usr/share/postgresql/$version" "$root/usr/share/postgresql/"
  cp -rL "$from/usr/share/zoneinfo/Etc" "$root/usr/share/zoneinfo/"
  libraries "$root" "$from" "$root/usr/lib/postgresql/$version/bin/"{postgres,psql,initdb,pg_ctl,pg_isready}
  mkdir -p "$root/run/postgresql" "$root/var/lib/postgresql/data"
  chmod 3777 "$root/run/postgresql"; chmod 1777 "$root/var/lib/postgresql" "$root/var/lib/postgresql/data"
  install -m 0755 "$here/images/postgres.sh" "$root/usr/local/bin/docker-entrypoint.sh"
  archive "$name" "$root" "{\"Env\":[\"PATH=/usr/local/bin:/usr/lib/postgresql/$version/bin:/usr/sbin:/usr/bin:/sbin:/bin\",\"PGDATA=/var/lib/postgresql/data\",\"TZ=Etc/UTC\"],\"Entrypoint\":[\"docker-entrypoint.sh\"],\"Cmd\":[\"postgres\"]}"
  rm -r "$root"
}

redis() {
  local name=$1; shift
  local root; root="$(mktemp -d)"; base "$root"
  fetch "$cache/packages-clients-and-databases" "$@"
  local from="$cache/packages-clients-and-databases"
  cp -L "$from/usr/bin/redis-check-rdb" "$root/usr/bin/redis-server"
  cp "$from/usr/bin/redis-cli" "$root/usr/bin/"
  libraries "$root" "$from" "$root/usr/bin/redis-server" "$root/usr/bin/redis-cli"
  mkdir -p "$root/data"; chmod 1777 "$root/data"
  install -m 0755 "$here/images/redis.sh" "$root/usr/local/bin/docker-entrypoint.sh"
  archive "$name" "$root" "{\"Env\":[$path],\"WorkingDir\":\"/data\",\"Entrypoint\":[\"docker-entrypoint.sh\"],\"Cmd\":[\"redis-server\"]}"
  rm -r "$root"
}

nginx() {
  local name=$1
  local root; root="$(mktemp -d)"; base "$root"
  fetch "$cache/packages-nginx" nginx
  local from="$cache/packages-nginx"
  cp "$from/usr/sbin/nginx" "$root/usr/sbin/"
  libraries "$root" "$from" "$root/usr/sbin/nginx"
  mkdir -p "$root/usr/share/nginx/html" "$root/etc/nginx"
  echo '<!doctype html><title>Welcome to nginx!</title><h1>Welcome to nginx!</h1>' >"$root/usr/share/nginx/html/index.html"
  cp "$here/images/nginx.conf" "$root/etc/nginx/nginx.conf"
  archive "$name" "$root" "{\"User\":\"101\",\"Env\":[$path],\"Cmd\":[\"nginx\",\"-e\",\"/dev/stderr\",\"-c\",\"/etc/nginx/nginx.conf\"]}"
  rm -r "$root"
}

# The interpreter of this machine if it has one: its package need not come from where packages can be had.
node() {
  local name=$1 root from="$cache/packages-node"; root="$(mktemp -d)"; base "$root"
  if [ -x /usr/bin/node ]; then
    mkdir -p "$from"; cp -L /usr/bin/node "$root/usr/local/bin/node"
  else
    fetch "$from" nodejs; cp -L "$from/usr/bin/node" "$root/usr/local/bin/node"
  fi
  libraries "$root" "$from" "$root/usr/local/bin/node"
  archive "$name" "$root" "{\"Env\":[$path],\"Cmd\":[\"node\"]}"
  rm -r "$root"
}

# MariaDB, with the conventions of the official image of MySQL.
mysql() {
  local name=$1 root from="$cache/packages-mysql"; shift; root="$(mktemp -d)"; base "$root"
  fetch "$from" "$@"
  cp "$from/usr/sbin/mariadbd" "$root/usr/sbin/mysqld"; ln -s mysqld "$root/usr/sbin/mariadbd"
  cp "$from/usr/bin/"{mariadb-install-db,my_print_defaults,resolveip} "$root/usr/bin/"; cp "$from/usr/bin/mariadb" "$root/usr/bin/mysql"
  mkdir -p "$root/usr/share" "$root/usr/lib/mysql/plugin" "$root/var/lib/mysql" "$root/run/mysqld"
  cp -rL "$from/usr/share/mysql" "$root/usr/share/"
  libraries "$root" "$from" "$root/usr/sbin/mysqld" "$root/usr/bin/"{mysql,my_print_defaults,resolveip}
  install -m 0755 "$here/images/mysql.sh" "$root/usr/local/bin/docker-entrypoint.sh"
  archive "$name" "$root" "{\"Env\":[$path],\"Entrypoint\":[\"docker-entrypoint.sh\"],\"Cmd\":[\"mysqld\"]}"
  rm -r "$root"
}

# The server reads the variables that the official image documents by itself.
rabbitmq() {
  local name=$1 root from="$cache/packages-rabbitmq" program programs; shift; root="$(mktemp -d)"; base "$root"
  fetch "$from" "$@"
  mkdir -p "$root/usr/lib" "$root/etc/rabbitmq" "$root/var/log/rabbitmq" "$root/var/lib/rabbitmq"
  chmod 1777 "$root/etc/rabbitmq" "$root/var/log/rabbitmq" "$root/var/lib/rabbitmq"
  cp -r "$from/usr/lib/erlang" "$from/usr/lib/rabbitmq" "$root/usr/lib/"
  for program in erl escript epmd; do ln -s "../lib/erlang/bin/$program" "$root/usr/bin/$program"; done
  sed -i 's#^postgres:x:999:.*#rabbitmq:x:999:999::/var/lib/rabbitmq:/bin/sh#' "$root/etc/passwd"
  # Its programs, and what they load by themselves.
  mapfile -t programs < <(find "$root/usr/lib/erlang" -type f \( -name '*.so' -o -perm -u=x \) -exec sh -c 'ldd "$1" >/dev/null 2>&1' _ {} \; -print)
  libraries "$root" "$from" "${programs[@]}"
  archive "$name" "$root" "{\"Env\":[\"PATH=/usr/lib/rabbitmq/bin:/usr/sbin:/usr/bin:/sbin:/bin\",\"HOME=/var/lib/rabbitmq\",\"LANG=C.UTF-8\"],\"Cmd\":[\"rabbitmq-server\"]}"
  rm -r "$root"
}

# Kafka as its libraries are published, with the class that makes properties of variables in the official image.
kafka() {
  local name=$1 version=$2 root tool from="$cache/kafka-$2"; root="$(mktemp -d)"; base "$root"
  { command -v mvn && command -v jlink; } >/dev/null || apt-get install -y -qq maven default-jdk-headless >&2
  if [ ! -f "$from/.complete" ]; then
    rm -rf "$from"; mkdir -p "$from"
    cp "$here/images/kafka.pom.xml" "$from/pom.xml"
    mvn -q -B -f "$from/pom.xml" -Dkafka.version="$version" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$from/libs" >&2
    touch "$from/.complete"
  fi
  mkdir -p "$root/opt/kafka/"{bin,config} "$root/etc/kafka/docker" "$root/mnt/shared/config" "$root/var/lib/kafka/data"
  chmod 1777 "$root/opt/kafka/config"; touch "$root/etc/kafka/docker/"{server,log4j,tools-log4j}.properties
  cp -r "$from/libs" "$root/opt/kafka/libs"
  jlink --add-modules java.management,java.naming,java.security.jgss,java.security.sasl,java.sql,jdk.management,jdk.unsupported,jdk.zipfs,jdk.crypto.ec \
    --strip-debug --no-header-files --no-man-pages --output "$root/opt/java"
  install -m 0755 "$here/images/kafka-class.sh" "$root/opt/kafka/bin/kafka-run-class.sh"
  for tool in kafka-topics kafka-console-producer kafka-console-consumer; do ln -s kafka-run-class.sh "$root/opt/kafka/bin/$tool.sh"; done
  libraries "$root" "$root" "$root/opt/java/bin/java" "$root/opt/java/lib/"{server/libjvm,libjli}.so
  install -m 0755 "$here/images/kafka.sh" "$root/etc/kafka/docker/run"
  archive "$name:$version" "$root" "{\"User\":\"1000\",\"Env\":[$path],\"Cmd\":[\"/etc/kafka/docker/run\"]}"
  rm -r "$root"
}

# MinIO and its client, programs without libraries that somebody has built: FOLDER/minio and FOLDER/mc.
minio() {
  local name=$1 folder=$2 root; root="$(mktemp -d)"; base "$root"
  install -m 0755 "$folder/minio" "$folder/mc" "$root/usr/bin/"
  mkdir -p "$root/data"
  archive "$name" "$root" "{\"Env\":[$path],\"Entrypoint\":[\"/usr/bin/minio\"]}"
  rm -r "$root"
}

# The program itself.
product() {
  local name=$1 program=$2 root; root="$(mktemp -d)"; mkdir -p "$root"/{lib64,lib/x86_64-linux-gnu,usr/local/bin,tmp,etc}
  chmod 1777 "$root/tmp"
  echo 'nonroot:x:65532:65532::/:/' >"$root/etc/passwd"
  strip -o "$root/usr/local/bin/orchestra" "$program"
  ln -s usr/local/bin/orchestra "$root/orchestra"
  # A static program has none. Not `ldd | grep -q`: grep ends at the first match, and ldd fails if it still writes then.
  local linked; linked="$(ldd "$program" 2>&1 || true)"
  if [[ "$linked" == *.so* ]]; then libraries "$root" "$root" "$program"; fi
  archive "$name" "$root" "{\"User\":\"65532\",\"Env\":[$path],\"Entrypoint\":[\"/usr/local/bin/orchestra\"]}"
  rm -r "$root"
}

server="$(apt-cache depends postgresql | grep -oE 'postgresql-[0-9]+' | head -1)"
[ -n "$server" ] || { apt-get update -qq >&2; server="$(apt-cache depends postgresql | grep -oE 'postgresql-[0-9]+' | head -1)"; }
databases=("$server" "postgresql-client-${server#postgresql-}" redis-server redis-tools amqp-tools)

kept probe probe "${databases[@]}"
kept postgres postgres docker.io/library/postgres:17 "${databases[@]}"
kept redis redis docker.io/library/redis:7 "${databases[@]}"
kept mysql mysql docker.io/library/mysql:8.4 mariadb-server-core mariadb-client-core
kept rabbitmq rabbitmq docker.io/library/rabbitmq:4 rabbitmq-server
kept kafka kafka docker.io/apache/kafka 3.9.1
[ -z "${E2E_MINIO:-}" ] || kept "$(sha256sum "$E2E_MINIO"/{minio,mc})" minio quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z "$E2E_MINIO"
kept nginx nginx docker.io/nginxinc/nginx-unprivileged:1.27-alpine
kept node node docker.io/library/node:22-alpine
[ -z "$orchestra" ] || kept "$(sha256sum "$orchestra")" product localhost/orchestra:e2e "$orchestra"
[ -z "$before" ] || kept "$(sha256sum "$before")" product localhost/orchestra:e2e-before "$before"

# Each build of the program leaves an archive behind.
find "$cache" -maxdepth 1 \( -name '*.tar' -o -name '*.list' \) -mtime +7 -delete
