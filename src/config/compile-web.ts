import type { z } from 'zod';
import type { WebSettings } from './compiled-config.ts';
import type { Secret } from './secret.ts';
import { resolveSecret, type SecretContext } from './secrets.ts';
import { problemAt } from './shape/read.ts';
import type { SecretRef } from './shape/references.ts';
import type { webSchema } from './web.ts';

const MIN_TOKEN_LENGTH = 16;

export function compileWeb(
  { host, port, names, publicUrl, ...refs }: z.output<typeof webSchema>,
  context: SecretContext,
): WebSettings {
  const { document, report } = context;
  const token = readToken('token', refs.token, context);
  const controlToken = readToken('controlToken', refs.controlToken, context);
  if (token !== undefined && controlToken?.equals(token) === true) {
    const message = 'expected another token than web.token, whose owners may only read, got the same';
    report(problemAt(document, ['web', 'controlToken'], { code: 'wrong-value', message }));
  }
  if (refs.token === undefined && !isLoopback(host)) {
    const message = `expected web.token, since everybody who reaches ${host} could read it, got none`;
    report(problemAt(document, ['web', 'host'], { code: 'missing-key', message }));
  }
  return {
    host,
    port,
    names,
    ...(token === undefined ? {} : { token }),
    ...(controlToken === undefined ? {} : { controlToken }),
    ...(publicUrl === undefined ? {} : { publicUrl: publicUrl.replace(/\/+$/, '') }),
  };
}

function readToken(
  key: 'token' | 'controlToken',
  ref: SecretRef | undefined,
  context: SecretContext,
): Secret | undefined {
  const found = ref === undefined ? undefined : resolveSecret(ref, ['web', key], context);
  if (found !== undefined && found.reveal().length < MIN_TOKEN_LENGTH) {
    const message = `expected a token of at least ${MIN_TOKEN_LENGTH} characters, got a shorter one`;
    context.report(problemAt(context.document, ['web', key], { code: 'wrong-value', message }));
  }
  return found;
}

function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/.test(host);
}
