import { toneOf } from './action-list.js';
import { get, segment, wordsOf } from './api.js';
import { h, keyedList, setAttribute, setText, show } from './dom.js';
import { duration } from './format.js';
import { setTime, timeNode } from './time.js';

/**
 * What has happened to an account or one of its subjects, newest first, from the audit trail. The inputs of a
 * decision are read when somebody asks for them.
 */

/** @typedef {import('./contract.d.ts').PageStoryEntry} StoryEntry */

const PART = 60;
/** News come in bursts: one look after the last of them, but not too late either. */
const LOOK_AFTER_MS = 400;

/** @type {Readonly<Record<string, string>>} */
const KINDS = {
  transition: 'Rule',
  decision: 'Decision',
  order: 'Order',
  cancel: 'Cancel',
  intent: 'Intent',
  operator: 'Operator',
  other: 'Note',
};

/**
 * @param {string} accountId
 * @param {string | undefined} subject
 */
export function story(accountId, subject) {
  const list = h('ol', { class: 'story' });
  const nothing = h('p', { class: 'muted' }, 'Nothing has happened yet.');
  const trouble = h('p', { class: 'trouble', role: 'status', hidden: true });
  const more = h('button', { type: 'button', class: 'button', hidden: true }, 'Show older');
  const node = h('div', {}, trouble, nothing, list, more);
  const set = keyedList(list, keyOf, () => entryLine(accountId));
  /** @type {Map<string, StoryEntry>} */
  const entries = new Map();
  /** @type {number | null} */
  let olderThan = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let isClosed = false;

  /** @param {number} [beforeSeq] */
  const read = async (beforeSeq) => {
    try {
      /** @type {import('./contract.d.ts').StoryReply} */
      const reply = await get(`/accounts/${segment(accountId)}/story`, { subject, limit: PART, beforeSeq });
      if (isClosed) return;
      const isFirst = entries.size === 0;
      for (const entry of reply.entries) entries.set(keyOf(entry), entry);
      if (isFirst || beforeSeq !== undefined) olderThan = reply.nextBeforeSeq;
      show(trouble, false);
    } catch (error) {
      setText(trouble, `The story could not be read: ${wordsOf(error)}.`);
      show(trouble, true);
    }
    const sorted = [...entries.values()].sort((a, b) => b.seq - a.seq || b.part - a.part);
    set(sorted);
    show(nothing, sorted.length === 0);
    show(more, olderThan !== null);
  };
  more.addEventListener('click', () => void read(olderThan ?? undefined));
  void read();
  return {
    node,
    /** Something happened: looks again soon. */
    look() {
      timer ??= setTimeout(() => {
        timer = undefined;
        void read();
      }, LOOK_AFTER_MS);
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** @param {StoryEntry} entry */
function keyOf({ seq, part }) {
  return `${seq}:${part}`;
}

/** @param {string} accountId @returns {import('./contract.d.ts').Part<StoryEntry>} */
function entryLine(accountId) {
  const time = timeNode('clock');
  const kind = h('b');
  const outcome = h('span', { class: 'outcome' });
  const alarm = h('span', { class: 'chip', 'data-look': 'alarm' }, 'alarm');
  const rule = h('span', { class: 'id' });
  const took = h('span', { class: 'muted' });
  const words = h('p', { class: 'story-words' });
  const details = detailsOf(accountId);
  const head = h('div', { class: 'action-head' }, time, kind, rule, outcome, alarm, took);
  const node = h('li', { class: 'story-entry' }, head, words, details.node);
  return {
    node,
    update(entry) {
      setTime(time, entry.atMs);
      setText(kind, KINDS[entry.kind] ?? entry.kind);
      setAttribute(node, 'data-kind', entry.kind);
      setText(rule, entry.ruleId ?? '');
      setText(outcome, entry.outcome ?? '');
      setAttribute(outcome, 'data-tone', toneOf(entry.outcome ?? ''));
      show(outcome, entry.outcome !== undefined);
      show(alarm, entry.alarm === true);
      setText(took, entry.tookMs === undefined ? '' : `took ${duration(entry.tookMs)}`);
      setText(words, entry.words);
      details.update(entry);
    },
  };
}

/** The record behind an entry, opened on demand. @param {string} accountId @returns {import('./contract.d.ts').Part<StoryEntry>} */
function detailsOf(accountId) {
  const label = h('summary', {}, 'Details and inputs');
  const text = h('pre', { class: 'json', tabindex: 0 });
  const node = h('details', {}, label, text);
  /** @type {StoryEntry | undefined} */
  let shown;
  let isRead = false;
  const read = async () => {
    if (!node.open || isRead || shown === undefined) return;
    const { seq, detail } = shown;
    setText(text, 'Reading ...');
    try {
      const record = await get(`/accounts/${segment(accountId)}/audit/${seq}`);
      isRead = true;
      setText(text, JSON.stringify(record, null, 2));
    } catch (error) {
      const own = JSON.stringify(detail, null, 2);
      setText(text, `The record could not be read: ${wordsOf(error)}.\n\n${own}`);
    }
  };
  node.addEventListener('toggle', () => void read());
  return {
    node,
    update(entry) {
      shown = entry;
      setAttribute(label, 'aria-label', `Details and inputs of record ${entry.seq}`);
    },
  };
}
