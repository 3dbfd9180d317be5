import { ApiError, change, wordsOf } from './api.js';
import { h, setText, show } from './dom.js';
import { forget, keep, kept, knownAs } from './session.js';

/**
 * Dialogs: the browser's own, so that focus stays inside, Escape closes and focus goes back to where it was.
 */

let fieldCount = 0;

/**
 * A labelled field.
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input
 * @param {string} [hint]
 */
export function field(label, input, hint) {
  fieldCount += 1;
  input.id = `field-${fieldCount}`;
  const words = hint === undefined ? null : h('span', { class: 'hint', id: `${input.id}-hint` }, hint);
  if (words !== null) input.setAttribute('aria-describedby', words.id);
  return h('div', { class: 'field' }, h('label', { for: input.id }, label), input, words);
}

/**
 * @typedef {object} FormDialog
 * @property {string} title
 * @property {string} [text]
 * @property {readonly HTMLElement[]} fields
 * @property {string} action what the button says
 * @property {() => Promise<void>} send throws with words for people
 * @property {() => void} [onTrouble]
 * @property {() => void} [onClosed]
 */

/** Opens a dialog with a form; it closes when sending succeeded. @param {FormDialog} options */
export function openForm({ title, text, fields, action, send, onTrouble, onClosed }) {
  const heading = h('h2', { id: 'dialog-title' }, title);
  const trouble = h('p', { class: 'trouble', role: 'alert', hidden: true });
  const submit = h('button', { type: 'submit', class: 'button button-main' }, action);
  const cancel = h('button', { type: 'button', class: 'button' }, 'Cancel');
  const form = h(
    'form',
    { method: 'dialog', autocomplete: 'off' },
    heading,
    text === undefined ? null : h('p', {}, text),
    ...fields,
    trouble,
    h('div', { class: 'dialog-buttons' }, cancel, submit),
  );
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  cancel.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    dialog.remove();
    onClosed?.();
  });
  const submitted = async () => {
    if (submit.disabled) return;
    submit.disabled = true;
    show(trouble, false);
    try {
      await send();
      dialog.close();
    } catch (error) {
      setText(trouble, wordsOf(error));
      show(trouble, true);
      onTrouble?.();
    } finally {
      submit.disabled = false;
    }
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submitted();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * The fields that every change asks for: who, and the control token if it is not known yet. Nothing, if the daemon knows
 * who it is.
 * @returns {{ fields: readonly HTMLElement[], sign: () => { author?: string }, arrange: () => void }}
 */
export function signature() {
  const name = knownAs();
  if (name !== null) {
    const words = h('p', { class: 'hint' }, `Recorded as ${name}.`);
    return { fields: [words], sign: () => ({}), arrange: () => undefined };
  }
  const author = h('input', { name: 'author', required: true, maxlength: 80, value: kept('author') ?? '' });
  const token = h('input', {
    name: 'token',
    type: 'password',
    required: true,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const tokenField = field('Control token', token, 'Kept until this tab is closed or you forget it');
  const wasKnown = kept('control') !== undefined;
  const arrange = () => {
    // Once it is shown it stays: what was typed wrongly is corrected there.
    const isShown = !wasKnown || kept('control') === undefined;
    show(tokenField, isShown);
    token.required = isShown;
  };
  arrange();
  return {
    fields: [field('Your name', author), tokenField],
    /** Remembers them. */
    sign() {
      const name = author.value.trim();
      if (name === '') throw new Error('Say who you are.');
      keep('author', name);
      if (!tokenField.hidden) {
        if (token.value === '') throw new Error('This needs the control token.');
        keep('control', token.value);
      }
      return { author: name };
    },
    /** After a refusal: asks for the token that was just forgotten. */
    arrange,
  };
}

/**
 * As `change`, with words for what people meet. A token that is refused is forgotten.
 * @template T
 * @param {'POST' | 'DELETE'} method
 * @param {string} path
 * @param {object} body
 * @returns {Promise<T>}
 */
export async function changeOrExplain(method, path, body) {
  try {
    return /** @type {T} */ (await change(method, path, body));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401 && knownAs() !== null)
      throw new Error('This daemon does not know you any more. Nothing was changed: reload the page.', {
        cause: error,
      });
    if (error.status === 401) {
      forget('control');
      throw new Error('The control token is wrong. Nothing was changed; the token is forgotten.', {
        cause: error,
      });
    }
    if (error.status >= 500) throw new Error(`${upper(error.message)}.`, { cause: error });
    if (error.status === 0) {
      throw new Error(
        `${upper(error.message)}. It is not known whether this was done: look before you try again.`,
        { cause: error },
      );
    }
    throw new Error(`Nothing was changed: ${error.message}.`, { cause: error });
  }
}

/** @param {string} text */
function upper(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
