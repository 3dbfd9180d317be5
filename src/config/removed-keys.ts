import type { Path } from './problem.ts';
import { problemAt, type Report } from './shape/read.ts';
import { changeAt, nodeAt, withChildren, type YamlDocument } from './yaml/document.ts';

/** Keys of earlier versions: what is so now, and what to use instead. */
const REMOVED_KEYS: readonly { readonly path: Path; readonly instead: string }[] = [
  {
    path: ['notify', 'quietHours'],
    instead:
      'every notice is sent at once. Use the schedules of a pager or of Alertmanager, and let `notify` of rules that can wait name `channels` that wake nobody',
  },
];

/** Returns the document without keys of earlier versions, each with a warning: a config must not fail an update. */
export function withoutRemovedKeys(document: YamlDocument, report: Report): YamlDocument {
  let kept = document;
  for (const { path, instead } of REMOVED_KEYS) {
    if (nodeAt(document.root, path) === undefined) continue;
    const message = `this key has no effect any more: ${instead}`;
    report(problemAt(document, path, { severity: 'warning', code: 'removed-key', message, at: 'key' }));
    kept = changeAt(kept, path.slice(0, -1), (node) =>
      withChildren(node, new Map([...node.children].filter(([key]) => key !== path.at(-1)))),
    );
  }
  return kept;
}
