import type { z } from 'zod';

/** Parses a text as JSON; undefined: it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a text as JSON of a schema; undefined: it is not. */
export function readJson<T>(schema: z.ZodType<T>, text: string): T | undefined {
  return schema.safeParse(parsedJson(text)).data;
}
