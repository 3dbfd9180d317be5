import { CliError, UsageError } from './errors.ts';

/** Says of an error why nothing is simulated. A setting that makes no sense is a wrong command line; a port that is taken is not. */
export function refuseToSimulate(error: unknown): never {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  if (error.name === 'SimulatorError') throw new UsageError(`${error.message}.`, 'See: simulate --list');
  if (error.code === 'EADDRINUSE') {
    throw new CliError('port-in-use', `${error.message}.`, {
      cause: error,
      cure: 'Choose another port, or 0 for a free one.',
    });
  }
  throw error;
}
