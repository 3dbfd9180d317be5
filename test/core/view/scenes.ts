import type { ApprovalQuestion } from '../../../src/core/approvals/question.ts';
import { BLOCK_WORDS, GATE_WORDS } from '../../../src/core/audit/audit-event.ts';
import type { Intent, LaneState } from '../../../src/core/lanes/lane-state.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { Figure, PositionLine, QuestionLine, RuleLine } from '../../../src/core/view/account-view.ts';
import { orderLines } from '../../../src/core/view/lane-lines.ts';
import type { StateInputs } from '../../../src/core/view/state-of.ts';
import { position, text } from '../../support/account-view.ts';
import type { Dice } from '../../support/dice.ts';
import { sceneOf } from '../orders/scenes.ts';

/** A random account, possible or not: the words of pages and messages must be true of each. */

export const NOW_MS = 1_767_225_600_000;

const ENDS: readonly [Intent['end'], ...Intent['end'][]] = [
  null,
  null,
  null,
  null,
  { how: 'reached', why: 'target' },
  { how: 'failed', why: 'attempts' },
  { how: 'failed', why: 'hedged' },
  { how: 'failed', why: 'refused:vetoed' },
];

const names = <T extends string>(words: Readonly<Record<T, unknown>>): [T, ...T[]] =>
  Object.keys(words) as [T, ...T[]];

/** A lane with intents that are held back, refused or ended. */
export function laneOf(dice: Dice): LaneState {
  const { state } = sceneOf(dice);
  const intents = state.intents.map((intent, index): Intent => {
    const end = dice.of(...ENDS);
    return {
      ...intent,
      key: `rule-${index}`,
      ruleId: dice.of('near', 'far'),
      stage: dice.of(0, 1),
      mode: dice.of('enforce', 'enforce', 'observe'),
      end,
      endedMs: end === null ? null : NOW_MS - 700,
      openedMs: NOW_MS - dice.of(1_000, 61_000),
      refusedBy: dice.hits(0.4) ? dice.of(...names(GATE_WORDS), 'observeMode', 'awaitingApproval') : null,
      blockedBy: dice.hits(0.2) ? dice.of(...names(BLOCK_WORDS)) : null,
    };
  });
  const covers = state.covers.map((cover) => ({
    ...cover,
    mode: dice.of('enforce', 'observe'),
    blockedBy: dice.hits(0.4) ? dice.of(...names(BLOCK_WORDS)) : null,
  })) as LaneState['covers'];
  const { latestRead: _latest, ...without } = state;
  const seen = dice.of('latest', 'latest', 'read', 'nothing');
  const orders = dice.hits(0.3)
    ? []
    : state.orders.map((order) => ({ ...order, key: dice.of(order.key, 'rule-0', 'rule-1') }));
  const [first] = state.orders;
  return {
    ...(seen === 'latest' ? state : { ...without, ...(seen === 'read' ? {} : { read: null }) }),
    market: dice.of('BTC_PERP', 'ETH_PERP'),
    intents,
    covers,
    orders,
    refusals: dice.of(0, 0, 1, 3),
    doubt: dice.hits(0.1) ? { why: 'newStore', sinceMs: NOW_MS - 1_000 } : null,
    ...(dice.hits(0.3) ? { cancelRefusals: dice.of(0, 1) } : {}),
    ...(dice.hits(0.3) && first !== undefined
      ? {
          observed: [
            { role: 'reduce', key: dice.of('rule-0', 'rule-1'), positionId: '41', request: first.request },
          ],
        }
      : {}),
  } as LaneState;
}

export function positionLine(dice: Dice, positionId: string): PositionLine {
  const isKnown = dice.hits(0.8);
  const stops = dice.of<readonly string[]>([], ['61200'], ['61200', '60400'], ['61200', '60400', '60000']);
  return {
    ...position(positionId),
    market: dice.of('BTC_PERP', 'ETH_PERP'),
    direction: dice.of('long', 'short', 'long', 'short', null),
    sizeBase: dice.of('0.5', '2') as DecimalString,
    markPrice: isKnown ? (dice.of('64000', '0.00012345') as DecimalString) : null,
    liquidationDistance: dice.of<Figure>(0.1234, 0.02, 0.5, 'none', null),
    disagreement: dice.of(false, false, true, null),
    liquidationState: dice.of('none', 'none', 'none', 'none', 'margin_call', 'unrecognised', null),
    stopCover: dice.of('ok', 'missing', 'beyondLiquidation', 'unconfirmed', null),
    ...(stops.length === 0 ? {} : { stopPrices: stops as readonly DecimalString[] }),
    ...(stops.length === 0 && dice.hits(0.5) ? {} : { stopCoverShare: dice.of(0.7, 1) }),
  };
}

function ruleLine(dice: Dice): RuleLine {
  const severity = dice.of('info', 'warning', 'critical', null);
  return {
    ruleId: dice.of('near', 'far', 'ltv'),
    subject: dice.of('position:41', 'position:42', 'creditLine:USDT@1'),
    severity,
    mode: 'enforce',
    phase: dice.of('firing', 'firing', 'pending', 'inactive'),
    frozen: dice.hits(0.2),
    episode: 1,
    stage: 0,
    sinceMs: dice.of(NOW_MS - 5_000, null),
    silenced: false,
    reason: dice.of('distance is 4 %', ''),
    condition: 'distance below 5 %',
  };
}

function questionLine(dice: Dice, lanes: readonly LaneState[]): QuestionLine {
  const target = { positionId: '41', market: 'BTC_PERP', targetBase: text('1'), sizeBase: text('2') };
  return {
    reference: dice.of('q1-1', null),
    ruleId: dice.of('near', 'far'),
    subject: 'position:41',
    stage: dice.of(0, 1),
    state: dice.of<ApprovalQuestion['state']>('waiting', 'waiting', 'vetoed', 'approved'),
    answerable: true,
    settledBy: null,
    askedMs: dice.of(NOW_MS - 2_000, NOW_MS - 4_000, null),
    untilMs: NOW_MS + dice.of(10_000, 20_000, 90_000_000),
    withoutAnswer: dice.of('act', 'hold'),
    delivered: true,
    targets: dice.of([], [target]),
    orders: dice.hits(0.5) ? orderLines(lanes).slice(0, 2) : [],
    answer: dice.hits(0.5)
      ? { decision: 'veto', author: 'ann', reason: 'no', atMs: NOW_MS - 1_500, revision: 1 }
      : null,
  };
}

const many = <T>(
  dice: Dice,
  counts: readonly [number, ...number[]],
  make: (index: number) => T,
): readonly T[] => Array.from({ length: dice.of(...counts) }, (_, index) => make(index));

export function stateInputs(dice: Dice): StateInputs {
  const lanes = many(dice, [0, 1, 1, 2], () => laneOf(dice));
  const isBlind = dice.hits(0.2);
  const source = (name: string) => ({
    source: name,
    readAtMs: NOW_MS - 500,
    ageMs: 500,
    complete: true,
    setAside: isBlind && dice.hits(0.3) ? 2 : 0,
    tooOld: isBlind && dice.hits(0.3),
  });
  return {
    refused: isBlind && dice.hits(0.1) ? { document: 'evaluation', message: 'version 9' } : null,
    mode: dice.of('enforce', 'enforce', 'enforce', 'observe', null),
    pause: dice.hits(0.15)
      ? {
          kind: 'pause',
          id: 'p',
          accountId: 'desk',
          author: 'ann',
          reason: 'repair',
          atMs: NOW_MS - 3_000,
          expiresAtMs: dice.of(null, NOW_MS + 60_000, NOW_MS + 86_400_000),
        }
      : null,
    judgedAtMs: isBlind ? dice.of(null, NOW_MS - 10_001, NOW_MS - 500) : NOW_MS - dice.of(500, 10_000),
    overdueAfterMs: 10_000,
    sources: ['positions', 'creditLine', 'transfers'].map(source),
    failures:
      isBlind && dice.hits(0.4)
        ? many(dice, [1, 2], () => ({
            source: dice.of('transfers', 'positions', 'spotOrders'),
            error: dice.of('unauthenticated', 'timeout', 'rateLimited', 'replyInvalid', 'serverError'),
            ...(dice.hits(0.5) ? { httpStatus: 401 } : {}),
            words: 'it did not work',
            sinceMs: NOW_MS - 4_000,
          }))
        : [],
    rules: many(dice, [0, 0, 1, 1, 2, 3], () => ruleLine(dice)),
    positions: many(dice, [0, 1, 1, 2], (index) => ({
      ...positionLine(dice, String(41 + index)),
      ...(isBlind ? {} : { liquidationDistance: dice.of<Figure>(0.1, 0.05, 'none') }),
    })),
    lanes,
    questions: many(dice, [0, 0, 0, 1, 1, 2, 3], () => questionLine(dice, lanes)),
    storeLink: isBlind && dice.hits(0.1) ? 'lost' : 'ok',
    nowMs: NOW_MS,
  };
}
