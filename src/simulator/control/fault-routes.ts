import { z } from 'zod';
import { FAULT, FAULT_KINDS, type FaultSpec } from '../http/faults.ts';
import { READING_CHOICES, READING_DURATIONS } from '../model/readings.ts';
import { milliseconds } from '../schemas.ts';
import { type SimulatedExchange, SimulatorError } from '../simulated-exchange.ts';
import { type ControlRoute, parseWith, route } from './route.ts';

const REGION = z.union(
  [
    z.strictObject({ mode: z.enum(['up', 'down', 'hang', 'unavailable']) }),
    z.strictObject({ mode: z.literal('slow'), delayMs: milliseconds }),
  ],
  'must be {"mode":"up"|"down"|"hang"|"unavailable"} or {"mode":"slow","delayMs":N}',
);

/** Parses a fault and checks that what it aims at exists. */
export function readFault(exchange: SimulatedExchange, value: unknown, what = 'body'): FaultSpec {
  const fault = parseWith(FAULT, value, what);
  const { endpoint, account } = fault.target ?? {};
  const known = exchange.endpointNames;
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
export const FAULT_ROUTES: readonly ControlRoute[] = [
  route({
    endpoint: 'GET /faults',
    doc: 'The faults in force, the kinds there are, and how many requests are held back.',
    run: ({ exchange }) => ({
      faults: exchange.faults.list(),
      kinds: FAULT_KINDS,
      endpoints: exchange.endpointNames,
      held: exchange.front.heldCount,
    }),
  }),
  route({
    endpoint: 'POST /faults',
    doc: 'Injects a fault: effect, and optionally target, probability, count, skip, and when: fromMs, untilMs, afterMs, forMs, everyMs.',
    input: z.unknown(),
    example: {
      effect: { kind: 'lostReply' },
      target: { endpoint: 'stopLimit' },
      probability: 0.5,
      count: 1,
    },
    run: ({ exchange, input }) => ({ id: exchange.injectFault(readFault(exchange, input)) }),
  }),
  route({
    endpoint: 'DELETE /faults',
    doc: 'Removes all faults.',
    run: ({ exchange }) => ({ cleared: exchange.clearFaults() }),
  }),
  route({
    endpoint: 'DELETE /faults/:id',
    doc: 'Removes one fault.',
    run: ({ exchange, id }) => ({ cleared: exchange.clearFaults(id) }),
  }),
  route({
    endpoint: 'POST /faults/release',
    doc: 'Lets the requests arrive that appliedLate faults without a delay hold back.',
    run: ({ exchange }) => ({ released: exchange.front.releaseHeld() }),
  }),
  route({
    endpoint: 'GET /regions',
    doc: 'The base addresses and their states.',
    run: ({ exchange }) => exchange.front.regions,
  }),
  route({
    endpoint: 'PUT /regions/:index',
    doc: 'State of one base address: up, down (reset), hang, slow (delayMs), unavailable (503).',
    input: REGION,
    example: { mode: 'slow', delayMs: 2000 },
    run: ({ exchange: { front }, index, input }) => {
      front.setRegion(index, input);
      return front.regions;
    },
  }),
  route({
    endpoint: 'GET /readings',
    doc: 'Every open reading of the specification: what is in force, and what is possible.',
    run: ({ exchange }) => ({
      readings: exchange.model.readings(),
      choices: READING_CHOICES,
      durations: READING_DURATIONS,
    }),
  }),
  route({
    endpoint: 'PATCH /readings',
    doc: 'Changes readings.',
    input: z.record(z.string(), z.unknown()),
    example: { shortAmount: 'unsigned', readLagMs: 500 },
    run: ({ exchange, input }) => exchange.setReadings(input),
  }),
];
