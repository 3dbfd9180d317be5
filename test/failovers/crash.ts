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
import { until } from '../support/until.ts';

/** What was opened; closed in the reverse order, whatever fails on the way. */
export class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  readonly add = (close: () => Promise<unknown>): void => void this.#closers.push(close);

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close().catch(() => undefined);
  }
}

export const ACCOUNT = 'long';
const MARKET = 'BTC_PERP';
const FIRST = { below: 59_000, target: '0.25' };
const SECOND = { below: 56_000, target: '0.125' };

const RULES = [FIRST, SECOND]
  .map(
    ({ below }, index) => `  - id: half-${index + 1}
    on: position
    when: { markPrice: { below: ${below} } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`,
  )
  .join('');

/**
 * A position of 0.5 BTC on a simulated exchange whose price only falls: below 59,000 it is to be halved, below 56,000
 * once more. So what was done, and in which amounts, is known whatever happens on the way.
 */
export interface Crash {
  readonly simulator: RunningSimulator;
  readonly configFile: string;
  readonly env: Readonly<Record<string, string>>;
  readonly size: () => number;
  /** The price falls below the first threshold and goes on falling until the position is halved. */
  readonly beginFirst: () => void;
  readonly endFirst: () => Promise<void>;
  /** The same for the second one, as a whole. */
  readonly second: () => Promise<void>;
  /** What the ledger shows against the promise, in words. `overshoots`: orders that the audit says may add up. */
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
  const accounts = { [ACCOUNT]: { rules: ['half-1', 'half-2'] } };
  await writeFile(configFile, configText(simulator, { accounts, rules: RULES, redis }));
  const size = (): number => simulator.model.openPositions(ACCOUNT, MARKET)[0]?.amount.toNumber() ?? 0;
  const fall = (by: number): void => {
    const last = simulator.model.market(MARKET)?.last.toNumber() ?? Number.NaN;
    simulator.setPrice(MARKET, (last * (1 - by)).toFixed(1));
  };
  const set = (price: number): void => simulator.setPrice(MARKET, price.toFixed(1));
  const fallUntil = (target: string): Promise<void> => {
    const isThere = (): boolean => size() <= Number(target) + 1e-9;
    return until(
      () => {
        if (isThere()) return true;
        fall(0.0003);
        return false;
      },
      `a position of ${target}`,
      { everyMs: 150, withinMs: 60_000, about: () => size() },
    );
  };
  let secondFromMs = Number.POSITIVE_INFINITY;
  const targetAt = (atMs: number): Decimal => decimal(atMs < secondFromMs ? FIRST.target : SECOND.target);
  return {
    simulator,
    configFile,
    env: environment(simulator),
    size,
    beginFirst: () => set(FIRST.below - 10),
    endFirst: () => fallUntil(FIRST.target),
    async second() {
      secondFromMs = Date.now();
      set(SECOND.below - 10);
      await fallUntil(SECOND.target);
    },
    violations(overshoots) {
      const trail = {
        events: [],
        covers: new Set<string>(),
        overshoots,
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
