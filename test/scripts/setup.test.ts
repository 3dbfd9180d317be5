import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countTests } from '../../scripts/lib/count.mjs';
import { compare } from '../../scripts/lib/install.mjs';
import { withLock } from '../../scripts/lib/lock.mjs';
import { runsSources } from '../../scripts/lib/node.mjs';
import { checkAnswers } from '../../scripts/lib/redis.mjs';
import { startPrivateRedis } from '../support/redis.ts';

describe('npm ci is needed or not', () => {
  const a = { version: '1.0.0', integrity: 'sha512-a' };
  const foreign = { os: [process.platform === 'linux' ? 'darwin' : 'linux'], optional: true };

  it.each([
    { name: 'the same', wanted: { '': {}, a }, installed: { a }, says: undefined },
    { name: 'missing', wanted: { a }, installed: {}, says: 'a is not installed' },
    {
      name: 'another version',
      wanted: { a },
      installed: { a: { ...a, version: '2.0.0' } },
      says: 'a has changed',
    },
    {
      name: 'other content',
      wanted: { a },
      installed: { a: { ...a, integrity: 'x' } },
      says: 'a has changed',
    },
    { name: 'left over', wanted: {}, installed: { a }, says: 'a is no longer needed' },
    { name: 'foreign left out', wanted: { a: { ...a, ...foreign } }, installed: {}, says: undefined },
    {
      name: 'foreign, copied here',
      wanted: { a: { ...a, ...foreign } },
      installed: { a },
      says: 'a is for another platform',
    },
    {
      name: 'optional for here, missing',
      wanted: { a: { ...a, os: process.platform, optional: true } },
      installed: {},
      says: 'a is not installed',
    },
  ])('$name: $says', ({ wanted, installed, says }) => {
    expect(compare(wanted, installed)).toBe(says);
  });
});

describe('a Node that runs the sources', () => {
  it.each([
    ['v20.20.2', false],
    ['v22.18.0', false],
    ['v22.19.0', true],
    ['v23.5.0', false],
    ['v23.6.0', true],
    ['v24.0.0', true],
    ['v26.1.0', true],
  ])('%s: %s', (version, enough) => {
    expect(runsSources(version)).toBe(enough);
  });
});

describe('counting tests', () => {
  const passing = { status: 'passed', assertionResults: [{ status: 'passed' }] };
  it.each([
    { name: 'all well', report: { numPassedTests: 3, testResults: [passing] }, code: 0, count: [3, 0] },
    { name: 'failures', report: { numPassedTests: 3, numFailedTests: 2 }, code: 1, count: [3, 2] },
    {
      name: 'a file that does not load, or leaks',
      report: { numPassedTests: 3, testResults: [passing, { status: 'failed', assertionResults: [] }] },
      code: 1,
      count: [3, 1],
    },
    {
      name: 'an error outside of tests',
      report: { numPassedTests: 3, testResults: [passing] },
      code: 1,
      count: [3, 1],
    },
    { name: 'no tests', report: { numPassedTests: 0, testResults: [] }, code: 0, count: [0, 1] },
    { name: 'a crash', report: undefined, code: 1, count: [0, 1] },
    { name: 'a crash that says 0', report: undefined, code: 0, count: [0, 1] },
  ])('$name', ({ report, code, count: [passed, failed] }) => {
    expect(countTests(report, code)).toEqual({ passed, failed });
  });
});

describe('the set-up lock', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'breakwater-lock-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('lets one process in at a time', async () => {
    const log = path.join(folder, 'log');
    const children = [1, 2, 3, 4].map(() =>
      fork(path.join(import.meta.dirname, 'fixtures/locker.mjs'), [path.join(folder, 'lock'), log], {
        stdio: 'ignore',
      }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as number));
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(readFileSync(log, 'utf8')).toBe('in out '.repeat(4));
  });

  it('is taken over from a dead process', async () => {
    const lock = path.join(folder, 'lock');
    const child = fork(path.join(import.meta.dirname, 'fixtures/locker.mjs'), [lock, 'die'], {
      stdio: 'ignore',
    });
    await once(child, 'exit');
    expect(readFileSync(lock, 'utf8')).toContain(String(child.pid));
    expect(
      await withLock(
        lock,
        () => undefined,
        () => Promise.resolve('done'),
      ),
    ).toBe('done');
  });

  it('is taken over when it is unreadable', async () => {
    const lock = path.join(folder, 'lock');
    writeFileSync(lock, '');
    expect(
      await withLock(
        lock,
        () => undefined,
        () => Promise.resolve('done'),
      ),
    ).toBe('done');
  });
});

describe('REDIS_URL', () => {
  async function serving(answer: string | undefined, use: (port: number) => Promise<void>): Promise<void> {
    const server: Server = createServer((socket) => {
      socket.on('error', () => undefined).resume();
      if (answer !== undefined) socket.write(answer);
      else socket.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    await use(typeof address === 'object' && address !== null ? address.port : 0);
    server.close();
    await once(server, 'close');
  }

  it('is accepted when a Redis answers', async () => {
    const redis = await startPrivateRedis();
    await checkAnswers(redis.url);
    await redis.stop();
  });

  it.each(['not a url', 'http://127.0.0.1:6379'])('is refused when it is %s', async (url) => {
    await expect(checkAnswers(url)).rejects.toThrow(/not a redis:\/\/ or rediss:\/\/ URL/);
  });

  it('is refused when another server answers, without showing the password', async () => {
    await serving('-WRONGPASS invalid username-password pair\r\n', async (port) => {
      const error = await checkAnswers(`redis://me:hunter2@127.0.0.1:${port}`).catch(
        (caught: unknown) => caught,
      );
      expect(String(error)).toContain(`127.0.0.1:${port} refused: WRONGPASS`);
      expect(String(error)).not.toContain('hunter2');
    });
  });

  it('is refused when nobody answers', async () => {
    await serving(undefined, async (port) => {
      await expect(checkAnswers(`redis://127.0.0.1:${port}`)).rejects.toThrow(
        /closed the connection|cannot be reached/,
      );
    });
  });
});
