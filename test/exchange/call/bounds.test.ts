import { afterEach, describe, expect, test } from 'vitest';
import type { DriftEvent } from '../../../src/exchange/call/observer.ts';
import { parseJson } from '../../../src/exchange/call/parse-json.ts';
import { excessOf, REPLY_BOUNDS } from '../../../src/exchange/call/reply-bounds.ts';
import { readPositions, readReply } from '../../../src/exchange/schemas/replies.ts';
import { openClient, POSITION, SPOT_ORDER } from '../fixtures.ts';
import { type Answer, always, startServer } from './raw-server.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function ask(answer: Answer) {
  const server = await startServer(answer);
  const drifts: DriftEvent[] = [];
  const client = openClient([server.baseUrl], { observer: { onDrift: (event) => drifts.push(event) } });
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  return { server, client, drifts };
}

const zeros = (bytes: number): string => `[${'0,'.repeat(bytes / 2 - 1)}0]`;
const positions = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, index) => ({ ...POSITION, positionId: index + 1 })));

/** The least processor time of several rounds, in milliseconds, as the machine is shared. */
function costOf(work: () => void): number {
  let best = Infinity;
  for (let round = 0; round < 7; round += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

/** The client's whole work on the text of a reply. */
function digest(text: string): void {
  if (excessOf(text, REPLY_BOUNDS.openPositions) !== undefined) return;
  readReply(text, parseJson(text)?.value, readPositions);
}

describe('drift reports', () => {
  test('of a reply of 10 KB of zeros are bounded, and the reply is refused', async () => {
    const { server, client, drifts } = await ask(always(200, zeros(10_000)));
    expect(await client.openPositions()).toMatchObject({ kind: 'failed', error: { name: 'replyTooLarge' } });
    expect(drifts.splice(0)).toHaveLength(1);
    server.answer = always(200, zeros(2_000));
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { records: [], complete: false, furtherSetAside: 980 },
    });
    expect(outcome.kind === 'ok' && outcome.value.setAside).toHaveLength(20);
    expect(drifts).toHaveLength(20);
    expect(drifts[19]).toMatchObject({ path: '[19]', expected: 'an object', got: 'number' });
  });

  test('count a record with many faults once, and the good records beside it are kept', async () => {
    const { client, drifts } = await ask(always(200, [{ positionId: 'x' }, POSITION, {}]));
    expect(await client.openPositions()).toMatchObject({
      value: {
        records: [{ positionId: '191823' }],
        setAside: [{ path: '[0].positionId', furtherFaults: 2 }, { path: '[2].positionId' }],
        complete: false,
      },
    });
    expect(drifts).toHaveLength(2);
  });

  test('of a history are counted over all its lists and pages', async () => {
    const bad = Array.from({ length: 15 }, () => ({}));
    const lists = { A_B: bad, C_D: [SPOT_ORDER], E_F: bad };
    const { client, drifts } = await ask(always(200, lists));
    const outcome = await client.spotOrders();
    expect(outcome).toMatchObject({ value: { furtherSetAside: 10, records: [{ market: 'C_D' }] } });
    expect(drifts).toHaveLength(20);
  });
});

describe('bounds', () => {
  test('a reply of 16 MB stopped the process', async () => {
    const { client, drifts } = await ask((_request, response) => {
      response.writeHead(200).write(zeros(3_000_000));
      response.end(zeros(13_000_000));
    });
    expect(await client.openPositions()).toMatchObject({ kind: 'failed', error: { name: 'replyTooLarge' } });
    expect(drifts).toEqual([]);
  });

  test.each([
    ['zeros', zeros(2_000_000)],
    ['zeros that just pass', zeros(3_990)],
    ['empty objects', `[${'{},'.repeat(1_990)}{}]`],
    ['brackets', '['.repeat(2_000_000)],
    ['quotes and backslashes', `["${'\\'.repeat(1_999_998)}"]`],
    ['nested objects', `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
  ])('a reply of %s costs at most 25 times the processor time of the longest valid list', (_what, text) => {
    const longest = positions(1_200);
    digest(longest);
    expect(costOf(() => digest(text))).toBeLessThan(25 * costOf(() => digest(longest)));
  });

  test.each([
    ['nested too deeply', `[${'{"a":['.repeat(1000)}${']}'.repeat(1000)}]`, /nested deeper than/],
    ['with too long a list', zeros(20_000), /more than 1200 members/],
  ])('a reply %s is refused before it is parsed, and reported once', async (_what, text, message) => {
    const { client, drifts, server } = await ask(always(200, text));
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({ kind: 'failed', error: { name: 'replyTooLarge' } });
    expect(outcome.kind === 'failed' && outcome.error.message).toMatch(message);
    expect(drifts).toMatchObject([{ kind: 'reply' }]);
    expect(server.received).toHaveLength(1);
  });

  test('brackets, commas and quotes within texts do not count', () => {
    const text = JSON.stringify([{ memo: `${'[{,'.repeat(9_000)}\\"${'\\'.repeat(5)}` }, 1, 2]);
    expect(excessOf(text, { members: 3, values: 9 })).toBeUndefined();
    expect(excessOf(text, { members: 2, values: 9 })).toBeDefined();
  });

  test('a text of escaped quotes takes less time to scan than to parse', () => {
    const text = JSON.stringify([{ memo: '"'.repeat(1_000_000) }]);
    const looking = costOf(() => excessOf(text, REPLY_BOUNDS.transfers));
    expect(looking).toBeLessThan(costOf(() => parseJson(text)));
  });

  test('more than 700 positions in one account are refused as too long a reply', async () => {
    const { client } = await ask(always(200, positions(1_200)));
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true, setAside: [] } });
    expect(outcome.kind === 'ok' && outcome.value.records).toHaveLength(1_200);
  });
});
