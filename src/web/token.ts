import { createHash, createHmac, randomBytes } from 'node:crypto';

/** Makes a token of 256 bits, with characters that need no quotes anywhere. */
export function makeToken(): { readonly token: string; readonly tokenHash: string } {
  const token = `bw_${randomBytes(32).toString('base64url')}`;
  return { token, tokenHash: tokenHashOf(token) };
}

/** Hashes a token as in the config. Tokens are random, so a slow hash would only cost time. */
export function tokenHashOf(token: string): string {
  return `sha256:${createHash('sha256').update(token).digest('hex')}`;
}

export const PROOF_HEADER = 'x-breakwater-proof';

/** Proves that who listens at this port has the token, without showing it. */
export function doorProof(token: string, nonce: string, port: number): string {
  return createHmac('sha256', token).update(`breakwater door ${port} ${nonce}`).digest('hex');
}
