import { afterEach, describe, expect, test } from 'vitest';
import { StoreLostError } from '../../src/core/ports/state-store.ts';
import type { AccountView, IntentLine } from '../../src/core/view/account-view.ts';
import { account, CALM, text } from '../support/account-view.ts';
import { type Asking, accountView, ask, CONTROL_TOKEN, type Fixture, startFixture } from './fixture.ts';

/** Operator orders through the API: previewed, made once, withdrawn; and their refusals. */

const open: Fixture[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((fixture) => fixture.close()));
});

function watched(changed: Partial<AccountView> = {}): AccountView {
  const { positions } = account('desk-1');
  return accountView('desk-1', { judgedAtMs: Date.now(), positions, ...changed });
}

async function start(...options: Parameters<typeof startFixture>): Promise<Fixture> {
  const fixture = await startFixture({ accounts: [watched()], ...options[0] });
  open.push(fixture);
  return fixture;
}

const HALF = {
  kind: 'reduce',
  positionId: '1',
  target: { kind: 'by', fraction: 0.5 },
  slippageSteps: [0.01, 0.03],
} as const;
const INTENT: IntentLine = {
  key: '1',
  market: 'BTC_PERP',
  positionId: '1',
  ruleId: 'operator:begun',
  mode: 'enforce',
  target: 'reduce to 0',
  targetBase: text('0'),
  openedMs: 1,
  deadlineMs: 2,
  failures: 0,
  state: 'open',
  ended: false,
};
const BY = { author: 'ann', reason: 'event risk', key: 'weekend-42' };
const PATH = '/api/v1/accounts/desk-1/orders';

const post = (body: unknown, more: Asking = {}): Asking => ({
  method: 'POST',
  token: CONTROL_TOKEN,
  body,
  ...more,
});

async function takeBack({ server }: Fixture, id: string) {
  const by = { author: 'bob', reason: 'changed my mind' };
  return await ask(server, `${PATH}/${id}`, post(by, { method: 'DELETE' }));
}

async function inbox({ state }: Fixture) {
  const { load } = await state.store.read('desk-1');
  return load.kind === 'loaded' ? (load.account.documents.inbox?.orders ?? []) : [];
}

describe('an operator order', () => {
  test('is previewed in the words of the command line, and the preview orders nothing', async () => {
    const fixture = await start({
      sources: {
        orders: {
          expected: () => ({ kind: 'unsure', why: 'it is older' }),
          gapOf: () => 0.002,
          moneyOf: () => 'USDT',
          maxSlippage: 0.05,
        },
      },
    });
    const answer = await ask(fixture.server, `${PATH}/preview`, post({ order: HALF }));
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      plan: [
        { label: 'account', text: 'desk-1' },
        { label: 'order', text: 'reduce by 50 % of its size' },
        {
          label: 'position',
          text: expect.stringMatching(/^1 BTC_PERP: long 1\.500, mark 29500\.5, 15\.25 % from liquidation/),
        },
        {
          label: 'will send',
          text: 'BTC_PERP: a reduce-only sell stop at about 29441.5; it closes only when the price falls 0.2 % from 29500.5',
        },
        { label: 'slippage', text: '1 %, then 3 %' },
      ],
      closesWhen: expect.stringContaining('To be flat now use the exchange.'),
      obstacles: [expect.stringMatching(/^One of several daemons would refuse it: it is older\.$/)],
    });
    expect(await inbox(fixture)).toEqual([]);
  });

  test('that closes in either direction says so, and exists for full closes only', async () => {
    const fixture = await start();
    const order = { kind: 'flatten', urgent: true };
    const shown = await ask(fixture.server, `${PATH}/preview`, post({ order }));
    expect(shown.json).toMatchObject({
      plan: expect.arrayContaining([
        { label: 'will send', text: expect.stringContaining('it closes when the price moves 0.1 %') },
      ]),
      closesWhen: expect.stringContaining('stands still nothing closes'),
    });
    const made = await ask(fixture.server, PATH, post({ order, ...BY }));
    expect([made.status, await inbox(fixture)]).toMatchObject([201, [{ flatten: true, urgent: true }]]);
    const partly = await ask(
      fixture.server,
      PATH,
      post({ order: { ...HALF, urgent: true }, ...BY, key: 'other-key' }),
    );
    expect(partly.status).toBe(400);
  });

  test('is made once, however often it is sent, and audited with author and address', async () => {
    const fixture = await start();
    const body = { order: HALF, ...BY, withinMs: 60_000 };
    const answers = await Promise.all([1, 2, 3].map(() => ask(fixture.server, PATH, post(body))));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const [order, ...more] = await inbox(fixture);
    expect(more).toEqual([]);
    expect(order).toMatchObject({
      kind: 'reduce',
      positionId: '1',
      target: { kind: 'by', fraction: 0.5 },
      slippageSteps: [0.01, 0.03],
      flatten: false,
      author: 'ann (control token, 127.0.0.1)',
      reason: 'event risk',
    });
    expect((order?.expiresAtMs ?? 0) - (order?.atMs ?? 0)).toBeLessThanOrEqual(60_000);
    for (const { json } of answers) expect(json).toMatchObject({ order: { id: order?.id } });
    const trail = await fixture.state.audit.tail('desk-1', 10);
    expect(trail.map(({ record: { content } }) => content.kind)).toEqual(['epochStarted', 'operatorOrder']);
    const other = { ...body, order: { ...HALF, target: { kind: 'to', fraction: 0 } } };
    const refused = await ask(fixture.server, PATH, post(other));
    expect([refused.status, refused.body]).toEqual([409, expect.stringContaining('take a new one')]);
  });

  test('beyond operators.maxSlippage is refused at once', async () => {
    const fixture = await start();
    const order = { ...HALF, slippageSteps: [0.01, 0.5] };
    for (const [path, more] of [
      [`${PATH}/preview`, {}],
      [PATH, BY],
    ] as const) {
      const answer = await ask(fixture.server, path, post({ order, ...more }));
      expect([answer.status, answer.json]).toEqual([
        400,
        {
          error: {
            code: 'badRequest',
            message: expect.stringContaining('beyond operators.maxSlippage (5 %)'),
          },
        },
      ]);
    }
    expect(await inbox(fixture)).toEqual([]);
  });

  test('closes every position if it flattens, and is withdrawn by its id', async () => {
    const fixture = await start();
    const made = await ask(fixture.server, PATH, post({ order: { kind: 'flatten' }, ...BY }));
    expect(made.json).toMatchObject({
      order: {
        kind: 'reduce',
        markets: ['*'],
        target: { kind: 'to', fraction: 0 },
        flatten: true,
        slippageSteps: [0.005, 0.01, 0.02],
      },
      plan: [{}, { label: 'order', text: 'close every open position in every market' }, {}, {}, {}],
    });
    const { id } = (made.json as { order: { id: string } }).order;
    fixture.set(watched({ inbox: await inbox(fixture) }));
    const back = await takeBack(fixture, id);
    expect([back.status, back.json]).toMatchObject([200, { isSeen: true }]);
    expect(await inbox(fixture)).toMatchObject([
      { id },
      { kind: 'withdraw', orderId: id, author: 'bob (control token, 127.0.0.1)' },
    ]);
  });

  test('that never was, or is over, was answered as if it were taken back', async () => {
    const fixture = await start();
    const never = await takeBack(fixture, 'abc');
    expect([never.status, never.json]).toEqual([
      404,
      {
        error: { code: 'notFound', message: expect.stringMatching(/no such order is open: .* no order abc/) },
      },
    ]);
    expect(never.body).toContain('there is nothing to withdraw. No operator order is open there.');
    expect(await inbox(fixture)).toEqual([]);
    // One that has begun, and one that is over.
    const over = { ...INTENT, ruleId: 'operator:over', ended: true };
    fixture.set(watched({ intents: [INTENT, over] }));
    expect((await takeBack(fixture, 'over')).body).toContain('Open there: begun.');
    expect(await inbox(fixture)).toEqual([]);
    expect((await takeBack(fixture, 'begun')).json).toMatchObject({ isSeen: true });
    expect(await inbox(fixture)).toMatchObject([{ kind: 'withdraw', orderId: 'begun' }]);
  });

  test.each([
    ['has not been polled for a minute', { judgedAtMs: Date.now() - 60_000 }],
    ['was read before the store was lost', { state: { ...CALM, cause: 'storeLost' } }],
  ] as const)('may be open where the account %s: taking it back is noted', async (_why, changed) => {
    const fixture = await start();
    fixture.set(watched(changed));
    const back = await takeBack(fixture, 'abc');
    expect([back.status, back.json]).toMatchObject([200, { isSeen: false }]);
    expect(await inbox(fixture)).toMatchObject([{ kind: 'withdraw', orderId: 'abc' }]);
  });

  test.each([
    [
      'a position that is not there',
      { order: { ...HALF, positionId: '99' } },
      404,
      'Its positions: 1 (BTC_PERP)',
    ],
    ['more than all', { order: { ...HALF, target: { kind: 'by', fraction: 1.5 } } }, 400, 'fraction'],
    ['nothing', { order: { ...HALF, target: { kind: 'by', fraction: 0 } } }, 400, 'fraction'],
    [
      'a worth of nothing',
      { order: { ...HALF, target: { kind: 'toNotional', notional: '0' } } },
      400,
      'notional',
    ],
    [
      'a target for whole accounts',
      { order: { ...HALF, target: { kind: 'untilJointDistance', distance: 0.1 } } },
      400,
      'kind',
    ],
    ['slippage beyond a half', { order: { ...HALF, slippageSteps: [0.6] } }, 400, 'slippageSteps'],
    ['no reason', { order: HALF, reason: ' ' }, 400, 'reason'],
    ['no author', { order: HALF, author: undefined }, 400, 'say who you are'],
    ['no key', { order: HALF, key: undefined }, 400, 'key'],
    ['what is unknown', { order: { ...HALF, urgent: 'maybe' } }, 400, 'urgent'],
  ])('is refused for %s', async (_why, changed, status, words) => {
    const fixture = await start();
    const answer = await ask(fixture.server, PATH, post({ ...BY, ...changed }));
    expect([answer.status, answer.body]).toEqual([status, expect.stringContaining(words)]);
    expect(await inbox(fixture)).toEqual([]);
  });

  test('has an unknown result while the store is lost, and may be sent again', async () => {
    const fixture = await start();
    const lost = async () => {
      throw new StoreLostError('Redis is lost', undefined);
    };
    Object.assign(fixture.state.controls, { submit: lost });
    const answer = await ask(fixture.server, PATH, post({ order: HALF, ...BY }));
    expect([answer.status, answer.body]).toEqual([503, expect.stringContaining('Repeating it is harmless')]);
  });
});

describe('the price of protection', () => {
  test('is summed up by currency, using the newest record of each order', async () => {
    const fixture = await start();
    const { load } = await fixture.state.store.read('desk-1');
    if (load.kind === 'refused') throw new Error(load.problem.message);
    const filledMs = Date.now() - 3_600_000;
    const cost = {
      id: 'one',
      clientOrderId: 'one',
      role: 'reduce',
      direction: 'long',
      amountBase: text('0.5'),
      money: 'USDT',
      filledMs,
      decidedPrice: text('60000'),
      limitPrice: text('59400'),
      fill: { price: text('59900'), from: 'realizedPnl' },
      fee: { from: 'config', rate: 0.001 },
      liquidationPrice: text('58000'),
    } as const;
    const old = { ...cost, id: 'old', filledMs: filledMs - 40 * 86_400_000 };
    const audit = [old, { ...cost, fee: null }, cost].map((one) => ({
      kind: 'action' as const,
      event: {
        kind: 'priced' as const,
        atMs: one.filledMs,
        accountId: 'desk-1',
        market: 'BTC_PERP',
        ruleId: 'near',
        reason: 'filled',
        words: 'closed',
        alarm: false,
        cost: one,
      },
    }));
    await fixture.state.store.commit([{ base: load.account, audit }]);
    const { json } = await ask(fixture.server, '/api/v1/accounts/desk-1/costs');
    expect(json).toMatchObject({
      isComplete: true,
      totals: [
        {
          money: 'USDT',
          orders: 1,
          slippage: { known: 50, unknown: 0 },
          fees: { known: 29.95, unknown: 0 },
        },
      ],
    });
  });
});

describe('a one-line row per account', () => {
  test('has the fields to sort, group and find it', async () => {
    const { server } = await start({
      accounts: [
        account('calm'),
        account('blind', { state: { ...CALM, kind: 'blind', severity: 'critical' } }),
      ],
    });
    const { json } = await ask(server, '/api/v1/rows');
    const rows = (json as { rows: readonly { accountId: string; rank: number }[] }).rows;
    expect(rows).toMatchObject([
      {
        accountId: 'calm',
        nearest: 0.12,
        atRisk: [{ money: 'PERP', worth: 44_300 }],
        holds: ['BTC_PERP'],
        firing: [],
      },
      { accountId: 'blind' },
    ]);
    expect((rows[1]?.rank ?? 0) < (rows[0]?.rank ?? 0)).toBe(true);
  });
});
