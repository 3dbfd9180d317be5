import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** What a signed request carries besides its body (specification 5). */
export interface Signature {
  /** The body in base64: header X-TXC-PAYLOAD. */
  readonly payload: string;
  /** hex(HMAC-SHA512(payload, secret)): header X-TXC-SIGNATURE. */
  readonly signature: string;
}

/** The secret in a form that neither prints nor serialises. */
export function signingKey(apiSecret: string): KeyObject {
  return createSecretKey(Buffer.from(apiSecret, 'utf8'));
}

/** Signs the exact bytes of a JSON body, UTF-8 (specification 5, rule 2). */
export function sign(body: string | Buffer, key: KeyObject): Signature {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const payload = bytes.toString('base64');
  return { payload, signature: createHmac('sha512', key).update(payload).digest('hex') };
}
