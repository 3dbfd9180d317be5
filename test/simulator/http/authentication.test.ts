import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { RunningSimulator } from '../../../src/simulator/start-simulated-exchange.ts';
import {
  type Answer,
  accountNamed,
  call,
  LONG,
  nextNonce,
  PATHS,
  STOP,
  send,
  sign,
  simulator,
} from './support.ts';

const OPENSSL = 'openssl';

async function one(options = {}) {
  const running = await simulator({ accounts: [LONG], ...options });
  return { running, keys: accountNamed(running, 'long') };
}

function post(
  running: RunningSimulator,
  body: string,
  headers: Record<string, string>,
  path: string = PATHS.positions,
): Promise<Answer> {
  return send(`${running.baseUrl}${path}`, { method: 'POST', body, headers });
}

function bodyFor(path: string, more: object = {}): string {
  return JSON.stringify({ request: path, nonce: nextNonce(), ...more });
}

describe('public endpoints', () => {
  test('the liveness check answers an array with the string pong, at both base addresses', async () => {
    const { running } = await one();
    expect(running.baseUrls).toHaveLength(2);
    for (const baseUrl of running.baseUrls) {
      const answer = await send(`${baseUrl}/api/v4/public/ping`);
      expect([answer.status, answer.json]).toEqual([200, ['pong']]);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
    }
  });

  test('the asset listing shows what can be deposited and through which providers', async () => {
    const { running } = await one();
    const { json } = await send(`${running.baseUrl}/api/v4/public/assets`);
    expect(json.EUR.can_deposit).toBe(true);
    expect(json.EUR.providers.deposits).toContain('VISAMASTER');
    expect(json.GBP.can_deposit).toBe(false);
  });

  test('an unknown path is 404, with the error body of its kind', async () => {
    const { running, keys } = await one();
    const publicly = await send(`${running.baseUrl}/api/v4/public/nothing`);
    expect([publicly.status, publicly.json]).toEqual([
      404,
      { success: false, message: 'Endpoint does not exist.', params: [] },
    ]);
    const privately = await call(running.baseUrl, keys, '/api/v4/order/nothing');
    expect([privately.status, privately.json]).toEqual([
      404,
      { code: 0, message: 'Endpoint does not exist.', errors: {} },
    ]);
    expect((await send(`${running.baseUrl}${PATHS.positions}`)).status).toBe(404);
  });
});

describe('signing', () => {
  test('a request signed by section 5 is served', async () => {
    const { running, keys } = await one();
    const answer = await call(running.baseUrl, keys, PATHS.positions);
    expect(answer.status).toBe(200);
    expect(answer.json).toHaveLength(1);
  });

  test('openssl and curl suffice as a client', async ({ skip }) => {
    const missing = ['openssl', 'curl'].filter(
      (tool) => spawnSync(tool, ['version'], { stdio: 'ignore' }).error,
    );
    if (missing.length > 0) skip(`not installed: ${missing.join(', ')}`);
    const { running, keys } = await one();
    const script = `
      body=$(printf '{"request":"%s","nonce":"%s"}' "$REQUEST" "$NONCE")
      payload=$(printf '%s' "$body" | openssl base64 -A)
      signature=$(printf '%s' "$payload" | openssl dgst -sha512 -hmac "$SECRET" -hex | sed 's/^.*= *//')
      curl -s --max-time 20 -X POST "$BASE$REQUEST" -H 'Content-Type: application/json' \\
        -H "X-TXC-APIKEY: $KEY" -H "X-TXC-PAYLOAD: $payload" -H "X-TXC-SIGNATURE: $signature" -d "$body"`;
    const reply = await new Promise<string>((resolve, reject) => {
      const env = {
        ...process.env,
        BASE: running.baseUrl,
        REQUEST: PATHS.positions,
        NONCE: nextNonce(),
        KEY: keys.apiKey,
        SECRET: keys.apiSecret,
      };
      execFile('sh', ['-c', script], { env }, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    });
    expect(JSON.parse(reply)).toMatchObject([{ market: 'BTC_PERP', amount: '0.5' }]);
  });

  test('each missing or wrong part is 401 with its own message', async () => {
    const { running, keys } = await one();
    const body = bodyFor(PATHS.positions);
    const good = sign(keys, body);
    const without = (name: string) =>
      Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    const elsewhere = bodyFor('/api/v4/main-account/balance');
    const noRequest = JSON.stringify({ nonce: nextNonce() });
    const noNonce = JSON.stringify({ request: PATHS.positions });
    const numericNonce = JSON.stringify({ request: PATHS.positions, nonce: 5 });
    const flipped = `${good['X-TXC-SIGNATURE']?.slice(0, -1)}${good['X-TXC-SIGNATURE']?.endsWith('0') ? 1 : 0}`;
    const cases: [string, string, Record<string, string>][] = [
      ['Payload not provided.', body, without('X-TXC-PAYLOAD')],
      ['Unauthorized request.', body, without('X-TXC-APIKEY')],
      ['Unauthorized request.', body, without('X-TXC-SIGNATURE')],
      ['Unauthorized request.', body, { ...good, 'X-TXC-APIKEY': 'nobody' }],
      ['Unauthorized request.', body, { ...good, 'X-TXC-SIGNATURE': flipped }],
      ['Unauthorized request.', body, { ...good, 'X-TXC-SIGNATURE': 'zz' }],
      ['Unauthorized request.', body, sign({ ...keys, apiSecret: 'wrong' }, body)],
      ['Invalid payload', `${body} `, good],
      ['Invalid payload', elsewhere, sign(keys, elsewhere)],
      ['Request not provided.', noRequest, sign(keys, noRequest)],
      ['Nonce not provided.', noNonce, sign(keys, noNonce)],
      ['Nonce not provided.', numericNonce, sign(keys, numericNonce)],
    ];
    for (const [message, text, headers] of cases) {
      const answer = await post(running, text, headers);
      expect([answer.status, answer.json]).toEqual([401, { code: 0, message, errors: {} }]);
    }
  });

  test('a refused request does not use up its nonce', async () => {
    const { running, keys } = await one();
    const body = bodyFor(PATHS.positions);
    expect((await post(running, body, { ...sign(keys, body), 'X-TXC-SIGNATURE': 'zz' })).status).toBe(401);
    expect((await post(running, body, sign(keys, body))).status).toBe(200);
  });

  test('a body that is not a JSON object, has another type, or is too large is refused and changes nothing', async () => {
    const { running, keys } = await one();
    for (const body of ['{"request":', '[]', 'null', '7']) {
      expect((await post(running, body, sign(keys, body))).status).toBe(400);
    }
    const form = bodyFor(PATHS.positions);
    const typed = { ...sign(keys, form), 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post(running, form, typed)).status).toBe(415);
    const large = bodyFor(PATHS.positions, { padding: 'x'.repeat(70_000) });
    expect((await post(running, large, sign(keys, large))).status).toBe(413);
  });

  test('keys follow from the seed, differ between accounts, and can be rotated', async () => {
    const { running, keys } = await one({ seed: 5 });
    const again = await one({ seed: 5 });
    const other = await one({ seed: 6 });
    expect(again.keys).toEqual(keys);
    expect(other.keys.apiKey).not.toBe(keys.apiKey);
    const fresh = running.exchange.rotateKey('long');
    expect((await call(running.baseUrl, keys, PATHS.positions)).status).toBe(401);
    expect((await call(running.baseUrl, fresh, PATHS.positions)).status).toBe(200);
    const mixed = { apiKey: keys.apiKey, apiSecret: fresh.apiSecret };
    expect((await call(running.baseUrl, mixed, PATHS.positions)).status).toBe(401);
  });
});

describe('nonces', () => {
  const use = (running: RunningSimulator, keys: Parameters<typeof sign>[0], nonce: string, more = {}) => {
    const body = JSON.stringify({ request: PATHS.positions, nonce, ...more });
    return post(running, body, sign(keys, body));
  };

  test('unique: any order, any string, never twice', async () => {
    const { running, keys } = await one();
    for (const nonce of ['5', '3', 'abc', '4']) expect((await use(running, keys, nonce)).status).toBe(200);
    const again = await use(running, keys, '3');
    expect([again.status, again.json.message]).toEqual([401, 'Nonce has already been used.']);
  });

  test('increasing: a nonce that is not larger looks like a rate limit', async () => {
    const { running, keys } = await one({ readings: { nonceRule: 'increasing' } });
    expect((await use(running, keys, '100')).status).toBe(200);
    for (const nonce of ['100', '99']) {
      const stale = await use(running, keys, nonce);
      expect([stale.status, stale.json]).toEqual([
        429,
        { code: 0, message: 'Too many requests.', errors: {} },
      ]);
    }
    expect((await use(running, keys, '101')).status).toBe(200);
    // More digits than a double can distinguish.
    expect((await use(running, keys, '9007199254740992')).status).toBe(200);
    expect((await use(running, keys, '9007199254740993')).status).toBe(200);
    expect((await use(running, keys, '9007199254740992')).status).toBe(429);
  });

  test('nonceWindow: any unused millisecond within 5 s of server time, under any rule', async () => {
    const { running, keys } = await one({ readings: { nonceRule: 'increasing' } });
    const now = Date.now();
    const window = { nonceWindow: true };
    expect((await use(running, keys, String(now + 1_000), window)).status).toBe(200);
    expect((await use(running, keys, String(now - 1_000), window)).status).toBe(200);
    const again = await use(running, keys, String(now - 1_000), window);
    expect([again.status, again.json.message]).toEqual([401, 'Nonce has already been used.']);
    for (const nonce of [now - 6_000, now + 12_000]) {
      const outside = await use(running, keys, String(nonce), window);
      expect([outside.status, outside.json.message]).toEqual([
        401,
        'Your nonce is more than 5 seconds lesser than the current nonce',
      ]);
    }
    running.exchange.serverTimeSkewMs = 60_000;
    expect((await use(running, keys, String(now + 60_000), window)).status).toBe(200);
    const skewed = await send(`${running.baseUrl}/api/v4/public/ping`);
    expect(Date.parse(skewed.headers.date ?? '') - now).toBeGreaterThan(50_000);
  });

  test('a smaller nonce that the window admitted does not admit those in between', async () => {
    const { running, keys } = await one({ readings: { nonceRule: 'increasing' } });
    const now = Date.now();
    expect((await use(running, keys, String(now + 1_000))).status).toBe(200);
    expect((await use(running, keys, String(now - 1_000), { nonceWindow: true })).status).toBe(200);
    expect((await use(running, keys, String(now + 1_000))).status).toBe(429);
    expect((await use(running, keys, String(now + 1_001))).status).toBe(200);
  });

  test('each key has its own nonces and its own rule', async () => {
    const running = await simulator({ accounts: 2 });
    const [first, second] = running.accounts;
    if (first === undefined || second === undefined) throw new Error('two accounts');
    expect((await use(running, first, '10')).status).toBe(200);
    expect((await use(running, second, '10')).status).toBe(200);
    running.exchange.accounts.change(second.id, { nonceRule: 'increasing' });
    expect((await use(running, first, '9')).status).toBe(200);
    expect((await use(running, second, '9')).status).toBe(429);
  });
});

describe('permissions', () => {
  const NEEDED = [
    ['fiatDeposit', PATHS.fiat],
    ['creditLine', PATHS.creditLine],
    ['trading', PATHS.stopLimit],
    ['trading', PATHS.cancelAll],
    ['trading', PATHS.hedgeMode],
  ] as const;

  test('a key without access is refused, with the status of the reading', async () => {
    for (const status of ['403', '400', '200']) {
      const { running, keys } = await one({ readings: { permissionRefusal: status } });
      for (const [permission, path] of NEEDED) {
        running.exchange.accounts.change('long', { permissions: { [permission]: false } });
        const answer = await call(running.baseUrl, keys, path, path === PATHS.stopLimit ? STOP : {});
        expect([answer.status, answer.json]).toEqual([
          Number(status),
          {
            success: false,
            code: 0,
            message: "You don't have permission to use this endpoint.",
            errors: {},
          },
        ]);
      }
      expect((await call(running.baseUrl, keys, PATHS.positions)).status).toBe(200);
      expect(running.model.openOrders('long')).toHaveLength(0);
    }
  });
});

describe('rate limits', () => {
  const limits = [
    { path: '/api/v4/main-account/*', requests: 3, periodMs: 60_000 },
    { path: PATHS.transfers, requests: 1, periodMs: 60_000 },
    { path: '*', requests: 2, periodMs: 60_000 },
  ];

  test('a scope is one budget for all its paths; a refusal is 429 and uses nothing up', async () => {
    const { running, keys } = await one({ limits });
    expect((await call(running.baseUrl, keys, PATHS.transfers)).status).toBe(200);
    const second = await call(running.baseUrl, keys, PATHS.transfers);
    expect([second.status, second.json]).toEqual([
      429,
      { code: 0, message: 'Too many requests.', errors: {} },
    ]);
    expect((await call(running.baseUrl, keys, PATHS.balance)).status).toBe(200);
    expect((await call(running.baseUrl, keys, PATHS.balance)).status).toBe(200);
    expect((await call(running.baseUrl, keys, PATHS.balance)).status).toBe(429);
    // Paths without a rule share the last budget.
    expect((await call(running.baseUrl, keys, PATHS.positions)).status).toBe(200);
    expect((await call(running.baseUrl, keys, PATHS.cancelAll)).status).toBe(200);
    expect((await call(running.baseUrl, keys, PATHS.positions)).status).toBe(429);
  });

  test('public endpoints answer with their own error body', async () => {
    const { running } = await one({ limits: [{ path: '/api/v4/public/*', requests: 0, periodMs: 1_000 }] });
    const answer = await send(`${running.baseUrl}/api/v4/public/ping`);
    expect([answer.status, answer.json]).toEqual([
      429,
      { success: false, message: 'Too many requests.', params: [] },
    ]);
  });

  test.runIf(process.platform === 'linux')('each client address has its own budget', async () => {
    const { running, keys } = await one({ limits: [{ path: '*', requests: 1, periodMs: 60_000 }] });
    for (const localAddress of ['127.0.0.1', '127.0.0.2']) {
      const options = { localAddress };
      expect((await call(running.baseUrl, keys, PATHS.positions, {}, options)).status).toBe(200);
      expect((await call(running.baseUrl, keys, PATHS.positions, {}, options)).status).toBe(429);
    }
  });
});

test("openssl agrees with the tests' signature", ({ skip }) => {
  if (spawnSync(OPENSSL, ['version'], { stdio: 'ignore' }).error) skip('openssl is not installed');
  const body = '{"request":"/x","nonce":"1"}';
  const keys = { apiKey: 'k', apiSecret: 'a secret' };
  const headers = sign(keys, body);
  const output = execFileSync(OPENSSL, ['dgst', '-sha512', '-hmac', keys.apiSecret, '-hex'], {
    input: headers['X-TXC-PAYLOAD'] ?? '',
    encoding: 'utf8',
  });
  expect(output.trim().split(/\s+/).at(-1)).toBe(headers['X-TXC-SIGNATURE']);
});
