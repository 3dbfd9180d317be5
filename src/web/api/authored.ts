import { z } from 'zod';
import { ControlError } from '../../core/ports/operator-controls.ts';
import { type Asker, authorWords } from '../access.ts';
import { ApiError } from './errors.ts';

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
  return authorWords(caller, said);
}

/**
 * Makes a change. Resolves when it is in force in every process that it concerns, before the next step there.
 * @throws ApiError if it is refused, or if the store was lost
 */
export async function inForce<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof ControlError) throw new ApiError(409, 'refused', error.message);
    const message =
      'the state store did not answer: the change may have been made in part or not at all. Repeating it is harmless';
    throw Object.assign(new ApiError(503, 'stateLost', message), { cause: error });
  }
}
