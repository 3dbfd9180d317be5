import { z } from 'zod';
import type { SubjectFilter, SubjectKind } from '../../core/rules/rule.ts';
import { marketGlob, oneOf, text } from '../shape/scalars.ts';
import { oneOrMany } from '../shape/shape.ts';

const assetGlob = (): z.ZodType<string> =>
  text({
    expected: 'an asset such as BTC, or a pattern such as "*"',
    pattern: /^[A-Za-z0-9_.*?-]+$/,
    maxLength: 20,
  });

const positionGlob = (): z.ZodType<string> =>
  text({ expected: 'a position id in quotes such as "42"', pattern: /^[\w.:*?-]+$/, maxLength: 64 });

const KEYS = {
  position: {
    market: oneOrMany(marketGlob())
      .exactOptional()
      .describe('Markets: one or several patterns, any of them.'),
    direction: oneOf('long', 'short').exactOptional().describe('Only long or only short positions.'),
    positionId: oneOrMany(positionGlob()).exactOptional().describe('Single positions by their id.'),
  },
  creditLine: {
    asset: oneOrMany(assetGlob())
      .exactOptional()
      .describe('Assets borrowed: one or several patterns, any of them.'),
  },
} as const;

/** Schema of the filter that selects a rule's subjects; account rules have nothing to select. */
export function filterSchema(on: SubjectKind): z.ZodType<SubjectFilter> {
  if (on === 'position') return z.strictObject(KEYS.position);
  if (on === 'creditLine') return z.strictObject(KEYS.creditLine);
  return z.strictObject({});
}

/** Drops keys with the value undefined: the core and checksums need plain data. */
export function withoutUndefined<T extends object>(
  written: { readonly [K in keyof T]: T[K] | undefined },
): T {
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined)) as T;
}
