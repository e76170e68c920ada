#!/bin/sh
# Installs orchestra @VERSION@ from its release: program, shell completions, man pages.
#
#   sh install.sh                              below ~/.local
#   sudo PREFIX=/usr/local sh install.sh       below another folder
#
# ORCHESTRA_BASE_URL   folder of the release files [default: the release in the repository]; file:// works, too
# ORCHESTRA_TARGET     target to install, such as aarch64-unknown-linux-musl [default: that of this machine]
set -eu
# Installed files are readable for everyone, also with a strict umask of root.
umask 022

version='@VERSION@'
repository='@REPOSITORY@'
# SHA-256 of the tarballs. A download is as trustworthy as this script, wherever it comes from.
checksums='
@CHECKSUMS@
'
base="${ORCHESTRA_BASE_URL:-$repository/releases/download/v$version}"
prefix="${PREFIX:-${HOME:?HOME is not set; set PREFIX to the folder to install to}/.local}"

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# target: the static build for this machine.
target() {
  [ "$(uname -s)" = Linux ] || fail "there is no build for $(uname -s), only for Linux; build from source: $repository"
  case "$(uname -m)" in
    x86_64 | amd64) echo x86_64-unknown-linux-musl ;;
    aarch64 | arm64) echo aarch64-unknown-linux-musl ;;
    *) fail "there is no build for $(uname -m), only for x86_64 and aarch64; build from source: $repository" ;;
  esac
}

# download URL FILE: with curl or wget; https:// is never redirected to http://.
download() {
  if has curl; then
    case "$1" in https://*) set -- "$@" --proto '=https' --tlsv1.2 ;; esac
    url=$1 file=$2; shift 2
    curl "$@" --fail --silent --show-error --location --output "$file" "$url"
  elif has wget; then
    url=$1 file=$2; set --
    # The wget of busybox does not know these options.
    case "$url" in https://*) if wget --help 2>&1 | grep -q -e --https-only; then set -- --https-only --secure-protocol=TLSv1_2; fi ;; esac
    wget "$@" -q -O "$file" "$url"
  else
    fail "neither curl nor wget is installed; install one of them"
  fi
}

# fetch FILE: puts a file of the release into the work folder.
fetch() {
  case "$base" in
    file://*) cp "${base#file://}/$1" "$work/$1" || fail "failed to copy $1 from ${base#file://}" ;;
    *) download "$base/$1" "$work/$1" || fail "failed to download $base/$1" ;;
  esac
}

# sum FILE: the SHA-256 of a file.
sum() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "neither sha256sum nor shasum is installed; install one of them to verify the download"
  fi
}

main() {
  target="${ORCHESTRA_TARGET:-$(target)}"
  name="orchestra-$version-$target"
  work="$(mktemp -d)" new=
  # An installation that fails leaves nothing that is half-done; an earlier one keeps working.
  trap 'rm -rf "$work"; [ -z "$new" ] || rm -f "$new"' EXIT
  trap 'exit 1' HUP INT TERM

  expected="$(printf '%s' "$checksums" | awk -v file="$name.tar.gz" '$2 == file { print $1 }')"
  [ -n "$expected" ] || fail "the release $version has no build for $target, only:$(printf '%s' "$checksums" | awk 'NF { printf " %s", $2 }')"
  echo "Downloading $name.tar.gz" >&2
  fetch "$name.tar.gz"
  actual="$(sum "$work/$name.tar.gz")"
  [ "$actual" = "$expected" ] || fail "checksum mismatch of $name.tar.gz: expected $expected, got $actual; download it again"

  gzip -dc "$work/$name.tar.gz" | tar -xf - -C "$work" || fail "failed to unpack $name.tar.gz"
  mkdir -p "$prefix/bin" "$prefix/share" 2>/dev/null || fail "cannot write to $prefix; use sudo, or choose another folder with PREFIX"
  # A running program cannot be overwritten, but replaced. It is tested in its final folder: /tmp may be noexec. It comes last.
  new="$(mktemp "$prefix/bin/.orchestra.XXXXXX")" || fail "cannot write to $prefix/bin; use sudo, or choose another folder with PREFIX"
  { cp "$work/$name/bin/orchestra" "$new" && chmod 755 "$new"; } ||
    fail "cannot write to $prefix/bin; use sudo, or choose another folder with PREFIX"
  "$new" --version >/dev/null || fail "the build for $target does not run on this machine"
  cp -R "$work/$name/share/." "$prefix/share/" || fail "cannot write to $prefix/share; choose another folder with PREFIX"
  mv -f "$new" "$prefix/bin/orchestra" || fail "cannot replace $prefix/bin/orchestra; remove it, or choose another folder with PREFIX"
  new=

  echo "Installed orchestra $version to $prefix/bin/orchestra"
  case ":$PATH:" in
    *":$prefix/bin:"*) program=orchestra ;;
    *)
      program="$prefix/bin/orchestra"
      echo "Add it to your PATH: export PATH=\"$prefix/bin:\$PATH\""
      ;;
  esac
  echo "Run the first example: $program up $prefix/share/doc/orchestra/examples/hello"
}

# The shell parses the whole script before it runs anything, so that a partial download does nothing.
main
