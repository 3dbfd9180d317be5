import { readReference } from '../core/approvals/question.ts';
import { episodeOf } from '../core/controls/controls.ts';
import { LINK_PATH, type LinkSigner, type LinkTarget } from '../core/controls/signed-link.ts';
import type { Message } from '../core/ports/delivery.ts';
import type { Channel, Outgoing } from './channel.ts';
import type { LinkTemplate } from './message-layout.ts';

export interface ActionLinkParts {
  readonly signer: Pick<LinkSigner, 'token'>;
  /** Without a slash at the end. */
  readonly publicUrl: string;
}

/** Validity of a link. Later messages of the episode have newer links. */
const GOOD_FOR_MS = 86_400_000;

/** Returns the signed action links of a message on a channel. Sending the message again gives the same links. */
export function actionLinksOf(
  { message, along }: Pick<Outgoing, 'message' | 'along'>,
  { name, endsBySilence }: Channel,
  { signer, publicUrl }: ActionLinkParts,
): readonly LinkTemplate[] {
  // Alertmanager shows its alerts to everybody with access to it, and a changed link would make another alert.
  if (endsBySilence === true) return [];
  const expiresAtMs = message.atMs + GOOD_FOR_MS;
  return actionTargets(message, along).map(({ title, target }) => ({
    title,
    url: `${publicUrl}${LINK_PATH}${signer.token({ target, sentTo: name, expiresAtMs })}`,
  }));
}

interface TitledTarget {
  readonly title: string;
  readonly target: LinkTarget;
}

/** Returns the actions that a message offers, as links or buttons. */
export function actionTargets(message: Message, along: readonly Message[]): readonly TitledTarget[] {
  const { kind, accountId, ruleId, subject, stage } = message;
  // The author of a forged message would choose what is approved, and until when.
  if ([message, ...along].some(({ isUnproven }) => isUnproven)) return [];
  if (message.approval !== undefined && along.length === 0) return answersTo(message, message.approval);
  if (kind !== 'firing' && kind !== 'reminder') return [];
  if (accountId === '') return [];
  if (along.length > 0) {
    const saidAtMs = Math.max(...[message, ...along].map(({ atMs }) => atMs));
    return [{ title: 'Acknowledge', target: { kind: 'acknowledgeAll', ruleId, subject, saidAtMs } }];
  }
  const episode = episodeOf(message);
  return [
    { title: 'Acknowledge', target: { kind: 'acknowledge', accountId, ruleId, subject, episode, stage } },
  ];
}

function answersTo(
  { accountId }: Message,
  { reference }: NonNullable<Message['approval']>,
): readonly TitledTarget[] {
  const named = readReference(reference);
  if (named === undefined) return [];
  const target = { kind: 'answer', accountId, ...named } as const;
  return [
    { title: 'Approve', target: { ...target, decision: 'approve' } },
    { title: 'Veto', target: { ...target, decision: 'veto' } },
  ];
}
