import { CliError, UsageError } from './errors.ts';

/** A setting that makes no sense is a wrong command line; a port that is taken is not. */
export function explainSimulatorError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.name === 'SimulatorError') return new UsageError(`${error.message}.`, 'See: simulate --list');
  if (error.code === 'EADDRINUSE') {
    return new CliError('port-in-use', `${error.message}.`, {
      cause: error,
      cure: 'Choose another port, or 0 for a free one.',
    });
  }
  return error;
}
