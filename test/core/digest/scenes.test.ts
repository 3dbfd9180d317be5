import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { AuditEvent, AuditKind } from '../../../src/core/audit/audit-event.ts';
import { digestAccount } from '../../../src/core/digest/account-digest.ts';
import { type Digest, digestOf } from '../../../src/core/digest/digest.ts';
import { digestWords } from '../../../src/core/digest/digest-words.ts';
import { NearestSightings, type Sighting, sightingsInHistory } from '../../../src/core/digest/sighting.ts';
import type { HistorySample } from '../../../src/core/ports/history-reader.ts';
import type { Transition } from '../../../src/core/rules/decision.ts';
import type { AccountView } from '../../../src/core/view/account-view.ts';
import { rule } from '../../support/account-view.ts';
import { Dice } from '../../support/dice.ts';
import { d } from '../rules/fixtures.ts';
import { COST, DAY, event, hour, ORDER, records, timeOf, transition } from './fixtures.ts';

/**
 * Days of several accounts and their digests: kept for review.
 * `npm test -- test/core/digest/scenes.test.ts --update` rewrites the transcript.
 */

const some = <T>(dice: Dice, counts: readonly [number, ...number[]], make: () => T): readonly T[] =>
  Array.from({ length: dice.of(...counts) }, make);

/** Times within the day, at its ends, and around it. */
const momentOf = (dice: Dice): number =>
  dice.of(hour(-1), DAY.fromMs, hour(3), hour(5), hour(23), DAY.toMs - 1, DAY.toMs);

const KINDS: readonly [AuditKind, ...AuditKind[]] = [
  'placing',
  'accepted',
  'accepted',
  'rejected',
  'unknown',
  'cancelling',
  'cancelAccepted',
  'cancelRejected',
  'refused',
  'blocked',
  'intentEnded',
  'doubt',
  'wouldPlace',
  'wouldPlace',
  'wouldCancel',
  'operatorOrderRefused',
  'approvalSettled',
  'priced',
  'overshoot',
];

function eventOf(dice: Dice): AuditEvent {
  const kind = dice.of(...KINDS);
  const [market, positionId] = dice.of(['BTC_PERP', '42'], ['ETH_PERP', '43']);
  const order = {
    ...ORDER,
    market,
    amount: d(dice.of('0.25', '0.5', '2')),
    clientOrderId: dice.of('bw.1', 'bw.2', 'bw.3'),
    side: dice.of('sell', 'buy'),
  } as const;
  const filledMs = momentOf(dice);
  const cost = {
    ...COST,
    id: dice.of('a', 'b', 'c'),
    money: dice.of('USDT', 'USDC'),
    filledMs,
    fill: dice.of(null, COST.fill),
    fee: dice.of(null, COST.fee),
  };
  const isCancel =
    kind.startsWith('cancel') || kind === 'wouldCancel' || (kind === 'unknown' && dice.hits(0.3));
  const whole = event({
    kind,
    atMs: momentOf(dice),
    market,
    positionId,
    ruleId: dice.of('near', 'far'),
    reason: dice.of(
      'paused',
      'observeMode',
      'failed:observeMode',
      'awaitingApproval',
      'refused:vetoed',
      'duplicateId',
      'processDied',
      'deadline',
    ),
    words: dice.of('so it was', 'otherwise'),
    alarm: dice.hits(0.3),
    ...(isCancel ? { cancel: { market } } : dice.hits(0.9) ? { order } : {}),
    ...(kind === 'priced' ? { cost } : {}),
  });
  const { market: _market, positionId: _positionId, ruleId: _ruleId, ...bare } = whole;
  return dice.hits(0.1) ? bare : whole;
}

function transitionOf(dice: Dice): Transition {
  return transition({
    atMs: momentOf(dice),
    ruleId: dice.of('near', 'far', 'ltv'),
    subject: dice.of('position:42', 'position:43', 'position:44', 'creditLine:USDT@1', 'account'),
    from: dice.of('pending', 'firing', 'firing', 'inactive'),
    to: dice.of('firing', 'firing', 'inactive'),
    reason: dice.of('heldLongEnough', 'subjectGone', 'subjectGone'),
    severity: dice.of('info', 'warning', 'critical'),
    mode: dice.of('enforce', 'observe'),
    ...(dice.hits(0.3) ? { stage: 1 } : {}),
  });
}

function samplesOf(dice: Dice): readonly HistorySample[] {
  const distance = dice.of(0.02, 0.0999, 0.1, 0.3);
  return [
    {
      subject: 'position:42',
      values: { market: 'BTC_PERP', ...(dice.hits(0.8) ? { liquidationDistance: distance } : {}) },
    },
    {
      subject: 'position:43',
      values: { ...(dice.hits(0.8) ? { market: 'ETH_PERP' } : {}), liquidationDistance: 0.2 },
    },
    { subject: 'account', values: dice.hits(0.5) ? { jointDistance: dice.of(0.05, 0.4) } : {} },
    {
      subject: 'creditLine:USDT@1',
      values: { currentLtv: dice.of(0.5, 0.7, 0.75, 0.8), marginCallLtv: dice.of(0.75, 0.75, 0) },
    },
    { subject: 'creditLine:BTC@2', values: dice.hits(0.5) ? { currentLtv: 0.5 } : { marginCallLtv: 0.5 } },
  ] as readonly HistorySample[];
}

function sightingsOf(dice: Dice): readonly Sighting[] {
  const nearest = new NearestSightings();
  for (let moment = dice.of(0, 1, 3); moment > 0; moment -= 1) {
    const found = sightingsInHistory({ atMs: momentOf(dice), samples: samplesOf(dice) });
    nearest.add(
      found.map((one) =>
        dice.hits(0.1) ? Object.assign({}, one, { called: dice.of('marginCall', 'liquidation') }) : one,
      ),
    );
    nearest.add(found.filter(() => dice.hits(0.2)).map((one) => Object.assign({}, one, { distance: null })));
  }
  return nearest.all;
}

function viewOf(dice: Dice): Pick<AccountView, 'sources' | 'failures' | 'rules' | 'refused'> {
  const source = (name: string) => ({
    source: name,
    readAtMs: dice.of(null, hour(1), hour(-6 * 24), hour(-7 * 24 + 24), hour(-7 * 24 + 23)),
    ageMs: dice.of(100, 200, 300),
    complete: true,
    setAside: 0,
    tooOld: dice.hits(0.2),
  });
  return {
    sources: ['positions', 'creditLine', 'transfers'].map(source),
    failures: some(dice, [0, 0, 1], () => ({
      source: dice.of('positions', 'transfers'),
      error: 'unauthenticated',
      words: 'no',
      sinceMs: hour(1),
      ...(dice.hits(0.5) ? { httpStatus: 401 } : {}),
    })),
    rules: some(dice, [0, 1, 2], () =>
      rule(dice.of('near', 'far', 'old'), dice.of('position:42', 'account'), {
        phase: dice.of('firing', 'firing', 'inactive'),
        sinceMs: dice.of(null, hour(2), DAY.toMs, DAY.toMs - 1),
        severity: dice.of('info', 'critical', null),
      }),
    ),
    refused: dice.hits(0.1) ? { document: 'evaluation', message: 'version 9' } : null,
  };
}

function digestOfScene(dice: Dice): Digest {
  const accounts = Array.from({ length: dice.of(1, 2, 3) }, (_, index) =>
    digestAccount(
      {
        accountId: `desk-${index}`,
        records: records(
          ...some(dice, [0, 3, 12, 30], () => (dice.hits(0.6) ? eventOf(dice) : transitionOf(dice))),
        ),
        sightings: sightingsOf(dice),
        ...(dice.hits(0.7) ? { view: viewOf(dice) } : {}),
        ...(dice.hits(0.2) ? { prunedToMs: dice.of(DAY.fromMs, DAY.fromMs + 1, hour(2)) } : {}),
        ...(dice.hits(0.1) ? { unreadable: 'a record of form 9' } : {}),
      },
      DAY,
    ),
  );
  const versions = { breakwater: '1.2.3', node: 'v24.0.0' };
  const heads = some(dice, [0, 1, 3], () => ({ chain: 'desk-0', head: { seq: 7, hash: 'b'.repeat(64) } }));
  const notes = dice.hits(0.2) ? ['Something to know beforehand.'] : [];
  return digestOf(accounts, DAY, { versions, notes, ...(dice.hits(0.8) ? { heads } : {}) });
}

function linesOf(digest: Digest, maxChars: number): readonly string[] {
  const { headline, lines } = digestWords(digest, { maxChars, timeOf });
  return [headline, ...lines];
}

test('days, and what is told of them', async () => {
  const dice = new Dice(21);
  const lines = Array.from({ length: 12 }, (_, index) =>
    [`-- ${index}`, ...linesOf(digestOfScene(dice), 1e6)].join('\n'),
  );
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test.for([1, 2, 3, 4])('a hundred days by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 100; index += 1) {
    const digest = digestOfScene(dice);
    hash.update(JSON.stringify(digest));
    for (const maxChars of [1e6, dice.of(500, 900, 1_500)]) hash.update(linesOf(digest, maxChars).join('\n'));
  }
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});
