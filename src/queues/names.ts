/** Part of every key of the queues, in braces: all keys of a queue lie in one slot of a Redis Cluster. */
export function queuePrefix(prefix: string): string {
  return `${prefix}:{queues}`;
}

/** No colons: BullMQ takes ids apart at them. */
export function schedulerId(bucket: number): string {
  return `bucket-${bucket}`;
}

/** Different for different lanes: what joins the parts is escaped within them. */
export function laneJobKey(accountId: string, market: string | null): string {
  const account = encodeURIComponent(accountId);
  return market === null ? `account/${account}` : `market/${account}/${encodeURIComponent(market)}`;
}
