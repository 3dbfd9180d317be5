import net from 'node:net';
import process from 'node:process';
import tls from 'node:tls';
import { findTool, installPackage } from './packages.mjs';
import { SetupError } from './say.mjs';
import { findProgram } from './spawn.mjs';

const ANSWER_TIMEOUT_MS = 5_000;
const SERVERS = ['redis-server', 'valkey-server'];
/** Packages that contain the server, by manager: several systems ship Valkey instead of Redis. */
const PACKAGES = {
  'apt-get': ['redis-server', 'valkey-server'],
  pacman: ['valkey', 'redis'],
  default: ['redis', 'valkey'],
};

/**
 * Finds a Redis for the task: the one at REDIS_URL, or a server program that can be started privately.
 * @returns {Promise<Record<string, string>>} environment to run with
 */
export async function ensureRedis() {
  const url = process.env['REDIS_URL'];
  if (url !== undefined && url !== '') {
    await checkAnswers(url);
    return {};
  }
  const onPath = SERVERS.map((name) => findProgram(name)).find((file) => file !== undefined);
  if (onPath !== undefined) return { REDIS_SERVER: onPath };
  const refusal = await installPackage(PACKAGES, 'a Redis server');
  const installed = SERVERS.map((name) => findTool(name)).find((file) => file !== undefined);
  if (installed !== undefined) return { REDIS_SERVER: installed };
  throw new SetupError(
    `a Redis server is needed and could not be installed (${refusal ?? 'its package brings no server'}). ` +
      'Install Redis or Valkey, or set REDIS_URL=redis://host:6379 to one that runs.',
  );
}

/**
 * @param {string} text a redis:// or rediss:// URL
 * @returns {Promise<void>} rejects with a SetupError that names the host, never the password
 */
export async function checkAnswers(text) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol)) {
    throw new SetupError('REDIS_URL is not a redis:// or rediss:// URL. Example: redis://127.0.0.1:6379');
  }
  const problem = await ping(url);
  if (problem !== undefined) {
    throw new SetupError(`REDIS_URL is set, but ${url.host} ${problem}. Start it, or unset REDIS_URL.`);
  }
}

/**
 * @param {URL} url
 * @returns {Promise<string | undefined>} what is wrong; undefined if it answered
 */
function ping(url) {
  return new Promise((resolve) => {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const target = { host, port: Number(url.port === '' ? 6379 : url.port) };
    const socket =
      url.protocol === 'rediss:' ? tls.connect({ ...target, servername: host }) : net.connect(target);
    /** @param {string | undefined} problem */
    const finish = (problem) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => finish('does not answer'));
    socket.once('error', (error) =>
      finish(`cannot be reached (${/** @type {NodeJS.ErrnoException} */ (error).code})`),
    );
    socket.once('end', () => finish('closed the connection'));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (received.includes('+PONG\r\n')) finish(undefined);
      const refused = /^-([^\r\n]{0,200})\r\n/m.exec(received);
      if (refused !== null) finish(`refused: ${refused[1]}`);
    });
    socket.write(login(url) + command(['PING']));
  });
}

/** @param {URL} url */
function login(url) {
  if (url.password === '') return '';
  const words = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  return command(['AUTH', ...words.filter((word) => word !== '')]);
}

/** @param {readonly string[]} words */
function command(words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
