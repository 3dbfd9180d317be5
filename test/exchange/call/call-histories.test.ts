import { createHmac } from 'node:crypto';
import { getEventListeners } from 'node:events';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { KeptHash } from '../../support/kept-hash.ts';
import { API_KEY, API_SECRET } from '../fixtures.ts';
import {
  type Asked,
  type Circumstances,
  MOST_IN_FLIGHT,
  type PlayedCalls,
  playCalls,
} from './played-calls.ts';
import type { Sent } from './played-wire.ts';

/**
 * Plays random calls of two clients, checks the invariants, and keeps what was sent and reported for review.
 * `npm test -- test/exchange/call/call-histories.test.ts --update` rewrites the transcript.
 */

const CASES: readonly [string, Circumstances][] = [
  ['unique nonces, one address', { mode: 'unique', addresses: 1 }],
  ['unique nonces, two addresses', { mode: 'unique', addresses: 2 }],
  ['increasing nonces, two addresses', { mode: 'increasing', addresses: 2, driftPpm: 70 }],
  ['a window of nonces, three addresses, a proxy', { mode: 'window', addresses: 3, isProxied: true }],
  ['an observer that throws', { mode: 'unique', addresses: 2, observer: 'throws' }],
];
const HISTORIES = 8;

async function playAll(how: Circumstances): Promise<readonly PlayedCalls[]> {
  const played: PlayedCalls[] = [];
  for (let seed = 0; seed < HISTORIES; seed += 1) played.push(await playCalls(how, seed));
  return played;
}

const isCommand = ({ what }: Asked): boolean => !['ping', 'openPositions', 'mainBalance'].includes(what);

/** Requests of one command, found by the name in their bodies. */
function requestsOf({ sent }: PlayedCalls, { name }: Asked): readonly Sent[] {
  const market = `${name.toUpperCase()}_PERP`;
  return sent.filter(({ body }) => body['market'] === market || body['unique_id'] === name);
}

describe.each(CASES)('with %s', (_what, how) => {
  let histories: readonly PlayedCalls[] = [];
  beforeAll(async () => {
    histories = await playAll(how);
  });

  test('what a client takes for refused without effect has none, and what may have one is never sent again', () => {
    for (const played of histories) {
      for (const asked of played.asked.filter(isCommand)) {
        const requests = requestsOf(played, asked);
        const done = requests.filter(({ isDone }) => isDone);
        if (asked.outcome?.error?.effect === 'none') expect(done).toEqual([]);
        expect(done.length).toBeLessThanOrEqual(1);
        expect(requests.indexOf(done[0] as Sent)).toBe(done.length === 0 ? -1 : requests.length - 1);
        if (asked.what === 'stopLimit') expect(requests.length).toBeLessThanOrEqual(1);
        expect(requests.length).toBeLessThanOrEqual(3);
      }
    }
  });

  test('a call ends within its time, and its request within its own', () => {
    for (const { asked, sent } of histories) {
      for (const { startedMs, endedMs, timeoutMs } of asked) {
        // Timers count whole milliseconds.
        expect(endedMs - startedMs).toBeLessThanOrEqual(Math.max(timeoutMs, 1) + 2);
      }
      for (const { atMs, endedMs, writes } of sent) {
        if (writes > 0) expect(endedMs - atMs).toBeLessThanOrEqual(501);
        expect(writes).toBeLessThanOrEqual(1);
      }
    }
  });

  test('requests are signed, and no more of them under way than there are connections', () => {
    for (const { sent } of histories) {
      for (const { headers, text, method } of sent) {
        expect(headers).toMatchObject({ Accept: 'application/json', 'Accept-Encoding': 'identity' });
        if (method === 'GET') {
          expect(Object.keys(headers)).toEqual(['Accept', 'Accept-Encoding', 'User-Agent']);
          continue;
        }
        const payload = Buffer.from(text).toString('base64');
        expect(headers).toMatchObject({
          'Content-Type': 'application/json',
          'X-TXC-APIKEY': API_KEY,
          'X-TXC-PAYLOAD': payload,
          'X-TXC-SIGNATURE': createHmac('sha512', API_SECRET).update(payload).digest('hex'),
        });
      }
      for (const agent of ['breakwater/1.2.3', 'breakwater']) {
        const own = sent.filter(({ headers }) => headers['User-Agent'] === agent);
        for (const { atMs } of own) {
          const together = own.filter((one) => one.atMs <= atMs && one.endedMs > atMs && one.writes > 0);
          expect(together.length).toBeLessThanOrEqual(MOST_IN_FLIGHT);
        }
      }
    }
  });

  test('each call is told once with as many requests as were sent, and nothing stays taken or open', () => {
    for (const { asked, sent, events, afterwards, timersLeft, openLeft } of histories) {
      expect(events).toHaveLength(asked.length);
      expect(events.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(sent.length);
      expect(new Set(afterwards)).toEqual(new Set(['openPositions ok', 'cancelAll accepted', 'ping ok']));
      expect([timersLeft, openLeft]).toEqual([0, 0]);
      // Includes calls that nobody has given up.
      const signals = asked.flatMap(({ options }) => options.signal ?? []);
      expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
    }
  });

  test('what happens in eight histories by their hash', () => {
    const kept = new KeptHash();
    for (const [seed, { lines }] of histories.entries()) kept.add(`${seed}`, lines);
    expect(kept.text).toMatchSnapshot();
  });
});

test('who does not listen changes nothing', async () => {
  const how: Circumstances = { mode: 'unique', addresses: 2 };
  for (let seed = 0; seed < 3; seed += 1) {
    const [heard, unheard] = [
      await playCalls(how, seed),
      await playCalls({ ...how, observer: 'none' }, seed),
    ];
    expect(unheard.lines).toEqual(heard.lines.filter((line) => !/^\d+(?:\.\d+)? [01] tells /.test(line)));
  }
});

test('what happens at the beginning of histories, to be read', async () => {
  const lines: string[] = [];
  for (const [what, how] of CASES.slice(0, 4)) {
    const played = await playCalls(how, 3);
    lines.push(`-- ${what}`, ...played.lines.slice(0, 120));
  }
  const file = path.join(import.meta.dirname, 'transcripts', 'calls.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});
