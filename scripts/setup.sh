#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installs the Debian 12 packages that are missing.
#
#   scripts/setup.sh [build|test|fuzz|bench|fabric|launchers]        default: test
#
# As root it installs them; else it prints the command and exits 2. Quick when nothing is missing. On other systems it only
# names them.
set -eu

build="gcc g++ make cmake ninja-build pkg-config libxml2-dev libjansson-dev libhwloc-dev zlib1g-dev libscotch-dev scdoc python3"
case "${1:-test}" in
build) packages=$build ;;
test) packages="$build libcmocka-dev python3-jsonschema libopenmpi-dev openmpi-bin libmpich-dev mpich" ;;
fuzz) packages="$build clang libclang-rt-14-dev" ;;
bench) packages="$build libsimgrid-dev libopenmpi-dev openmpi-bin libmpich-dev mpich" ;;
fabric) packages="ibsim-utils infiniband-diags opensm" ;; # tests/fabric: management tools on a simulated fabric
launchers) packages="slurm-client slurmd slurmctld munge" ;; # tests/command/launchers.py: SLURM on this machine
*)
    echo "usage: scripts/setup.sh [build|test|fuzz|bench|fabric|launchers]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; what these Debian packages hold must be there: $packages" >&2
    exit 0
fi

installed=" $(dpkg-query -W -f='${db:Status-Status}=${Package}\n' $packages 2>/dev/null | sed -n 's/^installed=//p' | tr '\n' ' ')"
missing=
for package in $packages; do
    case "$installed" in
    *" $package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then
    echo "setup: nothing is missing"
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "setup: these packages are missing:$missing; install them with" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 2
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends $missing
