import { Buffer } from 'node:buffer';

/**
 * @typedef {{
 *   name?: string, version?: string, integrity?: string, license?: string, dev?: boolean, devOptional?: boolean,
 *   optional?: boolean, dependencies?: Record<string, string>, optionalDependencies?: Record<string, string>,
 *   peerDependencies?: Record<string, string>,
 * }} Entry
 * @typedef {{ packages: Record<string, Entry> }} Lock
 */

/**
 * The packages of package-lock.json as CycloneDX 1.6: version, license, checksum and dependencies of each. The same
 * lock always gives the same text: there is no serial number and no time.
 * @param {Lock} lock
 */
export function sbomOf({ packages }) {
  const { '': root = {}, ...others } = packages;
  const entries = Object.entries(others);
  const rootRef = purlOf(root.name ?? '', root.version ?? '');
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': rootRef,
        name: root.name,
        version: root.version,
        ...licensesOf(root),
      },
    },
    components: entries.map(([path, entry]) => componentOf(path, entry)),
    dependencies: [
      { ref: rootRef, dependsOn: neededBy('', root, packages) },
      ...entries.map(([path, entry]) => ({
        ref: refOf(path, entry),
        dependsOn: neededBy(path, entry, packages),
      })),
    ],
  };
}

/** @param {string} path @param {Entry} entry */
function componentOf(path, entry) {
  const name = nameOf(path, entry);
  const [group, bare] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const hash = Buffer.from((entry.integrity ?? '').replace('sha512-', ''), 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': refOf(path, entry),
    ...(group === undefined ? {} : { group }),
    name: bare,
    version: entry.version,
    // Packages that only build and test are not part of the running program.
    scope:
      entry.dev === true || entry.devOptional === true
        ? 'excluded'
        : entry.optional === true
          ? 'optional'
          : 'required',
    hashes: [{ alg: 'SHA-512', content: hash }],
    ...licensesOf(entry),
    purl: purlOf(name, entry.version ?? ''),
  };
}

/** @param {Entry} entry */
function licensesOf({ license }) {
  if (license === undefined) return {};
  return {
    licenses: [license.startsWith('SEE ') ? { license: { name: license } } : { expression: license }],
  };
}

/** The path in node_modules distinguishes two copies of the same version. @param {string} path @param {Entry} entry */
function refOf(path, entry) {
  const nested = path.split('node_modules/').length > 2 ? `#${path}` : '';
  return `${purlOf(nameOf(path, entry), entry.version ?? '')}${nested}`;
}

/** @param {string} path @param {Entry} entry */
function nameOf(path, entry) {
  return entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** @param {string} name @param {string} version */
function purlOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/**
 * Dependencies of a package, resolved as Node does: nearest folder first.
 * @param {string} path
 * @param {Entry & { devDependencies?: Record<string, string> }} entry
 * @param {Record<string, Entry>} packages
 */
function neededBy(path, entry, packages) {
  const names = Object.keys({
    ...entry.dependencies,
    ...entry.devDependencies,
    ...entry.optionalDependencies,
    ...entry.peerDependencies,
  });
  const folders = [path];
  for (let at = path; at !== ''; folders.push(at))
    at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')));
  const found = names.flatMap((name) => {
    const candidates = folders.map((folder) => `${folder === '' ? '' : `${folder}/`}node_modules/${name}`);
    const place = candidates.find((candidate) => packages[candidate] !== undefined);
    // Optional ones may be missing.
    return place === undefined ? [] : [refOf(place, packages[place] ?? {})];
  });
  return [...new Set(found)].sort();
}
