import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ActionFeed } from '../../src/web/events/action-feed.ts';
import { changedText, encode } from '../../src/web/events/changes.ts';
import { EventClient } from '../../src/web/events/client.ts';
import type { StateFeed } from '../../src/web/events/state-feed.ts';
import type { SourcedView } from '../../src/web/sources.ts';
import { accountView, ask, type Fixture, startFixture } from './fixture.ts';
import { type EventListener, listenTo, type SentEvent } from './listener.ts';

const open: (Fixture | EventListener | { close(): Promise<void> })[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function start(...options: Parameters<typeof startFixture>): Promise<Fixture> {
  const fixture = await startFixture(...options);
  open.push(fixture);
  return fixture;
}

async function listen(...given: Parameters<typeof listenTo>): Promise<EventListener> {
  const listener = await listenTo(...given);
  open.push(listener);
  return listener;
}

const about = (event: string, accountId?: string) => (sent: SentEvent) =>
  sent.event === event && (accountId === undefined || sent.data['accountId'] === accountId);

describe('a listener', () => {
  test('first gets everything requested, then only changes', async () => {
    const { server, set } = await start();
    const listener = await listen(server, '?accounts=desk-1,nobody');
    expect([listener.status, listener.headers['content-type']]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(await listener.until(about('hello'))).toMatchObject({ data: { version: '1.2.3' } });
    expect(listener.events[0]?.event).toBe('hello');
    const first = await listener.until(about('account', 'desk-1'));
    expect(first.data['changed']).toEqual(accountView('desk-1'));
    await listener.until(about('overview'));
    expect(await listener.until(about('gone'))).toMatchObject({ data: { accountId: 'nobody' } });

    set(accountView('desk-1', { judgedAtMs: 5000, danger: 0.9 }));
    set(accountView('desk-2', { judgedAtMs: 5000 }));
    const next = await listener.until((sent) => about('account', 'desk-1')(sent) && sent !== first);
    expect(next.data).toEqual({ accountId: 'desk-1', changed: { judgedAtMs: 5000, danger: 0.9 } });
    expect(listener.events.filter(about('account', 'desk-2'))).toEqual([]);
  });

  test('gets a row of every account on request, then changes, and after a break only what is new', async () => {
    const { server, set, views } = await start();
    const other = await listen(server);
    const listener = await listen(server, '?rows=true');
    const rowsOf = ({ data }: SentEvent) =>
      (data['rows'] as readonly { accountId: string }[]).map((row) => row.accountId);
    const first = await listener.until(about('rows'));
    expect(first.data).toMatchObject({ ids: ['desk-1', 'desk-2'], cursor: expect.any(String) });
    expect(rowsOf(first)).toEqual(['desk-1', 'desk-2']);
    set(accountView('desk-2', { nearest: 0.3 }));
    const next = await listener.until((sent) => about('rows')(sent) && sent !== first);
    expect(rowsOf(next)).toEqual(['desk-2']);
    expect(next.data).not.toHaveProperty('ids');
    // Invisible changes of figures change no row.
    set(accountView('desk-2', { nearest: 0.300_001, judgedAtMs: 7 }));
    set(accountView('desk-1', { nearest: 0.2 }));
    const third = await listener.until((sent) => about('rows')(sent) && sent !== first && sent !== next);
    expect(rowsOf(third)).toEqual(['desk-1']);
    const back = await listen(server, `?rows=${String(third.data['cursor'])}`);
    expect((await back.until(about('rows'))).data).toMatchObject({ rows: [], ids: ['desk-1', 'desk-2'] });
    const stranger = await listen(server, '?rows=0123456789ab.3');
    expect(rowsOf(await stranger.until(about('rows'))).sort()).toEqual(['desk-1', 'desk-2']);
    views.delete('desk-1');
    const gone = await listener.until(({ data }) => (data['ids'] as string[] | undefined)?.length === 1);
    expect(gone.data).toMatchObject({ rows: [], ids: ['desk-2'] });
    expect(other.events.filter(about('rows'))).toEqual([]);
    expect((await ask(server, '/api/v1/events?rows=%22')).status).toBe(400);
  });

  test('gets the overview again when it changes, not when time passes', async () => {
    const { server, set, state, reads } = await start();
    const listener = await listen(server);
    const first = await listener.until(about('overview'));
    const before = reads();
    await expect.poll(reads).toBeGreaterThan(before + 3);
    expect(listener.events.filter(about('overview'))).toEqual([first]);
    await state.controls.put({ kind: 'pause', accountId: null, author: 'a', reason: 'r', expiresAtMs: null });
    const second = await listener.until((sent) => about('overview')(sent) && sent !== first);
    expect(Object.keys(second.data['changed'] as object).sort()).toEqual(['atMs', 'pauses']);
    set(accountView('desk-1', { rules: [] }));
    await listener.until(
      (sent) => 'firing' in ((sent.data['changed'] as object | undefined) ?? {}) && sent !== first,
    );
  });

  test('learns that an account has left the config, and gets it in full when it comes back', async () => {
    const { server, views } = await start();
    const listener = await listen(server, '?accounts=desk-1');
    await listener.until(about('account', 'desk-1'));
    const kept = views.get('desk-1');
    views.delete('desk-1');
    await listener.until(about('gone', 'desk-1'));
    views.set('desk-1', kept as SourcedView);
    await expect.poll(() => listener.events.filter(about('account', 'desk-1')).length).toBe(2);
    expect(listener.events.findLast(about('account', 'desk-1'))?.data['changed']).toEqual(
      accountView('desk-1'),
    );
  });

  test('gets actions when they are recorded, and again with their outcome', async () => {
    const { server, state, set } = await start();
    const listener = await listen(server);
    await listener.until(about('overview'));
    const act = async (kind: 'cancelling' | 'cancelAccepted', atMs: number): Promise<void> => {
      const { load } = await state.store.read('desk-1');
      if (load.kind !== 'loaded') throw new Error('not loaded');
      const event = {
        kind,
        atMs,
        accountId: 'desk-1',
        market: 'M',
        reason: 'resolved',
        words: 'w',
        alarm: false,
      };
      await state.store.commit([{ base: load.account, audit: [{ kind: 'action', event }] }]);
    };
    await act('cancelling', 10);
    set(accountView('desk-1'), 1);
    const pending = await listener.until(about('action', 'desk-1'));
    expect(pending.data).toMatchObject({ outcome: 'pending', kind: 'cancelAll', market: 'M' });
    await act('cancelAccepted', 15);
    set(accountView('desk-1'), 2);
    const done = await listener.until(({ data }) => data['outcome'] === 'accepted');
    expect(done.data).toMatchObject({ id: pending.data['id'], tookMs: 5 });
  });

  test('shares one reader with all others, and without listeners nothing is read', async () => {
    const { server, reads } = await start();
    const listeners = await Promise.all(
      Array.from({ length: 20 }, () => listen(server, '?accounts=desk-1,desk-2')),
    );
    await Promise.all(listeners.map((listener) => listener.until(about('overview'))));
    const before = reads();
    const from = performance.now();
    await expect.poll(reads).toBeGreaterThan(before + 4);
    // Two reads per tick for any number of listeners: one of the feed, one of the overview.
    const ticks = (performance.now() - from) / 500 + 1;
    expect(reads() - before).toBeLessThanOrEqual(2 * ticks + 2);
    await Promise.all(listeners.map((listener) => listener.close()));
    const settled = async (): Promise<number> => {
      const now = reads();
      await new Promise((resolve) => setTimeout(resolve, 700));
      return reads() - now;
    };
    await expect.poll(settled).toBe(0);
  });

  test('ends when the server closes', async () => {
    const fixture = await startFixture();
    const listener = await listen(fixture.server, '?accounts=desk-1');
    await listener.until(about('overview'));
    await fixture.close();
    await listener.closed;
  });

  test('is not blocked by an overview that hangs', async () => {
    const never = new Promise<never>(() => undefined);
    const { server, set } = await start({
      sources: {
        process: {
          version: '1.2.3',
          instance: 'i0-test',
          startedAtMs: 1,
          readiness: () => never,
          degraded: () => [],
          reachesAll: () => true,
          goesAlone: false,
          polling: () => 0,
          processes: async () => [],
          queues: () => never,
        },
      },
    });
    const listener = await listen(server, '?accounts=desk-1');
    const first = await listener.until(about('account', 'desk-1'));
    set(accountView('desk-1', { danger: 0.9 }));
    await listener.until((sent) => about('account', 'desk-1')(sent) && sent !== first);
    const { data } = await listener.until(about('overview'));
    expect(data['changed']).toMatchObject({ health: { ready: false }, queues: [] });
  });

  test('is not ended by a failed read', async () => {
    let isLost = true;
    const { server, errors } = await start({
      sources: {
        views: {
          ids: () => ['desk-1'],
          ruleIds: () => [],
          read: async () => {
            if (isLost) throw new Error('lost');
            return [{ view: accountView('desk-1'), acted: 0 }];
          },
        },
      },
    });
    const listener = await listen(server, '?accounts=desk-1');
    await expect.poll(() => errors.length).toBeGreaterThan(0);
    isLost = false;
    await listener.until(about('account', 'desk-1'));
  });
});

function large(accountId: string, bytes: number, mark: string) {
  return accountView(accountId, { labels: { desk: mark.padEnd(bytes, 'x') } });
}

describe('a listener that does not read', () => {
  test('costs at most the buffer of its connection, however much changes', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `a${index}`);
    const { server, set, reads } = await start({ accounts: ids.map((id) => large(id, 100_000, '0')) });
    const sockets: Socket[] = [];
    for (let index = 0; index < 20; index++) {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.pause();
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(`GET /api/v1/events?accounts=${ids.join(',')} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    }
    open.push({ close: async () => void sockets.map((socket) => socket.destroy()) });
    const change = async (round: number): Promise<void> => {
      const before = reads();
      for (const id of ids) set(large(id, 100_000, String(round)));
      await expect.poll(reads, { interval: 10 }).toBeGreaterThan(before + 1);
    };
    await change(1);
    await change(2);
    globalThis.gc?.();
    const before = process.memoryUsage();
    // 1 MB per round and listener, if it were queued: 160 MB in all.
    for (let round = 3; round < 11; round++) await change(round);
    globalThis.gc?.();
    const after = process.memoryUsage();
    const grown = after.heapUsed + after.external - before.heapUsed - before.external;
    expect(grown / 1e6).toBeLessThan(60);
    // The others are served as before.
    const listener = await listen(server, '?accounts=a3');
    const { data } = await listener.until(about('account', 'a3'));
    expect((data['changed'] as { labels: { desk: string } }).labels.desk.startsWith('10')).toBe(true);
    expect((await ask(server, '/api/v1/overview')).status).toBe(200);
  });
});

describe('a listener that stays slow', () => {
  test('is closed, but one without news is not', async () => {
    const { server, port, responses } = await rawServer();
    const stalled = connect(port, '127.0.0.1');
    stalled.on('error', () => undefined);
    stalled.pause();
    stalled.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const quiet = connect(port, '127.0.0.1');
    quiet.resume();
    quiet.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await expect.poll(() => responses.length).toBe(2);
    const [first, second] = responses;
    const left: string[] = [];
    const start = (response: ServerResponse, name: string, bytes: number): void => {
      const overview = encode({ filler: 'x'.repeat(bytes) });
      const feed = { overview, account: () => undefined, listen: () => () => void left.push(name) };
      const actions = { cursor: 0, after: () => [] };
      new EventClient({
        response,
        feed: feed as unknown as StateFeed,
        actions: actions as unknown as ActionFeed,
        accountIds: [],
        hello: { version: '1', atMs: 1 },
        times: { heartbeatMs: 20, stalledMs: 300 },
      }).start();
    };
    // More than the connection of a listener that does not read can take.
    start(first as ServerResponse, 'stalled', 30_000_000);
    start(second as ServerResponse, 'quiet', 10);
    await expect.poll(() => left).toEqual(['stalled']);
    expect(first?.destroyed).toBe(true);
    expect(second?.destroyed).toBe(false);
    stalled.destroy();
    quiet.destroy();
    await expect.poll(() => left).toEqual(['stalled', 'quiet']);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});

async function rawServer() {
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => void responses.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port, responses };
}

describe('the difference between two states', () => {
  test('consists of the entries with another text', () => {
    const first = encode({ a: 1, b: { c: [1, 2] }, d: null });
    expect(changedText(undefined, first)).toBe('{"a":1,"b":{"c":[1,2]},"d":null}');
    const same = encode({ a: 1, b: { c: [1, 2] }, d: null }, first);
    expect(same).toBe(first);
    const next = encode({ a: 1, b: { c: [2] }, d: null }, first);
    expect(changedText(first, next)).toBe('{"b":{"c":[2]}}');
    expect(changedText(first, encode({ a: 2, b: { c: [1, 2] }, d: null }, first), ['a'])).toBeUndefined();
    expect(changedText(first, encode({ a: 2, b: 1, d: null }, first), ['a'])).toBe('{"a":2,"b":1}');
  });
});
