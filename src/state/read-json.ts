import type { z } from 'zod';
import { parsedJson } from '../core/text/parsed-json.ts';

/** Parses a text as JSON of a schema; undefined: it is not. */
export function readJson<T>(schema: z.ZodType<T>, text: string): T | undefined {
  return schema.safeParse(parsedJson(text)).data;
}
