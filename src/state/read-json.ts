import type { z } from 'zod';

/** What a stored text holds as JSON; undefined: it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The same of a shape; undefined: it has another one. */
export function readJson<T>(schema: z.ZodType<T>, text: string): T | undefined {
  return schema.safeParse(parsedJson(text)).data;
}
