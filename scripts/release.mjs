import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { difference } from './lib/install.mjs';
import { findNode } from './lib/node.mjs';
import { releaseNotes, releaseProblems, tagOf } from './lib/release-checks.mjs';
import { SetupError, say } from './lib/say.mjs';
import { findProgram, runHelper } from './lib/spawn.mjs';

const USAGE = `Usage: npm run release -- [--dry-run] [--out FOLDER] [--image NAME]

Checks that the tree is clean, that version and changelog agree, and builds a release from the last commit: the package, its
SBOM, the notes and SHA256SUMS, in release/VERSION. It pushes nothing: it prints the commands for that.

  --dry-run     do all of it but the image, and leave nothing behind
  --out FOLDER  write there
  --image NAME  build the image NAME:VERSION too, with docker, from the same commit; IMAGE has its digest
`;

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Files that name this version's image. */
const IMAGES = ['config/kubernetes/daemon.yaml', 'config/kubernetes/web.yaml'];

/** @param {string} file */
const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');

/** @param {readonly string[]} args */
function git(...args) {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stderr } = /** @type {{ stderr?: string }} */ (error);
    throw new SetupError(`git ${args[0]}: ${stderr?.trim() || 'git could not be run'}`);
  }
}

/** @param {string} text */
const lines = (text) => text.split('\n').filter((line) => line !== '');

/** @returns {import('./lib/release-checks.mjs').ReleaseState} */
function readState() {
  const images = IMAGES.flatMap((file) =>
    [...read(file).matchAll(/^\s*image: \S+\/breakwater:(\S+)$/gm)].map(([, tag = '']) => ({ file, tag })),
  );
  return {
    version: JSON.parse(read('package.json')).version,
    lockVersion: JSON.parse(read('package-lock.json')).version,
    images,
    changelog: read('CHANGELOG.md'),
    changed: lines(git('status', '--porcelain')).map((line) => line.slice(3)),
    tags: lines(git('tag', '--list')),
    notInstalled: difference(ROOT),
  };
}

/**
 * Builds the package of the last commit in a separate folder, so that uncommitted files do not get into it.
 * @param {string} folder
 * @param {string} version
 * @returns {Promise<{ source: string, package: string, sbom: string }>} the folder of the commit, and files
 */
async function pack(folder, version) {
  const source = path.join(folder, 'source');
  mkdirSync(source);
  git('archive', '--format=tar', '--output', path.join(folder, 'source.tar'), 'HEAD');
  execFileSync('tar', ['-xf', path.join(folder, 'source.tar'), '-C', source]);
  symlinkSync(realpathSync(path.join(ROOT, 'node_modules')), path.join(source, 'node_modules'));
  say('building and packing ...');
  const code = await runHelper('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: source });
  if (code !== 0) throw new SetupError(`npm pack failed (exit code ${code})`);
  const program = path.join(source, 'dist', 'src', 'cli', 'main.js');
  const said = execFileSync(findNode(ROOT).program, [program, '--version'], { encoding: 'utf8' }).trim();
  if (said !== version) throw new SetupError(`the built program says that it is ${said}, not ${version}`);
  return {
    source,
    package: path.join(folder, `breakwater-${version}.tgz`),
    sbom: path.join(source, 'dist', 'sbom.cdx.json'),
  };
}

/**
 * @param {string} image name and version
 * @param {string} source folder of the commit
 * @returns {Promise<string>} its digest
 */
async function buildImage(image, source) {
  const docker = findProgram('docker');
  if (docker === undefined)
    throw new SetupError('--image: docker was not found; leave it out, and build the image where docker is');
  say(`building the image ${image} ...`);
  const digest = path.join(source, '..', 'image-digest');
  const code = await runHelper(docker, ['build', '--tag', image, '--iidfile', digest, '.'], { cwd: source });
  if (code !== 0) throw new SetupError(`docker build failed (exit code ${code})`);
  return readFileSync(digest, 'utf8').trim();
}

/**
 * @param {string} folder the release's folder
 * @param {string} version
 * @param {string | undefined} image name and version, if it was built
 */
function commands(folder, version, image) {
  const place = path.relative(process.cwd(), folder) || '.';
  const tag = tagOf(version);
  const wanted = image ?? `REGISTRY/breakwater:${version}`;
  const build = image === undefined ? `  docker build --tag ${wanted} .\n` : '';
  return `Nothing has been pushed. Once .ci/run has passed on this commit:

  git tag --annotate ${tag} --message "Breakwater ${version}"
  git push origin HEAD ${tag}
${build}  docker push ${wanted}

Publish with the tag what lies in ${place}, with NOTES.md as its text. Whoever has loaded it checks it with
sha256sum --check SHA256SUMS. package.json says "private": npm publish refuses it.
`;
}

/**
 * @param {{ dryRun: boolean, out: string | undefined, image: string | undefined }} options
 * @returns {Promise<number>} exit code
 */
async function release({ dryRun, out, image: name }) {
  const state = readState();
  const { version, changelog } = state;
  const problems = releaseProblems(state);
  for (const problem of problems) say(problem);
  if (problems.length > 0) return 1;
  const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-release-'));
  try {
    const made = await pack(folder, version);
    const draft = path.join(folder, 'release');
    mkdirSync(draft);
    const image = name === undefined || dryRun ? undefined : `${name}:${version}`;
    const names = [path.basename(made.package), `breakwater-${version}.sbom.cdx.json`, 'NOTES.md'];
    const [tarball = '', sbom = '', notes = ''] = names.map((name) => path.join(draft, name));
    copyFileSync(made.package, tarball);
    copyFileSync(made.sbom, sbom);
    writeFileSync(notes, releaseNotes(changelog, version));
    if (image !== undefined) {
      names.push('IMAGE');
      writeFileSync(path.join(draft, 'IMAGE'), `${image} ${await buildImage(image, made.source)}\n`);
    }
    const sums = names.map((name) => `${sha256(path.join(draft, name))}  ${name}\n`).join('');
    writeFileSync(path.join(draft, 'SHA256SUMS'), sums);
    const target = path.resolve(out ?? path.join(ROOT, 'release', version));
    if (!dryRun) {
      rmSync(target, { recursive: true, force: true });
      cpSync(draft, target, { recursive: true });
    }
    say(dryRun ? `a dry run: ${target} was not written. It would have` : `wrote to ${target}`);
    process.stdout.write(`${sums}\n${commands(target, version, image)}`);
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} file */
function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function readArguments() {
  try {
    const options = /** @type {const} */ ({
      'dry-run': { type: 'boolean', default: false },
      out: { type: 'string' },
      image: { type: 'string' },
      help: { type: 'boolean', default: false },
    });
    return parseArgs({ options }).values;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

try {
  const values = readArguments();
  if (values === undefined || values.help) {
    (values === undefined ? process.stderr : process.stdout).write(USAGE);
    process.exitCode = values === undefined ? 2 : 0;
  } else {
    process.exitCode = await release({
      dryRun: values['dry-run'],
      out: values.out,
      image: values.image,
    });
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
