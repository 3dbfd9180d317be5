/** Reads docs/glossary.md: headings, and tables of a word and its meaning. Pure. */

/** @typedef {{ word: string, meaning: string }} Entry */
/** @typedef {{ title: string, entries: readonly Entry[] }} Chapter */

/** @param {string} text @returns {readonly Chapter[]} */
export function chaptersOf(text) {
  const parts = text.split(/^## /m).slice(1);
  return parts.map((part) => {
    const [title = '', ...lines] = part.split('\n');
    const rows = lines.filter((line) => line.startsWith('|')).map(cellsOf);
    // The first two are the head of the table and the line below it.
    return { title, entries: rows.slice(2).map(([word = '', meaning = '']) => ({ word, meaning })) };
  });
}

/** @param {string} line */
function cellsOf(line) {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split('|')
    .map((cell) =>
      cell
        .trim()
        .replaceAll(/[*`]/g, '')
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
    );
}
