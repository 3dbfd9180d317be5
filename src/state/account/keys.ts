/** All keys of the state (docs/redis-keys.md). The bucket is the hash tag: all keys of one script are in one slot. */
export function bucketKeys(prefix: string, bucket: number) {
  if (!/^(?:[^{}]*|\{[^{}]+\})$/.test(prefix)) {
    throw new TypeError('the prefix of Redis keys must not contain braces, unless they are around it');
  }
  const tag = `${prefix}:{b${bucket}}`;
  return {
    epoch: `${tag}:epoch`,
    controls: `${tag}:controls`,
    due: `${tag}:due`,
    account: (accountId: string) => `${tag}:account:${accountId}`,
    audit: (accountId: string) => `${tag}:audit:${accountId}`,
    files: (accountId: string) => `${tag}:files:${accountId}`,
    history: (accountId: string) => `${tag}:history:${accountId}`,
    leases: (accountId: string) => `${tag}:leases:${accountId}`,
  };
}

export type BucketKeys = ReturnType<typeof bucketKeys>;
