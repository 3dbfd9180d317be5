import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../support/after-test.ts';
import { type CliRun, type CliRunOptions, ctrlC, runCommandLine } from '../support/cli.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { runsOf } from '../support/slice.ts';

let simulator: RunningSimulator;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-call-'));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  simulator = await startSimulatedExchange({ seed: 7, accounts: 4 });
});
afterEach(async () => {
  expect(simulator.internalErrors).toEqual([]);
  await simulator.close();
});

/** The account with the long BTC_PERP position, one with a credit line, one in hedge mode. */
const [LONG, HEDGED, BORROWER] = [0, 2, 3];

function credentials(account = LONG) {
  const found = simulator.accounts[account];
  if (found === undefined) throw new Error('no such account');
  return found;
}

function environment(account = LONG): Record<string, string> {
  const { apiKey, apiSecret } = credentials(account);
  return {
    BREAKWATER_BASE_URL: simulator.baseUrl,
    BREAKWATER_API_KEY: apiKey,
    BREAKWATER_API_SECRET: apiSecret,
  };
}

function call(args: readonly string[], options: CliRunOptions & { account?: number } = {}): Promise<CliRun> {
  return runCommandLine(['call', ...args], { env: environment(options.account), ...options });
}

function params(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['--param', `${name}=${value}`]);
}

function json(run: CliRun): Record<string, unknown> {
  expect(run.stdout.trimEnd().split('\n')).toHaveLength(1);
  return JSON.parse(run.stdout) as Record<string, unknown>;
}

function sent(endpoint?: string) {
  return simulator.requestLog(endpoint === undefined ? {} : { endpoint });
}

const STOP = { market: 'BTC_PERP', side: 'sell', amount: '0.1', activationPrice: '57000', price: '56900' };
const stop = (changes: Readonly<Record<string, string>> = {}) => [
  'stop-limit',
  ...params({ ...STOP, ...changes }),
];
const LINK = { ticker: 'EUR', provider: 'VISAMASTER', amount: '50.10' };
const CUSTOMER = {
  firstName: 'Adelheid',
  lastName: 'Quellenburg',
  email: 'adelheid@quellenburg.example',
  birthDate: '1984-02-29',
  address: { line1: 'Brunnengasse 17', city: 'Kaiserswerth', zipCode: '90489', countryCode: 'DE' },
};

async function file(name: string, text: string): Promise<string> {
  const place = path.join(folder, name);
  await writeFile(place, text);
  return place;
}

const customerFile = () => file('customer.json', JSON.stringify(CUSTOMER));

describe('reads', () => {
  it('ping needs no credentials', async () => {
    const run = await call(['ping'], { env: { BREAKWATER_BASE_URL: simulator.baseUrl } });
    expect(run).toEqual({ exitCode: EXIT.ok, stdout: 'pong\n', stderr: '' });
    expect(json(await call(['ping', '--json']))).toEqual({ endpoint: 'ping', outcome: 'ok' });
  });

  it.each([
    ['positions', LONG, /^market +positionSide +amount .*\nBTC_PERP +BOTH +0\.5 /, 'openPositions'],
    ['credit-lines', BORROWER, /^asset +amount .*\nUSDT +16000 /, 'creditLine'],
    ['balance', LONG, /^asset +available\nUSDT +2200\n$/, 'mainBalance'],
    [
      'transfers',
      LONG,
      /^createdAt +method .*\n.* withdrawal +USDT +50 .*\n.* deposit +USDT +250 /,
      'transferHistory',
    ],
    ['spot-orders', LONG, /^ctime +market .*\n.*Z +BTC_USDT +buy +market +FILLED +0\.005 /, 'orderHistory'],
  ])('%s prints a table', async (name, account, table, endpoint) => {
    const run = await call([name], { account });
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stdout).toMatch(table);
    expect(sent().map((request) => request.endpoint)).toEqual([endpoint]);
  });

  it.each([
    ['positions', 'records', 'setAside', 'complete'],
    ['credit-lines', 'records', 'setAside', 'complete'],
    ['transfers', 'records', 'setAside', 'complete'],
    ['spot-orders', 'records', 'setAside', 'complete'],
    ['balance', 'balance'],
  ])('%s --json prints one line with the validated result', async (name, ...keys) => {
    const result = json(await call([name, '--json'], { account: BORROWER }));
    // A history that was cut says so; whether it is cut depends on its length.
    const told = Object.keys(result).filter((key) => key !== 'cut');
    expect(told.toSorted()).toEqual(['endpoint', 'outcome', ...keys].toSorted());
    expect(result).toMatchObject({ endpoint: name, outcome: 'ok' });
  });

  it('keeps every digit of an amount', async () => {
    simulator.exchange.change((model) => {
      const amount = model.market('BTC_PERP')?.spec.amountStep.times('1.000000000000000001');
      if (amount !== undefined) model.deposit(credentials().id, { ticker: 'BTC', amount });
    });
    const run = await call(['transfers', ...params({ ticker: 'BTC' }), '--json']);
    expect(run.stdout).toContain('"amount":"0.001000000000000000001"');
    expect((await call(['balance'])).stdout).toContain(' 0.001000000000000000001\n');
  });

  it('an account without credit lines has none, which is a valid result', async () => {
    expect((await call(['credit-lines'])).stdout).toBe('No credit lines.\n');
    const none = json(await call(['credit-lines', '--json']));
    expect(none).toMatchObject({ outcome: 'ok', records: [], complete: true });
  });

  it('filters by parameters, in either spelling', async () => {
    const deposits = await call(['transfers', ...params({ method: 'deposit' }), '--json']);
    expect(json(deposits)['records']).toHaveLength(1);
    const withdrawals = await call(['transfers', ...params({ transactionMethod: '2' }), '--json']);
    expect(json(withdrawals)['records']).toMatchObject([{ method: { value: 'withdrawal' } }]);
    const other = await call(['positions', ...params({ market: 'ETH_PERP' })]);
    expect(other).toMatchObject({ exitCode: EXIT.ok, stdout: 'No open positions.\n' });
    const statuses = await call([
      'transfers',
      '-p',
      'status=3',
      '-p',
      'status=7',
      '-p',
      'method=1',
      '--json',
    ]);
    expect(json(statuses)['records']).toHaveLength(1);
    const future = await call(['transfers', ...params({ since: '2999-01-01T00:00:00Z' }), '--json']);
    expect(json(future)).toMatchObject({ records: [], complete: true });
  });

  it('says when a list is cut off', async () => {
    const run = await call(['transfers', ...params({ maxRecords: '1' })]);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stderr).toMatch(/This list is incomplete: .* More: --param maxRecords=N/);
    expect(json(await call(['transfers', ...params({ limit: '1' }), '--json']))).toMatchObject({
      complete: false,
    });
  });

  it('does not suggest maxRecords for a history that is incomplete but not cut off', async () => {
    simulator.injectFault({ effect: { kind: 'badRecord' }, target: { endpoint: 'transferHistory' } });
    const { stderr } = await call(['transfers']);
    expect(stderr).toContain('This list is incomplete');
    expect(stderr).not.toContain('More:');
  });

  it('prints the good records beside a bad one, and reports the list as incomplete', async () => {
    simulator.injectFault({ effect: { kind: 'badRecord' }, target: { endpoint: 'openPositions' }, count: 2 });
    const run = await call(['positions'], { account: HEDGED });
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(run.stderr).toMatch(/Set aside, as it is not as documented: \[\d]/);
    expect(run.stderr).toContain('This list is incomplete: what is missing from it may exist all the same.');
    const result = json(await call(['positions', '--json'], { account: HEDGED }));
    expect(result).toMatchObject({ complete: false, records: [{ market: 'BTC_PERP' }] });
    expect(result['setAside']).not.toEqual([]);
  });

  it('prints times as dates, codes as sent, null as none, and marks undocumented words', async () => {
    const said = {
      createdAt: 1651568067,
      currency: 'Tether',
      ticker: 'USDT',
      method: 9,
      amount: '5',
      fee: '0',
    };
    const record = { ...said, status: 15, network: null, address: 'a', uniqueId: null, partial: null };
    const body = JSON.stringify({ limit: 100, offset: 0, total: 1, records: [record] });
    simulator.injectFault({ effect: { kind: 'malformedJson', body } });
    const [head, row] = (await call(['transfers'])).stdout.split('\n');
    expect(head).toMatch(/^createdAt +method +ticker +amount +fee +status +network +address +uniqueId$/);
    expect(row).toMatch(/^2022-05-03T08:54:27Z +9 \(undocumented\) +USDT +5 +0 +15 +none +a +none$/);
  });

  it('shows no control characters of a reply', async () => {
    const order = { id: 1, client_order_id: 'a\u001b[2Jb', ctime: 1, side: 'buy', type: '\u202Elimit' };
    const body = JSON.stringify({ BTC_USDT: [{ ...order, status: 'FILLED', amount: '1' }] });
    simulator.injectFault({ effect: { kind: 'malformedJson', body } });
    const run = await call(['spot-orders'], { tty: true, env: { ...environment(), NO_COLOR: '1' } });
    expect(run.stdout).toContain('a [2Jb');
    expect(run.stdout).not.toContain('\u001b');
    expect(run.stdout).not.toContain('\u202E');
  });

  it('uses the next address when the first is down', async () => {
    simulator.setRegion(0, { mode: 'down' });
    const urls = simulator.baseUrls.flatMap((url) => ['--base-url', url]);
    // A process that is held up between its attempts may ask the first address each time.
    await expect.poll(async () => (await call(['positions', ...urls])).exitCode).toBe(EXIT.ok);
    const one = await call(['positions', '--base-url', `${simulator.baseUrls[1]}/`]);
    expect(one.exitCode).toBe(EXIT.ok);
  });

  it('reports a refusal with exit code 1, its name, status, code and words', async () => {
    const env = { ...environment(), BREAKWATER_API_SECRET: 'wrong' };
    const run = await call(['positions'], { env });
    expect(run).toMatchObject({ exitCode: EXIT.failed, stdout: '' });
    expect(run.stderr).toMatch(/breakwater: positions: .*\(unauthenticated, HTTP 401.*\)\. Check that key/);
    const result = await call(['positions', '--json'], { env });
    expect(result.exitCode).toBe(EXIT.failed);
    expect(json(result)).toMatchObject({
      endpoint: 'positions',
      outcome: 'failed',
      error: { name: 'unauthenticated', httpStatus: 401 },
    });
  });

  it("--account takes key, address, dialect and Redis from the config, and shares the daemon's nonces", async () => {
    const redis = await startPrivateRedis();
    try {
      const { apiKey, apiSecret } = credentials(HEDGED);
      const file = path.join(folder, 'breakwater.yaml');
      const configOf = (prefix: string) => `redis: { url: "${redis.url}", prefix: ${prefix} }
exchange: { baseUrls: ["${simulator.baseUrl}"], dialect: camel, nonce: increasing }
markets: { BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% } }
accounts:
  - { id: desk-1, apiKey: { env: DESK_KEY }, apiSecret: { env: DESK_SECRET }, rules: [far] }
rules:
  - { id: far, on: position, when: { liquidationDistance: { below: 1% } }, do: [{ notify: { channels: [log] } }] }
`;
      await writeFile(file, configOf(`${redis.prefix.replace(':', '-')}a`));
      // BREAKWATER_REDIS_URL is not even read.
      const env = { DESK_KEY: apiKey, DESK_SECRET: apiSecret, BREAKWATER_REDIS_URL: 'nowhere' };
      const args = ['--account', 'desk-1', '--config', file];
      const run = await call(['positions', ...args], { env });
      expect([run.stderr, run.exitCode]).toEqual(['', EXIT.ok]);
      const plain = await call(['positions'], { account: HEDGED });
      expect(run.stdout).toBe(plain.stdout);
      const order = await call([...stop({ clientOrderId: 'mine-1', reduceOnly: 'true' }), ...args, '--yes'], {
        env,
      });
      expect(order.stderr).toContain('"mine-1"');
      expect(order.stderr).toMatch(/ clientOrderId +"mine-1"/);
      const client = new Redis(redis.url);
      expect(await client.keys(`${redis.prefix.replace(':', '-')}a*nonce*`)).not.toEqual([]);
      client.disconnect();
      const unknown = await call(['positions', '--account', 'desk-2', '--config', file], { env });
      // As in all other commands.
      expect([unknown.exitCode, unknown.stderr]).toEqual([
        EXIT.usage,
        expect.stringMatching(/the config has no account "desk-2"\. Did you mean desk-1/),
      ]);
      const keyless = await call(['positions', ...args], { env: { DESK_KEY: apiKey } });
      expect(keyless.stderr).toContain('apiSecret of account desk-1 cannot be read here');
      const both = await call(['positions', ...args, '--dialect', 'spec'], { env });
      expect([both.exitCode, both.stderr]).toEqual([EXIT.usage, expect.stringContaining('--dialect')]);
    } finally {
      await redis.stop();
    }
  });

  it('Ctrl-C ends a call that waits', async () => {
    simulator.injectFault({ effect: { kind: 'hang' } });
    const controller = new AbortController();
    const running = call(['positions'], { signal: controller.signal });
    await vi.waitFor(() => expect(sent()).toHaveLength(1));
    controller.abort(ctrlC());
    expect(await running).toMatchObject({ exitCode: EXIT.interrupted, stdout: '' });
  });
});

describe('an endpoint', () => {
  it.each([
    'openPositions',
    '/api/v4/collateral-account/positions/open',
    'collateral-account/positions/open',
  ])('is found as %s', async (name) => {
    expect(json(await call([name, '--json']))).toMatchObject({ endpoint: 'positions' });
  });

  it.each([
    ['postions', 'Did you mean positions?'],
    ['/api/v4/order/cancel/al', 'Did you mean /api/v4/order/cancel/all?'],
    ['moon', 'There are ping, last-prices, positions, '],
  ])('is not found as %s', async (name, cure) => {
    const run = await call([name]);
    expect(run.exitCode).toBe(EXIT.usage);
    expect(run.stderr).toContain(cure);
  });

  it('must be named', async () => {
    expect(await call([])).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
  });

  it('is listed with its parameters, types, units and what it changes', async () => {
    const { stdout, exitCode } = await call(['--list'], { env: {} });
    expect(exitCode).toBe(EXIT.ok);
    expect(stdout).toMatch(
      /^stop-limit {2}.*\n.*POST \/api\/v4\/order\/collateral\/stop-limit.*\n {2}places an order/m,
    );
    expect(stdout).toMatch(/^ +amount +decimal +required +in the base currency/m);
    const lines = (await call(['--list', '--json'], { env: {} })).stdout.trimEnd().split('\n');
    const listed = lines.map((line) => JSON.parse(line) as { name: string; canOpenExposure: boolean });
    expect(listed).toHaveLength(11);
    expect(listed.filter((one) => one.canOpenExposure).map(({ name }) => name)).toEqual([
      'stop-limit',
      'hedge-mode',
    ]);
    expect((await call(['balance', '--list'], { env: {} })).stdout).toMatch(/^balance .*\n.*\n.*\n$/);
    expect((await call(['--help'])).stdout).toContain('  fiat-deposit-link  * ');
  });
});

describe('a wrong parameter', () => {
  it.each([
    [
      'bad, in the order of the listing',
      ['stop-limit', '-p', 'amount=x', '-p', 'side=y'],
      'side must be one of buy, sell; amount must',
    ],
    ['misspelt', ['stop-limit', '-p', 'makret=BTC_PERP'], 'no parameter "makret" (did you mean market?)'],
    ['unlike any', ['positions', '-p', 'zzzzzzzz=1'], 'no parameter "zzzzzzzz"; there are market'],
    ['where none are', ['balance', '-p', 'x=1'], 'no parameter "x"; balance takes none'],
    [
      'missing',
      ['stop-limit', '-p', 'market=A_B'],
      'missing: side (buy|sell), amount (decimal), price (decimal)',
    ],
    ['a float', stop({ amount: '1,5' }), 'amount must be a decimal such as 0.5'],
    ['not a word', stop({ side: 'short' }), 'side must be one of buy, sell'],
    ['not a boolean', stop({ reduceOnly: 'yes' }), 'reduceOnly must be one of true, false'],
    ['not a count', ['transfers', '-p', 'maxRecords=-1'], 'maxRecords must be a whole number'],
    ['without zone', ['transfers', '-p', 'since=2026-01-01T10:00'], 'since must be a Unix time in seconds'],
    ['twice', ['positions', '-p', 'market=A_B', '-p', 'market=C_D'], 'market is given twice'],
    ['for paging', ['transfers', '-p', 'offset=3'], 'use since or maxRecords'],
    ['a secret', ['balance', '-p', 'apiSecret=x'], 'credentials are no parameters'],
    ['inherited', ['balance', '-p', '__proto__=x'], 'no parameter "__proto__"; balance takes none'],
    ['against the rules', stop({ amount: '0' }), 'amount must be a decimal string greater than zero'],
    ['a stop loss on reduce-only', stop({ stopLoss: '5' }), 'stopLoss cannot be combined with reduceOnly'],
  ])('%s: is reported, and nothing is sent', async (_name, args, text) => {
    const run = await call([...args, '--yes', '--allow-exposure']);
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(run.stderr).toContain(text);
    expect(sent()).toEqual([]);
  });

  it('is reported together with all others, without its value', async () => {
    const run = await call([...stop({ amount: 'Adelheid', side: 'Brunnengasse' }), '-p', 'Kaiserswerth']);
    expect(run.stderr).toContain('side must be one of buy, sell; amount must be a decimal such as 0.5');
    expect(run.stderr).toContain('a --param is not name=value');
    expect(run.stderr).not.toMatch(/Adelheid|Brunnengasse|Kaiserswerth/);
  });
});

describe('a request that changes something', () => {
  const commands: [string, string[]][] = [
    ['stop-limit', stop()],
    ['cancel-all', ['cancel-all']],
    ['hedge-mode', ['hedge-mode', '-p', 'hedgeMode=true', '--allow-exposure']],
    ['fiat-deposit-link', ['fiat-deposit-link', ...params({ ...LINK, provider: 'SEPA' })]],
  ];

  it.each(commands)('%s: is refused when nobody can be asked', async (_name, args) => {
    const run = await call(args);
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(run.stderr).toContain('Add --yes.');
    expect(sent()).toEqual([]);
  });

  it.each(commands)('%s: is not sent when the answer is no, or missing', async (_name, args) => {
    for (const input of ['n\n', 'maybe\n', '']) {
      const run = await call(args, { tty: true, input });
      expect(run).toMatchObject({ exitCode: EXIT.failed, stdout: '' });
      expect(run.stderr).toContain('nothing was sent');
    }
    expect(sent()).toEqual([]);
  });

  it('is sent once when the answer is yes', async () => {
    const run = await call(stop(), { tty: true, input: 'y\n', env: { ...environment(), NO_COLOR: '1' } });
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stderr).toContain(`POST ${simulator.baseUrl}/api/v4/order/collateral/stop-limit`);
    expect(run.stderr).toContain('never open or grow one');
    expect(run.stdout).toMatch(/^reduceOnly +true$/m);
    expect(sent()).toMatchObject([{ endpoint: 'stopLimit', outcome: 'served' }]);
  });

  it('Ctrl-C at the question sends nothing', async () => {
    const controller = new AbortController();
    controller.abort(ctrlC());
    const run = await call(stop(), { tty: true, input: 'y\n', signal: controller.signal });
    expect(run.exitCode).toBe(EXIT.interrupted);
    expect(sent()).toEqual([]);
  });

  it('cancel-all cancels, by market and type', async () => {
    await call([...stop(), '--yes']);
    const other = await call(['cancel-all', ...params({ type: 'spot' }), '--yes', '--json']);
    expect(json(other)).toEqual({ endpoint: 'cancel-all', outcome: 'accepted' });
    expect(simulator.model.openOrders(credentials().id)).toHaveLength(1);
    const types = ['-p', 'types=futures', '-p', 'types=margin', '-p', 'market=BTC_PERP'];
    const run = await call(['cancel-all', ...types, '--yes']);
    expect(run.stderr).toContain(
      'every futures and margin order in that market, protective stops among them',
    );
    expect(simulator.model.openOrders(credentials().id)).toHaveLength(0);
  });

  it('hedge-mode changes the mode', async () => {
    const id = credentials().id;
    simulator.exchange.createAccount({ id: 'flat', collateral: {}, hedgeMode: false, leverage: 5 });
    const { apiKey, apiSecret } = simulator.exchange.accounts.access('flat');
    const env = { ...environment(), BREAKWATER_API_KEY: apiKey, BREAKWATER_API_SECRET: apiSecret };
    const args = ['hedge-mode', '-p', 'hedgeMode=true', '--allow-exposure', '--yes'];
    const changed = await call(args, { env });
    expect(changed.exitCode).toBe(EXIT.ok);
    expect(changed.stderr).toContain(
      'Beware: in hedge mode an order of the other side opens a second position',
    );
    expect(simulator.model.account('flat').hedgeMode).toBe(true);
    const refused = await call([...args, '--json']);
    expect(json(refused)).toMatchObject({
      outcome: 'rejected',
      error: { name: 'hedgeModeLocked', code: 113 },
    });
    expect(simulator.model.account(id).hedgeMode).toBe(false);
  });

  it('fiat-deposit-link makes a link, with a new id unless one is given', async () => {
    const args = ['fiat-deposit-link', ...params({ ...LINK, provider: 'SEPA' }), '--yes'];
    const first = await call(args);
    expect(first.stdout).toMatch(/^http:\S+\n$/);
    expect(first.stderr).toContain('Referer');
    const id = params({ unique_id: 'once' });
    expect(json(await call([...args, ...id, '--json']))).toMatchObject({ outcome: 'accepted' });
    const again = await call([...args, ...id]);
    expect(again.exitCode).toBe(EXIT.failed);
    expect(again.stderr).toMatch(/rejected: .*uniqueId: .*\(validationFailed, HTTP 400, code 0\)/);
  });

  it('a rejected order exits with 1 and prints its name, code, message and fields', async () => {
    const run = await call([...stop({ side: 'buy' }), '--yes']);
    expect(run).toMatchObject({ exitCode: EXIT.failed, stdout: '' });
    expect(run.stderr).toContain('(reduceOnlyRefused, HTTP 400, code 116)');
    const result = await call([...stop({ market: 'NO_SUCH' }), '--yes', '--json']);
    expect(result.exitCode).toBe(EXIT.failed);
    expect(json(result)).toMatchObject({
      outcome: 'rejected',
      error: { name: 'marketInvalid', fields: { market: [expect.any(String)] }, effect: 'none' },
    });
  });

  it('reports an amount that the exchange adjusted', async () => {
    const run = await call([...stop({ amount: '9' }), '--yes']);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stderr).toContain('The exchange adjusted the amount from 9 to 0.5.');
  });

  it('a lost reply exits with 3 and says what to do; the order was placed once', async () => {
    simulator.injectFault({ effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' } });
    const id = params({ clientOrderId: 'mine-1' });
    const run = await call([...stop(), ...id, '--yes']);
    expect(run).toMatchObject({ exitCode: EXIT.unknownOutcome, stdout: '' });
    expect(run.stderr).toContain('it is NOT KNOWN whether it took effect');
    expect(run.stderr).toContain('Read first: breakwater call positions.');
    expect(run.stderr).toContain('--param clientOrderId=mine-1');
    expect(simulator.model.openOrders(credentials().id)).toMatchObject([{ clientOrderId: 'mine-1' }]);
    expect(sent('stopLimit')).toHaveLength(1);
    simulator.clearFaults();
    const again = json(await call([...stop(), ...id, '--yes', '--json']));
    expect(again).toMatchObject({ outcome: 'rejected', error: { name: 'duplicateClientOrderId' } });
  });

  it.each([
    ['cancel-all', 'Cancelling once more is safe'],
    ['fiat-deposit-link', 'The unique id may be spent'],
    ['hedge-mode', 'Setting the same mode again is safe'],
  ])('%s: an unknown outcome says what to do, for scripts too', async (name, advice) => {
    simulator.injectFault({ effect: { kind: 'lostReply' } });
    const args = commands.find(([command]) => command === name)?.[1] ?? [];
    const run = await call([...args, '--yes', '--json']);
    expect(run.exitCode).toBe(EXIT.unknownOutcome);
    const result = json(run);
    expect(result).toMatchObject({ outcome: 'unknown', error: { effect: 'possible' } });
    expect(result['advice']).toContain(advice);
  });

  it('Ctrl-C after an order was sent exits with 3, not 130: its outcome is unknown', async () => {
    simulator.injectFault({ effect: { kind: 'appliedLate', connection: 'hang' } });
    const controller = new AbortController();
    const running = call([...stop(), '--yes'], { signal: controller.signal });
    await vi.waitFor(() => expect(simulator.exchange.front.delays.heldCount).toBe(1));
    controller.abort(ctrlC());
    expect(await running).toMatchObject({ exitCode: EXIT.unknownOutcome });
    simulator.releaseHeld();
    await vi.waitFor(() => expect(simulator.model.openOrders(credentials().id)).toHaveLength(1));
  });

  it('a timed-out order has an unknown outcome', async () => {
    simulator.injectFault({ effect: { kind: 'hang' } });
    const run = await call([...stop(), '--yes', '--timeout-ms', '200']);
    expect(run.exitCode).toBe(EXIT.unknownOutcome);
    expect(run.stderr).toContain('(timeout)');
  });

  it.each([
    ['spec', 'unique', { activation_price: '57000', client_order_id: 'x-1' }],
    ['camel', 'window', { activation_price: '57000', clientOrderId: 'x-1', nonceWindow: true }],
  ])('sends what it shows in dialect %s', async (dialect, nonce, names) => {
    const bodies: Record<string, unknown>[] = [];
    const url = await listener((body) => bodies.push(body));
    const args = ['--dialect', dialect, '--nonce', nonce, '--base-url', url.address];
    const run = await call([...stop({ clientOrderId: 'x-1' }), ...args, '--yes']);
    await url.close();
    expect(bodies).toHaveLength(1);
    const { request, nonce: _nonce, nonceWindow, ...rest } = bodies[0] ?? {};
    expect({ ...rest, ...(nonceWindow === undefined ? {} : { nonceWindow }) }).toEqual({
      market: 'BTC_PERP',
      side: 'sell',
      amount: '0.1',
      price: '56900',
      reduceOnly: true,
      ...names,
    });
    const shown = run.stderr
      .split('\n')
      .flatMap((line) => /^ {2}(\w+) {2,}(\S.*)$/.exec(line)?.slice(1, 3) ?? []);
    expect(shown).toEqual(Object.entries(rest).flatMap(([name, value]) => [name, JSON.stringify(value)]));
    expect(run.stderr).toContain(`POST ${url.address}${String(request)}`);
    expect(run.stderr.includes('nonceWindow')).toBe(nonceWindow === true);
  });
});

/** A server that records the bodies of requests and refuses them. */
async function listener(take: (body: Record<string, unknown>) => void) {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      take(JSON.parse(body) as Record<string, unknown>);
      response.writeHead(400).end('{"code":30,"message":"Validation failed","errors":{}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, close: () => new Promise((resolve) => server.close(resolve)) };
}

describe('a request that could open exposure', () => {
  it.each([
    ['an order that is not reduce-only', stop({ reduceOnly: 'false' }), 'can open or grow a position'],
    ['in the other spelling too', stop({ reduce_only: 'false' }), 'can open or grow a position'],
    ['hedge mode', ['hedge-mode', '-p', 'hedgeMode=true'], 'opens a second position'],
    ['one-way mode', ['hedge-mode', '-p', 'hedgeMode=false'], 'turn the position around'],
  ])('%s: is not sent without --allow-exposure, even if confirmed', async (_name, args, reason) => {
    for (const run of [
      await call([...args, '--yes']),
      await call(args, { tty: true, input: 'y\n' }),
      await call([...args, '--yes', '--json']),
    ]) {
      expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
      expect(run.stderr).toContain(reason);
      expect(run.stderr).toContain('add --allow-exposure');
    }
    expect(sent()).toEqual([]);
  });

  it('no combination of parameters sends an order that is not reduce-only', async () => {
    const bodies: Record<string, unknown>[] = [];
    const { address, close } = await listener((body) => bodies.push(body));
    const maybe = (name: string, ...values: string[]) =>
      fc.constantFrom([], ...values.map((value) => ['--param', `${name}=${value}`]));
    const changes = fc.tuple(
      maybe('reduceOnly', 'false', 'true', 'FALSE', '0', ''),
      maybe('reduce_only', 'false'),
      maybe('positionSide', 'LONG', 'SHORT', 'BOTH'),
      fc.oneof(maybe('stopLoss', '1', '99999'), maybe('takeProfit', '1', '99999')),
      fc.constantFrom(['--dialect', 'spec'], ['--dialect', 'camel']),
      fc.constantFrom([], ['--nonce', 'window'], ['--json']),
    );
    await fc.assert(
      fc.asyncProperty(changes, async (args) => {
        await call([...stop(), ...args.flat(), '--base-url', address, '--yes']);
        return bodies.splice(0).every((body) => body['reduceOnly'] === true);
      }),
      { numRuns: runsOf(200) },
    );
    expect((await call([...stop(), '--base-url', address, '--yes'])).exitCode).toBe(EXIT.failed);
    await close();
    expect(bodies).toMatchObject([{ reduceOnly: true }]);
  });

  it('--allow-exposure alone does not confirm', async () => {
    const run = await call([...stop({ reduceOnly: 'false' }), '--allow-exposure']);
    expect(run.exitCode).toBe(EXIT.usage);
    expect(sent()).toEqual([]);
  });

  it('is sent with --allow-exposure, after a warning', async () => {
    const args = stop({ reduceOnly: 'false', side: 'buy', activationPrice: '61000', price: '61100' });
    const attached = params({ stop_loss: '59000', takeProfit: '65000' });
    const run = await call([...args, ...attached, '--allow-exposure', '--yes']);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stderr).toContain('It CAN OPEN OR GROW a position.');
    expect(run.stdout).toMatch(/^reduceOnly +false$/m);
    expect(run.stdout).toMatch(/^stopLoss +59000$/m);
  });

  it('an order is reduce-only by default', async () => {
    const result = json(await call([...stop(), '--yes', '--json']));
    expect(result).toMatchObject({
      outcome: 'accepted',
      order: { reduceOnly: true, clientOrderIdEchoed: true },
    });
  });
});

describe('settings', () => {
  it.each([
    ['no address', [], { BREAKWATER_BASE_URL: '' }, 'Add --base-url URL or set BREAKWATER_BASE_URL'],
    [
      'an address with a password',
      ['--base-url', 'http://u:sesame@h'],
      {},
      'without user, query or fragment',
    ],
    ['a bad address', ['--base-url', 'sesame'], {}, 'expected an http or https address'],
    [
      'no key',
      [],
      { BREAKWATER_API_KEY: '' },
      'missing: the API key (BREAKWATER_API_KEY or --api-key-file).',
    ],
    ['no secret', [], { BREAKWATER_API_SECRET: '' }, 'missing: the API secret'],
    ['a key that cannot be one', [], { BREAKWATER_API_KEY: 'sesame open' }, 'must be visible ASCII'],
    ['a key in a flag', ['--api-key', 'sesame'], {}, 'not taken from flags'],
    ['a secret in a flag', ['--api-secret=sesame'], {}, 'not taken from flags'],
    ['a bad store', ['--redis', 'http://u:sesame@h'], {}, '--redis: expected an address such as'],
    ['customer data for a read', ['--customer-file', 'x'], {}, 'takes no customer data'],
    ['an unknown mode', ['--nonce', 'random'], {}, 'Allowed choices are unique, increasing, window'],
    ['no time', ['--timeout-ms', '0'], {}, 'whole number from 1 to 600000'],
  ])('%s: is a wrong command line', async (_name, args, env, text) => {
    const run = await call(['positions', ...args], { env: { ...environment(), ...env } });
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(run.stderr).toContain(text);
    expect(run.stderr).not.toContain('sesame');
    expect(sent()).toEqual([]);
  });

  it('key and secret can come from files, which take precedence over the environment', async () => {
    const { apiKey, apiSecret } = credentials(BORROWER);
    const key = ['--api-key-file', await file('key', `${apiKey}\n`)];
    const secret = ['--api-secret-file', await file('secret', `${apiSecret}\n`)];
    expect(json(await call(['credit-lines', ...key, ...secret, '--json']))['records']).toHaveLength(1);
    const missing = await call(['balance', '--api-key-file', path.join(folder, 'none')]);
    expect(missing.exitCode).toBe(EXIT.failed);
    expect(missing.stderr).toContain('cannot read the file of --api-key-file (ENOENT)');
  });

  it('all addresses are named before an order is sent, without trailing slashes', async () => {
    const urls = simulator.baseUrls.flatMap((url) => ['--base-url', `${url}//`]);
    const { stderr } = await call([...stop(), ...urls, '--yes']);
    const post = `POST ${simulator.baseUrls.join(' or ')}/api/v4/order/collateral/stop-limit`;
    expect(stderr.split('\n')).toContain(post);
  });

  it('an invalid BREAKWATER_REDIS_URL is refused by name, without its text', async () => {
    const env = { ...environment(), BREAKWATER_REDIS_URL: 'sesame' };
    const { exitCode, stderr } = await call(['balance'], { env });
    expect(exitCode).toBe(EXIT.usage);
    expect(stderr).toContain('in the variable BREAKWATER_REDIS_URL');
    expect(stderr).not.toContain('sesame');
  });

  it('several addresses in the environment are separated by commas or spaces', async () => {
    const env = { ...environment(), BREAKWATER_BASE_URL: ` ${simulator.baseUrls.join(' , ')}/ ` };
    simulator.setRegion(0, { mode: 'unavailable' });
    // A process that is held up between its attempts may ask the first address each time.
    await expect.poll(async () => (await call(['balance'], { env })).exitCode).toBe(EXIT.ok);
  });

  it('an unreachable exchange is reported', async () => {
    const { address, close } = await listener(() => undefined);
    await close();
    const run = await call(['balance', '--base-url', address]);
    expect(run.exitCode).toBe(EXIT.failed);
    expect(run.stderr).toContain('(connectionRefused). Check --base-url');
    const order = await call([...stop(), '--yes', '--base-url', address]);
    expect(order.exitCode).toBe(EXIT.failed);
    expect(order.stderr).toContain('rejected: ');
  });

  it('without Redis the command says that its nonces are its own', async () => {
    expect((await call(['balance'])).stderr).toContain('add --redis with its Redis');
  });

  it("with Redis the command takes nonces from the daemons' store", async () => {
    const redis = await startPrivateRedis();
    try {
      simulator.setReadings({ nonceRule: 'increasing' });
      const shared = ['--redis', redis.url, '--redis-prefix', `${redis.prefix}bw`, '--nonce', 'increasing'];
      const client = new Redis(redis.url);
      closeAfterTest(async () => client.disconnect());
      expect(await call(['balance', ...shared])).toMatchObject({ exitCode: EXIT.ok, stderr: '' });
      const keys = await client.keys(`${redis.prefix}bw:*`);
      expect(keys.some((key) => key.includes('limit/'))).toBe(true);
      // Another process, whose clock is 30 s ahead, uses the key; the sequence counts tenths of a millisecond.
      const sequence = keys.find((key) => key.endsWith(':sequence')) ?? '';
      await client.incrby(sequence, 30_000 * 10);
      expect(await call(['balance', ...shared])).toMatchObject({ exitCode: EXIT.ok, stderr: '' });
      const [first = 0, second = 0] = sent().map(({ nonce }) => Number(nonce) / 1_000);
      expect(second - first).toBeGreaterThanOrEqual(30_000);
      expect(sent().map(({ outcome }) => outcome)).toEqual(['served', 'served']);
    } finally {
      await redis.stop();
    }
  });

  it('if the given Redis is unreachable, nothing is sent', async () => {
    const { address, close } = await listener(() => undefined);
    await close();
    const url = address.replace('http://', 'redis://u:sesame@');
    const run = await call(['balance'], { env: { ...environment(), BREAKWATER_REDIS_URL: url } });
    expect(run.exitCode).toBe(EXIT.failed);
    expect(run.stderr).toContain('the Redis server cannot be used: ECONNREFUSED; nothing was sent.');
    expect(run.stderr).not.toContain('sesame');
    const order = await call(stop(), {
      tty: true,
      input: 'y\n',
      env: { ...environment(), BREAKWATER_REDIS_URL: url },
    });
    expect(order.exitCode).toBe(EXIT.failed);
    expect(order.stderr).not.toContain('Send it?');
    expect(sent()).toEqual([]);
  });
});

describe('secrets and customer data', () => {
  const personal = [
    ...Object.values(CUSTOMER).filter((value) => typeof value === 'string'),
    ...Object.values(CUSTOMER.address).filter((value) => value.length > 2),
  ];

  function expectClean(run: CliRun): void {
    const { apiKey, apiSecret } = credentials();
    const said = run.stdout + run.stderr;
    for (const text of [apiKey, apiSecret, ...personal]) expect(said).not.toContain(text);
  }

  it('are sent, and shown nowhere', async () => {
    const args = ['fiat-deposit-link', ...params(LINK), '--customer-file', await customerFile()];
    const run = await call([...args, '--yes', '--debug']);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stderr).toMatch(/customer +\(from --customer-file, not shown\)/);
    expectClean(run);
    expectClean(await call([...args, '--yes', '--json', '--debug']));
    expectClean(await call([...args, '--debug']));
  });

  it('are required by the exchange for a card', async () => {
    const run = await call(['fiat-deposit-link', ...params(LINK), '--yes']);
    expect(run.exitCode).toBe(EXIT.failed);
    expect(run.stderr).toContain('customer');
  });

  it("are removed from the exchange's replies", async () => {
    const { apiKey, apiSecret } = credentials();
    const message = `bad ${apiKey} ${apiSecret} ${personal.join(' ')}`;
    const errors = { customer: personal, [apiSecret]: [message] };
    simulator.injectFault({ effect: { kind: 'status', status: 400, code: 0, message, errors } });
    const args = ['fiat-deposit-link', ...params(LINK), '--customer-file', await customerFile(), '--yes'];
    const run = await call([...args, '--debug']);
    expect(run.exitCode).toBe(EXIT.failed);
    expect(run.stderr).toContain('[redacted]');
    expectClean(run);
    expectClean(await call([...args, '--json']));
  });

  it.each([
    ['not JSON', '{"email": adelheid@quellenburg.example', 'the file is not JSON'],
    ['nothing', 'null', 'customer must be an object with firstName'],
    ['a number', '5', 'customer must be an object with firstName'],
    ['not an object', '["Adelheid"]', 'customer must be an object with firstName'],
    ['another object', JSON.stringify({ ...CUSTOMER, Kaiserswerth: 1 }), 'and nothing else'],
    ['no address', JSON.stringify({ ...CUSTOMER, address: 'Brunnengasse 17' }), 'address is an object'],
    ['another address', JSON.stringify({ ...CUSTOMER, address: { Kaiserswerth: '' } }), 'and nothing else'],
    ['with numbers', JSON.stringify({ ...CUSTOMER, address: { zipCode: 90489 } }), 'all of them texts'],
    ['no name', JSON.stringify({ ...CUSTOMER, lastName: '' }), 'customer.lastName is required'],
    ['no date', JSON.stringify({ ...CUSTOMER, birthDate: '29.2.1984' }), 'must be YYYY-MM-DD'],
  ])('a customer file that is %s is refused without showing its contents', async (_name, text, problem) => {
    const args = ['fiat-deposit-link', ...params(LINK), '--customer-file', await file('bad.json', text)];
    const run = await call([...args, '--yes', '--debug']);
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(run.stderr).toContain(problem);
    expect(run.stderr).not.toMatch(/Kaiserswerth|29\.2/);
    expectClean(run);
    expect(sent()).toEqual([]);
  });

  it('cannot be given as parameters', async () => {
    const run = await call(['fiat-deposit-link', ...params(LINK), '-p', 'customer.email=adelheid@x.example']);
    expect(run.stderr).toContain('customer: customer data comes from --customer-file only');
    expect(run.stderr).not.toContain('adelheid');
  });
});

describe('colours', () => {
  it('appear only on a terminal, and never with NO_COLOR', async () => {
    const escape = '\u001b[';
    expect((await call(['positions'], { tty: true })).stdout).toContain(escape);
    for (const run of [
      await call(['positions']),
      await call(['positions'], { tty: true, env: { ...environment(), NO_COLOR: '1' } }),
      await call([...stop(), '--yes']),
    ]) {
      expect(run.stdout + run.stderr).not.toContain(escape);
    }
  });

  it('never appear in JSON', async () => {
    const run = await call(['positions', '--json'], { env: { ...environment(), FORCE_COLOR: '1' } });
    expect(run.stdout).not.toContain('\u001b');
  });
});
