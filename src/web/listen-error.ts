/** The server cannot start; `message` says what to change. */
export class WebServerError extends Error {
  readonly code: 'WEB_TOKEN_MISSING' | 'WEB_ADDRESS_IN_USE' | 'WEB_ADDRESS_REFUSED';

  constructor(code: WebServerError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WebServerError';
    this.code = code;
  }
}

interface Address {
  readonly host: string;
  readonly port: number;
  /** The command-line option that overrides the port of the config, such as `--port`. */
  readonly portOption?: string | undefined;
}

/** Converts an error of `listen`. `key`: the config section with the address, such as `web`. */
export function listenError(error: unknown, key: string, { host, port, portOption }: Address): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    const message = `port ${port} of ${host} is in use: ${portOption === undefined ? `set another ${key}.port` : `choose another ${portOption}`}, or stop what uses it`;
    return new WebServerError('WEB_ADDRESS_IN_USE', message, { cause: error });
  }
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES' || code === 'ENOTFOUND') {
    const message = `this machine cannot listen on ${host}:${port} (${code}): change ${key}.host or ${portOption ?? `${key}.port`}`;
    return new WebServerError('WEB_ADDRESS_REFUSED', message, { cause: error });
  }
  return error;
}
