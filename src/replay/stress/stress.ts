import { decimal } from '../../core/quantities/decimal.ts';
import type { FaultSpec } from '../../simulator/http/faults.ts';
import type { MarketTerms, TimedEvent } from '../../world/spec.ts';
import { netCoins } from '../exposure.ts';
import { type AccountRecord, OWN_CONFIG, UNPROTECTED } from '../record.ts';
import type { ReplayHooks } from '../replay.ts';
import { type ConfigText, priceStepOf, type RunPlan } from '../run/plan.ts';
import { runWorld } from '../run/run-world.ts';
import { CALM, type FieldConditions, type Outage } from '../scenarios/conditions.ts';
import { durationMsOf, firstMoveMs, type Scenario, scenarioPrices } from '../scenarios/scenario.ts';

/** `startMs`: when every scenario begins. */
export interface StressPlan extends Pick<RunPlan, 'seed' | 'startMs' | 'accounts'> {
  /** Start prices, as text, of every market that matters to the accounts. */
  readonly prices: Readonly<Record<string, string>>;
  readonly terms: Readonly<Record<string, MarketTerms>>;
  readonly config: ConfigText;
  /** Each is played under all `conditions`. */
  readonly scenarios: readonly Scenario[];
  readonly conditions: readonly FieldConditions[];
  /** Each is played under calm conditions. */
  readonly grid: readonly Scenario[];
  /** Moves of markets as multiples of the majors' move; absent markets move as usual for their coin. */
  readonly betas: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
}

export type StressRecord = Awaited<ReturnType<typeof runStress>>;

/** One scenario under one set of conditions. */
export type StressCase = NonNullable<Awaited<ReturnType<typeof playCase>>>;
export type StressedAccount = StressCase['accounts'][number];

export interface StressHooks extends ReplayHooks {
  /** Called with each case as soon as it has been played. */
  readonly onCase?: (played: StressCase) => void;
}

/** Plays every scenario without and with the rules. If stopped early, the record has the finished cases. */
export async function runStress(plan: StressPlan, hooks: StressHooks) {
  const startedMs = hooks.nowMs();
  const list = [
    ...plan.scenarios.flatMap((scenario) => plan.conditions.map((conditions) => ({ scenario, conditions }))),
    ...plan.grid.map((scenario) => ({ scenario, conditions: CALM })),
  ];
  const totalMs = list.reduce((sum, { scenario }) => sum + durationMsOf(scenario), 0);
  const cases: StressCase[] = [];
  let doneMs = 0;
  for (const one of list) {
    hooks.onProgress?.(doneMs / totalMs, `${one.scenario.title}, ${one.conditions.id}`);
    const played = await playCase(plan, one.scenario, one.conditions, hooks.signal);
    if (played === undefined) break;
    cases.push(played);
    hooks.onCase?.(played);
    doneMs += durationMsOf(one.scenario);
  }
  const { seed, notes } = plan;
  const wallMs = Math.round(hooks.nowMs() - startedMs);
  return { seed, wallMs, stopped: cases.length < list.length, notes, cases };
}

/** Plays one case without and with the rules; `undefined`: stopped. */
async function playCase(
  plan: StressPlan,
  scenario: Scenario,
  conditions: FieldConditions,
  signal: AbortSignal | undefined,
) {
  const without = await runWorld(planOf(plan, scenario, conditions, UNPROTECTED), { signal });
  const withRules = await runWorld(planOf(plan, scenario, conditions, OWN_CONFIG), { signal });
  if (signal?.aborted === true) return undefined;
  const accounts = without.record.accounts.flatMap((before) => {
    const after = withRules.record.accounts.find((one) => one.id === before.id);
    if (after === undefined) return [];
    const { id, equityStart } = before;
    return [{ id, equityStart, without: outcomeOf(before), withRules: outcomeOf(after) }];
  });
  const { id, title, about, kind } = scenario;
  return { scenario: { id, title, about, kind }, conditions: conditions.id, accounts };
}

function outcomeOf({ equityEnd, closedFraction, orders, liquidatedAtMs }: AccountRecord) {
  return { liquidated: liquidatedAtMs !== null, equityEnd, closedFraction, orders };
}

/** Only the final state matters, so accounts are sampled rarely; the market moves on in between. */
const LOOK_MS = 60_000;

function planOf(
  plan: StressPlan,
  scenario: Scenario,
  conditions: FieldConditions,
  variant: typeof UNPROTECTED | typeof OWN_CONFIG,
): RunPlan {
  const { seed, startMs, accounts, prices, terms, config, betas } = plan;
  const { latency, faults, outages } = conditions;
  const dated = ({ fromPercent, forMs, fault }: Outage): FaultSpec => {
    const fromMs = startMs + firstMoveMs(scenario, fromPercent);
    return { ...fault, fromMs, untilMs: fromMs + forMs };
  };
  return {
    variant,
    path: scenario.id,
    seed,
    startMs,
    durationMs: durationMsOf(scenario),
    accounts,
    markets: terms,
    startPrices: prices,
    sources: new Map(
      Object.entries(prices).map(([market, price]) => {
        const [startPrice, priceStep] = [decimal(price), priceStepOf(terms, market)];
        const place = { market, startMs, startPrice, priceStep, beta: betas[market] };
        return [market, scenarioPrices(scenario, place)] as const;
      }),
    ),
    conditions: { latency, faults: [...faults, ...outages.map(dated)] },
    lookMs: LOOK_MS,
    events: marketEvents(plan, scenario, conditions),
    config: variant === UNPROTECTED ? undefined : config,
  };
}

/** Stress of every market with positions; the basis moves against the accounts' net holdings. */
function marketEvents(
  { accounts }: StressPlan,
  scenario: Scenario,
  { market: stress }: FieldConditions,
): readonly TimedEvent[] {
  if (stress === undefined) return [];
  const { fromPercent, depthFactor: factor, spread, basis, basisOverMs: overMs } = stress;
  const atMs = firstMoveMs(scenario, fromPercent);
  const markets = new Set(accounts.flatMap(({ positions }) => positions.map(({ market }) => market)));
  return [...markets].flatMap((market): readonly TimedEvent[] => {
    const ratio = netCoins(market, accounts) < 0 ? basis : `-${basis}`;
    return [
      { atMs, kind: 'condition', condition: { kind: 'depth', market, factor, spread } },
      { atMs, kind: 'condition', condition: { kind: 'basis', market, ratio, overMs } },
    ];
  });
}
