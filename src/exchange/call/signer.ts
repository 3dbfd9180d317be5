import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Wraps the secret in a key that neither prints nor serialises. */
export function signingKey(apiSecret: string): KeyObject {
  return createSecretKey(Buffer.from(apiSecret, 'utf8'));
}

/**
 * Signs the exact bytes of a JSON body, UTF-8 (specification 5, rule 2). `payload` is the body in base64, for the
 * header X-TXC-PAYLOAD. `signature` is hex(HMAC-SHA512(payload, secret)), for X-TXC-SIGNATURE.
 */
export function sign(body: string | Buffer, key: KeyObject) {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const payload = bytes.toString('base64');
  return { payload, signature: createHmac('sha512', key).update(payload).digest('hex') };
}
