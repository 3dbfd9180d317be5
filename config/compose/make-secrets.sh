#!/bin/sh
# Makes the secrets of the demo at its first start: random, and kept after that. Each reader has a folder of its own
# with what it needs and nothing else: the daemon, Prometheus, Grafana. Readable for their owner and its group, which
# Prometheus and Grafana are put into.
set -eu
umask 027
daemon=$1
prometheus=$2
grafana=$3
for file in "$daemon/read-token" "$daemon/control-token" "$grafana/grafana-admin-password"; do
  if [ ! -s "$file" ]; then
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$file.new"
    mv "$file.new" "$file"
  fi
done
cp "$daemon/read-token" "$prometheus/read-token.new"
mv "$prometheus/read-token.new" "$prometheus/read-token"
