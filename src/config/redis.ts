import type { z } from 'zod';
import { readCertificates, readPrivateKey } from './certificates.ts';
import { prefixAt, readRedisAddress } from './redis-address.ts';
import { Secret } from './secret.ts';
import { resolved, type SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { redisUrlOrRef, secretRef } from './shape/references.ts';
import { flag, name, pemFile, text } from './shape/scalars.ts';
import { section } from './shape/shape.ts';

export const redisSchema = section(
  {
    url: redisUrlOrRef().describe(
      'Address of the Redis server; with a password, as a reference. `redis+sentinel://HOST:26379,HOST:26379/NAME` asks Sentinels for the primary of that name, `redis+cluster://HOST,HOST` names nodes of a Redis Cluster (docs/operations.md); `unix:///PATH` is a socket of this machine, with `?db=N` for another database than 0; `rediss` speaks TLS.',
    ),
    prefix: name('a prefix').describe(
      'First part of every key, so that several installations can share a server. In a Redis Cluster it stands in braces, `{breakwater}`, which puts all keys into one slot.',
    ),
    required: flag().describe(
      '`true`: without Redis nothing is polled or sent. `false`: a process that polls and acts goes on from its own memory while Redis is lost; several take turns by their `--instance`.',
    ),
    ca: pemFile('certificates')
      .exactOptional()
      .describe(
        'Certificates of a certificate authority of your own, relative to this file (PEM). For `rediss://`; default: those that Node trusts.',
      ),
    cert: pemFile('a certificate')
      .exactOptional()
      .describe('Certificate that this client shows to the server (PEM), with `key`.'),
    key: pemFile('a private key')
      .exactOptional()
      .describe('Private key of `cert` (PEM, without a passphrase); only the owner may read the file.'),
    sentinelUser: text({ expected: 'the name of a user', maxLength: 200 })
      .exactOptional()
      .describe('User of the Sentinels; default: their default user.'),
    sentinelPassword: secretRef()
      .exactOptional()
      .describe('Password of the Sentinels, which is not that of the servers. Default: they ask for none.'),
  },
  { url: 'redis://127.0.0.1:6379', prefix: 'breakwater', required: false },
);

/** PEM texts. */
export interface RedisTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: Secret;
}

export interface RedisSettings {
  /** Empty if its secret is missing. */
  readonly url: Secret;
  /** Prefix of all keys; in braces in a cluster. */
  readonly prefix: string;
  readonly required: boolean;
  readonly tls: RedisTls;
  readonly sentinel: { readonly username?: string; readonly password?: Secret };
}

const SECTION = 'redis';
const NO_SECRET = new Secret('');

export function compileRedis(
  { ca, cert, key, sentinelUser, ...written }: z.output<typeof redisSchema>,
  context: SecretContext,
): RedisSettings {
  const found = resolved(written, [SECTION], context);
  const { url = NO_SECRET, prefix, required, sentinelPassword } = found;
  const reading = readRedisAddress(url.reveal());
  const files = { ca, cert, key };
  if (reading.kind === 'address') {
    const { tls, primary } = reading.address;
    const needs = (keys: object, isMet: boolean, kind: string): void => {
      for (const [name, value] of Object.entries(keys)) {
        if (value === undefined || isMet) continue;
        const message = `expected an address ${kind} beside it, got another one`;
        complain(context, [SECTION, name], 'wrong-value', message);
      }
    };
    needs(files, tls, 'that starts with rediss (TLS)');
    needs({ sentinelUser, sentinelPassword }, primary !== undefined, 'of Sentinels');
  }
  return {
    url,
    prefix: reading.kind === 'address' ? prefixAt(reading.address, prefix) : prefix,
    required,
    tls: readTls(files, context),
    sentinel: {
      ...(sentinelUser === undefined ? {} : { username: sentinelUser }),
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
    },
  };
}

type TlsFiles = Readonly<Record<'ca' | 'cert' | 'key', string | undefined>>;

function readTls({ ca, cert, key }: TlsFiles, context: SecretContext): RedisTls {
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    complain(context, [SECTION, given], 'wrong-value', `expected ${missing} beside it, got none`);
  }
  const authorities = ca === undefined ? undefined : readCertificates(ca, [SECTION, 'ca'], context);
  const own = cert === undefined ? undefined : readCertificates(cert, [SECTION, 'cert'], context);
  const secret = key === undefined ? undefined : readPrivateKey(key, [SECTION, 'key'], context);
  return {
    ...(authorities === undefined ? {} : { ca: authorities }),
    ...(own === undefined || secret === undefined ? {} : { cert: own, key: secret }),
  };
}
