import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { ControlError } from '../../core/ports/operator-controls.ts';
import { type Asker, authorWords } from '../access.ts';
import { ApiError } from './errors.ts';
import type { ApiContext } from './route.ts';

// Common parts of requests that people make: author, reason, and the answer to a failed change.

export const line = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    // No control characters or line separators: they could forge a line in a log or a terminal.
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line');
export const by = {
  author: line(80)
    .optional()
    .describe('Who; with a token of your own, or named by a proxy, you are who that says.'),
  reason: line(300).describe('Why; goes into the audit trail.'),
};

export function authorOf(caller: Asker, said: string | undefined): string {
  if (caller.identity?.isOwn !== true && said === undefined)
    throw new ApiError(400, 'badRequest', 'author: say who you are');
  if (/[()（）]/.test(said ?? ''))
    throw new ApiError(400, 'badRequest', 'author: no parentheses: they say which way it came');
  return authorWords(caller, said);
}

/** A process that goes on alone has noticed within this time that it has lost Redis. */
const NOTICED_MS = 2_300;
const AGAIN_MS = 200;

/**
 * Makes a change. Resolves when it is in force in every process that it concerns, before the next step there; where this
 * one goes on alone, in this one. @throws ApiError if it is refused, or if the store was lost
 */
export async function inForce<T>({ goesAlone }: ApiContext['process'], change: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + (goesAlone ? NOTICED_MS : 0);
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (error instanceof ControlError) throw new ApiError(409, 'refused', error.message);
      if (performance.now() >= untilMs)
        throw Object.assign(new ApiError(503, 'stateLost', STATE_LOST), { cause: error });
    }
    await sleep(AGAIN_MS);
  }
}

const STATE_LOST =
  'Redis does not answer: this reaches nobody that acts, and nothing is confirmed. It may have been made in part or not at all. Repeating it is harmless';
