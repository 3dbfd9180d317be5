import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FieldCache } from '../../../src/core/fields/field-cache.ts';
import { type FieldSpec, fieldsOf } from '../../../src/core/fields/field-catalogue.ts';
import type { FieldQuantity } from '../../../src/core/fields/field-values.ts';
import { readPosition } from '../../../src/core/lanes/market-read.ts';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import { jointLiquidationPrice, marginBehind } from '../../../src/core/quantities/joint-pool.ts';
import {
  leastJointDistance,
  leastUniformDistance,
} from '../../../src/core/quantities/least-joint-distance.ts';
import { known, type Quantity, unknown } from '../../../src/core/quantities/quantity.ts';
import type { Motion } from '../../../src/core/risk/forecast.ts';
import type { FieldParameter, SubjectKind } from '../../../src/core/rules/rule.ts';
import { Dice } from '../../support/dice.ts';
import { at } from '../rules/fixtures.ts';
import { settingsOf, snapshotOf } from './scenes.ts';

/**
 * Every field of random accounts, and what their positions share: kept for review.
 * `npm test -- test/core/quantities/scenes.test.ts --update` rewrites the transcript.
 */

const MOTION: Motion = { variancePerMs: 1e-4 / 86_400_000, driftPerMs: -0.024 / 86_400_000 };

/** Rounded, as the last digits of logarithms differ between platforms. */
const shown = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'number' && Number.isFinite(one) ? Number(one.toPrecision(9)) : one,
  );

function parametersOf({ parameters }: FieldSpec): readonly FieldParameter[] {
  const names = new Set(parameters.map(({ name }) => name));
  const windowMs = names.has('windowMs') ? { windowMs: 3_600_000 } : {};
  if (names.has('asset')) return ['USDT', 'BTC', 'USDC'].map((asset) => Object.assign({ asset }, windowMs));
  if (names.has('source'))
    return [{}, { source: 'positions' }, { source: 'transfers' }] as readonly FieldParameter[];
  return [windowMs];
}

function fieldsIn<K extends SubjectKind>(on: K, subject: Parameters<FieldCache<K>['load']>[0]): string {
  const cache = new FieldCache(on);
  const slots = fieldsOf(on).flatMap((spec) =>
    parametersOf(spec).map((parameter) => [spec.name, cache.slot(spec.name, parameter)] as const),
  );
  cache.load(subject);
  const short = (quantity: FieldQuantity): string =>
    quantity.kind === 'unknown'
      ? quantity.why
      : quantity.kind === 'none'
        ? 'none'
        : `${quantity.kind === 'value' ? '' : quantity.kind}${shown(quantity.value)}`;
  return slots.map(([name, slot]) => `${name} ${short(cache.read(slot))}`).join(', ');
}

function linesOf(dice: Dice): readonly string[] {
  const snapshot = snapshotOf(dice);
  const settings = settingsOf(dice);
  const account = new AccountQuantities(snapshot, settings, at(dice.of(0, 0, 500)));
  if (dice.hits(0.2)) {
    account.noteUncertain(
      dice.of(
        [{}],
        [{ market: 'BTC_PERP', direction: 'long' }],
        [{ market: 'SOL_PERP', direction: dice.of('long', 'short') }],
      ),
      new Set(dice.of([], ['USDT'])),
    );
  }
  const motion: Quantity<Motion> = dice.hits(0.7) ? known(MOTION) : unknown('notRead');
  const unprotectedMs = dice.of(known(0), known(61_000), unknown('notRead'));
  const { pool } = account;
  return [
    fieldsIn('account', account),
    shown(
      [pool, leastJointDistance(account), leastUniformDistance(account.positions, settings)].map((one) =>
        shareOf(one),
      ),
    ),
    ...account.positions.flatMap((position) => {
      const jointPrice = jointLiquidationPrice(position, pool, settings);
      const margin = marginBehind(position, pool, settings);
      return [
        fieldsIn('position', { account, position, motion, unprotectedMs }),
        shown([
          readPosition(position, { margin, jointPrice, motion, horizonMs: 60_000 }),
          [position.exactMarkPrice, position.exactLiquidationPrice],
          account.standingCoverOf(position),
          account.coverOf(position),
          account.isHedged(position),
        ]),
      ];
    }),
    ...account.creditLines.map((creditLine) => fieldsIn('creditLine', { account, creditLine, motion })),
  ];
}

/** Only the ids of positions: their values are listed elsewhere. */
function shareOf(one: unknown): unknown {
  return JSON.parse(
    JSON.stringify(one ?? null, (key, value: unknown) =>
      key === 'positions'
        ? (value as readonly { record: { positionId: string } }[]).map(({ record }) => record.positionId)
        : value,
    ),
  );
}

test('any account, in all of its fields', async () => {
  const dice = new Dice(41);
  const lines = Array.from({ length: 25 }, (_, index) => [`-- ${index}`, ...linesOf(dice)].join('\n'));
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test('no field leaves its bounds, and nothing is nearer than all markets together', () => {
  const dice = new Dice(42);
  for (let index = 0; index < 500; index += 1) {
    const account = new AccountQuantities(snapshotOf(dice), settingsOf(dice), at(0));
    const { jointDistance, positions } = account;
    const motion = known(MOTION);
    for (const position of positions) {
      const distance = position.liquidationDistance;
      if (jointDistance.kind === 'value' && distance.kind === 'value') {
        expect(jointDistance.value).toBeLessThanOrEqual(distance.value);
      }
      const cache = new FieldCache('position');
      cache.load({ account, position, motion, unprotectedMs: known(0) });
      for (const spec of fieldsOf('position')) {
        if (spec.type !== 'number') continue;
        const quantity = cache.read(cache.slot(spec.name, { windowMs: 3_600_000 }));
        if (quantity.kind !== 'value') continue;
        expect(quantity.value).toBeGreaterThanOrEqual(spec.minimum ?? -Infinity);
        expect(quantity.value).toBeLessThanOrEqual(spec.maximum ?? Infinity);
      }
    }
  }
});

test.for([1, 2, 3, 4, 5])('two hundred accounts by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 200; index += 1) hash.update(linesOf(dice).join('\n'));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});
