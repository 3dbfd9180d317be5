/** What a digest lists under one title, the most important first. */
export interface ListedSection {
  readonly title: string;
  readonly items: readonly string[];
}

/** A line of a list is never longer. */
const LONGEST_ITEM = 220;
/** For `- and 12345 more` and the end of its line. */
const REST = 20;

/**
 * The sections as lines of at most `maxChars` altogether, ends of lines included. Each in turn gets one more item until
 * none fits; what is left out is counted. Titles and counts are always there.
 */
export function fitLines(sections: readonly ListedSection[], maxChars: number): readonly string[] {
  const shown = sections.map(({ title, items }) => ({
    title,
    lines: [] as string[],
    left: items.map(itemLine),
  }));
  let room = maxChars - shown.reduce((sum, { title }) => sum + title.length + 1 + REST, 0);
  let open = shown.filter(({ left }) => left.length > 0);
  while (open.length > 0) {
    open = open.filter(({ lines, left }) => {
      const [next] = left;
      if (next === undefined || next.length + 1 > room) return false;
      left.shift();
      lines.push(next);
      room -= next.length + 1;
      return true;
    });
  }
  return shown.flatMap(({ title, lines, left }) =>
    [title].concat(lines, restLine(lines.length, left.length)),
  );
}

/** What the titles and first items of sections need. */
export function leastOf(sections: readonly ListedSection[]): number {
  return sections.reduce(
    (sum, { title, items: [first = ''] }) => sum + title.length + 1 + REST + itemLine(first).length + 1,
    0,
  );
}

function itemLine(item: string): string {
  const text = item.length > LONGEST_ITEM - 2 ? `${item.slice(0, LONGEST_ITEM - 3)}…` : item;
  return `- ${text}`;
}

function restLine(shown: number, left: number): readonly string[] {
  if (left === 0) return [];
  return [shown === 0 ? `- ${left} in all` : `- and ${left} more`];
}
