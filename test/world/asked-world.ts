import { isAnswerable, latestOf, stageOf } from '../../src/core/approvals/question.ts';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { TimedEvent } from '../../src/world/spec.ts';
import { longAccount } from './long-account.ts';

/** An answer, and the state of the exchange at that time. Times are milliseconds since the start. */
interface Given {
  readonly atMs: number;
  readonly stageKey: string;
  readonly decision: 'approve' | 'veto';
  /** The size that was to be left at most, as shown. */
  readonly targetBase: number;
  readonly distance: number;
}

interface Sample {
  readonly atMs: number;
  readonly size: number;
  readonly distance: number;
  readonly mark: number;
  readonly isCalled: boolean;
}

interface Ask {
  readonly stageKey: string;
  readonly atMs: number;
  readonly untilMs: number;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface AskedWorld {
  readonly world: World;
  readonly withoutAnswer: 'act' | 'hold';
  readonly given: readonly Given[];
  readonly samples: readonly Sample[];
  readonly unreachable: readonly Span[];
  readonly paused: readonly Span[];
  /** Without any other trouble than prices and answers. */
  readonly isUntroubled: boolean;
}

export const DURATION_MS = 110_000;
const STEP_MS = 250;
const FIRES_BELOW = 0.095;

function pick<T>(random: SeededRandom, choices: readonly T[]): T {
  return choices[random.below(choices.length)] as T;
}

function configOf(random: SeededRandom, withoutAnswer: 'act' | 'hold'): string {
  const action = pick(random, ['by: 50%', 'untilDistance: 14%', 'to: 30%']);
  const later = 'escalate: [{ after: 25s, do: [{ reduce: { to: 10%, slippage: 1% } }] }]';
  return `mode: approve
exchange: { baseUrls: ["https://one.example"] }
cadence: { calm: 2s, alert: 1s }
acting: { fillWithin: 2s }
approval: { within: ${pick(random, ['6s', '12s', '20s'])}, withoutAnswer: ${withoutAnswer} }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: ${FIRES_BELOW * 100}%, clearAbove: 40% } }
    do: [{ reduce: { ${action}, slippage: 1% } }]
    ${random.below(2) === 0 ? later : ''}
    severity: critical
`;
}

/** Small waves, in which stops trigger, around a price that falls in steps. */
function pointsOf(random: SeededRandom): [number, string][] {
  const points: [number, string][] = [
    [0, '60000'],
    [5_000, '60000'],
  ];
  let level = 59_400;
  for (let atMs = 6_000; atMs < DURATION_MS; atMs += 1_000) {
    if (random.below(14) === 0) level -= random.below(4) === 0 ? 1_600 : 350;
    points.push([atMs, String(level + (random.below(3) - 1) * 90)]);
  }
  return points;
}

interface Plan {
  readonly events: TimedEvent[];
  readonly unreachable: Span[];
  readonly paused: Span[];
}

function troublesOf(random: SeededRandom, daemons: number): Plan {
  const plan: Plan = { events: [], unreachable: [], paused: [] };
  for (let left = random.below(4); left > 0; left--) {
    const fromMs = 3_000 + random.below(80_000);
    const toMs = fromMs + 2_000 + random.below(20_000);
    const kind = random.below(5);
    const both = (begin: TimedEvent, end: TimedEvent): void => void plan.events.push(begin, end);
    if (kind === 0) {
      plan.unreachable.push({ fromMs, toMs });
      const of = { kind: 'people' } as const;
      both({ ...of, atMs: fromMs, state: 'unreachable' }, { ...of, atMs: toMs, state: 'reachable' });
    } else if (kind === 1) {
      plan.paused.push({ fromMs, toMs });
      const account = 'desk';
      both({ atMs: fromMs, kind: 'pause', account }, { atMs: toMs, kind: 'unpause', account });
    } else if (kind === 2) {
      both({ atMs: fromMs, kind: 'store', state: 'down' }, { atMs: toMs, kind: 'store', state: 'up' });
    } else if (kind === 3) {
      const daemon = NAMES[random.below(daemons)] ?? 'north';
      both({ atMs: fromMs, kind: 'kill', daemon }, { atMs: toMs, kind: 'start', daemon });
    } else {
      const of = { kind: 'trade', account: 'desk', market: 'BTC_PERP', amount: '0.060' } as const;
      plan.events.push({ ...of, atMs: fromMs, side: random.below(2) === 0 ? 'buy' : 'sell' });
    }
  }
  plan.events.sort((a, b) => a.atMs - b.atMs);
  return plan;
}

const NAMES = ['north', 'south'];

/** Plays a world in which people are asked, and sometimes answer; all from its seed. */
export async function playAsked(seed: number): Promise<AskedWorld> {
  const random = createRandom(seed * 6_007 + 5);
  const withoutAnswer = pick(random, ['act', 'act', 'hold'] as const);
  const count = 1 + random.below(2);
  const config = configOf(random, withoutAnswer);
  const prices = [{ market: 'BTC_USDT', points: pointsOf(random), tickMs: 100 }];
  const { events, ...spans } = troublesOf(random, count);
  const world = openWorld({
    seed,
    durationMs: DURATION_MS,
    exchange: {
      accounts: [longAccount('3900', { id: 'desk', leverage: 30 })],
    },
    prices,
    daemons: NAMES.slice(0, count).map((name) => ({ name, config })),
    events,
  });
  // In some worlds they answer soon, in some seldom.
  const answersIn = pick(random, [16, 80, 4_000]);
  const given: Given[] = [];
  const samples: Sample[] = [];
  for (let atMs = 0; atMs < DURATION_MS; atMs += STEP_MS) {
    await world.run(atMs);
    samples.push(sampleOf(world, atMs));
    // Nobody can answer while the store is down.
    const isLost = isWithin(atMs, lossesIn(events));
    if (!isLost && random.below(answersIn) === 0) given.push(...(await answerOne(world, random, atMs)));
  }
  await world.run();
  return { world, withoutAnswer, given, samples, ...spans, isUntroubled: events.length === 0 };
}

function lossesIn(events: readonly TimedEvent[]): readonly Span[] {
  const times = events.filter(({ kind }) => kind === 'store').map(({ atMs }) => atMs);
  return times.length === 0 ? [] : [{ fromMs: Math.min(...times) - 1_000, toMs: Math.max(...times) + 6_000 }];
}

export function isWithin(atMs: number, spans: readonly Span[]): boolean {
  return spans.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
}

function sampleOf({ exchange }: World, atMs: number): Sample {
  const [position] = exchange.model.openPositions('desk');
  const mark = position?.markPrice.toNumber() ?? 0;
  const liquidation = position?.liquidationPrice?.toNumber() ?? 0;
  return {
    atMs,
    mark,
    size: position?.amount.toNumber() ?? 0,
    distance: mark === 0 ? 1 : (mark - liquidation) / mark,
    isCalled: (position?.liquidationState ?? null) !== null,
  };
}

async function answerOne(world: World, random: SeededRandom, atMs: number): Promise<readonly Given[]> {
  const { load } = await world.store.read('desk');
  const questions = load.kind === 'loaded' ? (load.account.documents.approvals?.questions ?? []) : [];
  const open = questions.filter((question) => isAnswerable(question) && latestOf(question) !== undefined);
  const question = open[random.below(Math.max(1, open.length))];
  const shown = question && latestOf(question);
  if (question === undefined || shown === undefined) return [];
  const decision = pick(random, ['approve', 'veto'] as const);
  const words = { questionId: question.id, revision: shown.revision, author: 'ann', reason: 'seen' };
  const reply = await world.operators.answer('desk', { ...words, decision });
  if (reply.kind !== 'taken') return [];
  const targetBase = Math.min(...shown.targets.map((target) => Number(target.targetBase)));
  const { distance } = sampleOf(world, atMs);
  return [{ atMs, stageKey: question.stageKey, decision, targetBase, distance }];
}

/** Questions to people, by the notices that were sent. */
export function asksIn({ startMs, daemons }: World, events: readonly AuditEvent[]): readonly Ask[] {
  const notices = daemons.flatMap((daemon) => daemon.notices);
  return notices.flatMap(({ approval, atMs }) => {
    if (approval === undefined) return [];
    const event = events.find(
      ({ kind, words }) => kind === 'approvalAsked' && words.startsWith(`${approval.reference}:`),
    );
    if (event?.key === undefined) throw new Error(`nothing asked ${approval.reference}`);
    return [{ stageKey: event.key, atMs: atMs - startMs, untilMs: approval.untilMs - startMs }];
  });
}

/** By client order id: the stage that an order belongs to. */
export function stagesOfOrders(events: readonly AuditEvent[]): ReadonlyMap<string, string> {
  return new Map(
    events.flatMap(({ kind, key, order }) =>
      kind !== 'placing' || key === undefined || order === undefined
        ? []
        : [[order.clientOrderId, stageOf(key)] as const],
    ),
  );
}
