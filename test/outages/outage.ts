import type { Point } from '../../src/pipeline/points.ts';
import { chanceOf } from '../../src/world/chance.ts';

/** Moments in the life of an action at which Redis is killed. */
export type Moment =
  | { readonly name: string; readonly kind: 'time'; readonly afterBreachMs: number }
  /** The first time after the breach that a daemon passes a point. */
  | { readonly name: string; readonly kind: 'point'; readonly point: Point }
  /** When the exchange has accepted the order, whose reply is late or lost. */
  | {
      readonly name: string;
      readonly kind: 'order';
      readonly afterMs: number;
      readonly reply: 'late' | 'lost';
    }
  | { readonly name: string; readonly kind: 'fill' };

const at = (name: string, point: Point): Moment => ({ name, kind: 'point', point });

export const MOMENTS: readonly Moment[] = [
  { name: '3 s before', kind: 'time', afterBreachMs: -3_000 },
  { name: '1 s before', kind: 'time', afterBreachMs: -1_000 },
  { name: 'at the breach', kind: 'time', afterBreachMs: 0 },
  at('a tick begins', 'poll.taking'),
  at('accounts are taken', 'poll.taken'),
  at('positions are asked for', 'poll.reading'),
  at('positions are read', 'poll.read'),
  at('rules are judged', 'poll.evaluated'),
  at('before the commit', 'poll.committing'),
  at('after the commit', 'poll.committed'),
  at('the lane is taken', 'lane.acquired'),
  at('the step is planned', 'lane.advanced'),
  at('the order is written ahead', 'step.begun'),
  at('the order leaves', 'step.sending'),
  { name: 'the order arrives, its reply is late', kind: 'order', afterMs: 0, reply: 'late' },
  { name: 'the order arrives, its reply is lost', kind: 'order', afterMs: 0, reply: 'lost' },
  at('the answer comes', 'step.answered'),
  at('the outcome is written', 'step.finished'),
  { name: 'the order stands', kind: 'order', afterMs: 400, reply: 'late' },
  { name: 'after the fill', kind: 'fill' },
];

/** The moments at which no request was under way. */
export function isCalm(moment: Moment): boolean {
  return (
    moment.kind === 'time' ||
    moment.kind === 'fill' ||
    (moment.kind === 'point' && moment.point.startsWith('poll.'))
  );
}

export const PARTITIONS = ['redis', 'exchange', 'oneFromRedis', 'oneWay', 'flapping'] as const;
export type Partition = (typeof PARTITIONS)[number];

/** An outage to play, as plain JSON. */
export type Outage = {
  readonly seed: number;
  readonly instances: 1 | 2;
  readonly downMs: number;
} & (
  | { readonly kind: 'killed'; readonly moment: number }
  | {
      readonly kind: 'partition';
      readonly between: Partition;
      readonly afterBreachMs: number;
      /** The affected daemon, if only one of two is affected. */
      readonly cut: 0 | 1;
    }
);

export function nameOf(outage: Outage): string {
  return outage.kind === 'killed' ? (MOMENTS[outage.moment]?.name ?? '') : outage.between;
}

/** Moments spread evenly over the whole list. */
export function killedOutages(
  seed: number,
  moments: number,
  instances: 1 | 2,
  downMs: number,
): readonly Outage[] {
  const chance = chanceOf(seed, 'moments');
  const first = Math.floor(chance.uniform() * MOMENTS.length);
  return Array.from({ length: moments }, (_, index) => ({
    kind: 'killed' as const,
    seed: seed + index,
    instances,
    downMs,
    moment:
      (first + Math.floor((index * MOMENTS.length) / Math.min(moments, MOMENTS.length))) % MOMENTS.length,
  }));
}

export function partitionOutages(
  seed: number,
  runs: number,
  between: Partition,
  downMs: number,
): readonly Outage[] {
  return Array.from({ length: runs }, (_, index) => {
    const chance = chanceOf(seed + index, between);
    return {
      kind: 'partition' as const,
      seed: seed + index,
      instances: between === 'oneFromRedis' || chance.uniform() < 0.5 ? (2 as const) : (1 as const),
      downMs,
      between,
      afterBreachMs: Math.round(-4_000 + chance.uniform() * 6_000),
      cut: chance.uniform() < 0.5 ? (0 as const) : (1 as const),
    };
  });
}
