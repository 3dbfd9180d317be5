import { toneOf } from './action-list.js';
import { get, wordsOf } from './api.js';
import { duration } from './format.js';
import { repeat } from './lit-html/directives/repeat.js';
import { html, nothing } from './lit-html/lit-html.js';
import { time } from './time.js';

/**
 * What has happened to an account or one of its subjects, newest first, from the audit trail. The inputs of a
 * decision are read when somebody asks for them.
 */

/** @import { PageStoryEntry as StoryEntry } from './contract.d.ts' */

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

export class Story {
  #accountId;
  #subject;
  #onChange;
  /** @type {Map<string, StoryEntry>} */
  #entries = new Map();
  /** Records that somebody opened, as text. @type {Map<number, string>} */
  #records = new Map();
  /** @type {number | null} */
  #olderThan = null;
  #trouble = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isClosed = false;

  /** @param {string} accountId @param {string | undefined} subject @param {() => void} onChange */
  constructor(accountId, subject, onChange) {
    this.#accountId = accountId;
    this.#subject = subject;
    this.#onChange = onChange;
    void this.#read();
  }

  /** Something happened: looks again soon. */
  look() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#read();
    }, LOOK_AFTER_MS);
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** @param {number} [beforeSeq] */
  async #read(beforeSeq) {
    try {
      const asked = { subject: this.#subject, limit: PART, beforeSeq };
      /** @type {import('./contract.d.ts').StoryReply} */
      const reply = await get(`/accounts/${encodeURIComponent(this.#accountId)}/story`, asked);
      const isFirst = this.#entries.size === 0;
      for (const entry of reply.entries) this.#entries.set(keyOf(entry), entry);
      if (isFirst || beforeSeq !== undefined) this.#olderThan = reply.nextBeforeSeq;
      this.#trouble = '';
    } catch (error) {
      this.#trouble = `The story could not be read: ${wordsOf(error)}.`;
    }
    if (!this.#isClosed) this.#onChange();
  }

  template() {
    const sorted = [...this.#entries.values()].sort((a, b) => b.seq - a.seq || b.part - a.part);
    const older = () => void this.#read(this.#olderThan ?? undefined);
    const more = html`<button type="button" class="button" @click=${older}>Show older</button>`;
    const entry = (/** @type {StoryEntry} */ one) => this.#entryLine(one);
    return html`<p class="trouble" role="status" ?hidden=${this.#trouble === ''}>${this.#trouble}</p>
      <p class="muted" ?hidden=${sorted.length > 0}>Nothing has happened yet.</p>
      <ol class="story">${repeat(sorted, keyOf, entry)}</ol>
      ${this.#olderThan === null ? nothing : more}`;
  }

  /** @param {StoryEntry} entry */
  #entryLine({ seq, atMs, kind, ruleId, outcome, alarm, tookMs, words, detail }) {
    const open = (/** @type {Event} */ { target }) => {
      const { open: isOpen } = /** @type {HTMLDetailsElement} */ (target);
      if (isOpen) void this.#readRecord(seq, detail);
    };
    return html`<li class="story-entry" data-kind=${kind}>
      <div class="action-head">${time('clock', atMs)} <b>${KINDS[kind] ?? kind}</b>
        ${ruleId === undefined ? nothing : html`<span class="id">${ruleId}</span>`}
        ${outcome === undefined ? nothing : html`<span class="outcome" data-tone=${toneOf(outcome)}>${outcome}</span>`}
        ${alarm === true ? html`<span class="chip" data-look="alarm">alarm</span>` : nothing}
        ${tookMs === undefined ? nothing : html`<span class="muted">took ${duration(tookMs)}</span>`}</div>
      <p class="story-words">${words}</p>
      <details @toggle=${open}>
        <summary aria-label=${`Details and inputs of record ${seq}`}>Details and inputs</summary>
        <pre class="json" tabindex="0">${this.#records.get(seq) ?? 'Reading ...'}</pre>
      </details>
    </li>`;
  }

  /** The record behind an entry. @param {number} seq @param {object} detail what is shown without it */
  async #readRecord(seq, detail) {
    if (this.#records.has(seq)) return;
    try {
      const record = await get(`/accounts/${encodeURIComponent(this.#accountId)}/audit/${seq}`);
      this.#records.set(seq, JSON.stringify(record, null, 2));
    } catch (error) {
      const own = JSON.stringify(detail, null, 2);
      this.#records.set(seq, `The record could not be read: ${wordsOf(error)}.\n\n${own}`);
    }
    if (!this.#isClosed) this.#onChange();
  }
}

/** @param {StoryEntry} entry */
function keyOf({ seq, part }) {
  return `${seq}:${part}`;
}
