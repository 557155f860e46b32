#!/usr/bin/env bash
# Stands in for `docker`: runs the commands of the pages' containers on this machine. Variables come from operate-samples.test.ts.
set -euo pipefail
[ "$1" = compose ] || { [ "$1" = volume ]; exit; }
action=$2
shift 2
entrypoint=()
while [ $# -gt 0 ]; do
  case "$1" in
    --entrypoint) entrypoint=("$2"); shift 2 ;;
    --volume | --tail | --since | --scale) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
services=()
while [ $# -gt 0 ] && grep --quiet "^  $1:" "$COMPOSE_FILE"; do
  services+=("$1")
  shift
  case "$action" in exec | run) break ;; esac
done
case "$action" in
  stop | down | up)
    [ "$action" = down ] && services=(postgres)
    # A worker or an API process of the page is one of the test, which starts and stops it.
    [[ " ${services[*]-} " == *" postgres "* ]] || exit 0
    [ "$action" = up ] && exec "$POSTGRES_SERVICE" start
    exec "$POSTGRES_SERVICE" stop
    ;;
  logs) for service in "${services[@]}"; do cat "$LOGS/$service.log"; done ;;
  exec | run)
    [ ${#services[@]} = 1 ] || { echo "unknown service $1" >&2; exit 1; }
    command=("${entrypoint[@]}" "$@")
    [ ${#command[@]} -gt 0 ] || command=(node src/cli/main.ts migrate)
    if [ "${services[0]}" = postgres ] && [ ${#entrypoint[@]} -gt 0 ]; then
      exec "$POSTGRES_SERVICE" run "${command[@]}"
    fi
    port=${services[0]^^}_PORT
    metrics=${services[0]^^}_METRICS_PORT
    command=("${command[@]//127.0.0.1:9464/127.0.0.1:${!metrics-}}")
    command=("${command[@]//127.0.0.1:4000/127.0.0.1:${!port-}}")
    [ "${command[1]-}" != src/cli/main.ts ] || command[1]=$ROOT/src/cli/main.ts
    exec "${command[@]}"
    ;;
  ps | start | restart | build | rm) ;;
  *) echo "unknown command $action" >&2; exit 1 ;;
esac
