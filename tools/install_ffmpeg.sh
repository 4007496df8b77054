#!/bin/sh
# LeRobot decodes with the libraries of FFmpeg; the tests that read our exports with it need them.
set -eu
if command -v ffmpeg >/dev/null 2>&1; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Without FFmpeg the tests that read exports with LeRobot itself are skipped."
  echo "On Debian: sudo apt-get install ffmpeg"
  exit 0
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ffmpeg >/dev/null
