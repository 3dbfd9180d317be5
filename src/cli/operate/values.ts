import { userInfo } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { durationHint, isDurationTooLong, LONGEST_DURATION, parseDuration, parsePercent } from '../../app.ts';
import { parseDecimal, toNumber, ZERO } from '../../core/quantities/decimal.ts';
import type { CliIo } from '../io.ts';
import { collect } from '../option-values.ts';

/** Readers of option values for operators' commands; the same syntax as in the config. */

export function durationMs(text: string): number {
  const value = parseDuration(text);
  if (value !== undefined && value > 0) return value;
  const meant = durationHint(text);
  const hint = meant === undefined || parseDuration(meant) === 0 ? '' : ` Did you mean ${meant}?`;
  const bounds = durationBounds(text, value);
  throw new InvalidArgumentError(`Expected a duration${bounds} such as 90s, 2h or 1d.${hint}`);
}

function durationBounds(text: string, value: number | undefined): string {
  if (value === 0) return ' above 0,';
  return isDurationTooLong(text) ? ` of at most ${LONGEST_DURATION},` : '';
}

/** A fraction, written `5%` or `0.05`. */
export function ratio(least: number, most: number, isLeastIncluded = true): (text: string) => number {
  return (text) => {
    const written = text.trim();
    const plain = /^\d+(\.\d+)?$/.test(written) ? parseDecimal(written) : undefined;
    const value = parsePercent(written) ?? (plain === undefined ? undefined : toNumber(plain));
    const isIn = value !== undefined && value <= most && (isLeastIncluded ? value >= least : value > least);
    if (isIn) return value;
    const from = `${isLeastIncluded ? '' : 'above '}${least * 100}%`;
    throw new InvalidArgumentError(`Expected a ratio such as 50% or 0.5, ${from} to ${most * 100}%.`);
  };
}

/** Slippage of each attempt in turn: `0.5%,1%,2%`. */
export function slippageSteps(text: string): readonly number[] {
  return text.split(',').map(ratio(0, 0.5));
}

/** A positive amount, kept as it was written. */
export function positiveAmount(text: string): string {
  const value = /^\d+(\.\d+)?$/.test(text.trim()) ? parseDecimal(text.trim()) : undefined;
  if (value !== undefined && value.gt(ZERO)) return text.trim();
  throw new InvalidArgumentError('Expected an amount above 0, such as 1000 or 0.5.');
}

export function nonEmpty(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new InvalidArgumentError('Expected a text that is not empty.');
}

export function collectNonEmpty(text: string, previous?: readonly string[]): string[] {
  return collect(nonEmpty(text), previous);
}

/** The author: the given one, else the user of the system, through sudo too. */
export function authorOf(flag: string | undefined, { env }: Pick<CliIo, 'env'>): string {
  if (flag !== undefined) return flag;
  const behindSudo = env['SUDO_USER'];
  if (behindSudo !== undefined && behindSudo !== '') return behindSudo;
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
