#!/bin/sh
# Makes the secrets of the demo at its first start: random, and kept after that; and who may do what in Redis. Each reader has a folder of its own
# with what it needs and nothing else: the daemon, Prometheus, Grafana, Redis. Readable for their owner and its group, which
# the others are put into.
set -eu
umask 027
daemon=$1
prometheus=$2
grafana=$3
redis=$4
for file in "$daemon/read-token" "$daemon/control-token" "$daemon/operators-key" "$grafana/grafana-admin-password"; do
  if [ ! -s "$file" ]; then
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$file.new"
    mv "$file.new" "$file"
  fi
done
cp "$daemon/read-token" "$prometheus/read-token.new"
mv "$prometheus/read-token.new" "$prometheus/read-token"
# Nobody can log in as `default`. It keeps its rights because Redis replays its append-only file as this user, and throws
# away what the user may not do.
default='user default off resetpass ~* &* +@all'
if [ ! -s "$daemon/redis-url" ]; then
  password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
  # Nobody comes in without the password, and the daemon can touch its own keys alone.
  {
    echo "$default"
    echo "user breakwater on >$password resetkeys ~breakwater:* resetchannels &breakwater:* -@all +@read +@write +@connection +@transaction +@pubsub -@dangerous +eval +evalsha +time +info +config|get +acl|dryrun"
  } >"$redis/users.acl.new"
  mv "$redis/users.acl.new" "$redis/users.acl"
  printf 'redis://breakwater:%s@redis:6379' "$password" >"$daemon/redis-url.new"
  mv "$daemon/redis-url.new" "$daemon/redis-url"
elif ! grep -qxF "$default" "$redis/users.acl"; then
  # Made by an earlier version.
  {
    echo "$default"
    grep -v '^user default ' "$redis/users.acl" | sed 's/ +config|get$/ +config|get +acl|dryrun/'
  } >"$redis/users.acl.new"
  mv "$redis/users.acl.new" "$redis/users.acl"
fi
