import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Control } from '../../../src/core/controls/controls.ts';
import type { Snapshot } from '../../../src/core/quantities/snapshot.ts';
import type { ConditionSpec, RuleSpec } from '../../../src/core/rules/rule.ts';
import type { AccountView } from '../../../src/core/view/account-view.ts';
import { noticeFacts } from '../../../src/core/view/notice-facts.ts';
import {
  FIGURES_EVERY_MS,
  figuresDue,
  figuresOf,
  type ReadFailure,
} from '../../../src/core/view/stored-figures.ts';
import { Dice } from '../../support/dice.ts';
import { settingsOf, snapshotOf } from '../quantities/scenes.ts';
import { above, at, below, rule, SERVER_MS } from '../rules/fixtures.ts';
import { figures, poll, view } from './fixtures.ts';
import { laneOf } from './scenes.ts';

/**
 * Accounts after a few polls, as they are stored and shown: kept for review.
 * `npm test -- test/core/view/polled-accounts.test.ts --update` rewrites the transcript.
 */

const shown = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'number' && Number.isFinite(one) ? Number(one.toPrecision(9)) : one,
  );

const yes = (field: string): ConditionSpec => ({
  kind: 'field',
  field,
  comparison: { op: 'equals', value: true },
});

function rulesOf(dice: Dice): readonly RuleSpec[] {
  const both: ConditionSpec = {
    kind: dice.of('all', 'any'),
    conditions: [below('liquidationDistance', 0.2), { kind: 'not', condition: yes('disagreement') }],
  };
  const all = [
    rule('position', below('liquidationDistance', 0.15, dice.of(undefined, 0.2)), {
      id: 'near',
      severity: 'critical',
    }),
    rule('position', both, { id: 'both', severity: 'warning', forMs: dice.of(0, 1_000, 5_000) }),
    rule('position', above('marginUsage', 0.3), { id: 'used', severity: 'info', keepFiringForMs: 2_000 }),
    rule('creditLine', above('currentLtv', 0.7, 0.65), { id: 'ltv', severity: 'warning' }),
    rule('account', below('jointDistance', 0.1), { id: 'joint', severity: 'critical' }),
    rule('account', above('dataAge', 5), { id: 'old', severity: 'info' }),
  ] as const;
  return all.filter(() => dice.hits(0.7));
}

function controlsOf(dice: Dice): readonly Control[] {
  const by = { author: 'ann', reason: 'repair', atMs: SERVER_MS };
  return [
    ...(dice.hits(0.2)
      ? [{ kind: 'pause', id: 'p', accountId: dice.of(null, 'desk-1'), expiresAtMs: null, ...by } as const]
      : []),
    ...(dice.hits(0.3)
      ? [
          {
            kind: 'silence',
            id: 's',
            accountId: null,
            ruleId: 'near',
            subject: dice.of(null, 'position:41'),
            expiresAtMs: SERVER_MS + 1e6,
            ...by,
          } as const,
        ]
      : []),
  ];
}

function accountOf(dice: Dice) {
  const snapshots: Snapshot[] = [];
  let ms = 0;
  for (let polls = dice.of(1, 1, 2, 3); polls > 0; polls -= 1) {
    snapshots.push(snapshotOf(dice, at(ms)));
    ms += dice.of(1_000, 2_000, 5_000);
  }
  const rules = rulesOf(dice);
  const polled = poll(rules, snapshots, settingsOf(dice));
  const lanes = dice.hits(0.5) ? [laneOf(dice)] : [];
  const stored = { ...polled.stored, lanes: new Map(lanes.map((lane) => [lane.market, lane])) };
  const nowMs = SERVER_MS + ms + dice.of(0, 0, 9_000, 10_001, 30_000, 30_001);
  const changes = {
    nowMs,
    controls: { stamp: 'c', entries: controlsOf(dice) },
    ...(dice.hits(0.2) ? { balances: ['USDT', 'ETH'] } : {}),
    ...(dice.hits(0.1) ? { storeLink: 'lost' as const } : {}),
    ...(dice.hits(0.15) ? { rules: undefined } : {}),
  };
  return { polled: { ...polled, stored }, changes };
}

function factsOf(account: AccountView): readonly string[] {
  const subjects = [
    'position:41',
    'position:99',
    'account',
    ...account.creditLines.map(({ subject }) => subject),
  ] as const;
  return subjects.flatMap((subject) =>
    [undefined, 'approval' as const].map((kind) =>
      shown(noticeFacts(account, { subject, market: 'BTC_PERP', ...(kind === undefined ? {} : { kind }) })),
    ),
  );
}

function linesOf(dice: Dice): readonly string[] {
  const { polled, changes } = accountOf(dice);
  const account = view(polled, changes);
  return [
    ...Object.entries(account).map(([name, value]) => `${name} ${shown(value)}`),
    shown(figures(polled, changes)),
    ...factsOf(account),
  ];
}

test('polled accounts, and what is shown of them', async () => {
  const dice = new Dice(51);
  const lines = Array.from({ length: 10 }, (_, index) => [`-- ${index}`, ...linesOf(dice)].join('\n'));
  const file = path.join(import.meta.dirname, 'transcripts', 'polled-accounts.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test.for([1, 2, 3, 4])('seventy polled accounts by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 70; index += 1) hash.update(linesOf(dice).join('\n'));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

test('figures are written at once where something goes on, else every five seconds', () => {
  const dice = new Dice(61);
  const counts = { due: 0, notDue: 0 };
  for (let index = 0; index < 300; index += 1) {
    const seed = dice.of(1, 2, 3, 4, 5, 6);
    const settings = settingsOf(new Dice(seed));
    const [first, second] = [
      snapshotOf(new Dice(seed), at(0)),
      snapshotOf(new Dice(dice.hits(0.7) ? seed : seed + 1), at(1_000)),
    ];
    const failure: ReadFailure = {
      source: 'positions',
      error: 'timeout',
      words: 'no',
      sinceMs: SERVER_MS,
      httpStatus: 500,
    };
    const before = figuresOf(first, settings, dice.hits(0.5) ? [failure] : []);
    const failures = dice.of<readonly ReadFailure[]>(
      [],
      [failure],
      [{ ...failure, sinceMs: 0, words: 'other' }],
      [{ ...failure, error: 'reset' }],
      [{ ...failure, httpStatus: 502 }],
      [{ ...failure, source: 'transfers' }],
      [failure, failure],
    );
    const laterMs = dice.of(0, FIGURES_EVERY_MS - 1, FIGURES_EVERY_MS);
    const isOtherClock = dice.hits(0.2);
    const now = isOtherClock ? at(0, 'process-2', dice.of(laterMs, -laterMs)) : at(laterMs);
    const snapshot = { ...second, at: now };
    const reason = dice.of('calm', 'calm', 'calm', 'ruleActive', 'marginCall', 'blind');
    const isBusy = dice.hits(0.1);
    const transitions = dice.hits(0.1) ? [{}] : [];
    const evaluation = { state: {}, transitions, nextDue: { reason } } as unknown as Parameters<
      typeof figuresDue
    >[0]['evaluation'];
    const alike = (one: ReadFailure, other: ReadFailure): boolean =>
      one.source === other.source && one.error === other.error && one.httpStatus === other.httpStatus;
    const earlier = before.failures ?? [];
    const failsAlike =
      failures.length === earlier.length &&
      failures.every((one) => earlier.some((other) => alike(one, other)));
    const ids = (one: Snapshot): string =>
      shown(
        (['positions', 'creditLine'] as const).map((source) => {
          const reading = one.sources[source];
          if (reading?.kind !== 'read') return reading?.kind ?? null;
          return reading.value.records.map((record) =>
            'positionId' in record ? record.positionId : [record.asset, record.createdAt],
          );
        }),
      );
    const expected =
      isBusy ||
      transitions.length > 0 ||
      !failsAlike ||
      reason !== 'calm' ||
      laterMs === FIGURES_EVERY_MS ||
      ids(first) !== ids(second);
    expect(figuresDue({ before, snapshot, failures, evaluation, isBusy })).toBe(expected);
    expect(figuresDue({ before: undefined, snapshot, failures, evaluation, isBusy })).toBe(true);
    counts[expected ? 'due' : 'notDue'] += 1;
  }
  expect(Math.min(counts.due, counts.notDue)).toBeGreaterThan(10);
});
