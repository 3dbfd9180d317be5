import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { parseDecimal } from '../../src/core/quantities/decimal.ts';
import { FAULT_KINDS } from '../../src/simulator/http/faults.ts';
import type { WorldSpec } from '../../src/world/spec.ts';

/** An invalid world file; every line is `file: path: what was expected`. */
export class WorldFileError extends Error {
  readonly code = 'world-file';

  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'WorldFileError';
  }
}

const time = z.number().min(0);
const whole = z.int().min(0);
const name = z.string().min(1);
const decimal = z
  .string()
  .refine((text) => parseDecimal(text) !== undefined, 'expected a decimal number as a text, such as "0.5"');
const amounts = z.record(name, decimal);

const latency = z.union(
  [
    time,
    z.strictObject({ minMs: time, maxMs: time }),
    z.strictObject({ medianMs: time, sigma: z.number().min(0), maxMs: time.optional() }),
  ],
  'expected milliseconds, {"minMs","maxMs"} or {"medianMs","sigma","maxMs"}',
);

const account = z.strictObject({
  id: name,
  collateral: amounts,
  main: amounts.optional(),
  spot: amounts.optional(),
  leverage: z.int().min(1).optional(),
  hedgeMode: z.boolean().optional(),
  positions: z
    .array(
      z.strictObject({
        market: name,
        side: z.enum(['long', 'short']),
        amount: decimal,
        entry: decimal.optional(),
      }),
    )
    .optional(),
  loans: z
    .array(
      z.strictObject({
        asset: name,
        amount: decimal,
        collateralAsset: name,
        collateralAmount: decimal,
      }),
    )
    .optional(),
  alsoAs: z.array(name).optional(),
});

const terms = z.strictObject({
  amountStep: decimal.optional(),
  priceStep: decimal.optional(),
  minAmount: decimal.optional(),
  maintenanceMargin: decimal.optional(),
  basis: decimal.optional(),
});

const tickMs = z.number().min(1).optional();
const price = z.union(
  [
    z.strictObject({ market: name, points: z.array(z.tuple([time, decimal])), tickMs }),
    z.strictObject({
      market: name,
      walk: z.strictObject({
        dailyVolatility: z.number().min(0).optional(),
        jumpsPerDay: z.number().min(0).optional(),
        jumpSize: z.number().min(0).optional(),
        tickMs,
      }),
    }),
    z.strictObject({
      market: name,
      scenario: z.strictObject({
        name,
        magnitude: decimal.optional(),
        durationMs: time.optional(),
        noise: z.number().min(0).optional(),
        tickMs,
      }),
    }),
  ],
  'expected a market with "points", "walk" or "scenario"',
);

const daemon = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9-]+$/),
  config: name,
  clock: z.strictObject({ skewMs: z.number().optional(), driftPpm: z.number().optional() }).optional(),
  startAtMs: time.optional(),
  store: name.optional(),
});

/** The contents of a fault are checked by the world's exchange when it is injected. */
const fault = z.looseObject({
  effect: z.looseObject({
    kind: z.enum(Object.keys(FAULT_KINDS) as [string, ...string[]]),
  }),
});

const region = z.union(
  [
    z.strictObject({ mode: z.enum(['up', 'down', 'hang', 'unavailable']) }),
    z.strictObject({ mode: z.literal('slow'), delayMs: time }),
  ],
  'expected {"mode":"up"|"down"|"hang"|"unavailable"} or {"mode":"slow","delayMs"}',
);

const target = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['by', 'to']), fraction: z.number().min(0).max(1) }),
  z.strictObject({ kind: z.literal('toNotional'), notional: decimal }),
  z.strictObject({ kind: z.literal('untilDistance'), distance: z.number() }),
]);

const atMs = time;
const everywhere = z.string().nullable();
const event = z.discriminatedUnion('kind', [
  z.strictObject({ atMs, kind: z.enum(['suspend', 'resume', 'kill', 'start', 'stop']), daemon: name }),
  z.strictObject({ atMs, kind: z.literal('stepClock'), daemon: name, byMs: z.number() }),
  z.strictObject({ atMs, kind: z.literal('stepStoreClock'), byMs: z.number() }),
  z.strictObject({ atMs, kind: z.literal('reload'), daemon: name, config: name }),
  z.strictObject({ atMs, kind: z.literal('store'), state: z.enum(['up', 'down']) }),
  z.strictObject({
    atMs,
    kind: z.literal('link'),
    daemon: name,
    to: z.enum(['store', 'exchange']),
    state: z.enum(['up', 'down', 'deaf']),
  }),
  z.strictObject({ atMs, kind: z.literal('region'), index: whole, state: region }),
  z.strictObject({ atMs, kind: z.literal('setPrice'), market: name, price: decimal }),
  z.strictObject({ atMs, kind: z.literal('pause'), account: everywhere, forMs: time.optional() }),
  z.strictObject({ atMs, kind: z.literal('unpause'), account: everywhere }),
  z.strictObject({ atMs, kind: z.literal('silence'), account: everywhere, rule: name, forMs: time }),
  z.strictObject({
    atMs,
    kind: z.literal('reduce'),
    account: name,
    markets: z.array(name),
    target,
    slippage: z.number().min(0),
    flatten: z.boolean().optional(),
    urgent: z.literal(true).optional(),
  }),
  z.strictObject({
    atMs,
    kind: z.literal('trade'),
    account: name,
    market: name,
    side: z.enum(['buy', 'sell']),
    amount: decimal,
    price: decimal.optional(),
    positionSide: z.enum(['LONG', 'SHORT', 'BOTH']).optional(),
    reduceOnly: z.boolean().optional(),
  }),
  z.strictObject({ atMs, kind: z.literal('cancelAll'), account: name, market: name.optional() }),
  z.strictObject({ atMs, kind: z.literal('leverage'), account: name, leverage: z.int().min(1) }),
  z.strictObject({ atMs, kind: z.literal('repay'), account: name, amount: decimal }),
  z.strictObject({
    atMs,
    kind: z.literal('move'),
    account: name,
    amount: decimal,
    ticker: name,
    from: z.enum(['main', 'spot', 'collateral']),
    to: z.enum(['main', 'spot', 'collateral']),
  }),
  z.looseObject({ atMs, kind: z.literal('condition'), condition: z.looseObject({ kind: name }) }),
]);

const worldSpec = z.strictObject({
  seed: whole,
  startMs: time.optional(),
  durationMs: time,
  exchange: z.strictObject({
    accounts: z.array(account),
    money: name.optional(),
    prices: amounts.optional(),
    markets: z.record(name, terms).optional(),
    depth: decimal.optional(),
    readings: z.record(name, z.unknown()).optional(),
  }),
  prices: z.array(price).optional(),
  daemons: z.array(daemon),
  network: z
    .strictObject({
      toExchange: latency.optional(),
      toDaemon: latency.optional(),
      store: latency.optional(),
    })
    .optional(),
  faults: z.array(z.strictObject({ atMs, untilMs: time.optional(), fault })).optional(),
  events: z.array(event).optional(),
});

/** The world that a JSON file describes. @throws WorldFileError */
export async function readWorldFile(file: string): Promise<WorldSpec> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new WorldFileError([`${file}: expected a readable file, got ${error.code ?? error.message}`]);
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new WorldFileError([`${file}: expected JSON: ${(error as Error).message}`]);
  }
  const parsed = worldSpec.safeParse(value);
  // Optional members of the parsed object may be present and undefined, which means the same here.
  if (parsed.success) return parsed.data as WorldSpec;
  throw new WorldFileError(
    parsed.error.issues.map(({ path, message }) => `${file}: ${pathText(path)}: ${message}`),
  );
}

function pathText(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the whole';
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}
