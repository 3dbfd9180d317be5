import { describe, expect, test } from 'vitest';
import { recorder } from '../../../src/core/audit/audit-event.ts';
import { reopenIfWorse } from '../../../src/core/intents/renew.ts';
import { observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import type { Intent } from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import { at, Driver } from '../lanes/driver.ts';
import { action, all, half, MARKET, market, readPositionOf } from '../lanes/fixtures.ts';

/** An intent that ended while its rule still fires, and the next read. */
function ended(end: NonNullable<Intent['end']>, endDistance: number | null = 0.05): Driver {
  const driver = new Driver().read(at({})).ask(action(half));
  const intents = driver.state.intents.map((intent) => ({ ...intent, end, endDistance, endedMs: 0 }));
  driver.state = { ...driver.state, intents };
  return driver;
}

const openAt = (driver: Driver, liquidation: string): boolean =>
  driver.later(1_000).read(at({ liquidation })).intents()[0]?.end === null;

describe('an intent that failed while its rule fires', () => {
  test.each(['refused:vetoed', 'refused:notAnswered'] as const)(
    'stays failed after a refusal by people (%s), however near liquidation comes',
    (why) => {
      const driver = ended({ how: 'failed', why })
        .later(1_000)
        .read(at({ liquidation: '990' }));
      const { state, nowMs, context } = driver;
      const [intent] = state.intents;
      const { read } = state;
      if (intent === undefined || read === null) return expect.fail('nothing is wanted');
      const audit = recorder('desk', MARKET, nowMs);
      const { settings } = context;
      const scene = {
        state,
        before: state,
        settings,
        nowMs,
        audit,
        read,
        exposure: read,
        mayStart: true,
        market,
      };
      expect(reopenIfWorse(intent, read.positions[0], scene)).toBe(intent);
      const tired: Intent = { ...intent, end: { how: 'failed', why: 'attempts' } };
      expect(reopenIfWorse(tired, read.positions[0], scene).end).toBeNull();
    },
  );

  test.each([
    ['990', 0.05, true],
    ['956', 0.05, true],
    ['954.9', 0.05, false],
    ['950', 0.05, false],
    ['990', null, false],
  ])(
    'is tried again after failed attempts when clearly nearer: at %s, from %d',
    (liquidation, distance, isOpen) => {
      expect(openAt(ended({ how: 'failed', why: 'attempts' }, distance), liquidation)).toBe(isOpen);
    },
  );
});

describe('the stages of an episode share the size at firing', () => {
  const long = readPositionOf({ positionId: '41', sizeBase: '2' as DecimalString, positionSide: 'LONG' });
  const other = readPositionOf({ positionId: '42', sizeBase: '1' as DecimalString, positionSide: 'LONG' });
  const request = action(half, { subject: 'account', subjectKind: 'account' });

  function asked(driver: Driver, ...stages: readonly (readonly [string, number])[]): Driver {
    const entries = stages.map(([positionId, stage]) => ({
      request: { ...request, stage, actionIndex: Number(positionId) },
      positionId,
    }));
    driver.apply(observeRequests(driver.state, entries, true, driver.context.settings, driver.nowMs));
    return driver;
  }

  const targets = (driver: Driver) =>
    driver.intents().map(({ positionId, stage, targetBase }) => [positionId, stage, targetBase]);

  test('separately for each position', () => {
    const driver = new Driver({ hedge: 'perLeg' }).read(long, other);
    expect(targets(asked(driver, ['41', 0], ['42', 0]))).toEqual([
      ['41', 0, '1'],
      ['42', 0, '0.5'],
    ]);
  });

  test('a second halving of the same size leaves nothing to do', () => {
    const driver = asked(new Driver({ hedge: 'perLeg' }).read(long), ['41', 0]);
    driver.intents();
    driver.next();
    const halved = readPositionOf({ ...long, sizeBase: '1.5' as DecimalString });
    driver.later(1_000).read(halved);
    expect(targets(asked(driver, ['41', 0], ['41', 1]))).toEqual([
      ['41', 0, '1'],
      ['41', 1, '1'],
    ]);
  });

  test('what a stop closes in the same episode does not count as closed by the rule', () => {
    const driver = asked(new Driver({ hedge: 'perLeg' }).read(long), ['41', 0]);
    driver.next();
    const [rule] = driver.state.intents;
    if (rule === undefined) expect.fail('nothing is wanted');
    const cover: Intent = { ...rule, source: 'cover', key: 'stop', targetBase: '0.5' as DecimalString };
    driver.state = { ...driver.state, intents: [cover] };
    driver.later(1_000).read(readPositionOf({ ...long, sizeBase: '1.5' as DecimalString }));
    const fired = asked(driver, ['41', 1])
      .intents()
      .find(({ source }) => source === 'rule');
    expect(fired?.targetBase).toBe('0.75');
    expect(driver.ask(action(all)).reasons('targetSet')).toContain('by');
  });
});
