import { CliError, UsageError } from './errors.ts';

export const SEE_LIST = 'See: breakwater simulate --list';

/** Ports by the options that set them. */
export type Ports = Readonly<Record<string, number>>;

/** Errors that keep a server from listening, with their cures. A port in use is not a wrong command line. */
const UNHEARD: Readonly<Record<string, { readonly code: string; readonly cure?: string }>> = {
  EADDRINUSE: { code: 'port-in-use' },
  EADDRNOTAVAIL: { code: 'address-refused', cure: 'Give --host an address of this machine.' },
  EACCES: { code: 'address-refused', cure: 'Choose ports above 1023, or 0 for free ones.' },
};

/** Messages about names that `simulate --list` explains. */
const LISTED = /^(?:no )?(?:scenario|fault|condition)\b/;

/** Turns an error into the reason why nothing was simulated. A setting that makes no sense is a wrong command line. */
export function refuseToSimulate(
  error: unknown,
  { otherwise, ports = {} }: { readonly otherwise?: string; readonly ports?: Ports } = {},
): never {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  if (error.name === 'SimulatorError') {
    const isListed = error.code === 'invalid-reading' || LISTED.test(error.message);
    throw new UsageError(`${error.message}.`, isListed ? SEE_LIST : otherwise);
  }
  const unheard = UNHEARD[String(error.code)];
  if (unheard === undefined) throw error;
  const { code, cure = anotherPort(error, ports) } = unheard;
  throw new CliError(code, `${error.message}.`, { cause: error, cure });
}

/** The options that may have set the port that is taken: two may name the same one. */
function anotherPort(error: object, ports: Ports): string {
  const options = Object.keys(ports).filter((option) => 'port' in error && ports[option] === error.port);
  return `Choose another ${options.length === 0 ? 'port' : options.join(' or ')}, or 0 for a free one.`;
}
