/** Items of a digest under one title, most important first. */
export interface ListedSection {
  readonly title: string;
  readonly items: readonly string[];
}

/** Longest line of a list. */
const LONGEST_ITEM = 220;
/** Room for `- and 12345 more` and its line end. */
const REST = 20;

/**
 * Lines of all sections, at most `maxChars` in total, line ends included. The sections take turns adding an item until
 * none fits; omitted items are counted. Titles and counts are always included.
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

/** Room that the titles and first items need. */
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
