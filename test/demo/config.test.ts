import { describe, expect, test } from 'vitest';
import type { CompiledConfig } from '../../src/config/compiled-config.ts';
import { PROTECTED, TWIN } from '../../src/demo/accounts.ts';
import { demoConfigText, secretName } from '../../src/demo/config.ts';
import { overrideLimits } from '../../src/exchange/limits/rate-limit-table.ts';
import { loaded, problemsOf } from '../config/support.ts';

const env = Object.fromEntries(
  [PROTECTED, TWIN].flatMap((id) => [
    [secretName('KEY', id), `key of ${id}`],
    [secretName('SECRET', id), `secret of ${id}`],
  ]),
) as Record<string, string>;

function textAt(speed: number): string {
  return demoConfigText({
    baseUrls: ['http://127.0.0.1:1', 'http://127.0.0.1:2'],
    redis: { url: 'redis://127.0.0.1:3', prefix: 'demo' },
    speed,
  });
}

/** Every number of a config by its path, including defaults. */
function numbersOf(value: unknown, path = ''): readonly (readonly [path: string, value: number])[] {
  if (typeof value === 'number') return [[path, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => numbersOf(inner, `${path}/${key}`));
}

/** Numbers of the config, and of the defaults that are filled in later. */
function numbersAt(speed: number): ReadonlyMap<string, number> {
  const config: CompiledConfig = loaded(textAt(speed), { env });
  return new Map([
    ...numbersOf(config),
    ...numbersOf(overrideLimits(config.exchange.limits), '/exchange/limits'),
  ]);
}

/** The key of a number, directly or in a list. */
const nameOf = (path: string): string => /([^/]+)$/.exec(path.replace(/(\/\d+)+$/, ''))?.[1] ?? '';
const isDuration = (path: string): boolean => nameOf(path).endsWith('Ms');

const DURATIONS = [
  'alertMs',
  'attemptTimeoutMs',
  'callTimeoutMs',
  'calmMs',
  'cooldownMs',
  'fillWithinMs',
  'forMs',
  'intentTtlMs',
  'keepFiringForMs',
  'lateArrivalMs',
  'maxOrderReadAgeMs',
  'maxSnapshotAgeMs',
  'periodMs',
  'readLagMs',
  'remindEveryMs',
];

/** Numbers that are not durations. A number missing here is new: if it is a time, the demo must scale it. */
const NO_DURATIONS = [
  'basisAllowance',
  'clearAbove',
  'distance',
  'distanceTolerance',
  'largestReduction',
  'limit',
  'maintenanceMargin',
  'maxAttempts',
  'maxRenewals',
  'maxSlippage',
  'mostSets',
  'port',
  'reductionCost',
  'reservedShare',
  'share',
  'slippageSteps',
  'threshold',
];

describe("the config of the demo's daemon", () => {
  test.each([1, 1.37, 5, 12.5, 20])('is accepted at speed %d', (speed) => {
    expect(problemsOf(textAt(speed), { env }).filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test.each([2, 5, 12.5, 20])('at speed %d every duration is divided by it', (speed) => {
    const real = numbersAt(1);
    const scaled = numbersAt(speed);
    expect([...scaled.keys()]).toEqual([...real.keys()]);
    const wrong = [...real]
      .filter(([path]) => isDuration(path))
      .map(([path, ms]) => ({ path, expected: ms / speed, got: scaled.get(path) ?? Number.NaN }))
      .filter(({ expected, got }) => !(Math.abs(got - expected) <= 0.5));
    expect(wrong).toEqual([]);
  });

  test('no other number is changed', () => {
    const others = (speed: number) => [...numbersAt(speed)].filter(([path]) => !isDuration(path));
    expect(others(20)).toEqual(others(1));
  });

  test('durations are recognized by name, and the names cover all of them', () => {
    const names = new Set([...numbersAt(1).keys()].map(nameOf));
    const durations = [...names].filter((name) => name.endsWith('Ms'));
    expect(durations.toSorted()).toEqual(expect.arrayContaining(DURATIONS));
    const others = [...names].filter((name) => !name.endsWith('Ms'));
    expect(others.toSorted()).toEqual(NO_DURATIONS);
  });

  test('acts for the protected account, and only observes its twin', () => {
    const modes = loaded(textAt(5), { env }).accounts.map(({ id, settings }) => [id, settings.mode]);
    expect(modes).toEqual([
      [PROTECTED, 'enforce'],
      [TWIN, 'observe'],
    ]);
  });
});
