import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AuditEvent, AuditKind } from '../../../src/core/audit/audit-event.ts';
import type { AuditContent, ChainedRecord } from '../../../src/core/audit/audit-record.ts';
import type { Control, OperatorOrder } from '../../../src/core/controls/controls.ts';
import type { Transition } from '../../../src/core/rules/decision.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { type ActionLine, ActionLog, type LoggedRecord } from '../../../src/core/view/action-log.ts';
import { contentWords, scopeWords } from '../../../src/core/view/record-words.ts';
import { type StoryScope, storyOf } from '../../../src/core/view/story.ts';

/**
 * Every kind of record in words: `npm test -- test/core/view/told-records.test.ts --update` rewrites the transcript.
 */

const NOW_MS = 1_767_225_600_000;

const KINDS: Readonly<Record<AuditKind, true>> = {
  intentOpened: true,
  targetSet: true,
  intentEnded: true,
  intentRenewed: true,
  intentReopened: true,
  refused: true,
  blocked: true,
  doubt: true,
  doubtResolved: true,
  setChanged: true,
  placing: true,
  accepted: true,
  adjusted: true,
  rejected: true,
  unknown: true,
  cancelling: true,
  cancelAccepted: true,
  cancelRejected: true,
  filled: true,
  priced: true,
  ambiguousMove: true,
  coverTriggered: true,
  coverChanged: true,
  overshoot: true,
  standingOrder: true,
  braked: true,
  positionAbsent: true,
  maintenanceDiffers: true,
  marginLearned: true,
  sharedAccount: true,
  operatorOrderRefused: true,
  reducedByOthers: true,
  closedByOthers: true,
  wouldPlace: true,
  approvalAsked: true,
  approvalSettled: true,
  approvalIgnored: true,
  wouldCancel: true,
  readIgnored: true,
};

const ORDER = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: '0.25',
  activationPrice: '59940',
  price: '59600',
  clientOrderId: 'bw-1',
} as unknown as NonNullable<AuditEvent['order']>;
const KEY = JSON.stringify(['near', 'abc', 'position:42', 1, 0, 'x']);

const eventOf = (kind: AuditKind, changes: Partial<AuditEvent> = {}): AuditEvent => ({
  kind,
  atMs: NOW_MS,
  accountId: 'desk',
  market: 'BTC_PERP',
  reason: 'why',
  words: 'so it is',
  alarm: false,
  ...changes,
});

function ofAllMarkets(event: AuditEvent): AuditEvent {
  const { market: _market, ...rest } = event;
  return rest;
}

const EVENTS: readonly AuditEvent[] = [
  ...(Object.keys(KINDS) as AuditKind[]).flatMap((kind) => [
    eventOf(kind),
    eventOf(kind, { order: ORDER, positionId: '42', ruleId: 'near', key: KEY, alarm: true }),
    eventOf(kind, {
      cancel: { market: 'BTC_PERP', types: ['futures', 'spot'] },
    }),
  ]),
  ofAllMarkets(eventOf('wouldCancel', { cancel: {} })),
  ofAllMarkets(eventOf('sharedAccount')),
  eventOf('refused', { key: 'no JSON' }),
  eventOf('refused', { key: '{}' }),
  eventOf('refused', { key: '["near", "abc", 7]' }),
];

const by = { author: 'ann', reason: 'repair', atMs: NOW_MS };
const CONTROLS: readonly Control[] = [
  { kind: 'pause', id: 'p', accountId: null, expiresAtMs: null, ...by },
  { kind: 'pause', id: 'p', accountId: 'desk', expiresAtMs: NOW_MS, ...by },
  { kind: 'silence', id: 's', accountId: 'desk', ruleId: 'near', subject: null, expiresAtMs: NOW_MS, ...by },
  {
    kind: 'silence',
    id: 's',
    accountId: null,
    ruleId: 'near',
    subject: 'position:42',
    expiresAtMs: NOW_MS,
    ...by,
  },
  {
    kind: 'acknowledgement',
    id: 'a',
    accountId: 'desk',
    ruleId: 'near',
    subject: '',
    episode: 1,
    stage: 0,
    expiresAtMs: NOW_MS,
    ...by,
  },
];

const handmade = { id: 'op1', expiresAtMs: NOW_MS, ...by };
const reduce = {
  ...handmade,
  kind: 'reduce',
  target: { kind: 'by', fraction: 0.5 },
  slippageSteps: [0.01],
  flatten: false,
} as const;
const ORDERS: readonly OperatorOrder[] = [
  { ...reduce, positionId: '42' },
  { ...reduce, markets: ['BTC_*', 'ETH_PERP'], flatten: true },
  { ...reduce, markets: ['*'], flatten: true, urgent: true },
  reduce,
  { ...handmade, kind: 'withdraw', orderId: 'op0' },
  { ...handmade, kind: 'answer', decision: 'veto', questionId: 'q1', revision: 2 },
];

const transition = {
  ruleId: 'near',
  subject: 'position:42',
  episode: 1,
  stage: 0,
  from: 'pending',
  to: 'firing',
  reason: 'met',
  words: 'distance is 4 %',
  mode: 'enforce',
  severity: 'critical',
  atMs: NOW_MS - 1,
} as unknown as Transition;
const request = {
  action: { kind: 'reduce' },
  ruleId: 'near',
  subject: 'position:42',
  stage: 0,
  because: 'met',
} as unknown as ActionRequest;
const decision = {
  kind: 'decision',
  atMs: NOW_MS,
  transitions: [],
  decisions: [],
  active: [],
  inputs: '',
} as const;

const CONTENTS: readonly AuditContent[] = [
  ...EVENTS.map((event) => ({ kind: 'action', event }) as const),
  ...CONTROLS.flatMap((control) =>
    (['put', 'lifted'] as const).map((change) => ({ kind: 'control', change, control, by }) as const),
  ),
  ...ORDERS.map((order) => ({ kind: 'operatorOrder', order }) as const),
  decision,
  { ...decision, active: [request, { ...request, subject: 'position:43' }] },
  {
    ...decision,
    transitions: [transition, { ...transition, ruleId: 'far', subject: 'position:43' }],
    active: [request, { ...request, ruleId: 'far' }],
  },
  { kind: 'notification', atMs: NOW_MS, detail: { text: 'near' } },
  { kind: 'note', atMs: NOW_MS, about: 'configChanged', words: 'rules' },
  {
    kind: 'note',
    atMs: NOW_MS,
    about: 'topUpAsked',
    words: 'a link',
    detail: { subject: 'creditLine:USDT@1' },
  },
  { kind: 'note', atMs: NOW_MS, about: 'topUpFailed', words: 'no link', detail: { subject: 7 } },
  { kind: 'epochStarted', atMs: NOW_MS, epoch: 'e2', previousEpoch: 'e1', why: 'empty' },
  { kind: 'epochStarted', atMs: NOW_MS, epoch: 'e1', previousEpoch: null, why: 'empty' },
  {
    kind: 'lanes',
    atMs: NOW_MS,
    heads: { BTC_PERP: { seq: 3, hash: 'h' }, ETH_PERP: { seq: 1, hash: 'h' } },
  },
  { kind: 'checkpoint', atMs: NOW_MS, lastSeq: 9, lastHash: 'h', exportSha256: null, reason: 'bound' },
  { kind: 'checkpoint', atMs: NOW_MS, lastSeq: 9, lastHash: 'h', exportSha256: 'abc', reason: 'export' },
];

const recordsOf = (contents: readonly AuditContent[]): Pick<ChainedRecord, 'number' | 'record'>[] =>
  contents.map((content, index) => ({
    number: index + 1,
    record: { atMs: NOW_MS + index, content } as ChainedRecord['record'],
  }));

const SCOPES: Readonly<Record<string, StoryScope>> = {
  account: {},
  position: { subject: 'position:42', market: 'BTC_PERP' },
  other: { subject: 'position:43', market: 'ETH_PERP' },
  loan: { subject: 'creditLine:USDT@1' },
};

test('every kind of record, and whom it is told about', async () => {
  const lines: string[] = [];
  for (const one of recordsOf(CONTENTS)) {
    const told = Object.entries(SCOPES).map(([name, scope]) => `${name} ${storyOf([one], scope).length}`);
    lines.push(`-- ${contentWords(one.record.content)} (${told.join(', ')})`);
    for (const entry of storyOf([one], {})) lines.push(JSON.stringify(entry));
  }
  const file = path.join(import.meta.dirname, 'transcripts', 'records.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test('a story is told from the newest, and says how long requests took', () => {
  const at = (kind: AuditKind, afterMs: number, changes: Partial<AuditEvent> = {}) =>
    ({ kind: 'action', event: eventOf(kind, { atMs: NOW_MS + afterMs, ...changes }) }) as const;
  const other = { ...ORDER, clientOrderId: 'bw-2' };
  const story = storyOf(
    recordsOf([
      at('placing', 0, { order: ORDER }),
      at('placing', 5, { order: other }),
      at('cancelling', 7),
      at('accepted', 20, { order: other }),
      at('accepted', 30, { order: ORDER }),
      at('accepted', 40, { order: ORDER }),
      at('cancelAccepted', 3),
      at('cancelAccepted', 90, { market: 'ETH_PERP' }),
    ]),
    {},
  );
  expect(story.map(({ seq, outcome, tookMs }) => [seq, outcome, tookMs])).toEqual([
    [8, 'cancelAccepted', undefined],
    [7, 'cancelAccepted', 0],
    [6, 'accepted', undefined],
    [5, 'accepted', 30],
    [4, 'accepted', 15],
    [3, 'cancelling', undefined],
    [2, 'placing', undefined],
    [1, 'placing', undefined],
  ]);
});

test.each(CONTROLS.map((control, index) => [index, control] as const))(
  'whom control %i concerns',
  (_, control) => {
    expect(scopeWords(control)).toMatchSnapshot();
  },
);

describe('the log of actions', () => {
  const shown = ({ id, kind, outcome, tookMs, words, reason }: ActionLine): string =>
    `${id} ${kind} ${outcome} ${tookMs} ${reason}: ${words}`;
  const logged = (event: AuditEvent, number: number): LoggedRecord => ({
    number,
    record: { content: { kind: 'action', event } },
  });

  test('after each beginning, every kind of record', async () => {
    const lines: string[] = [];
    for (const begins of ['placing', 'cancelling', 'wouldPlace', 'wouldCancel'] as const) {
      for (const event of EVENTS) {
        for (const reason of [
          'duplicateId',
          'unknownOutcome',
          'processDied',
          'awaitingApproval',
          'newStore',
        ]) {
          const log = new ActionLog('desk');
          const order =
            begins === 'placing' || begins === 'wouldPlace' ? { order: ORDER, positionId: '42' } : {};
          const first = log.add([logged(eventOf(begins, order), 1)]);
          const changed = log.add([logged({ ...event, reason, atMs: NOW_MS + 25 }, 2)]);
          if (changed.length === 0) continue;
          lines.push(`${first.map(shown).join('')} | ${event.kind} | ${changed.map(shown).join(' | ')}`);
        }
      }
    }
    const file = path.join(import.meta.dirname, 'transcripts', 'action-log.txt');
    await expect(`${[...new Set(lines)].join('\n')}\n`).toMatchFileSnapshot(file);
  });

  test('knows the two hundred that began last; a doubt ends all in its market', () => {
    const log = new ActionLog('desk');
    const place = (index: number, market: string): AuditEvent =>
      eventOf('placing', { market, order: { ...ORDER, clientOrderId: `o${index}` } });
    const begun = Array.from({ length: 201 }, (_, index) =>
      logged(place(index, index % 2 === 0 ? 'BTC_PERP' : 'ETH_PERP'), index),
    );
    const note: LoggedRecord = { number: 999, record: { content: { kind: 'note' } } };
    expect(log.add([...begun, note])).toHaveLength(201);
    const accepted = (index: number) => log.add([logged({ ...place(index, ''), kind: 'accepted' }, 300)]);
    expect(accepted(0)).toEqual([]);
    expect(accepted(1).map(({ id, outcome }) => [id, outcome])).toEqual([['desk:1', 'accepted']]);
    const doubt = log.add([logged(eventOf('doubt', { reason: 'processDied', atMs: NOW_MS - 5 }), 301)]);
    expect(doubt).toHaveLength(100);
    expect(new Set(doubt.map(({ market, outcome, tookMs }) => `${market} ${outcome} ${tookMs}`))).toEqual(
      new Set(['BTC_PERP unknown 0']),
    );
    expect(accepted(2)).toEqual([]);
    expect(accepted(3)).toHaveLength(1);
  });
});
