import { EXIT, type ExitCode } from './exit-codes.ts';

export interface CliErrorOptions extends ErrorOptions {
  /** What the reader can do about it, as a separate sentence. */
  readonly cure?: string | undefined;
  readonly exitCode?: ExitCode;
}

/** An expected failure: one line, no stack. Anything else is a defect, except errors with a string `code`. */
export class CliError extends Error {
  readonly code: string;
  readonly cure: string | undefined;
  readonly exitCode: ExitCode;

  /** `code` is a stable name in kebab-case for scripts, such as `port-in-use`. */
  constructor(code: string, message: string, options: CliErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.name = 'CliError';
    this.code = code;
    this.cure = options.cure;
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** The command line makes no sense; exit code 2. */
export class UsageError extends CliError {
  constructor(message: string, cure?: string) {
    super('usage', message, { exitCode: EXIT.usage, cure });
    this.name = 'UsageError';
  }
}
