import { parseDuration } from '../../config/shape/units.ts';
import type { LatencySpec } from '../../world/chance.ts';

/** `100ms`, `50ms..300ms`, or `median=100ms,sigma=0.8,max=3s`; `undefined` for anything else. */
export function parseLatency(text: string): LatencySpec | undefined {
  const fixed = parseDuration(text);
  if (fixed !== undefined) return fixed;
  const [from, to, ...more] = text.split('..').map(parseDuration);
  if (from !== undefined && to !== undefined && more.length === 0 && to >= from)
    return { minMs: from, maxMs: to };
  const parts = Object.fromEntries(text.split(',').map((part) => part.split('=')));
  const { median, sigma, max, ...others } = parts as Record<string, string | undefined>;
  const medianMs = parseDuration(median ?? '');
  const spread = /^\d+(\.\d+)?$/.test(sigma ?? '') ? Number(sigma) : undefined;
  const maxMs = max === undefined ? undefined : parseDuration(max);
  if (medianMs === undefined || spread === undefined || Object.keys(others).length > 0) return undefined;
  if (max !== undefined && maxMs === undefined) return undefined;
  return { medianMs, sigma: spread, ...(maxMs === undefined ? {} : { maxMs }) };
}

/** A date, a moment (UTC unless it says otherwise) or Unix milliseconds; `undefined` for anything else. */
export function parseMoment(text: string): number | undefined {
  if (/^\d{12,14}$/.test(text)) return Number(text);
  const match = /^\d{4}-\d{2}-\d{2}(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (match === null) return undefined;
  const hasZone = match[1] === undefined || match[2] !== undefined;
  const atMs = Date.parse(hasZone ? text.replace(' ', 'T') : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
