/** All keys of the state (docs/redis-keys.md). The bucket is the hash tag: what one script touches lies in one slot. */
export interface BucketKeys {
  readonly epoch: string;
  readonly controls: string;
  readonly due: string;
  readonly account: (accountId: string) => string;
  readonly audit: (accountId: string) => string;
  readonly files: (accountId: string) => string;
  readonly history: (accountId: string) => string;
  readonly leases: (accountId: string) => string;
}

export function bucketKeys(prefix: string, bucket: number): BucketKeys {
  if (/[{}]/.test(prefix)) throw new TypeError('the prefix of Redis keys must not contain braces');
  const tag = `${prefix}:{b${bucket}}`;
  return {
    epoch: `${tag}:epoch`,
    controls: `${tag}:controls`,
    due: `${tag}:due`,
    account: (accountId) => `${tag}:account:${accountId}`,
    audit: (accountId) => `${tag}:audit:${accountId}`,
    files: (accountId) => `${tag}:files:${accountId}`,
    history: (accountId) => `${tag}:history:${accountId}`,
    leases: (accountId) => `${tag}:leases:${accountId}`,
  };
}
