import type { Message } from '../core/ports/delivery.ts';
import type { NoticeFigures } from '../core/ports/notifier.ts';
import { figure } from '../core/view/alert-words.ts';

/** Names the subject and its distance from harm: `BTC_PERP long, 4.1 % from liquidation`. */
export function distanceWords(figures: NoticeFigures): string {
  if (figures.kind === 'creditLine') {
    const { asset, currentLtv, marginCallLtv } = figures;
    return `credit line in ${asset}, LTV ${ratio(currentLtv)} (margin call at ${ratio(marginCallLtv)})`;
  }
  const { direction, liquidationDistance: distance } = figures;
  const what = `${figures.market ?? 'market unknown'} ${direction ?? 'side unknown'}`;
  if (distance === 'none') return `${what}, no liquidation price`;
  return distance === null
    ? `${what}, distance to liquidation unknown`
    : `${what}, ${ratio(distance)} from liquidation`;
}

/** Returns all figures in two sentences. A figure that is not known reads `unknown`. */
export function figureLines(figures: NoticeFigures): readonly string[] {
  if (figures.kind === 'creditLine') {
    const { asset, debt, currentLtv, marginCallLtv, liquidationLtv, minutesToMarginCall } = figures;
    return [
      `Debt ${debt ?? 'unknown'} ${asset}; LTV ${ratio(currentLtv)}, margin call at ${ratio(marginCallLtv)}, liquidation at ${ratio(liquidationLtv)}.`,
      `Time to the margin call: ${timeLeft(minutesToMarginCall)}.`,
    ];
  }
  const { direction, sizeBase, market, notional, markPrice, liquidationPrice } = figures;
  const size = `${direction ?? 'side unknown,'} ${sizeBase ?? 'size unknown'} ${market ?? ''}`.trim();
  return [
    `${size}, worth ${worth(notional)}; mark ${priceWords(markPrice)}, liquidation price ${priceWords(liquidationPrice)}, distance ${ratio(figures.liquidationDistance)}.`,
    `Time to liquidation: ${timeLeft(figures.minutesToLiquidation)}.`,
  ];
}

/** Significant digits of a price in a message; computed prices have many more. */
const PRICE_DIGITS = 8;

function priceWords(price: string | null): string {
  if (price === null) return 'unknown';
  // `none` has no digits and stays.
  return price.replace(/\D/g, '').length <= PRICE_DIGITS
    ? price
    : String(Number(Number(price).toPrecision(PRICE_DIGITS)));
}

type Figure = number | 'none' | null;

function ratio(value: Figure): string {
  return value === null ? 'unknown' : value === 'none' ? 'none' : figure(value, 'ratio');
}

function worth(value: Figure): string {
  return typeof value === 'number' ? figure(value, undefined) : 'unknown';
}

const MINUTES_PER_HOUR = 60;
const MOST_HOURS = 48;

function timeLeft(minutes: Figure): string {
  if (minutes === null) return 'unknown';
  if (minutes === 'none' || minutes > MOST_HOURS * MINUTES_PER_HOUR)
    return `more than ${MOST_HOURS} h, ${BASIS}`;
  const about =
    minutes < 1
      ? `${Math.floor(minutes * 60)} s`
      : minutes < 2 * MINUTES_PER_HOUR
        ? `${Math.floor(minutes)} min`
        : `${Math.floor(minutes / MINUTES_PER_HOUR)} h`;
  return `as likely as not within about ${about}, ${BASIS}`;
}

/** The time is no speed: a price that stands still or moves away also has one, as long as it swung recently. */
const BASIS = 'if prices go on swinging as of late, up or down';

/** Returns the commands that show the account, pause its actions, and acknowledge the notice. */
export function commandsOf({ kind, accountId, ruleId, mode }: Message) {
  if (kind === 'test' || accountId === '') return undefined;
  const account = shellWord(accountId);
  const status = `breakwater status --account ${account}`;
  const isActing = mode !== 'observe' && kind !== 'resolved';
  const isOpen = kind === 'firing' || kind === 'reminder';
  return {
    status,
    ...(isActing ? { pause: `breakwater pause --account ${account} --reason "looking into it"` } : {}),
    ...(isOpen ? { acknowledge: `${acknowledgeCommand(ruleId)} --account ${account}` } : {}),
  };
}

export function acknowledgeCommand(ruleId: string): string {
  return `breakwater acknowledge --rule ${shellWord(ruleId)}`;
}

export function answerCommands(accountId: string, reference: string) {
  const what = `${shellWord(accountId)} ${reference}`;
  return { approve: `breakwater approve ${what}`, veto: `breakwater veto ${what}` };
}

function shellWord(text: string): string {
  return /^[\w.@][\w.@-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the mode of a message; null if it is about no account, because accounts may have different modes. */
export function modeOf({ accountId, mode }: Pick<Message, 'accountId' | 'mode'>): Message['mode'] | null {
  return accountId === '' ? null : mode;
}
