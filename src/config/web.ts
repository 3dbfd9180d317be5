import { isIP } from 'node:net';
import { z } from 'zod';
import { isLoopback } from '../core/text/loopback.ts';
import type { Secret } from './secret.ts';
import { type Resolved, resolved, type SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { secretRef } from './shape/references.ts';
import { baseUrl, name, oneOf, port, scalar, text } from './shape/scalars.ts';
import { list, section } from './shape/shape.ts';

/** Accepts an address or a network. The size of a network is limited, because everybody in it is trusted. */
function isNetwork(written: string): boolean {
  const [address = '', bits, ...rest] = written.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  const [least, most] = family === 4 ? [8, 32] : [32, 128];
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= least && Number(bits) <= most);
}

const hostText = (expected: string): z.ZodType<string> =>
  text({ expected, pattern: /^[A-Za-z0-9_.:-]+$/, maxLength: 255 });

export const webSchema = section(
  {
    host: hostText('an IP address such as 127.0.0.1, or localhost').describe(
      'Address on which the status page, the API, /metrics, /healthz and /readyz are served. Any other than a loopback address needs `token` or `users`.',
    ),
    port: port(),
    token: secretRef()
      .exactOptional()
      .describe(
        'Read token, at least 16 characters: readers send `Authorization: Bearer ...`. /healthz, the bare answer of /readyz and the files of the status page need none; the page asks for it.',
      ),
    controlToken: secretRef()
      .exactOptional()
      .describe(
        'Control token, at least 16 characters: who has it may pause, resume, silence, acknowledge, answer questions, submit operator orders, make deposit links and change queues through the page and the API, and may read. Without it, and without such users, only commands on its own machine change anything.',
      ),
    publicUrl: baseUrl('https:', 'http:')
      .exactOptional()
      .describe(
        'Address under which people reach it; notifications then link to the page of what they are about.',
      ),
    users: z
      .record(
        name('a user name'),
        section(
          {
            scopes: list(oneOf('read', 'control', 'operate'), 1).describe(
              '`read`: look. `control`: pause, resume, silence, acknowledge, answer questions (approve, veto). `operate`: submit operator orders (reduce, flatten), make deposit links, repeat and remove failed jobs, prune the audit. Each of the last two includes the first.',
            ),
            tokenHash: text({
              expected: 'sha256: and 64 hexadecimal digits, as `breakwater token` prints it',
              pattern: /^sha256:[0-9a-f]{64}$/,
            })
              .exactOptional()
              .describe(
                'Hash of the token of this user; `breakwater token NAME` makes both. Default: none, and only a proxy of `trustedProxies` can name this user.',
              ),
          },
          { scopes: ['read'] },
        ),
      )
      .describe(
        'People and programs with a token of their own, by name. The audit trail has the name, and the address beside it.',
      ),
    trustedProxies: list(
      scalar({
        expected: 'an IP address such as 10.0.0.2, or a network such as 10.0.0.0/24 (at least /8, IPv6 /32)',
        read: (written) =>
          typeof written === 'string' && isNetwork(written) ? { ok: true, value: written } : { ok: false },
        json: { type: 'string', examples: ['10.0.0.2', '10.0.0.0/24'] },
      }),
    ).describe(
      'Addresses of reverse proxies. `X-Forwarded-For` and `identityHeader` count only from these, so whoever can connect from such an address can claim to be anybody.',
    ),
    identityHeader: text({ expected: 'a header such as X-Forwarded-User', pattern: /^[A-Za-z0-9-]+$/ })
      .exactOptional()
      .describe(
        'Header in which `trustedProxies` name one of `users`; the proxy has to remove it from what it is sent. Default: none, and only tokens count.',
      ),
    health: section(
      {
        host: hostText('an IP address such as 127.0.0.1, or localhost').describe('Address of this listener.'),
        port: port(),
      },
      { host: '127.0.0.1' },
    )
      .exactOptional()
      .describe(
        'A listener with /healthz and /readyz alone, in every process whatever its roles: what fills the connections of the web server cannot starve the probes on it. It answers yes or no and needs no token. Default: none.',
      ),
    names: list(hostText('a host name such as breakwater.internal')).describe(
      'Further names under which it is reached: requests for other names are refused (DNS rebinding).',
    ),
  },
  { host: '127.0.0.1', port: 9642, users: {}, trustedProxies: [], names: [] },
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

/** Without `token` it has `users` or a loopback address. Only `controlToken` or users' scopes permit changes. */
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
  if (written.token === undefined && Object.keys(web.users).length === 0 && !isLoopback(host)) {
    const message = `expected web.token, since everybody who reaches ${host} could read it, got none`;
    complain(context, ['web', 'host'], 'missing-key', message);
  }
  checkUsers(web, context);
  return web;
}

function checkUsers(
  { users, trustedProxies, identityHeader }: Pick<WebSettings, 'users' | 'trustedProxies' | 'identityHeader'>,
  context: SecretContext,
): void {
  if (identityHeader !== undefined && trustedProxies.length === 0) {
    const message = 'expected web.trustedProxies, since nobody else may name users in a header, got none';
    complain(context, ['web', 'identityHeader'], 'missing-key', message);
  }
  const owners = new Map<string, string>();
  for (const [user, { tokenHash }] of Object.entries(users)) {
    const path = ['web', 'users', user, ...(tokenHash === undefined ? [] : ['tokenHash'])];
    if (tokenHash === undefined && identityHeader === undefined) {
      const message = `expected tokenHash, since nobody can come in as ${user}, got none: run breakwater token ${user}`;
      complain(context, path, 'missing-key', message);
    }
    const owner = tokenHash === undefined ? undefined : owners.get(tokenHash);
    if (owner !== undefined) {
      const message = `expected a token of their own for each user, got the one of ${owner}`;
      complain(context, path, 'wrong-value', message);
    }
    if (tokenHash !== undefined) owners.set(tokenHash, user);
  }
}
