#!/bin/sh
# Makes the secrets of the demo at its first start, in the folder given: random, and kept after that. Readable for
# their owner and its group, which Prometheus and Grafana are put into.
set -eu
umask 027
cd "$1"
for name in read-token control-token grafana-admin-password; do
  if [ ! -s "$name" ]; then
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$name.new"
    mv "$name.new" "$name"
  fi
done
