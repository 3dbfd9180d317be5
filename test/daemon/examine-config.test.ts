import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ConfigWatch } from '../../src/app/config-watch.ts';
import { examineConfig, LONG_CONFIG_CHARACTERS } from '../../src/app/examine-config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { nodeSurroundings } from '../../src/config/node-files.ts';
import { BASE } from '../config/support.ts';
import { unlessHeldUp } from '../support/working-time.ts';

let folder = '';
let file = '';
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-config-'));
  file = path.join(folder, 'breakwater.yaml');
});
afterAll(() => rm(folder, { recursive: true }));

const ENV = Object.fromEntries(
  Array.from({ length: 400 }, (_, index) => [`K${index}`, `a-key-${index}-of-it`]),
);
const account = (index: number): string =>
  `  - { id: desk-${index}, apiKey: { env: K${index} }, apiSecret: { env: K0 }, watch: { positions: true } }`;
const accounts = (count: number): string =>
  `${BASE}accounts:\n${Array.from({ length: count }, (_, index) => account(index + 1)).join('\n')}\n`;

const examined = async (text: string, signal = new AbortController().signal) => {
  await writeFile(file, text);
  return await examineConfig(file, ENV, signal);
};

test('a long broken config does not block the event loop of a reload', async () => {
  const text = `${accounts(250)}rules: [${'{},'.repeat(10_000)}]\n`;
  await writeFile(file, text);
  const startMs = performance.now();
  const here = loadConfig(file, nodeSurroundings(ENV));
  const heldMs = performance.now() - startMs;
  await unlessHeldUp(heldMs / 10, async () => {
    const before = performance.eventLoopUtilization();
    const result = await examined(text);
    const { active } = performance.eventLoopUtilization(before);
    expect(result).toEqual(here);
    expect(result.kind).toBe('refused');
    expect(active).toBeLessThan(heldMs / 3);
  });
});

test('a valid config, long or short, gives the same result as at the start', async () => {
  for (const count of [1, 250]) {
    const text = accounts(count);
    expect(text.length > LONG_CONFIG_CHARACTERS).toBe(count === 250);
    const result = await examined(text);
    expect(result).toMatchObject({ kind: 'loaded', config: { accounts: { length: count } } });
    expect(JSON.stringify(result)).toBe(JSON.stringify(loadConfig(file, nodeSurroundings(ENV))));
  }
});

test('the loaded text is the examined one, even if the file changes meanwhile', async () => {
  await writeFile(file, accounts(250));
  // It is read at once.
  const examining = examineConfig(file, ENV, new AbortController().signal);
  await writeFile(file, 'mode: [');
  expect(await examining).toMatchObject({ kind: 'loaded', config: { accounts: { length: 250 } } });
});

test('a daemon that stops does not wait for a config under examination', async () => {
  const over = new AbortController();
  const examining = examined(accounts(250), over.signal);
  setTimeout(() => over.abort(new Error('stopping')), 50);
  await expect(examining).rejects.toThrow('stopping');
});

test('a refused reload gives its errors as the reason, not warnings', async () => {
  const emit = vi.fn();
  const unused =
    'rules: [{ id: idle, on: position, when: { liquidationDistance: { below: 5% } }, for: 3s }]\n';
  await writeFile(file, accounts(1));
  const first = loadConfig(file, nodeSurroundings(ENV));
  if (first.kind !== 'loaded') throw new Error('the first config is refused');
  const adopt = async () => undefined;
  const watch = new ConfigWatch(
    { file, env: ENV, needsKeys: true, telemetry: { emit }, mark: '', adopt },
    first.config,
  );
  await writeFile(file, `${accounts(1)}${unused}mode: enforse\n`);
  const examinedHere = loadConfig(file, nodeSurroundings(ENV));
  expect(examinedHere.kind === 'refused' && examinedHere.problems.map(({ severity }) => severity)).toContain(
    'warning',
  );
  const problems = [expect.stringMatching(/breakwater\.yaml:\d+:\d+ mode: expected one of/) as string];
  expect(await watch.reload()).toEqual({ kind: 'refused', problems });
  expect(emit.mock.calls).toEqual([[{ kind: 'configRefused', problems }]]);
});
