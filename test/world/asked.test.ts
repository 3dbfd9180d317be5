import { expect, test } from 'vitest';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import { isOurs } from '../support/own-orders.ts';
import { sliceOf } from '../support/slice.ts';
import { type AskedWorld, asksIn, isWithin, playAsked, stagesOfOrders } from './asked-world.ts';

/** `WORLDS=300 npm test -- test/world/asked.test.ts` plays as many; default: a slice of 64. */
const ALL = Array.from({ length: Number(process.env['WORLDS'] ?? 64) }, (_, index) => index + 1);
const SEEDS = process.env['WORLDS'] === undefined ? sliceOf(ALL, 16, 'worlds that ask') : ALL;

/** Delay of an order in flight, plus two network hops. */
const GRACE_MS = 700;
/** Duration of an allowed action: a poll, a fence, an order. */
const ACTS_WITHIN_MS = 8_000;
/** The share of the distance at which people are asked again after a veto. */
const WORSE_SHARE = 0.9;

interface Placed {
  readonly atMs: number;
  readonly stageKey: string;
  /** What this order and those beside it would leave of the position. */
  readonly left: number;
}

function placedIn({ world }: AskedWorld, stages: ReadonlyMap<string, string>): readonly Placed[] {
  const open = new Map<number, number>();
  const placed: Placed[] = [];
  let size = 0;
  for (const {
    kind,
    orderId = -1,
    amount = '0',
    atMs,
    clientOrderId = '',
    details,
  } of world.exchange.model.ledger()) {
    if (details?.['sizeAfter'] !== undefined) size = Number(details['sizeAfter']);
    if (kind === 'position_seeded') size = Number(amount);
    if (kind === 'order_cancelled') open.delete(orderId);
    if (kind === 'fill' && open.has(orderId)) {
      const rest = (open.get(orderId) ?? 0) - Number(amount);
      if (rest > 1e-9) open.set(orderId, rest);
      else open.delete(orderId);
    }
    if (kind !== 'order_placed' || !isOurs({ clientOrderId })) continue;
    open.set(orderId, Number(amount));
    const stageKey = stages.get(clientOrderId);
    if (stageKey === undefined) throw new Error('an order that nothing was written down of');
    const ordered = [...open.values()].reduce((sum, one) => sum + one, 0);
    placed.push({ atMs: atMs - world.startMs, stageKey, left: size - ordered });
  }
  return placed;
}

type Asks = ReturnType<typeof asksIn>;

/** Why an order may have been sent, by answers and prices; undefined: nothing allows it. */
function allowedBy(order: Placed, asked: AskedWorld, asks: Asks): string | undefined {
  const { atMs, stageKey } = order;
  const { given, samples, unreachable, paused, withoutAnswer } = asked;
  const own = given.filter((answer) => answer.stageKey === stageKey && answer.atMs <= atMs);
  const veto = own.findLast(({ decision }) => decision === 'veto');
  // Orders in flight at the time of a veto cannot be recalled.
  const sinceMs = veto === undefined || atMs - veto.atMs < GRACE_MS ? 0 : veto.atMs;
  const before = samples.filter((sample) => sample.atMs <= atMs + 250);
  if (before.slice(-16).some(({ isCalled }) => isCalled)) return 'called';
  const bound = Math.min(
    ...own.filter(({ decision }) => decision === 'approve').map(({ targetBase }) => targetBase),
  );
  if (order.left >= bound - 0.0011) return 'approved';
  const waits = asks.filter((ask) => ask.stageKey === stageKey && ask.atMs <= atMs && ask.atMs >= sinceMs);
  const isOver = ({ atMs: fromMs, untilMs }: Asks[number]): boolean =>
    untilMs <= atMs + 50 && !paused.some((pause) => pause.fromMs < untilMs && pause.toMs > fromMs);
  if (withoutAnswer === 'act' && waits.some(isOver)) return 'deadline';
  if (
    waits.some((ask) => unreachable.some((span) => span.fromMs < ask.untilMs && span.toMs > ask.atMs - 1_000))
  )
    return 'unreachable';
  const bySpeed = before.filter((sample) => sample.atMs >= sinceMs && isUrgent(sample, before));
  const isWorse = (distance: number): boolean =>
    veto === undefined || distance < veto.distance * WORSE_SHARE * 1.02;
  return bySpeed.some(({ distance }) => isWorse(distance)) ? 'short' : undefined;
}

type Sample = AskedWorld['samples'][number];

/** Near liquidation, or falling towards it at more than three percent a minute. */
function isUrgent({ atMs, distance, mark }: Sample, samples: readonly Sample[]): boolean {
  const earlier = samples.find((sample) => sample.atMs >= atMs - 8_000);
  return distance < 0.055 || mark < (earlier?.mark ?? mark) * 0.9955;
}

function unansweredIn(asked: AskedWorld, placed: readonly Placed[], asks: Asks): readonly string[] {
  const { given, samples, withoutAnswer, isUntroubled, world } = asked;
  if (withoutAnswer === 'hold' || !isUntroubled) return [];
  return asks.flatMap(({ stageKey, atMs, untilMs }) => {
    const actedBy = untilMs + ACTS_WITHIN_MS;
    if (actedBy > world.elapsedMs() || given.some((one) => one.stageKey === stageKey)) return [];
    const window = samples.filter((sample) => sample.atMs >= untilMs && sample.atMs <= actedBy);
    const isSmaller = window.some(({ size }) => size < (window[0]?.size ?? 0));
    const isSent = placed.some((order) => order.atMs >= atMs && order.atMs <= actedBy);
    return isSent || isSmaller ? [] : [`asked at ${atMs} until ${untilMs}: nothing was done`];
  });
}

test(
  `in ${SEEDS.length} worlds with and without answers nothing is sent without permission, and every wait ends`,
  async () => {
    const reasons = new Map<string, number>();
    for (const seed of SEEDS) {
      const asked = await playAsked(seed);
      const { world, paused } = asked;
      const trail = await auditTrailOf(world);
      const asks = asksIn(world, trail.events);
      const placed = placedIn(asked, stagesOfOrders(trail.events));
      const forbidden = placed.flatMap((order) => {
        const why = allowedBy(order, asked, asks);
        reasons.set(why ?? '', (reasons.get(why ?? '') ?? 0) + 1);
        return why === undefined ? [order] : [];
      });
      expect(forbidden, `seed ${seed}: sent without leave`).toEqual([]);
      const silent = paused.map(({ fromMs, toMs }) => ({ fromMs: fromMs + GRACE_MS * 3, toMs }));
      expect(
        placed.filter(({ atMs }) => isWithin(atMs, silent)),
        `seed ${seed}: while paused`,
      ).toEqual([]);
      expect(unansweredIn(asked, placed, asks), `seed ${seed}`).toEqual([]);
      expect(ledgerViolations(world.exchange.model.ledger(), trail, world.startMs), `seed ${seed}`).toEqual(
        [],
      );
      expect(world.exchange.model.ledger({ kinds: ['liquidation_started'] }), `seed ${seed}`).toEqual([]);
      expect((await world.audit.verify('desk')).kind, `seed ${seed}`).toBe('intact');
    }
    if (process.env['WORLDS'] !== undefined) process.stdout.write(`${JSON.stringify([...reasons])}\n`);
    // Worlds without answers, or without waits, prove nothing.
    if (SEEDS.length < 24) return;
    for (const why of ['approved', 'deadline', 'short'])
      expect(reasons.get(why) ?? 0, `${why}:`).toBeGreaterThan(0);
  },
  600_000 + 30_000 * SEEDS.length,
);
