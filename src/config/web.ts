import type { z } from 'zod';
import type { Secret } from './secret.ts';
import { type Resolved, resolved, type SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { secretRef } from './shape/references.ts';
import { baseUrl, number, oneOf, text } from './shape/scalars.ts';
import { list, section } from './shape/shape.ts';

const hostText = (expected: string): ReturnType<typeof text> =>
  text({ expected, pattern: /^[A-Za-z0-9_.:-]+$/, maxLength: 255 });

export const webSchema = section(
  {
    host: hostText('an IP address such as 127.0.0.1, or localhost').describe(
      'Address on which the status page, the API, /metrics, /healthz and /readyz are served. Any other than a loopback address needs `token`.',
    ),
    port: number({ min: 0, max: 65_535, integer: true, expected: 'a port from 0 to 65535' }).describe(
      'Its port; 0 takes a free one, which the log names.',
    ),
    token: secretRef()
      .exactOptional()
      .describe(
        'Read token, at least 16 characters: readers send `Authorization: Bearer ...`. /healthz, the bare answer of /readyz and the files of the status page need none; the page asks for it.',
      ),
    controlToken: secretRef()
      .exactOptional()
      .describe(
        'Control token, at least 16 characters: who has it may pause, resume, silence, make deposit links and change queues through the page and the API, and may read. Without it nothing can be changed there.',
      ),
    publicUrl: baseUrl('https:', 'http:')
      .exactOptional()
      .describe(
        'Address under which people reach it; notifications then link to the page of what they are about.',
      ),
    names: list(hostText('a host name such as breakwater.internal')).describe(
      'Further names under which it is reached: requests for other names are refused (DNS rebinding).',
    ),
  },
  { host: '127.0.0.1', port: 9642, names: [] },
);

export const logSchema = section(
  {
    level: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal').describe(
      'Least level that is written; `--log-level` wins.',
    ),
    format: oneOf('auto', 'json', 'pretty').describe(
      '`json`: one object per line. `pretty`: for people. `auto`: pretty on a terminal, else JSON.',
    ),
  },
  { level: 'info', format: 'auto' },
);

/** Absent `controlToken`: nothing can be changed through the server. Absent `token`: it has a loopback address. */
export type WebSettings = Resolved<z.output<typeof webSchema>>;
export type LogSettings = z.output<typeof logSchema>;

const MIN_TOKEN_LENGTH = 16;

export function compileWeb(written: z.output<typeof webSchema>, context: SecretContext): WebSettings {
  const web = resolved(written, ['web'], context);
  const { host, token, controlToken } = web;
  const checkLength = (key: string, secret: Secret | undefined): void => {
    if (secret === undefined || secret.reveal().length >= MIN_TOKEN_LENGTH) return;
    const message = `expected a token of at least ${MIN_TOKEN_LENGTH} characters, got a shorter one`;
    complain(context, ['web', key], 'wrong-value', message);
  };
  checkLength('token', token);
  checkLength('controlToken', controlToken);
  if (token !== undefined && controlToken?.equals(token) === true) {
    const message = 'expected another token than web.token, whose owners may only read, got the same';
    complain(context, ['web', 'controlToken'], 'wrong-value', message);
  }
  if (written.token === undefined && !isLoopback(host)) {
    const message = `expected web.token, since everybody who reaches ${host} could read it, got none`;
    complain(context, ['web', 'host'], 'missing-key', message);
  }
  return web;
}

function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/.test(host);
}
