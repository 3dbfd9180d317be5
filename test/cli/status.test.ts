import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import { bucketKeys } from '../../src/state/account/keys.ts';
import { ACCOUNTS } from '../contract/support/world.ts';
import { d, polls } from '../daemon/scene.ts';
import { eventually } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { expectOk, json, openOperatorWorld, openState, pauseIn } from './operator.ts';

const CLOSE = `  - id: close
    on: position
    when: { liquidationDistance: { below: 60% } }
    do: [{ reduce: { by: 10%, slippage: 1% } }]
`;

const BORROWER = {
  id: 'borrower',
  hedgeMode: false,
  leverage: 10,
  collateral: {},
  main: { BTC: d('2') },
};

type Accounts = Record<string, unknown>[];

test('says that there is nothing yet before any daemon has run', async () => {
  const world = await openOperatorWorld();
  const run = await world.cli(['status']);
  expectOk(run);
  expect(run.stdout).toMatch(/^ACCOUNT +NEAREST +AT RISK +STATE$/m);
  expect(run.stdout).toMatch(/^long +\? +\? +blind: not polled yet/m);
  const report = json(await world.cli(['status', '--account', 'long', '--json']));
  expect(report['controls']).toEqual([]);
  expect(report['accounts']).toMatchObject([
    { accountId: 'long', mode: 'enforce', judgedAtMs: null, positions: [] },
  ]);
});

test('shows positions, rules with their reason, intents, outcomes and pauses as a daemon left them', async () => {
  const world = await openOperatorWorld(
    {
      accounts: { long: { rules: ['close'] }, borrower: { rules: ['ltv'] } },
      rules: `${CLOSE}  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 1% } }
    do: [{ notify: { channels: [log] } }]
`,
    },
    { accounts: [...ACCOUNTS, BORROWER] },
  );
  const creditLine = { asset: 'USDT', amount: d('5000'), collateralAsset: 'BTC', collateralAmount: d('0.5') };
  world.simulator.exchange.change((model) => model.openLoan('borrower', creditLine));
  await pauseIn(world, 'long', { reason: 'looking first' });
  const daemon = await world.start();
  await polls(world, 'long');
  await polls(world, 'borrower');
  expect((await world.cli(['status'])).stdout).not.toMatch(/nobody watches/);
  await daemon.stop('seen enough', 30_000);

  const report = json(await world.cli(['status', '--json']));
  const [long = {}, borrower = {}] = report['accounts'] as Accounts;
  expect(long).toMatchObject({
    accountId: 'long',
    mode: 'enforce',
    calmMs: 300,
    positions: [{ market: 'BTC_PERP', direction: 'long', sizeBase: '0.5', stopCover: 'missing' }],
    rules: [{ ruleId: 'close', phase: 'firing', frozen: false, stage: 0 }],
    intents: [{ market: 'BTC_PERP', ruleId: 'close', ended: false, state: 'held back: actions are paused' }],
    orders: [],
  });
  const [position] = long['positions'] as Accounts;
  expect(Number(position?.['liquidationDistance'])).toBeGreaterThan(0.1);
  expect(Number(long['judgedAtMs'])).toBeGreaterThan(Date.now() - 60_000);
  expect((long['rules'] as Accounts)[0]?.['reason']).toMatch(/distance to liquidation is .*, below 60 %/);
  expect((long['events'] as Accounts).map(({ kind }) => kind)).toContain('refused');
  expect(borrower).toMatchObject({
    creditLines: [{ asset: 'USDT', amount: '5000' }],
    rules: [{ ruleId: 'ltv', phase: 'firing' }],
  });
  const [owed] = borrower['creditLines'] as Accounts;
  expect(Number(owed?.['currentLtv'])).toBeGreaterThan(0.1);

  const brief = await world.cli(['status']);
  const [first, , second] = brief.stdout.split('\n');
  expect(first).toMatch(/^No daemon says that it runs: nobody watches these accounts\./);
  expect(second).toMatch(/^long paused by ann until it is lifted: looking first; rules fire/);
  expect(brief.stdout).not.toMatch(/position \S+ BTC_PERP/);
  const { stdout } = await world.cli(['status', '--account', 'long', '--account', 'borrower']);
  expect(stdout).toMatch(/^paused: account long, until it is lifted: ann: looking first$/m);
  expect(stdout).toMatch(/^long +\d+\.\d % +[\d.]+K +paused by ann until it is lifted: looking first/m);
  expect(stdout).toMatch(
    /^ {2}position \S+ BTC_PERP: long 0\.5, mark .*, .* % from liquidation, no stop, seen .* ago$/m,
  );
  expect(stdout).toMatch(/^ {2}credit line USDT@\d+: amount 5000, LTV /m);
  expect(stdout).toMatch(
    /^ {2}intent of close: position \S+ BTC_PERP by 10 % .*: held back: actions are paused/m,
  );
  // None of this sent a request to the exchange.
  const before = world.simulator.requestLog().length;
  await world.cli(['status']);
  expect(world.simulator.requestLog()).toHaveLength(before);
});

test('says the same by a daemon as from what is stored, and says first that it is stored', async () => {
  const world = await openOperatorWorld({
    accounts: { long: { rules: ['close'] }, hedged: { rules: [] } },
    rules: CLOSE,
  });
  await pauseIn({ state: openState(world, 'another-key-of-at-least-32-characters') }, 'hedged');
  await pauseIn(world, 'long');
  const daemon = await world.start();
  await polls(world, 'long', 3);
  const byRedis = ['--redis', world.redisUrl, '--redis-prefix', world.prefix];
  const comparable = ({ accounts, ...report }: Record<string, unknown>) => {
    const [account = {}] = accounts as Accounts;
    const fields = Object.keys(account).toSorted();
    return { ...report, atMs: 0, stored: null, events: account['events'], fields };
  };
  let [said, stored]: Record<string, unknown>[] = [];
  const both = async (): Promise<boolean> => {
    const asked = await world.cli(['status', '--json']);
    expect(asked.stderr).toBe('');
    [said, stored] = [json(asked), json(await world.cli(['status', '--json', ...byRedis]))];
    return isDeepStrictEqual(comparable(said), comparable(stored));
  };
  // The daemon goes on between the two.
  await eventually(both, 'the same by both', () => [said, stored]);
  expect([said?.['stored'], stored?.['stored']]).toEqual([null, expect.any(String)]);
  expect(said).toMatchObject({
    watchers: 1,
    controls: [{ author: 'ann' }],
    refusedControls: [expect.stringContaining('key')],
  });
  await daemon.stop('seen enough', 30_000);
  const left = await world.cli(['status', '--account', 'long']);
  expect(left.stderr).toMatch(/^This is what is stored: no daemon with this config runs that this user can/);
  expect(left.stdout).toContain('(paused): ');
  expect(json(await world.cli(['status', '--json']))['stored']).toMatch(/^no daemon with this config runs/);
});

test('reports a paused queue while no daemon runs that would resume it', async () => {
  const world = await openOperatorWorld();
  const daemon = await world.start({ roles: ['web'] });
  const { poll } = daemon.shared!.queues;
  await poll.pause();
  const { stdout } = await world.cli(['status']);
  expect(stdout).toMatch(/^Somebody paused poll: what goes through a paused queue stands still/m);
  expect(json(await world.cli(['status', '--json']))['pausedQueues']).toEqual(['poll']);
  const metrics = await (await fetch(`${daemon.webUrl()}/metrics`)).text();
  expect(metrics).toMatch(/^breakwater_queue_paused\{queue="poll"\} 1$/m);
  expect(metrics).toMatch(/^breakwater_queue_paused\{queue="act"\} 0$/m);
  await poll.resume();
  await eventually(async () => !(await world.cli(['status'])).stdout.includes('paused'), 'the queue goes on');
});

test('names an account whose stored state is from a newer program, and fails', async () => {
  const world = await openOperatorWorld();
  const daemon = await world.start();
  await polls(world, 'long');
  await daemon.stop('enough', 30_000);
  const redis = new Redis(world.redisUrl);
  const key = bucketKeys(world.prefix, bucketOf('long')).account('long');
  const fields = await redis.hgetall(key);
  const name = Object.keys(fields).find((field) => field.includes('evaluation')) ?? '';
  await redis.hset(
    key,
    name,
    (fields[name] ?? '').replace(/"version":\d+/, '"version":99').replace(/^\d+/, '99'),
  );
  redis.disconnect();
  const run = await world.cli(['status', '--account', 'long']);
  expect(run.exitCode).toBe(EXIT.failed);
  expect(run.stdout).toMatch(/^long +enforce +\? +\? +blind: the stored state cannot be read/m);
  expect(run.stdout).toMatch(/its state is left alone: /);
});

test('counts an account that is named twice once', async () => {
  const world = await openOperatorWorld();
  const twice = ['--account', 'long', '--account', 'long'];
  const report = json(await world.cli(['status', ...twice, '--json']));
  expect(report['accounts']).toMatchObject([{ accountId: 'long' }]);
  expect((await world.cli(['report', ...twice])).stdout).toBe('long: Breakwater closed nothing.\n');
});

test('without a config the accounts must be named', async () => {
  const world = await openOperatorWorld();
  const place = ['--redis', world.redisUrl, '--redis-prefix', world.prefix];
  const run = await runCommandLine(['status', ...place]);
  expect(run).toMatchObject({ exitCode: EXIT.usage });
  expect(run.stderr).toMatch(/Add --account ID or --config FILE/);
  await pauseIn(world, 'long');
  expect(json(await runCommandLine(['status', '--account', 'long', '--json', ...place]))).toMatchObject({
    accounts: [{ accountId: 'long', mode: null }],
  });
});
