import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../notify/receiver.ts';
import { runCommandLine } from '../support/cli.ts';

let receiver: Receiver;
let folder: string;
let file: string;
beforeEach(async () => {
  receiver = await startReceiver({ body: 'ok' });
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-notify-'));
  file = path.join(folder, 'config.yaml');
  await writeFile(
    file,
    `exchange: { baseUrls: [https://api.exchange.example] }
channels:
  ops: { type: slack, url: { env: SLACK } }
  own: { type: webhook, url: ${receiver.url}/own, secret: { env: HOOK } }
accounts: [{ id: a, apiKey: { env: KEY }, apiSecret: { env: KEY } }]
`,
  );
});
afterEach(async () => {
  await receiver.close();
  await rm(folder, { recursive: true });
});

const env = () => ({
  SLACK: `${receiver.url}/slack/private-part-of-it`,
  HOOK: 'key-of-the-hook',
  KEY: 'key',
});
const run = (...args: string[]) =>
  runCommandLine(['notify', 'test', '--config', file, ...args], { env: env() });

describe('notify test', () => {
  test('sends a marked message through each channel and says so', async () => {
    const { exitCode, stdout, stderr } = await run();
    expect(exitCode).toBe(0);
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^ok {6}ops \(slack\): taken after \d+ ms$/),
      expect.stringMatching(/^ok {6}own \(webhook\): taken after \d+ ms$/),
      expect.stringMatching(/^ok {6}log \(log\): taken after \d+ ms$/),
    ]);
    expect(stderr).toContain('Breakwater test message');
    expect(receiver.received.map(({ path: to }) => to).toSorted()).toEqual([
      '/own',
      '/slack/private-part-of-it',
    ]);
    for (const { raw } of receiver.received) expect(raw).toContain('This is a test by hand');
  });

  test('says which channel failed and why, without secrets, and does not fall back to another', async () => {
    receiver.answer({ status: 404, body: 'no_service private-part-of-it' });
    const { exitCode, stdout, stderr } = await run('--channel', 'ops', '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      channel: 'ops',
      type: 'slack',
      outcome: 'failed',
      reason: 'notFound',
      words: 'HTTP 404: no_service [redacted]',
      attempts: 1,
    });
    expect(`${stdout}${stderr}`).not.toContain('private-part');
    expect(receiver.received).toHaveLength(1);
  });

  test('knows its channels, and refuses a config that cannot be used', async () => {
    const unknown = await run('--channel', 'opps');
    expect([unknown.exitCode, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('Channels: ops, own, log.'),
    ]);
    const broken = await runCommandLine(['notify', 'test', '--config', file], { env: {} });
    expect(broken.exitCode).toBe(1);
    expect(broken.stderr).toContain('channels.ops.url: expected a value in the environment variable SLACK');
  });

  test('without --config it takes the config of the folder', async () => {
    const here = await runCommandLine(['notify', 'test']);
    expect([here.exitCode, here.stderr]).toEqual([
      1,
      expect.stringContaining('breakwater.yaml cannot be used. See: breakwater check breakwater.yaml'),
    ]);
  });
});
