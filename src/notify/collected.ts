import type { HeldNotice, Message } from '../core/ports/delivery.ts';
import { OF_NO_RULE, RESOLVED } from '../core/ports/notifier.ts';
import { timeWords } from '../core/text/time-words.ts';
import { capital, cut, inert, sentence, titleOf } from './message-layout.ts';
import { shortId } from './short-id.ts';

/** A length that every channel takes, as for a digest: Discord has 2,500 characters with its escapes. */
const MOST_CHARS = 2_000;
const MOST_OF_ONE = 300;

/**
 * Splits notices into parts that fit into one message on every channel. All processes use the same order, so that they
 * do not wait for each other's threads.
 */
export function partsOf(held: readonly HeldNotice[]): readonly (readonly HeldNotice[])[] {
  const parts: HeldNotice[][] = [];
  let room = 0;
  for (const one of held.toSorted((a, b) => (a.notice.key < b.notice.key ? -1 : 1))) {
    const length = lineOf(one.notice, one.count).length + 1;
    if (length > room) {
      parts.push([]);
      room = MOST_CHARS;
    }
    parts.at(-1)?.push(one);
    room -= length;
  }
  return parts;
}

/**
 * Makes one message of the given messages, which are among `held`. Lists open episodes first, then those that are over;
 * the oldest first in each.
 */
export function collected(messages: readonly Message[], held: readonly HeldNotice[], nowMs: number): Message {
  const counts = new Map(held.map(({ notice, count }) => [notice.id, count]));
  const shown = messages.toSorted(
    (a, b) => Number(isEnded(a)) - Number(isEnded(b)) || a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1),
  );
  const over = shown.filter(isEnded).length;
  const isUrgent = shown.some((one) => !isEnded(one) && one.severity !== 'info');
  const id = `collected/${shortId(JSON.stringify(shown.map((one) => one.id)))}`;
  return {
    ...OF_NO_RULE,
    id,
    key: id,
    kind: 'collected',
    severity: isUrgent ? 'warning' : 'info',
    mode: 'enforce',
    words: headline(shown.length, over),
    lines: shown.map((one) => lineOf(one, counts.get(one.id) ?? 1)),
    sinceMs: Math.min(...shown.map(({ atMs }) => atMs)),
    atMs: nowMs,
  };
}

function headline(all: number, over: number): string {
  const notices = `${all} ${all === 1 ? 'notice' : 'notices'}`;
  if (over === 0) return `held back in quiet hours: ${notices}`;
  return `held back in quiet hours: ${notices}, ${over === all ? 'all' : over} over by now`;
}

function isEnded({ kind }: Message): boolean {
  return kind === 'resolved';
}

/**
 * `Warning firing: desk-1 BTC_PERP long, 6 % from liquidation (near), since 2026-01-31 02:10:00 UTC. Distance is ...`
 */
function lineOf(message: Message, count: number): string {
  const { kind, words, sinceMs, atMs } = message;
  const title = titleOf(message);
  if (kind === 'resolved') {
    const said = words === RESOLVED ? '' : ` ${capital(sentence(inert(words)))}`;
    const when = `It began at ${timeWords(sinceMs)} and ended at ${timeWords(atMs)}.`;
    return cut(`${title}. ${when}${said}`, MOST_OF_ONE);
  }
  const when =
    kind === 'alarm'
      ? `at ${timeWords(atMs)}${count > 1 ? `, the last of ${count}` : ''}`
      : `since ${timeWords(sinceMs)}`;
  return cut(`${title}, ${when}. ${capital(sentence(inert(words)))}`, MOST_OF_ONE);
}
