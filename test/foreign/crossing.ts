import type { Case, PathName, SituationName } from './classroom.ts';
import { CANCEL_ERRORS, COMMON_ERRORS, type Instead, LOAN_ERRORS, ORDER_ERRORS } from './errors.ts';
import { MUTATIONS } from './mutations.ts';
import { type Foreign, type Moment, WHOLE } from './teach.ts';

/** Fields of the records of specification 2, and those that only the live service has. */
export const FIELDS: Readonly<Record<PathName, readonly string[]>> = {
  positions: words(
    'positionId market openDate modifyDate amount basePrice liquidationPrice liquidationState pnl pnlPercent margin freeMargin funding unrealizedFunding unrealizedPnl tpsl positionSide leverage',
  ),
  stopLimit: words(
    'order_id client_order_id orderId clientOrderId market side type timestamp deal_money deal_stock amount left deal_fee price activation_price status stp positionSide reduceOnly',
  ),
  cancelAll: [],
  creditLine: words('asset amount totalFunding currentLtv initialLtv marginCallLtv liquidationLtv createdAt'),
  mainBalance: words('USDT main_balance'),
  transfers: words(
    'address unique_id createdAt currency ticker method amount description memo fee status network transactionHash transaction_id details confirmations limit offset records total',
  ),
  spotOrders: words(
    'id client_order_id amount price type side ctime ftime takerFee makerFee deal_fee deal_stock deal_money postOnly ioc status feeAsset stp rpi reduceOnly BTC_USDT',
  ),
};

function words(text: string): readonly string[] {
  return text.split(' ');
}

const SCENES: Readonly<Record<PathName, readonly SituationName[]>> = {
  positions: ['halve', 'called', 'short', 'live'],
  stopLimit: ['halve', 'live', 'cancels'],
  cancelAll: ['cancels'],
  creditLine: ['borrowed'],
  mainBalance: ['poor'],
  transfers: ['poor'],
  spotOrders: ['poor'],
};

const ERRORS: Partial<Record<PathName, readonly Instead[]>> = {
  stopLimit: ORDER_ERRORS,
  cancelAll: CANCEL_ERRORS,
  creditLine: LOAN_ERRORS,
};

function foreignOf(path: PathName): readonly (readonly [name: string, foreign: Foreign])[] {
  const errors = [...COMMON_ERRORS, ...(ERRORS[path] ?? [])];
  return [
    ...FIELDS[path].flatMap((field) =>
      MUTATIONS.map((mutation) => [`${field}: ${mutation.how}`, { kind: 'field', field, mutation }] as const),
    ),
    ...Object.entries(WHOLE).map(([name, change]) => [name, { kind: 'whole', change }] as const),
    ...errors.map((error) => [error.name, { kind: 'instead', ...error }] as const),
  ];
}

const momentsOf = (path: PathName): readonly Moment[] =>
  path === 'stopLimit' || path === 'cancelAll'
    ? ['always', 'the first', 'from the second on']
    : ['always', 'from the breach on', 'each third'];

/** Every way of answering, in every situation of its endpoint, always or at times. */
export const CROSSING: readonly Case[] = (Object.keys(FIELDS) as PathName[]).flatMap((path) =>
  foreignOf(path).flatMap(([name, foreign]) =>
    SCENES[path].flatMap((situation) =>
      momentsOf(path).map((moment) => ({ situation, path, name, foreign, moment })),
    ),
  ),
);

export const titleOf = ({ path, name, situation, moment }: Case): string =>
  `${path} / ${name} / ${situation} / ${moment}`;

/** A figure that is false in every reply from the breach on, well-formed, and in agreement with the others. */
interface Lie {
  readonly cases: RegExp;
  /** Why nobody can tell. */
  readonly reason: string;
  /** How many cases of the crossing it leaves blind in silence. */
  readonly count: number;
}

export const LIES: readonly Lie[] = [
  {
    cases: /^positions \/ amount: (zero|huge|no decimals) /,
    reason: 'reads as zero: a closed position that is still listed',
    count: 24,
  },
  {
    cases: /^positions \/ (basePrice: (zero|huge)|unrealizedPnl: (zero|other sign)) /,
    reason: 'the mark follows from it: the market stands elsewhere, far from liquidation',
    count: 20,
  },
  {
    cases: /^positions \/ liquidationPrice: (zero|other sign|huge) /,
    reason: 'the liquidation price is far away on its own side of the market',
    count: 10,
  },
  { cases: /^creditLine \/ currentLtv: zero /, reason: 'a loan far from its limits', count: 2 },
  {
    cases: /^mainBalance \/ main_balance: (zero|huge) /,
    reason: 'another balance; a zero is believed after three minutes',
    count: 3,
  },
];

/** The lie that explains a fault; undefined: nothing does. */
export function lieBehind(one: Case, fault: string): Lie | undefined {
  if (fault !== 'blind in silence' || one.moment === 'each third') return undefined;
  return LIES.find(({ cases }) => cases.test(titleOf(one)));
}
