import { createHash } from 'node:crypto';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { NonceMode } from '../../../src/exchange/nonce/nonce-modes.ts';
import { type Circumstances, exchangeTime, type Played, playNonces, type Taken } from './played-nonces.ts';

/**
 * Plays random histories of three processes with one key, checks the invariants, and keeps the nonces for review.
 * `npm test -- test/exchange/nonce/histories.test.ts --update` rewrites the transcript.
 */

const MODES: readonly NonceMode[] = ['unique', 'increasing', 'window'];
const CALM: Circumstances = { store: 'holds', clocksFail: false, refusals: false };
const WORST: Circumstances = { store: 'forgets', clocksFail: true, refusals: true };
const HISTORIES = 12;

async function playAll(mode: NonceMode, how: Circumstances, from = 0): Promise<readonly Played[]> {
  const played: Played[] = [];
  for (let seed = from; seed < from + HISTORIES; seed += 1) played.push(await playNonces(mode, seed, how));
  return played;
}

function expectOnce(taken: readonly Taken[]): void {
  const nonces = taken.map(({ nonce }) => nonce);
  expect(nonces).toEqual([...new Set(nonces)]);
}

function expectRising(taken: readonly Taken[]): void {
  for (const [index, { nonce }] of taken.entries()) {
    if (index > 0) expect(nonce).toBeGreaterThan(taken[index - 1]?.nonce ?? Infinity);
  }
}

/** A nonce is larger than all that any process had taken this long before. */
function expectYounger(taken: readonly Taken[], ageMs: (one: Taken) => number): void {
  for (const [index, one] of taken.entries()) {
    const older = taken.slice(0, index).filter(({ atMs }) => atMs <= one.atMs - ageMs(one));
    expect(one.nonce).toBeGreaterThan(Math.max(0, ...older.map(({ nonce }) => nonce)));
  }
}

describe.each(MODES)('%s nonces', (mode) => {
  test('are never used twice by one process, whatever becomes of store and clocks', async () => {
    for (const { taken } of await playAll(mode, WORST)) {
      for (const who of [0, 1, 2]) {
        const own = taken.filter((one) => one.who === who);
        expectOnce(own);
        if (mode !== 'window') expectRising(own);
      }
      if (mode !== 'window') expectOnce(taken);
    }
  });

  test('are never used twice by several processes, unless the store forgets', async () => {
    for (const { taken } of await playAll(mode, { ...WORST, store: 'fails' })) expectOnce(taken);
  });
});

test('unique nonces are above all that were taken ten seconds before; what acts, a fifth of a second', async () => {
  for (const { taken } of await playAll('unique', { ...CALM, refusals: true })) {
    expectYounger(taken, ({ kind, protective }) => (kind === 'command' || protective ? 200 : 10_000));
  }
});

test('increasing nonces rise over all processes, and one request at a time has one', async () => {
  for (const { taken } of await playAll('increasing', { ...CALM, clocksFail: true, refusals: true })) {
    expectRising(taken);
    for (const [index, { atMs }] of taken.entries()) {
      if (index > 0) expect(atMs).toBeGreaterThanOrEqual(taken[index - 1]?.releasedMs ?? Infinity);
    }
    expect(taken.filter(({ wasCurrent }) => !wasCurrent)).toEqual([]);
  }
});

test.each([
  ['holds', -1_200, 2_000],
  ['fails', -2_000, 2_000],
] as const)(
  "nonces of a window are near the exchange's time while the store %s",
  async (store, least, most) => {
    for (const { taken } of await playAll('window', { store, clocksFail: false, refusals: true })) {
      for (const { atMs, nonce } of taken) {
        expect(nonce - exchangeTime(atMs)).toBeGreaterThanOrEqual(least);
        expect(nonce - exchangeTime(atMs)).toBeLessThanOrEqual(most);
      }
    }
  },
);

test('nonces of a window are taken for the exchange by replies, wherever the clocks are', async () => {
  for (const { taken } of await playAll('window', { store: 'fails', clocksFail: true, refusals: true })) {
    for (const { atMs, nonce, dated } of taken) {
      if (dated) expect(Math.abs(nonce - exchangeTime(atMs))).toBeLessThanOrEqual(5_000);
    }
  }
});

test('what is handed out in histories to be read', async () => {
  const lines: string[] = [];
  for (const mode of MODES) {
    for (const how of [CALM, WORST]) {
      const played = await playNonces(mode, 1, how);
      lines.push(`-- ${mode}, the store ${how.store}`, ...played.lines);
    }
  }
  const file = path.join(import.meta.dirname, 'transcripts', 'nonces.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

describe.each(MODES)('histories by their hash, %s', (mode) => {
  test.each([
    ['calm', CALM],
    ['refused', { ...CALM, refusals: true }],
    ['troubled', { ...WORST, store: 'fails' }],
    ['worst', WORST],
  ] as const)('%s', async (_what, how) => {
    const hash = createHash('sha256');
    for (const { lines } of await playAll(mode, how, 1_000)) hash.update(lines.join('\n'));
    expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
  });
});
