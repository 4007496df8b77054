#!/bin/sh
# The simulated cameras draw with OpenGL through EGL, which no Python package carries.
set -eu
packages="libegl1 libgl1-mesa-dri"
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Without EGL the simulated cameras stay dark; everything else works."
  echo "On Debian or Ubuntu: sudo apt-get install $packages"
  exit 0
fi
apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
