import { expect, test } from 'vitest';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';
import type { StoredAccount } from '../../../src/core/ports/state-store.ts';
import { snapshotOf } from '../../../src/pipeline/poll/observe-account.ts';
import { Driver, at as position } from '../../core/lanes/driver.ts';
import { action, protect } from '../../core/lanes/fixtures.ts';
import { at } from '../../core/rules/fixtures.ts';

function lane(): LaneState {
  const driver = new Driver().read(position({})).ask(action(protect));
  driver.place();
  return driver.state;
}

function seen(lanes: readonly LaneState[], epochId = 'epoch') {
  const stored = {
    accountId: 'desk',
    epoch: { id: epochId, why: 'empty', sinceMs: 0 },
    lanes: new Map(lanes.map((one) => [one.market, one])),
  } as unknown as StoredAccount;
  const observation = {
    sources: {},
    at: at(0),
    positions: undefined,
    readings: undefined,
    failures: [],
    kept: {},
  };
  return snapshotOf(observation, stored).ownStops.map(({ confirmed }) => confirmed);
}

test('only the confirmed stops in the lanes of all markets count as cover', () => {
  const standing = lane();
  const [order] = standing.orders;
  if (order === undefined) throw new Error('no order');
  const other = (change: Partial<typeof order>): LaneState => ({
    ...standing,
    market: 'ETH_PERP',
    orders: [{ ...order, ...change }],
  });
  expect(seen([standing, other({})])).toEqual([true, true]);
  expect(seen([standing, other({ presumedFilled: true })])).toEqual([true]);
  expect(seen([standing, other({ activatedMs: 1 })])).toEqual([true, false]);
  expect(seen([standing, other({ reachedMs: 1 })])).toEqual([true, false]);
  expect(seen([standing, other({ status: 'unsure' })])).toEqual([true, false]);
  expect(seen([standing], 'a store epoch that began since')).toEqual([false]);
});
