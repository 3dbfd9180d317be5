import { describe, expect, test } from 'vitest';
import { toNumber, ZERO } from '../../src/core/quantities/decimal.ts';
import type { FaultSpec } from '../../src/simulator/http/faults.ts';
import type { CollateralOrder } from '../../src/simulator/model/types.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { isOurs } from '../support/own-orders.ts';
import { alterReplies, type Refuse, refuseOrders } from './altered-replies.ts';
import { longAccount } from './long-account.ts';

/** The exchange refuses orders by rules of which the config knows nothing: judged by its ledger. */

const BREACH_MS = 30_000;

interface Case {
  readonly reduce: string;
  readonly side?: 'long' | 'short';
  /** An action before it. */
  readonly before?: string;
  readonly isThenClosed?: boolean;
}

/** A jump to 4.6 % from liquidation; 20 s later the market runs on and past it. */
function worldOf(
  { reduce, side = 'long', before, isThenClosed = false }: Case,
  hedgeMode = false,
  faults: readonly FaultSpec[] = [],
): World {
  const then = isThenClosed
    ? '\n    escalate: [{ after: 3s, do: [{ reduce: { to: 0%, slippage: 1% } }] }]'
    : '';
  const to = (share: number): string => String(60_000 * (side === 'long' ? 1 - share : 1 + share));
  return openWorld({
    seed: 5,
    durationMs: BREACH_MS + 60_000,
    exchange: {
      accounts: [
        longAccount('4500', { hedgeMode, positions: [{ market: 'BTC_PERP', side, amount: '0.500' }] }),
      ],
      depth: '5',
    },
    prices: [
      {
        market: 'BTC_USDT',
        points: [
          [0, '60000'],
          [BREACH_MS, '60000'],
          [BREACH_MS + 100, to(side === 'long' ? 0.08 : 0.068)],
          [BREACH_MS + 20_000, to(side === 'long' ? 0.08 : 0.068)],
          [BREACH_MS + 50_000, to(0.14)],
        ],
        tickMs: 100,
      },
    ],
    faults: faults.map((fault) => ({ atMs: BREACH_MS, fault })),
    daemons: [
      {
        name: 'north',
        config: `mode: enforce
exchange: { baseUrls: ["https://one.example", "https://two.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 8% } }
    do: [${before === undefined ? '' : `{ ${before} }, `}{ reduce: { ${reduce} } }]${then}
    severity: critical`,
      },
    ],
  });
}

const ledgerOf = (world: World, kind: 'order_placed' | 'liquidation_started') =>
  world.exchange.model.ledger({ kinds: [kind], accountId: 'desk-1' });
const placedBy = (world: World) => ledgerOf(world, 'order_placed').filter(isOurs);
const sizeLeft = (world: World): string =>
  world.exchange.model.openPositions('desk-1')[0]?.amount.abs().toFixed(3) ?? '0.000';
const audited = (world: World) =>
  world.daemons
    .flatMap(({ events }) => events)
    .flatMap((event) => (event.kind === 'audited' ? [event.event] : []));

async function play(given: Case, refuse: Refuse) {
  const world = worldOf(given);
  const refused = refuseOrders(world, refuse);
  await world.run();
  expect(world.errors).toEqual([]);
  return { world, refused };
}

const refusal = (code: number, field: string, text: string) => ({ code, errors: { [field]: [text] } });
const numbers = ({ amount, price, activationPrice }: CollateralOrder) => ({
  amount: toNumber(amount),
  price: toNumber(price ?? ZERO),
  activation: toNumber(activationPrice ?? ZERO),
});

describe('a price band', () => {
  const within = (share: number, words: (low: boolean, bound: string) => string): Refuse => {
    return (order, mark) => {
      const { price } = numbers(order);
      const [low, high] = [mark * (1 - share), mark * (1 + share)];
      if (price >= low && price <= high) return undefined;
      // The edge that it names is one that it takes.
      const edge = price < low ? Math.ceil(low * 10) / 10 : Math.floor(high * 10) / 10;
      return refusal(250, 'price', words(price < low, edge.toFixed(1)));
    };
  };

  test.each(['long', 'short'] as const)(
    'that is named is taken over at once: no price outside it is repeated, the %s is saved',
    async (side) => {
      const band = within(
        0.006,
        (low, bound) => `Price should be ${low ? 'greater' : 'less'} than or equal to ${bound}`,
      );
      const { world, refused } = await play({ reduce: 'by: 50%, slippage: [2%, 3%, 5%]', side }, band);
      expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
      expect(sizeLeft(world)).toBe('0.250');
      expect(refused.length).toBe(1);
    },
  );

  test('without a bound is met by half the slippage, never by more', async () => {
    const { world, refused } = await play(
      { reduce: 'by: 50%, slippage: [2%, 3%, 5%]' },
      within(0.006, () => 'Price is out of the allowed range'),
    );
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    expect(sizeLeft(world)).toBe('0.250');
    const apart = refused.map(({ order, mark }) => 1 - numbers(order).price / mark);
    expect(apart.length).toBeLessThanOrEqual(3);
    expect(apart).toEqual([...apart].sort((a, b) => b - a));
  });
});

describe('an activation that the market has passed', () => {
  test.each([
    [33, 'activation_price', 'activation_price has been passed already'],
    [30, 'activationPrice', 'Activation price should be less than the last price'],
  ] as const)('(%i, %s: "%s") widens the gap: no step is coarsened by it', async (code, field, words) => {
    const passed: Refuse = (order, mark) =>
      numbers(order).activation > mark * 0.99 ? refusal(code, field, words) : undefined;
    const { world, refused } = await play({ reduce: 'by: 50%, slippage: 1%' }, passed);
    expect(refused.length).toBe(1);
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    expect(sizeLeft(world)).toBe('0.250');
    const placed = audited(world).find(({ kind }) => kind === 'accepted');
    expect(placed?.order?.activationPrice).toMatch(/\.[1-9]$/);
  });
});

describe('a minimum total', () => {
  const atLeast =
    (total: number, words: string): Refuse =>
    (order) =>
      numbers(order).amount * numbers(order).price < total
        ? refusal(30, 'total', words.replace('N', String(total)))
        : undefined;

  test.each(['Total is less than N', 'Total(amount * price) is less than N'])(
    '"%s" that a part does not reach ends it with a reason, once and told',
    async (words) => {
      const { world, refused } = await play({ reduce: 'by: 50%, slippage: 1%' }, atLeast(20_000, words));
      expect(refused.length).toBe(1);
      const ended = audited(world).filter(({ kind }) => kind === 'intentEnded');
      expect(ended.map(({ reason, alarm }) => [reason, alarm])).toEqual([['failed:belowMinimum', true]]);
    },
  );

  test('is judged at the limit price: the rest of the position reaches it, and goes at once', async () => {
    const { world, refused } = await play(
      { reduce: 'by: 50%, slippage: 1%', isThenClosed: true },
      atLeast(27_000, 'Total is less than N'),
    );
    expect(refused.length).toBe(1);
    expect(sizeLeft(world)).toBe('0.000');
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
  });

  test('above the worth of the whole position is asked for all the same where everything goes', async () => {
    const { world, refused } = await play(
      { reduce: 'to: 0%, slippage: 1%' },
      atLeast(40_000, 'Total is less than N'),
    );
    expect(refused.length).toBe(1);
    expect(sizeLeft(world)).toBe('0.000');
    expect(placedBy(world).length).toBe(1);
  });
});

describe('steps and a minimum in words', () => {
  const isMultiple = (value: number, step: number): boolean =>
    Math.abs(value / step - Math.round(value / step)) < 1e-9;
  const stepOf =
    (field: 'amount' | 'price', step: number, words: string, code: number): Refuse =>
    (order) => {
      const { amount, price, activation } = numbers(order);
      const asked = field === 'amount' ? [amount] : [price, activation];
      return asked.every((value) => isMultiple(value, step))
        ? undefined
        : refusal(code, field, words.replace('N', String(step)));
    };

  test.each([
    ['amount', 0.02, 'Min amount step = N', 32, '0.24'],
    ['amount', 0.02, 'Should be a multiple of N.', 30, '0.24'],
    ['price', 25, 'Min price step = N', 33, '0.25'],
  ] as const)(
    '%s: %d, said as "%s" (%d), is taken over as it is',
    async (field, step, words, code, amount) => {
      const { world, refused } = await play(
        { reduce: 'by: 50%, slippage: 1%' },
        stepOf(field, step, words, code),
      );
      expect(refused.length).toBe(1);
      expect(Number(placedBy(world)[0]?.amount)).toBe(Number(amount));
      expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    },
  );

  test('a minimum amount that a part does not reach ends it with a reason, once and told', async () => {
    const { world, refused } = await play({ reduce: 'by: 50%, slippage: 1%' }, (order) =>
      numbers(order).amount < 0.3
        ? refusal(32, 'amount', 'Given amount is less than min amount 0.3')
        : undefined,
    );
    expect(refused.length).toBe(1);
    const ended = audited(world).filter(({ kind }) => kind === 'intentEnded');
    expect(ended.map(({ reason, alarm }) => [reason, alarm])).toEqual([['failed:belowMinimum', true]]);
  });

  test('a bound that the order obeys is not taken over', async () => {
    const { world } = await play({ reduce: 'by: 50%, slippage: 1%' }, (order, mark) =>
      mark > 55_100 && world55(order) ? refusal(32, 'amount', 'Amount 0.25 is less than 0.2') : undefined,
    );
    expect(sizeLeft(world)).toBe('0.250');
  });
  let first = true;
  function world55(_order: CollateralOrder): boolean {
    const was = first;
    first = false;
    return was;
  }
});

describe('code 114 for the form of the position side', () => {
  test.each([
    ['LONG is wanted where the list says BOTH', false],
    ['BOTH is wanted where the list says LONG', true],
  ])('%s: the other form is tried once, and kept', async (_what, hedgeMode) => {
    const world = worldOf({ reduce: 'by: 50%, slippage: 1%', isThenClosed: true }, hedgeMode);
    const refused = refuseOrders(world, (order) => {
      const isBoth = (order.positionSide ?? 'BOTH') === 'BOTH';
      if (isBoth !== hedgeMode)
        return refusal(114, 'positionSide', 'Position side does not match hedge mode');
      return hedgeMode ? { pass: { ...order, positionSide: 'LONG' } } : undefined;
    });
    await world.run();
    expect(refused.length).toBe(1);
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    expect(sizeLeft(world)).toBe('0.000');
  });
});

test.each([
  ['in the place of the message, without a code', { client_order_id: ['client_order_id is already taken'] }],
  ['as a text, without a code', 'client_order_id is already taken'],
])(
  'an id that is taken, said %s: the order whose reply was lost counts, and is asked for once',
  async (_what, message) => {
    const lost: FaultSpec = { effect: { kind: 'lostReply' }, target: { endpoint: 'stopLimit' }, count: 1 };
    const world = worldOf({ reduce: 'by: 50%, slippage: 1%' }, false, [lost]);
    alterReplies(world, {
      'order/collateral/stop-limit': (body) =>
        (body as { code?: number }).code === 36 ? { success: false, message } : body,
    });
    await world.run();
    const rejected = audited(world).filter(({ kind }) => kind === 'rejected');
    expect(rejected.map(({ reason }) => reason)).toEqual(['duplicateId']);
    expect(placedBy(world).length).toBe(1);
    expect(sizeLeft(world)).toBe('0.250');
  },
);

describe('words decide what a refusal means', () => {
  const halve = 'by: 50%, slippage: [1%, 1.5%]';
  const answered = (target: 'cancelAll' | 'stopLimit', count: number, body: object): FaultSpec => ({
    effect: { kind: 'status', status: 422, ...body },
    target: { endpoint: target },
    count,
  });

  async function playWith(fault: FaultSpec, before?: string) {
    const world = worldOf({ reduce: halve, ...(before !== undefined && { before }) }, false, [fault]);
    await world.run();
    expect(world.errors).toEqual([]);
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    return { world, kinds: audited(world).map(({ kind, reason }) => `${kind}:${reason}`) };
  }

  test('cancel-all, code 2: nothing stood, which is as good as a cancel', async () => {
    const fault = answered('cancelAll', 1, { code: 2, message: 'Unexecuted order was not found.' });
    const { world, kinds } = await playWith(fault, 'cancelAll: { types: [spot], scope: market }');
    expect(kinds.filter((kind) => kind.startsWith('cancelRejected'))).toEqual([]);
    expect(kinds.some((kind) => kind.startsWith('cancelAccepted'))).toBe(true);
    expect(sizeLeft(world)).toBe('0.250');
  });

  test.each([
    [
      'code 10, market disabled: waited for',
      { code: 10, message: 'Market not found or disabled' },
      'marketClosed',
      0.01,
    ],
    [
      '453, order type not available: waited for',
      { status: 453, code: 30, message: 'Not available' },
      'marketClosed',
      0.01,
    ],
    [
      'code 32, balance: a lack of room, not a step',
      { code: 32, errors: { amount: ['Not enough balance.'] } },
      'noRoom',
      0.015,
    ],
  ])('an order, %s', async (_what, body, reason, slippage) => {
    const { world, kinds } = await playWith(answered('stopLimit', 2, body));
    expect(kinds.filter((kind) => kind.startsWith('rejected:'))).toEqual([
      `rejected:${reason}`,
      `rejected:${reason}`,
    ]);
    const placed = audited(world).find(({ kind }) => kind === 'accepted');
    const { price, activationPrice, amount } = placed?.order ?? {};
    expect(amount).toBe('0.25');
    expect(1 - Number(price) / Number(activationPrice)).toBeCloseTo(slippage, 4);
    expect(sizeLeft(world)).toBe('0.250');
  });
});

describe('a largest total', () => {
  const MOST = 2_000;
  const ofTotal =
    (words: string): Refuse =>
    (order) =>
      numbers(order).amount * numbers(order).price > MOST ? refusal(30, 'total', words) : undefined;
  const WORDS = `Total amount is greater than ${MOST}`;

  test.each([
    WORDS,
    `Total should be less than or equal to ${MOST}`,
    `Total is larger than the maximum of ${MOST}`,
  ])('"%s" is not read as a minimum: what is to go goes in parts', async (words) => {
    const { world, refused } = await play({ reduce: 'by: 50%, slippage: [1%, 5%]' }, ofTotal(words));
    expect(refused.length).toBe(1);
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    const [first = 0, ...others] = placedBy(world).map(({ amount }) => Number(amount));
    // Four stand at once, before the market has reached one of them; in the end no more has gone than the target says.
    expect(others.slice(0, 3).map((amount) => Math.round((first - amount) * 1_000))).toEqual([1, 2, 3]);
    expect(first).toBeCloseTo(MOST / 54_500, 2);
    expect(audited(world).filter(({ kind }) => kind === 'braked' || kind === 'blocked')).toEqual([]);
    expect(Number(sizeLeft(world))).toBeGreaterThanOrEqual(0.125);
  });

  test('closes a whole position part by part', async () => {
    const { world } = await play({ reduce: 'to: 0%, slippage: 1%', isThenClosed: true }, ofTotal(WORDS));
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
    expect(placedBy(world).length).toBeGreaterThan(8);
  });

  test.each([
    ['one', 'at: 60%'],
    ['a ladder', 'ladder: [{ at: 75%, close: 30% }, { at: 88%, close: rest }]'],
  ])('leaves a standing stop, %s, what one order may have', async (_what, shape) => {
    const { world, refused } = await play(
      { reduce: 'by: 10%, slippage: 1%', before: `protect: { ${shape} }` },
      ofTotal(WORDS),
    );
    expect(refused.length).toBe(1);
    expect(placedBy(world).map(({ amount, price }) => Number(amount) * Number(price) <= MOST)).not.toContain(
      false,
    );
    expect(ledgerOf(world, 'liquidation_started')).toEqual([]);
  });
});
