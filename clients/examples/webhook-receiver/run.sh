#!/bin/sh
# Installs the client from Waymark, creates a webhook endpoint at the first start, and starts the receiver.
# In Waymark's repository it uses the key of the demo and the Node of the repository by default.
set -eu
cd "$(dirname "$0")"
repository=../../..
if [ -x "$repository/node_modules/.bin/node" ]; then PATH="$(cd "$repository/node_modules/.bin" && pwd):$PATH"; fi
export WAYMARK_URL="${WAYMARK_URL:-http://127.0.0.1:4000}"
keys=${WAYMARK_DATA_DIR:-$repository/.waymark}/demo-keys.json
if [ -z "${WAYMARK_KEY:-}" ]; then
  [ -f "$keys" ] || { echo "Set WAYMARK_KEY to an API key with the scopes jobs:read and webhooks:manage" >&2; exit 1; }
  WAYMARK_KEY=$(node -p "JSON.parse(require('fs').readFileSync(process.argv[1])).agent" "$keys")
fi
export WAYMARK_KEY
npm install --no-save --no-package-lock --no-audit --no-fund "$WAYMARK_URL/sdk/waymark-client-1.0.0-rc.tgz"
if [ ! -f .env ] && [ -z "${WEBHOOK_SECRETS:-}" ]; then
  url=${WEBHOOK_URL:-http://127.0.0.1:${PORT:-9000}/webhooks}
  secret=$(curl -fsS -X POST -H "x-api-key: $WAYMARK_KEY" -H "content-type: application/json" \
    -d "{\"url\": \"$url\"}" "$WAYMARK_URL/v1/webhook-endpoints" | node -p 'JSON.parse(require("fs").readFileSync(0)).data.secret')
  (umask 077 && echo "WEBHOOK_SECRETS=$secret" > .env)
  echo "Created an endpoint for $url. Its secret is in .env."
fi
exec npm start
