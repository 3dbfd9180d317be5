import { ApiError, change } from './api.js';
import { openForm } from './dialog.js';
import { reasonField, reasonOf, textField, textOf } from './form-fields.js';
import { capital } from './format.js';
import { html } from './lit-html/lit-html.js';
import { forget, keep, kept, knownAs } from './session.js';

/** Who changes something, and with which token. */

/** @import { FormDialog } from './dialog.js' */

/**
 * @typedef {object} Change
 * @property {() => unknown} [fields] all but the signature; default: the reason alone
 * @property {'POST' | 'DELETE'} [method]
 * @property {string} path
 * @property {(given: FormData) => object} [body] all but reason and author
 */

/** A dialog for one change, with its reason and who makes it. @param {Omit<FormDialog, 'fields' | 'send'> & Change} form */
export function openChange({ fields = reasonField, method = 'POST', path, body = () => ({}), ...form }) {
  const who = signature();
  openForm({
    ...form,
    fields: () => [fields(), who.fields()],
    async send(given) {
      const said = { ...body(given), reason: reasonOf(given), ...who.sign(given) };
      await changeOrExplain(method, path, said);
    },
  });
}

/**
 * The fields that every change asks for: who, and the control token if it is not known yet. Nothing, if the daemon knows
 * who it is.
 */
export function signature() {
  const wasKnown = kept('control') !== undefined;
  // Once it is shown it stays: what was typed wrongly is corrected there.
  const asksToken = () => !wasKnown || kept('control') === undefined;
  return {
    fields() {
      const name = knownAs();
      if (name !== null) return html`<p class="hint">Recorded as ${name}.</p>`;
      return [
        textField({ name: 'author', label: 'Your name', maxlength: 80, value: kept('author') ?? '' }),
        textField({
          name: 'token',
          label: 'Control token',
          type: 'password',
          hint: 'Kept until this tab is closed or you forget it',
          hidden: !asksToken(),
        }),
      ];
    },
    /** Remembers them. @param {FormData} given @returns {{ author?: string }} */
    sign(given) {
      if (knownAs() !== null) return {};
      const author = textOf(given, 'author');
      if (author === '') throw new Error('Say who you are.');
      keep('author', author);
      if (asksToken()) {
        const token = textOf(given, 'token');
        if (token === '') throw new Error('This needs the control token.');
        keep('control', token);
      }
      return { author };
    },
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
    if (error.status === 401 && knownAs() === null) forget('control');
    throw new Error(refusalWords(error), { cause: error });
  }
}

/** @param {ApiError} error */
function refusalWords({ status, message }) {
  if (status === 401)
    return knownAs() === null
      ? 'The control token is wrong. Nothing was changed; the token is forgotten.'
      : 'This daemon does not know you any more. Nothing was changed: reload the page.';
  if (status >= 500) return sentence(capital(message));
  if (status === 0)
    return `${capital(message)}. It is not known whether this was done: look before you try again.`;
  return sentence(`Nothing was changed: ${message}`);
}

/** @param {string} words */
function sentence(words) {
  return words.endsWith('.') ? words : `${words}.`;
}
