import type { FoundUse, LinkSigner, LinkUses } from '../../core/controls/signed-link.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import { timeWords } from '../../core/text/time-words.ts';
import type { LinkDesk, LinkView } from '../../web/links.ts';
import { type LinkParts, linkActions } from './link-actions.ts';

export interface LinkDeskParts extends LinkParts {
  readonly signer: LinkSigner;
  readonly uses: LinkUses;
  /** Removes the config's secrets from typed text, which is stored and shown. */
  readonly redact: Conceal;
}

/** How long after its expiry a used link is remembered. */
const REMEMBERED_MS = 7 * 86_400_000;

/** Shows and carries out the links of messages, each once. */
export function createLinkDesk({ signer, uses, redact, ...parts }: LinkDeskParts): LinkDesk {
  const { clock } = parts;
  const actionOf = linkActions(parts);
  return {
    read: (token) => signer.read(token, clock.nowMs()),
    async look(id, { target }) {
      const use = await uses.find(id);
      return use === undefined ? await actionOf(target).look(target) : usedView(use);
    },
    async use(id, { target, expiresAtMs }, typed) {
      const author = redact(typed);
      const use = { author, atMs: clock.nowMs() };
      const earlier = await uses.take(id, use);
      if (earlier !== undefined) return usedView(earlier);
      const { kind, ...view } = await actionOf(target)
        .use(target, author)
        .catch(async (error: unknown) => {
          await uses.release(id).catch(() => undefined);
          throw error;
        });
      if (kind === 'nothing') await uses.release(id);
      else await uses.finish(id, use, expiresAtMs + REMEMBERED_MS);
      return view;
    },
  };
}

function usedView({ author, atMs, isDone }: FoundUse): LinkView {
  return isDone
    ? { title: 'This link has been used', lines: [`By ${author} at ${timeWords(atMs)}.`] }
    : { title: 'Somebody is using this link', lines: [`${author}, just now. Look again in half a minute.`] };
}

/** While the process goes on without Redis, its own memory replaces the shared store. */
export function usesOrAlone(shared: LinkUses, alone: LinkUses, isAlone: () => boolean): LinkUses {
  const current = (): LinkUses => (isAlone() ? alone : shared);
  return {
    find: (id) => current().find(id),
    take: (id, use) => current().take(id, use),
    finish: (id, use, untilMs) => current().finish(id, use, untilMs),
    release: (id) => current().release(id),
  };
}
