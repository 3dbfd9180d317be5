import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { startHeartbeat } from '../../src/app/heartbeat.ts';
import { Secret } from '../../src/config/secret.ts';
import type { Clock } from '../../src/core/ports/clock.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { Readiness } from '../../src/web/sources.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { openScene } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

interface Ping {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly body: string;
}

const HIDDEN = 'planted-8d1f6a2c';

/** A dead-man service that records its pings. */
async function openService() {
  const pings: Ping[] = [];
  const state = { status: 200 };
  const server = createServer((request, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      pings.push({ method: request.method, path: request.url, body });
      response.writeHead(state.status).end(HIDDEN);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/${HIDDEN}/`, pings, state };
}

const READY: Readiness = { ready: true, checks: [{ name: 'redis', ok: true, why: 'it answers' }] };
const NOT_READY: Readiness = {
  ready: false,
  checks: [...READY.checks, { name: 'dataFresh', ok: false, why: `desk-1 is old ${HIDDEN}` }],
};

describe('the heartbeat', () => {
  async function open({ query = '', clock = systemClock, everyMs = 40, status = 200 } = {}) {
    const service = await openService();
    service.state.status = status;
    let looks = 0;
    const events: DaemonEvent[] = [];
    const now = { readiness: READY, url: new Secret(service.url + query) };
    const heartbeat = startHeartbeat({
      settings: () => ({ url: now.url, everyMs }),
      readiness: async () => {
        looks += 1;
        return now.readiness;
      },
      conceal: (text) => text.replaceAll(HIDDEN, '[redacted]'),
      clock,
      telemetry: { emit: (event) => void events.push(event) },
    });
    closeAfterTest(() => heartbeat.stop());
    const paths = () => service.pings.map(({ path }) => path);
    return { ...service, paths, events, now, heartbeat, looks: () => looks };
  }

  test('pings start once, then success, then /fail with the reason, and success again', async () => {
    const { pings, paths, now, events } = await open();
    await eventually(() => pings.length >= 4, 'pings');
    expect(paths().slice(0, 3)).toEqual([`/${HIDDEN}/start`, `/${HIDDEN}/`, `/${HIDDEN}/`]);
    now.readiness = NOT_READY;
    await eventually(() => paths().filter((path) => path === `/${HIDDEN}/fail`).length >= 2, 'failures');
    expect(pings.at(-1)).toEqual({
      method: 'POST',
      path: `/${HIDDEN}/fail`,
      body: 'dataFresh: desk-1 is old [redacted]',
    });
    now.readiness = READY;
    await eventually(() => paths().at(-1) === `/${HIDDEN}/`, 'success again');
    expect(paths().filter((path) => path?.endsWith('start'))).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain(HIDDEN);
  });

  test('keeps the query of an address, and starts over with another address', async () => {
    const { paths, now, url } = await open({ query: '?create=1' });
    await eventually(() => paths().length >= 2, 'pings');
    expect(paths().slice(0, 2)).toEqual([`/${HIDDEN}/start?create=1`, `/${HIDDEN}/?create=1`]);
    now.url = new Secret(`${url}other`);
    await eventually(() => paths().includes(`/${HIDDEN}/other`), 'the other address');
    expect(paths()).toContain(`/${HIDDEN}/other/start`);
  });

  test('repeats a failed ping at every check; logs neither address nor answer', async () => {
    // A check every 10 s, a ping every 60 s, by a clock that goes on only while it is slept by.
    let nowMs = 0;
    const clock: Clock = {
      nowMs: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: async (delayMs, signal) => {
        await systemClock.sleep(delayMs / 1000, signal);
        nowMs += delayMs;
      },
    };
    const { events, state, pings, looks } = await open({ clock, everyMs: 60_000, status: 503 });
    await eventually(() => pings.length >= 8, 'pings that were refused');
    expect(looks() - pings.length).toBeLessThan(2);
    state.status = 200;
    const [before, seen] = [pings.length, looks()];
    await eventually(() => looks() >= seen + 24, 'looks');
    expect(pings.length - before).toBeLessThan(12);
    const refused = events.flatMap((event) => (event.kind === 'heartbeat' ? [event.refused] : []));
    expect(refused.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => 'HTTP 503'));
    expect(JSON.stringify(events)).not.toContain(HIDDEN);
  });

  test('ends at once, even in the middle of a ping without an answer', async () => {
    const sockets = createServer(() => undefined);
    await new Promise<void>((resolve) => sockets.listen(0, '127.0.0.1', resolve));
    closeAfterTest(async () => {
      sockets.closeAllConnections();
      await new Promise((resolve) => sockets.close(resolve));
    });
    const { now, heartbeat, events } = await open();
    const asked = new Promise((resolve) => sockets.once('request', resolve));
    now.url = new Secret(`http://127.0.0.1:${(sockets.address() as AddressInfo).port}/`);
    await asked;
    await heartbeat.stop();
    expect(events.filter(({ kind }) => kind === 'workerError')).toEqual([]);
  });
});

describe.runIf(hasRedisServer())('a daemon with a heartbeat', () => {
  const RULE = `  - id: rule
    on: position
    when: { liquidationDistance: { below: 1% } }
    do: [{ notify: {} }]
`;

  test('pings while it watches, also without Redis, gives the reason when the exchange hangs, and logs no address', async () => {
    const server = await startRedisServer({ persistent: true });
    closeAfterTest(() => server.stop());
    const [simulator, service] = [await openScene(), await openService()];
    const world = await openDaemonWorld(
      simulator,
      {
        accounts: { long: { rules: ['rule'] } },
        rules: RULE,
        more: `heartbeat: { url: "${service.url}", every: 1s }\n`,
      },
      { redis: { url: server.url, prefix: 'bw' } },
    );
    const stream = new PassThrough();
    let log = '';
    stream.on('data', (part) => (log += String(part)));
    await world.start({ log: { stream, isTerminal: false, colours: false, level: 'trace' } });
    const { pings } = service;
    const count = (path: string) => pings.filter((ping) => ping.path === `/${HIDDEN}/${path}`).length;
    const wait = (isSo: () => boolean, what: string) => eventually(isSo, what, () => troubles(world.events));
    await wait(() => count('') >= 2, 'two successes');
    expect(pings[0]?.path).toBe(`/${HIDDEN}/start`);
    await server.kill();
    await wait(
      () => world.events.some((event) => event.kind === 'standby' && event.state === 'alone'),
      'the loss',
    );
    const before = count('');
    await wait(() => count('') >= before + 3, 'successes without Redis');
    const fault = simulator.injectFault({ effect: { kind: 'hang' }, target: {} });
    await wait(() => count('fail') >= 1, 'a failure');
    const told = pings.findLast(({ path }) => path?.endsWith('fail'))?.body ?? '';
    expect(told).toMatch(/dataFresh: long/);
    const succeeded = count('');
    await wait(() => count('fail') >= 3, 'more failures');
    expect(count('')).toBe(succeeded);
    simulator.clearFaults(fault);
    await wait(() => count('') > succeeded, 'success again');
    expect(log).toContain('"event":"heartbeat"');
    expect(log).not.toContain(HIDDEN);
  });
});
