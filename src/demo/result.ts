import { parseDecimal, toNumber, ZERO } from '../core/quantities/decimal.ts';
import type { LedgerEntry } from '../simulator/model/ledger-entry.ts';
import { CHARACTERS, type DemoCharacter, twinOf } from './accounts.ts';
import { COVER_AT } from './config.ts';
import type { Breach } from './tape.ts';

/** An alert with figures that say what would cure a credit line, as it was delivered. */
export interface CureAlert {
  readonly accountId: string;
  /** Exchange time, and the last entry of its ledger by then. */
  readonly atMs: number;
  readonly afterSeq: number;
}

export interface Evidence {
  readonly ledger: readonly LedgerEntry[];
  readonly breaches: readonly Breach[];
  readonly speed: number;
  readonly alerts: number;
  readonly cureAlerts: readonly CureAlert[];
  /** How far the prices went towards where the twin is liquidated, from the start: 1 is there. */
  readonly wayToLiquidation: (id: string) => number;
  /** Real prices were played: nobody chose them so that each account's fate is clear beforehand. */
  readonly isReal: boolean;
}

const LIQUIDATIONS: ReadonlySet<string> = new Set(['liquidation_started', 'liquidation']);
const CALLS: ReadonlySet<string> = new Set(['margin_call', ...LIQUIDATIONS]);

export type AccountResult = ReturnType<typeof accountResult>;
/** Whether the borrower was told in time. */
export type CreditLineWarning = ReturnType<typeof creditLineWarningsOf>[number];

/** How the demo went, counted from the ledger of the exchange. */
export function resultOf({ ledger, breaches, speed, alerts }: Evidence) {
  const accounts = CHARACTERS.map((character) => accountResult(character, ledger));
  const positions = accounts.filter(({ liquidated }) => liquidated !== null);
  const closed = positions.reduce((sum, { closedFraction }) => sum + (closedFraction ?? 0), 0);
  return {
    /** Accounts with positions that were liquidated, wholly or in part; each counts once. */
    liquidations: {
      protected: accounts.filter(({ liquidated }) => liquidated === true).length,
      unprotected: accounts.filter(({ twinLiquidated }) => twinLiquidated === true).length,
    },
    /** Of all protected size at the start, what orders closed. */
    closedFraction: rounded(closed / Math.max(1, positions.length), 4),
    accounts,
    /** Requests of the daemon that the exchange carried out: orders and cancels. */
    actions: ledger.filter((entry) => isOurs(entry) && wasCarriedOut(entry)).length,
    /** Real time from the price that broke the first rule's threshold to the order received by the exchange. */
    breachToOrderMs: reactionTimes(ledger, breaches, speed),
    /** Firings and alarms that were delivered, of the protected accounts. */
    alerts,
  };
}

/** All `null`: a credit line, which the daemon cannot repay, so that it counts neither as saved nor as lost. */
function accountResult({ id, kind }: DemoCharacter, ledger: readonly LedgerEntry[]) {
  if (kind === 'borrower') return { id, liquidated: null, twinLiquidated: null, closedFraction: null };
  return {
    id,
    liquidated: happened(ledger, id, LIQUIDATIONS),
    twinLiquidated: happened(ledger, twinOf(id), LIQUIDATIONS),
    closedFraction: rounded(closedBy(ledger, id), 4),
  };
}

function happened(ledger: readonly LedgerEntry[], accountId: string, kinds: ReadonlySet<string>): boolean {
  return ledger.some((entry) => entry.accountId === accountId && kinds.has(entry.kind));
}

/** Only reduce-only orders are sent, so every fill closes. */
function closedBy(ledger: readonly LedgerEntry[], accountId: string): number {
  const sum = (kind: LedgerEntry['kind']) =>
    ledger
      .filter((entry) => entry.accountId === accountId && entry.kind === kind)
      .reduce((total, { amount }) => total.plus(parseDecimal(amount ?? '0') ?? ZERO), ZERO);
  const opened = sum('position_seeded');
  return opened.eq(ZERO) ? 0 : toNumber(sum('fill')) / toNumber(opened);
}

function isOurs({ accountId }: LedgerEntry): boolean {
  return CHARACTERS.some(({ id }) => id === accountId);
}

function wasCarriedOut({ kind, details }: LedgerEntry): boolean {
  return kind === 'request' && Number(details?.['status']) < 300;
}

/** The next order of the account after each breach; a breach that none follows before it is over counts not. */
function reactionTimes(ledger: readonly LedgerEntry[], breaches: readonly Breach[], speed: number) {
  const orders = ledger.filter(({ kind }) => kind === 'order_placed');
  const times = breaches
    .flatMap(({ accountId, atMs }) => {
      const order = orders.find((entry) => entry.accountId === accountId && entry.atMs >= atMs);
      const next = breaches.find((other) => other.accountId === accountId && other.atMs > atMs);
      return order === undefined || (next !== undefined && next.atMs < order.atMs)
        ? []
        : [(order.atMs - atMs) / speed];
    })
    .toSorted((a, b) => a - b);
  const at = (share: number): number | null => {
    const value = times[Math.max(0, Math.ceil(share * times.length) - 1)];
    return value === undefined ? null : rounded(value, 1);
  };
  return { p50: at(0.5), p99: at(0.99) };
}

/** What the credit lines' owners were told, and when; all by the order of the exchange's ledger. */
export function creditLineWarningsOf({ ledger, cureAlerts }: Evidence) {
  return CHARACTERS.filter(({ kind }) => kind === 'borrower').map(({ id }) => {
    const call = ledger.find(({ accountId, kind }) => accountId === id && CREDIT_LINE_CALLS.has(kind));
    const told = cureAlerts.find(({ accountId }) => accountId === id);
    return {
      id,
      /** `null`: its margin call never came. */
      calledAtMs: call?.atMs ?? null,
      /** Of the first alert that says what would cure the credit line; `null`: there was none. */
      toldAtMs: told?.atMs ?? null,
      inTime: call === undefined || (told !== undefined && told.afterSeq < call.seq),
    };
  });
}

const CREDIT_LINE_CALLS: ReadonlySet<string> = new Set(['loan_margin_call', 'loan_liquidation']);

/**
 * What must not have happened, by the ledger. With real prices an account that was reduced and would have come through
 * is no failure (`hindsightOf`); one reduced while prices moved away is.
 */
export function failuresOf(evidence: Evidence): readonly string[] {
  const { ledger, wayToLiquidation, isReal } = evidence;
  const required = CHARACTERS.filter((character) => character.required);
  const lost = required
    .filter(({ id }) => happened(ledger, id, LIQUIDATIONS))
    .map(({ id }) => `${id} was liquidated although it was protected`);
  const needless = required.filter((character) => wasNeedless(character, evidence));
  const wrong = isReal
    ? needless
        .filter(({ id }) => wasAgainstTheMove(id, evidence))
        .map(({ id }) => `${id} was closed in part while the prices moved away from its liquidation`)
    : needless.map(({ id }) => `${id} was closed in part although its twin never came near a margin call`);
  const touched = CHARACTERS.filter(({ id }) =>
    ledger.some((entry) => entry.accountId === twinOf(id) && entry.kind === 'request'),
  ).map(({ id }) => `${twinOf(id)} is only observed, and was acted on`);
  const twins = CHARACTERS.filter(({ kind }) => kind !== 'borrower');
  const proven =
    twins.some(({ id }) => happened(ledger, twinOf(id), LIQUIDATIONS)) ||
    twins.every(({ id }) => wayToLiquidation(id) < 1)
      ? []
      : ['the prices sufficed to liquidate a twin, and none was'];
  const untold = creditLineWarningsOf(evidence)
    .filter(({ inTime }) => !inTime)
    .map(({ id }) => `${id} had the margin call of its credit line before it was told what would cure it`);
  return [...lost, ...wrong, ...touched, ...proven, ...(isReal ? [] : untold)];
}

/** Accounts that were reduced and would, as is known now, have come through without. */
export function hindsightOf(evidence: Evidence): readonly string[] {
  return CHARACTERS.filter(
    (character) => wasNeedless(character, evidence) && !wasAgainstTheMove(character.id, evidence),
  ).map(({ id }) => id);
}

function wasNeedless(character: DemoCharacter, evidence: Evidence): boolean {
  return closedBy(evidence.ledger, character.id) > 0 && !wasInNeed(character, evidence);
}

/** The prices never went so much as a tenth of the way to its liquidation. */
function wasAgainstTheMove(id: string, { wayToLiquidation }: Evidence): boolean {
  return wayToLiquidation(id) < 0.1;
}

/** By the fate of the twin; of what has a standing stop, also by whether the prices came near that. */
function wasInNeed({ id, covered = false }: DemoCharacter, { ledger, wayToLiquidation }: Evidence): boolean {
  return happened(ledger, twinOf(id), CALLS) || (covered && wayToLiquidation(id) >= NEAR_THE_STOP);
}

/** A little less than where the stop is put, as the mark price moves on while it is placed. */
const NEAR_THE_STOP = 0.95 * COVER_AT;

function rounded(value: number, places: number): number {
  return Number(value.toFixed(places));
}
