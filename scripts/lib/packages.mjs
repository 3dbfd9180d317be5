import process from 'node:process';
import { say } from './say.mjs';
import { findProgram, runHelper } from './spawn.mjs';

/**
 * Debian starts a service as soon as it is installed, some on all network interfaces. Only the programs are needed: a
 * policy forbids services during the installation, unless the system has its own policy.
 */
const WITHOUT_SERVICES = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' INT TERM HUP
  printf '#!/bin/sh\\nexit 101\\n' >"$policy" && chmod 755 "$policy" || exit 1
fi
"$@"`;

/**
 * Commands of each package manager that install without asking. `before` runs once per process. Its failure is
 * tolerated: the package lists already present may do.
 * @type {readonly { name: string, before?: string[], install: string[], env?: Record<string, string>, asUser?: boolean, wrapper?: string[] }[]}
 */
const MANAGERS = [
  {
    name: 'apt-get',
    before: ['update', '-qq', '-o', 'DPkg::Lock::Timeout=120'],
    install: ['install', '-y', '-qq', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'],
    env: { DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_MODE: 'l' },
    wrapper: ['/bin/sh', '-c', WITHOUT_SERVICES, 'install'],
  },
  { name: 'dnf', install: ['install', '-y', '-q'] },
  { name: 'yum', install: ['install', '-y', '-q'] },
  { name: 'apk', install: ['add', '--no-cache', '--quiet'] },
  {
    name: 'pacman',
    before: ['-Sy', '--noconfirm', '--quiet'],
    install: ['-S', '--noconfirm', '--needed', '--quiet'],
  },
  { name: 'zypper', install: ['--non-interactive', '--quiet', 'install', '--no-recommends'] },
  { name: 'brew', install: ['install', '--quiet'], env: { HOMEBREW_NO_AUTO_UPDATE: '1' }, asUser: true },
];

const USUAL_FOLDERS = ['/usr/bin', '/usr/sbin', '/bin', '/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

const prepared = new Set();

/**
 * Installs one of the packages with the system's package manager, if that needs no password.
 * @param {Readonly<Record<string, readonly string[]>>} packages names to try by manager, in order; `default` for the others
 * @param {string} purpose for the progress line
 * @returns {Promise<string | undefined>} why nothing was installed; undefined on success
 */
export async function installPackage(packages, purpose) {
  if (isSet('BREAKWATER_NO_INSTALL')) return 'BREAKWATER_NO_INSTALL is set';
  const found = MANAGERS.find(({ name }) => findTool(name) !== undefined);
  if (found === undefined) return 'no known package manager is here';
  const program = findTool(found.name) ?? found.name;
  const prefix = await privileges(found.asUser === true);
  if (prefix === undefined) return `${found.name} needs root, and sudo would ask for a password`;
  const environment = Object.entries(found.env ?? {}).map(([name, value]) => `${name}=${value}`);
  /** @param {readonly string[]} args */
  const run = (args) => {
    const [first = program, ...rest] = [
      ...prefix,
      '/usr/bin/env',
      ...environment,
      ...(found.wrapper ?? []),
      program,
      ...args,
    ];
    return runHelper(first, rest, { timeoutMs: 300_000 });
  };
  const names = packages[found.name] ?? packages['default'] ?? [];
  say(`installing ${purpose} with ${found.name}; BREAKWATER_NO_INSTALL=1 forbids that.`);
  if (found.before !== undefined && !prepared.has(found.name)) {
    prepared.add(found.name);
    await run(found.before);
  }
  for (const name of names) {
    if ((await run([...found.install, name])) === 0) return undefined;
  }
  return `${found.name} could not install ${names.join(' or ')}`;
}

/**
 * Prefix that runs a command as root without asking: empty, `sudo -n`, or undefined if there is none.
 * @param {boolean} asUser
 * @returns {Promise<string[] | undefined>}
 */
async function privileges(asUser) {
  const isRoot = process.getuid?.() === 0;
  if (asUser) return isRoot ? undefined : [];
  if (isRoot) return [];
  const sudo = findTool('sudo');
  if (sudo === undefined) return undefined;
  return (await runHelper(sudo, ['-n', 'true'], { quiet: true, timeoutMs: 10_000 })) === 0
    ? [sudo, '-n']
    : undefined;
}

/**
 * Finds a program on the PATH or in the usual folders, which a minimal PATH does not list.
 * @param {string} name
 */
export function findTool(name) {
  return findProgram(name) ?? findProgram(name, USUAL_FOLDERS);
}

/** @param {string} name */
function isSet(name) {
  const value = process.env[name];
  return value !== undefined && value !== '' && value !== '0';
}
