import process from 'node:process';

/** A problem of the surroundings that its reader can solve: shown as one line, without a stack. */
export class SetupError extends Error {}

/**
 * Progress goes to standard error: standard output belongs to the command that was asked for.
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`breakwater: ${text}\n`);
}
