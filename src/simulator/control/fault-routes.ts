import { z } from 'zod';
import { FAULT_KINDS, type FaultSpec } from '../http/faults.ts';
import { READING_CHOICES, READING_DURATIONS } from '../model/readings.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { type ControlRoute, integerOf, milliseconds, parseWith, unixMilliseconds } from './route.ts';

const CONNECTION = z.enum(['reset', 'hang']).optional();

const RETRY_AFTER = {
  retryAfterMs: milliseconds.optional(),
  retryAfterAs: z.enum(['seconds', 'decimals', 'date']).optional(),
};

const EFFECT = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('latency'),
    delayMs: milliseconds,
    jitterMs: milliseconds.optional(),
    sigma: z.number().min(0).max(5).optional(),
    maxMs: milliseconds.optional(),
    at: z.enum(['request', 'reply']).optional(),
  }),
  z.strictObject({ kind: z.literal('reset') }),
  z.strictObject({ kind: z.literal('hang') }),
  z.strictObject({ kind: z.literal('lostReply'), connection: CONNECTION }),
  z.strictObject({
    kind: z.literal('appliedLate'),
    delayMs: milliseconds.optional(),
    connection: CONNECTION,
  }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.number().int().min(200).max(599),
    applied: z.boolean().optional(),
    code: z.number().int().optional(),
    message: z.string().optional(),
    errors: z.record(z.string(), z.array(z.string())).optional(),
    ...RETRY_AFTER,
  }),
  z.strictObject({
    kind: z.literal('gatewayStatus'),
    status: z.number().int().min(400).max(599),
    body: z.enum(['html', 'empty']).optional(),
    applied: z.boolean().optional(),
    ...RETRY_AFTER,
  }),
  z.strictObject({
    kind: z.literal('unavailable'),
    meaning: z.enum(['executed', 'failed', 'overloaded']),
    ...RETRY_AFTER,
  }),
  z.strictObject({
    kind: z.literal('refusal'),
    of: z.enum(['orders', 'openingOrders', 'reduceOnlyOrders', 'cancels']),
    status: z.number().int().min(400).max(599).optional(),
    code: z.number().int().optional(),
    message: z.string().optional(),
    ...RETRY_AFTER,
  }),
  z.strictObject({ kind: z.literal('orderCancelled'), status: z.string().optional() }),
  z.strictObject({ kind: z.literal('truncatedJson') }),
  z.strictObject({ kind: z.literal('cutBody') }),
  z.strictObject({ kind: z.literal('malformedJson'), body: z.string().optional() }),
  z.strictObject({ kind: z.literal('stale'), ageMs: milliseconds.min(1) }),
  z.strictObject({ kind: z.literal('wrongTypes') }),
  z.strictObject({ kind: z.literal('missingField'), field: z.string().optional() }),
  z.strictObject({ kind: z.literal('badRecord'), market: z.string().optional() }),
  z.strictObject({ kind: z.literal('compressed'), encoding: z.enum(['gzip', 'br']).optional() }),
  z.strictObject({ kind: z.literal('emptyList') }),
  z.strictObject({ kind: z.literal('zeroBalance') }),
  z.strictObject({
    kind: z.literal('nullRecord'),
    market: z.string().optional(),
    inPlace: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal('emptyString'), field: z.string().optional() }),
]);

/** A fault as it comes from outside, on the control API and on the command line. */
const FAULT = z
  .strictObject({
    effect: EFFECT,
    target: z
      .strictObject({
        endpoint: z.string().optional(),
        account: z.string().optional(),
        region: z.number().int().min(0).optional(),
      })
      .optional(),
    probability: z.number().min(0).max(1).optional(),
    count: z.number().int().min(1).optional(),
    skip: z.number().int().min(0).optional(),
    fromMs: unixMilliseconds.optional(),
    untilMs: unixMilliseconds.optional(),
    afterMs: milliseconds.optional(),
    forMs: milliseconds.min(1).optional(),
    everyMs: milliseconds.min(1).optional(),
  })
  .refine(
    ({ fromMs, afterMs }) => fromMs === undefined || afterMs === undefined,
    'give fromMs or afterMs, not both',
  )
  .refine(
    ({ forMs, untilMs, everyMs }) => forMs === undefined || untilMs === undefined || everyMs !== undefined,
    'give untilMs or forMs, not both, unless everyMs repeats it',
  )
  .refine(
    ({ forMs, everyMs }) => everyMs === undefined || (forMs !== undefined && forMs <= everyMs),
    'everyMs needs a forMs that is not longer',
  );

const REGION = z.union(
  [
    z.strictObject({ mode: z.enum(['up', 'down', 'hang', 'unavailable']) }),
    z.strictObject({ mode: z.literal('slow'), delayMs: milliseconds }),
  ],
  'must be {"mode":"up"|"down"|"hang"|"unavailable"} or {"mode":"slow","delayMs":N}',
);

const READINGS = z.record(z.string(), z.unknown());

/** Parses a fault and checks that what it aims at exists. */
export function readFault(exchange: SimulatedExchange, value: unknown, what = 'body'): FaultSpec {
  // The optional members of the parsed object may be present and undefined, which means the same here.
  const fault = parseWith(FAULT, value, what) as FaultSpec;
  const { endpoint, account } = fault.target ?? {};
  const known = exchange.endpointNames();
  if (endpoint !== undefined && endpoint !== '*' && !known.includes(endpoint)) {
    throw new SimulatorError(
      'invalid-input',
      `${what}.target.endpoint: ${JSON.stringify(endpoint)} is none of ${known.join(', ')}`,
    );
  }
  if (account !== undefined && !exchange.accounts.has(account)) {
    throw new SimulatorError(
      'invalid-input',
      `${what}.target.account: no account ${JSON.stringify(account)}`,
    );
  }
  return fault;
}

/** Everything that goes wrong, and everything that may be read either way. */
export function faultRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [...faultBookRoutes(exchange), ...regionRoutes(exchange), ...readingRoutes(exchange)];
}

function faultBookRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/faults',
      doc: 'The faults in force, the kinds there are, and how many requests are held back.',
      run: () => ({
        faults: exchange.faults.list(),
        kinds: FAULT_KINDS,
        endpoints: exchange.endpointNames(),
        held: exchange.front.heldCount,
      }),
    },
    {
      method: 'POST',
      path: '/faults',
      doc: 'Injects a fault: effect, and optionally target, probability, count, skip, and when: fromMs, untilMs, afterMs, forMs, everyMs.',
      example: {
        effect: { kind: 'lostReply' },
        target: { endpoint: 'stopLimit' },
        probability: 0.5,
        count: 1,
      },
      run: ({ body }) => ({ id: exchange.injectFault(readFault(exchange, body)) }),
    },
    {
      method: 'DELETE',
      path: '/faults',
      doc: 'Removes all faults.',
      run: () => ({ cleared: exchange.clearFaults() }),
    },
    {
      method: 'DELETE',
      path: '/faults/:id',
      doc: 'Removes one fault.',
      run: ({ params }) => ({ cleared: exchange.clearFaults(integerOf(params['id'], 'id')) }),
    },
    {
      method: 'POST',
      path: '/faults/release',
      doc: 'Lets the requests arrive that appliedLate faults without a delay hold back.',
      run: () => ({ released: exchange.front.releaseHeld() }),
    },
  ];
}

function regionRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/regions',
      doc: 'The base addresses and their states.',
      run: () => exchange.front.regions,
    },
    {
      method: 'PUT',
      path: '/regions/:index',
      doc: 'State of one base address: up, down (reset), hang, slow (delayMs), unavailable (503).',
      example: { mode: 'slow', delayMs: 2000 },
      run: ({ params, body }) => {
        const index = integerOf(params['index'], 'index');
        if (exchange.front.regions[index] === undefined) {
          throw new SimulatorError('not-found', `no base address ${index}`);
        }
        exchange.front.setRegion(index, parseWith(REGION, body, 'body'));
        return exchange.front.regions;
      },
    },
  ];
}

function readingRoutes(exchange: SimulatedExchange): readonly ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/readings',
      doc: 'Every open reading of the specification: what is in force, and what is possible.',
      run: () => ({
        readings: exchange.model.readings(),
        choices: READING_CHOICES,
        durations: READING_DURATIONS,
      }),
    },
    {
      method: 'PATCH',
      path: '/readings',
      doc: 'Changes readings.',
      example: { shortAmount: 'unsigned', readLagMs: 500 },
      run: ({ body }) => exchange.setReadings(parseWith(READINGS, body, 'body')),
    },
  ];
}
