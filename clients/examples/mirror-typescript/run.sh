#!/bin/sh
# Installs the client from Waymark and starts the mirror.
# In Waymark's repository it uses the key of the demo and the Node of the repository by default.
set -eu
cd "$(dirname "$0")"
repository=../../..
if [ -x "$repository/node_modules/.bin/node" ]; then PATH="$(cd "$repository/node_modules/.bin" && pwd):$PATH"; fi
export WAYMARK_URL="${WAYMARK_URL:-http://127.0.0.1:4000}"
keys=${WAYMARK_DATA_DIR:-$repository/.waymark}/demo-keys.json
if [ -z "${WAYMARK_KEY:-}" ]; then
  [ -f "$keys" ] || { echo "Set WAYMARK_KEY to an API key with the scope jobs:read" >&2; exit 1; }
  WAYMARK_KEY=$(node -p "JSON.parse(require('fs').readFileSync(process.argv[1])).agent" "$keys")
fi
export WAYMARK_KEY
npm install --no-save --no-package-lock --no-audit --no-fund "$WAYMARK_URL/sdk/waymark-client-1.0.0-rc.tgz"
exec npm start
