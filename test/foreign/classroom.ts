import { decimal } from '../../src/core/quantities/decimal.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { AccountSpec, WorldSpec } from '../../src/world/spec.ts';
import { isOurs } from '../support/own-orders.ts';
import { type Foreign, MOMENTS, type Moment, teach } from './teach.ts';

export const PATHS = {
  positions: 'collateral-account/positions/open',
  stopLimit: 'order/collateral/stop-limit',
  cancelAll: 'order/cancel/all',
  creditLine: 'credit-line/loans/info',
  mainBalance: 'main-account/balance',
  transfers: 'main-account/history',
  spotOrders: 'trade-account/order/history',
} as const;
export type PathName = keyof typeof PATHS;

const BREACH_MS = 8_000;
/** A reduction is done by then. */
const JUDGED_MS = 50_000;
/** Whoever is blind says so by then. */
const TOLD_MS = 150_000;
const SIZE = 0.5;
const STEP = 0.001;

/** An account in trouble, the rule for it, and where the position should end. */
interface Situation {
  readonly rules: string;
  readonly exchange?: string;
  readonly readings?: Readonly<Record<string, unknown>>;
  readonly account?: Partial<AccountSpec>;
  readonly to: string;
  /** Most that may be left at the end, and least. */
  readonly left: readonly [most: number, least: number];
  /** Without these fields of a reply the rule cannot act. */
  readonly needs: Partial<Record<PathName, readonly string[]>>;
}

const RECORD = ['positionId', 'market', 'amount', 'positionSide'];
const DISTANCE = [...RECORD, 'basePrice', 'unrealizedPnl', 'liquidationPrice'];
const reduce = (when: string, how: string): string =>
  `  - { id: near, on: position, when: ${when}, do: [{ reduce: { ${how}, slippage: 1% } }], severity: critical }`;
const NEAR = '{ liquidationDistance: { below: 5%, clearAbove: 8% } }';
const LOAN = { asset: 'USDT', amount: '10000', collateralAsset: 'BTC', collateralAmount: '0.25' };

export const SITUATIONS = {
  halve: { rules: reduce(NEAR, 'by: 50%'), to: '55200', left: [0.25, 0.25], needs: { positions: DISTANCE } },
  live: {
    rules: reduce(NEAR, 'by: 50%'),
    exchange: ', dialect: camel, nonce: window',
    readings: { profile: 'live' },
    to: '55200',
    left: [0.25, 0.25],
    needs: { positions: DISTANCE },
  },
  called: {
    rules: reduce('{ liquidationState: { in: [margin_call, liquidation, unrecognised] } }', 'by: 50%'),
    to: '52700',
    left: [0.25, 0.25],
    needs: { positions: [...RECORD, 'liquidationState'] },
  },
  short: {
    rules: reduce(NEAR, 'by: 50%'),
    account: { positions: [{ market: 'BTC_PERP', side: 'short', amount: '0.500' }] },
    to: '64600',
    left: [0.25, 0.25],
    needs: { positions: DISTANCE },
  },
  cancels: {
    rules: reduce(NEAR, 'untilDistance: 10%').replace(
      ', severity',
      ', escalate: [{ after: 5s, do: [{ cancelAll: { types: [futures], scope: market } }, { reduce: { by: 50%, slippage: 2% } }] }], severity',
    ),
    to: '55200',
    left: [0.25, 0.14],
    needs: { positions: DISTANCE },
  },
  borrowed: {
    rules:
      '  - { id: ltv, on: creditLine, when: { currentLtv: { above: 71% } }, do: [{ reduce: { by: 50%, positions: "*", slippage: 1% } }], severity: critical }',
    account: { collateral: { USDT: '15000' }, loans: [LOAN] },
    to: '54000',
    left: [0.25, 0.25],
    needs: {
      positions: DISTANCE,
      creditLine: ['asset', 'amount', 'currentLtv', 'liquidationLtv', 'createdAt'],
    },
  },
  poor: {
    rules:
      '  - { id: poor, on: account, when: { mainBalance: { asset: USDT, below: 1000 } }, do: [{ reduce: { by: 50%, positions: "*", slippage: 1% } }], severity: critical }\n' +
      '  - { id: fled, on: account, when: { withdrawalCount: { within: 1h, above: 5 } }, do: [{ notify: {} }] }\n' +
      '  - { id: bot, on: account, when: { spotOrderCount: { within: 1h, above: 5 } }, do: [{ notify: {} }] }',
    account: { collateral: { USDT: '15000' }, main: { USDT: '1500' } },
    to: '59000',
    left: [0.25, 0.25],
    needs: { positions: DISTANCE, mainBalance: ['USDT', 'main_balance'] },
  },
} as const satisfies Readonly<Record<string, Situation>>;
export type SituationName = keyof typeof SITUATIONS;

const ruleIds = (rules: string): string => [...rules.matchAll(/id: (\w+)/g)].map(([, id]) => id).join(', ');

function specOf({ rules, exchange = '', readings = {}, account = {}, to }: Situation): WorldSpec {
  return {
    seed: 5,
    durationMs: TOLD_MS,
    exchange: {
      accounts: [
        {
          id: 'desk-1',
          collateral: { USDT: '4500' },
          main: { USDT: '1000' },
          spot: { USDT: '500' },
          positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
          ...account,
        },
      ],
      depth: '5',
      readings,
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [BREACH_MS, '60000'],
          [BREACH_MS + 100, to],
          [BREACH_MS + 15_000, to],
          [BREACH_MS + 20_000, String(Number(to) + (Number(to) > 60_000 ? 300 : -300))],
        ],
        tickMs: 250,
      },
    ],
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"]${exchange} }
cadence: { calm: 3s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "${STEP}", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - id: desk-1
    apiKey: { env: KEY }
    apiSecret: { env: SECRET }
    rules: [${ruleIds(rules)}]
    watch: { positions: true, creditLine: ${rules.includes('creditLine')}, mainBalance: [USDT], transfers: true, spotOrders: true }
rules:
${rules}
`,
      },
    ],
  };
}

export interface Case {
  readonly situation: SituationName;
  readonly path: PathName;
  readonly name: string;
  readonly foreign: Foreign;
  readonly moment: Moment;
}

export interface Played {
  readonly replies: number;
  readonly orders: number;
  readonly left: number;
  readonly notices: number;
  /** Empty: nothing that must not happen. */
  readonly faults: readonly string[];
}

/** A dozen sets (`acting.mostSets`), one that is forgotten, and one for each mark: two true ones and a false one. */
const MOST_ORDERS_A_MINUTE = 12 + 1 + 3;
/** Fields that say something false about the size or side when they are changed: nobody can tell. */
const IS_LIE = new Set(['zero', 'other sign', 'huge', 'no decimals']);
/** What prices an order: false, not just unknown, it places the order elsewhere. */
const PRICES = new Set(['basePrice', 'unrealizedPnl']);

/** Replies that are not what the exchange meant, and by the documentation have this meaning: nothing is to be told. */
const DOCUMENTED: readonly (readonly [cases: RegExp, meaning: string])[] = [
  [/^positions amount: (null|empty) always$/, 'an order is about to open it, as no read has shown a size'],
  [/^positions liquidationPrice: (null|empty) /, 'there is none'],
  [/^positions liquidationState: (null|empty) /, 'there is none'],
  [/^creditLine (200 null|400 0 No active loan)/, 'there is no loan'],
  [
    /^mainBalance USDT: (absent|other spelling|other name) /,
    'zero, as no asset has the name; believed after three minutes',
  ],
];

/** Plays a case with the real daemon in virtual time, and judges it by the exchange's ledger. */
export async function play({ situation, path, name, foreign, moment }: Case): Promise<Played> {
  const scene: Situation = SITUATIONS[situation];
  const world = openWorld(specOf(scene));
  const taught = teach(world, PATHS[path], foreign, (elapsedMs, reply) =>
    MOMENTS[moment](reply, elapsedMs >= BREACH_MS),
  );
  fillHistories(world);
  await world.run(JUDGED_MS);
  const [most, least] = scene.left;
  // A target is rounded up to the step.
  const isDone = (): boolean => sizeLeft(world) < most + STEP + 1e-9;
  if (!isDone() && world.daemon('north').notices.length === 0) await world.run(TOLD_MS);
  const { notices } = world.daemon('north');
  const placed = world.exchange.model.ledger({ kinds: ['order_placed'], accountId: 'desk-1' });
  const ours = placed.filter((entry) => isOurs(entry) || entry.details?.['reduceOnly'] === true);
  const left = sizeLeft(world);
  const needed = scene.needs[path] ?? [];
  const isWhole = foreign.kind !== 'field';
  const isFalse = foreign.kind === 'field' && IS_LIE.has(foreign.mutation.how);
  const isNeeded = isWhole || needed.includes(foreign.field) || (isFalse && PRICES.has(foreign.field));
  const isLie = isFalse && isNeeded;
  const isDocumented = DOCUMENTED.some(([cases]) => cases.test(`${path} ${name} ${moment}`));
  const faults: string[] = world.errors.map((error) => `error: ${String(error)}`);
  if (!isDone() && notices.length === 0 && !isDocumented) faults.push('blind in silence');
  else if (!isDone() && !isNeeded) faults.push('not reduced, although the rule does not need the field');
  const minutes = Map.groupBy(ours, ({ atMs }) => Math.floor((atMs - world.startMs) / 60_000));
  for (const orders of minutes.values())
    if (orders.length > MOST_ORDERS_A_MINUTE) faults.push(`${orders.length} orders in a minute`);
  const closed = SIZE - left - liquidated(world);
  const largest = Math.max(0, ...ours.map(({ amount }) => Number(amount)));
  if (!isLie && closed > SIZE - least + largest + 1e-9)
    faults.push(`closed more than one order beyond the target: ${left.toFixed(3)} left`);
  return { replies: taught.count, orders: ours.length, left, notices: notices.length, faults };
}

/** A deposit and a spot order for the histories; money leaves the main balance with the breach. */
function fillHistories(world: World): void {
  const { exchange } = world;
  const money = { ticker: 'USDT', amount: decimal('100') };
  exchange.change((model) => model.deposit('desk-1', money));
  const order = { market: 'BTC_USDT', side: 'buy', amount: decimal('0.001') } as const;
  exchange.change((model) => model.placeSpotOrder('desk-1', order));
  world.schedule(BREACH_MS, () => {
    exchange.change((model) => model.withdraw('desk-1', { ...money, amount: decimal('800') }));
  });
}

const sizeLeft = (world: World): number =>
  Number(world.exchange.model.openPositions('desk-1')[0]?.amount.abs().toFixed(3) ?? 0);

const liquidated = (world: World): number =>
  world.exchange.model
    .ledger({ kinds: ['liquidation'], accountId: 'desk-1' })
    .reduce((sum, { amount }) => sum + Number(amount), 0);
