import { wordsOf } from './api.js';
import { html, nothing, render } from './lit-html/lit-html.js';

/**
 * Dialogs: the browser's own, so that focus stays inside, Escape closes and focus goes back to where it was.
 */

/** @import { Drawn } from './contract.d.ts' */

/**
 * What is shown once more before something is done.
 * @typedef {object} Confirmation
 * @property {Drawn} body
 * @property {string} action what the button says
 * @property {() => Promise<void>} send throws with words for people
 */

/**
 * @typedef {object} FormDialog
 * @property {string} title
 * @property {string} [text]
 * @property {() => Drawn} fields
 * @property {string} action what the button says
 * @property {(given: FormData) => Promise<Confirmation | void>} send throws with words for people
 * @property {() => void} [onClosed]
 */

/** Opens a dialog with a form; it closes when sending succeeded and nothing is left to confirm. @param {FormDialog} options */
export function openForm(options) {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  /** @type {{ trouble: string, isSending: boolean, confirmation: Confirmation | undefined }} */
  const state = { trouble: '', isSending: false, confirmation: undefined };
  const draw = () => render(formTemplate(options, state, deeds), dialog);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    if (state.isSending) return;
    Object.assign(state, { isSending: true, trouble: '' });
    draw();
    try {
      const form = /** @type {HTMLFormElement} */ (event.target);
      const next =
        state.confirmation === undefined
          ? await options.send(new FormData(form))
          : await state.confirmation.send();
      if (next === undefined) dialog.close();
      else state.confirmation = next;
    } catch (error) {
      state.trouble = wordsOf(error);
    }
    state.isSending = false;
    draw();
  };
  const deeds = {
    submit: (/** @type {Event} */ event) => void submit(event),
    cancel: () => dialog.close(),
    back() {
      Object.assign(state, { confirmation: undefined, trouble: '' });
      draw();
    },
  };
  dialog.addEventListener('close', () => {
    dialog.remove();
    options.onClosed?.();
  });
  draw();
  document.body.append(dialog);
  dialog.showModal();
  return { redraw: draw };
}

/**
 * What was typed stays in its fields while a confirmation stands in front of them.
 * @param {FormDialog} options
 * @param {{ trouble: string, isSending: boolean, confirmation: Confirmation | undefined }} state
 * @param {{ submit: (event: Event) => void, cancel: () => void, back: () => void }} deeds
 */
function formTemplate({ title, text, fields, action }, { trouble, isSending, confirmation }, deeds) {
  const isConfirming = confirmation !== undefined;
  return html`<form method="dialog" autocomplete="off" novalidate=${isConfirming ? '' : nothing} @submit=${deeds.submit}>
    <h2 id="dialog-title">${title}</h2>
    <div class="fields" ?hidden=${isConfirming}>${text === undefined ? nothing : html`<p>${text}</p>`}${fields()}</div>
    ${isConfirming ? html`<div class="confirmation">${confirmation.body}</div>` : nothing}
    <p class="trouble" role="alert" ?hidden=${trouble === ''}>${trouble}</p>
    <div class="dialog-buttons">
      <button type="button" class="button" @click=${deeds.cancel}>Cancel</button>
      ${isConfirming ? html`<button type="button" class="button" @click=${deeds.back}>Back</button>` : nothing}
      <button type="submit" class="button button-main" ?disabled=${isSending}>${isConfirming ? confirmation.action : action}</button>
    </div>
  </form>`;
}
