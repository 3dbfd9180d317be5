/** Returns the prefix of every key of the queues. The braces put them into one slot of a Redis Cluster. */
export function queuePrefix(prefix: string): string {
  return `${prefix}:{queues}`;
}

/** Schedule id: encodes its sorted buckets. It has no colons, because BullMQ splits ids at them. */
export function schedulerId(buckets: readonly number[]): string {
  const runs: [from: number, to: number][] = [];
  for (const bucket of buckets) {
    const last = runs.at(-1);
    if (last?.[1] === bucket - 1) last[1] = bucket;
    else runs.push([bucket, bucket]);
  }
  return `buckets-${runs.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join('.')}`;
}

/** Decodes a schedule id into its buckets; undefined if `schedulerId` did not make it. */
export function bucketsOf(id: string): readonly number[] | undefined {
  const runs = /^buckets-(\d+(?:-\d+)?(?:\.\d+(?:-\d+)?)*)$/.exec(id)?.[1]?.split('.');
  return runs?.flatMap((run) => {
    const [from = 0, to = from] = run.split('-').map(Number);
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  });
}

/** Returns a key that is unique per lane; its parts are escaped. */
export function laneJobKey(accountId: string, market: string | null): string {
  const account = encodeURIComponent(accountId);
  return market === null ? `account/${account}` : `market/${account}/${encodeURIComponent(market)}`;
}
