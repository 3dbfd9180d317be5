import type { SubjectKey } from '../rules/subject.ts';

/**
 * Links in messages with which a person does one thing, once, without a token. Opening one only shows what it would do, as
 * previews of mail and chat open links, too; the button behind it does it.
 *
 * To add a kind of link:
 * 1. its target in `LinkTarget`, and its shape in `src/state/links/link-signer.ts`;
 * 2. what it shows and does in `src/app/web/link-actions.ts`; types ask for it;
 * 3. the messages that carry it in `src/notify/action-links.ts`.
 */
export type LinkTarget =
  | {
      readonly kind: 'acknowledge';
      readonly accountId: string;
      readonly ruleId: string;
      readonly subject: SubjectKey;
      readonly episode: number;
      readonly stage: number;
    }
  | {
      /** Every account that a message told of together: episodes of the rule that had begun by then. */
      readonly kind: 'acknowledgeAll';
      readonly ruleId: string;
      readonly subject: SubjectKey;
      readonly saidAtMs: number;
    }
  | {
      /** Approves or vetoes what a message asked for, as it stood in that revision. */
      readonly kind: 'answer';
      readonly accountId: string;
      readonly decision: 'approve' | 'veto';
      readonly questionId: string;
      readonly revision: number;
    };

export interface SignedLink {
  readonly target: LinkTarget;
  /** The channel that it was sent to: whoever acts by it has it from there. */
  readonly sentTo: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

export type LinkReading =
  /** `id`: the same for the same link, and of no other; names no secret. */
  | { readonly kind: 'valid' | 'expired'; readonly id: string; readonly link: SignedLink }
  /** Changed, cut off, or made with another key. */
  | { readonly kind: 'wrong' };

export interface LinkSigner {
  /** Letters, digits, `-`, `_` and `.`: the last part of the link's address. The same for the same link. */
  token(link: SignedLink): string;
  read(token: string, nowMs: number): LinkReading;
}

/** Where signed links are on the web server, before their token. */
export const LINK_PATH = '/links/';

/** Who used a link, and when. */
export interface LinkUse {
  readonly author: string;
  readonly atMs: number;
}

/** `pending`: somebody is at it right now. */
export interface FoundUse extends LinkUse {
  readonly isDone: boolean;
}

/** Sees to it that a link is used once, by any process. Rejects when the store is lost. */
export interface LinkUses {
  /** undefined: nobody has used it. */
  find(id: string): Promise<FoundUse | undefined>;
  /** Takes it for its use; who has it already, if somebody does. One that dies meanwhile lets it go after a while. */
  take(id: string, use: LinkUse): Promise<FoundUse | undefined>;
  /** It was used; remembered until then, Unix milliseconds. */
  finish(id: string, use: LinkUse, untilMs: number): Promise<void>;
  /** It came to nothing: it can be used again. */
  release(id: string): Promise<void>;
}
