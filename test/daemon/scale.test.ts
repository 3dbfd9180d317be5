import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisState } from '../../src/state/state.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { measure, probed, type Use } from '../support/probe.ts';
import { freePort } from '../support/redis.ts';
import { fleetConfig, writeFleet } from '../telemetry/fleet.ts';
import { loadText } from './config.ts';
import { openScene } from './scene.ts';
import { type DaemonWorld, eventually, openDaemonWorld } from './world.ts';

const ACCOUNTS = 1_000;
const POSITIONS = 5;
const MOST_MEGABYTES = 40;
/** A scrape reads, judges and writes what the baseline only parses and writes. */
const MOST_TIMES_THE_BASELINE = 30;

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
/** Garbage is collected soon, so that it does not count: by default up to 50 MB may accumulate. */
const SMALL_YOUNG_GENERATION = ['--max-semi-space-size=4'];

/** A process with only the role `web`, so that its memory is the memory of scrapes. */
async function startServer(
  world: DaemonWorld,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const port = await freePort();
  const args = ['run', '--config', world.configFile, '--roles', 'web', '--port', String(port)];
  const child = probed(MAIN, args, { env: { ...process.env, ...env }, execArgv: SMALL_YOUNG_GENERATION });
  closeAfterTest(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(
    () =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'the server answers',
    () => child.exitCode,
    100,
  );
  return { child, url };
}

/** Processor time of all threads of this process, so that other load does not count. */
function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('a scrape of 1,000 accounts with 5 positions each has a small peak, is quick, and retains nothing', async ({
  annotate,
}) => {
  const world = await openDaemonWorld(await openScene(), { accounts: {}, rules: '  []' });
  const ids = Array.from({ length: ACCOUNTS }, (_, index) => `desk-${index}`);
  const { text, env } = fleetConfig(ids, { url: world.redisUrl, prefix: world.prefix });
  await writeFile(world.configFile, text);
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: null });
  closeAfterTest(async () => redis.disconnect());
  const state = createRedisState({ redis, prefix: world.prefix, clock: systemClock, timeoutMs: 60_000 });
  closeAfterTest(async () => state.close());
  const config = loadText(text, env);
  const write = () => writeFleet(state, config, POSITIONS, Date.now());
  await write();
  const { child, url } = await startServer(world, env);
  const scrape = async (): Promise<Buffer> => {
    const headers = { connection: 'close', 'accept-encoding': 'identity' };
    return Buffer.from(await (await fetch(`${url}/metrics`, { headers })).arrayBuffer());
  };

  const first = (await scrape()).toString();
  const lines = first.split('\n');
  const count = (name: string) => lines.filter((line) => line.startsWith(`breakwater_${name}{`)).length;
  expect(count('position_liquidation_distance_ratio')).toBe(ACCOUNTS * POSITIONS);
  expect(count('position_liquidation_probability_ratio')).toBe(ACCOUNTS * POSITIONS);
  expect(count('credit_line_ltv_ratio')).toBe(ACCOUNTS);
  expect(count('credit_line_margin_call_seconds')).toBe(ACCOUNTS);
  expect(count('rule_state')).toBe(ACCOUNTS * (3 * POSITIONS + 2));
  expect(Buffer.byteLength(first)).toBeLessThan(MOST_MEGABYTES * 1e6);

  const documents = await Promise.all(ids.map((id) => state.store.read(id)));
  const baselineMs = cpuMs(() => {
    for (const { load } of documents) JSON.stringify(JSON.parse(JSON.stringify(load)));
  });
  const uses: Use[] = [];
  for (let round = 0; round < 4; round += 1) {
    // As if another process had polled every account since.
    await write();
    await systemClock.sleep(1_050, new AbortController().signal);
    uses.push(await measure(child, true, scrape));
  }
  const least = (of: (use: Use) => number): number => Math.min(...uses.map(of));
  const [rss, heap, quickest] = [
    least((use) => use.rss),
    least((use) => use.heap + use.external),
    least((use) => use.cpuMs),
  ];
  const growth = uses.at(-1)!.before.heap - uses[0]!.before.heap;
  await annotate(
    `${lines.length} lines, ${(first.length / 1e6).toFixed(1)} MB; at the peak ${rss.toFixed(1)} MB resident and ${heap.toFixed(1)} MB in use more than before, ${growth.toFixed(1)} MB kept; ${quickest.toFixed(0)} ms of CPU (baseline ${baselineMs.toFixed(0)} ms); others waited ${least((use) => use.longestBlockMs).toFixed(0)} ms`,
  );
  expect(rss).toBeLessThan(MOST_MEGABYTES);
  expect(heap).toBeLessThan(MOST_MEGABYTES);
  expect(growth).toBeLessThan(MOST_MEGABYTES);
  expect(quickest).toBeLessThan(MOST_TIMES_THE_BASELINE * baselineMs);
});
