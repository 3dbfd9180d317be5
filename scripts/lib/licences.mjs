import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const FILE = /^(licen[cs]e|copying|copyright|notice)/i;
/** A file of a package; group 1 is the package's folder. */
const OF_PACKAGE = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/;

/**
 * Licence notices of the packages that are bundled into our files: name, version, licence and licence text of each.
 * @param {Iterable<string>} modules absolute paths of bundled files; those outside of packages are ignored
 * @returns {string}
 * @throws if a package has no licence text, unless it declares the MIT licence
 */
export function licencesOf(modules) {
  const folders = new Set([...modules].flatMap((file) => OF_PACKAGE.exec(file)?.[1] ?? []));
  const entries = [...folders].map((folder) => entryOf(folder)).sort((a, b) => (a.title < b.title ? -1 : 1));
  const line = '-'.repeat(80);
  return [
    'Packages whose code is in the files of this folder, and their licences.',
    ...entries.map(({ title, text }) => `${line}\n${title}\n\n${text}`),
    '',
  ].join('\n');
}

/** @param {string} folder */
function entryOf(folder) {
  const { name, version, license, author } = JSON.parse(
    readFileSync(path.join(folder, 'package.json'), 'utf8'),
  );
  const texts = readdirSync(folder)
    .filter((file) => FILE.test(file))
    .sort()
    .map((file) => readFileSync(path.join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim());
  if (texts.length === 0 && license !== 'MIT')
    throw new Error(`${name} brings no text of its licence (${license})`);
  const holder = typeof author === 'object' ? author.name : (author ?? `the authors of ${name}`);
  return {
    title: `${name} ${version} (${license})`,
    text: texts.length === 0 ? mit(holder) : `${texts.join('\n\n')}\n`,
  };
}

/** @param {string} holder */
function mit(holder) {
  return `Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;
}
