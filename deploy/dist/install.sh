#!/bin/sh
# Installs orchestra @VERSION@ from its release: program, shell completions, man pages.
#
#   sh install.sh                          below ~/.local
#   PREFIX=/usr/local sh install.sh        below another folder
#
# ORCHESTRA_BASE_URL   folder of the release files [default: the release in the repository]; file:// works, too
# ORCHESTRA_TARGET     build to install, such as x86_64-unknown-linux-gnu [default: the static build for this machine]
set -eu

version=@VERSION@
repository=@REPOSITORY@
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

# fetch FILE: downloads a file of the release into the work folder.
fetch() {
  case "$base" in
    file://*) cp "${base#file://}/$1" "$work/$1" || fail "failed to copy $1 from ${base#file://}" ;;
    *)
      if has curl; then
        curl --fail --silent --show-error --location --output "$work/$1" "$base/$1" || fail "failed to download $base/$1"
      elif has wget; then
        wget -q -O "$work/$1" "$base/$1" || fail "failed to download $base/$1"
      else
        fail "neither curl nor wget is installed; install one of them"
      fi
      ;;
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
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM

  fetch SHA256SUMS
  expected="$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$work/SHA256SUMS")"
  [ -n "$expected" ] || fail "the release $version has no build for $target; see $base/SHA256SUMS for those it has"
  echo "Downloading $name.tar.gz" >&2
  fetch "$name.tar.gz"
  actual="$(sum "$work/$name.tar.gz")"
  [ "$actual" = "$expected" ] || fail "checksum mismatch of $name.tar.gz: expected $expected, got $actual; download it again"

  gzip -dc "$work/$name.tar.gz" | tar -xf - -C "$work" || fail "failed to unpack $name.tar.gz"
  "$work/$name/bin/orchestra" --version >/dev/null || fail "the build for $target does not run on this machine"
  mkdir -p "$prefix/bin" "$prefix/share" 2>/dev/null || fail "cannot write to $prefix; choose another folder with PREFIX"
  # A program that runs cannot be overwritten, but replaced.
  cp "$work/$name/bin/orchestra" "$prefix/bin/.orchestra.new" || fail "cannot write to $prefix/bin; choose another folder with PREFIX"
  mv -f "$prefix/bin/.orchestra.new" "$prefix/bin/orchestra"
  cp -R "$work/$name/share/." "$prefix/share/" || fail "cannot write to $prefix/share; choose another folder with PREFIX"

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

# The whole script is read before anything is run, so that a download that breaks off does nothing.
main
