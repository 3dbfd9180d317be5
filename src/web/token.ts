import { createHash, randomBytes } from 'node:crypto';

/** 256 bits, in letters that need no quotes anywhere. */
export function makeToken(): { readonly token: string; readonly tokenHash: string } {
  const token = `bw_${randomBytes(32).toString('base64url')}`;
  return { token, tokenHash: tokenHashOf(token) };
}

/**
 * As the config has it. Tokens are random: nobody can try them all, so a slow hash would protect them no better, and
 * every request would pay for it.
 */
export function tokenHashOf(token: string): string {
  return `sha256:${createHash('sha256').update(token).digest('hex')}`;
}
