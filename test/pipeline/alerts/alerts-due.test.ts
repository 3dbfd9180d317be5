import { expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { ControlsInForce, Silence } from '../../../src/core/controls/controls.ts';
import type { StoredAlerts } from '../../../src/core/ports/state-store.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { emptyView } from '../../../src/core/view/account-view.ts';
import { type AlertScene, alertsDue, markHanded } from '../../../src/pipeline/alerts/alerts-due.ts';
import type { WatchedAccount } from '../../../src/pipeline/pipeline-context.ts';
import { at, settings } from '../../core/rules/fixtures.ts';

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

const IN_FORCE: ControlsInForce = { pause: undefined, silencedRules: [], silences: [] };

const STATE = { kind: 'watching', cause: 'ruleFiring', words: 'w', severity: null, sinceMs: null } as const;

function scene(changes: Partial<AlertScene>): AlertScene {
  const account = { id: 'desk-1', rules: compileRules([], settings()) } as unknown as WatchedAccount;
  return {
    account,
    stored: undefined,
    active: [REQUEST],
    cures: [],
    view: () => emptyView('desk-1', STATE),
    conclusive: true,
    events: [],
    inForce: IN_FORCE,
    snapshot: { version: 1, accountId: 'desk-1', at: at(0), sources: {}, ownStops: [] },
    reminderMs: 60_000,
    nowMs: 1_000,
    ...changes,
  };
}

const handed = ({ alerts, notices }: ReturnType<typeof alertsDue>): StoredAlerts =>
  markHanded(alerts ?? { version: 1, entries: {} }, new Set(notices.map(({ id }) => id)));

test('an episode is told when it fires, again after the reminder, and when it is over', () => {
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

test('what was not handed over is handed over again, under the same id', () => {
  const fired = alertsDue(scene({}));
  const again = alertsDue(scene({ stored: fired.alerts, nowMs: 2_000 }));
  expect(again.notices).toEqual(fired.notices);
});

test('an absence that proves nothing resolves nothing', () => {
  const told = handed(alertsDue(scene({})));
  expect(alertsDue(scene({ stored: told, active: [], conclusive: false })).notices).toEqual([]);
});

test('a silence keeps an episode quiet without calling it resolved', () => {
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
  const inForce = { pause: undefined, silencedRules: ['near'], silences: [silence] };
  expect(alertsDue(scene({ inForce })).notices).toEqual([]);
  const told = handed(alertsDue(scene({})));
  expect(alertsDue(scene({ stored: told, inForce, nowMs: 100_000 })).notices).toEqual([]);
});

test('alarms of lanes reach somebody, each once', () => {
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
