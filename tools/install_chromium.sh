#!/bin/sh
# The tests of Studio's page drive a real browser, which no Python package carries.
set -eu
if command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Without Chromium the tests of the page are skipped; everything else works."
  echo "On Debian: sudo apt-get install chromium"
  exit 0
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
