import type { Notice, NoticeDoing, NoticeFigures } from '../ports/notifier.ts';
import type { SubjectKey } from '../rules/subject.ts';
import type { AccountView, Figure, IntentLine, OrderLine } from './account-view.ts';
import { orderWords } from './state-of.ts';

/** Facts about the subject and account of a notice: the same figures and words as page and `status`. */
export function noticeFacts(
  view: AccountView,
  { subject, market, kind }: Pick<Notice, 'subject' | 'market'> & Partial<Pick<Notice, 'kind'>>,
): Pick<Notice, 'figures' | 'doing'> {
  const isThere = kind === 'firing' || kind === 'reminder';
  const figures = positionFacts(view, subject, market, isThere) ?? creditLineFacts(view, subject);
  // A question is about its own orders: those that other rules would send are omitted.
  const shown =
    kind === 'approval'
      ? { ...view, orders: view.orders.filter(({ status }) => status !== 'observed') }
      : view;
  return { ...(figures === undefined ? {} : { figures }), doing: doingOf(shown, subject, market) };
}

const POSITION = 'position:';

/**
 * A position that was not read has unknown figures; a position that is gone has none. `isThere`: a rule fires for it, so
 * it is not gone, even if the list lacks it or has it with nulls.
 */
function positionFacts(
  { positions, sources }: AccountView,
  subject: SubjectKey,
  market: string | undefined,
  isThere: boolean,
): NoticeFigures | undefined {
  if (!subject.startsWith(POSITION)) return undefined;
  const position = positions.find((one) => one.subject === subject);
  if (position === undefined) {
    const source = sources.find((one) => one.source === 'positions');
    const isGone = source !== undefined && source.readAtMs !== null && source.complete;
    return isGone && source.setAside === 0 && !isThere
      ? undefined
      : { ...NOTHING_KNOWN, market: market ?? null };
  }
  return {
    kind: 'position',
    market: position.market,
    direction: position.direction,
    sizeBase: position.sizeBase,
    notional: position.notional,
    markPrice: position.markPrice,
    liquidationPrice: position.liquidationPrice,
    liquidationDistance: position.liquidationDistance,
    minutesToLiquidation: inTime(position.minutesToLiquidation),
  };
}

/** A time that is never reached is `none`, since JSON has no infinity. */
function inTime(minutes: Figure): Figure {
  return typeof minutes === 'number' && !Number.isFinite(minutes) ? 'none' : minutes;
}

const NOTHING_KNOWN = {
  kind: 'position',
  direction: null,
  sizeBase: null,
  notional: null,
  markPrice: null,
  liquidationPrice: null,
  liquidationDistance: null,
  minutesToLiquidation: null,
} as const;

function creditLineFacts({ creditLines }: AccountView, subject: SubjectKey): NoticeFigures | undefined {
  const line = creditLines.find((one) => one.subject === subject);
  if (line === undefined) return undefined;
  const { asset, debt, currentLtv, marginCallLtv, liquidationLtv, minutesToMarginCall } = line;
  return {
    kind: 'creditLine',
    asset,
    debt,
    currentLtv,
    marginCallLtv,
    liquidationLtv,
    minutesToMarginCall: inTime(minutesToMarginCall),
  };
}

function doingOf(view: AccountView, subject: SubjectKey, market: string | undefined): NoticeDoing {
  const { kind: state, cause, words } = view.state;
  const isOwn = (one: { readonly positionId: string; readonly market: string }): boolean =>
    subject.startsWith(POSITION)
      ? `${POSITION}${one.positionId}` === subject
      : market === undefined || one.market === market;
  const orders = view.orders.filter(isOwn).flatMap((order) => orderSentence(order, view));
  return { state, cause, words, orders, next: nextWords(view, subject, view.intents.filter(isOwn)) };
}

function orderSentence(order: OrderLine, { positions, sources }: AccountView): readonly string[] {
  const wasRead = sources.some(({ source, readAtMs }) => source === 'positions' && readAtMs !== null);
  const isGone = wasRead && !positions.some(({ positionId }) => positionId === order.positionId);
  switch (order.status) {
    case 'open':
      return isGone
        ? [`May be left of position ${order.positionId}, which no list shows any more: ${orderWords(order)}`]
        : [`In place: ${orderWords(order)}`];
    case 'unsure':
      return [`Not known whether it is in place: ${orderWords(order)}`];
    case 'observed':
      return [`Would be sent: ${orderWords(order)}`];
    default:
      return [];
  }
}

function nextWords({ pause }: AccountView, subject: SubjectKey, intents: readonly IntentLine[]): string {
  if (subject.startsWith('creditLine:')) return 'a person has to repay or add collateral';
  const open = intents.filter(({ ended }) => !ended);
  if (pause !== null) return 'nothing is sent while it is paused';
  if (open.length === 0) return 'no rule reduces anything here now; a person has to decide';
  return open
    .map(({ market, mode, target, state }) => {
      const what = mode === 'observe' ? 'would reduce' : 'reduces';
      return `Breakwater ${what} ${market} ${target} (${state})`;
    })
    .join('; ');
}
