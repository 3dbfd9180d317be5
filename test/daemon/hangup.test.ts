import { once } from 'node:events';
import { chmod, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { startChild } from './child.ts';
import { openScene, ours } from './scene.ts';
import { eventually, openDaemonWorld } from './world.ts';

const rule = (above: string) => `  - id: rule
    on: position
    when: { amount: { above: ${above} } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** The file watch compares time and size; only a forced reload sees a change that keeps both. */
async function writeUnseen(file: string, text: string): Promise<void> {
  const { mtimeMs, size } = await stat(file);
  expect(Buffer.byteLength(text)).toBe(size);
  await writeFile(file, text);
  await utimes(file, mtimeMs / 1_000, mtimeMs / 1_000);
}

test('on SIGHUP a process loads a changed config and a rotated key, and a broken file changes nothing', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['rule'] } },
    rules: rule('10.0'),
  });
  const secretFile = path.join(path.dirname(world.configFile), 'secret');
  const keyFile = path.join(path.dirname(world.configFile), 'key');
  const access = simulator.accounts.find(({ id }) => id === 'long');
  const writeAccess = async (one: { readonly apiKey: string; readonly apiSecret: string } | undefined) => {
    await writeFile(keyFile, one?.apiKey ?? '');
    await writeFile(secretFile, one?.apiSecret ?? '');
    for (const file of [keyFile, secretFile]) await chmod(file, 0o600);
  };
  await writeAccess(access);
  const text = (await readFile(world.configFile, 'utf8'))
    .replace('{ env: KEY_long }', `{ file: ${keyFile} }`)
    .replace('{ env: SECRET_long }', `{ file: ${secretFile} }`);
  await writeFile(world.configFile, text);
  await utimes(world.configFile, 1_700_000_000, 1_700_000_000);
  const process = startChild(world);
  await process.watching;
  const reads = (ok: boolean, fromMs: number) =>
    simulator
      .requestLog({ account: 'long' })
      .filter(
        ({ endpoint, atMs, status }) =>
          endpoint === 'openPositions' && atMs > fromMs && (status === 200) === ok,
      ).length;
  await eventually(() => reads(true, 0) > 2, 'reads', process.output);

  // A broken file is reported, and the previous config stays.
  const brokenAtMs = simulator.model.nowMs();
  await writeUnseen(world.configFile, text.replace('above: 10.0', 'above: [100'));
  process.child.kill('SIGHUP');
  await eventually(() => process.output().includes('stays in force'), 'the refusal', process.output);
  await eventually(() => reads(true, brokenAtMs) > 3, 'further reads', process.output);
  expect(ours(simulator, 'long')).toEqual([]);

  // The key is rotated: without SIGHUP the process cannot know.
  const rotated = simulator.exchange.rotateKey('long');
  await writeAccess(rotated);
  const rotatedAtMs = simulator.model.nowMs();
  await writeUnseen(world.configFile, text.replace('above: 10.0', 'above: 0.30'));
  process.child.kill('SIGHUP');
  await eventually(() => ours(simulator, 'long').length > 0, 'an order under the new key', process.output);
  expect(reads(true, rotatedAtMs)).toBeGreaterThan(0);
  expect(await process.stop()).toBe(0);
});

test('SIGHUP during the start does not end a daemon: it starts, and reads its config again', async () => {
  const simulator = await openScene();
  let isAsked = false;
  // A Redis that ends every connection makes the start long enough.
  const redis = createServer((socket) => {
    isAsked = true;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(redis, 'listening');
  closeAfterTest(async () => void redis.close());
  const accounts = { long: { rules: ['rule'] } };
  const world = await openDaemonWorld(simulator, { accounts, rules: rule('10.0') });
  const text = await readFile(world.configFile, 'utf8');
  const { port } = redis.address() as AddressInfo;
  await writeFile(world.configFile, text.replace(/redis:\/\/[^\s"',}]+/, `redis://127.0.0.1:${port}`));
  const process = startChild(world);
  await eventually(() => isAsked, 'a connection to Redis', process.output);
  process.child.kill('SIGHUP');
  await process.watching;
  const reloads = () => process.output().split('configReloaded').length - 1;
  await eventually(() => reloads() > 1, 'the config once more', process.output);
  expect(process.output()).not.toContain('stopping');
  expect(await process.stop()).toBe(0);
});
