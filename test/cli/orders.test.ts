import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { drift, hasFilled, ours, polls, sizeOf } from '../daemon/scene.ts';
import { eventually, troubles } from '../daemon/world.ts';
import {
  expectEnd,
  expectOk,
  json,
  type OperatorWorld,
  openAnsweringWorld,
  openOperatorWorld,
  stored,
} from './operator.ts';

const CONTROL = 'a-control-token-of-this-test';
const BY = ['--author', 'ann', '--reason', 'event risk'];

function positionOf({ simulator }: OperatorWorld, accountId: string): string {
  const [position] = simulator.model.openPositions(accountId);
  if (position === undefined) throw new Error('no position');
  return String(position.positionId);
}

async function inbox({ state }: OperatorWorld, accountId: string) {
  return (await stored(state, accountId)).account.documents.inbox?.orders ?? [];
}

async function submitted({ state }: OperatorWorld, accountId: string): Promise<number> {
  const records = await state.audit.tail(accountId, 100);
  return records.filter(({ record }) => record.content.kind === 'operatorOrder').length;
}

test('reduce writes exactly one order to the inbox while no daemon runs, and shows what it means', async () => {
  const world = await openAnsweringWorld();
  const args = [
    'reduce',
    '--account',
    'long',
    '--position',
    '42',
    '--by',
    '50%',
    ...BY,
    '--key',
    'k1',
    '--yes',
  ];
  const run = await world.cli([...args, '--slippage', '1%,3%', '--within', '5m', '--json']);
  expectEnd(run, EXIT.held);
  const said = json(run);
  const [order, ...more] = await inbox(world, 'long');
  expect(more).toEqual([]);
  expect(order).toEqual(said['order']);
  expect(order).toMatchObject({
    kind: 'reduce',
    positionId: '42',
    target: { kind: 'by', fraction: 0.5 },
    slippageSteps: [0.01, 0.03],
    flatten: false,
    author: 'ann (this machine)',
    reason: 'event risk',
  });
  expect(order?.id).toMatch(/^[a-z0-9]+$/);
  expect((order?.expiresAtMs ?? 0) - (order?.atMs ?? 0)).toBeLessThanOrEqual(300_000);
  expect(said['obstacles']).toEqual([expect.stringMatching(/^No daemon has ever polled/)]);
  expect(run.stderr).toMatch(/^ *order +reduce by 50 % of its size$/m);
  expect(run.stderr).toMatch(/^position +none that the daemon has seen$/m);
  expect(world.simulator.requestLog()).toEqual([]);
});

test('`reduce --position 99` of an unknown position is refused, and names the known ones', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await polls(world, 'long');
  const run = await world.cli([
    'reduce',
    '--account',
    'long',
    '--position',
    '99',
    '--by',
    '50%',
    ...BY,
    '--yes',
  ]);
  expect(run.exitCode).toBe(EXIT.usage);
  expect(run.stderr).toMatch(/has no position "99": nothing was ordered\. Its positions: \S+ \(BTC_PERP\)/);
  expect(await inbox(world, 'long')).toEqual([]);
});

test('`flatten` says what it will send, and that it closes nothing in a calm or rising market', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await polls(world, 'long');
  const run = await world.cli(['flatten', '--account', 'long', ...BY, '--yes', '--no-wait']);
  expectOk(run);
  expect(run.stderr).toMatch(
    /will send +BTC_PERP: a reduce-only sell stop at about 59\d+(\.\d+)?; it closes only when the price falls 0\.1 % from 6\d+/,
  );
  expect(run.stderr).toContain('To be flat now use the exchange.');
});

test('`flatten --urgent` says that two stops close the position in either direction; the daemon closes it in a rising market', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await polls(world, 'long');
  const run = await world.cli(['flatten', '--account', 'long', '--urgent', ...BY, '--yes']);
  expectOk(run);
  expect(run.stderr).toMatch(
    /will send +BTC_PERP: two reduce-only sell stops at about 59\d+(\.\d+)? and 6\d+(\.\d+)?; it closes when the price moves 0\.1 % from 6\d+/,
  );
  expect(run.stderr).toContain('In a market that stands still nothing closes');
  const stops = () => ours(world.simulator, 'long').length;
  await eventually(
    () => stops() >= 2,
    'two orders',
    () => troubles(world.events),
  );
  const open = () => world.simulator.model.openPositions('long').length;
  await drift(world.simulator, 0.001, () => open() === 0, 'the position closed', world);
  const isSeen = async () =>
    /^ {2}position /m.test((await world.cli(['status', '--account', 'long'])).stdout);
  await eventually(
    async () => !(await isSeen()),
    'it is seen to be closed',
    () => troubles(world.events),
  );
  // The account holds nothing, so nothing is ordered.
  const nothing = await world.cli(['flatten', '--account', 'long', ...BY, '--yes']);
  expect([nothing.exitCode, nothing.stdout]).toEqual([
    EXIT.ok,
    expect.stringMatching(
      /^Nothing to close: \w+\. A daemon has looked, .* Orders at the exchange stay\.\n$/,
    ),
  ]);
  const refused = await world.cli(['reduce', '--account', 'long', '--position', '1', '--urgent', ...BY]);
  expect([refused.exitCode, refused.stderr]).toEqual([EXIT.usage, expect.stringContaining('--urgent')]);
  const wide = await world.cli([
    'flatten',
    '--account',
    'long',
    '--urgent',
    '--slippage',
    '6%',
    ...BY,
    '--yes',
  ]);
  expect([wide.exitCode, wide.stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining('operators.maxSlippage'),
  ]);
});

test.each([
  [['--to', '0.5'], { kind: 'to', fraction: 0.5 }],
  [['--to', '0'], { kind: 'to', fraction: 0 }],
  [['--to-notional', '1500.50'], { kind: 'toNotional', notional: '1500.50' }],
  [['--until-distance', '10%'], { kind: 'untilDistance', distance: 0.1 }],
])('%j is the target of the order', async (args, target) => {
  const world = await openAnsweringWorld();
  const run = await world.cli(['reduce', '--account', 'long', '--position', '42', ...args, ...BY, '--yes']);
  expectEnd(run, EXIT.held);
  expect(await inbox(world, 'long')).toMatchObject([{ target }]);
  expect(run.stdout).toMatch(
    /^Waiting: \w+\. It is in the inbox; no daemon runs that could take it\.\nFollow it: +breakwater audit tail --account long --follow/,
  );
});

test('an order repeated with the same key exists once, also if several processes send it at the same time', async () => {
  const world = await openAnsweringWorld();
  const args = ['flatten', '--account', 'long', ...BY, '--key', 'evening', '--yes', '--json'];
  const runs = await Promise.all(Array.from({ length: 4 }, () => world.cli(args)));
  const ids = new Set(runs.map((run) => (json(run)['order'] as { id: string }).id));
  expect(ids.size).toBe(1);
  expect(await inbox(world, 'long')).toHaveLength(1);
  expect(await submitted(world, 'long')).toBe(1);
  const other = await world.cli([
    'flatten',
    '--account',
    'long',
    '--market',
    'ETH_*',
    ...BY,
    '--key',
    'evening',
    '--yes',
  ]);
  expect(other.exitCode).toBe(EXIT.failed);
  expect(other.stderr).toMatch(/not done: the key was used for another order/);
  expect(await inbox(world, 'long')).toHaveLength(1);
  // A key belongs to one account.
  expect((await world.cli([...args, '--account', 'hedged'])).exitCode).toBe(EXIT.held);
  expect(await inbox(world, 'hedged')).toHaveLength(1);
});

test('asks first: a no, or nobody to answer, orders nothing', async () => {
  const world = await openAnsweringWorld();
  const args = ['flatten', '--account', 'long', ...BY];
  const no = await world.cli(args, { tty: true, input: 'n\n' });
  expect(no.exitCode).toBe(EXIT.failed);
  expect(no.stderr).toMatch(/not confirmed: nothing was ordered/);
  expect((await world.cli(args)).exitCode).toBe(EXIT.usage);
  // At a terminal Ctrl-C arrives as a key.
  const stopped = await world.cli(args, { tty: true, input: '\u0003' });
  expect(stopped.exitCode).toBe(EXIT.interrupted);
  expect(stopped.stderr).toMatch(/stopped by Ctrl-C: nothing was ordered/);
  // So does Ctrl-D.
  const ended = await world.cli(args, { tty: true, input: '\u0004' });
  expect(ended.exitCode).toBe(EXIT.failed);
  expect(ended.stderr).toMatch(/not confirmed: nothing was ordered/);
  expect(await inbox(world, 'long')).toEqual([]);
  const yes = await world.cli(args, { tty: true, input: 'y\n' });
  expectEnd(yes, EXIT.held);
  expect(await inbox(world, 'long')).toMatchObject([
    { markets: ['*'], target: { kind: 'to', fraction: 0 }, flatten: true },
  ]);
});

test.each([
  [['reduce', '--account', 'long', '--by', '50%', ...BY], /name the position/],
  [['reduce', '--account', 'long', '--market', 'BTC_PERP', '--by', '50%', ...BY], /--position ID/],
  [['reduce', '--account', 'long', '--position', '1', ...BY], /say how far to reduce\. One of --by/],
  [['reduce', '--account', 'long', '--position', '1', '--by', '50%', '--to', '0', ...BY], /in one way only/],
  [
    ['reduce', '--account', 'long', '--position', '1', '--by', '150%', ...BY],
    /Expected a ratio .* above 0% to 100%/,
  ],
  [['reduce', '--account', 'long', '--position', '1', '--by', '50%'], /--reason/],
  [
    ['reduce', '--account', 'nobody', '--position', '1', '--by', '50%', ...BY],
    /there is no account "nobody"/,
  ],
  [['reduce', '--account', 'long', '--withdraw', 'abc', '--by', '50%', ...BY], /takes an order back/],
  [['reduce', '--account', 'long', '--withdraw', 'abc', '--key', 'k', ...BY], /Leave out .* --key\./],
  [['reduce', '--account', 'long', '--withdraw', 'abc', '--slippage', '1%', ...BY], /takes an order back/],
  [['reduce', '--account', 'long', '--withdraw', 'abc', '--within', '5m', ...BY], /takes an order back/],
  [['flatten', '--account', 'long', '--slippage', '60%', ...BY], /Expected a ratio/],
  [['flatten', ...BY], /--account/],
])('%j is refused and orders nothing', async (args, message) => {
  const world = await openAnsweringWorld();
  const run = await world.cli([...args, '--yes']);
  expect(run.exitCode).toBe(EXIT.usage);
  expect(run.stderr).toMatch(message);
  expect(await inbox(world, 'long')).toEqual([]);
});

test('the daemon carries out a reduction as rules do: to its target, once, and audited', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await polls(world, 'long');
  const position = positionOf(world, 'long');
  const args = [
    'reduce',
    '--account',
    'long',
    '--position',
    position,
    '--by',
    '50%',
    ...BY,
    '--key',
    'half',
    '--yes',
  ];
  const run = await world.cli(args);
  expectOk(run);
  expect(run.stdout).toMatch(/^Ordered: \w+\. A daemon has taken it\.\n/);
  expect(run.stderr).toMatch(
    /^position +\S+ BTC_PERP: long 0\.5, .* % from liquidation, no stop, seen .* ago$/m,
  );
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  await drift(world.simulator, -0.001, () => hasFilled(world.simulator, 'long', 0.5), 'a fill', world);
  expect(sizeOf(world.simulator, 'long')).toBe(0.25);
  // Repeated after it was done: a script that lost the answer must not halve twice.
  expect((await world.cli(args)).exitCode).toBe(EXIT.ok);
  await polls(world, 'long', 5);
  expect(sizeOf(world.simulator, 'long')).toBe(0.25);
  expect(ours(world.simulator, 'long').every(({ details }) => details?.['reduceOnly'] === true)).toBe(true);
  const kinds = (await world.state.audit.tail('long', 100)).flatMap(({ record: { content } }) =>
    content.kind === 'action' ? [content.event.kind] : [],
  );
  expect(kinds).toEqual(expect.arrayContaining(['intentOpened', 'placing', 'accepted', 'intentEnded']));
});

test('flatten closes both sides of a hedged market', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await polls(world, 'hedged');
  const run = await world.cli(['flatten', '--account', 'hedged', ...BY, '--yes']);
  expectOk(run);
  const open = () => world.simulator.model.openPositions('hedged').length;
  // A fall fills the sell, a rise the buy.
  await drift(world.simulator, -0.001, () => open() < 2, 'the long side closed', world);
  await drift(world.simulator, 0.002, () => open() === 0, 'the short side closed', world);
  expect(open()).toBe(0);
});

test('under a pause, and in observe mode, an operator order sends nothing, and the command says so', async () => {
  const world = await openOperatorWorld({
    accounts: { long: { rules: ['far'] }, short: { rules: ['far'], more: '    mode: observe' } },
  });
  await world.start();
  await polls(world, 'long');
  await polls(world, 'short');
  await world.cli(['pause', '--account', 'long', ...BY]);
  const paused = await world.cli(['flatten', '--account', 'long', ...BY, '--yes', '--json']);
  expectEnd(paused, EXIT.held);
  expect(json(paused)['outcome']).toMatchObject({
    kind: 'held',
    why: expect.stringMatching(/^it is paused/),
  });
  expect(json(paused)['obstacles']).toEqual([
    expect.stringMatching(/^The account is paused \(ann \(this machine\): event risk\)/),
  ]);
  const observed = await world.cli(['flatten', '--account', 'short', ...BY, '--yes']);
  expectEnd(observed, EXIT.held);
  expect(observed.stdout).toMatch(/^Held: \w+\. A daemon has taken it; the account is in observe mode/);
  expect(observed.stderr).toMatch(/The account is in observe mode: the order is recorded/);
  for (const id of ['long', 'short']) {
    await eventually(async () => (await inbox(world, id)).length === 0, `${id} took it`);
    await polls(world, id, 5);
  }
  const sent = () =>
    world.simulator
      .requestLog()
      .filter(({ endpoint }) => !/position|credit|balance|ping|history|futures/i.test(endpoint));
  expect(sent()).toEqual([]);
  // When the pause is lifted, the order goes ahead.
  await world.cli(['resume', '--account', 'long', ...BY]);
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  // When paused again, the command says that the order is at the exchange.
  const ordersOf = async () =>
    (await stored(world.state, 'long')).account.lanes.get('BTC_PERP')?.orders ?? [];
  await eventually(async () => (await ordersOf()).some(({ status }) => status === 'open'), 'it is known');
  expect((await world.cli(['pause', '--account', 'long', ...BY])).stderr).toMatch(
    /Orders already at the exchange stay, and can fill: 1 /,
  );
  expect((await world.cli(['status', '--account', 'long'])).stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /paused by ann \(this machine\) .*; orders already at the exchange stay: 1 \(sell 0\.5 BTC_PERP/,
  );
  expect(ours(world.simulator, 'short')).toEqual([]);
});

test('an order withdrawn before it began never begins; one that has begun loses its stop', async () => {
  const world = await openAnsweringWorld();
  const flatten = ['flatten', '--account', 'long', ...BY, '--yes', '--json'];
  const first = json(await world.cli(flatten))['order'] as { id: string };
  const withdraw = (id: string) =>
    world.cli(['reduce', '--account', 'long', '--withdraw', id, ...BY, '--yes']);
  expect((await withdraw(first.id)).stdout).toMatch(
    /^To be withdrawn: .* no daemon runs that could take it\.\n$/,
  );
  await world.start();
  await polls(world, 'long', 5);
  expect(ours(world.simulator, 'long')).toEqual([]);
  const second = json(await world.cli(flatten))['order'] as { id: string };
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  expect((await withdraw(second.id)).stdout).toBe(`Withdrawn: ${second.id}.\n`);
  const cancelled = () => world.simulator.ledger({ accountId: 'long', kinds: ['order_cancelled'] });
  await eventually(
    () => cancelled().length > 0,
    'a cancel',
    () => troubles(world.events),
  );
  expect(sizeOf(world.simulator, 'long')).toBe(0.5);
});

test('`reduce --withdraw` fails for an unknown order, and for one that is over', async () => {
  const world = await openAnsweringWorld();
  const withdraw = (id: string) =>
    world.cli(['reduce', '--account', 'long', '--withdraw', id, ...BY, '--yes']);
  // No daemon runs that would know the order: the request is kept for one.
  const noted = await withdraw('nothere');
  expectEnd(noted, EXIT.held);
  expect(noted.stdout).toMatch(
    /^Noted: nothere cannot be seen here\. A daemon that has it withdraws it with the next poll .*no daemon runs/,
  );
  expect(await inbox(world, 'long')).toMatchObject([{ kind: 'withdraw', orderId: 'nothere' }]);
  await world.start();
  await polls(world, 'long');
  const before = await submitted(world, 'long');
  const never = await withdraw('abc');
  expect([never.exitCode, never.stdout]).toEqual([EXIT.failed, '']);
  expect(never.stderr).toMatch(/no such order is open: .* no order abc, .*No operator order is open there\./);
  const flatten = ['flatten', '--account', 'long', ...BY, '--yes', '--json'];
  const { id } = json(await world.cli(flatten))['order'] as { id: string };
  expect((await withdraw('abc')).stderr).toContain(`Open there: ${id}.`);
  expect((await withdraw(id)).stdout).toBe(`Withdrawn: ${id}.\n`);
  const over = await withdraw(id);
  expect([over.exitCode, over.stdout]).toEqual([EXIT.failed, '']);
  expect(over.stderr).toContain(
    'or it is over; there is nothing to withdraw. No operator order is open there.',
  );
  expect(await submitted(world, 'long')).toBe(before + 2);
});

test('`flatten` reports that the daemon takes no orders: no operators.key, and no password', async () => {
  const world = await openOperatorWorld();
  const withKey = await readFile(world.configFile, 'utf8');
  await world.write(withKey.replace(/^operators: .*$/m, ''));
  await world.start();
  await polls(world, 'long');
  // The one in force counts.
  await world.write(withKey);
  for (const args of [
    ['flatten', '--account', 'long', '--urgent'],
    ['reduce', '--account', 'long', '--withdraw', 'abc'],
  ]) {
    const run = await world.cli([...args, ...BY, '--yes']);
    expect([run.exitCode, run.stdout]).toEqual([EXIT.failed, '']);
    expect(run.stderr).toMatch(
      /not done: Redis asks for no password, and a daemon has no operators\.key: nothing was ordered\. .*exchange/,
    );
  }
  expect(await inbox(world, 'long')).toEqual([]);
  expect(ours(world.simulator, 'long')).toEqual([]);
});

test('without a daemon nothing is ordered, and an order of which nobody knows can be said again', async () => {
  const world = await openOperatorWorld({ web: '{ port: 0, controlToken: { env: CONTROL } }' });
  for (const args of [
    ['flatten', '--account', 'long'],
    ['reduce', '--account', 'long', '--position', '1', '--by', '50%'],
    ['reduce', '--account', 'long', '--withdraw', 'abc'],
  ]) {
    const run = await world.cli([...args, ...BY, '--yes']);
    expectEnd(run, EXIT.unreachable);
    expect(run.stderr).toMatch(/^breakwater: nothing was ordered: no daemon with this config runs/);
  }
  expect(await inbox(world, 'long')).toEqual([]);
  const daemon = await world.start({ env: { ...world.env, CONTROL } });
  await polls(world, 'long');
  // A proxy that loses one answer: to the order, then about what became of it.
  let losing: RegExp | undefined = /\/orders$/;
  const proxy = createServer((request, response) => {
    const { method = 'GET', url = '' } = request;
    void (async () => {
      const body = await text(request);
      const headers = { authorization: `Bearer ${CONTROL}`, 'content-type': 'application/json' };
      const answered = await fetch(`${daemon.webUrl()}${url}`, {
        method,
        headers,
        ...(method === 'GET' ? {} : { body }),
      });
      if (losing?.test(url) === true) {
        losing = undefined;
        request.socket.destroy();
        return;
      }
      response.writeHead(answered.status);
      response.end(await answered.text());
    })();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const { port } = proxy.address() as AddressInfo;
  const flatten = [
    'flatten',
    '--account',
    'long',
    ...BY,
    '--yes',
    '--key',
    'k1',
    '--url',
    `http://127.0.0.1:${port}`,
  ];
  const lost = await world.cli(flatten);
  expectEnd(lost, EXIT.unknownOutcome);
  expect(lost.stderr).toMatch(
    /does not answer any more\. Say it again with --key k1: it is not done twice\./,
  );
  expectOk(await world.cli(flatten));
  losing = /\/orders\/(?!preview)\w+$/;
  const silent = await world.cli(flatten);
  expectEnd(silent, EXIT.unknownOutcome);
  expect(silent.stdout).toMatch(/^Ordered: \w+; the daemon does not answer any more: nobody knows whether/);
  expect(await submitted(world, 'long')).toBe(1);
});
