/**
 * Figures and times as people read them. Pure: no DOM, no clock. Thousands are set apart by narrow spaces, which
 * no locale mistakes for a decimal point.
 */

export const UNKNOWN = 'unknown';
const GROUP = '\u202f';
const MINUS = '\u2212';
const UNIT = '\u00a0';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * A fraction as percent: two digits below 10 %, one above.
 * @param {number | 'none' | null | undefined} fraction
 * @param {string} [none] what "there is none" is called
 */
export function percent(fraction, none = 'none') {
  if (fraction === null || fraction === undefined || Number.isNaN(fraction)) return UNKNOWN;
  if (fraction === 'none' || fraction === Number.POSITIVE_INFINITY) return none;
  const value = fraction * 100;
  const digits = Math.abs(value) < 9.995 ? 2 : 1;
  return `${signed(value.toFixed(digits))}${UNIT}%`;
}

/** A threshold: as short as it can be said. @param {number} fraction */
export function shortPercent(fraction) {
  return `${signed(String(Number((fraction * 100).toFixed(2))))}${UNIT}%`;
}

/** @param {number | 'none' | null | undefined} chance */
export function probability(chance) {
  if (chance === null || chance === undefined) return UNKNOWN;
  if (chance === 'none' || chance === 0) return `0${UNIT}%`;
  if (chance < 0.001) return `<${UNIT}0.1${UNIT}%`;
  if (chance > 0.999 && chance < 1) return `>${UNIT}99.9${UNIT}%`;
  return `${(chance * 100).toFixed(1)}${UNIT}%`;
}

/** A sum of money: two digits, none from 10 000 on. @param {number | 'none' | null | undefined} value */
export function money(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value === 'none') return 'none';
  return grouped(Math.abs(value) >= 10_000 ? value.toFixed(0) : value.toFixed(2));
}

/** What the names of perpetuals end in, which is no currency. */
const NO_CURRENCY = 'PERP';

/**
 * What stands before or after sums in a money currency; nothing where the currency is not known.
 * @param {string} name
 * @param {(name: string) => string} words
 */
export function ofCurrency(name, words) {
  return name === NO_CURRENCY ? '' : words(name);
}

/**
 * A decimal text as it came, with its thousands set apart.
 * @param {string | null | undefined} text `none` is said as it is
 */
export function amount(text) {
  if (text === null || text === undefined) return UNKNOWN;
  return text === 'none' ? text : grouped(text);
}

const SIGNIFICANT = 6;
const LEAST_DECIMALS = 2;

/**
 * What has to be paid, as a decimal text: rounded up to what a person types, never below what came.
 * @param {string} text not negative
 */
export function amountUp(text) {
  const [whole = '0', fraction = ''] = text.split('.');
  const leading = /^0*$/.test(whole) ? -(/^0*/.exec(fraction)?.[0].length ?? 0) : whole.length;
  const decimals = Math.max(LEAST_DECIMALS, SIGNIFICANT - leading);
  if (fraction.length <= decimals) return grouped(text);
  const isMore = /[1-9]/.test(fraction.slice(decimals));
  const units = BigInt(whole + fraction.slice(0, decimals)) + (isMore ? 1n : 0n);
  const digits = String(units).padStart(decimals + 1, '0');
  return grouped(`${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`);
}

/** @param {string} text */
function grouped(text) {
  const [whole = '', fraction] = text.split('.');
  const digits = whole.replace('-', '');
  const first = digits.length % 3;
  const groups = [digits.slice(0, first), ...(digits.slice(first).match(/\d{3}/g) ?? [])];
  const spaced = `${whole.startsWith('-') ? '-' : ''}${groups.filter((group) => group !== '').join(GROUP)}`;
  return signed(fraction === undefined ? spaced : `${spaced}.${fraction}`);
}

/** @param {string} text */
function signed(text) {
  const isZero = /^-?[0.]*$/.test(text);
  return text.startsWith('-') ? `${isZero ? '' : MINUS}${text.slice(1)}` : text;
}

/** How long: `850 ms`, `4.2 s`, `45 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. @param {number} ms */
export function duration(ms) {
  const abs = Math.max(0, ms);
  if (abs < SECOND) return `${Math.round(abs)}${UNIT}ms`;
  if (abs < 9_950) return `${(abs / SECOND).toFixed(1)}${UNIT}s`;
  return longDuration(abs);
}

/** As `duration`, in whole seconds: for what counts on while one looks. @param {number} ms */
export function longDuration(ms) {
  const abs = Math.max(0, ms);
  if (abs < 59_500) return `${Math.round(abs / SECOND)}${UNIT}s`;
  if (abs < HOUR) return two(abs, MINUTE, 'min', SECOND, 's');
  if (abs < DAY) return two(abs, HOUR, 'h', MINUTE, 'min');
  return two(abs, DAY, 'd', HOUR, 'h');
}

/**
 * @param {number} ms
 * @param {number} large
 * @param {string} largeName
 * @param {number} small
 * @param {string} smallName
 */
function two(ms, large, largeName, small, smallName) {
  const units = Math.round(ms / small);
  const per = large / small;
  const rest = units % per;
  const head = `${Math.floor(units / per)}${UNIT}${largeName}`;
  return rest === 0 ? head : `${head} ${rest}${UNIT}${smallName}`;
}

/** @param {number} atMs @param {number} nowMs */
export function ago(atMs, nowMs) {
  const age = nowMs - atMs;
  return age < 1_500 ? 'just now' : `${longDuration(age)} ago`;
}

/** @param {number} atMs @param {number} nowMs */
export function until(atMs, nowMs) {
  const left = atMs - nowMs;
  return left < 1_000 ? 'now' : `in ${longDuration(left)}`;
}

/** Minutes of a forecast. @param {number | 'none' | null | undefined} minutes @param {string} none */
export function forecast(minutes, none) {
  if (minutes === null || minutes === undefined) return UNKNOWN;
  if (minutes === 'none' || minutes > 60 * 24 * 365) return none;
  return longDuration(minutes * MINUTE);
}

/** Local time of day, with the date unless it is today. @param {number} atMs @param {number} nowMs */
export function localTime(atMs, nowMs) {
  const at = new Date(atMs);
  const time = at.toLocaleTimeString('en-GB', { hourCycle: 'h23' });
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`;
}

/** @param {number} atMs */
export function utcTime(atMs) {
  return `${new Date(atMs).toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

/** `1 position`, `2 positions`. @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${grouped(String(count))} ${count === 1 ? one : many}`;
}

/** `a`, `a and b`, `a, b and c`. @param {readonly string[]} words */
export function listed(words) {
  if (words.length < 2) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** `BTC` of `BTC_PERP`, `BTC_USDT`. @param {string} market */
export function baseOf(market) {
  return market.split('_')[0] ?? market;
}

/** @param {string} text */
export function capital(text) {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
