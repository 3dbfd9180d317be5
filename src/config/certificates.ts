import type { Path } from './problem.ts';
import { Secret } from './secret.ts';
import { missingSecret, type SecretContext, warnOfExposure } from './secrets.ts';
import { complain } from './shape/read.ts';

/** Reads the certificates of a file as PEM text; reports a problem and returns undefined if there are none. */
export function readCertificates(written: string, path: Path, context: SecretContext): string | undefined {
  const { document, surroundings } = context;
  const reading = surroundings.readFile(surroundings.resolvePath(document.file, written));
  if (reading.kind === 'read' && reading.text.includes('-----BEGIN CERTIFICATE-----')) return reading.text;
  const got = reading.kind === 'failed' ? reading.why : 'a file without "-----BEGIN CERTIFICATE-----"';
  const message = `expected a file with certificates (PEM) at ${JSON.stringify(written)}, got ${got}`;
  complain(context, path, 'wrong-value', message);
  return undefined;
}

/** Reads a private key from its file; reports a problem and returns undefined if there is none. */
export function readPrivateKey(written: string, path: Path, context: SecretContext): Secret | undefined {
  const { document, surroundings } = context;
  const reading = surroundings.readFile(surroundings.resolvePath(document.file, written));
  const expected = `expected a file with a private key (PEM) at ${JSON.stringify(written)}`;
  if (reading.kind === 'failed') {
    missingSecret(context, path, `${expected}, got ${reading.why}`);
    return undefined;
  }
  warnOfExposure(context, path, { ...reading, file: written });
  if (/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(reading.text) && !isEncrypted(reading.text)) {
    return new Secret(reading.text);
  }
  const got = isEncrypted(reading.text) ? 'one with a passphrase' : 'a file without one';
  complain(context, path, 'wrong-value', `${expected}, got ${got}`);
  return undefined;
}

function isEncrypted(pem: string): boolean {
  return pem.includes('BEGIN ENCRYPTED') || /^Proc-Type: 4,ENCRYPTED/m.test(pem);
}
