import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LinkUses, SignedLink } from '../../../src/core/controls/signed-link.ts';
import { createOperatorTrust } from '../../../src/state/controls/operator-seal.ts';
import { createLinkSigner } from '../../../src/state/links/link-signer.ts';
import { createMemoryLinkUses, createRedisLinkUses } from '../../../src/state/links/link-uses.ts';
import { type PrivateRedis, startPrivateRedis } from '../../support/redis.ts';

const KEY = 'an-operators-key-of-the-tests-000000';
const AT = 1_700_000_000_000;
const LINK: SignedLink = {
  target: {
    kind: 'acknowledge',
    accountId: 'desk-1',
    ruleId: 'near',
    subject: 'position:42',
    episode: 7,
    stage: 0,
  },
  sentTo: 'ops',
  expiresAtMs: AT + 1_000,
};

describe('a signed link', () => {
  const signer = createLinkSigner(KEY);
  const token = signer.token(LINK);

  test('reads back as made until it expires, in characters that need no quotes in an address', () => {
    expect(token).toMatch(/^[\w.-]+$/);
    expect(signer.token(structuredClone(LINK))).toBe(token);
    const read = signer.read(token, AT);
    expect(read).toMatchObject({ kind: 'valid', link: LINK });
    expect(signer.read(token, AT + 999)).toEqual(read);
    expect(signer.read(token, AT + 1_000)).toEqual({ ...read, kind: 'expired' });
  });

  test('does not reveal its use: the id says nothing of the signature', () => {
    const read = signer.read(token, AT);
    const [, mac = ''] = token.split('.');
    const id = read.kind === 'wrong' ? '' : read.id;
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(Buffer.from(mac, 'base64url').toString('hex')).not.toContain(id);
  });

  test('is refused if any part of it was changed or cut off', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'.split('');
    const at = fc.integer({ min: 0, max: token.length - 1 });
    fc.assert(
      fc.property(at, fc.constantFrom(...letters), fc.boolean(), (place, letter, isCut) => {
        const changed = isCut
          ? token.slice(0, place)
          : `${token.slice(0, place)}${letter}${token.slice(place + 1)}`;
        const read = signer.read(changed, AT);
        // The last character has unused bits: another spelling is the same link, with the same use.
        const isSpelling = place === token.length - 1 && read.kind === 'valid';
        if (changed === token || isSpelling) expect(read).toEqual(signer.read(token, AT));
        else expect(read).toEqual({ kind: 'wrong' });
      }),
    );
    for (const text of ['', '.', 'x', `${token}${'A'.repeat(10_000)}`, `${'A'.repeat(1_000_000)}.`]) {
      expect(signer.read(text, AT)).toEqual({ kind: 'wrong' });
    }
  });

  test('is refused with another key, with the key in place of the derived one, and as a seal', () => {
    expect(createLinkSigner(`${KEY}1`).read(token, AT)).toEqual({ kind: 'wrong' });
    const [body = '', mac = ''] = token.split('.');
    const direct = createHmac('sha256', KEY).update(body).digest('base64url');
    expect(direct).not.toBe(mac);
    expect(signer.read(`${body}.${direct}`, AT)).toEqual({ kind: 'wrong' });
    const trust = createOperatorTrust({ key: () => KEY, isGuarded: false });
    expect(trust.recordSeal(body)).not.toBe(Buffer.from(mac, 'base64url').toString('hex'));
  });

  test('of another version of the program is refused, not half read', () => {
    const other = { ...LINK, target: { ...LINK.target, kind: 'flatten' } } as unknown as SignedLink;
    expect(signer.read(signer.token(other), AT)).toEqual({ kind: 'wrong' });
  });
});

describe.each(['redis', 'memory'])('uses of links in %s', (kind) => {
  let redis: PrivateRedis | undefined;
  let client: Redis | undefined;
  let uses: LinkUses;
  beforeAll(async () => {
    if (kind === 'memory') {
      uses = createMemoryLinkUses();
      return;
    }
    redis = await startPrivateRedis();
    client = new Redis(redis.url, { maxRetriesPerRequest: 1 });
    uses = createRedisLinkUses({ redis: client, prefix: redis.prefix, nowMs: () => AT });
  });
  afterAll(async () => {
    client?.disconnect();
    await redis?.stop();
  });

  const ann = { author: 'ann', atMs: AT };

  test('one of many at the same time takes a link, and the others learn who', async () => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, index) => uses.take('many', { author: `a${index}`, atMs: AT })),
    );
    expect(all.filter((found) => found === undefined)).toHaveLength(1);
    const winner = await uses.find('many');
    expect(winner?.isDone).toBe(false);
    for (const found of all) if (found !== undefined) expect(found).toEqual(winner);
  });

  test('a used link stays used and shows by whom; a use without effect is released', async () => {
    expect(await uses.find('one')).toBeUndefined();
    await uses.take('one', ann);
    await uses.finish('one', ann, AT + 60_000);
    expect(await uses.take('one', { author: 'bob', atMs: AT + 1 })).toEqual({ ...ann, isDone: true });
    await uses.take('two', ann);
    await uses.release('two');
    expect(await uses.take('two', { author: 'bob', atMs: AT + 1 })).toBeUndefined();
  });
});

test('in Redis every key of a link expires, and foreign values are no use of it', async () => {
  const redis = await startPrivateRedis();
  const client = new Redis(redis.url, { maxRetriesPerRequest: 1 });
  const uses = createRedisLinkUses({ redis: client, prefix: redis.prefix, nowMs: () => AT });
  const ann = { author: 'ann', atMs: AT };
  await uses.take('kept', ann);
  const key = `${redis.prefix}:{link}:kept`;
  expect(await client.pttl(key)).toBeLessThanOrEqual(30_000);
  await uses.finish('kept', ann, AT + 3_600_000);
  const leftMs = await client.pttl(key);
  expect([leftMs > 3_500_000, leftMs <= 3_600_000]).toEqual([true, true]);
  const far = JSON.stringify({ author: 'eve', atMs: 9e15, isDone: true });
  const long = JSON.stringify({ author: 'e'.repeat(5_000), atMs: 1, isDone: true });
  for (const text of ['', 'x', '{}', '{"author":1}', far, long]) {
    await client.set(key, text);
    expect(await uses.find('kept')).toMatchObject({ author: 'somebody', isDone: false });
  }
  client.disconnect();
  await redis.stop();
});
