import type { Message } from '../core/ports/delivery.ts';
import type { Channel } from './channel.ts';
import { plainText, wordingOf } from './message-layout.ts';

/** Writes one line; `urgent` for what other channels should have told. */
export type WriteLog = (line: {
  readonly message: Message;
  readonly text: string;
  readonly insteadOf: readonly string[];
}) => void;

export const LOG_CHANNEL = 'log';

/** The daemon's own log: always there, and the last resort of every message. */
export function createLogChannel(write: WriteLog): Channel {
  return {
    name: LOG_CHANNEL,
    type: 'log',
    audience: 'machine',
    async send(outgoing) {
      const { message, insteadOf } = outgoing;
      // What keeps receivers from making links of names has no use in a log, where people search for them.
      const text = plainText(wordingOf(outgoing, [])).replaceAll('\u200b', '').replaceAll('\n', ' ');
      write({ message, text, insteadOf: insteadOf.map(({ channel }) => channel) });
      return { kind: 'delivered' };
    },
    close: () => Promise.resolve(),
  };
}
