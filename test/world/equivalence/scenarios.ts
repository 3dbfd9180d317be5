import type { AccountSpec } from '../../../src/world/spec.ts';
import { type Group, type RuleText, type Scenario, slope, steps } from './scenario.ts';

/**
 * Where the outcome depends on a read, prices jump and then stay for seconds, so that it does not depend on the time of
 * the read; on slopes only shares of the size are requested. A long of 30 at 1,000 with this collateral is liquidated
 * at 917.5 and nearer than 5 % from 965.8 down; a short of 30 at 1,077.7, from 1,026.3 up.
 */
const LONG: Omit<AccountSpec, 'id'> = {
  collateral: { USDT: '3300' },
  positions: [{ market: '@A', side: 'long', amount: '30' }],
};
const SHORT: Omit<AccountSpec, 'id'> = {
  collateral: { USDT: '3300' },
  positions: [{ market: '@A', side: 'short', amount: '30' }],
};
const HEDGED: Omit<AccountSpec, 'id'> = {
  collateral: { USDT: '3300' },
  hedgeMode: true,
  positions: [
    { market: '@A', side: 'long', amount: '30' },
    { market: '@A', side: 'short', amount: '12' },
  ],
};
const TWO_MARKETS: Omit<AccountSpec, 'id'> = {
  collateral: { USDT: '3300' },
  positions: [
    { market: '@A', side: 'long', amount: '20' },
    { market: '@B', side: 'long', amount: '10' },
  ],
};

/**
 * Nearer than 5 %, and then further, which activates the stop and fills it. After such a jump a market counts as fast:
 * a daemon that needs half a second on a busy machine still has its activation before the second step.
 */
const DOWN = steps([2_000, 960], [8_000, 949], [14_000, 948]);
const UP = steps([2_000, 1_035], [8_000, 1_046], [14_000, 1_047]);
/** Leaves time for a second attempt before the next step. */
const DOWN_LATER = steps([2_000, 960], [12_000, 949], [18_000, 948]);
const UP_LATER = steps([2_000, 1_035], [12_000, 1_046], [18_000, 1_047]);
const NEAR = { liquidationDistance: { below: '5%', clearAbove: '5.5%' } };

function near(action: unknown, more: Readonly<Record<string, unknown>> = {}): RuleText {
  return { id: 'near', on: 'position', when: NEAR, keepFiringFor: '60s', do: [action], ...more };
}

const half = { reduce: { by: '50%', slippage: '2%' } };

const REDUCTIONS: readonly Scenario[] = [
  {
    id: 'BY',
    about: 'a long is halved',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN },
    rules: [near(half)],
  },
  {
    id: 'TO',
    about: 'a short is bought back to a fifth',
    leadsTo: 'orders',
    account: SHORT,
    paths: { A: UP },
    rules: [near({ reduce: { to: '20%', slippage: '2%' } })],
  },
  {
    id: 'NOTIONAL',
    about: 'a long is brought down to a value',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN },
    rules: [near({ reduce: { toNotional: 10_000, slippage: '2%' } })],
  },
  {
    id: 'DISTANCE',
    about: 'a long is reduced until it is far enough',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 949], [16_000, 936]) },
    rules: [near({ reduce: { untilDistance: '9%', slippage: '2%' } })],
  },
];

const ON_SLOPES: readonly Scenario[] = [
  {
    id: 'FALL',
    about: 'a long is halved while the price goes on falling',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: slope([18_000, 928], [20_000, 928]) },
    rules: [near(half)],
  },
  {
    id: 'RISE',
    about: 'a short is brought to 40 % while the price goes on rising',
    leadsTo: 'orders',
    account: SHORT,
    paths: { A: slope([18_000, 1_060], [20_000, 1_060]) },
    rules: [near({ reduce: { to: '40%', slippage: '2%' } })],
  },
  {
    id: 'SLOW',
    about: 'a slow fall closes a position in three rules, one below the other',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: slope([28_000, 940], [30_000, 940]) },
    rules: [
      { id: 'first', on: 'position', when: { markPrice: { below: 985 } }, do: [{ reduce: { by: '20%' } }] },
      { id: 'second', on: 'position', when: { markPrice: { below: 970 } }, do: [{ reduce: { by: '50%' } }] },
      { id: 'third', on: 'position', when: { markPrice: { below: 955 } }, do: [{ reduce: { to: '0%' } }] },
    ],
  },
  {
    id: 'DIP',
    about: 'down and up again: what was asked for on the way down is filled there',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: slope([14_000, 940], [22_000, 1_010], [24_000, 1_010]) },
    rules: [near(half, { keepFiringFor: '4s' })],
  },
];

/** The market moves on while requests travel: activations must compensate for many times their allowance. */
const SLOW_REQUESTS: readonly Scenario[] = [
  {
    id: 'LAGFALL',
    about: 'a long is halved in a fall, with requests that take 400 ms',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: slope([14_000, 930], [18_000, 930]) },
    rules: [near(half)],
    latencyMs: 400,
  },
  {
    id: 'LAGRISE',
    about: 'a short is brought to 40 % in a rise, with requests that take 400 ms',
    leadsTo: 'orders',
    account: SHORT,
    paths: { A: slope([12_000, 1_060], [16_000, 1_060]) },
    rules: [near({ reduce: { to: '40%', slippage: '2%' } })],
    latencyMs: 400,
  },
];

const MODES: readonly Scenario[] = [
  {
    id: 'OBSERVE',
    about: 'an account that only observes says what it would place',
    leadsTo: 'wouldPlace',
    account: LONG,
    paths: { A: DOWN },
    rules: [near(half)],
    keys: { mode: 'observe' },
  },
  {
    id: 'OBSDIST',
    about: 'an account that only observes is near liquidation, and is refused a reduction to a distance',
    leadsTo: 'refused',
    account: SHORT,
    paths: { A: UP },
    rules: [near({ reduce: { untilDistance: '9%', slippage: '2%' } })],
    keys: { mode: 'observe' },
  },
  {
    id: 'MIXED',
    about: 'one rule observes, another acts',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN },
    rules: [
      { ...near({ reduce: { to: '0%', slippage: '2%' } }, { mode: 'observe' }), id: 'tries' },
      near({ reduce: { by: '30%', slippage: '2%' } }),
    ],
  },
  {
    id: 'OBSLIQ',
    about: 'an account that only observes is liquidated',
    leadsTo: 'liquidation',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 910]) },
    rules: [near(half)],
    keys: { mode: 'observe' },
  },
  {
    id: 'GAP',
    about: 'a gap to beyond liquidation, of which no rule knows: nothing is left',
    leadsTo: 'liquidation',
    account: LONG,
    paths: { A: steps([2_000, 900]) },
    rules: [{ id: 'far', on: 'position', when: { markPrice: { below: 800 } }, do: [half] }],
  },
  {
    id: 'FAR',
    about: 'nothing comes near: nothing happens',
    leadsTo: 'nothing',
    account: LONG,
    paths: { A: steps([2_000, 985], [6_000, 1_010]) },
    rules: [near(half)],
  },
];

const HEDGES: readonly Scenario[] = [
  {
    id: 'NET',
    about: 'with both sides open a close takes the net exposure only',
    leadsTo: 'orders',
    account: HEDGED,
    paths: { A: steps([2_000, 975], [8_000, 964], [14_000, 963]) },
    rules: [
      {
        id: 'long',
        on: 'position',
        where: { direction: 'long' },
        when: { markPrice: { below: 980 } },
        keepFiringFor: '60s',
        do: [{ reduce: { to: '0%', slippage: '2%' } }],
      },
    ],
  },
  {
    id: 'LEG',
    about: 'the larger leg is reduced by a third',
    leadsTo: 'orders',
    account: HEDGED,
    paths: { A: steps([2_000, 975], [8_000, 964], [14_000, 963]) },
    rules: [
      {
        id: 'long',
        on: 'position',
        where: { direction: 'long' },
        when: { markPrice: { below: 980 } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '33%', slippage: '2%' } }],
      },
    ],
  },
];

const MARKETS: readonly Scenario[] = [
  {
    id: 'ONE',
    about: 'of two markets one falls, and only it is reduced',
    leadsTo: 'orders',
    account: TWO_MARKETS,
    paths: { A: steps([2_000, 970], [8_000, 959]), B: steps([2_000, 1_005]) },
    rules: [
      {
        id: 'low',
        on: 'position',
        when: { markPrice: { below: 980 } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '40%', slippage: '2%' } }],
      },
    ],
  },
  {
    id: 'BOTH',
    about: 'two markets fall one after the other, each by its own rule',
    leadsTo: 'orders',
    account: TWO_MARKETS,
    paths: { A: steps([2_000, 980], [8_000, 969]), B: steps([12_000, 970], [18_000, 959]) },
    rules: [
      {
        id: 'first',
        on: 'position',
        where: { market: '@A' },
        when: { markPrice: { below: 985 } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '25%', slippage: '2%' } }],
      },
      {
        id: 'second',
        on: 'position',
        where: { market: '@B' },
        when: { markPrice: { below: 975 } },
        keepFiringFor: '60s',
        do: [{ reduce: { to: '30%', slippage: '2%' } }],
      },
    ],
  },
  {
    id: 'ACCOUNT',
    about: 'a rule of the account reduces every position',
    leadsTo: 'orders',
    account: TWO_MARKETS,
    paths: { A: steps([2_000, 970], [8_000, 959]), B: steps([2_000, 975], [8_000, 964]) },
    rules: [
      {
        id: 'usage',
        on: 'account',
        when: { totalNotional: { asset: 'USDT', below: 29_500 } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '50%', slippage: '2%', positions: '*' } }],
      },
    ],
  },
];

const CREDIT_LINES: readonly Scenario[] = [
  {
    id: 'LOAN',
    about: 'the collateral of a credit line falls, and the position is reduced',
    leadsTo: 'orders',
    account: {
      ...LONG,
      loans: [{ asset: 'USDT', amount: '30000', collateralAsset: 'BTC', collateralAmount: '1' }],
    },
    paths: { A: steps([10_000, 997], [16_000, 996]) },
    rules: [
      {
        id: 'ltv',
        on: 'creditLine',
        when: { currentLtv: { above: '55%' } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '25%', slippage: '2%', positions: '*' } }],
      },
    ],
    events: [{ atMs: 3_000, kind: 'setPrice', market: 'BTC_USDT', price: '50000' }],
  },
];

const STOPS: readonly Scenario[] = [
  {
    id: 'PROTECT',
    about: 'a standing stop is placed and stays',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 980], [8_000, 978]) },
    rules: [
      {
        id: 'cover',
        on: 'position',
        when: { markPrice: { below: 990 } },
        do: [{ protect: { at: '60%', slippage: '2%' } }],
      },
    ],
  },
  {
    id: 'COVERED',
    about: 'a standing stop triggers, and everything goes',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 980], [10_000, 941], [16_000, 940]) },
    rules: [
      {
        id: 'cover',
        on: 'position',
        when: { markPrice: { below: 990 } },
        do: [{ protect: { at: '60%', slippage: '2%' } }],
      },
    ],
  },
  {
    id: 'COVERCUT',
    about: 'a reduction beside a standing stop, which is then placed anew',
    leadsTo: 'orders',
    account: SHORT,
    // Clearly longer than an accepted order proves that orders are taken, before the stop is replaced.
    paths: { A: steps([2_000, 1_010], [8_000, 1_035], [20_000, 1_046], [26_000, 1_046.1]) },
    rules: [
      {
        id: 'cover',
        on: 'position',
        when: { markPrice: { above: 1_005 } },
        do: [{ protect: { at: '80%', slippage: '2%' } }],
      },
      near(half),
    ],
  },
  {
    id: 'CANCEL',
    about: 'the owner’s order goes before the position is reduced',
    leadsTo: 'orders',
    account: { ...LONG, collateral: { USDT: '3500' } },
    paths: { A: steps([4_000, 950], [10_000, 939]) },
    rules: [
      {
        id: 'clear',
        on: 'position',
        when: { markPrice: { below: 965 } },
        keepFiringFor: '60s',
        do: [{ cancelAll: { types: ['margin', 'futures'], scope: 'market' } }, half],
      },
    ],
    events: [
      {
        atMs: 400,
        kind: 'trade',
        account: 'cancel',
        market: '@A',
        side: 'buy',
        amount: '1',
        price: '800',
      },
    ],
  },
  {
    id: 'CANCELS',
    about: 'cancels in the whole account, and the standing stop comes back',
    leadsTo: 'orders',
    account: { ...TWO_MARKETS, collateral: { USDT: '4000' } },
    paths: { A: steps([2_000, 985], [10_000, 975]), B: steps([2_000, 1_001]) },
    rules: [
      {
        id: 'cover',
        on: 'position',
        where: { market: '@A' },
        when: { markPrice: { below: 990 } },
        do: [{ protect: { at: '60%', slippage: '2%' } }],
      },
      {
        id: 'clear',
        on: 'account',
        when: { totalNotional: { asset: 'USDT', below: 29_600 } },
        keepFiringFor: '60s',
        do: [{ cancelAll: { types: ['spot', 'margin', 'futures'], scope: 'account' } }],
      },
    ],
    events: [
      {
        atMs: 400,
        kind: 'trade',
        account: 'cancels',
        market: '@B',
        side: 'buy',
        amount: '1',
        price: '800',
      },
    ],
  },
];

const TIMES: readonly Scenario[] = [
  {
    id: 'STAGES',
    about: 'the market does not fill: the second stage takes over',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [18_000, 948], [22_000, 947]) },
    rules: [near(half, { escalate: [{ after: '7s', do: [{ reduce: { to: '10%', slippage: '2%' } }] }] })],
  },
  {
    id: 'ENOUGH',
    about: 'the target is reached before the second stage, which is not taken',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 949], [24_000, 949]) },
    rules: [near(half, { escalate: [{ after: '13s', do: [{ reduce: { to: '10%', slippage: '2%' } }] }] })],
  },
  {
    id: 'KEPT',
    about: 'the price recovers and falls again while the rule is kept firing: one episode',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 949], [12_000, 1_000], [18_000, 930], [24_000, 927]) },
    rules: [near(half, { keepFiringFor: '40s' })],
  },
  {
    id: 'TWICE',
    about: 'the price recovers and falls again: two episodes, each halves',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 949], [12_000, 1_000], [18_000, 870], [24_000, 859]) },
    rules: [near(half, { keepFiringFor: '1s' })],
  },
  {
    id: 'COOL',
    about: 'the second episode comes within the cooldown and is refused',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 980], [8_000, 969], [12_000, 1_000], [18_000, 975], [24_000, 964]) },
    rules: [
      {
        id: 'low',
        on: 'position',
        when: { markPrice: { below: 985 } },
        do: [{ reduce: { by: '20%', slippage: '2%' } }],
        limits: { cooldown: '10m' },
      },
    ],
  },
  {
    id: 'HOURLY',
    about: 'one episode an hour may act; the second is refused',
    leadsTo: 'orders',
    account: SHORT,
    paths: { A: steps([2_000, 1_015], [8_000, 1_026], [12_000, 1_000], [18_000, 1_015], [24_000, 1_026]) },
    rules: [
      {
        id: 'high',
        on: 'position',
        when: { markPrice: { above: 1_010 } },
        do: [{ reduce: { by: '20%', slippage: '2%' } }],
        limits: { perHour: 1 },
      },
    ],
  },
  {
    id: 'HOLD',
    about: 'a wick is too short for the rule; what lasts is not',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 1_000], [12_000, 960], [26_000, 949]) },
    rules: [near(half, { for: '9s' })],
  },
  {
    id: 'WICK',
    about: 'a wick is too short for the rule',
    leadsTo: 'nothing',
    account: LONG,
    paths: { A: steps([2_000, 955], [8_000, 1_000], [12_000, 1_001]) },
    rules: [near(half, { for: '11s' })],
  },
  {
    id: 'WITHDRAW',
    about: 'the rule resolves before the order is filled, and the order goes',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([2_000, 960], [8_000, 1_000], [16_000, 940]) },
    rules: [{ id: 'called', on: 'position', when: { markPrice: { below: 970 } }, do: [half] }],
  },
];

const FAULTS: readonly Scenario[] = [
  {
    id: 'LOST',
    about: 'the reply to the order is lost',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN_LATER },
    rules: [near(half)],
    faults: [{ effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' }, count: 1 }],
  },
  {
    id: 'RESET',
    about: 'the order never reaches the exchange',
    leadsTo: 'orders',
    account: SHORT,
    paths: { A: UP_LATER },
    rules: [near(half)],
    faults: [{ effect: { kind: 'reset' }, target: { endpoint: 'stopLimit' }, count: 1 }],
  },
  {
    id: 'BUSY',
    about: 'the order is turned away once with 503',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN_LATER },
    rules: [near(half)],
    faults: [{ effect: { kind: 'status', status: 503 }, target: { endpoint: 'stopLimit' }, count: 1 }],
  },
  {
    id: 'LIMITED',
    about: 'the order is turned away once with 429',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN_LATER },
    rules: [near(half)],
    faults: [{ effect: { kind: 'status', status: 429 }, target: { endpoint: 'stopLimit' }, count: 1 }],
  },
  {
    id: 'LOSTCXL',
    about: 'the reply to the first cancel is lost',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: DOWN_LATER },
    rules: [near(half)],
    faults: [{ effect: { kind: 'lostReply' }, target: { endpoint: 'cancelAll' }, count: 1 }],
  },
  {
    id: 'BLIND',
    about: 'no read succeeds for a while before the fall',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([6_000, 960], [12_000, 949]) },
    rules: [near(half)],
    faults: [{ effect: { kind: 'status', status: 500 }, target: { endpoint: 'openPositions' }, count: 2 }],
  },
];

const PEOPLE: readonly Scenario[] = [
  {
    id: 'OPERATOR',
    about: 'an operator takes away 30 %',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([8_000, 997], [14_000, 996]) },
    rules: [near(half)],
    events: [
      {
        atMs: 2_000,
        kind: 'reduce',
        account: 'operator',
        markets: ['@A'],
        target: { kind: 'by', fraction: 0.3 },
        slippage: 0.01,
      },
    ],
  },
  {
    id: 'FLATTEN',
    about: 'an operator closes both sides of a hedge',
    leadsTo: 'orders',
    account: HEDGED,
    paths: { A: steps([8_000, 997], [14_000, 1_004]) },
    rules: [],
    events: [
      {
        atMs: 2_000,
        kind: 'reduce',
        account: 'flatten',
        markets: ['@A'],
        target: { kind: 'to', fraction: 0 },
        slippage: 0.01,
        flatten: true,
      },
    ],
  },
  {
    id: 'PAUSED',
    about: 'a pause holds the reduction back until it is lifted',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([4_000, 960], [20_000, 949], [26_000, 948]) },
    rules: [near(half)],
    events: [
      { atMs: 1_000, kind: 'pause', account: 'paused' },
      { atMs: 12_000, kind: 'unpause', account: 'paused' },
    ],
  },
  {
    id: 'SILENT',
    about: 'a silenced rule does nothing; another does its part',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([4_000, 960], [10_000, 949]) },
    rules: [
      near({ reduce: { to: '0%', slippage: '2%' } }),
      {
        id: 'other',
        on: 'position',
        when: { markPrice: { below: 965 } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '20%', slippage: '2%' } }],
      },
    ],
    events: [{ atMs: 1_000, kind: 'silence', account: 'silent', rule: 'silent-near', forMs: 600_000 }],
  },
  {
    id: 'OWNER',
    about: 'the owner sells a part before the rule fires',
    leadsTo: 'orders',
    account: LONG,
    paths: { A: steps([6_000, 945], [12_000, 934]) },
    rules: [
      {
        id: 'low',
        on: 'position',
        when: { markPrice: { below: 950 } },
        keepFiringFor: '60s',
        do: [half],
      },
    ],
    events: [
      {
        atMs: 1_400,
        kind: 'trade',
        account: 'owner',
        market: '@A',
        side: 'sell',
        amount: '6',
        reduceOnly: true,
      },
    ],
  },
];

const SETS: readonly Scenario[] = [
  {
    id: 'BALANCED',
    about: 'the rule set balanced through two falls',
    leadsTo: 'orders',
    account: LONG,
    // After the hold of its standing stop, which would otherwise be placed in the middle of the first fall.
    paths: { A: steps([8_000, 963], [16_000, 955], [22_000, 945], [28_000, 935]) },
    rules: [],
    uses: ['balanced'],
  },
  {
    id: 'LASTLINE',
    about: 'the rule set last-resort for a short',
    leadsTo: 'orders',
    account: SHORT,
    paths: { A: steps([8_000, 1_050], [14_000, 1_058], [20_000, 1_067], [26_000, 1_078]) },
    rules: [],
    // A forecast depends on the times of its samples, which differ between the plays by milliseconds.
    uses: [{ use: 'last-resort', without: ['falling-fast'] }],
  },
  {
    id: 'CALLED',
    about: 'the exchange calls for margin',
    leadsTo: 'orders',
    account: LONG,
    liquidatedAt: 917.5,
    // After a jump long ago: the distance left until liquidation is too small for the speed of a recent one.
    paths: { A: steps([500, 940], [22_500, 925], [28_500, 920], [32_500, 919]) },
    rules: [
      {
        id: 'called',
        on: 'position',
        when: { liquidationState: { in: ['margin_call', 'liquidation', 'unrecognised'] } },
        keepFiringFor: '60s',
        do: [{ reduce: { by: '60%', slippage: '2%' } }],
      },
    ],
  },
];

/** The cases that are played with every reading that affects orders. */
function underReading(prefix: string): readonly Scenario[] {
  return [
    {
      id: `${prefix}LONG`,
      about: 'a long is halved, beside a standing stop',
      leadsTo: 'orders',
      account: LONG,
      // Shorter than an accepted order proves that orders are taken, when the stop is replaced.
      paths: { A: steps([2_000, 980], [8_000, 960], [12_000, 949], [18_000, 948]) },
      rules: [
        {
          id: 'cover',
          on: 'position',
          when: { markPrice: { below: 990 } },
          do: [{ protect: { at: '85%', slippage: '2%' } }],
        },
        near(half),
      ],
    },
    {
      id: `${prefix}LOST`,
      about: 'a short is brought to 30 %; the first reply is lost',
      leadsTo: 'orders',
      account: SHORT,
      paths: { A: UP_LATER },
      rules: [near({ reduce: { to: '30%', slippage: '2%' } })],
      faults: [{ effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' }, count: 1 }],
    },
  ];
}

export const GROUPS: readonly [Group, ...Group[]] = [
  {
    name: 'as the readings are by default',
    scenarios: [
      ...REDUCTIONS,
      ...ON_SLOPES,
      ...SLOW_REQUESTS,
      ...MODES,
      ...HEDGES,
      ...MARKETS,
      ...STOPS,
      ...CREDIT_LINES,
      ...TIMES,
      ...FAULTS,
      ...PEOPLE,
      ...SETS,
    ],
  },
  {
    name: 'stops trigger on the mark price, equality does not trigger',
    readings: { stopTriggerSource: 'mark', stopTriggersAtEquality: 'no' },
    scenarios: underReading('MARK'),
  },
  {
    name: 'cancel-all does not reach stops',
    readings: { cancelCoversStops: 'no' },
    exchange: { cancelCoversStops: 'no' },
    scenarios: underReading('STAY'),
  },
  {
    name: 'camel case, unsigned shorts, ids unique among open orders',
    readings: { orderFieldSpelling: 'camel', shortAmount: 'unsigned', clientOrderIdUniqueness: 'openOrders' },
    exchange: { dialect: 'camel', bothSign: 'unsigned' },
    scenarios: underReading('CAMEL'),
  },
  {
    name: 'margin per position, increasing nonces',
    readings: { marginModel: 'isolated', nonceRule: 'increasing' },
    exchange: { nonce: 'increasing' },
    scenarios: underReading('APART'),
  },
  {
    name: 'requests whose reply was lost arrive late',
    readings: { lateArrivalMs: 500 },
    scenarios: underReading('LATE'),
  },
];
