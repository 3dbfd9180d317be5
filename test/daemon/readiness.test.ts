import { expect, test } from 'vitest';
import { readinessOf } from '../../src/app/web/readiness.ts';
import { JudgedClocks, type SharedAccount } from '../../src/app/web/shared-view.ts';
import type { WatchedAccount } from '../../src/pipeline/pipeline-context.ts';
import { manualClock } from '../state/support/manual-clock.ts';

const NOW = 1_760_000_000_000;

function watched(id: string, calmMs: number, sources: readonly string[] = ['positions']): WatchedAccount {
  return {
    id,
    sources,
    leastIntervalMs: 0,
    rules: { settings: { cadence: { calmMs, alertMs: 100 } } },
  } as unknown as WatchedAccount;
}

/** A view committed `agoMs` ago, with reads that old. */
function judged(id: string, agoMs: number, ages: object, kind = 'read'): SharedAccount {
  const passage = { at: { wallMs: NOW - agoMs, monotonicMs: 0, clockId: 'other' }, plannedMs: 1000 };
  const figures = { positions: { kind }, creditLine: { kind } };
  const documents = { evaluation: { passage, ages }, figures };
  const load = { kind: 'loaded', account: { accountId: id, documents } };
  return { accountId: id, load, controls: { stamp: '', entries: [] } } as unknown as SharedAccount;
}

function ask(accounts: readonly WatchedAccount[], shared: readonly SharedAccount[], more: object = {}) {
  const view = async () => shared;
  return readinessOf({
    isAlone: () => false,
    watchesOnly: () => undefined,
    ping: async () => 'PONG',
    view,
    accounts: () => accounts,
    clocks: new JudgedClocks(manualClock(NOW)),
    ...more,
  });
}

test('it is ready when every account was judged on fresh data', async () => {
  const accounts = [watched('a', 2_000), watched('b', 60_000, ['positions', 'creditLine'])];
  const shared = [
    judged('a', 9_000, { positions: 900 }),
    judged('b', 100_000, { positions: 10, creditLine: 70_000 }),
  ];
  expect(await ask(accounts, shared)).toEqual({
    ready: true,
    checks: [
      { name: 'redis', ok: true, why: 'it answers' },
      { name: 'firstEvaluation', ok: true, why: 'all of 2 accounts have been judged' },
      { name: 'dataFresh', ok: true, why: 'the data of 2 accounts are fresh' },
    ],
  });
});

test.each([
  ['nobody has judged it', [], ['a has not been judged', 'a has no data']],
  [
    'the last judgement is too long ago',
    [judged('a', 31_000, { positions: 0 })],
    [undefined, 'a was last judged 31 s ago, 30 s at most'],
  ],
  [
    'its data are too old although it is judged',
    [judged('a', 1_000, { positions: 30_000 })],
    [undefined, 'a: positions are 31 s old, 30 s at most'],
  ],
  [
    'it is judged, but nothing was ever read',
    [judged('a', 1_000, { positions: 100 }, 'notRead')],
    [undefined, 'a: positions have not been read'],
  ],
  ['a source has not been read', [judged('a', 1_000, {})], [undefined, 'a: positions have not been read']],
  [
    'this program cannot read what is stored',
    [
      {
        accountId: 'a',
        load: { kind: 'refused', problem: { accountId: 'a', message: 'written by a newer version' } },
        controls: { stamp: '', entries: [] },
      } as unknown as SharedAccount,
    ],
    ['a: written by a newer version', 'a has no data'],
  ],
] as const)('it is not ready when %s', async (_why, shared, [unjudged, stale]) => {
  const { ready, checks } = await ask([watched('a', 10_000)], shared);
  expect(ready).toBe(false);
  expect(checks.find(({ ok, name }) => !ok && name === 'firstEvaluation')?.why).toBe(unjudged);
  expect(checks.find(({ ok, name }) => !ok && name === 'dataFresh')?.why).toBe(stale);
});

test('it is not ready while a figure that rules need has been missing for longer than data may be old', async () => {
  const shared = judged('a', 1_000, { positions: 900 });
  const { figures } = (shared.load as unknown as { account: { documents: { figures: object } } }).account
    .documents;
  const spot = { source: 'positions', error: 'figureUnknown', words: 'the distance is unknown' };
  Object.assign(figures, { failures: [{ ...spot, sinceMs: NOW - 10_000 }] });
  expect((await ask([watched('a', 2_000)], [shared])).ready).toBe(true);
  Object.assign(figures, { failures: [{ ...spot, sinceMs: NOW - 10_001 }] });
  const { checks } = await ask([watched('a', 2_000)], [shared]);
  expect(checks[2]).toMatchObject({ ok: false, why: 'a: the distance is unknown' });
});

test('one revoked key of several does not affect readiness; it is named, and if it is the only one, it does', async () => {
  const revoked = judged('b', 1_000, { positions: 500_000 }, 'notRead');
  const failures = [
    { source: 'positions', error: 'unauthenticated', httpStatus: 401, words: '', sinceMs: NOW },
  ];
  Object.assign(
    (revoked.load as unknown as { account: { documents: { figures: object } } }).account.documents.figures,
    {
      failures,
    },
  );
  const [a, b] = [watched('a', 2_000), watched('b', 2_000)];
  const { ready, checks } = await ask([a, b], [judged('a', 1_000, { positions: 900 }), revoked]);
  expect(ready).toBe(true);
  expect(checks[2]?.why).toBe('the data of 1 of 2 accounts are fresh; the exchange refuses the key of b');
  expect((await ask([b], [revoked])).ready).toBe(false);
  const stale = await ask([a, b], [judged('a', 100_000, { positions: 900 }), revoked]);
  expect(stale.checks[2]).toMatchObject({ ok: false, why: 'a was last judged 100 s ago, 10 s at most' });
  failures.splice(0, 1, { ...failures[0]!, error: 'timeout' });
  expect((await ask([a, b], [judged('a', 1_000, { positions: 900 }), revoked])).ready).toBe(false);
});

test('the age of the last judgement is that of the monotonic clock, whatever wall clocks say', async () => {
  const clock = manualClock(NOW);
  const clocks = new JudgedClocks(clock);
  const why = async (shared: SharedAccount): Promise<string | undefined> => {
    const { ready, checks } = await ask([watched('a', 2_000)], [shared], { clocks });
    return ready ? undefined : checks[2]?.why;
  };
  const last = judged('a', 1_000, { positions: 0 });
  expect(await why(last)).toBeUndefined();
  clock.stepWall(-600_000);
  clock.advance(8_900);
  expect(await why(last)).toBeUndefined();
  clock.advance(1_000);
  expect(await why(last)).toBe('a was last judged 11 s ago, 10 s at most');
  // By a host whose clock is an hour behind, and one an hour ahead: at most as old as the last look.
  for (const offMs of [3_600_000, -3_600_000]) {
    clock.advance(5_000);
    const other = judged('a', offMs, { positions: 0 });
    expect(await why(other)).toBeUndefined();
    clock.advance(10_600);
    expect(await why(other)).toMatch(/a was last judged 1[16] s ago, 10 s at most/);
  }
});

test('many accounts in trouble are counted, not all named', async () => {
  const ids = Array.from({ length: 8 }, (_, index) => `a${index}`);
  const { checks } = await ask(
    ids.map((id) => watched(id, 1_000)),
    [],
  );
  expect(checks[1]?.why).toMatch(/^a0 has not been judged; .*; a4 has not been judged; and 3 more$/);
});

test('without Redis nothing else is checked; an unreadable state is not ready', async () => {
  let asked = 0;
  const lost = await ask([watched('a', 1_000)], [], {
    ping: () => Promise.reject(new Error('redis://:password@host is gone')),
    view: async () => {
      asked += 1;
      return { atMs: NOW, accounts: [] };
    },
  });
  expect([lost.ready, asked]).toEqual([false, 0]);
  expect(JSON.stringify(lost)).not.toContain('password');
  const unreadable = await ask([watched('a', 1_000)], [], { view: () => Promise.reject(new Error('lost')) });
  expect(unreadable.checks.map(({ ok }) => ok)).toEqual([true, false, false]);
});
