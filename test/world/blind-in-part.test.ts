import { describe, expect, test } from 'vitest';
import { readinessOf } from '../../src/app/web/readiness.ts';
import { JudgedClocks, readSharedView } from '../../src/app/web/shared-view.ts';
import { NO_CONTROLS } from '../../src/core/controls/controls.ts';
import { viewAccount } from '../../src/core/view/view-account.ts';
import type { WatchedAccount } from '../../src/pipeline/pipeline-context.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { AccountSpec } from '../../src/world/spec.ts';
import { type Alter, alterReplies } from './altered-replies.ts';
import { longAccount } from './long-account.ts';

/**
 * Reads succeed, and something that a rule needs is not in them: people, /readyz and the status must say so. The
 * heartbeat pings what /readyz answers.
 */

const BLIND_MS = 30_000;
const SEEN_MS = 150_000;

const CONFIG = `mode: enforce
exchange: { baseUrls: ["https://one.example"] }
cadence: { calm: 5s, alert: 1s }
markets:
  "*_PERP": { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3%, money: USDT }
accounts:
  - id: desk-1
    apiKey: { env: KEY }
    apiSecret: { env: SECRET }
    rules: [near, called, ltv]
    watch: { positions: true, creditLine: true }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
  - id: called
    on: position
    when: { liquidationState: { in: [margin_call, liquidation, unrecognised] } }
    do: [{ notify: {} }]
  - id: ltv
    on: creditLine
    when: { ltvToMarginCall: { above: 90% } }
    do: [{ notify: {} }]
`;

const POSITIONS = 'collateral-account/positions/open';
const LOAN = 'credit-line/loans/info';

const loan = {
  asset: 'USDT',
  amount: '1000',
  totalFunding: '1',
  currentLtv: '25',
  initialLtv: '60',
  marginCallLtv: '75',
  liquidationLtv: '85',
  createdAt: 1_760_000_000,
};

type Change = (body: unknown) => unknown;

/** The reply of one endpoint is another between `BLIND_MS` and `SEEN_MS`. */
function worldOf(path: string, change: Change, changes: Partial<AccountSpec> = {}): World {
  const world = openWorld({
    seed: 5,
    durationMs: SEEN_MS + 60_000,
    exchange: { accounts: [longAccount('4500', changes)], prices: { ETH_PERP: '3000' } },
    daemons: [{ name: 'north', config: CONFIG }],
  });
  const isBlind = () => world.elapsedMs() >= BLIND_MS && world.elapsedMs() < SEEN_MS;
  const alters: Record<string, Alter> = { [LOAN]: () => loan };
  const before = alters[path] ?? ((body) => body);
  alters[path] = (body, request) => (isBlind() ? change(before(body, request)) : before(body, request));
  alterReplies(world, alters);
  return world;
}

const shared = async (world: World) => await readSharedView(world.store, ['desk-1']);

async function readyz(world: World) {
  const [account] = world.daemon('north').config.accounts;
  const watched = {
    id: 'desk-1',
    sources: account?.watch.sources,
    leastIntervalMs: 0,
    rules: { settings: account?.settings },
  } as unknown as WatchedAccount;
  const nowMs = world.startMs + world.elapsedMs();
  const { ready, checks } = await readinessOf({
    ping: async () => 'PONG',
    isAlone: () => false,
    watchesOnly: () => undefined,
    view: async () => await shared(world),
    accounts: () => [watched],
    clocks: new JudgedClocks({ nowMs: () => nowMs, monotonicMs: () => nowMs, sleep: async () => undefined }),
  });
  return { ready, why: checks.filter(({ ok }) => !ok).map(({ why }) => why) };
}

async function status(world: World): Promise<string> {
  const [account] = await shared(world);
  if (account === undefined) return '';
  const nowMs = world.startMs + world.elapsedMs();
  return viewAccount({ load: account.load, controls: NO_CONTROLS, nowMs }).state.words;
}

const blindNotices = (world: World) =>
  world.daemon('north').notices.filter(({ ruleId }) => ruleId === 'built-in/blind');

const eachGets =
  (fields: object): Change =>
  (body) =>
    (body as object[]).map((record) => Object.assign(record, fields));
const each = (name: string, value: unknown): Change => eachGets({ [name]: value });
const only =
  (name: string, value: unknown): Change =>
  (body) => ({ ...(body as object), [name]: value });

describe('reads succeed, and one figure is missing', () => {
  test.each<[what: string, figure: RegExp, path: string, change: Change]>([
    ['unrealizedPnl is not sent', /BTC_PERP.*unrealizedPnl/, POSITIONS, each('unrealizedPnl', undefined)],
    ['unrealizedPnl is null', /BTC_PERP.*unrealizedPnl/, POSITIONS, each('unrealizedPnl', null)],
    [
      'liquidationPrice is not sent',
      /BTC_PERP.*liquidationPrice/,
      POSITIONS,
      each('liquidationPrice', undefined),
    ],
    ['liquidationPrice is a word', /BTC_PERP.*liquidationPrice/, POSITIONS, each('liquidationPrice', 'n/a')],
    [
      'liquidationState is not sent',
      /BTC_PERP.*liquidationState/,
      POSITIONS,
      each('liquidationState', undefined),
    ],
    [
      'the liquidation price is passed, and nothing hedges it',
      /BTC_PERP.*is passed/,
      POSITIONS,
      eachGets({ positionSide: 'LONG', liquidationPrice: '61000' }),
    ],
    [
      'it is passed, and the other position may be on either side',
      /BTC_PERP.*is passed/,
      POSITIONS,
      (body) => {
        const [first] = body as Record<string, unknown>[];
        const odd = { ...first, positionSide: 'LONG', liquidationPrice: '61000' };
        return [odd, { ...odd, positionId: '77', amount: '-0.2' }];
      },
    ],
    ['the amount cannot be read', /1 of positions.*amount/, POSITIONS, each('amount', 'half')],
    [
      'all figures of a known position are null',
      /BTC_PERP/,
      POSITIONS,
      eachGets({
        amount: null,
        basePrice: null,
        liquidationPrice: null,
        pnl: null,
      }),
    ],
    ['the LTV is null', /USDT.*currentLtv/, LOAN, only('currentLtv', null)],
    ['the LTV is not sent', /USDT.*currentLtv/, LOAN, only('currentLtv', undefined)],
    ['one LTV has a percent sign', /USDT.*marginCallLtv/, LOAN, only('currentLtv', '25%')],
    ['the unit of the LTV is unclear', /USDT.*fraction or a percentage/, LOAN, only('liquidationLtv', '9.9')],
    ['the time of the loan is a text', /1 of credit lines.*createdAt/, LOAN, only('createdAt', 'yesterday')],
  ])(
    '%s: people are told, /readyz and status are red while it lasts',
    async (_what, figure, path, change) => {
      const world = worldOf(path, change);
      await world.run(BLIND_MS);
      expect(await readyz(world)).toMatchObject({ ready: true, why: [] });
      await world.run(BLIND_MS + 60_000);
      const [told, ...more] = blindNotices(world);
      expect(more).toEqual([]);
      expect(told).toMatchObject({ kind: 'firing', severity: 'critical' });
      expect(told?.words).toMatch(figure);
      expect((await readyz(world)).why.join()).toMatch(figure);
      expect(await status(world)).toMatch(/^blind: /);
      expect(await status(world)).toMatch(figure);
      await world.run(SEEN_MS + 20_000);
      expect(blindNotices(world).map(({ kind }) => kind)).toEqual(['firing', 'resolved']);
      expect(await readyz(world)).toMatchObject({ ready: true, why: [] });
      expect(await status(world)).not.toMatch(/blind/);
    },
  );
});

describe('nothing is missing', () => {
  test.each<[what: string, change: Change, changes?: Partial<AccountSpec>]>([
    ['a position without a liquidation price', each('liquidationPrice', null)],
    [
      'one side of a hedged market that has passed its liquidation price',
      (body) => {
        const [first] = body as Record<string, unknown>[];
        const long = { ...first, positionSide: 'LONG' };
        return [
          long,
          { ...long, positionId: '77', positionSide: 'SHORT', amount: '0.2', unrealizedPnl: '0' },
        ];
      },
    ],
    [
      'a position that an order is about to open',
      (body) => [
        ...(body as object[]),
        {
          ...(body as object[])[0],
          positionId: '78',
          market: 'ETH_PERP',
          amount: null,
          basePrice: null,
          liquidationPrice: null,
          pnl: null,
        },
      ],
    ],
    [
      'a closed position that is still listed',
      (body) => [
        ...(body as object[]),
        {
          ...(body as object[])[0],
          positionId: '79',
          market: 'ETH_PERP',
          amount: '0',
          basePrice: '0',
          liquidationPrice: '0',
          unrealizedPnl: '0',
        },
      ],
    ],
  ])('%s is no blindness', async (_what, change, changes) => {
    const world = worldOf(POSITIONS, change, changes);
    await world.run(SEEN_MS - 1_000);
    expect(blindNotices(world)).toEqual([]);
    expect(await readyz(world)).toMatchObject({ ready: true, why: [] });
    expect(await status(world)).not.toMatch(/blind/);
  });
});
