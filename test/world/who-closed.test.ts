import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { otherClosings, pricedActions } from '../../src/core/costs/cost-report.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { PriceSpec } from '../../src/world/spec.ts';
import { alterReplies } from './altered-replies.ts';
import { longAccount } from './long-account.ts';

/** Who closed a position: judged by the exchange's ledger, against audit, report and notices. */

const configOf = (rules: string): string => `mode: enforce
exchange: { baseUrls: ["https://one.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, money: USDT }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [rule] }
rules:
  - id: rule
    on: position
    ${rules}
`;

const REDUCE = configOf(`when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { by: 50%, slippage: 0.1% } }]`);
const STOP = configOf(`when: { liquidationDistance: { below: 50% } }
    do: [{ protect: { at: 60%, slippage: 2% } }]`);

type Points = Extract<PriceSpec, { readonly points: unknown }>['points'];

function worldOf(config: string, amount: string, usdt: string, points: Points): World {
  const positions = [{ market: 'BTC_PERP', side: 'long', amount }] as const;
  return openWorld({
    seed: 5,
    durationMs: 400_000,
    exchange: { accounts: [longAccount(usdt, { positions })], depth: '5' },
    prices: [{ market: 'BTC_USDT', points }],
    daemons: [{ name: 'north', config }],
  });
}

async function trailOf(world: World) {
  const records = (await world.audit.tail('desk-1', 10_000)).map(({ record }) => record);
  const events = records.flatMap(({ content }): readonly AuditEvent[] =>
    content.kind === 'action' ? [content.event] : [],
  );
  const period = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  return {
    ours: pricedActions(records, period).map(({ cost }) => cost.amountBase),
    others: otherClosings(records, period).map(({ by, amountBase }) => [by, amountBase]),
    filled: events.filter(({ kind }) => kind === 'filled').length,
  };
}

const ledger = (world: World, kind: 'fill' | 'liquidation' | 'order_placed') =>
  world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1', limit: 1_000 });
const told = (world: World): string =>
  world
    .daemon('north')
    .notices.map(({ words }) => words)
    .join('\n');

test('the exchange liquidates 0.075 twice, and our orders passed for what closed it', async () => {
  const world = worldOf(REDUCE, '0.3', '2700', [
    [0, '60000'],
    [20_000, '54900'],
    [26_000, '52300'],
  ]);
  await world.run(60_000);
  expect(ledger(world, 'liquidation').map((entry) => 'amount' in entry && entry.amount)).toEqual([
    '0.075',
    '0.075',
  ]);
  expect(ledger(world, 'fill')).toEqual([]);
  expect(await trailOf(world)).toEqual({
    ours: [],
    others: [
      ['liquidated', '0.075'],
      ['liquidated', '0.075'],
    ],
    filled: 0,
  });
  expect(told(world)).toMatch(/0\.075 .*probably liquidated by the exchange/);
});

describe('a standing stop for everything', () => {
  test('fills through a jump of the price: nobody was told, and the report said "closed nothing"', async () => {
    const world = worldOf(STOP, '0.8', '7900', [
      [0, '60000'],
      [20_000, '57000'],
      [40_000, '54700'],
    ]);
    await world.run();
    expect(ledger(world, 'fill')).toHaveLength(1);
    expect(told(world)).toMatch(/our stop at 55\d\d\d(\.\d)? has probably closed/);
    expect((await trailOf(world)).others).toEqual([['nobodyKnown', '0.8']]);
  });

  test('stands while its owner closes a part: nothing is ours, and no closing is told', async () => {
    const world = worldOf(STOP, '0.8', '7900', [[0, '60000']]);
    world.schedule(30_000, () => {
      void world.apply({ kind: 'trade', account: 'desk-1', market: 'BTC_PERP', side: 'sell', amount: '0.3' });
    });
    await world.run();
    expect(await trailOf(world)).toMatchObject({ ours: [], filled: 0 });
    expect(told(world)).not.toMatch(/closed|liquidated/);
  });

  test('fills in a fall that reads show: it is ours, and told', async () => {
    const world = worldOf(STOP, '0.8', '7900', [
      [0, '60000'],
      [20_000, '55100'],
      [30_000, '54950'],
    ]);
    await world.run(200_000);
    expect(ledger(world, 'fill')).toHaveLength(1);
    expect(told(world)).toMatch(/our stop at 55/);
  });
});

describe('of two loans in one asset', () => {
  const LOANS = `mode: enforce
exchange: { baseUrls: ["https://one.example"] }
cadence: { calm: 2s, alert: 1s }
accounts:
  - id: desk-1
    apiKey: { env: KEY }
    apiSecret: { env: SECRET }
    rules: [ltv]
    watch: { creditLine: true }
rules:
  - id: ltv
    on: creditLine
    when: { ltvToMarginCall: { above: 90% } }
    do: [{ notify: {} }]
`;
  const loan = (createdAt: number, currentLtv: string) => ({
    asset: 'USDT',
    amount: '1000',
    totalFunding: '1',
    currentLtv,
    initialLtv: '60',
    marginCallLtv: '75',
    liquidationLtv: '85',
    createdAt,
  });
  const [OLDER, NEWER] = [1_760_000_000, 1_760_005_000];

  function loansWorld(reply: (elapsedMs: number, reads: number) => unknown): World {
    const world = worldOf(LOANS, '0.1', '20000', [[0, '60000']]);
    let reads = 0;
    alterReplies(world, {
      'credit-line/loans/info': () => {
        reads += 1;
        return reply(world.elapsedMs(), reads);
      },
    });
    return world;
  }

  const notices = (world: World, ruleId: string) =>
    world.daemon('north').notices.filter((notice) => notice.ruleId === ruleId);

  test('the exchange shows one at a time, by turns: "GONE, repaid or liquidated", and frozen in silence', async () => {
    const world = loansWorld((_ms, reads) => (reads % 2 === 1 ? loan(OLDER, '70') : loan(NEWER, '20')));
    await world.run(120_000);
    expect(notices(world, 'ltv').map(({ kind }) => kind)).toEqual(expect.arrayContaining(['firing']));
    expect(told(world)).not.toMatch(/GONE/);
    expect(notices(world, 'built-in/blind')).toMatchObject([
      { kind: 'firing', words: expect.stringMatching(/another credit line in USDT is not shown/) },
    ]);
  });

  test('one vanishes at a margin call: probably liquidated, with the figures of its last read', async () => {
    const world = loansWorld((ms) =>
      ms < 20_000 ? [loan(OLDER, '76')] : ms < 40_000 ? [loan(OLDER, '84.5')] : [],
    );
    await world.run();
    const gone = notices(world, 'ltv').filter(({ words }) => words.startsWith('GONE'));
    expect(gone).toHaveLength(1);
    expect(gone[0]?.words).toMatch(
      /1001 USDT.* in a margin call at 84\.5 % when last read: probably liquidated/,
    );
  });
});
