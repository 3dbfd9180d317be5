import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/**
 * `node scripts/compare-node.mjs [mirror]`: checks that the program in the package node-linux-* is the one that the
 * Node.js project publishes. Downloads SHASUMS256.txt and the archive of that version, verifies the archive's checksum,
 * and compares the program inside with ours. Exit code: 0 the same, 1 different, 2 could not be compared.
 */

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PUBLISHER = 'https://nodejs.org/dist';
const TIMEOUT_MS = 120_000;
const EXIT = { same: 0, different: 1, unknown: 2 };

/**
 * @param {{ mirror: string, folder: string }} options `folder`: the package's folder
 * @returns {Promise<{ exitCode: number, words: string }>}
 */
export async function compareNode({ mirror, folder }) {
  const { name, version } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const ours = sha256(readFileSync(path.join(folder, 'bin', 'node')));
  const archive = `node-v${version}-${name.replace('node-', '')}.tar.gz`;
  const base = `${mirror}/v${version}`;
  let listed;
  let packed;
  try {
    listed = (await load(`${base}/SHASUMS256.txt`)).toString('utf8');
    packed = await load(`${base}/${archive}`);
  } catch (error) {
    const { cause, message } = /** @type {Error} */ (error);
    const why = cause instanceof Error ? cause.message : message;
    return {
      exitCode: EXIT.unknown,
      words: `NOT COMPARED: ${mirror} could not be reached (${why}); ours is ${ours}`,
    };
  }
  const expected = listed
    .split('\n')
    .find((line) => line.endsWith(`  ${archive}`))
    ?.split(' ')[0];
  if (expected !== sha256(packed)) {
    const words = `DIFFERENT: ${archive} is not what SHASUMS256.txt lists (${expected ?? 'nothing'})`;
    return { exitCode: EXIT.different, words };
  }
  const theirs = sha256(programIn(packed, archive));
  if (theirs !== ours) {
    return { exitCode: EXIT.different, words: `DIFFERENT: ${name} has ${ours}, ${archive} has ${theirs}` };
  }
  return {
    exitCode: EXIT.same,
    words: `the same: ${name} ${version} has the program of ${archive}, ${ours}`,
  };
}

/** @param {string} url */
async function load(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** @param {Buffer} packed @param {string} archive */
function programIn(packed, archive) {
  const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-node-'));
  try {
    const file = path.join(folder, archive);
    writeFileSync(file, packed);
    const member = `${archive.replace('.tar.gz', '')}/bin/node`;
    execFileSync('tar', ['-xzf', file, '-C', folder, member]);
    return readFileSync(path.join(folder, member));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {Buffer} bytes */
function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = path.join(ROOT, 'node_modules', `node-linux-${process.arch}`);
  const { exitCode, words } = await compareNode({ mirror: process.argv[2] ?? PUBLISHER, folder });
  process.stdout.write(`${words}\n`);
  process.exitCode = exitCode;
}
