import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openWorld } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { FULL, sliceOf } from '../support/slice.ts';
import { contendedWorld } from './contended-world.ts';
import { randomWorld } from './random-world.ts';
import { readWorldFile } from './read-spec.ts';

/** `WORLDS=200 npm test -- test/world/determinism` runs them all. */
const WORLDS = Number(process.env['WORLDS'] ?? (FULL ? 5 : 2));
/** With FULL=1 the first ones; otherwise short ones, others in each run, which FC_SEED replays. */
const SEEDS = seedsOf(
  FULL || process.env['WORLDS'] !== undefined
    ? { first: 1, mostMinutes: Number.POSITIVE_INFINITY }
    : { first: 1 + (inject('fastCheckSeed') % 300), mostMinutes: 4 },
);
/** Number of worlds that other processes play too. */
const SEEDS_ELSEWHERE = SEEDS.slice(0, FULL ? 3 : 1);
const MINUTES = 60_000;

function seedsOf({ first, mostMinutes }: { readonly first: number; readonly mostMinutes: number }) {
  const seeds: number[] = [];
  for (let seed = first; seeds.length < WORLDS; seed++) {
    if (randomWorld(seed).durationMs <= mostMinutes * 60_000) seeds.push(seed);
  }
  return seeds;
}

async function hashOf(spec: WorldSpec): Promise<string> {
  const world = openWorld(spec);
  await world.run();
  return await world.hash();
}

const hashes = new Map<number, string>();

/** Reference results: one of each random world. */
async function hashOfSeed(seed: number): Promise<string> {
  const hash = hashes.get(seed) ?? (await hashOf(randomWorld(seed)));
  hashes.set(seed, hash);
  return hash;
}

test(
  `${WORLDS} random worlds each give the same ledger and audit twice, and differ from each other`,
  async () => {
    const seen = new Set<string>();
    for (const [index, seed] of SEEDS.entries()) {
      const first = await hashOfSeed(seed);
      // Half of them a second time: the others only have to differ.
      if (FULL || index % 2 === 0) expect(await hashOf(randomWorld(seed)), `seed ${seed}`).toBe(first);
      seen.add(first);
    }
    expect(seen.size).toBe(WORLDS);
  },
  20 * MINUTES,
);

const FIXTURE = path.resolve(import.meta.dirname, 'fixtures/print-hashes.ts');

async function hashesElsewhere(
  env: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<readonly string[]> {
  const args = [FIXTURE, SEEDS_ELSEWHERE.join(','), ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
  return stdout.trim().split('\n');
}

test(
  'other processes agree, in another time zone and locale and without access to clocks or chance',
  async () => {
    const here: string[] = [];
    for (const seed of SEEDS_ELSEWHERE) {
      here.push(`${seed} ${await hashOfSeed(seed)}`);
    }
    const far = { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' };
    expect(await hashesElsewhere(far, 'poisoned')).toEqual(here);
    // Also separately, to tell which of the two is to blame.
    if (!FULL) return;
    expect(await hashesElsewhere(far)).toEqual(here);
    expect(await hashesElsewhere({ TZ: 'America/St_Johns' }, 'poisoned')).toEqual(here);
  },
  5 * MINUTES,
);

const RUN = path.resolve(import.meta.dirname, 'run.ts');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(...args: readonly string[]): Promise<Ended> {
  const ended = promisify(execFile)(process.execPath, [RUN, ...args]);
  return await ended.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  );
}

describe('a single world', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'breakwater-world-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test(
    'replays from its seed and from its saved JSON file',
    async () => {
      const seed = SEEDS.at(-1) ?? expect.fail();
      const file = path.join(folder, 'world.json');
      const bySeed = await run('--seed', String(seed), '--save', file);
      const byFile = await run('--file', file);
      expect(byFile.stdout).toBe(bySeed.stdout);
      expect(JSON.parse(bySeed.stdout)).toMatchObject({ seed, hash: await hashOfSeed(seed) });
    },
    5 * MINUTES,
  );

  test('is saved and read, random or contended', async () => {
    const file = path.join(folder, 'any.json');
    const all = Array.from({ length: 300 }, (_, index) => index + 1);
    for (const seed of sliceOf(all, 6, 'seeds of worlds that are saved')) {
      for (const spec of [randomWorld(seed), contendedWorld(seed)]) {
        await writeFile(file, JSON.stringify(spec));
        expect(await readWorldFile(file)).toEqual(JSON.parse(JSON.stringify(spec)));
      }
    }
  });

  const spec = JSON.parse(JSON.stringify(contendedWorld(1))) as Record<string, unknown>;
  test.each<[string, string, RegExp]>([
    ['no JSON', '{', /world\.json: expected JSON: /],
    ['a list', '[]', /world\.json: the whole: /],
    ['a missing part', JSON.stringify({ ...spec, exchange: undefined }), /world\.json: exchange: /],
    ['an unknown key', JSON.stringify({ ...spec, colour: 1 }), /world\.json: the whole: .*colour/],
    [
      'a number where a decimal text belongs',
      JSON.stringify({ ...spec, exchange: { accounts: [{ id: 'a', collateral: { USDT: 5 } }] } }),
      /world\.json: exchange\.accounts\[0\]\.collateral\.USDT: /,
    ],
    [
      'an event that there is not',
      JSON.stringify({ ...spec, events: [{ atMs: 1, kind: 'earthquake' }] }),
      /world\.json: events\[0\]\.kind: /,
    ],
    [
      'a fault that there is not',
      JSON.stringify({ ...spec, faults: [{ atMs: 1, fault: { effect: { kind: 'fire' } } }] }),
      /world\.json: faults\[0\]\.fault\.effect\.kind: /,
    ],
  ])('%s is refused with its place', async (_what, text, words) => {
    const file = path.join(folder, 'world.json');
    await writeFile(file, text);
    await expect(readWorldFile(file)).rejects.toThrow(words);
  });

  test('exits with 1 if it is refused, when read or when played', async () => {
    const file = path.join(folder, 'world.json');
    await writeFile(file, '{');
    expect(await run('--file', file)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/expected JSON/),
    });
    const faults = [{ atMs: 1, fault: { effect: { kind: 'reset', hard: true } } }];
    await writeFile(file, JSON.stringify({ ...spec, faults }));
    expect(await run('--file', file)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/faults\[0\]\.fault/),
    });
  });

  test('exits with 2 for invalid options', async () => {
    expect((await run()).code).toBe(2);
    expect((await run('--seed', 'one')).code).toBe(2);
  });
});
