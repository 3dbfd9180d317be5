import { positionWords } from '../lines/position-words.ts';
import { roughly } from '../quantities/roughly.ts';
import { compileGlobs } from '../rules/filter.ts';
import type { ReduceTarget } from '../rules/rule.ts';
import type { AccountView, PositionLine } from '../view/account-view.ts';
import { targetWords } from '../view/lane-lines.ts';
import type { OperatorOrder } from './controls.ts';

/** The plan of an operator order, as command line and page show it before they ask for confirmation. */

/** The part of an order that selects positions and says what to do. */
export type MeantOrder = Pick<
  Extract<OperatorOrder, { kind: 'reduce' }>,
  'positionId' | 'markets' | 'target' | 'slippageSteps' | 'flatten' | 'urgent'
>;

export interface PlanLine {
  readonly label: string;
  readonly text: string;
}

/** `reduce by 50 % of its size`; `close every open position in ETH_PERP`. */
function operatorOrderWords({ target, flatten, markets }: MeantOrder): string {
  if (!flatten) return `reduce ${targetWords(target, null)}${isShare(target) ? ' of its size' : ''}`;
  const isAll = markets === undefined || markets.includes('*');
  return `close every open position in ${isAll ? 'every market' : markets.join(', ')}`;
}

function isShare({ kind }: ReduceTarget): boolean {
  return kind === 'by' || kind === 'to';
}

/** Positions that the order selects, as the daemon last saw them. */
function meantBy({ positionId, markets }: MeantOrder, { positions }: AccountView): readonly PositionLine[] {
  if (positionId !== undefined) return positions.filter((position) => position.positionId === positionId);
  // Unknown markets match, since such a position may be selected.
  const isMeant = compileGlobs(markets ?? ['*']);
  return positions.filter(({ market }) => isMeant(market));
}

/** Returns why the order matches no position; undefined if it matches one or no poll has finished yet. */
export function missingPosition(
  { positionId }: MeantOrder,
  { accountId, judgedAtMs, positions }: AccountView,
): { readonly words: string; readonly cure: string } | undefined {
  if (judgedAtMs === null || positionId === undefined) return undefined;
  if (positions.some((position) => position.positionId === positionId)) return undefined;
  const known = positions.map((position) => `${position.positionId} (${position.market})`);
  return {
    words: `account ${accountId} has no position ${JSON.stringify(positionId)}: nothing was ordered.`,
    cure: known.length === 0 ? 'It has no position at all.' : `Its positions: ${known.join(', ')}.`,
  };
}

/** Returns the distance of an activation from the mark, a fraction; undefined: the market has no entry. */
type GapOf = (market: string) => number | undefined;

export function planLines(order: MeantOrder, view: AccountView, gapOf: GapOf): readonly PlanLine[] {
  const meant = meantBy(order, view);
  const steps = order.slippageSteps.map((step) => `${Number((step * 100).toPrecision(6))} %`);
  return [
    { label: 'account', text: view.accountId },
    { label: 'order', text: operatorOrderWords(order) },
    ...meant.map((position) => ({
      label: 'position',
      text: `${position.positionId} ${positionWords(position, view)}`,
    })),
    ...(meant.length === 0 ? [{ label: 'position', text: 'none that the daemon has seen' }] : []),
    ...meant.map((position) => ({
      label: 'will send',
      text: howWords(position, gapOf, order.urgent === true),
    })),
    { label: 'slippage', text: steps.join(', then ') },
  ];
}

/** Says what is sent and what must happen before it closes anything: it is a stop, not a market order. */
function howWords(position: PositionLine, gapOf: GapOf, isUrgent: boolean): string {
  const { direction, markPrice, market } = position;
  const gap = gapOf(market);
  if (gap === undefined) return `${market}: nothing: the config has no \`markets\` entry for it`;
  if (direction === null || markPrice === null)
    return `${market}: nothing before direction and mark are known`;
  const [side, way, sign] = direction === 'long' ? ['sell', 'falls', -1] : ['buy', 'rises', 1];
  const stops = isUrgent ? `two reduce-only ${side} stops` : `a reduce-only ${side} stop`;
  const priceAt = (towards: number): number =>
    Number((Number(markPrice) * (1 + towards * gap)).toPrecision(PRICE_DIGITS));
  const at = priceAt(sign);
  const share = `${Number((gap * 100).toPrecision(3))} %`;
  if (isUrgent)
    return `${market}: ${stops} at about ${at} and ${priceAt(-sign)}; it closes when the price moves ${share} from ${markPrice}, whichever way, or a little more while the market is fast; reduce-only takes the rest of the second one away`;
  return `${market}: ${stops} at about ${at}; it closes only when the price ${way} ${share} from ${markPrice}`;
}

const PRICE_DIGITS = 6;

/** Says what must happen before anything closes. */
export function closesWhen({ urgent }: Pick<MeantOrder, 'urgent'>): string {
  const unless =
    urgent === true
      ? 'In a market that stands still nothing closes, and where it leaps past both prices and the slippage the next attempt has to.'
      : 'In a market that stands still or moves the other way nothing closes.';
  return `${unless} To be flat now use the exchange.`;
}

const LONG_AGO_MS = 60_000;

/** Returns visible reasons why the order may not be carried out. */
export function orderObstacles(view: AccountView, nowMs: number): readonly string[] {
  const { mode, pause, judgedAtMs } = view;
  const obstacles: string[] = [];
  if (mode === 'observe') {
    obstacles.push('The account is in observe mode: the order is recorded, and nothing is sent.');
  }
  if (pause !== null) {
    const where = pause.accountId === null ? 'Everything' : 'The account';
    const by = `${pause.author}: ${pause.reason}`;
    obstacles.push(`${where} is paused (${by}): nothing is sent before it is resumed.`);
  }
  if (judgedAtMs === null) obstacles.push('No daemon has ever polled this account: the order waits for one.');
  else if (nowMs - judgedAtMs > LONG_AGO_MS) {
    const ago = roughly(nowMs - judgedAtMs);
    obstacles.push(`The last poll was ${ago} ago: is a daemon running? The order waits for one.`);
  }
  return obstacles;
}
