import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

/** Every Markdown file of the project: links lead somewhere, and the index lists every page of docs/. */

const ROOT = path.join(import.meta.dirname, '../..');
const PAGES = globSync(['*.md', '{.github,config,docs,scripts,src,test,workers}/**/*.md'], {
  cwd: ROOT,
}).sort();

/** The text without code, where brackets are no links. */
function proseOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
    .replaceAll(/^( *)(```+|~~~+)[^]*?^\1\2 *$/gm, '')
    .replaceAll(/`[^`\n]+`/g, (code) => code.replaceAll(/[[\]]/g, ''));
}

/** Targets inside the project: of links, images, reference definitions and HTML. */
function linksOf(file: string): string[] {
  const prose = proseOf(file);
  const patterns = [/\]\(<?([^)\s>]+)/g, /^\[[^\]]+\]:\s*<?([^\s>]+)/gm, /\b(?:href|src)="([^"]+)"/g];
  return patterns
    .flatMap((pattern) => [...prose.matchAll(pattern)].map(([, target = '']) => target))
    .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target));
}

/** Anchors of a page, made from its headings as GitHub makes them. */
function anchorsOf(file: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(file).matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

function problemOf(file: string, link: string): string | undefined {
  const [target = '', anchor] = decodeURI(link).split('#');
  const place = target === '' ? file : path.join(path.dirname(file), target);
  if (target.startsWith('/') || place.startsWith('..')) return `${file}: ${link} leaves the project`;
  if (!existsSync(path.join(ROOT, place))) return `${file}: ${link} does not exist`;
  if (anchor === undefined || !place.endsWith('.md') || anchorsOf(place).has(anchor)) return undefined;
  return `${file}: ${link} names no heading; there are ${[...anchorsOf(place)].join(', ')}`;
}

describe('links', () => {
  test('are found in the README and the pages of docs/', () => {
    expect(PAGES).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/README.md']));
    for (const page of ['README.md', 'docs/README.md', 'docs/operations.md']) {
      expect([page, linksOf(page).length]).toEqual([page, expect.toSatisfy((count: number) => count > 3)]);
    }
    expect(PAGES.flatMap(linksOf).filter((link) => link.includes('#')).length).toBeGreaterThan(3);
  });

  test.each(PAGES)('in %s lead somewhere', (file) => {
    expect(
      linksOf(file)
        .map((link) => problemOf(file, link))
        .filter(Boolean),
    ).toEqual([]);
  });
});

describe('docs/README.md', () => {
  test('lists every page of docs/, and the README leads to it', () => {
    const listed = new Set(
      linksOf('docs/README.md').map((link) => path.join('docs', link.split('#')[0] ?? '')),
    );
    const pages = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((page) => !listed.has(page))).toEqual([]);
    expect(linksOf('README.md')).toContain('docs/README.md');
  });
});
