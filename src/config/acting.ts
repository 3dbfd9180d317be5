import { duration, oneOf, ratio, wholeNumber } from './shape/scalars.ts';
import { oneOrMany, overrides, renamed, section } from './shape/shape.ts';

/** A slippage: how far the limit price lies from the activation price, in the filling direction. */
export function slippage(): ReturnType<typeof ratio> {
  return ratio({ max: 0.5, exclusive: 'min', bounds: 'above 0 and up to 50%' });
}

/** Slippage of each attempt in turn; the last one is kept. */
export function slippageSteps(): ReturnType<typeof oneOrMany<number>> {
  return oneOrMany(slippage());
}

/** Where a stop activates, strictly between the mark price (0 %) and the liquidation price (100 %). */
export function protectAt(): ReturnType<typeof ratio> {
  return ratio({
    max: 1,
    exclusive: 'both',
    bounds: 'strictly between the mark price (0%) and the liquidation price (100%)',
  });
}

const protectKeys = {
  at: protectAt().describe(
    'Where the stop activates when it is placed: 0% is the mark price, 100% the liquidation price.',
  ),
  slippage: slippage().describe('How far its limit price lies beyond its activation.'),
} as const;

const ACTING = {
  cancel: oneOf('always', 'never').describe(
    "What happens when an order of ours must go (stale price, looser stop). `always`: all orders of that type in that market are cancelled, the owner's too, and ours are placed again. `never`: it stays, and the audit says so.",
  ),
  ownOrders: oneOf('possible', 'none').describe(
    "Whether the account's owner may have orders of his own in a market, which a cancel takes down too. `possible`: where nothing is being reduced nothing is cancelled, and a standing stop that no longer fits stays. `none`: it is replaced, every 10 minutes at most, and where no position shows a liquidation price, standing stops are placed by `margin` and `freeMargin`, which orders of the owner would lower.",
  ),
  hedge: oneOf('net', 'perLeg').describe(
    'With both sides of a market open: `net`, our orders together never raise the net exposure, so only the larger side is reduced; `perLeg`, each side is reduced on its own.',
  ),
  overshoot: oneOf('audited', 'never').describe(
    'When liquidation is likely before a doubtful order is settled: `audited`, act at once and record that more than the target may be closed; `never`, wait.',
  ),
  fillWithin: duration({ minMs: 100, maxMs: 3_600_000, bounds: 'from 100ms to 1h' }).describe(
    'An order not filled within this time is followed up with the next attempt.',
  ),
  intentTtl: duration({ minMs: 1000, maxMs: 86_400_000, bounds: 'from 1s to 1d' }).describe(
    'A reduction not finished within this time expires; it is renewed while its rule fires.',
  ),
  maxSnapshotAge: duration({ minMs: 100, maxMs: 600_000, bounds: 'from 100ms to 10m' }).describe(
    'Nothing is decided on data older than this.',
  ),
  maxOrderReadAge: duration({ minMs: 100, maxMs: 600_000, bounds: 'from 100ms to 10m' }).describe(
    'No order takes its price from a read of the position older than this, or than two round trips where the exchange is slower: the position is read again first.',
  ),
  maxRenewals: wholeNumber(0, 1000).describe(
    'How often a reduction that expired or was refused is renewed while its rule fires, before it counts as failed.',
  ),
  maxAttempts: wholeNumber(1, 1000).describe('Attempts of one reduction before it counts as failed.'),
  mostSets: wholeNumber(1, 1000).describe(
    'Sets of orders that may go to one market although no read shows a moved position or price; one a minute is forgotten. Past that one goes a minute, or every 1 to 10 s near liquidation, and people are told.',
  ),
  slippage: slippageSteps().describe(
    'For `reduce` actions without their own: slippage of each attempt in turn; the last one is kept. Where liquidation leaves time for one attempt only it gets 1.2%, if a step allows that.',
  ),
  distanceTolerance: ratio({ max: 0.5, bounds: 'from 0 to 50%' }).describe(
    'A reduction until a distance counts as reached when no more than this part of it is left: in a falling market it would trail the market otherwise.',
  ),
  largestReduction: ratio({ max: 1, exclusive: 'min', bounds: 'above 0 and up to 100%' }).describe(
    'Largest share of a position that one reduction may take away; more is refused. 100% is no bound.',
  ),
} as const;

const ACTING_NAMES = {
  fillWithin: 'fillWithinMs',
  intentTtl: 'intentTtlMs',
  maxSnapshotAge: 'maxSnapshotAgeMs',
  maxOrderReadAge: 'maxOrderReadAgeMs',
} as const;

const ACTING_DEFAULTS = {
  cancel: 'always',
  ownOrders: 'possible',
  hedge: 'net',
  overshoot: 'audited',
  fillWithin: '5s',
  intentTtl: '10m',
  maxSnapshotAge: '15s',
  maxOrderReadAge: '2s',
  maxRenewals: 5,
  maxAttempts: 20,
  mostSets: 12,
  slippage: ['0.5%', '1%', '2%'],
  distanceTolerance: '10%',
  largestReduction: '100%',
} as const;

const PROTECT_DEFAULTS = { at: '60%', slippage: '1%' } as const;

export const actingSchema = renamed(
  section(
    {
      ...ACTING,
      protect: section(protectKeys, PROTECT_DEFAULTS).describe(
        'For `protect` actions without their own values.',
      ),
    },
    { ...ACTING_DEFAULTS, protect: {} },
  ),
  ACTING_NAMES,
);

export const actingOverrides = renamed(
  overrides({
    ...ACTING,
    protect: overrides(protectKeys).describe('For `protect` actions without their own values.'),
  }),
  ACTING_NAMES,
);

const CADENCE = {
  calm: duration({ minMs: 100, maxMs: 3_600_000, bounds: 'from 100ms to 1h' }).describe(
    'Longest time from one look at an account to the next, when nothing is near a threshold.',
  ),
  alert: duration({ minMs: 50, maxMs: 3_600_000, bounds: 'from 50ms to 1h' }).describe(
    'Shortest time, when something is.',
  ),
} as const;

const CADENCE_NAMES = { calm: 'calmMs', alert: 'alertMs' } as const;

export const cadenceSchema = renamed(section(CADENCE, { calm: '10s', alert: '1s' }), CADENCE_NAMES);
export const cadenceOverrides = renamed(overrides(CADENCE), CADENCE_NAMES);

const APPROVAL = {
  within: duration({ minMs: 5_000, maxMs: 3_600_000, bounds: 'from 5s to 1h' }).describe(
    'How long a rule in approve mode waits for an answer. It does not wait when liquidation may come sooner, or when no notice has reached anybody.',
  ),
  withoutAnswer: oneOf('act', 'hold').describe(
    'When nobody has answered in time: `act`, as if it had been approved; `hold`, do nothing until somebody approves, the position gets clearly worse (then people are asked again), or the exchange calls for margin (then it acts).',
  ),
} as const;

const APPROVAL_NAMES = { within: 'withinMs' } as const;

export const approvalSchema = renamed(
  section(APPROVAL, { within: '1m', withoutAnswer: 'act' }),
  APPROVAL_NAMES,
);
export const approvalOverrides = renamed(overrides(APPROVAL), APPROVAL_NAMES);
