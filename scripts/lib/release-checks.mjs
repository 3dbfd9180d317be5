/**
 * Facts about a checkout that decide whether it can be released.
 * @typedef {{
 *     version: string,
 *     lockVersion: string | undefined,
 *     images: readonly { file: string, tag: string }[],
 *     changelog: string,
 *     changed: readonly string[],
 *     tags: readonly string[],
 *     notInstalled: string | undefined,
 * }} ReleaseState
 */

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

/** @param {string} version */
export const tagOf = (version) => `v${version}`;

/**
 * Reasons against a release, in words.
 * @param {ReleaseState} state
 * @returns {string[]}
 */
export function releaseProblems(state) {
  const { version, lockVersion, images, changed, tags, notInstalled } = state;
  const listed = changed.slice(0, 5).join(', ');
  const more = changed.length > 5 ? ` and ${changed.length - 5} more` : '';
  return [
    ...(changed.length === 0 ? [] : [`the tree is not clean: ${listed}${more}`]),
    ...(VERSION.test(version) ? [] : [`package.json: ${JSON.stringify(version)} is not a version`]),
    ...(lockVersion === version ? [] : [`package-lock.json says ${lockVersion}, package.json ${version}`]),
    ...images
      .filter(({ tag }) => tag !== version)
      .map(({ file, tag }) => `${file}: the image has the tag ${tag}, not ${version}`),
    ...(tags.includes(tagOf(version))
      ? [`the tag ${tagOf(version)} is there already: raise the version`]
      : []),
    ...changelogProblems(state.changelog, version),
    ...(notInstalled === undefined ? [] : [`${notInstalled}: run npm ci`]),
  ];
}

/**
 * Sections of a changelog, newest first: `## [1.2.3] - 2026-05-01`.
 * @param {string} changelog
 */
function sectionsOf(changelog) {
  const [, ...parts] = changelog.split(/^## /m);
  return parts.map((part) => {
    const [heading = '', ...lines] = part.split('\n');
    const [, name = '', rest = ''] = /^\[([^\]]+)\](.*)$/.exec(heading) ?? [];
    return { name, rest: rest.trim(), text: lines.join('\n').trim() };
  });
}

/**
 * @param {string} changelog
 * @param {string} version
 * @returns {string[]}
 */
function changelogProblems(changelog, version) {
  const sections = sectionsOf(changelog);
  const unreleased = sections.find(({ name }) => name === 'Unreleased');
  const versions = sections.filter((section) => section !== unreleased);
  const own = versions.find(({ name }) => name === version);
  const left =
    unreleased === undefined || unreleased.text === ''
      ? []
      : [`CHANGELOG.md: [Unreleased] is not empty: what it says belongs to [${version}]`];
  if (own === undefined) return [`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD"`, ...left];
  const date = /^- (\d{4}-\d{2}-\d{2})$/.exec(own.rest)?.[1] ?? '';
  return [
    ...(isDate(date) ? [] : [`CHANGELOG.md: the section [${version}] has no date: "- YYYY-MM-DD"`]),
    ...(own.text === '' ? [`CHANGELOG.md: the section [${version}] is empty`] : []),
    ...(versions[0] === own ? [] : [`CHANGELOG.md: the section [${version}] is not the newest`]),
    ...left,
  ];
}

/** @param {string} text */
function isDate(text) {
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/**
 * The changelog's text for a version.
 * @param {string} changelog
 * @param {string} version
 */
export function releaseNotes(changelog, version) {
  return `${sectionsOf(changelog).find(({ name }) => name === version)?.text ?? ''}\n`;
}
