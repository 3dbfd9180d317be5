import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** The deployment's files, read the way their consumers read them. */

export const ROOT = new URL('../../', import.meta.url);

export function read(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8');
}

export interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly string[] };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly ulimits?: Readonly<Record<string, number>>;
  readonly restart?: string;
  readonly networks?: readonly string[];
  readonly group_add?: readonly string[];
  readonly user?: string;
  readonly privileged?: boolean;
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, unknown>>;
}

export const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose;

export function serviceOf(name: string): Service {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
}

/** `SOURCE:TARGET[:ro]`. */
export function mountsOf({
  volumes = [],
}: Service): readonly { source: string; target: string; ro: boolean }[] {
  return volumes.map((volume) => {
    const [source = '', target = '', mode] = volume.split(':');
    return { source, target, ro: mode === 'ro' };
  });
}

/** The local file that a container sees under a path; undefined if none is mounted from here. */
export function mountedFile(service: Service, file: string): string | undefined {
  const mount = mountsOf(service).find(
    ({ source, target }) => source.startsWith('./') && (file === target || file.startsWith(`${target}/`)),
  );
  return mount === undefined ? undefined : `${mount.source}${file.slice(mount.target.length)}`.slice(2);
}

/** Values of `--name=value`. */
export function optionOf(service: Service, name: string): string | undefined {
  return service.command?.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Instructions of the last stage, and of all; continued lines joined, comments removed. */
export function dockerfile(): { readonly all: readonly string[]; readonly last: readonly string[] } {
  const all = read('Dockerfile')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '');
  return { all, last: all.slice(all.findLastIndex((line) => line.startsWith('FROM '))) };
}

/** The JSON form of ENTRYPOINT, CMD and the command of HEALTHCHECK. */
export function words(instruction: 'ENTRYPOINT' | 'CMD' | 'HEALTHCHECK'): readonly string[] {
  const line = dockerfile().last.find((each) => each.startsWith(`${instruction} `)) ?? '';
  return JSON.parse(line.slice(line.indexOf('['))) as readonly string[];
}
