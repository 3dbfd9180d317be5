import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openWorld } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { randomWorld } from './random-world.ts';

/** `WORLDS=200 npm test -- test/world/determinism` runs them all. */
const WORLDS = Number(process.env['WORLDS'] ?? 5);
const FIRST_SEED = 1;
const MINUTES = 60_000;

async function hashOf(spec: WorldSpec): Promise<string> {
  const world = openWorld(spec);
  await world.run();
  return await world.hash();
}

test(
  `${WORLDS} random worlds give the same ledger and audit twice, and each its own`,
  async () => {
    const hashes = new Set<string>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + WORLDS; seed++) {
      const first = await hashOf(randomWorld(seed));
      expect(await hashOf(randomWorld(seed)), `seed ${seed}`).toBe(first);
      hashes.add(first);
    }
    expect(hashes.size).toBe(WORLDS);
  },
  20 * MINUTES,
);

const FIXTURE = path.resolve(import.meta.dirname, 'fixtures/print-hashes.ts');
const ELSEWHERE_SEED = 11;
const COUNT = 3;

async function hashesElsewhere(
  env: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<readonly string[]> {
  const args = [FIXTURE, String(ELSEWHERE_SEED), String(COUNT), ...options];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
  return stdout.trim().split('\n');
}

test(
  'other processes, in another time zone and locale and without clocks or chance of their own, agree',
  async () => {
    const here: string[] = [];
    for (let seed = ELSEWHERE_SEED; seed < ELSEWHERE_SEED + COUNT; seed++) {
      here.push(`${seed} ${await hashOf(randomWorld(seed))}`);
    }
    const far = { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' };
    expect(await hashesElsewhere(far)).toEqual(here);
    expect(await hashesElsewhere({ TZ: 'America/St_Johns' }, 'poisoned')).toEqual(here);
  },
  5 * MINUTES,
);

test(
  'a world replays from a JSON file',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-world-'));
    try {
      const spec = randomWorld(FIRST_SEED + 1);
      const file = path.join(folder, 'world.json');
      await writeFile(file, JSON.stringify(spec));
      const read = JSON.parse(await readFile(file, 'utf8')) as WorldSpec;
      expect(await hashOf(read)).toBe(await hashOf(spec));
    } finally {
      await rm(folder, { recursive: true });
    }
  },
  5 * MINUTES,
);
