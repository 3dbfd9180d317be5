/** A piece of HTML with escaped text. Only `markup` makes one. */
export interface Html {
  readonly html: string;
}

type Part = Html | string | number | readonly Part[] | undefined;

/** Template tag: escapes every value that is not markup itself, and joins lists. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let html = strings[0] ?? '';
  for (const [index, part] of parts.entries()) html += `${rendered(part)}${strings[index + 1] ?? ''}`;
  return { html };
}

function rendered(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'number') return Number.isFinite(part) ? String(Math.round(part * 100) / 100) : '0';
  if (typeof part === 'string') return escaped(part);
  return 'html' in part ? part.html : part.map(rendered).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
