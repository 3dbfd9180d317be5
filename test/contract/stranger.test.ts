import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { sign, signingKey } from '../../src/exchange/call/signer.ts';
import { freePort } from '../support/redis.ts';
import { inTurn } from '../support/slice.ts';
import { closeAfterTest, connect } from './support/world.ts';

const plays = inTurn(['node', 'ports', 'errors', 'nonces'], 2, 'strangers to the simulator');

/**
 * An independent client: the simulated exchange runs as its own process, started as the README says, and requests are
 * signed with openssl and curl, or with nothing but node:crypto, from section 5 alone.
 */

const ROOT = path.join(import.meta.dirname, '../..');
const POSITIONS = '/api/v4/collateral-account/positions/open';
const STOP_LIMIT = '/api/v4/order/collateral/stop-limit';
const run = promisify(execFile);

interface Listening {
  readonly event: string;
  readonly baseUrl: string;
  readonly baseUrls: readonly string[];
  readonly controlUrl: string;
  readonly accounts: readonly { readonly id: string; readonly apiKey: string; readonly apiSecret: string }[];
}

interface Started {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly listening: Listening;
  readonly stdout: string[];
  readonly ended: Promise<{ readonly exit: number | NodeJS.Signals | null; readonly stderr: string }>;
}

async function simulate(args: readonly string[], how: 'npm' | 'node' = 'npm'): Promise<Started> {
  const command = ['simulate', '--json', '--still', ...args];
  const npm = ['npm', 'run', '--silent', 'breakwater', '--'];
  const [program = '', ...first] = how === 'npm' ? npm : [process.execPath, 'src/cli/main.ts'];
  // Its own process group, as a shell gives to a program started in a terminal.
  const child = spawn(program, [...first, ...command], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += String(chunk);
  });
  const ended = once(child, 'close').then(([code, signal]) => ({
    exit: (code ?? signal) as number | NodeJS.Signals | null,
    stderr,
  }));
  closeAfterTest(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  });
  const stdout: string[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (line) => stdout.push(line));
  const ready = await Promise.race([once(lines, 'line'), ended]);
  if (!Array.isArray(ready)) throw new Error(`ended early: ${JSON.stringify(ready)}`);
  return { child, listening: JSON.parse(String(ready[0])) as Listening, stdout, ended };
}

interface Answer {
  readonly status: number;
  readonly json: unknown;
}

type Keys = Listening['accounts'][number];
type Post = (baseUrl: string, keys: Keys, target: string, params: object) => Promise<Answer>;

let nonce = Date.now();
function bodyOf(target: string, params: object): string {
  nonce += 1;
  return JSON.stringify({ request: target, nonce: String(nonce), ...params });
}

const withNode: Post = async (baseUrl, { apiKey, apiSecret }, target, params) => {
  const body = bodyOf(target, params);
  const payload = Buffer.from(body).toString('base64');
  const response = await fetch(baseUrl + target, {
    method: 'POST',
    body,
    headers: {
      'Content-Type': 'application/json',
      'X-TXC-APIKEY': apiKey,
      'X-TXC-PAYLOAD': payload,
      'X-TXC-SIGNATURE': createHmac('sha512', apiSecret).update(payload).digest('hex'),
    },
  });
  return { status: response.status, json: await response.json() };
};

/** The signature of section 5 in a shell. */
const SCRIPT = `
payload=$(printf '%s' "$BODY" | openssl base64 -A)
signature=$(printf '%s' "$payload" | openssl dgst -sha512 -hmac "$SECRET" | sed 's/^.*= *//')
curl --silent --show-error --request POST "$URL" --data-binary "$BODY" \\
  --header 'Content-Type: application/json' --header "X-TXC-APIKEY: $KEY" \\
  --header "X-TXC-PAYLOAD: $payload" --header "X-TXC-SIGNATURE: $signature" --write-out '\\n%{http_code}'
`;

const withCurl: Post = async (baseUrl, { apiKey, apiSecret }, target, params) => {
  const env = {
    ...process.env,
    URL: baseUrl + target,
    BODY: bodyOf(target, params),
    KEY: apiKey,
    SECRET: apiSecret,
  };
  const { stdout } = await run('sh', ['-c', SCRIPT], { env });
  const [text = '', status = ''] = stdout.split(/\n(?=\d+$)/);
  return { status: Number(status), json: JSON.parse(text) as unknown };
};

async function have(...programs: readonly string[]): Promise<boolean> {
  const found = await Promise.all(
    programs.map((program) =>
      run('sh', ['-c', `command -v ${program}`]).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.every(Boolean);
}

const hasTools = await have('openssl', 'curl');
// `script` of util-linux gives a program a terminal.
const hasTerminal = process.platform === 'linux' && (await have('script'));
if (!hasTerminal) process.stderr.write('Ctrl-C is not tested in a terminal: there is no script(1) here.\n');
if (!hasTools) process.stderr.write('Not tested with openssl and curl: they are not on the PATH.\n');

async function tradeAsStranger(post: Post, { listening }: Started): Promise<void> {
  const [keys] = listening.accounts;
  if (keys === undefined) throw new Error('no account');
  const positions = await post(listening.baseUrl, keys, POSITIONS, {});
  expect(positions).toMatchObject({ status: 200, json: [{ market: 'BTC_PERP', positionSide: 'BOTH' }] });
  const order = await post(listening.baseUrls[1] ?? '', keys, STOP_LIMIT, {
    market: 'BTC_PERP',
    side: 'sell',
    amount: '0.01',
    price: '50000',
    activation_price: '50500',
    client_order_id: 'stranger-1',
    reduceOnly: true,
  });
  expect(order).toMatchObject({ status: 200, json: { client_order_id: 'stranger-1', status: 'NEW' } });
  const ledger = await fetch(`${listening.controlUrl}/ledger?kind=order_placed&account=${keys.id}`);
  const { entries } = (await ledger.json()) as { entries: { clientOrderId: string }[] };
  expect(entries.filter(({ clientOrderId }) => clientOrderId === 'stranger-1')).toMatchObject([
    { amount: '0.01', price: '50000', accountId: keys.id },
  ]);
  const wrong = { ...keys, apiSecret: `${keys.apiSecret}0` };
  expect(await post(listening.baseUrl, wrong, POSITIONS, {})).toMatchObject({
    status: 401,
    json: { code: 0, message: 'Unauthorized request.' },
  });
}

describe('breakwater simulate, as a process', () => {
  it.runIf(plays('node'))(
    'started with npm, serves a client that signs with node:crypto, and exits with 0 on SIGTERM',
    async () => {
      const started = await simulate(['--port', '0', '--accounts', '4', '--seed', '5']);
      const { listening, child } = started;
      expect(listening).toMatchObject({ event: 'listening', baseUrl: listening.baseUrls[0] });
      expect(Object.keys(listening).sort()).toEqual([
        'accounts',
        'baseUrl',
        'baseUrls',
        'controlUrl',
        'event',
      ]);
      expect(listening.baseUrls).toHaveLength(2);
      await tradeAsStranger(withNode, started);
      child.kill('SIGTERM');
      expect(await started.ended).toEqual({ exit: EXIT.ok, stderr: '' });
      expect(started.stdout).toHaveLength(1);
      await expect(fetch(`${listening.baseUrl}/api/v4/public/ping`)).rejects.toThrow('fetch failed');
    },
  );

  it.runIf(hasTools)(
    'serves a client of openssl and curl, and exits with 0 when its group is interrupted',
    async () => {
      const started = await simulate(['--port', '0', '--accounts', '1']);
      await tradeAsStranger(withCurl, started);
      // As in a terminal: npm and the program both get the signal at once, and npm passes it on, too.
      process.kill(-(started.child.pid ?? 0), 'SIGINT');
      expect(await started.ended).toEqual({ exit: EXIT.ok, stderr: '' });
    },
  );

  it.runIf(hasTerminal)('exits with 0 on Ctrl-C in a terminal, even right after it has started', async () => {
    // A /bin/sh in between would be ended by the Ctrl-C itself, and its 130 would hide our exit code.
    const command = 'exec npm run --silent breakwater -- simulate --json --still';
    const env = { ...process.env, SHELL: '/bin/sh' };
    const child = spawn('script', ['-qefc', command, '/dev/null'], { cwd: ROOT, stdio: 'pipe', env });
    const ended = once(child, 'close');
    closeAfterTest(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += String(chunk);
    });
    await expect.poll(() => output).toContain('"event":"listening"');
    child.stdin.write('\u0003');
    expect(await ended).toEqual([EXIT.ok, null]);
  });

  it.runIf(plays('ports'))(
    'uses the ports it is given, has open positions from the start, and repeats for a seed',
    async () => {
      const [port, euPort, controlPort] = [await freePort(), await freePort(), await freePort()];
      const ports = ['--port', port, '--eu-port', euPort, '--control-port', controlPort].map(String);
      const first = await simulate([...ports, '--accounts', '7', '--seed', '9'], 'node');
      expect(first.listening).toMatchObject({
        baseUrls: [`http://127.0.0.1:${port}`, `http://127.0.0.1:${euPort}`],
        controlUrl: `http://127.0.0.1:${controlPort}`,
      });
      expect(first.listening.accounts).toHaveLength(7);
      for (const { id } of first.listening.accounts) {
        const { client } = connect(first.listening, id);
        const outcome = await client.openPositions();
        expect(outcome.kind === 'ok' && outcome.value.records.length).toBeGreaterThan(0);
        expect(outcome).toMatchObject({ kind: 'ok', value: { complete: true } });
      }
      first.child.kill('SIGINT');
      expect(await first.ended).toEqual({ exit: EXIT.ok, stderr: '' });
      const again = await simulate(['--accounts', '7', '--seed', '9'], 'node');
      expect(again.listening.accounts).toEqual(first.listening.accounts);
    },
  );

  it.runIf(plays('errors'))('reports a port that is taken and an option that makes no sense', async () => {
    const { listening } = await simulate(['--port', '0'], 'node');
    const port = new URL(listening.baseUrl).port;
    const taken = await simulate(['--port', port], 'node').catch(String);
    expect(taken).toMatch(new RegExp(`"exit":${EXIT.failed},.*EADDRINUSE`));
    const nonsense = await simulate(['--readings', 'shortAmount=both'], 'node').catch(String);
    expect(nonsense).toMatch(new RegExp(`"exit":${EXIT.usage},.*shortAmount`));
  });

  it.runIf(plays('nonces'))(
    'answers the strict nonce rule with its misleading 429 when asked to',
    async () => {
      const { listening } = await simulate(['--nonce', 'increasing', '--accounts', '1'], 'node');
      const [keys] = listening.accounts;
      if (keys === undefined) throw new Error('no account');
      expect((await withNode(listening.baseUrl, keys, POSITIONS, { nonce: '100' })).status).toBe(200);
      expect(await withNode(listening.baseUrl, keys, POSITIONS, { nonce: '99' })).toMatchObject({
        status: 429,
        json: { message: 'Too many requests.' },
      });
      const windowed = { nonce: String(Date.now()), nonceWindow: true };
      expect((await withNode(listening.baseUrl, keys, POSITIONS, windowed)).status).toBe(200);
    },
  );
});

describe('the signature', () => {
  it.runIf(hasTools).each([
    ['secret', '{"request":"/api/v4/main-account/balance","nonce":"1594297865"}'],
    ['s p a c e', '{}'],
    ['schlüssel-✓', '{"request":"/api/v4/x","nonce":"1","text":"ä→\\u0000\\"\'$`"}'],
    ['0'.repeat(200), JSON.stringify({ long: 'x'.repeat(5000) })],
  ])('of this client is what openssl computes (secret %#)', async (secret, body) => {
    const script = `
      payload=$(printf '%s' "$BODY" | openssl base64 -A)
      printf '%s\\n' "$payload"
      printf '%s' "$payload" | openssl dgst -sha512 -hmac "$SECRET" | sed 's/^.*= *//'`;
    const { stdout } = await run('sh', ['-c', script], {
      env: { ...process.env, BODY: body, SECRET: secret },
    });
    const [payload, signature] = stdout.trim().split('\n');
    expect(sign(Buffer.from(body), signingKey(secret))).toEqual({ payload, signature });
  });
});
