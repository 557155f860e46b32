#!/bin/sh
# Installs the client from Waymark and starts the mirror. In Waymark's repository it uses the key of the demo by default.
set -eu
cd "$(dirname "$0")"
url=${WAYMARK_URL:-http://127.0.0.1:4000}
keys=${WAYMARK_DATA_DIR:-../../../.waymark}/demo-keys.json
if [ -z "${WAYMARK_KEY:-}" ]; then
  [ -f "$keys" ] || { echo "Set WAYMARK_KEY to an API key with the scope jobs:read" >&2; exit 1; }
  WAYMARK_KEY=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["agent"])' "$keys")
fi
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check "$url/sdk/waymark_client-1.0.0rc0-py3-none-any.whl"
export WAYMARK_URL="$url" WAYMARK_KEY
exec .venv/bin/python mirror.py "$@"
