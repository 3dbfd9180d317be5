import { describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import { type Acknowledgement, NOTHING_IN_FORCE, type Silence } from '../../../src/core/controls/controls.ts';
import type { StoredAlerts } from '../../../src/core/ports/state-store.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { emptyView } from '../../../src/core/view/account-view.ts';
import type { ReadFailure } from '../../../src/core/view/stored-figures.ts';
import type { AlertScene } from '../../../src/pipeline/alerts/alert-scene.ts';
import { alertsDue, markHanded, raise } from '../../../src/pipeline/alerts/alerts-due.ts';
import type { WatchedAccount } from '../../../src/pipeline/pipeline-context.ts';
import { above, at, rule, settings } from '../../core/rules/fixtures.ts';

const REQUEST: ActionRequest = {
  accountId: 'desk-1',
  ruleId: 'near',
  ruleChecksum: 'c',
  subjectKind: 'position',
  subject: 'position:42',
  episode: 7,
  stage: 0,
  actionIndex: 0,
  action: { kind: 'notify', channels: ['ops'], cure: [] },
  mode: 'enforce',
  severity: 'critical',
  atMs: 1_000,
  because: 'distance 4 %',
  exemptFromLimits: false,
};

const STATE = { kind: 'watching', cause: 'ruleFiring', words: 'w', severity: null, sinceMs: null } as const;

function scene(changes: Partial<AlertScene>): AlertScene {
  const account = { id: 'desk-1', rules: compileRules([], settings()) } as unknown as WatchedAccount;
  return {
    account,
    stored: undefined,
    active: [REQUEST],
    asked: [],
    settled: [],
    cures: [],
    view: () => emptyView('desk-1', STATE),
    conclusive: true,
    events: [],
    inForce: NOTHING_IN_FORCE,
    snapshot: { version: 1, accountId: 'desk-1', at: at(0), sources: {}, ownStops: [] },
    failures: [],
    reminderMs: 60_000,
    transitions: [],
    lanes: [],
    stopsBefore: [],
    before: { positions: [], creditLines: [] },
    nowMs: 1_000,
    laneNowMs: changes.nowMs ?? 1_000,
    ...changes,
  };
}

const handed = ({ alerts, notices }: ReturnType<typeof alertsDue>): StoredAlerts =>
  markHanded(alerts ?? { version: 1, entries: {} }, new Set(notices.map(({ id }) => id)));

test('an episode is notified when it fires, again after the reminder time, and when it is over', () => {
  const fired = alertsDue(scene({}));
  expect(fired.notices.map(({ kind }) => kind)).toEqual(['firing']);
  const told = handed(fired);
  expect(alertsDue(scene({ stored: told, nowMs: 30_000 }))).toEqual({ alerts: undefined, notices: [] });
  const reminded = alertsDue(scene({ stored: told, nowMs: 61_000 }));
  expect(reminded.notices.map(({ kind }) => kind)).toEqual(['reminder']);
  const over = alertsDue(scene({ stored: handed(reminded), active: [], nowMs: 62_000 }));
  expect(over.notices.map(({ kind }) => kind)).toEqual(['resolved']);
  expect(handed(over).entries).toEqual({});
  const ids = [fired, reminded, over].flatMap(({ notices }) => notices.map(({ id }) => id));
  expect(new Set(ids).size).toBe(3);
});

test('of a position that the exchange lists with nulls a reminder had neither the market nor unknown figures', () => {
  const view = {
    ...emptyView('desk-1', STATE),
    sources: [
      { source: 'positions', readAtMs: 60_000, ageMs: 0, complete: true, setAside: 0, tooOld: false },
    ],
  };
  const listed = (ids: readonly string[]): AlertScene['snapshot'] => {
    const notOpenYet = ids.map((positionId) => ({ positionId, market: 'BTC_PERP' }));
    const value = { records: [], setAside: [], complete: true, notOpenYet };
    const positions = { kind: 'read', ageMs: 0, value } as const;
    return { version: 1, accountId: 'desk-1', at: at(0), sources: { positions }, ownStops: [] };
  };
  const stored = handed(alertsDue(scene({})));
  const [reminded] = alertsDue(
    scene({ stored, nowMs: 61_000, view: () => view, snapshot: listed(['42']) }),
  ).notices;
  expect(reminded).toMatchObject({
    kind: 'reminder',
    market: 'BTC_PERP',
    figures: { market: 'BTC_PERP', direction: null, sizeBase: null, liquidationDistance: null },
  });
  const over = { stored, active: [], nowMs: 62_000, view: () => view, snapshot: listed([]) };
  expect(alertsDue(scene(over)).notices.map(({ kind, figures }) => [kind, figures])).toEqual([
    ['resolved', undefined],
  ]);
});

test('a notice that was not handed over is handed over again, under the same id', () => {
  const fired = alertsDue(scene({}));
  const again = alertsDue(scene({ stored: fired.alerts, nowMs: 2_000 }));
  expect(again.notices).toEqual(fired.notices);
});

test('an unproven absence resolves nothing', () => {
  const told = handed(alertsDue(scene({})));
  expect(alertsDue(scene({ stored: told, active: [], conclusive: false })).notices).toEqual([]);
});

test('a silence keeps an episode quiet without resolving it', () => {
  const silence: Silence = {
    kind: 'silence',
    id: 's',
    accountId: null,
    ruleId: 'near',
    subject: null,
    expiresAtMs: 1e12,
    author: 'a',
    reason: 'r',
    atMs: 0,
  };
  const inForce = { ...NOTHING_IN_FORCE, silencedRules: ['near'], silences: [silence] };
  expect(alertsDue(scene({ inForce })).notices).toEqual([]);
  const told = handed(alertsDue(scene({})));
  expect(alertsDue(scene({ stored: told, inForce, nowMs: 100_000 })).notices).toEqual([]);
});

const acknowledged = (changes: Partial<Acknowledgement> = {}) => {
  const acknowledgement: Acknowledgement = {
    kind: 'acknowledgement',
    id: 'k',
    accountId: 'desk-1',
    ruleId: 'near',
    subject: 'position:42',
    episode: 7,
    stage: 0,
    expiresAtMs: 1e12,
    author: 'ann',
    reason: 'r',
    atMs: 30_000,
    ...changes,
  };
  return { ...NOTHING_IN_FORCE, acknowledgements: [acknowledgement] };
};

describe('an acknowledged episode', () => {
  const told = handed(alertsDue(scene({})));
  const later = (changes: Partial<AlertScene>) =>
    alertsDue(scene({ stored: told, nowMs: 61_000, ...changes }));
  const seenTo = (changes: Partial<AlertScene> = {}) =>
    later({ inForce: acknowledged(), ...changes }).notices.map(({ acknowledged: by }) => by?.author);

  test('shows it in reminders, which go only to receivers that end unrepeated alerts', () => {
    expect(seenTo()).toEqual(['ann']);
  });

  test('is notified like any other when it fires for the first time', () => {
    const fired = alertsDue(scene({ inForce: acknowledged() })).notices;
    expect(fired.map(({ kind, acknowledged: by }) => [kind, by])).toEqual([['firing', undefined]]);
  });

  test.each([
    ['another episode', { episode: 8 }],
    ['another rule', { ruleId: 'far' }],
    ['another subject', { subject: 'position:43' }],
  ])('is not %s', (_what, changes) => {
    expect(seenTo({ inForce: acknowledged(changes) })).toEqual([undefined]);
  });

  test('is notified again when it gets worse, even by a stage without notify', () => {
    const reduce = { ...REQUEST, stage: 1, actionIndex: 0 };
    const quiet = { ...reduce, action: { kind: 'cancelAll', types: ['margin'], scope: 'market' } } as const;
    expect(seenTo({ active: [REQUEST, quiet] })).toEqual([undefined]);
    expect(seenTo({ active: [REQUEST, quiet], inForce: acknowledged({ stage: 1 }) })).toEqual(['ann']);
    const worse = later({ active: [REQUEST, reduce], inForce: acknowledged() }).notices;
    expect(worse.map(({ kind, stage, acknowledged: by }) => [kind, stage, by])).toEqual([
      ['reminder', 0, undefined],
      ['firing', 1, undefined],
    ]);
  });

  test('is resolved for all receivers', () => {
    const reminded = later({ inForce: acknowledged() });
    const over = alertsDue(
      scene({ stored: handed(reminded), active: [], inForce: acknowledged(), nowMs: 62_000 }),
    );
    expect(over.notices.map(({ kind, acknowledged: by }) => [kind, by])).toEqual([['resolved', undefined]]);
  });
});

describe('how an episode ended', () => {
  const told = handed(alertsDue(scene({})));
  const gone = {
    ruleId: 'near',
    subject: 'position:42',
    from: 'firing',
    to: 'inactive',
    reason: 'subjectGone',
    words: 'gone',
  } as unknown as AlertScene['transitions'][number];
  const ended = (changes: Partial<AlertScene>) =>
    alertsDue(scene({ stored: told, active: [], transitions: [gone], nowMs: 62_000, ...changes }));
  const sold = (role: 'reduce' | 'cover', filledMs: number) => {
    const cost = {
      id: `bw.1@${filledMs}`,
      role,
      direction: 'long',
      amountBase: '0.5',
      money: 'USDT',
      filledMs,
      decidedPrice: '60000',
      limitPrice: '59000',
      fill: { price: '59900', from: 'realizedPnl' },
      fee: null,
    };
    const costs = [{ positionId: '42', key: 'k', ruleId: 'near', cost }];
    return [{ market: 'BTC_PERP', costs }] as unknown as AlertScene['lanes'];
  };

  test('a position that vanished while its rule fired is an alarm, and not called resolved', () => {
    const stopsBefore = [
      { positionId: '42', amount: '0.5', request: { activationPrice: '55000' } },
      { positionId: '43', amount: '0.7', request: { activationPrice: '56000' } },
    ] as unknown as AlertScene['stopsBefore'];
    const { notices } = ended({ stopsBefore });
    expect(notices).toMatchObject([
      { kind: 'resolved', ending: 'gone' },
      { kind: 'alarm', severity: 'critical', channels: ['ops'] },
    ]);
    expect(notices[1]?.words).toBe(
      'GONE: the position is not listed any more, and this rule fired for it: our stops (0.5 at 55000) or its owner closed it, or the exchange liquidated it: look at the exchange',
    );
  });

  test('a position closed by our orders is resolved, with what they did', () => {
    const snapshot = { ...scene({}).snapshot, closedByUs: ['42'] };
    const { notices } = ended({ snapshot, lanes: sold('reduce', 30_000) });
    expect(notices).toMatchObject([{ kind: 'resolved' }]);
    expect(notices[0]).not.toHaveProperty('ending');
    expect(notices[0]?.words).toBe(
      'sold 0.5 BTC_PERP at 59900, 50 USDT worse than at the mark 60000 of the decision; nothing is left',
    );
  });

  test('fills before an episode began are not reported as part of it', () => {
    const late = handed(alertsDue(scene({ active: [{ ...REQUEST, atMs: 40_000 }], nowMs: 40_000 })));
    const lanes = sold('reduce', 30_000);
    expect(ended({ stored: late, transitions: [], lanes }).notices.map(({ words }) => words)).toEqual([
      'resolved',
    ]);
  });

  test('a filled stop is reported once, however often it is polled', () => {
    const scenes = (nowMs: number, stored?: StoredAlerts) =>
      alertsDue(scene({ active: [], stored, lanes: sold('cover', 30_000), nowMs }));
    const first = scenes(31_000);
    expect(first.notices).toMatchObject([{ kind: 'alarm', severity: 'critical', subject: 'position:42' }]);
    const again = scenes(32_000, handed(first));
    expect(again).toEqual({ alerts: undefined, notices: [] });
    const forgotten = alertsDue(scene({ active: [], stored: handed(first), nowMs: 4_000_000 }));
    expect(forgotten.alerts?.entries).toEqual({});
  });
});

test('each alarm of a lane is notified once', () => {
  const alarm: AuditEvent = {
    kind: 'intentEnded',
    atMs: 5_000,
    accountId: 'desk-1',
    market: 'BTC_PERP',
    positionId: '42',
    key: 'k',
    ruleId: 'near',
    reason: 'failed:attempts',
    words: 'gave up',
    alarm: true,
  };
  const due = alertsDue(
    scene({ active: [], events: [alarm, { ...alarm, alarm: false, reason: 'reached' }] }),
  );
  expect(due.notices).toMatchObject([{ kind: 'alarm', subject: 'position:42', market: 'BTC_PERP' }]);
  expect(alertsDue(scene({ active: [], stored: handed(due) })).notices).toEqual([]);
});

describe('an account that cannot be read', () => {
  const failure: ReadFailure = {
    source: 'positions',
    error: 'unauthenticated',
    httpStatus: 401,
    words: 'no',
    sinceMs: 0,
  };

  /** An account of which nothing could be read for this long. */
  const blindFor = (ageMs: number, changes: Partial<AlertScene> = {}): AlertScene => {
    const sources = { positions: { kind: 'notRead', ageMs } } as const;
    return scene({
      active: [],
      failures: [failure],
      snapshot: { version: 1, accountId: 'desk-1', at: at(0), sources, ownStops: [] },
      nowMs: ageMs,
      ...changes,
    });
  };

  test('is notified without any rule, once, and again when it is read again', () => {
    expect(alertsDue(blindFor(29_000)).notices).toEqual([]);
    const fired = alertsDue(blindFor(31_000));
    expect(fired.notices).toMatchObject([
      { kind: 'firing', severity: 'critical', ruleId: 'built-in/blind', subject: 'account' },
    ]);
    expect(fired.notices[0]?.words).toContain('for 31 s, the exchange refuses the key (401: no)');
    // Another answer of the exchange still counts as the same outage.
    const other = { ...failure, error: 'timeout', sinceMs: 40_000 };
    expect(alertsDue(blindFor(41_000, { stored: handed(fired), failures: [other] })).notices).toEqual([]);
    const reminded = alertsDue(blindFor(100_000, { stored: handed(fired) }));
    expect(reminded.notices.map(({ kind }) => kind)).toEqual(['reminder']);
    const over = alertsDue(blindFor(0, { stored: handed(reminded), failures: [], nowMs: 101_000 }));
    expect(over.notices.map(({ kind }) => kind)).toEqual(['resolved']);
    // Another outage is a new episode.
    const again = alertsDue(blindFor(31_000, { stored: handed(over), nowMs: 200_000 }));
    expect(again.notices.map(({ key }) => key)).not.toEqual(fired.notices.map(({ key }) => key));
  });

  test("is left to the account's own rule on the data age", () => {
    const tells = rule('account', above('dataAge', 90), {
      actions: [{ kind: 'notify', channels: [], cure: [] }],
    });
    const account = { id: 'desk-1', rules: compileRules([tells], settings()) } as unknown as WatchedAccount;
    expect(alertsDue(blindFor(60_000, { account })).notices).toEqual([]);
  });

  test('is not notified for one failed read of a rarely read source', () => {
    const sources = { transfers: { kind: 'notRead', ageMs: 600_000 } } as const;
    const snapshot = { version: 1, accountId: 'desk-1', at: at(0), sources, ownStops: [] } as const;
    const seldom = { ...failure, source: 'transfers', sinceMs: 599_000 } as const;
    const due = (nowMs: number): number =>
      alertsDue(blindFor(600_000, { failures: [seldom], snapshot, nowMs })).notices.length;
    expect([due(600_000), due(630_000)]).toEqual([0, 1]);
  });

  test('is silent while silenced, and not resolved by that', () => {
    const silence = { ruleId: 'built-in/blind', subject: null, accountId: null } as Silence;
    const inForce = { ...NOTHING_IN_FORCE, silencedRules: ['built-in/blind'], silences: [silence] };
    expect(alertsDue(blindFor(31_000, { inForce })).notices).toEqual([]);
    const told = handed(alertsDue(blindFor(31_000)));
    expect(alertsDue(blindFor(200_000, { stored: told, inForce })).notices).toEqual([]);
  });
});

describe('an unacknowledged episode is escalated to other channels', () => {
  const escalation = { afterMs: 900_000, channels: ['ops', 'pager'] };
  const late = { escalation, reminderMs: 3_600_000, nowMs: 901_000 };
  const told = handed(alertsDue(scene({ escalation })));

  test('once, after the time, to those not notified yet; reminders keep their channels; all hear of the end', () => {
    expect(alertsDue(scene({ ...late, stored: told, nowMs: 900_999 })).notices).toEqual([]);
    const others = alertsDue(scene({ ...late, stored: told }));
    expect(others.notices).toMatchObject([
      {
        kind: 'firing',
        channels: ['pager'],
        words: 'Nobody has acknowledged it for 15 min. when it began at 00:00:01 UTC: distance 4 %',
      },
    ]);
    const after = handed(others);
    expect(alertsDue(scene({ ...late, stored: after, nowMs: 1_800_000 })).notices).toEqual([]);
    const reminded = alertsDue(scene({ ...late, stored: after, nowMs: 3_601_000 }));
    expect(reminded.notices).toMatchObject([
      { kind: 'reminder', channels: ['ops'], words: 'when it began at 00:00:01 UTC: distance 4 %' },
    ]);
    const over = alertsDue(scene({ ...late, stored: handed(reminded), active: [], nowMs: 3_602_000 }));
    expect(over.notices).toMatchObject([{ kind: 'resolved', channels: ['ops', 'pager'] }]);
    const ids = [told, others.alerts, reminded.alerts, over.alerts].map((one) => JSON.stringify(one));
    expect(new Set(ids).size).toBe(4);
  });

  const acknowledged: Acknowledgement = {
    kind: 'acknowledgement',
    id: 'a',
    accountId: 'desk-1',
    ruleId: 'near',
    subject: 'position:42',
    episode: 7,
    stage: 0,
    author: 'ann',
    reason: 'on it',
    atMs: 2_000,
    expiresAtMs: 9_999_999,
  };

  test.each([
    ['somebody sees to it', { inForce: { ...NOTHING_IN_FORCE, acknowledgements: [acknowledged] } }],
    ['it is not critical', { active: [{ ...REQUEST, severity: 'warning' as const }] }],
    ['all were told already', { escalation: { ...escalation, channels: ['ops'] } }],
    ['nothing is configured', { escalation: undefined }],
  ])('not if %s', (_, changes) => {
    expect(alertsDue(scene({ ...late, stored: told, ...changes })).notices).toEqual([]);
  });

  test('not before the first notice has been handed over; a worse stage starts a new wait', () => {
    const unsent = alertsDue(scene({ escalation }));
    const again = alertsDue(scene({ ...late, stored: unsent.alerts }));
    expect(again.notices).toEqual(unsent.notices);
    const after = handed(alertsDue(scene({ ...late, stored: told })));
    const worse = { ...REQUEST, stage: 1, atMs: 902_000 };
    const next = handed(
      alertsDue(scene({ ...late, stored: after, active: [REQUEST, worse], nowMs: 902_000 })),
    );
    const late2 = alertsDue(scene({ ...late, stored: next, active: [REQUEST, worse], nowMs: 1_802_000 }));
    expect(late2.notices).toMatchObject([{ stage: 1, channels: ['pager'] }]);
  });
});

test('alarms of a lane’s run are told by the next poll: a refusal once in the reminder time, others each time', () => {
  const alarm = (kind: AuditEvent['kind'], atMs: number, more: Partial<AuditEvent> = {}): AuditEvent => ({
    kind,
    atMs,
    accountId: 'desk-1',
    market: 'BTC_PERP',
    key: 'near:1',
    reason: 'other',
    words: 'w',
    alarm: true,
    ...more,
  });
  const quiet = { active: [], conclusive: false };
  expect(raise(undefined, [alarm('rejected', 1_000, { alarm: false })])).toBeUndefined();
  const raised = raise(undefined, [alarm('rejected', 1_000), alarm('closedByOthers', 1_000)]);
  const first = alertsDue(scene({ ...quiet, stored: raised }));
  expect(first.notices.map(({ kind }) => kind)).toEqual(['alarm', 'alarm']);
  const told = handed(first);
  expect(told.raised).toBeUndefined();
  expect(raise(told, [alarm('rejected', 2_000)])).toBeUndefined();
  const others = [alarm('closedByOthers', 2_000), alarm('rejected', 2_000, { key: 'near:2' })];
  const again = alertsDue(scene({ ...quiet, stored: raise(told, others), nowMs: 2_000 }));
  expect(again.notices).toHaveLength(2);
  // What is raised while notices are handed over is kept for the poll after.
  const meanwhile = raise(again.alerts, [alarm('closedByOthers', 3_000)]);
  expect(handed({ alerts: meanwhile, notices: again.notices }).raised).toHaveLength(1);
  const later = alertsDue(scene({ ...quiet, stored: handed(again), nowMs: 70_000 }));
  expect(later.alerts?.entries).toEqual({});
  const anew = raise(later.alerts, [alarm('rejected', 70_000)]);
  expect(alertsDue(scene({ ...quiet, stored: anew, nowMs: 70_000 })).notices).toHaveLength(1);
});
