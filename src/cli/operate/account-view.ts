import type { Operations } from '../../app.ts';
import type { AccountState, LoanMemory, PositionMemory } from '../../core/account-state.ts';
import { GATE_WORDS } from '../../core/gate.ts';
import { BLOCK_WORDS } from '../../core/intent.ts';
import type { Intent, LaneState } from '../../core/lane-state.ts';
import type { OperatorOrder } from '../../core/ports/controls.ts';
import type { HistoryPoint, HistoryReader } from '../../core/ports/history.ts';
import type { Life, StoredAccount } from '../../core/ports/state-store.ts';
import type { Mode, ReduceTarget } from '../../core/rule.ts';
import type { RuleEntry } from '../../core/rule-state.ts';
import { positionKey } from '../../core/subjects.ts';

/** One account as the shared state has it; plain JSON. Ages are milliseconds before the view was made. */
export interface AccountView {
  readonly accountId: string;
  /** Unix milliseconds by the clock of the process that polled; null: never. */
  readonly lastPollMs: number | null;
  readonly nextPollPlannedMs: number | null;
  readonly life: Life | null;
  readonly positions: readonly PositionLine[];
  readonly loans: readonly LoanLine[];
  readonly rules: readonly RuleLine[];
  readonly intents: readonly IntentLine[];
  readonly orders: readonly OrderLine[];
  /** Markets in which nobody knows what is open, and why. */
  readonly doubts: readonly { readonly market: string; readonly why: string; readonly sinceMs: number }[];
  /** Orders by hand that have not begun. */
  readonly inbox: readonly OperatorOrder[];
}

/** Figures are absent where the daemon has not noted them. */
export interface PositionLine {
  readonly positionId: string;
  readonly market?: string;
  readonly amount?: string;
  readonly markPrice?: string;
  /** A fraction. */
  readonly distance?: number;
  readonly cover: 'covered' | 'open' | 'unknown';
  /** Of the figures. */
  readonly ageMs?: number;
}

export interface LoanLine {
  readonly subject: string;
  readonly amount?: string;
  /** A fraction. */
  readonly currentLtv?: number;
  readonly ageMs?: number;
}

export interface RuleLine {
  readonly ruleId: string;
  readonly subject: string;
  readonly mode: Mode;
  readonly phase: RuleEntry['phase'];
  /** The data did not decide at the last evaluation. */
  readonly frozen: boolean;
  readonly episode: number;
  readonly stage: number | null;
  readonly sinceMs: number | null;
  readonly reason: string;
}

export interface IntentLine {
  readonly market: string;
  readonly positionId: string;
  /** `operator:ID` for an order by hand. */
  readonly ruleId: string;
  readonly target: string;
  readonly openedMs: number;
  readonly failures: number;
  readonly state: string;
  readonly ended: boolean;
}

export interface OrderLine {
  readonly market: string;
  readonly role: 'reduce' | 'cover';
  readonly positionId: string;
  readonly side: string;
  readonly amount: string;
  readonly activationPrice: string;
  readonly price: string;
  readonly status: string;
  readonly clientOrderId: string;
}

export async function accountView(
  operations: Pick<Operations, 'history'>,
  account: StoredAccount,
  nowMs: number,
): Promise<AccountView> {
  const { evaluation, inbox } = account.documents;
  const lanes = [...account.lanes.values()];
  const [positions, loans] = await Promise.all([
    positionLines(operations, account, nowMs),
    loanLines(operations, account, nowMs),
  ]);
  const passage = evaluation?.passage;
  return {
    accountId: account.accountId,
    lastPollMs: passage?.at.wallMs ?? null,
    nextPollPlannedMs: passage === undefined ? null : passage.at.wallMs + passage.plannedMs,
    life: account.life,
    positions,
    loans,
    rules: evaluation === undefined ? [] : ruleLines(evaluation),
    intents: lanes.flatMap((lane) => lane.intents.map((intent) => intentLine(lane, intent))),
    orders: lanes.flatMap(orderLines),
    doubts: lanes.flatMap(({ market, doubt }) =>
      doubt === null ? [] : [{ market, why: doubt.why, sinceMs: doubt.sinceMs }],
    ),
    inbox: inbox?.orders ?? [],
  };
}

async function newest(
  history: HistoryReader,
  accountId: string,
  subject: string,
): Promise<HistoryPoint | undefined> {
  return (await history.read(accountId, subject, { limit: 1 })).at(-1);
}

function positionLines(
  { history }: Pick<Operations, 'history'>,
  { accountId, documents }: StoredAccount,
  nowMs: number,
): Promise<readonly PositionLine[]> {
  const lineOf = async ({ positionId, cover }: PositionMemory): Promise<PositionLine> => {
    const point = await newest(history, accountId, positionKey(positionId));
    if (point === undefined) return { positionId, cover };
    const { market, amount, markPrice, liquidationDistance: distance } = point.values;
    return {
      positionId,
      cover,
      ageMs: nowMs - point.atMs,
      ...(market === undefined ? {} : { market: String(market) }),
      ...(amount === undefined ? {} : { amount: String(amount) }),
      ...(markPrice === undefined ? {} : { markPrice: String(markPrice) }),
      ...(typeof distance === 'number' ? { distance } : {}),
    };
  };
  return Promise.all((documents.evaluation?.positions ?? []).map(lineOf));
}

function loanLines(
  { history }: Pick<Operations, 'history'>,
  { accountId, documents }: StoredAccount,
  nowMs: number,
): Promise<readonly LoanLine[]> {
  const lineOf = async ({ subject }: LoanMemory): Promise<LoanLine> => {
    const point = await newest(history, accountId, subject);
    if (point === undefined) return { subject };
    const { amount, currentLtv } = point.values;
    return {
      subject,
      ageMs: nowMs - point.atMs,
      ...(amount === undefined ? {} : { amount: String(amount) }),
      ...(typeof currentLtv === 'number' ? { currentLtv } : {}),
    };
  };
  return Promise.all((documents.evaluation?.loans ?? []).map(lineOf));
}

/** Rules that do something or cannot tell; the others have nothing to remember. */
function ruleLines({ rules }: AccountState): readonly RuleLine[] {
  return rules.flatMap(({ ruleId, mode, entries }) =>
    entries
      .filter(({ phase, frozen }) => phase !== 'inactive' || frozen)
      .map((entry) => {
        const stage = entry.stages.at(-1);
        const { subject, phase, frozen, episode } = entry;
        return {
          ruleId,
          subject,
          mode,
          phase,
          frozen,
          episode,
          stage: stage?.stage ?? null,
          sinceMs: entry.stages[0]?.atMs ?? null,
          reason: reasonOf(entry),
        };
      }),
  );
}

function reasonOf({ phase, frozen, holds, stages }: RuleEntry): string {
  const because = stages.at(-1)?.because ?? '';
  if (frozen) return `the data do not decide${because === '' ? '' : `; before: ${because}`}`;
  if (phase === 'pending') return 'the condition holds, not yet for long enough';
  return holds ? because : `clear, not yet for long enough; it fired because ${because}`;
}

function intentLine(lane: LaneState, intent: Intent): IntentLine {
  return {
    market: lane.market,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    target: targetWords(intent.target, intent.targetBase),
    openedMs: intent.openedMs,
    failures: intent.failures,
    state: intentState(intent, lane),
    ended: intent.end !== null,
  };
}

function targetWords(target: ReduceTarget, targetBase: string | null): string {
  const size = targetBase === null ? '' : ` (at most ${targetBase})`;
  switch (target.kind) {
    case 'by':
      return `by ${percent(target.fraction)}${size}`;
    case 'to':
      return `to ${percent(target.fraction)}${size}`;
    case 'toNotional':
      return `to a worth of ${target.notional}${size}`;
    case 'untilDistance':
      return `until ${percent(target.distance)} away${size}`;
  }
}

function percent(fraction: number): string {
  return `${Number((fraction * 100).toPrecision(6))} %`;
}

function intentState(intent: Intent, lane: LaneState): string {
  if (intent.end !== null) return `${intent.end.how} (${intent.end.why})`;
  if (intent.refusedBy !== null) return `held back: ${GATE_WORDS[intent.refusedBy]}`;
  if (intent.blockedBy !== null) return `blocked: ${BLOCK_WORDS[intent.blockedBy]}`;
  const own = lane.orders.filter(({ key }) => key === intent.key).length;
  return own === 0 ? 'open, no order placed' : `open, ${own} ${own === 1 ? 'order' : 'orders'} placed`;
}

function orderLines({ market, orders }: LaneState): readonly OrderLine[] {
  return orders.map(({ role, positionId, amount, status, request }) => ({
    market,
    role,
    positionId,
    side: request.side,
    amount,
    activationPrice: request.activationPrice,
    price: request.price,
    status,
    clientOrderId: request.clientOrderId,
  }));
}
