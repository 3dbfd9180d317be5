import process from 'node:process';

/** A set-up problem that the reader can solve: shown as one line, without a stack. */
export class SetupError extends Error {}

/**
 * Reports progress on standard error: standard output belongs to the requested command.
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`breakwater: ${text}\n`);
}
