import { LOG_CHANNEL, type Message } from '../core/ports/delivery.ts';
import type { Channel } from './channel.ts';
import { plainText, wordingOf } from './message-layout.ts';

/** Writes one line. `insteadOf` names the channels that should have taken the message. */
export type WriteLog = (line: {
  readonly message: Message;
  readonly text: string;
  readonly insteadOf: readonly string[];
}) => void;

/** The daemon's log: always available, and the last resort of every message. */
export function createLogChannel(write: WriteLog): Channel {
  return {
    name: LOG_CHANNEL,
    type: 'log',
    audience: 'machine',
    async send(outgoing) {
      const { message, insteadOf } = outgoing;
      // The zero-width spaces of `inert` would break searches in a log.
      const text = plainText(wordingOf(outgoing, [])).replaceAll('\u200b', '').replaceAll('\n', ' ');
      write({ message, text, insteadOf: insteadOf.map(({ channel }) => channel) });
      return { kind: 'delivered' };
    },
    close: () => Promise.resolve(),
  };
}
