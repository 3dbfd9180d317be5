import type { Path } from './problem.ts';
import { problemAt, type Report } from './shape/read.ts';
import { changeAt, nodeAt, withChildren, type YamlDocument, type YamlNode } from './yaml/document.ts';

interface RemovedKey {
  readonly path: Path;
  /** What is so now, and what to use instead. */
  readonly instead: string;
  /** The section that has its value now; absent: the value has no effect. */
  readonly movedTo?: string;
}

/** Keys of earlier versions. */
const REMOVED_KEYS: readonly RemovedKey[] = [
  {
    path: ['notify', 'quietHours'],
    instead:
      'every notice is sent at once. Use the schedules of a pager or of Alertmanager, and let `notify` of rules that can wait name `channels` that wake nobody',
  },
  { path: ['redis', 'mirror'], instead: 'write it as `stateDir`, beside `redis`', movedTo: 'stateDir' },
];

/** Returns the document without keys of earlier versions, each with a warning: a config must not fail an update. */
export function withoutRemovedKeys(document: YamlDocument, report: Report): YamlDocument {
  let kept = document;
  for (const { path, instead, movedTo } of REMOVED_KEYS) {
    const found = nodeAt(document.root, path);
    if (found === undefined) continue;
    const message = `this key has ${movedTo === undefined ? 'no effect any more' : 'another name now'}: ${instead}`;
    report(problemAt(document, path, { severity: 'warning', code: 'removed-key', message, at: 'key' }));
    kept = changeAt(kept, path.slice(0, -1), (node) =>
      withChildren(node, new Map([...node.children].filter(([key]) => key !== path.at(-1)))),
    );
    if (movedTo !== undefined) kept = { ...kept, root: withSection(kept.root, movedTo, found) };
  }
  return kept;
}

/** A section that the file has by its new name wins. */
function withSection(root: YamlNode, name: string, node: YamlNode): YamlNode {
  return root.children.has(name) ? root : withChildren(root, new Map(root.children).set(name, node));
}
