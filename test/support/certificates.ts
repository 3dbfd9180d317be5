import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../scripts/lib/spawn.mjs';
import { closeAfterTest } from '../contract/support/world.ts';

export const hasOpenssl = findProgram('openssl') !== undefined;

const run = promisify(execFile);
const openssl = async (...args: readonly string[]): Promise<void> => void (await run('openssl', [...args]));

/** Paths of PEM files. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Creates an authority and certificates that it signs for 127.0.0.1; only the owner can read the keys. */
export interface Authority extends Certificate {
  sign(name: string): Promise<Certificate>;
}

export async function openAuthority(): Promise<Authority> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-certificates-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const at = (name: string): string => path.join(folder, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const authority = { cert: at('ca.crt'), key: at('ca.key') };
  const files = ['-keyout', authority.key, '-out', authority.cert];
  await openssl('req', '-x509', ...newKey, ...files, '-subj', '/CN=test authority', '-days', '2');
  await writeFile(at('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  return {
    ...authority,
    async sign(name) {
      const own = { cert: at(`${name}.crt`), key: at(`${name}.key`) };
      const request = at(`${name}.csr`);
      await openssl('req', ...newKey, '-keyout', own.key, '-out', request, '-subj', `/CN=${name}`);
      const by = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
      const out = ['-out', own.cert, '-days', '2', '-extfile', at('names')];
      await openssl('x509', '-req', '-in', request, ...by, ...out);
      return own;
    },
  };
}
