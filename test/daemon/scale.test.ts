import { writeFile } from 'node:fs/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisState } from '../../src/state/state.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { fleetConfig, writeFleet } from '../telemetry/fleet.ts';
import { openScene } from './scene.ts';
import { openDaemonWorld } from './world.ts';

const ACCOUNTS = 1_000;
const POSITIONS = 5;
const MOST_MEGABYTES = 40;
/** A scrape reads, judges and writes what the baseline only parses and writes. */
const MOST_TIMES_THE_BASELINE = 30;

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc') as () => void;

/** What is in use. Buffers are let go only in the turn after they were found to be garbage. */
async function heapMegabytes(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    collectGarbage();
    await systemClock.sleep(20, new AbortController().signal);
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/** Of this process, all threads: what others do on the machine does not count. */
async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('a scrape of 1,000 accounts with 5 positions each is small, quick, and keeps nothing', {
  timeout: 120_000,
}, async ({ annotate }) => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, { accounts: {}, rules: '  []' });
  const ids = Array.from({ length: ACCOUNTS }, (_, index) => `desk-${index}`);
  const { text, env } = fleetConfig(ids, { url: world.redisUrl, prefix: world.prefix });
  await writeFile(world.configFile, text);
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: null });
  closeAfterTest(async () => redis.disconnect());
  const state = createRedisState({ redis, prefix: world.prefix, clock: systemClock });
  closeAfterTest(async () => state.close());
  const daemon = await world.start({ env, roles: ['web'] });
  const write = () => writeFleet(state, daemon.config(), POSITIONS, Date.now());
  await write();
  const scrape = async (): Promise<Buffer> => {
    const reply = await fetch(`${daemon.webUrl()}/metrics`, { headers: { connection: 'close' } });
    return Buffer.from(await reply.arrayBuffer());
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
  const baselineMs = await cpuMs(() => {
    for (const { load } of documents) JSON.stringify(JSON.parse(JSON.stringify(load)));
  });
  const scrapes: number[] = [];
  let before = 0;
  for (let round = 0; round < 3; round += 1) {
    // As if every account had been polled since, by another process.
    await write();
    await systemClock.sleep(1_050, new AbortController().signal);
    scrapes.push(await cpuMs(scrape));
    if (round === 0) before = await heapMegabytes();
  }
  const growth = (await heapMegabytes()) - before;
  const quickest = Math.min(...scrapes);
  await annotate(
    `${lines.length} lines, ${(first.length / 1e6).toFixed(1)} MB, ${quickest.toFixed(0)} ms of CPU (baseline ${baselineMs.toFixed(0)} ms), ${growth.toFixed(1)} MB kept`,
  );
  expect(growth).toBeLessThan(MOST_MEGABYTES);
  expect(quickest).toBeLessThan(MOST_TIMES_THE_BASELINE * baselineMs);
});
