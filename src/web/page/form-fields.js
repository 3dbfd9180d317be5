import { html, nothing } from './lit-html/lit-html.js';

/** Labelled fields of dialogs. One dialog is open at a time, so that a field's name makes its id. */

/**
 * @typedef {object} TextField
 * @property {string} name
 * @property {string} label
 * @property {string} [hint]
 * @property {string} [value] at first
 * @property {'text' | 'password'} [type]
 * @property {'decimal'} [inputmode]
 * @property {string} [pattern]
 * @property {number} [maxlength]
 * @property {boolean} [hidden]
 */

/** Always required while it is shown. @param {TextField} field */
export function textField({
  name,
  label,
  hint,
  value = '',
  type = 'text',
  inputmode,
  pattern,
  maxlength,
  hidden = false,
}) {
  const input = html`<input id=${`field-${name}`} name=${name} type=${type} .value=${value} ?required=${!hidden}
    autocomplete="off" spellcheck="false" inputmode=${inputmode ?? nothing} pattern=${pattern ?? nothing}
    maxlength=${maxlength ?? nothing} aria-describedby=${hint === undefined ? nothing : `field-${name}-hint`}>`;
  return frame({ name, label, hint, hidden }, input);
}

/**
 * @typedef {object} Option
 * @property {string} value
 * @property {string} label
 */

/** @param {{ name: string, label: string, options: readonly Option[], value?: string, hint?: string, onChange?: (value: string) => void }} field */
export function selectField({ name, label, options, value, hint, onChange }) {
  const change = (/** @type {Event} */ { target }) =>
    onChange?.(/** @type {HTMLSelectElement} */ (target).value);
  const select = html`<select id=${`field-${name}`} name=${name} @change=${change}
    aria-describedby=${hint === undefined ? nothing : `field-${name}-hint`}>${options.map(
      (option) =>
        html`<option value=${option.value} ?selected=${option.value === value}>${option.label}</option>`,
    )}</select>`;
  return frame({ name, label, hint }, select);
}

export function reasonField() {
  const area = html`<textarea id="field-reason" name="reason" required rows="2" maxlength="300"></textarea>`;
  return frame({ name: 'reason', label: 'Reason' }, area);
}

/** @param {FormData} given */
export function reasonOf(given) {
  const reason = textOf(given, 'reason').replace(/\s+/g, ' ');
  if (reason === '') throw new Error('Say why: it goes into the audit trail.');
  return reason;
}

/** @param {FormData} given @param {string} name */
export function textOf(given, name) {
  const value = given.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/**
 * @param {{ name: string, label: string, hint?: string | undefined, hidden?: boolean }} about
 * @param {import('./contract.d.ts').Drawn} input
 */
function frame({ name, label, hint, hidden = false }, input) {
  const words =
    hint === undefined ? nothing : html`<span class="hint" id=${`field-${name}-hint`}>${hint}</span>`;
  return html`<div class="field" ?hidden=${hidden}><label for=${`field-${name}`}>${label}</label>${input}${words}</div>`;
}
