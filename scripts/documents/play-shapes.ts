import { z } from 'zod';

// What commands print that play something: replay, stress, simulate, demo.

const count = z.number().int();
const durationMs = (meaning: string) => z.number().describe(`${meaning}, milliseconds.`);
const money = z.number().describe('Money currency of the account.');

const played = z.strictObject({
  id: z.string(),
  liquidated: z.boolean(),
  closedFraction: z.number().describe('Share of the holdings that orders closed.'),
  equityStart: money,
  equityEnd: money,
  orders: count,
  price: z
    .strictObject({ fees: money, slippage: money })
    .describe('Of closing; of several paths that of the most expensive.'),
  breachToFillMs: z
    .strictObject({ p50: z.number().nullable(), max: z.number().nullable() })
    .describe('From crossing the threshold to the first fill, milliseconds; null: there was none.'),
});

export const replayed = z.strictObject({
  event: z.literal('replay'),
  seed: count,
  wallMs: durationMs('Real time'),
  variants: z.array(
    z.strictObject({
      name: z.string().describe('`unprotected`, `config` or the name of a file.'),
      accounts: z
        .array(played)
        .describe('The worst of several paths: liquidated in any, most closed, least left.'),
      paths: z.array(
        z.strictObject({
          path: z.string().describe('A path model, or `trades` if the file has those.'),
          accounts: z.array(played),
        }),
      ),
    }),
  ),
});

const scenario = z.strictObject({
  id: z.string().describe('Stable, for `--scenario`.'),
  title: z.string(),
  about: z.string(),
  kind: z.enum(['shock', 'history', 'shape', 'grid']),
});
export const scenarios = z.array(scenario);

const outcome = z.strictObject({
  liquidated: z.boolean(),
  equityEnd: money,
  closedFraction: z.number().describe('Share of the holdings that orders closed.'),
  orders: count,
});
export const stressed = z.strictObject({
  event: z.literal('stress'),
  seed: count,
  wallMs: durationMs('Real time'),
  stopped: z.boolean().describe('Stopped early: cases are missing.'),
  notes: z.array(z.string()).describe('Whole sentences.'),
  cases: z.array(
    z.strictObject({
      scenario,
      conditions: z.string(),
      accounts: z.array(
        z.strictObject({ id: z.string(), equityStart: money, without: outcome, withRules: outcome }),
      ),
    }),
  ),
});

export const simulating = z.strictObject({
  event: z.literal('listening'),
  baseUrl: z.string().describe('The first of `baseUrls`.'),
  baseUrls: z.array(z.string()),
  controlUrl: z.string(),
  controlToken: z.string().optional().describe('Absent: the control API needs none.'),
  accounts: z.array(z.strictObject({ id: z.string(), apiKey: z.string(), apiSecret: z.string() })),
});
const notes = z.record(z.string(), z.string()).describe('What each means.');
export const vocabulary = z.strictObject({
  scenarios: notes,
  faults: notes,
  conditions: notes,
  readings: notes,
});

const amount = z.string().describe('BTC.');
const usdt = z.string().describe('USDT.');
const side = z.strictObject({
  id: z.string(),
  amountBefore: amount,
  amount,
  distance: z
    .number()
    .nullable()
    .describe('To liquidation, a fraction of the mark price; null: no position, or no such price.'),
  state: z.string(),
  wasLiquidated: z.boolean(),
  takenByExchange: amount,
  closedByOrders: amount,
  ordersPlaced: count,
  requests: count.describe('Orders and cancels that the exchange received.'),
  openOrders: z.array(z.string()).describe('In words.'),
  equityBefore: usdt,
  equity: usdt,
  change: usdt,
});
export const demonstrated = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('frame'),
    elapsedMs: durationMs('Real time'),
    durationMs: durationMs('Real time of the whole demo'),
    speed: z.number(),
    price: z.number(),
    startPrice: z.number(),
    protectedSide: side,
    twin: side,
  }),
  z.strictObject({
    event: z.literal('remark'),
    atMs: durationMs('Real time since the beginning'),
    tone: z.enum(['info', 'good', 'warning', 'danger']),
    text: z.string(),
  }),
  z.strictObject({ event: z.literal('failure'), text: z.string().describe('Why it failed.') }),
  z.strictObject({ event: z.literal('stopped'), afterMs: durationMs('Real time') }),
  z.strictObject({
    event: z.literal('demo'),
    currency: z.string(),
    protected: side,
    unprotected: side,
    keptMore: z.string().describe('By how much the protected account kept more; USDT.'),
    alerts: count.describe('Delivered for the protected account.'),
  }),
]);
