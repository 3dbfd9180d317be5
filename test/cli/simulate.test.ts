import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { runCli } from '../../src/cli/run.ts';
import { refuseToSimulate } from '../../src/cli/simulator-errors.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';

interface Listening {
  readonly event: string;
  readonly baseUrl: string;
  readonly baseUrls: readonly string[];
  readonly controlUrl: string;
  readonly accounts: readonly { readonly id: string; readonly apiKey: string; readonly apiSecret: string }[];
}

/** Runs `simulate` until its first line, passes that on, and ends it as Ctrl-C does. */
async function started<T>(args: readonly string[], use: (firstLine: string) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const isTty = { stdin: false, stdout: false, stderr: false };
  const ended = runCli(['simulate', ...args], {
    stdin,
    stdout,
    stderr,
    isTty,
    env: {},
    signal: controller.signal,
  });
  try {
    const [chunk] = (await Promise.race([
      once(stdout, 'data'),
      ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${String(stderr.read())}`))),
    ])) as [Buffer];
    return await use(String(chunk));
  } finally {
    controller.abort(ctrlC());
    expect(await ended).toBe(EXIT.ok);
  }
}

async function get(url: string): Promise<unknown> {
  const sent = request(url, { agent: false }).end();
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return JSON.parse(text);
}

const state = (listening: Listening) =>
  get(`${listening.controlUrl}/state`) as Promise<Record<string, unknown>>;

describe('breakwater simulate', () => {
  test('--json prints one line when ready, with everything a client needs', async () => {
    await started(['--json', '--accounts', '2', '--seed', '9'], async (line) => {
      expect(line.trim().split('\n')).toHaveLength(1);
      const listening = JSON.parse(line) as Listening;
      expect(Object.keys(listening)).toEqual(['event', 'baseUrl', 'baseUrls', 'controlUrl', 'accounts']);
      expect([listening.event, listening.baseUrls.length, listening.baseUrls[0]]).toEqual([
        'listening',
        2,
        listening.baseUrl,
      ]);
      expect(listening.accounts.map(({ id }) => id)).toEqual(['account-1', 'account-2']);
      for (const url of [...listening.baseUrls, listening.controlUrl])
        expect(new URL(url).hostname).toBe('127.0.0.1');
      expect(await get(`${listening.baseUrls[1]}/api/v4/public/ping`)).toEqual(['pong']);
      expect(await state(listening)).toMatchObject({
        seed: 9,
        speed: 1,
        accounts: [{ positions: 1 }, { positions: 1 }],
      });
    });
  });

  test('the options reach the exchange', async () => {
    const args = ['--json', '--nonce', 'increasing', '--margin', 'isolated', '--readings', 'readLagMs=20'];
    args.push(
      '--readings',
      'shortAmount=unsigned',
      '--faults',
      'latency,delayMs=1,probability=0.5',
      '--speed',
      '0',
    );
    args.push('--still', '--no-limits', '--depth', '2');
    await started(args, async (line) => {
      expect(await state(JSON.parse(line))).toMatchObject({
        speed: 0,
        readings: {
          nonceRule: 'increasing',
          marginModel: 'isolated',
          readLagMs: 20,
          shortAmount: 'unsigned',
        },
        faults: [{ effect: { kind: 'latency', delayMs: 1 }, probability: 0.5 }],
      });
      expect(await get(`${JSON.parse(line).controlUrl}/limits`)).toEqual([]);
    });
  });

  test('--keys-dir writes the keys in the form that a config names, readable by the owner only', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-keys-'));
    const keys = path.join(folder, 'keys');
    try {
      await started(['--json', '--accounts', '2', '--keys-dir', keys], async (line) => {
        const { accounts } = JSON.parse(line) as Listening;
        expect((await readdir(keys)).sort()).toEqual(
          accounts.flatMap(({ id }) => [`${id}.key`, `${id}.secret`]).sort(),
        );
        for (const { id, apiKey, apiSecret } of accounts) {
          expect(await readFile(path.join(keys, `${id}.key`), 'utf8')).toBe(`${apiKey}\n`);
          expect(await readFile(path.join(keys, `${id}.secret`), 'utf8')).toBe(`${apiSecret}\n`);
          expect((await stat(path.join(keys, `${id}.secret`))).mode & 0o777).toBe(0o600);
        }
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('beyond the loopback the token of the control API is written beside the keys', async () => {
    const keys = await mkdtemp(path.join(tmpdir(), 'breakwater-keys-'));
    try {
      await started(['--json', '--host', '0.0.0.0', '--keys-dir', keys], async (line) => {
        const { controlToken } = JSON.parse(line) as { readonly controlToken: string };
        expect(await readFile(path.join(keys, 'control.token'), 'utf8')).toBe(`${controlToken}\n`);
        expect((await stat(path.join(keys, 'control.token'))).mode & 0o777).toBe(0o600);
      });
    } finally {
      await rm(keys, { recursive: true });
    }
  });

  test.skipIf(process.platform === 'darwin')('listens on --host only', async () => {
    await started(['--json', '--host', '127.0.0.2'], async (line) => {
      const { baseUrl, controlUrl } = JSON.parse(line) as Listening;
      for (const url of [baseUrl, controlUrl]) expect(new URL(url).hostname).toBe('127.0.0.2');
      expect(await get(`${baseUrl}/api/v4/public/ping`)).toEqual(['pong']);
      await expect(get(`http://127.0.0.1:${new URL(baseUrl).port}/api/v4/public/ping`)).rejects.toThrow(
        'ECONNREFUSED',
      );
    });
  });

  test('without --json it describes the exchange and how to begin', async () => {
    await started(['--accounts', '1'], async (text) => {
      expect(text).toMatch(/is running/);
      expect(text).toMatch(/account-1 +key [0-9a-f]{32}\n +secret [0-9a-f]{64}/);
      expect(text).toMatch(/curl http:\/\/127\.0\.0\.1:\d+\/api\/v4\/public\/ping/);
    });
  });

  test('the suggested price stays once it is set, although the market moves', async () => {
    await started(['--accounts', '1', '--volatility', '0'], async (text) => {
      const [, url = '', body = ''] = /curl -X PUT (\S+) .* -d '(.*)'/.exec(text) ?? [];
      const headers = { 'content-type': 'application/json' };
      expect((await fetch(url, { method: 'PUT', headers, body })).status).toBe(200);
      const { origin } = new URL(url);
      await fetch(`${origin}/clock/step`, { method: 'POST', headers, body: '{"ms":60000}' });
      const markets = (await get(`${origin}/markets`)) as { spec: { name: string }; last: string }[];
      const perpetual = markets.find(({ spec }) => spec.name === 'BTC_PERP');
      expect(Number(perpetual?.last)).toBeGreaterThan(50_000);
      expect(Number(perpetual?.last)).toBeLessThan(58_000);
    });
  });

  test('--list explains every scenario, fault, condition and reading', async () => {
    const text = await runCommandLine(['simulate', '--list']);
    for (const word of [
      'ltvSqueeze',
      'lostReply',
      'clientOrderIdUniqueness=forever|openOrders',
      'readLagMs=MS',
    ]) {
      expect(text.stdout).toContain(word);
    }
    const { stdout } = await runCommandLine(['simulate', '--list', '--json']);
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual([
      'scenarios',
      'faults',
      'conditions',
      'readings',
    ]);
  });

  test.each([
    [['--port', '70000'], EXIT.usage, /65535/],
    [['--host', 'everywhere'], EXIT.usage, /IPv4/],
    [['--keys-dir', '/dev/null/keys'], EXIT.failed, /cannot write keys/],
    [['--accounts', 'many'], EXIT.usage, /whole number/],
    [['--nonce', 'random'], EXIT.usage, /unique, increasing/],
    [['--readings', 'shortAmount'], EXIT.usage, /expected name=value/],
    [['--readings', 'shortAmount=x'], EXIT.usage, /not one of signed, unsigned/],
    [['--scenario', 'x'], EXIT.usage, /no scenario "x"/],
    [['--faults', 'x'], EXIT.usage, /no fault "x"/],
    [['--scenario', 'crash', '--prices', 'x.csv'], EXIT.usage, /exclude each other/],
    [['--scenario', 'crash', '--still'], EXIT.usage, /--still excludes/],
    [['--still', '--market', 'BTC_USDT'], EXIT.usage, /Leave one of them out/],
    [['--still', '--volatility', '0.1'], EXIT.usage, /--volatility is of the random walk/],
    [['--scenario', 'crash', '--volatility', '0.1'], EXIT.usage, /--volatility is of the random walk/],
    [['--prices', '/nowhere/x.csv'], EXIT.failed, /cannot read \/nowhere\/x\.csv/],
    [['--speed', '-1'], EXIT.usage, /from 0/],
  ] as const)('%j ends with %i and says why', async (args, exitCode, message) => {
    const ended = await runCommandLine(['simulate', ...args]);
    expect([ended.exitCode, ended.stdout]).toEqual([exitCode, '']);
    expect(ended.stderr).toMatch(message);
  });

  test('a price file with a mistake is named with its line', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-prices-'));
    const file = path.join(folder, 'btc.csv');
    try {
      await writeFile(file, '0,1,1,1,1,1\n0,1,1,1,1,1\n');
      const { exitCode, stderr } = await runCommandLine(['simulate', '--prices', file]);
      expect(exitCode).toBe(EXIT.failed);
      expect(stderr).toBe(
        `breakwater: ${file}:2: expected a timestamp_ms after the one before (0), found the same time again. See: breakwater simulate --help\n`,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each([
    [['--market', 'NOPE'], '--help'],
    [['--depth', '0'], '--help'],
    [['--readings', 'shortAmount'], '--list'],
    [['--readings', 'shortAmount=x'], '--list'],
    [['--scenario', 'x'], '--list'],
    [['--faults', 'x'], '--list'],
    [['--faults', 'lostReply,probability=2'], '--list'],
    [['--conditions', 'depth,market=BTC_PERP,factor=-1'], '--list'],
  ])('each mistake has its own cure: %j', async (args, option) => {
    const { stderr } = await runCommandLine(['simulate', ...args]);
    expect(stderr).toContain(` See: breakwater simulate ${option}\n`);
  });

  test('a non-local address is refused with a cure', async () => {
    const ended = await runCommandLine(['simulate', '--host', '203.0.113.1']);
    expect(ended.exitCode).toBe(EXIT.failed);
    expect(ended.stderr).toMatch(/203\.0\.113\.1.* Give --host an address of this machine\.\n$/);
  });

  test('a privileged port is refused with a cure', () => {
    const refused = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:80'), {
      code: 'EACCES',
    });
    expect(() => refuseToSimulate(refused)).toThrow(
      expect.objectContaining({
        code: 'address-refused',
        cure: 'Choose ports above 1023, or 0 for free ones.',
      }),
    );
  });

  test('a port in use ends with 1 and a cure', async () => {
    await started(['--json', '--accounts', '1'], async (line) => {
      const { port } = new URL((JSON.parse(line) as Listening).baseUrl);
      const ended = await runCommandLine(['simulate', '--port', port]);
      expect(ended.exitCode).toBe(EXIT.failed);
      expect(ended.stderr).toMatch(/EADDRINUSE.*Choose another port/);
    });
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('as a process it ends with 0 on %s', async (signal) => {
    const child = spawn(process.execPath, ['src/cli/main.ts', 'simulate', '--json', '--accounts', '1'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill(signal);
    const [code] = await once(child, 'exit');
    expect(code).toBe(EXIT.ok);
  });
});
