/** Part of every key of the queues, in braces: all keys of a queue lie in one slot of a Redis Cluster. */
export function queuePrefix(prefix: string): string {
  return `${prefix}:{queues}`;
}

/**
 * Of the ticks of these buckets, in ascending order: says exactly which, so that whoever finds a schedule of this id
 * knows what it ticks. No colons: BullMQ takes ids apart at them.
 */
export function schedulerId(buckets: readonly number[]): string {
  const runs: [from: number, to: number][] = [];
  for (const bucket of buckets) {
    const last = runs.at(-1);
    if (last?.[1] === bucket - 1) last[1] = bucket;
    else runs.push([bucket, bucket]);
  }
  return `buckets-${runs.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join('.')}`;
}

/** The buckets that a schedule of this id ticks; undefined: it is of a form that this program does not set up. */
export function bucketsOf(id: string): readonly number[] | undefined {
  const runs = /^buckets-(\d+(?:-\d+)?(?:\.\d+(?:-\d+)?)*)$/.exec(id)?.[1]?.split('.');
  return runs?.flatMap((run) => {
    const [from = 0, to = from] = run.split('-').map(Number);
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  });
}

/** Different for different lanes: what joins the parts is escaped within them. */
export function laneJobKey(accountId: string, market: string | null): string {
  const account = encodeURIComponent(accountId);
  return market === null ? `account/${account}` : `market/${account}/${encodeURIComponent(market)}`;
}
