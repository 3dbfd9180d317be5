import { z } from 'zod';
import type { OutputOf } from '../schema/parts.ts';

const text = z.string().max(1_000);
const number = z.number().min(0).max(8.64e15);

/**
 * Links in notices that let a person do one thing, once, without a token. Opening a link only shows what it would do,
 * because mail and chat previews also open links; the button on the page does it.
 *
 * To add a kind of link:
 * 1. its target in `targetSchema`;
 * 2. what it shows and does in `src/app/web/link-actions.ts`; the types require it;
 * 3. the notices that carry it in `src/notify/action-links.ts`.
 */
const targetSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('acknowledge'),
    accountId: text,
    ruleId: text,
    subject: text,
    episode: number,
    stage: number,
  }),
  /** Every account that the notice covered: episodes of the rule that had begun by then. */
  z.strictObject({ kind: z.literal('acknowledgeAll'), ruleId: text, subject: text, saidAtMs: number }),
  /** Approves or vetoes the question of a notice, in that revision. */
  z.strictObject({
    kind: z.literal('answer'),
    accountId: text,
    decision: z.enum(['approve', 'veto']),
    questionId: z.string().regex(/^[0-9a-z]{1,40}$/),
    revision: z.int().min(1).max(999_999),
  }),
]);
export type LinkTarget = OutputOf<typeof targetSchema>;

export const signedLinkSchema = z.strictObject({
  target: targetSchema,
  /** The channel it was sent to; a person who uses the link has it from there. */
  sentTo: text,
  /** Unix milliseconds. */
  expiresAtMs: number,
});
export type SignedLink = OutputOf<typeof signedLinkSchema>;

export type LinkReading =
  /** `id` identifies the link: equal only for equal links, and reveals no secret. */
  | { readonly kind: 'valid' | 'expired'; readonly id: string; readonly link: SignedLink }
  /** Altered, truncated, or signed with another key. */
  | { readonly kind: 'wrong' };

export interface LinkSigner {
  /** Returns the last part of the link's address: letters, digits, `-`, `_` and `.`. Deterministic. */
  token(link: SignedLink): string;
  read(token: string, nowMs: number): LinkReading;
}

/** Path of signed links on the web server, before their token. */
export const LINK_PATH = '/links/';

export interface LinkUse {
  readonly author: string;
  readonly atMs: number;
}

/** `isDone: false`: somebody is using it right now. */
export interface FoundUse extends LinkUse {
  readonly isDone: boolean;
}

/** Ensures that a link is used once across all processes. Rejects when the store is lost. */
export interface LinkUses {
  /** Returns undefined if nobody has used it. */
  find(id: string): Promise<FoundUse | undefined>;
  /** Claims the link; returns an existing claim instead, if any. The claim of a dead process expires. */
  take(id: string, use: LinkUse): Promise<FoundUse | undefined>;
  /** Marks it as used; remembered until `untilMs`, Unix milliseconds. */
  finish(id: string, use: LinkUse, untilMs: number): Promise<void>;
  /** Releases the claim after a failure: it can be used again. */
  release(id: string): Promise<void>;
}
