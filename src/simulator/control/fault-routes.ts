import { z } from 'zod';
import { FAULT, FAULT_KINDS, type FaultSpec } from '../http/faults.ts';
import { REGION_STATE } from '../http/front.ts';
import { READING_CHOICES, READING_DURATIONS } from '../model/readings.ts';
import type { SimulatedExchange } from '../simulated-exchange.ts';
import { invalid, parseWith, routes } from './route.ts';

/** Parses a fault and checks that its target exists. @throws SimulatorError */
export function readFault(exchange: SimulatedExchange, value: unknown, what = 'body'): FaultSpec {
  const fault = parseWith(FAULT, value, what);
  const { endpoint, account } = fault.target ?? {};
  const known = exchange.endpointNames;
  if (endpoint !== undefined && endpoint !== '*' && !known.includes(endpoint)) {
    throw invalid(`${what}.target.endpoint: ${JSON.stringify(endpoint)} is none of ${known.join(', ')}`);
  }
  if (account !== undefined && !exchange.accounts.has(account)) {
    throw invalid(`${what}.target.account: no account ${JSON.stringify(account)}`);
  }
  return fault;
}

export const FAULT_ROUTES = routes({
  'GET /faults': {
    doc: 'The faults in force, the kinds there are, and how many requests are held back.',
    run: ({ exchange }) => ({
      faults: exchange.faults.list(),
      kinds: FAULT_KINDS,
      endpoints: exchange.endpointNames,
      held: exchange.front.delays.heldCount,
    }),
  },
  'POST /faults': {
    doc: 'Injects a fault: effect, and optionally target, probability, count, skip, and when: fromMs, untilMs, afterMs, forMs, everyMs.',
    input: z.unknown(),
    example: {
      effect: { kind: 'lostReply' },
      target: { endpoint: 'stopLimit' },
      probability: 0.5,
      count: 1,
    },
    run: ({ exchange, input }) => ({ id: exchange.injectFault(readFault(exchange, input)) }),
  },
  'DELETE /faults': {
    doc: 'Removes all faults.',
    run: ({ exchange }) => ({ cleared: exchange.clearFaults() }),
  },
  'DELETE /faults/:id': {
    doc: 'Removes one fault.',
    run: ({ exchange, id }) => ({ cleared: exchange.clearFaults(id) }),
  },
  'POST /faults/release': {
    doc: 'Lets the requests arrive that appliedLate faults without a delay hold back.',
    run: ({ exchange }) => ({ released: exchange.front.delays.release() }),
  },
  'GET /regions': {
    doc: 'The base addresses and their states.',
    run: ({ exchange }) => exchange.front.regions,
  },
  'PUT /regions/:index': {
    doc: 'State of one base address: up, down (reset), hang, slow (delayMs), unavailable (503).',
    input: REGION_STATE,
    example: { mode: 'slow', delayMs: 2000 },
    run: ({ exchange, index, input }) => exchange.front.setRegion(index, input),
    answer: ({ exchange }) => exchange.front.regions,
  },
  'GET /readings': {
    doc: 'Every open reading of the specification: what is in force, and what is possible.',
    run: ({ exchange }) => ({
      readings: exchange.model.readings(),
      choices: READING_CHOICES,
      durations: READING_DURATIONS,
    }),
  },
  'PATCH /readings': {
    doc: 'Changes readings.',
    input: z.record(z.string(), z.unknown()),
    example: { shortAmount: 'unsigned', readLagMs: 500 },
    run: ({ exchange, input }) => exchange.setReadings(input),
  },
});
