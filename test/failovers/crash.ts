import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Decimal, decimal } from '../../src/core/quantities/decimal.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { configText, environment, type RedisPart } from '../daemon/config.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import type { Closers } from '../support/closers.ts';
import { until } from '../support/until.ts';

export const ACCOUNT = 'long';
const MARKET = 'BTC_PERP';
/** Where each rule fires, which part it closes, and what is left then. */
const STEPS = [
  { below: 59_000, by: '50%', left: '0.25' },
  { below: 56_000, by: '50%', left: '0.125' },
  { below: 53_000, by: '40%', left: '0.075' },
] as const;

const RULES = STEPS.map(
  ({ below, by }, index) => `  - id: part-${index + 1}
    on: position
    when: { markPrice: { below: ${below} } }
    do: [{ reduce: { by: ${by}, slippage: 1% } }]
`,
).join('');

/**
 * A position of 0.5 BTC on a simulated exchange whose price only falls; each step is to close part of it. So the
 * expected actions and amounts are known, whatever happens on the way.
 */
export interface Crash {
  readonly simulator: RunningSimulator;
  readonly configFile: string;
  readonly env: Readonly<Record<string, string>>;
  readonly size: () => number;
  /** Moves the price below the threshold of a step. */
  readonly begin: (step: number) => void;
  /** Lets the price fall on until the step's part is closed. */
  readonly end: (step: number) => Promise<void>;
  /** Expected size after a step. */
  readonly leftAfter: (step: number) => number;
  /** Violations shown by the ledger, in words. `overshoots`: orders that the audit marks as overshoot. */
  readonly violations: (overshoots: ReadonlySet<string>) => readonly string[];
}

export async function openCrash(redis: RedisPart, closers: Closers): Promise<Crash> {
  const simulator = await startSimulatedExchange({
    speed: 1,
    limits: [],
    accounts: [
      {
        id: ACCOUNT,
        hedgeMode: false,
        leverage: 10,
        collateral: { USDT: decimal('10000') },
        positions: [{ market: MARKET, direction: 'long', amount: decimal('0.5') }],
      },
    ],
  });
  closers.add(() => simulator.close());
  const startMs = Date.now();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-failovers-'));
  closers.add(() => rm(folder, { recursive: true, force: true }));
  const configFile = path.join(folder, 'breakwater.yaml');
  const accounts = { [ACCOUNT]: { rules: STEPS.map((_, index) => `part-${index + 1}`) } };
  await writeFile(configFile, configText(simulator, { accounts, rules: RULES, redis }));
  const size = (): number => simulator.model.openPositions(ACCOUNT, MARKET)[0]?.amount.toNumber() ?? 0;
  const fall = (by: number): void => {
    const last = simulator.model.market(MARKET)?.last.toNumber() ?? Number.NaN;
    simulator.setPrice(MARKET, (last * (1 - by)).toFixed(1));
  };
  const beganMs: number[] = [];
  const targetAt = (atMs: number): Decimal | undefined => {
    const step = STEPS[beganMs.filter((ms) => ms <= atMs).length - 1];
    return step === undefined ? undefined : decimal(step.left);
  };
  const leftAfter = (step: number): number => Number(STEPS[step]?.left);
  return {
    simulator,
    configFile,
    env: environment(simulator),
    size,
    leftAfter,
    begin(step) {
      beganMs[step] = Date.now();
      simulator.setPrice(MARKET, String((STEPS[step]?.below ?? Number.NaN) - 10));
    },
    end(step) {
      const isThere = (): boolean => size() <= leftAfter(step) + 1e-9;
      const falls = (): boolean => {
        if (isThere()) return true;
        fall(0.0003);
        return false;
      };
      const waiting = { everyMs: 150, withinMs: 240_000, about: size };
      return until(falls, `a position of ${leftAfter(step)}`, waiting);
    },
    violations(overshoots) {
      const trail = {
        events: [],
        covers: new Set<string>(),
        alone: new Set<string>(),
        overshoots,
        sentFromMs: (_id: string, arrivedMs: number) => arrivedMs,
        lowestTarget: (_positionId: number, atMs: number) => targetAt(atMs),
        open: [],
      };
      return [
        ...ledgerViolations(simulator.ledger(), trail, startMs),
        ...simulator.internalErrors.map((error) => `the exchange failed: ${String(error)}`),
      ];
    },
  };
}
