import { execFileSync } from 'node:child_process';

/**
 * @typedef {{
 *   type: string, 'bom-ref': string, name: string, version: string, scope: string, purl: string,
 *   properties: { name: string }[], hashes: { alg: string, content: string }[], licenses: object[],
 * }} Component
 * @typedef {{
 *   bomFormat: string, specVersion: string, version: number, serialNumber: string,
 *   metadata: { component: Component }, components: Component[], dependencies: { ref: string, dependsOn: string[] }[],
 * }} Sbom
 */

/** npm's name for a package that only builds and tests. */
const DEVELOPMENT = 'cdx:npm:package:development';
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * The packages of package-lock.json as CycloneDX, by `npm sbom`: version, license, checksum and dependencies of each.
 * Leaves out what differs between two runs on the same lock: time, serial number, and the tool.
 * @param {string} root
 */
export function sbomOf(root) {
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--include=dev'];
  const text = execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: MOST_BYTES });
  const { serialNumber: _serial, metadata, components, ...others } = /** @type {Sbom} */ (JSON.parse(text));
  for (const one of components) {
    if (one.properties.some(({ name }) => name === DEVELOPMENT)) one.scope = 'excluded';
  }
  const { component } = metadata;
  // npm takes the name of the folder, and any package for a library.
  const named = { ...component, type: 'application', name: component['bom-ref'].split('@')[0] };
  return { ...others, metadata: { component: named }, components };
}
