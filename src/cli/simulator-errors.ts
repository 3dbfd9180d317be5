import { CliError, UsageError } from './errors.ts';

export const SEE_LIST = 'See: breakwater simulate --list';

/** Errors that keep a server from listening, with their cures. A port in use is not a wrong command line. */
const UNHEARD: Readonly<Record<string, { readonly code: string; readonly cure: string }>> = {
  EADDRINUSE: { code: 'port-in-use', cure: 'Choose another port, or 0 for a free one.' },
  EADDRNOTAVAIL: { code: 'address-refused', cure: 'Give --host an address of this machine.' },
  EACCES: { code: 'address-refused', cure: 'Choose ports above 1023, or 0 for free ones.' },
};

/** Messages about names that `simulate --list` explains. */
const LISTED = /^(?:no )?(?:scenario|fault|condition)\b/;

/** Turns an error into the reason why nothing was simulated. A setting that makes no sense is a wrong command line. */
export function refuseToSimulate(error: unknown, otherwise?: string): never {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  if (error.name === 'SimulatorError') {
    const isListed = error.code === 'invalid-reading' || LISTED.test(error.message);
    throw new UsageError(`${error.message}.`, isListed ? SEE_LIST : otherwise);
  }
  const unheard = UNHEARD[String(error.code)];
  if (unheard === undefined) throw error;
  throw new CliError(unheard.code, `${error.message}.`, { cause: error, cure: unheard.cure });
}
