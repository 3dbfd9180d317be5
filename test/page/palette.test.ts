import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/** Contrast of the palette (WCAG 2.2, 1.4.3 and 1.4.11), computed from the style sheet itself for both themes. */

const PAGE = path.resolve(import.meta.dirname, '../../src/web/page');
const CSS = readFileSync(path.join(PAGE, 'theme.css'), 'utf8');

type Theme = 'light' | 'dark';

function palette(theme: Theme): ReadonlyMap<string, string> {
  const found = CSS.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g);
  return new Map(
    [...found].map(([, name = '', light = '', dark = '']) => [name, theme === 'light' ? light : dark]),
  );
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Text in the first colour stands on each of the others: 4.5. */
const TEXT: Readonly<Record<string, readonly string[]>> = {
  text: ['ground', 'surface', 'raised', 'warning-ground', 'critical-ground', 'unknown-ground'],
  muted: ['ground', 'surface', 'raised', 'warning-ground', 'critical-ground', 'unknown-ground'],
  accent: ['ground', 'surface'],
  ok: ['surface'],
  warning: ['surface', 'warning-ground'],
  critical: ['surface', 'critical-ground', 'ground'],
  'on-accent': ['accent'],
};

/** Shapes that carry meaning: 3. */
const SHAPES: Readonly<Record<string, readonly string[]>> = {
  edge: ['surface', 'raised', 'ground'],
  calm: ['raised'],
  info: ['raised', 'surface'],
  warning: ['raised'],
  critical: ['raised'],
  accent: ['surface', 'raised'],
  'on-level': ['critical', 'warning', 'ok', 'info', 'edge'],
};

describe.each<Theme>(['light', 'dark'])('the %s palette', (theme) => {
  const colours = palette(theme);
  const pairs = (table: typeof TEXT, least: number) =>
    Object.entries(table).flatMap(([ink, grounds]) => grounds.map((ground) => ({ ink, ground, least })));

  it.each([...pairs(TEXT, 4.5), ...pairs(SHAPES, 3)])(
    '$ink on $ground has at least $least',
    ({ ink, ground, least }) => {
      const [a, b] = [colours.get(ink), colours.get(ground)];
      if (a === undefined || b === undefined) throw new Error(`no such colour: ${ink} or ${ground}`);
      expect(contrast(a, b)).toBeGreaterThanOrEqual(least);
    },
  );

  it('has every colour that the page uses', () => {
    const sheets = readdirSync(PAGE).filter((file) => file.endsWith('.css') && file !== 'theme.css');
    const page = sheets.map((file) => readFileSync(path.join(PAGE, file), 'utf8')).join('\n');
    const own = new Set(['fill', 'at', 'row', 'rows']);
    const used = [...page.matchAll(/var\(--([\w-]+)\)/g)].map(([, name = '']) => name);
    expect(used.filter((name) => !own.has(name) && !colours.has(name))).toEqual([]);
    expect(page).not.toMatch(/#[0-9a-f]{3,8}\b/i);
  });
});
