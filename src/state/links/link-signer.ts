import { createHmac, timingSafeEqual } from 'node:crypto';
import { type LinkSigner, signedLinkSchema } from '../../core/controls/signed-link.ts';
import { readJson } from '../read-json.ts';

/** Separates signed links from everything else that the same key seals. */
const LABEL = 'breakwater signed link 1';

/** Longer than any link. */
const MOST_LENGTH = 4_000;

/** A token is the link as JSON and an HMAC-SHA-256 of it, both in base64url. The key is derived from `secret`. */
export function createLinkSigner(secret: string): LinkSigner {
  const key = createHmac('sha256', secret).update(LABEL, 'utf8').digest();
  const macOf = (body: string): Buffer => createHmac('sha256', key).update(body, 'utf8').digest();
  return {
    token(link) {
      const body = Buffer.from(JSON.stringify(link), 'utf8').toString('base64url');
      return `${body}.${macOf(body).toString('base64url')}`;
    },
    read(token, nowMs) {
      const [, body = '', given = ''] = /^([\w-]+)\.([\w-]{43})$/.exec(token.slice(0, MOST_LENGTH)) ?? [];
      const mac = macOf(body);
      // Compared as bytes: base64url has several spellings of the last byte.
      const isOurs = timingSafeEqual(mac, paddedTo(mac.length, Buffer.from(given, 'base64url')));
      // Another version may have made the link, in another shape.
      const text = Buffer.from(body, 'base64url').toString('utf8');
      const link = isOurs ? readJson(signedLinkSchema, text) : undefined;
      if (link === undefined) return { kind: 'wrong' };
      const id = createHmac('sha256', key).update(mac).digest('hex').slice(0, 32);
      return { kind: nowMs >= link.expiresAtMs ? 'expired' : 'valid', id, link };
    },
  };
}

function paddedTo(length: number, bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(length)], length);
}
