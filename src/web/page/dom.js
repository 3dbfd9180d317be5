/**
 * The little that the page needs to build nodes and to keep them up to date. Everything that came from outside
 * goes in as text; there is no way in here to make markup of it.
 */

/** @typedef {string | number | boolean | null | undefined | ((event: Event) => void)} Prop */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Readonly<Record<string, Prop>>} [props] attributes; a function listens to the event of that name
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else setAttribute(node, name, value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {...Node} children
 */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/**
 * @param {Element} node
 * @param {string} name
 * @param {string | number | boolean | null | undefined} value
 */
export function setAttribute(node, name, value) {
  if (value === undefined || value === null || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/**
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * @param {HTMLElement} node
 * @param {boolean} isShown
 */
export function show(node, isShown) {
  if (node.hidden === isShown) node.hidden = !isShown;
}

/**
 * Keeps the children of a node in step with a list: what stays is kept, in its place or moved around what has
 * the focus, so that neither focus nor reading place is lost.
 * @template T
 * @param {HTMLElement} parent has no other children
 * @param {(item: T) => string} keyOf unique
 * @param {(item: T) => import('./contract.d.ts').Part<T>} create
 * @returns {(items: readonly T[]) => void}
 */
export function keyedList(parent, keyOf, create) {
  /** @type {Map<string, { item: T, part: import('./contract.d.ts').Part<T> }>} */
  const entries = new Map();
  return (items) => {
    const wanted = new Map(items.map((item) => [keyOf(item), item]));
    for (const [key, { part }] of entries) {
      if (wanted.has(key)) continue;
      entries.delete(key);
      removeKeepingFocus(part.node, parent);
    }
    const nodes = [...wanted].map(([key, item]) => {
      const entry = entries.get(key);
      if (entry === undefined) {
        const part = create(item);
        part.update(item);
        entries.set(key, { item, part });
        return part.node;
      }
      if (entry.item !== item) {
        entry.item = item;
        entry.part.update(item);
      }
      return entry.part.node;
    });
    arrange(parent, nodes);
  };
}

/**
 * @param {HTMLElement} parent
 * @param {readonly HTMLElement[]} nodes
 */
function arrange(parent, nodes) {
  const focused = nodes.findIndex((node) => node.contains(document.activeElement));
  const anchor = Math.max(focused, 0);
  const first = nodes[anchor];
  if (first === undefined) return;
  if (first.parentNode !== parent) parent.prepend(first);
  /** @type {Node} */
  let next = first;
  for (const node of nodes.slice(0, anchor).reverse()) {
    if (node.nextSibling !== next) parent.insertBefore(node, next);
    next = node;
  }
  while (next.previousSibling !== null) parent.append(next.previousSibling);
  /** @type {Node} */
  let previous = first;
  for (const node of nodes.slice(anchor + 1)) {
    if (previous.nextSibling !== node) parent.insertBefore(node, previous.nextSibling);
    previous = node;
  }
}

/**
 * @param {HTMLElement} node
 * @param {HTMLElement} parent
 */
function removeKeepingFocus(node, parent) {
  const hadFocus = node.contains(document.activeElement);
  node.remove();
  if (!hadFocus) return;
  const target = /** @type {HTMLElement | null} */ (parent.closest('[tabindex="-1"]'));
  target?.focus({ preventScroll: true });
}

/**
 * Does nothing while the value is the very same.
 * @template T
 * @param {(value: T) => void} apply
 * @returns {(value: T) => void}
 */
export function onChange(apply) {
  /** @type {{ value: T } | undefined} */
  let last;
  return (value) => {
    if (last !== undefined && Object.is(last.value, value)) return;
    last = { value };
    apply(value);
  };
}
