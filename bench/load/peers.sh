#!/usr/bin/env bash
# Finds or installs the load generators that bench/load/run compares headroom with, and links each of them in
# target/bench-peers, where the run looks first. Whatever cannot be had here is named, and the run goes on without it.
#
#     bench/load/peers.sh [NAME...]        all of them unless some are named
set -uo pipefail
cd "$(dirname "$0")/../.."
peers="$PWD/target/bench-peers"
mkdir -p "$peers/bin"

link() { # name, path
    [ "$(readlink -f "$2")" = "$(readlink -f "$peers/$1")" ] || ln -sf "$2" "$peers/$1"
    echo "$1: $2"
}

found() { # a name that is in PATH or was installed before
    local at
    at=$(command -v "$1" || ls "$peers/bin/$1" 2>/dev/null) && link "$1" "$at"
}

debian() { # name, package
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"; } >&2
}

go_module() { # path of the module's command, version
    command -v go >/dev/null && GOBIN="$peers/bin" go install "$1@${2:-latest}" >&2
}

crate() { # name
    command -v cargo >/dev/null && cargo install --locked --quiet --root "$peers" "$1" >&2
}

get() { # name
    case $1 in
    wrk) debian wrk wrk ;;
    wrk2) return 1 ;; # in no package registry
    h2load) debian h2load nghttp2-client ;;
    ab) debian ab apache2-utils ;;
    hey) go_module github.com/rakyll/hey ;;
    vegeta) go_module github.com/tsenart/vegeta/v12 ;;
    bombardier) go_module github.com/codesenberg/bombardier ;;
    fortio) go_module fortio.org/fortio v1.63.0 ;; # later ones need modules that not every proxy gives
    k6) go_module go.k6.io/k6 ;;
    oha) crate oha ;;
    *) echo "$1 is unknown" >&2 && return 1 ;;
    esac
}

missing=()
for name in ${@:-wrk h2load ab hey vegeta bombardier fortio k6 oha wrk2}; do
    found "$name" || { get "$name" && found "$name"; } || missing+=("$name")
done
[ ${#missing[@]} -eq 0 ] || echo "missing: ${missing[*]}"
